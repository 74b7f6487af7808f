//! Builders for tests: a kernel and a runtime that post events in short words.

use crate::Context;
use crate::kernel::sched::Tracks;
use rtscope_model::code::FIRST_TOUCH;
use rtscope_model::manifest::{self, Tier};
use rtscope_model::{
    Body, ClockMap, ClockMethod, CodeKind, CodeSample, Counter, Cpu, Event, Found, GreenThread, GroupId, LaneId,
    NameId, OffState, Pid, Runtime, Sample, Sched, StopReason, Symbol, SymbolId, Symbols, Tid, Time,
};

/// A kernel whose events go straight into [`Tracks`].
pub struct Kernel {
    pub tracks: Tracks,
}

impl Kernel {
    pub fn new(tids: &[u32]) -> Self {
        let tids: Vec<Tid> = tids.iter().map(|tid| Tid(*tid)).collect();
        Kernel { tracks: Tracks::new(None, &tids, &[]) }
    }

    fn push(&mut self, at: u64, event: Sched) -> &mut Self {
        self.tracks.push(Time(at), &event);
        self
    }

    pub fn on(&mut self, at: u64, cpu: u16, tid: u32) -> &mut Self {
        self.push(at, switch(cpu, 0, OffState::Runnable, tid))
    }

    pub fn off(&mut self, at: u64, cpu: u16, tid: u32) -> &mut Self {
        self.push(at, switch(cpu, tid, OffState::Sleeping, 0))
    }

    pub fn event(&mut self, at: u64, event: Sched) -> &mut Self {
        self.push(at, event)
    }
}

/// A threaded GHC program of two threads on two CPUs, with a kernel's view.
pub fn context() -> Context {
    Context {
        program_pid: Some(Pid(10)),
        program_tids: vec![Tid(11), Tid(12)],
        runtime: crate::results::ProgramRuntime { family: Some("ghc".into()), ..Default::default() },
        threaded: Some(true),
        cpus_allowed: vec![0, 1],
        generations: Some(2),
        clock: ClockMap { offset_ns: 0, error_ns: Some(500), method: ClockMethod::RuntimeStatic },
        kernel: Some(manifest::Kernel { tier: Tier::Tracepoints, ..manifest::Kernel::default() }),
        ..Context::default()
    }
}

pub fn switch(cpu: u16, prev: u32, prev_state: OffState, next: u32) -> Sched {
    Sched::Switch {
        cpu: Cpu(cpu),
        prev: Tid(prev),
        prev_pid: Pid(0),
        prev_state,
        next: Tid(next),
        next_name: NameId(next),
    }
}

pub fn waking(waker: u32, target: u32, cpu: u16) -> Sched {
    Sched::Waking { waker: Tid(waker), target: Tid(target), target_cpu: Cpu(cpu) }
}

/// A script of events; sorted by time when taken.
#[derive(Default, Clone)]
pub struct Script {
    events: Vec<Event>,
}

impl Script {
    pub fn rt(mut self, at: u64, lane: u16, body: Runtime) -> Self {
        self.events.push(Event { time: Time(at), lane: LaneId(lane), body: Body::Runtime(body) });
        self
    }

    pub fn k(mut self, at: u64, event: Sched) -> Self {
        self.events.push(Event { time: Time(at), lane: LaneId::NONE, body: Body::Sched(event) });
        self
    }

    pub fn sample(mut self, at: u64, sample: Sample) -> Self {
        self.events.push(Event { time: Time(at), lane: LaneId::NONE, body: Body::Sample(sample) });
        self
    }

    /// Adds a thread that a timer found on a CPU in `leaf`.
    pub fn found(self, at: u64, tid: u32, leaf: SymbolId, ns: u64) -> Self {
        self.code(at, tid, leaf, None, Found::Running { ns })
    }

    /// Adds a thread that left its CPU to wait in `leaf`.
    pub fn waits(self, at: u64, tid: u32, leaf: SymbolId) -> Self {
        self.code(at, tid, leaf, None, Found::Waits)
    }

    pub fn code(self, at: u64, tid: u32, leaf: SymbolId, user: Option<SymbolId>, what: Found) -> Self {
        self.code_sample(at, CodeSample { tid: Tid(tid), cpu: Cpu(0), leaf, user, purpose: None, what })
    }

    pub fn code_sample(mut self, at: u64, sample: CodeSample) -> Self {
        self.events.push(Event { time: Time(at), lane: LaneId::NONE, body: Body::Code(sample) });
        self
    }

    pub fn quota(self, at: u64, throttled: u64, throttled_ns: u64) -> Self {
        self.sample(at, Sample::Quota { group: GroupId(0), periods: throttled, throttled, throttled_ns })
    }

    pub fn run(self, at: u64, lane: u16, green: u32) -> Self {
        self.rt(at, lane, Runtime::ThreadRun(GreenThread(green)))
    }

    pub fn stop(self, at: u64, lane: u16, green: u32, reason: StopReason) -> Self {
        self.rt(at, lane, Runtime::ThreadStop(GreenThread(green), reason))
    }

    pub fn request(self, at: u64, lane: u16, parallel: bool) -> Self {
        self.rt(at, lane, Runtime::StopRequested { parallel })
    }

    pub fn begin(self, at: u64, lane: u16) -> Self {
        self.rt(at, lane, Runtime::Stopped)
    }

    pub fn end(self, at: u64, lane: u16) -> Self {
        self.rt(at, lane, Runtime::Resumed)
    }

    pub fn work(self, from: u64, to: u64, lane: u16) -> Self {
        self.rt(from, lane, Runtime::WorkBegin).rt(to, lane, Runtime::WorkEnd)
    }

    pub fn figures(self, at: u64, lane: u16, generation: u64, copied: u64) -> Self {
        self.rt(at, lane, Runtime::GlobalSync)
            .rt(at, lane, Runtime::Count(Counter::Generation, generation))
            .rt(at, lane, Runtime::Count(Counter::CopiedBytes, copied))
            .rt(at, lane, Runtime::Count(Counter::GcThreads, 2))
    }

    /// A parallel collection of two lanes led by lane 0.
    pub fn parallel(self, request: u64, arrive: u64, stopped: u64, collected: u64) -> Self {
        self.request(request, 0, true)
            .begin(arrive, 1)
            .begin(stopped, 0)
            .work(stopped + 1, collected - 1, 0)
            .work(stopped + 1, collected - 1, 1)
            .end(collected, 0)
            .figures(collected + 1, 0, 0, 1000)
            .end(collected + 2, 1)
    }

    pub fn events(mut self) -> Vec<Event> {
        self.events.sort_by_key(|event| event.time);
        self.events
    }
}

/// Places of every kind, in a symbol table.
pub struct Places {
    pub symbols: Symbols,
    pub spin: SymbolId,
    pub call: SymbolId,
    pub libc: SymbolId,
    pub runtime: SymbolId,
    pub fault: SymbolId,
    pub futex: SymbolId,
    pub nanosleep: SymbolId,
    pub write: SymbolId,
}

impl Places {
    pub fn new() -> Self {
        let mut symbols = Symbols::default();
        // The source of a kernel place is the entry path of the thread.
        let mut add = |name: &str, module: &str, kind| {
            let entry =
                [("clear_page", FIRST_TOUCH), ("vfs_write", "write")].into_iter().find(|(inside, _)| *inside == name);
            let source = entry.map(|(_, entry)| entry.to_owned());
            symbols.add(Symbol { name: name.into(), module: module.into(), kind, source, purpose: None })
        };
        let spin = add("Main.spin", "prog", CodeKind::Program);
        let call = add("c_busy", "prog", CodeKind::Foreign);
        let libc = add("madvise", "libc.so.6", CodeKind::Foreign);
        let runtime = add("scavenge_block", "prog", CodeKind::Runtime);
        let fault = add("clear_page", "[kernel]", CodeKind::Kernel);
        let futex = add("futex_wait_queue", "[kernel]", CodeKind::Kernel);
        let nanosleep = add("do_nanosleep", "[kernel]", CodeKind::Kernel);
        let write = add("vfs_write", "[kernel]", CodeKind::Kernel);
        Places { spin, call, libc, runtime, fault, futex, nanosleep, write, symbols }
    }
}
