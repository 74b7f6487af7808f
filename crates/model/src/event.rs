//! The neutral event: what importers make of a runtime's records, of kernel
//! scheduling records and of the recorder's samples. Small and `Copy`; strings
//! are [`NameId`]s.
//!
//! Owns the vocabulary; refuses anything that only one runtime's folds could
//! understand: such things stay records in `decode`.

use crate::code::CodeSample;
use crate::heap_profile::HeapProfile;
use crate::ids::{Cpu, GreenThread, GroupId, LaneId, Pid, Tid};
use crate::names::NameId;
use crate::time::Time;

/// One event on the trace clock.
#[derive(Copy, Clone, PartialEq, Debug)]
pub struct Event {
    /// When.
    pub time: Time,
    /// Of which lane; [`LaneId::NONE`] for the process, the kernel, the machine.
    pub lane: LaneId,
    /// What.
    pub body: Body,
}

/// What happened.
#[derive(Copy, Clone, PartialEq, Debug)]
pub enum Body {
    /// Posted by the runtime.
    Runtime(Runtime),
    /// Posted by the kernel's scheduler.
    Sched(Sched),
    /// Sampled by the recorder.
    Sample(Sample),
    /// Where a thread's code was.
    Code(CodeSample),
}

/// Events of a runtime, in words that belong to none.
///
/// A stop-the-world collection goes through the same steps in every runtime. Some post them as moments, some as
/// spans, which are kept as they come: other tools know them by these.
///
/// | step | a moment | a span |
/// |---|---|---|
/// | the lane wants to collect; it has given up, or it has its collection | | [`Phase::Wanted`] begins; ends |
/// | it asks all lanes to stop | [`Runtime::StopRequested`] | [`Phase::Lead`] begins |
/// | it has stopped | [`Runtime::Stopped`] | [`Phase::Follow`] begins; of the leader [`Phase::Barrier`] |
/// | all have stopped | [`Runtime::Stopped`] of the leader | the last lane's |
/// | work begins; pauses; ends | [`Runtime::WorkBegin`]; [`Runtime::WorkIdle`]; [`Runtime::WorkEnd`] | [`Phase::Minor`], [`Phase::CycleEnd`], [`Phase::Compact`] begin; end |
/// | all work is done | [`Runtime::Resumed`] of the leader | the first lane's [`Phase::LeaveBarrier`] ends |
/// | the lane is back | [`Runtime::Resumed`] | [`Phase::Lead`] or [`Phase::Follow`] ends |
/// | a slice of work on the old heap, while others run | | [`Phase::MajorSlice`] |
/// | a call: a wait on a condition, a collection that the program asked for, finalisers | | [`Phase::Condition`], [`Phase::Explicit`], [`Phase::Finalise`] |
///
/// In which order they come, and what is left out, is each runtime's own: a recogniser for each makes pauses of them.
#[derive(Copy, Clone, PartialEq, Debug)]
pub enum Runtime {
    /// The lane asks all lanes to stop. `parallel`: they will take part.
    StopRequested {
        /// All lanes collect, each posts its arrival.
        parallel: bool,
    },
    /// The lane has stopped. Of the leader: all have.
    Stopped,
    /// Its part of the collection is over: it goes back to what it did.
    Resumed,
    /// A collector thread of this lane starts or resumes work.
    WorkBegin,
    /// It ran out of work.
    WorkIdle,
    /// It is finished.
    WorkEnd,
    /// The leader holds all lanes, near the end of the collection.
    GlobalSync,
    /// A figure. A collection's figures follow each other on its leader,
    /// [`Counter::Generation`] first.
    Count(Counter, u64),
    /// A green thread runs on this lane.
    ThreadRun(GreenThread),
    /// It stopped.
    ThreadStop(GreenThread, StopReason),
    /// A green thread that stood on this lane was sent to another one.
    ThreadMoved(GreenThread),
    /// A green thread was made, by what runs on this lane.
    ThreadCreated(GreenThread),
    /// A green thread may go on: what runs on this lane has woken it. Posted again by
    /// the lane that it stands on.
    ThreadWoken(GreenThread),
    /// The lane was created.
    LaneCreated,
    /// The lane was deleted.
    LaneDeleted,
    /// The lane was switched off.
    LaneDisabled,
    /// The lane was switched on again.
    LaneEnabled,
    /// A kernel thread serves (or may serve) this lane. The tid is of the
    /// program's own pid namespace.
    TaskCreated(Tid),
    /// A concurrent mark starts.
    ConcurrentMarkBegin,
    /// It ends.
    ConcurrentMarkEnd,
    /// The stop at the end of a concurrent mark starts.
    ConcurrentSyncBegin,
    /// It ends.
    ConcurrentSyncEnd,
    /// A concurrent sweep starts.
    ConcurrentSweepBegin,
    /// It ends.
    ConcurrentSweepEnd,
    /// The tracer itself wrote its buffer until this moment, `ns` long.
    TracerWrote {
        /// Duration in nanoseconds.
        ns: u64,
    },
    /// The lane enters a phase.
    PhaseBegin(Phase),
    /// It leaves it. Phases of threads that serve a lane in turn need not nest.
    PhaseEnd(Phase),
    /// The process made a copy of itself.
    Forked {
        /// The new process, in the program's own pid namespace.
        child: Pid,
    },
    /// What the program's own code posted. The name is of the runtime stream's table.
    User(NameId, UserEvent),
    /// What the runtime's own heap profiler found.
    HeapProfile(HeapProfile),
    /// Events of this lane were lost before this one: what was open is not known.
    Gap,
}

impl Runtime {
    /// The class that asks for it.
    #[inline]
    pub fn class(self) -> Class {
        match self {
            Runtime::StopRequested { .. }
            | Runtime::Stopped
            | Runtime::Resumed
            | Runtime::WorkBegin
            | Runtime::WorkIdle
            | Runtime::WorkEnd
            | Runtime::GlobalSync => Class::Collection,
            Runtime::Count(counter, _) => counter.class(),
            Runtime::ThreadRun(_)
            | Runtime::ThreadStop(..)
            | Runtime::ThreadMoved(_)
            | Runtime::ThreadCreated(_)
            | Runtime::ThreadWoken(_) => Class::Green,
            Runtime::LaneCreated
            | Runtime::LaneDeleted
            | Runtime::LaneDisabled
            | Runtime::LaneEnabled
            | Runtime::TaskCreated(_)
            | Runtime::Forked { .. }
            | Runtime::Gap => Class::Lanes,
            Runtime::ConcurrentMarkBegin
            | Runtime::ConcurrentMarkEnd
            | Runtime::ConcurrentSyncBegin
            | Runtime::ConcurrentSyncEnd
            | Runtime::ConcurrentSweepBegin
            | Runtime::ConcurrentSweepEnd => Class::Concurrent,
            Runtime::TracerWrote { .. } => Class::Tracer,
            Runtime::PhaseBegin(phase) | Runtime::PhaseEnd(phase) => phase.class(),
            Runtime::User(..) => Class::User,
            Runtime::HeapProfile(_) => Class::HeapProfile,
        }
    }
}

/// Phases that runtimes post as spans.
#[derive(Copy, Clone, Eq, PartialEq, Ord, PartialOrd, Hash, Debug)]
pub enum Phase {
    /// The lane wants a collection: from its first attempt to lead one until its young
    /// heap is empty, whoever led.
    Wanted,
    /// It has become leader; until its own part is over.
    Lead,
    /// It takes part in a section that another lane leads.
    Follow,
    /// It has stopped and waits for the others to stop.
    Barrier,
    /// It collects its young heap.
    Minor,
    /// It has collected its young heap and waits for the others.
    LeaveBarrier,
    /// It works on the old heap while others may run the program.
    MajorSlice,
    /// All lanes have stopped at the end of a cycle of the old heap.
    CycleEnd,
    /// All lanes compact the heap.
    Compact,
    /// An interrupt of another lane is served where the lane's code allows it.
    Interrupt,
    /// The lane's thread waits on a condition.
    Condition,
    /// The program asked for this collection.
    Explicit,
    /// Finalisers run.
    Finalise,
    /// Heaps are laid out anew: their number or size changes.
    Resize,
    /// Anything finer: the number is the runtime's own, for display.
    Detail(u16),
}

impl Phase {
    /// Whether what a lane does follows from it: waits, work and its part in a collection.
    pub fn is_state(self) -> bool {
        !matches!(self, Phase::Interrupt | Phase::Explicit | Phase::Finalise | Phase::Resize | Phase::Detail(_))
    }

    /// The class that asks for its begin and end.
    pub fn class(self) -> Class {
        if let Phase::Detail(_) = self { Class::Details } else { Class::Collection }
    }
}

/// What a program posts about itself.
#[derive(Copy, Clone, Eq, PartialEq, Debug)]
pub enum UserEvent {
    /// A moment.
    Mark,
    /// A span begins.
    Begin,
    /// It ends.
    End,
    /// A value.
    Value(i64),
}

/// Why a green thread left its lane.
#[derive(Copy, Clone, Eq, PartialEq, Ord, PartialOrd, Hash, Debug)]
pub enum StopReason {
    /// The runtime wanted the lane: heap check, context switch, yield.
    Yielded,
    /// It ended.
    Finished,
    /// It is in a foreign call that released the lane.
    ForeignCall,
    /// It waits for something.
    Blocked(BlockedOn),
    /// Something else.
    Other,
}

/// What a green thread waits for.
#[derive(Copy, Clone, Eq, PartialEq, Ord, PartialOrd, Hash, Debug)]
pub enum BlockedOn {
    /// A lock or mailbox: an MVar.
    Lock,
    /// A value that another thread is computing; which, where known.
    BlackHole(Option<GreenThread>),
    /// A transaction that retries.
    Transaction,
    /// Input, output or a delay.
    Io,
    /// Something else.
    Other,
}

macro_rules! counters {
    ($($name:ident $class:ident $key:literal $doc:literal;)*) => {
        $crate::listed! {
            /// Figures that runtimes post.
            #[derive(Copy, Clone, Eq, PartialEq, Ord, PartialOrd, Hash, Debug)]
            pub enum Counter: key { $(#[doc = $doc] $name = $key,)* }
        }

        impl Counter {
            /// The class that asks for it.
            pub fn class(self) -> Class {
                match self {
                    $(Counter::$name => Class::$class,)*
                }
            }
        }
    };
}

// Each with its class and its name in traces.
counters! {
    Generation Figures "generation" "Oldest generation of the collection that just ended.";
    CopiedBytes Figures "copied_bytes" "Bytes it copied.";
    SlopBytes Figures "slop_bytes" "Slop bytes in the heap.";
    FragmentationBytes Figures "fragmentation_bytes" "Bytes of free blocks inside held megablocks.";
    GcThreads Figures "gc_threads" "Threads that took part.";
    CopiedMaxBytes Figures "copied_max_bytes" "Most bytes copied by one thread.";
    CopiedBalancedBytes Figures "copied_balanced_bytes" "Bytes that were balanced between threads.";
    AllocatedBytes Heap "allocated_bytes" "Bytes allocated by this lane since the start.";
    HeapBytes Heap "heap_bytes" "Heap held from the system.";
    BlocksBytes Heap "blocks_bytes" "Bytes in allocated blocks.";
    LiveBytes Heap "live_bytes" "Live bytes after a major collection.";
    ReturnHeldMib Heap "return_held_mib" "Megabytes held after returning memory.";
    ReturnNeededMib Heap "return_needed_mib" "Megabytes needed.";
    ReturnedMib Heap "returned_mib" "Megabytes given back to the system.";
    Generations Heap "generations" "Configured generations.";
    NurseryBytes Heap "nursery_bytes" "Configured allocation area per lane, bytes.";
    HeapLimitBytes Heap "heap_limit_bytes" "Configured heap limit, bytes (0: none).";
    SparksCreated Sparks "sparks_created" "Sparks of this lane since the start: created.";
    SparksDud Sparks "sparks_dud" "Already evaluated when created.";
    SparksOverflowed Sparks "sparks_overflowed" "Thrown away because the pool was full.";
    SparksConverted Sparks "sparks_converted" "Run in parallel.";
    SparksCollected Sparks "sparks_collected" "Collected unevaluated: not needed.";
    SparksFizzled Sparks "sparks_fizzled" "Evaluated by another thread before they ran.";
    SparksRemaining Sparks "sparks_remaining" "Still in the pool.";
    YoungBytes Figures "minor_allocated" "Bytes that one lane's young heap held when it was collected.";
    PromotedBytes Figures "minor_promoted" "Of these, bytes that stayed alive.";
    MajorWork Figures "major_allocated_work" "Words of work on its old heap that one lane's own allocation asks for, since its last slice.";
    OutsideWork Figures "major_extra_work" "The same for memory outside the heap that its blocks hold.";
    OldFreeBytes Heap "old_free_bytes" "Bytes of an old heap kept for lanes' small blocks but not in use.";
    LargeBytes Heap "large_bytes" "Bytes of blocks that are too large for those; they are in the live bytes too.";
}

crate::listed! {
    /// State in which a thread left its CPU.
    #[derive(Copy, Clone, Eq, PartialEq, Ord, PartialOrd, Hash, Debug)]
    pub enum OffState: word {
        /// Still runnable: something else got the CPU.
        Runnable = "runnable",
        /// Asleep, interruptible.
        Sleeping = "sleeping",
        /// Blocked in the kernel, not interruptible.
        Uninterruptible = "uninterruptible",
        /// Ended.
        Dead = "dead",
        /// Stopped, traced, parked.
        Other = "other",
        /// This tier cannot tell.
        Unknown = "unknown",
    }
}

/// Events of the kernel's scheduler.
#[derive(Copy, Clone, PartialEq, Debug)]
pub enum Sched {
    /// `cpu` goes from `prev` to `next`.
    Switch {
        /// Where.
        cpu: Cpu,
        /// Who left.
        prev: Tid,
        /// Whose process that is, where known (0: unknown).
        prev_pid: Pid,
        /// In which state.
        prev_state: OffState,
        /// Who came.
        next: Tid,
        /// Its name.
        next_name: NameId,
    },
    /// The cheap tier: a thread of the program came on a CPU.
    SwitchIn {
        /// Where.
        cpu: Cpu,
        /// Who.
        tid: Tid,
    },
    /// The cheap tier: a thread of the program left a CPU.
    SwitchOut {
        /// Where.
        cpu: Cpu,
        /// Who.
        tid: Tid,
        /// It would have gone on.
        preempted: bool,
    },
    /// `waker` makes `target` runnable.
    Waking {
        /// Who wakes (current on that CPU).
        waker: Tid,
        /// Who is woken.
        target: Tid,
        /// Where it will wait.
        target_cpu: Cpu,
    },
    /// A runnable thread moves.
    Migrate {
        /// Who.
        tid: Tid,
        /// To where.
        to: Cpu,
    },
    /// A thread or process was made.
    Fork {
        /// By whom.
        parent: Tid,
        /// The new one.
        child: Tid,
        /// The new one's process; differs from `child` for a thread (0: unknown).
        child_pid: Pid,
    },
    /// A thread ended.
    Exit {
        /// Its number.
        tid: Tid,
    },
    /// A thread's name (exec or rename).
    Named {
        /// Whose.
        tid: Tid,
        /// Its name.
        name: NameId,
    },
}

/// What the recorder samples. Counters are cumulative.
#[derive(Copy, Clone, PartialEq, Debug)]
pub enum Sample {
    /// Resident set of the program.
    Rss {
        /// Bytes.
        bytes: u64,
    },
    /// Quota counters of one control group.
    Quota {
        /// Which (index into the manifest's list).
        group: GroupId,
        /// Enforcement periods with work.
        periods: u64,
        /// Of these, periods in which the quota ran out.
        throttled: u64,
        /// Time throttled, summed over CPU run queues, in nanoseconds.
        throttled_ns: u64,
    },
    /// Counters of one thread of the program.
    Thread {
        /// Its number.
        tid: Tid,
        /// Voluntary context switches.
        voluntary: u64,
        /// Involuntary context switches.
        involuntary: u64,
        /// Minor page faults.
        minor_faults: u64,
        /// Major page faults.
        major_faults: u64,
        /// User plus system time in nanoseconds (10 ms steps on most kernels).
        cpu_ns: u64,
        /// Time spent runnable but not running, in nanoseconds (0: unknown).
        wait_ns: u64,
    },
    /// Time that the host or interrupts took from one CPU, in nanoseconds
    /// (10 ms steps).
    CpuStolen {
        /// Its number.
        cpu: Cpu,
        /// Steal time.
        steal_ns: u64,
        /// Interrupt and soft interrupt time.
        irq_ns: u64,
    },
    /// Memory of one control group, bytes.
    GroupMemory {
        /// The group, by its number in the manifest.
        group: GroupId,
        /// Bytes charged.
        bytes: u64,
    },
    /// Pressure stall total, microseconds: some task waited for this.
    Pressure {
        /// 0 cpu, 1 memory, 2 io.
        resource: u8,
        /// Total since boot.
        total_us: u64,
    },
    /// Calls of one process that read and write, since it began.
    Calls {
        /// The process.
        pid: Pid,
        /// Calls that read,
        reads: u64,
        /// and the bytes that they gave.
        read_bytes: u64,
        /// Calls that write,
        writes: u64,
        /// and the bytes that they took.
        written_bytes: u64,
    },
    /// The sampler came back later than it asked for.
    Late {
        /// By how much, nanoseconds.
        ns: u64,
    },
}

crate::listed! {
    /// A class of events that a fold may ask for; decoders skip the rest by size.
    #[derive(Copy, Clone, Eq, PartialEq, Debug)]
    pub enum Class {
        /// Requests, arrivals, work, ends of collections.
        Collection,
        /// What a collection came to: its generation, bytes copied and promoted.
        Figures,
        /// Heap figures (size, blocks, live, allocated, returned).
        Heap,
        /// Lanes created, switched off and on; tasks; gaps in what a lane posted.
        Lanes,
        /// Every run, stop, start and wake-up of every green thread.
        Green,
        /// Only the first run of a lane after a collection, the last stop before
        /// one, and moves between lanes: what release and arrival need, at a
        /// fraction of the cost.
        GreenEdges,
        /// Concurrent (non-moving) collector phases.
        Concurrent,
        /// Gaps in which the tracer wrote its buffers.
        Tracer,
        /// Spark counters.
        Sparks,
        /// Phases finer than those that pauses are made of.
        Details,
        /// What the program's own code posts.
        User,
        /// Samples of the runtime's heap profiler.
        HeapProfile,
    }
}

/// A set of [`Class`]es.
#[derive(Copy, Clone, Eq, PartialEq, Debug, Default)]
pub struct Classes(u32);

impl Classes {
    /// No class.
    pub const NONE: Classes = Classes(0);
    /// Every class.
    pub const ALL: Classes = Classes(u32::MAX);

    /// The set with `class` added.
    pub const fn with(self, class: Class) -> Classes {
        Classes(self.0 | 1 << class as u32)
    }

    /// The union.
    pub const fn union(self, other: Classes) -> Classes {
        Classes(self.0 | other.0)
    }

    /// Whether events of `class` are of interest to who asked for this set: edges of runs are runs.
    pub const fn takes(self, class: Class) -> bool {
        self.has(class) || (matches!(class, Class::Green) && self.has(Class::GreenEdges))
    }

    /// Whether `class` is in the set.
    pub const fn has(self, class: Class) -> bool {
        self.0 & (1 << class as u32) != 0
    }
}
