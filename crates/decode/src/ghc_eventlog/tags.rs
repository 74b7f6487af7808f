//! The event types that GHC runtimes have declared, in one table: number, name,
//! payload sizes seen, and which `-l` class turns them on. Sizes here are
//! documentation: decoding takes them from each log's own header.
//!
//! Source: the runtime's `EventLogFormat.h` / `gen_event_types.py`, 6.12 to 9.14.

/// Payload size of a variable-sized event, as [`TagInfo::sizes`] spells it.
pub const VARIABLE: i32 = -1;

/// What has to be on for an event type to be written.
#[derive(Copy, Clone, Eq, PartialEq, Debug)]
pub enum TraceClass {
    /// `-l` alone, whatever its classes.
    Always,
    /// Any class.
    Any,
    /// `-ls`: scheduler.
    Scheduler,
    /// `-lg`: garbage collection and heap.
    Collection,
    /// `-ln`: non-moving heap census.
    NonMoving,
    /// `-lp`: sampled spark counters.
    SparkSampled,
    /// `-lf`: every spark.
    SparkFull,
    /// `-lu`: user messages.
    User,
    /// `-lT`: ticky counters.
    Ticky,
    /// `-h…`: heap profile.
    HeapProfile,
    /// `-p`: time profile.
    TimeProfile,
    /// No runtime of 7.6 or later writes it.
    Dead,
    /// Written by other producers than GHC's runtime.
    Foreign,
}

/// One event type.
#[derive(Copy, Clone, Eq, PartialEq, Debug)]
pub struct TagInfo {
    /// Its number in every log.
    pub tag: u16,
    /// Its name in the runtime's sources, without `EVENT_`.
    pub name: &'static str,
    /// Payload bytes, one entry per size seen in any version; [`VARIABLE`].
    pub sizes: &'static [i32],
    /// What turns it on.
    pub class: TraceClass,
}

macro_rules! tags {
    ($($tag:literal $name:ident [$($size:expr),+] $class:ident $doc:literal;)*) => {
        $(#[doc = $doc] pub const $name: u16 = $tag;)*

        /// Every event type known, by number.
        pub const TAGS: &[TagInfo] = &[
            $(TagInfo { tag: $tag, name: stringify!($name), sizes: &[$($size),+], class: TraceClass::$class },)*
        ];
    };
}

tags! {
    0 CREATE_THREAD [4] Scheduler "A Haskell thread was created: u32 thread.";
    1 RUN_THREAD [4] Scheduler "A Haskell thread starts to run: u32 thread.";
    2 STOP_THREAD [10, 6] Scheduler "It stops: u32 thread, u16 status, u32 info (missing before 7.4).";
    3 THREAD_RUNNABLE [4] Scheduler "Declared, not written by 9.x: u32 thread.";
    4 MIGRATE_THREAD [6] Scheduler "u32 thread, u16 new capability.";
    5 RUN_SPARK [4] Dead "u32 thread.";
    6 STEAL_SPARK [6] Dead "u32 thread, u16 victim capability.";
    7 SHUTDOWN [0] Dead "No payload.";
    8 THREAD_WAKEUP [6] Scheduler "A wake-up attempt: u32 thread, u16 capability it will run on.";
    9 GC_START [0] Collection "On a follower: arrived. On the leader: all arrived.";
    10 GC_END [0] Collection "The capability's part in the collection is over.";
    11 REQUEST_SEQ_GC [0] Collection "The leader asks all to stop, and collects alone.";
    12 REQUEST_PAR_GC [0] Collection "The leader asks all to stop and take part.";
    13 CREATE_SPARK [4] Dead "u32 thread.";
    14 SPARK_TO_THREAD [4] Dead "u32 thread.";
    15 CREATE_SPARK_THREAD [4] SparkFull "u32 spark thread.";
    16 LOG_MSG [VARIABLE] Always "Text of the runtime.";
    17 STARTUP [2] Dead "u16 number of capabilities.";
    18 BLOCK_MARKER [14] Always "u32 size of the block, u64 end time, u16 capability.";
    19 USER_MSG [VARIABLE] User "Text (traceEvent).";
    20 GC_IDLE [0] Collection "This collector thread ran out of work.";
    21 GC_WORK [0] Collection "This collector thread starts or resumes work.";
    22 GC_DONE [0] Collection "This collector thread is finished.";
    23 VERSION [VARIABLE] Dead "Text (Eden).";
    24 PROGRAM_INVOCATION [VARIABLE] Dead "Text (Eden).";
    25 CAPSET_CREATE [6] Any "u32 capset, u16 type.";
    26 CAPSET_DELETE [4] Any "u32 capset.";
    27 CAPSET_ASSIGN_CAP [6] Any "u32 capset, u16 capability.";
    28 CAPSET_REMOVE_CAP [6] Any "u32 capset, u16 capability.";
    29 RTS_IDENTIFIER [VARIABLE] Always "u32 capset, text: \"GHC-9.10.3 rts_thr\".";
    30 PROGRAM_ARGS [VARIABLE] Always "u32 capset, NUL-separated arguments.";
    31 PROGRAM_ENV [VARIABLE] Always "u32 capset, NUL-separated environment.";
    32 OSPROCESS_PID [8] Always "u32 capset, u32 pid in the process's own namespace.";
    33 OSPROCESS_PPID [8] Always "u32 capset, u32 parent pid.";
    34 SPARK_COUNTERS [56] SparkSampled "Seven u64, cumulative per capability.";
    35 SPARK_CREATE [0] SparkFull "No payload.";
    36 SPARK_DUD [0] SparkFull "No payload.";
    37 SPARK_OVERFLOW [0] SparkFull "No payload.";
    38 SPARK_RUN [0] SparkFull "No payload.";
    39 SPARK_STEAL [2] SparkFull "u16 victim capability.";
    40 SPARK_FIZZLE [0] SparkFull "No payload.";
    41 SPARK_GC [0] SparkFull "No payload.";
    42 INTERN_STRING [VARIABLE] Foreign "Text and NUL, u32 id.";
    43 WALL_CLOCK_TIME [16] Always "u32 capset, u64 unix seconds, u32 nanoseconds.";
    44 THREAD_LABEL [VARIABLE] Scheduler "u32 thread, text.";
    45 CAP_CREATE [2] Any "u16 capability.";
    46 CAP_DELETE [2] Any "u16 capability.";
    47 CAP_DISABLE [2] Any "u16 capability.";
    48 CAP_ENABLE [2] Any "u16 capability.";
    49 HEAP_ALLOCATED [12] Collection "u32 capset, u64 bytes by this capability since the start.";
    50 HEAP_SIZE [12] Collection "u32 capset, u64 bytes held from the system.";
    51 HEAP_LIVE [12] Collection "u32 capset, u64 live bytes after a major collection.";
    52 HEAP_INFO_GHC [38] Collection "u32 capset, u16 generations, u64 limit, u64 -A, u64 megablock, u64 block.";
    53 GC_STATS_GHC [58, 50] Collection "u32 capset, u16 generation, figures; the last u64 is missing up to 8.2.";
    54 GC_GLOBAL_SYNC [0] Collection "All capabilities are held, near the end of a collection.";
    55 TASK_CREATE [18] Scheduler "u64 task, u16 capability, u64 kernel thread.";
    56 TASK_MIGRATE [12] Scheduler "u64 task, u16 old capability, u16 new capability.";
    57 TASK_DELETE [8] Scheduler "u64 task.";
    58 USER_MARKER [VARIABLE] User "Text (traceMarker).";
    59 HACK_BUG_T9003 [0] Dead "Declared so that old readers size their arrays.";
    90 MEM_RETURN [16] Collection "u32 capset, u32 held, u32 needed, u32 returned megablocks.";
    91 BLOCKS_SIZE [12] Collection "u32 capset, u64 bytes in allocated blocks.";
    140 PERF_NAME [VARIABLE] Foreign "u32 id, text.";
    141 PERF_COUNTER [16, 20] Foreign "u32 id, u64 thread, u64 period.";
    142 PERF_TRACEPOINT [12] Foreign "u32 id, u64 thread.";
    160 HEAP_PROF_BEGIN [VARIABLE] HeapProfile "u8 profile, u64 period ns, u32 breakdown, seven filters.";
    161 HEAP_PROF_COST_CENTRE [VARIABLE] HeapProfile "u32 id, label, module, place, u8 flags.";
    162 HEAP_PROF_SAMPLE_BEGIN [8] HeapProfile "u64 sample.";
    163 HEAP_PROF_SAMPLE_COST_CENTRE [VARIABLE] HeapProfile "u8 profile, u64 bytes, u8 depth, u32 ids.";
    164 HEAP_PROF_SAMPLE_STRING [VARIABLE] HeapProfile "u8 profile, u64 bytes, label.";
    165 HEAP_PROF_SAMPLE_END [8] HeapProfile "u64 sample.";
    166 HEAP_BIO_PROF_SAMPLE_BEGIN [16] HeapProfile "u64 sample, u64 log time.";
    167 PROF_SAMPLE_COST_CENTRE [VARIABLE] TimeProfile "u32 capability, u64 tick, u8 depth, u32 ids.";
    168 PROF_BEGIN [8] TimeProfile "u64 tick interval ns.";
    169 IPE [VARIABLE] Always "u64 info table, six texts; the length is one too large in 9.6 to 9.10.";
    181 USER_BINARY_MSG [VARIABLE] User "Bytes (traceBinaryEvent).";
    200 CONC_MARK_BEGIN [0] Always "Non-moving collector: concurrent mark starts.";
    201 CONC_MARK_END [4] Always "u32 objects marked.";
    202 CONC_SYNC_BEGIN [0] Always "The stop behind the mark; posted twice by 9.x.";
    203 CONC_SYNC_END [0] Always "Likewise.";
    204 CONC_SWEEP_BEGIN [0] Always "Concurrent sweep starts.";
    205 CONC_SWEEP_END [0] Always "It ends.";
    206 CONC_UPD_REM_SET_FLUSH [2] Always "u16 capability.";
    207 NONMOVING_HEAP_CENSUS [14, 13] NonMoving "u16 block bytes (13: u8 its log2), u32 active, u32 filled, u32 live blocks.";
    208 NONMOVING_PRUNED_SEGMENTS [8] NonMoving "u32 pruned, u32 left on the free list.";
    210 TICKY_COUNTER_DEF [VARIABLE] Ticky "u64 id, u16 arity, kinds, name; from 9.6 u64 info table, JSON.";
    211 TICKY_COUNTER_SAMPLE [32] Ticky "u64 id, u64 entries, u64 allocs, u64 allocd.";
    212 TICKY_COUNTER_BEGIN_SAMPLE [0, 32] Ticky "No payload used.";
}

/// The tag that ends the data section.
pub const END_OF_DATA: u16 = 0xffff;

/// What is known of `tag`.
pub fn info(tag: u16) -> Option<&'static TagInfo> {
    TAGS.binary_search_by_key(&tag, |info| info.tag).ok().and_then(|index| TAGS.get(index))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_sorted_and_found_by_number() {
        assert!(TAGS.windows(2).all(|pair| pair[0].tag < pair[1].tag));
        assert_eq!(info(53).map(|info| info.name), Some("GC_STATS_GHC"));
        assert_eq!(info(60), None);
    }
}
