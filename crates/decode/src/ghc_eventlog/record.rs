//! One event in the runtime's own vocabulary, its payload borrowed. Refuses to
//! interpret: what a record means for lanes and pauses is the importer's.

use super::fields::Fields;
use super::tags::*;

/// Numbers packed in a payload (cost centre ids).
#[derive(Copy, Clone, Eq, PartialEq, Debug)]
pub struct Ids<'a>(&'a [u8]);

impl<'a> Ids<'a> {
    /// The ids, innermost first.
    pub fn iter(self) -> impl Iterator<Item = u32> + 'a {
        self.0.as_chunks::<4>().0.iter().map(|chunk| u32::from_be_bytes(*chunk))
    }
}

/// Texts packed in a payload, each ended by a NUL (the last one maybe not).
#[derive(Copy, Clone, Eq, PartialEq, Debug)]
pub struct Texts<'a>(&'a [u8]);

impl<'a> Texts<'a> {
    /// The texts in order.
    pub fn iter(self) -> impl Iterator<Item = &'a [u8]> {
        let whole = self.0.strip_suffix(&[0]).unwrap_or(self.0);
        whole.split(|byte| *byte == 0).filter(move |_| !self.0.is_empty())
    }
}

/// Figures of one collection (tag 53).
#[derive(Copy, Clone, Eq, PartialEq, Debug)]
#[allow(missing_docs)]
pub struct GcStats {
    pub capset: u32,
    /// Oldest generation collected.
    pub generation: u16,
    pub copied_bytes: u64,
    pub slop_bytes: u64,
    pub fragmentation_bytes: u64,
    pub threads: u32,
    /// Most bytes copied by one thread.
    pub copied_max_bytes: u64,
    /// Bytes copied by all threads of a parallel collection.
    pub copied_total_bytes: u64,
    /// From 8.4.
    pub copied_balanced_bytes: Option<u64>,
}

/// One event. Texts are bytes: the runtime does not promise UTF-8. Field names
/// follow the runtime's; `thread` is a Haskell thread, `task` an opaque number
/// for a kernel thread, `cap` a capability.
#[derive(Copy, Clone, Eq, PartialEq, Debug)]
#[allow(missing_docs)]
pub enum Record<'a> {
    CreateThread {
        thread: u32,
    },
    RunThread {
        thread: u32,
    },
    StopThread {
        thread: u32,
        status: u16,
        info: Option<u32>,
    },
    ThreadRunnable {
        thread: u32,
    },
    MigrateThread {
        thread: u32,
        new_cap: u16,
    },
    RunSpark {
        thread: u32,
    },
    StealSpark {
        thread: u32,
        victim_cap: u16,
    },
    Shutdown,
    ThreadWakeup {
        thread: u32,
        other_cap: u16,
    },
    GcStart,
    GcEnd,
    RequestSeqGc,
    RequestParGc,
    CreateSpark {
        thread: u32,
    },
    SparkToThread {
        thread: u32,
    },
    CreateSparkThread {
        thread: u32,
    },
    LogMsg {
        text: &'a [u8],
    },
    Startup {
        n_caps: u16,
    },
    BlockMarker {
        size: u32,
        end_time: u64,
        cap: u16,
    },
    UserMsg {
        text: &'a [u8],
    },
    GcIdle,
    GcWork,
    GcDone,
    Version {
        text: &'a [u8],
    },
    ProgramInvocation {
        text: &'a [u8],
    },
    CapsetCreate {
        capset: u32,
        kind: u16,
    },
    CapsetDelete {
        capset: u32,
    },
    CapsetAssignCap {
        capset: u32,
        cap: u16,
    },
    CapsetRemoveCap {
        capset: u32,
        cap: u16,
    },
    RtsIdentifier {
        capset: u32,
        text: &'a [u8],
    },
    ProgramArgs {
        capset: u32,
        args: Texts<'a>,
    },
    ProgramEnv {
        capset: u32,
        env: Texts<'a>,
    },
    OsProcessPid {
        capset: u32,
        pid: u32,
    },
    OsProcessPpid {
        capset: u32,
        ppid: u32,
    },
    SparkCounters {
        created: u64,
        dud: u64,
        overflowed: u64,
        converted: u64,
        gcd: u64,
        fizzled: u64,
        remaining: u64,
    },
    SparkCreate,
    SparkDud,
    SparkOverflow,
    SparkRun,
    SparkSteal {
        victim_cap: u16,
    },
    SparkFizzle,
    SparkGc,
    InternString {
        text: &'a [u8],
        id: u32,
    },
    WallClockTime {
        capset: u32,
        unix_seconds: u64,
        nanoseconds: u32,
    },
    ThreadLabel {
        thread: u32,
        label: &'a [u8],
    },
    CapCreate {
        cap: u16,
    },
    CapDelete {
        cap: u16,
    },
    CapDisable {
        cap: u16,
    },
    CapEnable {
        cap: u16,
    },
    HeapAllocated {
        capset: u32,
        bytes: u64,
    },
    HeapSize {
        capset: u32,
        bytes: u64,
    },
    HeapLive {
        capset: u32,
        bytes: u64,
    },
    HeapInfo(HeapInfo),
    GcStats(GcStats),
    GcGlobalSync,
    TaskCreate {
        task: u64,
        cap: u16,
        tid: u64,
    },
    TaskMigrate {
        task: u64,
        old_cap: u16,
        new_cap: u16,
    },
    TaskDelete {
        task: u64,
    },
    UserMarker {
        text: &'a [u8],
    },
    HackBugT9003,
    MemReturn {
        capset: u32,
        current: u32,
        needed: u32,
        returned: u32,
    },
    BlocksSize {
        capset: u32,
        bytes: u64,
    },
    PerfName {
        id: u32,
        text: &'a [u8],
    },
    PerfCounter {
        id: u32,
        tid: u64,
        period: Option<u64>,
    },
    PerfTracepoint {
        id: u32,
        tid: u64,
    },
    HeapProfBegin {
        profile: u8,
        period_ns: u64,
        breakdown: u32,
        filters: Texts<'a>,
    },
    HeapProfCostCentre {
        id: u32,
        label: &'a [u8],
        module: &'a [u8],
        place: &'a [u8],
        flags: u8,
    },
    HeapProfSampleBegin {
        sample: u64,
    },
    HeapProfSampleCostCentre {
        profile: u8,
        residency_bytes: u64,
        stack: Ids<'a>,
    },
    HeapProfSampleString {
        profile: u8,
        residency_bytes: u64,
        label: &'a [u8],
    },
    HeapProfSampleEnd {
        sample: u64,
    },
    HeapBioProfSampleBegin {
        sample: u64,
        time: u64,
    },
    ProfSampleCostCentre {
        cap: u32,
        tick: u64,
        stack: Ids<'a>,
    },
    ProfBegin {
        tick_interval_ns: u64,
    },
    Ipe {
        info: u64,
        table: &'a [u8],
        closure: &'a [u8],
        ty: &'a [u8],
        label: &'a [u8],
        module: &'a [u8],
        place: &'a [u8],
    },
    UserBinaryMsg {
        bytes: &'a [u8],
    },
    ConcMarkBegin,
    ConcMarkEnd {
        marked: u32,
    },
    ConcSyncBegin,
    ConcSyncEnd,
    ConcSweepBegin,
    ConcSweepEnd,
    ConcUpdRemSetFlush {
        cap: u16,
    },
    NonmovingHeapCensus {
        block_bytes: u64,
        active_segments: u32,
        filled_segments: u32,
        live_blocks: u32,
    },
    NonmovingPrunedSegments {
        pruned: u32,
        free: u32,
    },
    TickyCounterDef {
        id: u64,
        arity: u16,
        kinds: &'a [u8],
        name: &'a [u8],
        info: Option<u64>,
        json: &'a [u8],
    },
    TickyCounterSample {
        id: u64,
        entries: u64,
        allocs: u64,
        allocd: u64,
    },
    TickyCounterBeginSample,
    /// A type that this decoder does not know, or a payload too short for its type.
    Unknown {
        tag: u16,
        payload: &'a [u8],
    },
}

/// Heap parameters (tag 52), posted once.
#[derive(Copy, Clone, Eq, PartialEq, Debug, Default)]
pub struct HeapInfo {
    /// Configured generations.
    pub generations: u16,
    /// Heap limit in bytes; 0: none.
    pub limit_bytes: u64,
    /// Allocation area per capability (`-A`), bytes.
    pub nursery_bytes: u64,
    /// Bytes of a megablock.
    pub megablock_bytes: u64,
    /// Bytes of a block.
    pub block_bytes: u64,
}

impl<'a> Record<'a> {
    /// Decodes one payload, framed by the log's own sizes. Bytes behind the
    /// known fields are ignored; a payload that is too short gives
    /// [`Record::Unknown`].
    pub fn decode(tag: u16, payload: &'a [u8]) -> Record<'a> {
        let fields = Fields::new(payload);
        let record = if tag < CAPSET_CREATE {
            scheduling(tag, fields)
        } else if tag < HEAP_ALLOCATED {
            process(tag, fields)
        } else if tag < HEAP_PROF_BEGIN {
            heap(tag, fields)
        } else {
            profile(tag, fields)
        };
        record.unwrap_or(Record::Unknown { tag, payload })
    }
}

fn scheduling(tag: u16, mut f: Fields<'_>) -> Option<Record<'_>> {
    Some(match tag {
        CREATE_THREAD => Record::CreateThread { thread: f.u32()? },
        RUN_THREAD => Record::RunThread { thread: f.u32()? },
        STOP_THREAD => Record::StopThread { thread: f.u32()?, status: f.u16()?, info: f.u32() },
        THREAD_RUNNABLE => Record::ThreadRunnable { thread: f.u32()? },
        MIGRATE_THREAD => Record::MigrateThread { thread: f.u32()?, new_cap: f.u16()? },
        RUN_SPARK => Record::RunSpark { thread: f.u32()? },
        STEAL_SPARK => Record::StealSpark { thread: f.u32()?, victim_cap: f.u16()? },
        SHUTDOWN => Record::Shutdown,
        THREAD_WAKEUP => Record::ThreadWakeup { thread: f.u32()?, other_cap: f.u16()? },
        GC_START => Record::GcStart,
        GC_END => Record::GcEnd,
        REQUEST_SEQ_GC => Record::RequestSeqGc,
        REQUEST_PAR_GC => Record::RequestParGc,
        CREATE_SPARK => Record::CreateSpark { thread: f.u32()? },
        SPARK_TO_THREAD => Record::SparkToThread { thread: f.u32()? },
        CREATE_SPARK_THREAD => Record::CreateSparkThread { thread: f.u32()? },
        LOG_MSG => Record::LogMsg { text: f.rest() },
        STARTUP => Record::Startup { n_caps: f.u16()? },
        BLOCK_MARKER => Record::BlockMarker { size: f.u32()?, end_time: f.u64()?, cap: f.u16()? },
        USER_MSG => Record::UserMsg { text: f.rest() },
        GC_IDLE => Record::GcIdle,
        GC_WORK => Record::GcWork,
        GC_DONE => Record::GcDone,
        VERSION => Record::Version { text: f.rest() },
        PROGRAM_INVOCATION => Record::ProgramInvocation { text: f.rest() },
        _ => return None,
    })
}

fn process(tag: u16, mut f: Fields<'_>) -> Option<Record<'_>> {
    Some(match tag {
        CAPSET_CREATE => Record::CapsetCreate { capset: f.u32()?, kind: f.u16()? },
        CAPSET_DELETE => Record::CapsetDelete { capset: f.u32()? },
        CAPSET_ASSIGN_CAP => Record::CapsetAssignCap { capset: f.u32()?, cap: f.u16()? },
        CAPSET_REMOVE_CAP => Record::CapsetRemoveCap { capset: f.u32()?, cap: f.u16()? },
        RTS_IDENTIFIER => Record::RtsIdentifier { capset: f.u32()?, text: f.last_text() },
        PROGRAM_ARGS => Record::ProgramArgs { capset: f.u32()?, args: Texts(f.rest()) },
        PROGRAM_ENV => Record::ProgramEnv { capset: f.u32()?, env: Texts(f.rest()) },
        OSPROCESS_PID => Record::OsProcessPid { capset: f.u32()?, pid: f.u32()? },
        OSPROCESS_PPID => Record::OsProcessPpid { capset: f.u32()?, ppid: f.u32()? },
        SPARK_COUNTERS => Record::SparkCounters {
            created: f.u64()?,
            dud: f.u64()?,
            overflowed: f.u64()?,
            converted: f.u64()?,
            gcd: f.u64()?,
            fizzled: f.u64()?,
            remaining: f.u64()?,
        },
        SPARK_CREATE => Record::SparkCreate,
        SPARK_DUD => Record::SparkDud,
        SPARK_OVERFLOW => Record::SparkOverflow,
        SPARK_RUN => Record::SparkRun,
        SPARK_STEAL => Record::SparkSteal { victim_cap: f.u16()? },
        SPARK_FIZZLE => Record::SparkFizzle,
        SPARK_GC => Record::SparkGc,
        INTERN_STRING => Record::InternString { text: f.text()?, id: f.u32()? },
        WALL_CLOCK_TIME => Record::WallClockTime { capset: f.u32()?, unix_seconds: f.u64()?, nanoseconds: f.u32()? },
        THREAD_LABEL => Record::ThreadLabel { thread: f.u32()?, label: f.last_text() },
        CAP_CREATE => Record::CapCreate { cap: f.u16()? },
        CAP_DELETE => Record::CapDelete { cap: f.u16()? },
        CAP_DISABLE => Record::CapDisable { cap: f.u16()? },
        CAP_ENABLE => Record::CapEnable { cap: f.u16()? },
        _ => return None,
    })
}

fn heap(tag: u16, mut f: Fields<'_>) -> Option<Record<'_>> {
    Some(match tag {
        HEAP_ALLOCATED => Record::HeapAllocated { capset: f.u32()?, bytes: f.u64()? },
        HEAP_SIZE => Record::HeapSize { capset: f.u32()?, bytes: f.u64()? },
        HEAP_LIVE => Record::HeapLive { capset: f.u32()?, bytes: f.u64()? },
        HEAP_INFO_GHC => {
            f.u32()?;
            Record::HeapInfo(HeapInfo {
                generations: f.u16()?,
                limit_bytes: f.u64()?,
                nursery_bytes: f.u64()?,
                megablock_bytes: f.u64()?,
                block_bytes: f.u64()?,
            })
        }
        GC_STATS_GHC => Record::GcStats(GcStats {
            capset: f.u32()?,
            generation: f.u16()?,
            copied_bytes: f.u64()?,
            slop_bytes: f.u64()?,
            fragmentation_bytes: f.u64()?,
            threads: f.u32()?,
            copied_max_bytes: f.u64()?,
            copied_total_bytes: f.u64()?,
            copied_balanced_bytes: f.u64(),
        }),
        GC_GLOBAL_SYNC => Record::GcGlobalSync,
        TASK_CREATE => Record::TaskCreate { task: f.u64()?, cap: f.u16()?, tid: f.u64()? },
        TASK_MIGRATE => Record::TaskMigrate { task: f.u64()?, old_cap: f.u16()?, new_cap: f.u16()? },
        TASK_DELETE => Record::TaskDelete { task: f.u64()? },
        USER_MARKER => Record::UserMarker { text: f.rest() },
        HACK_BUG_T9003 => Record::HackBugT9003,
        MEM_RETURN => Record::MemReturn { capset: f.u32()?, current: f.u32()?, needed: f.u32()?, returned: f.u32()? },
        BLOCKS_SIZE => Record::BlocksSize { capset: f.u32()?, bytes: f.u64()? },
        PERF_NAME => Record::PerfName { id: f.u32()?, text: f.last_text() },
        PERF_COUNTER => Record::PerfCounter { id: f.u32()?, tid: f.u64()?, period: f.u64() },
        PERF_TRACEPOINT => Record::PerfTracepoint { id: f.u32()?, tid: f.u64()? },
        _ => return None,
    })
}

fn profile(tag: u16, mut f: Fields<'_>) -> Option<Record<'_>> {
    Some(match tag {
        HEAP_PROF_BEGIN => Record::HeapProfBegin {
            profile: f.u8()?,
            period_ns: f.u64()?,
            breakdown: f.u32()?,
            filters: Texts(f.rest()),
        },
        HEAP_PROF_COST_CENTRE => Record::HeapProfCostCentre {
            id: f.u32()?,
            label: f.text()?,
            module: f.text()?,
            place: f.text()?,
            flags: f.u8()?,
        },
        HEAP_PROF_SAMPLE_BEGIN => Record::HeapProfSampleBegin { sample: f.u64()? },
        HEAP_PROF_SAMPLE_COST_CENTRE => {
            Record::HeapProfSampleCostCentre { profile: f.u8()?, residency_bytes: f.u64()?, stack: stack(&mut f)? }
        }
        HEAP_PROF_SAMPLE_STRING => {
            Record::HeapProfSampleString { profile: f.u8()?, residency_bytes: f.u64()?, label: f.last_text() }
        }
        HEAP_PROF_SAMPLE_END => Record::HeapProfSampleEnd { sample: f.u64()? },
        HEAP_BIO_PROF_SAMPLE_BEGIN => Record::HeapBioProfSampleBegin { sample: f.u64()?, time: f.u64()? },
        PROF_SAMPLE_COST_CENTRE => {
            Record::ProfSampleCostCentre { cap: f.u32()?, tick: f.u64()?, stack: stack(&mut f)? }
        }
        PROF_BEGIN => Record::ProfBegin { tick_interval_ns: f.u64()? },
        IPE => Record::Ipe {
            info: f.u64()?,
            table: f.text()?,
            closure: f.text()?,
            ty: f.text()?,
            label: f.text()?,
            module: f.text()?,
            place: f.last_text(),
        },
        USER_BINARY_MSG => Record::UserBinaryMsg { bytes: f.rest() },
        _ => return collector(tag, f),
    })
}

fn collector(tag: u16, mut f: Fields<'_>) -> Option<Record<'_>> {
    Some(match tag {
        CONC_MARK_BEGIN => Record::ConcMarkBegin,
        CONC_MARK_END => Record::ConcMarkEnd { marked: f.u32()? },
        CONC_SYNC_BEGIN => Record::ConcSyncBegin,
        CONC_SYNC_END => Record::ConcSyncEnd,
        CONC_SWEEP_BEGIN => Record::ConcSweepBegin,
        CONC_SWEEP_END => Record::ConcSweepEnd,
        CONC_UPD_REM_SET_FLUSH => Record::ConcUpdRemSetFlush { cap: f.u16()? },
        NONMOVING_HEAP_CENSUS => census(f)?,
        NONMOVING_PRUNED_SEGMENTS => Record::NonmovingPrunedSegments { pruned: f.u32()?, free: f.u32()? },
        TICKY_COUNTER_DEF => Record::TickyCounterDef {
            id: f.u64()?,
            arity: f.u16()?,
            kinds: f.text()?,
            name: f.last_text(),
            info: f.u64(),
            json: f.last_text(),
        },
        TICKY_COUNTER_SAMPLE => {
            Record::TickyCounterSample { id: f.u64()?, entries: f.u64()?, allocs: f.u64()?, allocd: f.u64()? }
        }
        TICKY_COUNTER_BEGIN_SAMPLE => Record::TickyCounterBeginSample,
        _ => return None,
    })
}

/// 13 bytes hold the block size as a power of two, 14 bytes in bytes.
fn census(mut f: Fields<'_>) -> Option<Record<'_>> {
    let old = f.len() < 14;
    let block_bytes = if old { 1u64.checked_shl(u32::from(f.u8()?))? } else { u64::from(f.u16()?) };
    Some(Record::NonmovingHeapCensus {
        block_bytes,
        active_segments: f.u32()?,
        filled_segments: f.u32()?,
        live_blocks: f.u32()?,
    })
}

fn stack<'a>(f: &mut Fields<'a>) -> Option<Ids<'a>> {
    let depth = usize::from(f.u8()?);
    f.rest().get(..depth * 4).map(Ids)
}
