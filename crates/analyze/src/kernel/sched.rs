//! Which thread ran where: the kernel's view of the program's threads and of each CPU, as far back as open
//! pauses need.
//!
//! Owns thread states, membership of the program, and what ran on a CPU. Refuses to judge: `blame` finds causes.
//! History is bounded; what was dropped from it is `Unknown`, and counted.

use crate::basis::lately;
use crate::results::ThreadState;
use rtscope_model::{Cpu, NameId, OffState, Pid, Sched, Tid, Time};
use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};

/// Spans kept for each thread and CPU in any case.
const HISTORY_LEAST: usize = 16_384;
/// Spans kept in total: two threads that yield to each other take 40,000 each while the analysis waits for counters.
const HISTORY_MAX: usize = 1 << 20;
/// Streams of several CPUs are merged: events of one may be out of order by this much.
const DISORDER_NS: u64 = 1_000_000;
/// For up to this many threads, scanning the threads is faster than scanning what CPUs ran.
const FEW: usize = 256;
/// A thread that the kernel reported as ending may still wait for a CPU on its way out.
const ENDING_NS: u64 = 100_000_000;
/// Process ids remembered for threads of other processes.
const PIDS_MAX: usize = 65_536;

/// State of a thread of the program.
#[derive(Copy, Clone, Eq, PartialEq, Debug)]
pub enum SchedState {
    Running,
    /// Off its CPU although it could run on.
    Runnable,
    /// Made runnable by `by`, not yet on a CPU.
    Woken {
        by: Tid,
    },
    Sleeping,
    /// Not interruptible.
    Blocked,
    /// Off the CPU for a reason that the tier does not report; or before the first event.
    Unknown,
}

impl SchedState {
    /// Whether it is runnable without a CPU.
    pub fn waits(self) -> bool {
        matches!(self, SchedState::Runnable | SchedState::Woken { .. })
    }

    /// The state as reports draw it.
    pub fn drawn(self) -> ThreadState {
        match self {
            SchedState::Running => ThreadState::Running,
            SchedState::Runnable | SchedState::Woken { .. } => ThreadState::Runnable,
            SchedState::Sleeping => ThreadState::Sleeping,
            SchedState::Blocked => ThreadState::Blocked,
            SchedState::Unknown => ThreadState::Unknown,
        }
    }
}

/// What ran on a CPU.
#[derive(Copy, Clone, Eq, PartialEq, Debug)]
pub enum Runner {
    Idle,
    /// A thread of the program.
    Own(Tid),
    /// A thread of another process.
    Foreign {
        tid: Tid,
        name: NameId,
    },
    /// The tier does not report it.
    Unknown,
}

/// A stretch of a thread's life in one state, with one runner on the CPU that it waits for.
#[derive(Copy, Clone, PartialEq, Debug)]
pub struct Stretch {
    pub from: Time,
    pub to: Time,
    pub state: SchedState,
    /// The CPU that it runs on or waits for.
    pub cpu: Option<Cpu>,
    /// What runs on that CPU meanwhile.
    pub runner: Runner,
    /// Another CPU that the program may use was idle: the kernel did not move the thread, and there was no lack
    /// of CPUs.
    pub other_cpu_idle: bool,
}

#[derive(Copy, Clone)]
struct Span {
    from: Time,
    state: SchedState,
    cpu: Option<Cpu>,
}

#[derive(Default)]
struct ThreadTrack {
    spans: VecDeque<Span>,
    running_ns: u64,
    waiting_ns: u64,
}

impl ThreadTrack {
    /// The spans of `[from, to]`, each with the start of the next one.
    fn between(&self, from: Time, to: Time) -> impl Iterator<Item = (&Span, Option<Time>)> {
        let first = self.spans.partition_point(|span| span.from <= from).saturating_sub(1);
        let spans = self.spans.iter().enumerate().skip(first).take_while(move |(_, span)| span.from <= to);
        spans.map(|(index, span)| (span, self.spans.get(index + 1).map(|next| next.from)))
    }
}

/// A wait for a CPU that has ended.
#[derive(Copy, Clone, Debug)]
pub struct Wait {
    pub tid: Tid,
    pub from: Time,
    pub to: Time,
}

/// How often the program's threads were woken.
#[derive(Copy, Clone, Default, Debug)]
pub struct Wakes {
    /// All times.
    pub all: u64,
    /// Times at which a thread of the program was on the CPU that woke them. An interrupt there counts, too.
    pub by_own: u64,
}

/// The kernel's view, folded from its events.
#[derive(Default)]
pub struct Tracks {
    program: Option<Pid>,
    own: BTreeSet<Tid>,
    /// The threads of `own` that have not ended.
    living: BTreeSet<Tid>,
    threads: BTreeMap<Tid, ThreadTrack>,
    cpus: BTreeMap<Cpu, VecDeque<(Time, Tid, NameId)>>,
    idle: Idle,
    pids: HashMap<Tid, Pid>,
    /// Whether events name what ran instead of a thread.
    pub names_next: bool,
    /// Whether any scheduling event was seen.
    pub seen: bool,
    room: Room,
    /// Switches that the kernel did not report, as later ones show.
    pub unreported: u64,
    /// Wake-ups of the program's threads.
    pub wakes: Wakes,
    /// When a thread of the program last returned to an idle CPU without a wake-up: the end of a throttling.
    resumed: Option<Time>,
    /// Ended threads, dropped once no pause can need them.
    ended: VecDeque<(Time, Tid)>,
    /// Run and wait time of dropped threads, nanoseconds.
    dropped: (u64, u64),
}

impl Tracks {
    /// A view of the program `pid` with the threads `tids`; it may use `cpus`, or all CPUs if that is empty.
    pub fn new(pid: Option<Pid>, tids: &[Tid], cpus: &[u16]) -> Self {
        let mut own: BTreeSet<Tid> = tids.iter().copied().filter(|tid| *tid != Tid::IDLE).collect();
        own.extend(pid.filter(|pid| pid.0 != 0).map(|pid| Tid(pid.0)));
        let idle = Idle { of: cpus.iter().copied().map(Cpu).collect(), ..Idle::default() };
        Tracks { program: pid, living: own.clone(), own, idle, ..Tracks::default() }
    }

    /// Adds a thread that the runtime named.
    pub fn adopt(&mut self, tid: Tid) {
        if tid != Tid::IDLE && self.own.insert(tid) {
            self.living.insert(tid);
        }
    }

    /// Spans dropped because a history was full.
    pub fn forgotten(&self) -> u64 {
        self.room.forgotten
    }

    /// The program's threads.
    pub fn own(&self) -> impl Iterator<Item = Tid> + '_ {
        self.own.iter().copied()
    }

    /// Threads of the program that had not ended before `from`.
    pub fn own_since(&self, from: Time) -> impl Iterator<Item = Tid> + '_ {
        let early = from.minus(ENDING_NS);
        let lately = self.ended.iter().rev().take_while(move |(ended, _)| *ended >= early);
        let gone = lately.map(|(_, tid)| *tid).filter(|tid| self.own.contains(tid) && !self.living.contains(tid));
        self.living.iter().copied().chain(gone)
    }

    /// Whether `tid` is a thread of the program.
    pub fn is_own(&self, tid: Tid) -> bool {
        self.own.contains(&tid)
    }

    /// The process of `tid`, if an event named it.
    pub fn pid(&self, tid: Tid) -> Option<Pid> {
        self.pids.get(&tid).copied()
    }

    /// Takes one event. Returns the wait for a CPU that it ends.
    pub fn push(&mut self, time: Time, event: &Sched) -> Option<Wait> {
        self.seen = true;
        match *event {
            Sched::Switch { cpu, prev, prev_pid, prev_state, next, next_name } => {
                self.names_next = true;
                self.learn(prev, prev_pid);
                let unreported = self.repair(time, cpu, prev);
                if self.own.contains(&prev) {
                    self.enter(prev, time, off(prev_state), Some(cpu));
                }
                if prev == Tid::IDLE && self.own.contains(&next) && self.state(next) == SchedState::Runnable {
                    self.resumed = Some(time);
                }
                self.occupy(cpu, (time, next, next_name));
                let waited = self.own.contains(&next).then(|| self.run(next, time, cpu)).flatten();
                waited.or(unreported)
            }
            Sched::SwitchIn { cpu, tid } => {
                self.adopt(tid);
                self.run(tid, time, cpu)
            }
            Sched::SwitchOut { cpu, tid, preempted } => {
                self.adopt(tid);
                self.enter(tid, time, if preempted { SchedState::Runnable } else { SchedState::Sleeping }, Some(cpu));
                None
            }
            Sched::Waking { waker, target, target_cpu } => {
                // A thread that still runs was woken before it could sleep.
                if self.own.contains(&target) && !matches!(self.state(target), SchedState::Running) {
                    self.enter(target, time, SchedState::Woken { by: waker }, Some(target_cpu));
                    self.wakes.all += 1;
                    self.wakes.by_own += u64::from(self.own.contains(&waker));
                }
                None
            }
            Sched::Migrate { tid, to } => {
                let waiting = self.threads.get(&tid).and_then(|track| track.spans.back()).map(|span| span.state);
                if let Some(state) = waiting.filter(|state| state.waits()) {
                    self.enter(tid, time, state, Some(to));
                }
                None
            }
            Sched::Fork { parent, child, child_pid } => {
                let ours = match self.program {
                    Some(program) if child_pid.0 != 0 => child_pid.0 == program.0,
                    _ => self.own.contains(&parent) && (child_pid.0 == 0 || child_pid.0 != child.0),
                };
                if ours {
                    self.adopt(child);
                    // Its id may have belonged to another thread.
                    self.living.insert(child);
                    self.enter(child, time, SchedState::Woken { by: parent }, None);
                }
                None
            }
            Sched::Exit { tid } => {
                if self.own.contains(&tid) {
                    self.enter(tid, time, SchedState::Unknown, None);
                    self.ended.push_back((time, tid));
                    self.living.remove(&tid);
                }
                None
            }
            Sched::Named { .. } => None,
        }
    }

    /// Learns membership from the process that an event names.
    fn learn(&mut self, tid: Tid, pid: Pid) {
        if pid.0 == 0 || tid == Tid::IDLE {
            return;
        }
        if self.pids.len() >= PIDS_MAX {
            self.pids.clear();
        }
        self.pids.insert(tid, pid);
        match self.program {
            Some(program) if program == pid => self.adopt(tid),
            Some(_) => {
                self.own.remove(&tid);
                self.living.remove(&tid);
            }
            None => {}
        }
    }

    /// Some kernels do not report every switch away from a CPU's idle task (seen on one CPU of a 6.18 guest, in perf
    /// and in tracefs alike): then `prev` leaves a CPU on which something else was last seen. When did it arrive? An
    /// idle CPU runs a woken thread at once. A thread that already waited when the CPU went idle was throttled, and
    /// resumed when its siblings did; without such a sibling the moment is unknown.
    fn repair(&mut self, time: Time, cpu: Cpu, prev: Tid) -> Option<Wait> {
        let (since, last, _) = *self.cpus.get(&cpu)?.back()?;
        if last == prev {
            return None;
        }
        self.unreported += 1;
        let resumed = self.resumed.filter(|at| *at > since && *at < time);
        let track = self.threads.get_mut(&prev).filter(|_| prev != Tid::IDLE && self.own.contains(&prev))?;
        let span = *track.spans.back().filter(|span| span.state.waits())?;
        let arrived = if span.from > since { Some(span.from) } else { resumed };
        self.occupy(cpu, (arrived.unwrap_or(since), prev, NameId::default()));
        match arrived {
            Some(at) => self.run(prev, at, cpu),
            None => {
                self.enter(prev, since, SchedState::Unknown, Some(cpu));
                None
            }
        }
    }

    /// From then on this thread, or none, has the CPU.
    fn occupy(&mut self, cpu: Cpu, run: (Time, Tid, NameId)) {
        let runs = self.cpus.entry(cpu).or_default();
        let was_idle = runs.back().is_some_and(|last| last.1 == Tid::IDLE);
        self.room.push(runs, run);
        if let Some(change) = self.idle.changed(cpu, run.0, (was_idle, run.1 == Tid::IDLE)) {
            self.room.push(&mut self.idle.changes, change);
        }
    }

    fn run(&mut self, tid: Tid, time: Time, cpu: Cpu) -> Option<Wait> {
        let spans = self.threads.get(&tid).into_iter().flat_map(|track| track.spans.iter().rev());
        let waited = spans.take_while(|span| span.state.waits()).last().map(|span| span.from);
        self.enter(tid, time, SchedState::Running, Some(cpu));
        waited.map(|from| Wait { tid, from, to: time })
    }

    fn enter(&mut self, tid: Tid, time: Time, state: SchedState, cpu: Option<Cpu>) {
        let track = self.threads.entry(tid).or_default();
        let mut from = time;
        if let Some(last) = track.spans.back() {
            // Merged streams of several CPUs are slightly out of order; this evens it out.
            from = from.max(last.from);
            if last.state == state && last.cpu == cpu {
                return;
            }
            match last.state {
                SchedState::Running => track.running_ns += from.since(last.from),
                state if state.waits() => track.waiting_ns += from.since(last.from),
                _ => {}
            }
        }
        self.room.push(&mut track.spans, Span { from, state, cpu });
    }

    /// The current state of `tid`.
    pub fn state(&self, tid: Tid) -> SchedState {
        self.threads.get(&tid).and_then(|track| track.spans.back()).map_or(SchedState::Unknown, |span| span.state)
    }

    /// Time that the program's threads ran and waited for a CPU, up to `now`, nanoseconds.
    pub fn totals(&self, now: Time) -> (u64, u64) {
        self.threads
            .keys()
            .filter_map(|tid| self.totals_of(*tid, now))
            .fold(self.dropped, |a, b| (a.0 + b.0, a.1 + b.1))
    }

    /// [`Tracks::totals`] of one thread.
    pub fn totals_of(&self, tid: Tid, now: Time) -> Option<(u64, u64)> {
        let track = self.threads.get(&tid)?;
        let mut sums = (track.running_ns, track.waiting_ns);
        match track.spans.back() {
            Some(span) if span.state == SchedState::Running => sums.0 += now.since(span.from),
            Some(span) if span.state.waits() => sums.1 += now.since(span.from),
            _ => {}
        }
        Some(sums)
    }

    /// What ran on `cpu` over `[from, to]`, in order and without gaps.
    fn runners(&self, cpu: Cpu, from: Time, to: Time, mut each: impl FnMut(Time, Time, Runner)) {
        let Some(runs) = self.cpus.get(&cpu) else { return each(from, to, Runner::Unknown) };
        let runner = |run: Option<&_>| run.map_or(Runner::Unknown, |run| self.runner(run));
        cut(runs, |run| run.0, (from, to), |from, to, run| each(from, to, runner(run)));
    }

    fn runner(&self, run: &(Time, Tid, NameId)) -> Runner {
        match run.1 {
            Tid::IDLE => Runner::Idle,
            tid if self.own.contains(&tid) => Runner::Own(tid),
            tid => Runner::Foreign { tid, name: run.2 },
        }
    }

    /// The life of `tid` over `[from, to]`, cut at every transition of the thread and, while it waits, of its CPU's
    /// runner; if that is a sibling, also where the program's other CPUs become idle or busy. Covers the interval.
    pub fn stretches(&self, tid: Tid, from: Time, to: Time) -> Vec<Stretch> {
        let mut out = Vec::new();
        let stretch =
            |from, to, state, cpu| Stretch { from, to, state, cpu, runner: Runner::Unknown, other_cpu_idle: false };
        let unknown = |from, to| stretch(from, to, SchedState::Unknown, None);
        let mut at = from;
        for (span, ends) in self.threads.get(&tid).into_iter().flat_map(|track| track.between(from, to)) {
            if at < span.from {
                out.push(unknown(at, span.from));
                at = span.from;
            }
            let until = ends.map_or(to, |ends| ends.min(to));
            if at < until {
                match (span.state.waits(), span.cpu) {
                    (true, Some(cpu)) => self.runners(cpu, at, until, |from, to, runner| {
                        let whole = Stretch { runner, ..stretch(from, to, span.state, Some(cpu)) };
                        match runner {
                            Runner::Own(_) => self.idle.cut(from, to, |from, to, other_cpu_idle| {
                                out.push(Stretch { from, to, other_cpu_idle, ..whole });
                            }),
                            _ => out.push(whole),
                        }
                    }),
                    (_, cpu) => out.push(stretch(at, until, span.state, cpu)),
                }
                at = until;
            }
        }
        if at < to {
            out.push(unknown(at, to));
        }
        out
    }

    /// How long `tid` was on a CPU in `[from, to]`, nanoseconds.
    pub fn ran_ns(&self, tid: Tid, from: Time, to: Time) -> u64 {
        let spans = self.threads.get(&tid).into_iter().flat_map(|track| track.between(from, to));
        let running = spans.filter(|(span, _)| span.state == SchedState::Running);
        running.map(|(span, ends)| ends.map_or(to, |ends| ends.min(to)).since(span.from.max(from))).sum()
    }

    /// Whether `tid` was on a CPU at some moment of `[from, to]`.
    pub fn was_on_cpu(&self, tid: Tid, from: Time, to: Time) -> bool {
        let mut spans = self.threads.get(&tid).into_iter().flat_map(|track| track.between(from, to));
        spans.any(|(span, ends)| span.state == SchedState::Running && ends.is_none_or(|end| end >= from))
    }

    /// Threads of the program that were on a CPU at some moment of `[from, to]`. `lenient`: includes those that may
    /// have been, because they wait for a CPU that is idle by what the kernel reported.
    pub fn on_cpu(&self, from: Time, to: Time, lenient: bool) -> Vec<Tid> {
        let idle = |cpu: Option<Cpu>, at: Time| {
            let mut idle = false;
            if let Some(cpu) = cpu {
                self.runners(cpu, at, at.plus(1), |_, _, runner| idle = runner == Runner::Idle);
            }
            idle
        };
        let ran = |track: &ThreadTrack| {
            track.between(from, to).any(|(span, ends)| {
                let on = match span.state {
                    SchedState::Running => true,
                    SchedState::Unknown => lenient && span.cpu.is_some(),
                    state => lenient && state.waits() && idle(span.cpu, from.max(span.from)),
                };
                on && ends.is_none_or(|end| end >= from)
            })
        };
        let is = |tid: &Tid| self.own.contains(tid) && self.threads.get(tid).is_some_and(ran);
        if lenient || !self.names_next || self.threads.len() <= FEW {
            return self.threads.keys().copied().filter(is).collect();
        }
        // Among thousands of threads, only those that some CPU ran.
        let near = (from.minus(DISORDER_NS), to.plus(DISORDER_NS));
        let of_a_cpu = |runs: &'_ VecDeque<(Time, Tid, NameId)>| {
            let first = runs.partition_point(|run| run.0 <= near.0).saturating_sub(1);
            runs.range(first..).take_while(|run| run.0 <= near.1).map(|run| run.1).collect::<Vec<_>>()
        };
        let ran: BTreeSet<Tid> = self.cpus.values().flat_map(of_a_cpu).collect();
        ran.into_iter().filter(is).collect()
    }

    /// The last wake-up of `tid` in `[from, to]`: its time and the waker.
    pub fn last_waking(&self, tid: Tid, from: Time, to: Time) -> Option<(Time, Tid)> {
        let spans = &self.threads.get(&tid)?.spans;
        let after = spans.partition_point(|span| span.from <= to);
        let mut back = spans.range(..after).rev().take_while(|span| span.from >= from);
        back.find_map(|span| match span.state {
            SchedState::Woken { by } => Some((span.from, by)),
            _ => None,
        })
    }

    /// When `tid` ended, if it did and its id was not reused.
    pub fn ended_at(&self, tid: Tid) -> Option<Time> {
        let ended = self.ended.iter().rev().find(|ended| ended.1 == tid)?;
        (self.state(tid) == SchedState::Unknown).then_some(ended.0)
    }

    /// The whole wait for a CPU around `at`, as far back as it is remembered.
    pub fn wait_around(&self, tid: Tid, at: Time) -> Option<(Time, Time)> {
        let spans = &self.threads.get(&tid)?.spans;
        let inside = spans.partition_point(|span| span.from <= at).checked_sub(1)?;
        let first = spans.range(..=inside).rev().take_while(|span| span.state.waits()).last()?;
        let end = spans.range(inside..).find(|span| !span.state.waits()).or(spans.back())?;
        Some((first.from, end.from))
    }

    /// Start of the state that `tid` has at `at`.
    pub fn since(&self, tid: Tid, at: Time) -> Option<Time> {
        let spans = &self.threads.get(&tid)?.spans;
        let inside = spans.partition_point(|span| span.from <= at).checked_sub(1)?;
        spans.get(inside).map(|span| span.from)
    }

    /// Forgets what lies wholly before `before`.
    pub fn prune(&mut self, before: Time) {
        while let Some((_, tid)) = self.ended.front().copied().filter(|ended| ended.0 < before) {
            self.ended.pop_front();
            // The thread id may have been reused meanwhile.
            if self.state(tid) == SchedState::Unknown
                && let Some(track) = self.threads.remove(&tid)
            {
                self.own.remove(&tid);
                self.living.remove(&tid);
                self.dropped.0 += track.running_ns;
                self.dropped.1 += track.waiting_ns;
            }
        }
        self.threads.values_mut().for_each(|track| lately::prune(&mut track.spans, |span| span.from, before));
        self.cpus.values_mut().for_each(|runs| lately::prune(runs, |run| run.0, before));
        lately::prune(&mut self.idle.changes, |change| change.0, before);
        let spans = self.threads.values().map(|track| track.spans.len());
        let runs = self.cpus.values().map(VecDeque::len);
        self.room.kept = spans.chain(runs).chain([self.idle.changes.len()]).sum();
    }
}

/// When any of the CPUs that the program may use was idle.
#[derive(Default)]
struct Idle {
    /// Empty: all CPUs.
    of: BTreeSet<Cpu>,
    now: usize,
    /// Moments from which there was an idle CPU (true) or none (false).
    changes: VecDeque<(Time, bool)>,
}

impl Idle {
    /// One CPU changes from `was` idle to `is`: returns the change over all CPUs.
    fn changed(&mut self, cpu: Cpu, time: Time, (was, is): (bool, bool)) -> Option<(Time, bool)> {
        if was == is || !(self.of.is_empty() || self.of.contains(&cpu)) {
            return None;
        }
        self.now = if is { self.now + 1 } else { self.now.saturating_sub(1) };
        let any = self.now > 0;
        let last = self.changes.back();
        // A switch that the kernel did not report is added late.
        let time = last.map_or(time, |last| last.0.max(time));
        last.is_none_or(|last| last.1 != any).then_some((time, any))
    }

    /// Cuts `[from, to]` at the changes.
    fn cut(&self, from: Time, to: Time, mut each: impl FnMut(Time, Time, bool)) {
        let idle = |change: Option<&(Time, bool)>| change.is_some_and(|change| change.1);
        cut(&self.changes, |change| change.0, (from, to), |from, to, change| each(from, to, idle(change)));
    }
}

/// Hands each piece of `[from, to]` between two changes to `each`, with the change before it, if known.
fn cut<'c, C>(
    changes: &'c VecDeque<C>,
    at: impl Fn(&C) -> Time,
    (mut from, to): (Time, Time),
    mut each: impl FnMut(Time, Time, Option<&'c C>),
) {
    let first = changes.partition_point(|change| at(change) <= from);
    let mut last = first.checked_sub(1).and_then(|before| changes.get(before));
    for change in changes.range(first..).take_while(|change| at(change) < to) {
        if from < at(change) {
            each(from, at(change), last);
            from = at(change);
        }
        last = Some(change);
    }
    if from < to {
        each(from, to, last);
    }
}

/// The size of the history, and the number of entries that had no room.
#[derive(Default)]
struct Room {
    /// An upper bound of the current size.
    kept: usize,
    forgotten: u64,
}

impl Room {
    fn push<T>(&mut self, queue: &mut VecDeque<T>, value: T) {
        if queue.len() >= HISTORY_LEAST && self.kept >= HISTORY_MAX {
            queue.pop_front();
            self.forgotten += 1;
        } else {
            self.kept += 1;
        }
        queue.push_back(value);
    }
}

fn off(state: OffState) -> SchedState {
    match state {
        OffState::Runnable => SchedState::Runnable,
        OffState::Sleeping => SchedState::Sleeping,
        OffState::Uninterruptible => SchedState::Blocked,
        OffState::Dead | OffState::Other | OffState::Unknown => SchedState::Unknown,
    }
}

#[cfg(test)]
#[path = "sched_tests.rs"]
mod tests;
