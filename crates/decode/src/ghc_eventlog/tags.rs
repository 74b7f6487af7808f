//! The event types that GHC runtimes have declared, in one table: number, name, payload sizes seen, and the `-l`
//! class that enables them. Sizes here are documentation: decoding takes them from each log's own header.
//!
//! Source: the runtime's `EventLogFormat.h` / `gen_event_types.py`, 6.12 to 9.14.

/// Payload size of a variable-sized event in [`TagInfo::sizes`].
pub const VARIABLE: i32 = -1;

/// One event type.
#[derive(Copy, Clone, Eq, PartialEq, Debug)]
pub struct TagInfo {
    /// Its number, the same in every log.
    pub tag: u16,
    /// Its name in the runtime's sources, without `EVENT_`.
    pub name: &'static str,
    /// Payload sizes in bytes, one per size seen in any version, or [`VARIABLE`].
    pub sizes: &'static [i32],
}

/// Passes every known event type to a macro: number, name, record with the content of its payload (see `records`),
/// sizes, what enables it, and a remark. What enables it is documentation too: `Always` is `-l`, `Any` any class of
/// it, `Scheduler` `-ls`, `Collection` `-lg`, `NonMoving` `-ln`, `SparkSampled` `-lp`, `SparkFull` `-lf`, `User`
/// `-lu`, `Ticky` `-lT`, `HeapProfile` `-h`, `TimeProfile` `-p`, `Foreign` another producer, `Dead` nothing since 7.6.
macro_rules! table {
    ($with:ident) => {
        $with! {
            0 CREATE_THREAD CreateThread { thread: u32 } [4] Scheduler "A Haskell thread was created: u32 thread.";
            1 RUN_THREAD RunThread { thread: u32 } [4] Scheduler "A Haskell thread starts to run: u32 thread.";
            2 STOP_THREAD StopThread { thread: u32, status: u16, info: u32_maybe } [10, 6] Scheduler
                "It stops: u32 thread, u16 status, u32 info (missing before 7.4).";
            3 THREAD_RUNNABLE ThreadRunnable { thread: u32 } [4] Scheduler "Declared, not written by 9.x: u32 thread.";
            4 MIGRATE_THREAD MigrateThread { thread: u32, new_cap: u16 } [6] Scheduler
                "u32 thread, u16 new capability.";
            5 RUN_SPARK RunSpark { thread: u32 } [4] Dead "u32 thread.";
            6 STEAL_SPARK StealSpark { thread: u32, victim_cap: u16 } [6] Dead "u32 thread, u16 victim capability.";
            7 SHUTDOWN Shutdown [0] Dead;
            8 THREAD_WAKEUP ThreadWakeup { thread: u32, other_cap: u16 } [6] Scheduler
                "A wake-up attempt: u32 thread, u16 capability it will run on.";
            9 GC_START GcStart [0] Collection "On a follower: arrived. On the leader: all arrived.";
            10 GC_END GcEnd [0] Collection "The capability's part in the collection is over.";
            11 REQUEST_SEQ_GC RequestSeqGc [0] Collection "The leader asks all to stop, and collects alone.";
            12 REQUEST_PAR_GC RequestParGc [0] Collection "The leader asks all to stop and take part.";
            13 CREATE_SPARK CreateSpark { thread: u32 } [4] Dead "u32 thread.";
            14 SPARK_TO_THREAD SparkToThread { thread: u32 } [4] Dead "u32 thread.";
            15 CREATE_SPARK_THREAD CreateSparkThread { thread: u32 } [4] SparkFull "u32 spark thread.";
            16 LOG_MSG LogMsg { text: rest } [VARIABLE] Always "Text of the runtime.";
            17 STARTUP Startup { n_caps: u16 } [2] Dead "u16 number of capabilities.";
            18 BLOCK_MARKER BlockMarker { size: u32, end_time: u64, cap: u16 } [14] Always
                "Of a block: its whole size, its end.";
            19 USER_MSG UserMsg { text: rest } [VARIABLE] User "Text (traceEvent).";
            20 GC_IDLE GcIdle [0] Collection "This collector thread ran out of work.";
            21 GC_WORK GcWork [0] Collection "This collector thread starts or resumes work.";
            22 GC_DONE GcDone [0] Collection "This collector thread is finished.";
            23 VERSION Version { text: rest } [VARIABLE] Dead "Text (Eden).";
            24 PROGRAM_INVOCATION ProgramInvocation { text: rest } [VARIABLE] Dead "Text (Eden).";
            25 CAPSET_CREATE CapsetCreate { capset: u32, kind: u16 } [6] Any "u32 capset, u16 type.";
            26 CAPSET_DELETE CapsetDelete { capset: u32 } [4] Any "u32 capset.";
            27 CAPSET_ASSIGN_CAP CapsetAssignCap { capset: u32, cap: u16 } [6] Any "u32 capset, u16 capability.";
            28 CAPSET_REMOVE_CAP CapsetRemoveCap { capset: u32, cap: u16 } [6] Any "u32 capset, u16 capability.";
            29 RTS_IDENTIFIER RtsIdentifier { capset: u32, text: last } [VARIABLE] Always
                "u32 capset, text: \"GHC-9.10.3 rts_thr\".";
            30 PROGRAM_ARGS ProgramArgs { capset: u32, args: texts } [VARIABLE] Always
                "u32 capset, NUL-separated arguments.";
            31 PROGRAM_ENV ProgramEnv { capset: u32, env: texts } [VARIABLE] Always
                "u32 capset, NUL-separated environment.";
            32 OSPROCESS_PID OsProcessPid { capset: u32, pid: u32 } [8] Always
                "u32 capset, u32 pid in the process's own namespace.";
            33 OSPROCESS_PPID OsProcessPpid { capset: u32, ppid: u32 } [8] Always "u32 capset, u32 parent pid.";
            34 SPARK_COUNTERS SparkCounters { created: u64, dud: u64, overflowed: u64, converted: u64, gcd: u64,
                fizzled: u64, remaining: u64 }
                [56] SparkSampled "Seven u64, cumulative per capability.";
            35 SPARK_CREATE SparkCreate [0] SparkFull;
            36 SPARK_DUD SparkDud [0] SparkFull;
            37 SPARK_OVERFLOW SparkOverflow [0] SparkFull;
            38 SPARK_RUN SparkRun [0] SparkFull;
            39 SPARK_STEAL SparkSteal { victim_cap: u16 } [2] SparkFull "u16 victim capability.";
            40 SPARK_FIZZLE SparkFizzle [0] SparkFull;
            41 SPARK_GC SparkGc [0] SparkFull;
            42 INTERN_STRING InternString { text: text, id: u32 } [VARIABLE] Foreign "Text and NUL, u32 id.";
            43 WALL_CLOCK_TIME WallClockTime { capset: u32, unix_seconds: u64, nanoseconds: u32 } [16] Always;
            44 THREAD_LABEL ThreadLabel { thread: u32, label: last } [VARIABLE] Scheduler "u32 thread, text.";
            45 CAP_CREATE CapCreate { cap: u16 } [2] Any "u16 capability.";
            46 CAP_DELETE CapDelete { cap: u16 } [2] Any "u16 capability.";
            47 CAP_DISABLE CapDisable { cap: u16 } [2] Any "u16 capability.";
            48 CAP_ENABLE CapEnable { cap: u16 } [2] Any "u16 capability.";
            49 HEAP_ALLOCATED HeapAllocated { capset: u32, bytes: u64 } [12] Collection
                "By this capability since the start.";
            50 HEAP_SIZE HeapSize { capset: u32, bytes: u64 } [12] Collection
                "u32 capset, u64 bytes held from the system.";
            51 HEAP_LIVE HeapLive { capset: u32, bytes: u64 } [12] Collection "After a major collection.";
            52 HEAP_INFO_GHC HeapInfo (HeapInfo heap_info) [38] Collection
                "u32 capset, u16 generations, u64 limit, u64 -A, u64 megablock, u64 block.";
            53 GC_STATS_GHC GcStats (GcStats gc_stats) [58, 50] Collection
                "u32 capset, u16 generation, figures; the last u64 is missing up to 8.2.";
            54 GC_GLOBAL_SYNC GcGlobalSync [0] Collection "All capabilities are held, near the end of a collection.";
            55 TASK_CREATE TaskCreate { task: u64, cap: u16, tid: u64 } [18] Scheduler;
            56 TASK_MIGRATE TaskMigrate { task: u64, old_cap: u16, new_cap: u16 } [12] Scheduler;
            57 TASK_DELETE TaskDelete { task: u64 } [8] Scheduler "u64 task.";
            58 USER_MARKER UserMarker { text: rest } [VARIABLE] User "Text (traceMarker).";
            59 HACK_BUG_T9003 HackBugT9003 [0] Dead "Declared so that old readers size their arrays.";
            90 MEM_RETURN MemReturn { capset: u32, current: u32, needed: u32, returned: u32 } [16] Collection
                "u32 capset, u32 held, u32 needed, u32 returned megablocks.";
            91 BLOCKS_SIZE BlocksSize { capset: u32, bytes: u64 } [12] Collection
                "u32 capset, u64 bytes in allocated blocks.";
            140 PERF_NAME PerfName { id: u32, text: last } [VARIABLE] Foreign "u32 id, text.";
            141 PERF_COUNTER PerfCounter { id: u32, tid: u64, period: u64_maybe } [16, 20] Foreign;
            142 PERF_TRACEPOINT PerfTracepoint { id: u32, tid: u64 } [12] Foreign "u32 id, u64 thread.";
            160 HEAP_PROF_BEGIN HeapProfBegin { profile: u8, period_ns: u64, breakdown: u32, filters: texts }
                [VARIABLE] HeapProfile "u8 profile, u64 period ns, u32 breakdown, seven filters.";
            161 HEAP_PROF_COST_CENTRE HeapProfCostCentre { id: u32, label: text, module: text, place: text, flags: u8 }
                [VARIABLE] HeapProfile;
            162 HEAP_PROF_SAMPLE_BEGIN HeapProfSampleBegin { sample: u64 } [8] HeapProfile "u64 sample.";
            163 HEAP_PROF_SAMPLE_COST_CENTRE HeapProfSampleCostCentre { profile: u8, residency_bytes: u64, stack: ids }
                [VARIABLE] HeapProfile;
            164 HEAP_PROF_SAMPLE_STRING HeapProfSampleString { profile: u8, residency_bytes: u64, label: last }
                [VARIABLE] HeapProfile;
            165 HEAP_PROF_SAMPLE_END HeapProfSampleEnd { sample: u64 } [8] HeapProfile "u64 sample.";
            166 HEAP_BIO_PROF_SAMPLE_BEGIN HeapBioProfSampleBegin { sample: u64, time: u64 } [16] HeapProfile;
            167 PROF_SAMPLE_COST_CENTRE ProfSampleCostCentre { cap: u32, tick: u64, stack: ids } [VARIABLE] TimeProfile;
            168 PROF_BEGIN ProfBegin { tick_interval_ns: u64 } [8] TimeProfile "u64 tick interval ns.";
            169 IPE Ipe { info: u64, table: text, closure: text, ty: text, label: text, module: text, place: last }
                [VARIABLE] Always "u64 info table, six texts; the length is one too large in 9.6 to 9.10.";
            181 USER_BINARY_MSG UserBinaryMsg { bytes: rest } [VARIABLE] User "Bytes (traceBinaryEvent).";
            200 CONC_MARK_BEGIN ConcMarkBegin [0] Always "Non-moving collector: concurrent mark starts.";
            201 CONC_MARK_END ConcMarkEnd { marked: u32 } [4] Always "u32 objects marked.";
            202 CONC_SYNC_BEGIN ConcSyncBegin [0] Always "The stop after the mark; posted twice by 9.x.";
            203 CONC_SYNC_END ConcSyncEnd [0] Always "Likewise.";
            204 CONC_SWEEP_BEGIN ConcSweepBegin [0] Always "Concurrent sweep starts.";
            205 CONC_SWEEP_END ConcSweepEnd [0] Always "It ends.";
            206 CONC_UPD_REM_SET_FLUSH ConcUpdRemSetFlush { cap: u16 } [2] Always "u16 capability.";
            207 NONMOVING_HEAP_CENSUS NonmovingHeapCensus { block_bytes: block_bytes, active_segments: u32,
                filled_segments: u32, live_blocks: u32 }
                [14, 13] NonMoving "u16 block bytes (13: u8 its log2), u32 active, u32 filled, u32 live blocks.";
            208 NONMOVING_PRUNED_SEGMENTS NonmovingPrunedSegments { pruned: u32, free: u32 } [8] NonMoving;
            210 TICKY_COUNTER_DEF TickyCounterDef { id: u64, arity: u16, kinds: text, name: last, info: u64_maybe,
                json: last }
                [VARIABLE] Ticky "u64 id, u16 arity, kinds, name; from 9.6 u64 info table, JSON.";
            211 TICKY_COUNTER_SAMPLE TickyCounterSample { id: u64, entries: u64, allocs: u64, allocd: u64 } [32] Ticky;
            212 TICKY_COUNTER_BEGIN_SAMPLE TickyCounterBeginSample [0, 32] Ticky "No payload used.";
        }
    };
}
pub(super) use table;

macro_rules! tags {
    ($($tag:literal $name:ident $record:ident $({ $($fields:tt)* })? $(($($inner:tt)*))? [$($size:expr),+] $class:ident
        $($doc:literal)?;)*) => {
        $(#[doc = concat!("The number of `", stringify!($record), "`. ", $($doc)?)] pub const $name: u16 = $tag;)*

        /// Every known event type, by number.
        pub const TAGS: &[TagInfo] = &[
            $(TagInfo { tag: $tag, name: stringify!($name), sizes: &[$($size),+] },)*
        ];
    };
}

table!(tags);

/// The tag that ends the data section.
pub const END_OF_DATA: u16 = 0xffff;

/// The known facts about `tag`.
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
