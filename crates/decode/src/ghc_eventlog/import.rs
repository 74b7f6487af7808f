//! GHC's records in the neutral vocabulary: which tags a set of classes needs, and what each of them means.

use super::record::Record;
use super::tags::*;
use rtscope_model::event::Runtime;
use rtscope_model::{BlockedOn, Class, Classes, Counter, GreenThread, LaneId, StopReason, Tid};

/// What the scanner does with a record of some tag.
pub(super) mod action {
    /// Count the record.
    pub const SKIP: u8 = 0;
    /// Account green-thread time and perhaps emit an event.
    pub const RUN: u8 = 1;
    pub const STOP: u8 = 2;
    /// Decode and import the record.
    pub const IMPORT: u8 = 3;
    /// Import, and emit a pending stop first.
    pub const FLUSH: u8 = 4;
    /// Import, emit a pending stop first, and emit the next run.
    pub const EDGE: u8 = 5;
    /// A block marker inside a block.
    pub const MARKER: u8 = 6;
}

/// The class whose folds need `tag`, in addition to green threads.
fn class(tag: u16) -> Option<Class> {
    Some(match tag {
        GC_START | GC_END | REQUEST_SEQ_GC | REQUEST_PAR_GC | GC_IDLE | GC_WORK | GC_DONE | GC_GLOBAL_SYNC => {
            Class::Collection
        }
        GC_STATS_GHC => Class::Figures,
        HEAP_ALLOCATED | HEAP_SIZE | HEAP_LIVE | HEAP_INFO_GHC | MEM_RETURN | BLOCKS_SIZE => Class::Heap,
        CAP_CREATE | CAP_DELETE | CAP_DISABLE | CAP_ENABLE | TASK_CREATE => Class::Lanes,
        CREATE_THREAD | MIGRATE_THREAD | THREAD_WAKEUP => Class::Green,
        CONC_MARK_BEGIN | CONC_MARK_END | CONC_SYNC_BEGIN | CONC_SYNC_END | CONC_SWEEP_BEGIN | CONC_SWEEP_END => {
            Class::Concurrent
        }
        SPARK_COUNTERS => Class::Sparks,
        HEAP_PROF_BEGIN
        | HEAP_PROF_SAMPLE_BEGIN
        | HEAP_PROF_SAMPLE_COST_CENTRE
        | HEAP_PROF_SAMPLE_STRING
        | HEAP_PROF_SAMPLE_END => Class::HeapProfile,
        _ => return None,
    })
}

/// Whether folds of `classes` need the events that [`import`] makes of `tag`.
pub(super) fn wanted(tag: u16, classes: Classes) -> bool {
    // A thread that leaves its lane is an edge too: nothing runs there next.
    let edge = tag == MIGRATE_THREAD && classes.has(Class::GreenEdges);
    edge || class(tag).is_some_and(|class| classes.has(class))
}

/// What the scanner does with `tag` when `classes` are requested.
pub(super) fn plan(tag: u16, classes: Classes) -> u8 {
    let edges = classes.has(Class::GreenEdges) && !classes.has(Class::Green);
    match tag {
        RUN_THREAD => action::RUN,
        STOP_THREAD => action::STOP,
        BLOCK_MARKER => action::MARKER,
        // The leader posts HEAP_ALLOCATED for every capability while it holds them all: the only trace of a
        // sequential collection on the other capabilities.
        GC_START | GC_END | GC_DONE | HEAP_ALLOCATED if edges => action::EDGE,
        _ if edges && matches!(class(tag), Some(Class::Collection | Class::Figures | Class::Heap)) => action::FLUSH,
        _ if wanted(tag, classes) => action::IMPORT,
        _ => action::SKIP,
    }
}

/// Passes the events of `record` to `emit`, with their lane; `lane` is the block's.
pub(super) fn import(record: &Record<'_>, lane: LaneId, mut emit: impl FnMut(LaneId, Runtime)) {
    if let Some(event) = collection(record) {
        emit(lane, event);
        return;
    }
    match *record {
        Record::GcStats(stats) => {
            let count = |counter, value| Runtime::Count(counter, value);
            emit(lane, count(Counter::Generation, u64::from(stats.generation)));
            emit(lane, count(Counter::CopiedBytes, stats.copied_bytes));
            emit(lane, count(Counter::SlopBytes, stats.slop_bytes));
            emit(lane, count(Counter::FragmentationBytes, stats.fragmentation_bytes));
            emit(lane, count(Counter::GcThreads, u64::from(stats.threads)));
            emit(lane, count(Counter::CopiedMaxBytes, stats.copied_max_bytes));
            if let Some(bytes) = stats.copied_balanced_bytes {
                emit(lane, count(Counter::CopiedBalancedBytes, bytes));
            }
        }
        Record::HeapAllocated { bytes, .. } => emit(lane, Runtime::Count(Counter::AllocatedBytes, bytes)),
        Record::HeapSize { bytes, .. } => emit(lane, Runtime::Count(Counter::HeapBytes, bytes)),
        Record::HeapLive { bytes, .. } => emit(lane, Runtime::Count(Counter::LiveBytes, bytes)),
        Record::BlocksSize { bytes, .. } => emit(lane, Runtime::Count(Counter::BlocksBytes, bytes)),
        Record::HeapInfo(heap) => {
            emit(lane, Runtime::Count(Counter::Generations, u64::from(heap.generations)));
            emit(lane, Runtime::Count(Counter::NurseryBytes, heap.nursery_bytes));
            emit(lane, Runtime::Count(Counter::HeapLimitBytes, heap.limit_bytes));
        }
        Record::MemReturn { current, needed, returned, .. } => {
            emit(lane, Runtime::Count(Counter::ReturnHeldMib, u64::from(current)));
            emit(lane, Runtime::Count(Counter::ReturnNeededMib, u64::from(needed)));
            emit(lane, Runtime::Count(Counter::ReturnedMib, u64::from(returned)));
        }
        Record::SparkCounters { created, dud, overflowed, converted, gcd, fizzled, remaining } => {
            let counters = [
                (Counter::SparksCreated, created),
                (Counter::SparksDud, dud),
                (Counter::SparksOverflowed, overflowed),
                (Counter::SparksConverted, converted),
                (Counter::SparksCollected, gcd),
                (Counter::SparksFizzled, fizzled),
                (Counter::SparksRemaining, remaining),
            ];
            counters.into_iter().for_each(|(counter, value)| emit(lane, Runtime::Count(counter, value)));
        }
        Record::MigrateThread { thread, .. } => emit(lane, Runtime::ThreadMoved(GreenThread(thread))),
        Record::CreateThread { thread } => emit(lane, Runtime::ThreadCreated(GreenThread(thread))),
        Record::ThreadWakeup { thread, .. } => emit(lane, Runtime::ThreadWoken(GreenThread(thread))),
        Record::CapCreate { cap } => emit(LaneId(cap), Runtime::LaneCreated),
        Record::CapDelete { cap } => emit(LaneId(cap), Runtime::LaneDeleted),
        Record::CapDisable { cap } => emit(LaneId(cap), Runtime::LaneDisabled),
        Record::CapEnable { cap } => emit(LaneId(cap), Runtime::LaneEnabled),
        // A kernel thread id has 22 bits; larger values are damage.
        Record::TaskCreate { cap, tid, .. } => {
            if let Ok(tid) = u32::try_from(tid) {
                emit(LaneId(cap), Runtime::TaskCreated(Tid(tid)));
            }
        }
        Record::ConcMarkBegin => emit(lane, Runtime::ConcurrentMarkBegin),
        Record::ConcMarkEnd { .. } => emit(lane, Runtime::ConcurrentMarkEnd),
        Record::ConcSyncBegin => emit(lane, Runtime::ConcurrentSyncBegin),
        Record::ConcSyncEnd => emit(lane, Runtime::ConcurrentSyncEnd),
        Record::ConcSweepBegin => emit(lane, Runtime::ConcurrentSweepBegin),
        Record::ConcSweepEnd => emit(lane, Runtime::ConcurrentSweepEnd),
        _ => {}
    }
}

fn collection(record: &Record<'_>) -> Option<Runtime> {
    Some(match record {
        Record::RequestSeqGc => Runtime::StopRequested { parallel: false },
        Record::RequestParGc => Runtime::StopRequested { parallel: true },
        Record::GcStart => Runtime::Stopped,
        Record::GcEnd => Runtime::Resumed,
        Record::GcWork => Runtime::WorkBegin,
        Record::GcIdle => Runtime::WorkIdle,
        Record::GcDone => Runtime::WorkEnd,
        Record::GcGlobalSync => Runtime::GlobalSync,
        _ => return None,
    })
}

/// The stop of a green thread, by GHC's status.
pub(super) fn stopped(thread: u32, status: u16, info: u32) -> Runtime {
    let reason = match status {
        1..=3 => StopReason::Yielded,
        5 => StopReason::Finished,
        6 | 16 | 17 => StopReason::ForeignCall,
        7 | 20 => StopReason::Blocked(BlockedOn::Lock),
        8 => StopReason::Blocked(BlockedOn::BlackHole((info != 0).then_some(GreenThread(info)))),
        9..=11 | 21 => StopReason::Blocked(BlockedOn::Io),
        12 => StopReason::Blocked(BlockedOn::Transaction),
        4 | 13..=15 | 18 => StopReason::Blocked(BlockedOn::Other),
        _ => StopReason::Other,
    };
    Runtime::ThreadStop(GreenThread(thread), reason)
}
