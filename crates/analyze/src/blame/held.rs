//! Time in which the program had work and was held off the CPU: at least one of its threads was runnable but not
//! running. Divided by the holder.
//!
//! Owns the wall-clock unions per holder, over the whole recording and inside pauses. This is what a quota or a
//! neighbour costs a program, whether or not it collects: a moment counts once, however many threads wait. Refuses to
//! blame pauses: `blame` does that.

use crate::basis::sum::Sum;
use crate::basis::union::Union;
use crate::blame::{CpuHolder, Judge};
use crate::kernel::sched::{Runner, SchedState, Stretch, Wait};
use crate::pauses::still::StoppedIntervals;
use rtscope_model::{NameId, Names, Pid, Tid, Time};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Waits that may be undecided at a time.
const UNDECIDED_MAX: usize = 65_536;
/// Names of other processes that are summed separately.
const NAMES_MAX: usize = 256;

/// One holder's part.
#[derive(Clone, Debug, Default)]
pub struct HeldTime {
    all: Union,
    /// Wall-clock time inside pauses, nanoseconds.
    pub in_pauses_ns: u64,
    /// Pieces of waiting in thread time: each thread counts, where `all` counts a moment once.
    pub pieces: Sum,
}

impl HeldTime {
    fn add(&mut self, from: Time, to: Time) {
        self.all.add(from, to);
        self.pieces.add((from, to), to.since(from));
    }

    pub fn ns(&self) -> u64 {
        self.all.ns()
    }
}

/// What held the program off its CPUs.
#[derive(Default)]
pub struct Held {
    pub quota: HeldTime,
    /// The part of `quota` in which another process ran on the CPU.
    pub quota_with_neighbour: HeldTime,
    /// Other processes.
    pub foreign: HeldTime,
    /// The program's own threads.
    pub sibling: HeldTime,
    /// Inside pauses: a thread that serves a lane was blocked in the kernel.
    pub blocked: HeldTime,
    /// Other processes by name, with a thread of each.
    pub by_name: BTreeMap<NameId, (HeldTime, Tid)>,
    undecided: VecDeque<Wait>,
}

/// Names that only threads of the recorder have.
const RECORDER_NAMES: [&str; 2] = ["rtscope", "rtscope-kernel"];

impl Held {
    /// Which of `by_name` are threads of the recorder.
    pub fn recorder(&self, names: &Names, pid: impl Fn(Tid) -> Option<Pid>) -> BTreeSet<NameId> {
        let listed = |name: &NameId| RECORDER_NAMES.contains(&names.get(*name));
        let pids: BTreeSet<Pid> =
            self.by_name.iter().filter(|(name, _)| listed(name)).filter_map(|(_, (_, tid))| pid(*tid)).collect();
        let same = |tid: Tid| pid(tid).is_some_and(|pid| pids.contains(&pid));
        self.by_name.iter().filter(|(name, (_, tid))| listed(name) || same(*tid)).map(|(name, _)| *name).collect()
    }

    /// A wait has ended; it is judged once the counters after it have arrived.
    pub fn push(&mut self, wait: Wait) {
        if self.undecided.len() < UNDECIDED_MAX {
            self.undecided.push_back(wait);
        }
    }

    /// Start of the oldest wait that is not judged yet.
    pub fn oldest(&self) -> Option<Time> {
        self.undecided.front().map(|wait| wait.from)
    }

    /// Judges the waits that ended by `ready`; `each` receives every piece of them.
    pub(crate) fn settle(&mut self, judge: &Judge<'_>, ready: Time, each: &mut dyn FnMut(CpuHolder, Time, Time)) {
        while let Some(wait) = self.undecided.front().copied().filter(|wait| wait.to <= ready) {
            self.undecided.pop_front();
            for stretch in judge.tracks.stretches(wait.tid, wait.from, wait.to) {
                if stretch.state.waits() {
                    let holder = judge.holder(wait.tid, &stretch);
                    each(holder, stretch.from, stretch.to);
                    self.add(holder, stretch.from, stretch.to);
                }
            }
        }
    }

    fn add(&mut self, holder: CpuHolder, from: Time, to: Time) {
        match holder {
            CpuHolder::Quota { neighbour } => {
                self.quota.add(from, to);
                if neighbour.is_some() {
                    self.quota_with_neighbour.add(from, to);
                }
            }
            CpuHolder::Foreign { tid, name } => {
                self.foreign.add(from, to);
                let known = self.by_name.len() < NAMES_MAX || self.by_name.contains_key(&name);
                let key = if known { name } else { NameId::default() };
                self.by_name.entry(key).or_insert_with(|| (HeldTime::default(), tid)).0.add(from, to);
            }
            CpuHolder::Sibling { .. } => self.sibling.add(from, to),
            CpuHolder::IdleCpu | CpuHolder::Unknown => {}
        }
    }

    /// Handles a pause over `[from, to]` that overlaps no earlier one. Reports for each thread of the program how
    /// long it ran and waited for a CPU while it stood `still`. Returns the wall-clock time in which a thread that
    /// may serve a lane was kept off its CPU by any thread; time in which that CPU was idle does not count.
    pub(crate) fn pause(
        &mut self,
        judge: &Judge<'_>,
        (from, to): (Time, Time),
        still: &StoppedIntervals,
        mut each: impl FnMut(Tid, u64, u64),
    ) -> u64 {
        let until = to.max(still.end());
        let (mut quota, mut foreign, mut sibling) = (Union::default(), Union::default(), Union::default());
        let mut kept = Union::default();
        for tid in judge.tracks.own_since(from) {
            let mut sums = (0, 0);
            let (stopped, resumed) = still.window(tid);
            let stopped = stopped.max(from);
            for stretch in judge.tracks.stretches(tid, from, until) {
                let ns = stretch.to.min(resumed).since(stretch.from.max(stopped));
                if stretch.state == SchedState::Running {
                    sums.0 += ns;
                }
                if stretch.state == SchedState::Blocked && still.serves(tid) && stretch.from < to {
                    self.blocked.add(stretch.from, stretch.to.min(to));
                }
                if !stretch.state.waits() {
                    continue;
                }
                sums.1 += ns;
                if stretch.from >= to {
                    continue;
                }
                let stretch = Stretch { to: stretch.to.min(to), ..stretch };
                let holder = judge.holder(tid, &stretch);
                if still.may_serve(tid) && !matches!((holder, stretch.runner), (CpuHolder::IdleCpu, Runner::Idle)) {
                    kept.add(stretch.from, stretch.to);
                }
                match holder {
                    CpuHolder::Quota { .. } => _ = quota.add(stretch.from, stretch.to),
                    CpuHolder::Foreign { .. } => _ = foreign.add(stretch.from, stretch.to),
                    CpuHolder::Sibling { .. } => _ = sibling.add(stretch.from, stretch.to),
                    CpuHolder::IdleCpu | CpuHolder::Unknown => {}
                }
            }
            if sums != (0, 0) {
                each(tid, sums.0, sums.1);
            }
        }
        self.quota.in_pauses_ns += quota.ns();
        self.foreign.in_pauses_ns += foreign.ns();
        self.sibling.in_pauses_ns += sibling.ns();
        kept.ns()
    }
}
