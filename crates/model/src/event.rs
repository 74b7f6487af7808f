//! The neutral event: the form in which importers present a runtime's records, kernel scheduling records and the
//! recorder's samples. Small and `Copy`; strings are [`NameId`]s.
//!
//! Owns the vocabulary; refuses events that only one runtime's folds could understand: these stay records in `decode`.

use crate::code::CodeSample;
use crate::heap_profile::HeapProfile;
use crate::ids::{Cpu, GreenThread, GroupId, LaneId, Pid, Tid};
use crate::names::NameId;
use crate::time::Time;

/// One event on the trace clock.
#[derive(Copy, Clone, PartialEq, Debug)]
pub struct Event {
    /// Time of the event.
    pub time: Time,
    /// Its lane; [`LaneId::NONE`] for the process, the kernel, the machine.
    pub lane: LaneId,
    /// The event itself.
    pub body: Body,
}

/// The content of an event.
#[derive(Copy, Clone, PartialEq, Debug)]
pub enum Body {
    /// Posted by the runtime.
    Runtime(Runtime),
    /// Posted by the kernel's scheduler.
    Sched(Sched),
    /// Sampled by the recorder.
    Sample(Sample),
    /// A sample of a thread's code.
    Code(CodeSample),
}

/// Events of a runtime, in runtime-neutral terms.
///
/// A stop-the-world collection has the same steps in every runtime. Some runtimes post them as instants, some as
/// spans; both forms are kept, since other tools know the events by them.
///
/// | step | instant | span |
/// |---|---|---|
/// | the lane wants to collect; it has given up, or it has its collection | | [`Phase::Wanted`] begins; ends |
/// | it requests a stop of all lanes | [`Runtime::StopRequested`] | [`Phase::Lead`] begins |
/// | it has stopped | [`Runtime::Stopped`] | [`Phase::Follow`] begins; for the leader [`Phase::Barrier`] |
/// | all have stopped | [`Runtime::Stopped`] of the leader | the last lane's |
/// | work begins; pauses; ends | [`Runtime::WorkBegin`]; [`Runtime::WorkIdle`]; [`Runtime::WorkEnd`] | [`Phase::Minor`], [`Phase::CycleEnd`], [`Phase::Compact`] begin; end |
/// | all work is done | [`Runtime::Resumed`] of the leader | the first lane's [`Phase::LeaveBarrier`] ends |
/// | the lane resumes | [`Runtime::Resumed`] | [`Phase::Lead`] or [`Phase::Follow`] ends |
/// | a slice of work on the old heap, while other lanes run | | [`Phase::MajorSlice`] |
/// | a call: a wait on a condition, a collection requested by the program, finalisers | | [`Phase::Condition`], [`Phase::Explicit`], [`Phase::Finalise`] |
///
/// Their order, and what is left out, depends on the runtime: each has a recogniser that makes pauses of them.
#[derive(Copy, Clone, PartialEq, Debug)]
pub enum Runtime {
    /// The lane requests a stop of all lanes.
    StopRequested {
        /// All lanes take part in the collection and post their arrival.
        parallel: bool,
    },
    /// The lane has stopped. Posted by the leader: all lanes have.
    Stopped,
    /// The lane's part of the collection is over, and it resumes.
    Resumed,
    /// A collector thread of this lane starts or resumes work.
    WorkBegin,
    /// The collector thread ran out of work.
    WorkIdle,
    /// The collector thread has finished.
    WorkEnd,
    /// The leader holds all lanes, near the end of the collection.
    GlobalSync,
    /// A figure. A collection's figures follow each other on its leader, starting with [`Counter::Generation`].
    Count(Counter, u64),
    /// A green thread runs on this lane.
    ThreadRun(GreenThread),
    /// A green thread stopped on this lane.
    ThreadStop(GreenThread, StopReason),
    /// A green thread on this lane was moved to another lane.
    ThreadMoved(GreenThread),
    /// A green thread was created by the thread running on this lane.
    ThreadCreated(GreenThread),
    /// The thread running on this lane made a green thread runnable. Posted again by the lane that this thread is on.
    ThreadWoken(GreenThread),
    /// The lane was created.
    LaneCreated,
    /// The lane was deleted.
    LaneDeleted,
    /// The lane was disabled.
    LaneDisabled,
    /// The lane was enabled again.
    LaneEnabled,
    /// A kernel thread serves (or may serve) this lane. The tid is in the program's own pid namespace.
    TaskCreated(Tid),
    /// A concurrent mark starts.
    ConcurrentMarkBegin,
    /// A concurrent mark ends.
    ConcurrentMarkEnd,
    /// The stop at the end of a concurrent mark starts.
    ConcurrentSyncBegin,
    /// The stop at the end of a concurrent mark ends.
    ConcurrentSyncEnd,
    /// A concurrent sweep starts.
    ConcurrentSweepBegin,
    /// A concurrent sweep ends.
    ConcurrentSweepEnd,
    /// The tracer itself wrote its buffer for `ns`, ending at this time.
    TracerWrote {
        /// Duration in nanoseconds.
        ns: u64,
    },
    /// The lane enters a phase.
    PhaseBegin(Phase),
    /// The lane leaves a phase. Phases of threads that serve a lane in turn need not nest.
    PhaseEnd(Phase),
    /// The process forked.
    Forked {
        /// The new process, in the program's own pid namespace.
        child: Pid,
    },
    /// An event of the program's own code. The name is in the runtime stream's table.
    User(NameId, UserEvent),
    /// An event of the runtime's heap profiler.
    HeapProfile(HeapProfile),
    /// Events of this lane before this one were lost: open phases and threads are unknown.
    Gap,
}

impl Runtime {
    /// The class that requests this event.
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
    /// The lane wants a collection: from its first attempt to lead one until its young heap is empty,
    /// whichever lane led.
    Wanted,
    /// The lane leads: from becoming leader until its own part is over.
    Lead,
    /// The lane takes part in a section that another lane leads.
    Follow,
    /// The lane has stopped and waits for the others to stop.
    Barrier,
    /// The lane collects its young heap.
    Minor,
    /// The lane has collected its young heap and waits for the others.
    LeaveBarrier,
    /// The lane works on the old heap while others may run the program.
    MajorSlice,
    /// All lanes have stopped at the end of a cycle of the old heap.
    CycleEnd,
    /// All lanes compact the heap.
    Compact,
    /// The lane serves another lane's interrupt, at a point where its code allows it.
    Interrupt,
    /// The lane's thread waits on a condition.
    Condition,
    /// The program requested this collection.
    Explicit,
    /// Finalisers run.
    Finalise,
    /// Heaps are laid out anew: their number or size changes.
    Resize,
    /// A finer phase, by the runtime's own number; only for display.
    Detail(u16),
}

impl Phase {
    /// Whether it determines the lane's state: waits, work and parts in a collection.
    pub fn is_state(self) -> bool {
        !matches!(self, Phase::Interrupt | Phase::Explicit | Phase::Finalise | Phase::Resize | Phase::Detail(_))
    }

    /// The class that requests its begin and end.
    pub fn class(self) -> Class {
        if let Phase::Detail(_) = self { Class::Details } else { Class::Collection }
    }
}

/// The kind of an event that a program posts itself.
#[derive(Copy, Clone, Eq, PartialEq, Debug)]
pub enum UserEvent {
    /// An instant.
    Mark,
    /// A span begins.
    Begin,
    /// A span ends.
    End,
    /// A value of a counter.
    Value(i64),
}

/// Why a green thread left its lane.
#[derive(Copy, Clone, Eq, PartialEq, Ord, PartialOrd, Hash, Debug)]
pub enum StopReason {
    /// The runtime needed the lane: heap check, context switch, yield.
    Yielded,
    /// The thread ended.
    Finished,
    /// The thread is in a foreign call that released the lane.
    ForeignCall,
    /// The thread waits for something.
    Blocked(BlockedOn),
    /// Any other reason.
    Other,
}

/// What a green thread waits for.
#[derive(Copy, Clone, Eq, PartialEq, Ord, PartialOrd, Hash, Debug)]
pub enum BlockedOn {
    /// A lock or mailbox: an MVar.
    Lock,
    /// A value that another thread is computing, with that thread if it is known.
    BlackHole(Option<GreenThread>),
    /// A transaction in `retry`.
    Transaction,
    /// Input, output or a delay.
    Io,
    /// Any other reason.
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
            /// The class that requests this figure.
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
    /// The state in which a thread left its CPU.
    #[derive(Copy, Clone, Eq, PartialEq, Ord, PartialOrd, Hash, Debug)]
    pub enum OffState: word {
        /// Still runnable: another thread got the CPU.
        Runnable = "runnable",
        /// Asleep, interruptible.
        Sleeping = "sleeping",
        /// Blocked in the kernel, uninterruptible.
        Uninterruptible = "uninterruptible",
        /// The thread ended.
        Dead = "dead",
        /// Stopped, traced, parked.
        Other = "other",
        /// Not known in this tier.
        Unknown = "unknown",
    }
}

/// Events of the kernel's scheduler.
#[derive(Copy, Clone, PartialEq, Debug)]
pub enum Sched {
    /// `cpu` switches from `prev` to `next`.
    Switch {
        /// The CPU.
        cpu: Cpu,
        /// The outgoing thread.
        prev: Tid,
        /// The process of `prev` (0: unknown).
        prev_pid: Pid,
        /// The state in which `prev` left.
        prev_state: OffState,
        /// The incoming thread.
        next: Tid,
        /// The name of `next`.
        next_name: NameId,
    },
    /// The cheap tier: a thread of the program was switched in.
    SwitchIn {
        /// The CPU.
        cpu: Cpu,
        /// The thread.
        tid: Tid,
    },
    /// The cheap tier: a thread of the program was switched out.
    SwitchOut {
        /// The CPU.
        cpu: Cpu,
        /// The thread.
        tid: Tid,
        /// Whether it was still runnable.
        preempted: bool,
    },
    /// `waker` makes `target` runnable.
    Waking {
        /// The thread that wakes `target`.
        waker: Tid,
        /// The thread that becomes runnable.
        target: Tid,
        /// The CPU on which it will wait.
        target_cpu: Cpu,
    },
    /// A runnable thread migrates.
    Migrate {
        /// The thread.
        tid: Tid,
        /// The new CPU.
        to: Cpu,
    },
    /// A thread or process was created.
    Fork {
        /// The thread that created it.
        parent: Tid,
        /// The new thread.
        child: Tid,
        /// The process of the new thread; differs from `child` for a thread (0: unknown).
        child_pid: Pid,
    },
    /// A thread ended.
    Exit {
        /// The thread's id.
        tid: Tid,
    },
    /// A thread got a name (exec or rename).
    Named {
        /// The thread.
        tid: Tid,
        /// The new name.
        name: NameId,
    },
}

/// A sample of the recorder. Counters are cumulative.
#[derive(Copy, Clone, PartialEq, Debug)]
pub enum Sample {
    /// Resident set of the program.
    Rss {
        /// Size in bytes.
        bytes: u64,
    },
    /// Quota counters of one control group.
    Quota {
        /// The group, an index into the manifest's list.
        group: GroupId,
        /// Enforcement periods in which there was work.
        periods: u64,
        /// The periods of these in which the quota ran out.
        throttled: u64,
        /// Time throttled, summed over CPU run queues, in nanoseconds.
        throttled_ns: u64,
    },
    /// Counters of one thread of the program.
    Thread {
        /// The thread's id.
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
    /// Time that the host or interrupts took from one CPU, in nanoseconds (10 ms steps).
    CpuStolen {
        /// Number of the CPU.
        cpu: Cpu,
        /// Steal time.
        steal_ns: u64,
        /// Interrupt and soft interrupt time.
        irq_ns: u64,
    },
    /// Memory of one control group, in bytes.
    GroupMemory {
        /// The group, an index into the manifest's list.
        group: GroupId,
        /// Bytes charged.
        bytes: u64,
    },
    /// Pressure stall total, in microseconds: some task waited for this resource.
    Pressure {
        /// The resource: 0 cpu, 1 memory, 2 io.
        resource: u8,
        /// Total since boot.
        total_us: u64,
    },
    /// System calls of a process that read and write, since it began.
    Calls {
        /// Id of the process.
        pid: Pid,
        /// Number of calls that read.
        reads: u64,
        /// Bytes read by these calls.
        read_bytes: u64,
        /// Number of calls that write.
        writes: u64,
        /// Bytes written by these calls.
        written_bytes: u64,
    },
    /// The sampler woke later than requested.
    Late {
        /// The delay in nanoseconds.
        ns: u64,
    },
}

crate::listed! {
    /// A class of events that a fold may request; decoders skip the rest by size.
    #[derive(Copy, Clone, Eq, PartialEq, Debug)]
    pub enum Class {
        /// Requests, arrivals, work, ends of collections.
        Collection,
        /// Figures of a collection: its generation, bytes copied and promoted.
        Figures,
        /// Heap figures (size, blocks, live, allocated, returned).
        Heap,
        /// Lanes created, disabled and enabled; tasks; gaps in a lane's events.
        Lanes,
        /// Every run, stop, creation and wake-up of every green thread.
        Green,
        /// Only the first run of a lane after a collection, the last stop before one, and moves between lanes: enough
        /// for release and arrival, at a fraction of the cost.
        GreenEdges,
        /// Concurrent (non-moving) collector phases.
        Concurrent,
        /// Times in which the tracer wrote its buffers.
        Tracer,
        /// Spark counters.
        Sparks,
        /// Phases that pauses do not need.
        Details,
        /// Events of the program's own code.
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

    /// Whether this set requests events of `class`; edges of runs are runs.
    pub const fn takes(self, class: Class) -> bool {
        self.has(class) || (matches!(class, Class::Green) && self.has(Class::GreenEdges))
    }

    /// Whether `class` is in the set.
    pub const fn has(self, class: Class) -> bool {
        self.0 & (1 << class as u32) != 0
    }
}
