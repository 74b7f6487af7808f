//! Divides lane time: puts what lanes did, what their threads did, and pauses with their causes on one time line, and
//! counts each stretch between two changes once for each lane.
//!
//! Owns the lag: a moment is counted once the pauses that cover it have their causes, and waits for a CPU their
//! holders. That lag bounds its memory. Refuses words.

use super::part::{AccountPart, Keeper, Still, Why};
use super::pieces::{OnPart, Pieces};
use super::slowest::{Slowest, Together};
use super::sums::AccountSums;
use super::threads::{Served, Serving};
use crate::basis::compose::Segment;
use crate::basis::per_lane::PerLane;
use crate::blame::Judge;
use crate::blame::threads::{self, ThreadState};
use crate::kernel::lane_thread::LaneThreads;
use crate::kernel::sched::SchedState;
use crate::lanes::timeline::Doing;
use crate::recording::loss_of_kernel;
use crate::results::BlamedPause;
use rtscope_model::{Cause, CausePiece, CodeSample, Found, LaneId, LaneState, Tid, Time};
use std::collections::{BTreeMap, VecDeque};

/// A longer wait for a CPU is counted before it is over.
const OPEN_WAIT_MAX_NS: u64 = 1_000_000_000;
/// Pieces of lane lines that start a round of counting.
const DUE: usize = 16_384;
/// With this many pieces waiting, a run and the gap before the next one become one piece.
const MERGED_FROM: usize = 1 << 16;
/// Pieces of lane lines that may wait; later ones count as unknown.
const WAITING_MAX: usize = 1 << 20;

/// The fields of a pause that the sweep needs.
struct PauseSpan {
    begin: Time,
    stopped: Time,
    collected: Time,
    released: Time,
    leader: Option<LaneId>,
    generation: Option<u16>,
    votes: Vec<(LaneId, Option<Tid>)>,
}

#[derive(Copy, Clone)]
enum Change {
    Lane(LaneId, Option<LaneState>),
    Thread(Tid, Life),
    Vote(LaneId, Option<Tid>),
    Over(LaneId),
    Phase(Option<Still>, Option<LaneId>, Option<u16>),
    Cause(Option<Cause>),
    Lost(bool),
    /// An index into the samples of this round.
    Sample(usize),
}

/// What a moment is judged by.
pub struct By<'a> {
    /// Threads, and what kept them off their CPUs.
    pub judge: &'a Judge<'a>,
    /// Threads that serve one lane for life.
    pub threads: &'a dyn LaneThreads,
    /// Whether the kernel's events are usable.
    pub kernel: bool,
}

/// What is known of a thread: it does not exist, or what it does.
type Life = Option<Option<ThreadState>>;

#[derive(Default)]
pub struct Sweep {
    sums: AccountSums,
    slowest: Slowest,
    lines: BTreeMap<LaneId, VecDeque<Segment<LaneState>>>,
    waiting: usize,
    /// Count when this many wait: twice what could not be counted last time.
    due: usize,
    pauses: VecDeque<PauseSpan>,
    causes: VecDeque<CausePiece>,
    /// Everything before was counted; nothing older is needed.
    pub done: Time,
    /// Whether every run of a green thread is seen, where the runtime posts runs.
    every_run: bool,
    /// Whether any run was posted.
    pub runs_posted: bool,
    moment: Moment,
    /// What lanes did over time; `None`: not wanted.
    pieces: Option<Pieces>,
    /// Samples of the time being counted, each with the time that it stands for.
    samples: Vec<(CodeSample, u64)>,
}

/// What holds between two changes.
#[derive(Default)]
struct Moment {
    /// `None`: the lane no longer exists.
    lanes: PerLane<Option<LaneState>>,
    serving: Serving,
    phase: Option<Still>,
    leads: Option<LaneId>,
    /// The oldest generation that it collects.
    generation: Option<u16>,
    cause: Option<Cause>,
    lost: bool,
    kernel: bool,
    /// What each lane's time counts as until the next change.
    parts: Vec<(LaneId, AccountPart)>,
    stale: bool,
    room: Room,
}

/// Lists of one moment, reused so that the next one needs no allocation.
#[derive(Default)]
struct Room {
    /// Lanes whose thread decides, with their states.
    need: Vec<(LaneId, LaneState)>,
    served: Vec<(LaneId, Served)>,
    /// Lanes that wait for other lanes to finish.
    standing: Vec<LaneId>,
}

impl Sweep {
    /// `every_run`: a lane that runs nothing is known to be idle.
    pub fn new(every_run: bool) -> Sweep {
        Sweep { every_run, ..Sweep::default() }
    }

    /// From now on what lanes did is kept for [`Sweep::pieces`].
    pub fn keep_pieces(&mut self) {
        self.pieces.get_or_insert_default();
    }

    /// Hands out what lanes did, up to where it was counted.
    pub fn pieces(&mut self, on_part: OnPart<'_>) {
        if let Some(pieces) = &mut self.pieces {
            pieces.take(on_part);
        }
    }

    /// The sums of all lanes so far.
    pub fn parts(&self) -> BTreeMap<AccountPart, u64> {
        self.sums.parts()
    }

    /// Adds what a lane did, as it becomes known.
    pub fn segment(&mut self, lane: LaneId, segment: &Segment<Doing>) {
        let state = match segment.state.state {
            _ if self.waiting >= WAITING_MAX => LaneState::Gap,
            state => seen(state, self.every_run),
        };
        let crowded = self.waiting >= MERGED_FROM && between_pauses(state);
        let line = self.lines.entry(lane).or_default();
        if crowded
            && let Some(last) = line.back_mut().filter(|last| between_pauses(last.state) && last.to == segment.from)
        {
            // The state of its thread distinguishes the two well enough.
            (last.state, last.to) = (LaneState::Program, segment.to);
            return;
        }
        match line.back_mut().filter(|last| last.state == state && last.to == segment.from) {
            Some(last) => last.to = segment.to,
            None => {
                line.push_back(Segment { from: segment.from, to: segment.to, state });
                self.waiting += 1;
            }
        }
    }

    pub fn pause(&mut self, blamed: &BlamedPause) {
        let pause = &blamed.pause;
        let votes = pause.lanes.iter().map(|part| (part.lane, part.tid)).collect();
        let (begin, stopped, collected, released) = (pause.begin(), pause.stopped, pause.collected, pause.released);
        let (leader, generation) = (pause.leader, pause.generation);
        self.pauses.push_back(PauseSpan { begin, stopped, collected, released, leader, generation, votes });
        self.causes.extend(&blamed.causes);
    }

    /// Whether enough waits to call [`Sweep::settle`].
    pub fn is_due(&self) -> bool {
        self.waiting >= self.due.max(DUE)
    }

    /// Counts everything before `until`: pauses are complete up to there. `open` is what lanes do now, and
    /// since when.
    pub fn settle(&mut self, by: &By<'_>, open: &[(LaneId, Segment<LaneState>)], until: Time) {
        let until = if by.kernel { before_waits(by.judge, until) } else { until };
        // A pause counts as a whole.
        let within = self.pauses.iter().filter(|pause| pause.begin < until && until < pause.released);
        let until = within.map(|pause| pause.begin).min().unwrap_or(until);
        self.count_until(by, open, until);
        self.due = 2 * self.waiting;
    }

    /// No more events follow: counts the rest.
    pub fn finish(&mut self, by: &By<'_>, until: Time) {
        self.count_until(by, &[], until);
        if let Some(pieces) = &mut self.pieces {
            pieces.close();
        }
    }

    pub fn without_kernel(&mut self) {
        self.sums.without_kernel();
        self.slowest.without_kernel();
    }

    /// The sums of the whole recording and of the slowest pauses; `None`: there was no pause.
    pub fn counted(self) -> (AccountSums, Option<Together>) {
        (self.sums, self.slowest.together())
    }

    fn count_until(&mut self, by: &By<'_>, open: &[(LaneId, Segment<LaneState>)], until: Time) {
        if until <= self.done {
            return;
        }
        self.moment.kernel = by.kernel;
        let mut changes: Vec<(Time, Change)> = Vec::new();
        self.lane_changes(open, until, &mut changes);
        self.pause_changes(until, &mut changes);
        if by.kernel {
            self.kernel_changes(by, until, &mut changes);
        }
        changes.sort_by_key(|change| change.0);
        let mut at = self.done;
        for (time, change) in changes {
            let time = time.clamp(at, until);
            self.count(at, time.since(at));
            at = time;
            self.apply(at, change);
        }
        self.count(at, until.since(at));
        self.done = until;
    }

    fn kernel_changes(&mut self, by: &By<'_>, until: Time, changes: &mut Vec<(Time, Change)>) {
        for lane in self.lines.keys() {
            if let Some(tid) = by.threads.own_thread(*lane) {
                self.moment.serving.own(*lane, tid);
            }
        }
        thread_changes(by.judge, self.done, until, changes);
        self.samples.clear();
        for (at, sample) in by.judge.code.between(self.done, until) {
            if let Found::Running { ns } = sample.what {
                changes.push((at, Change::Sample(self.samples.len())));
                self.samples.push((*sample, ns));
            }
        }
        for loss in by.judge.losses.iter().filter(|loss| loss_of_kernel(loss, self.done, until)) {
            changes.push((loss.from.unwrap_or(self.done).max(self.done), Change::Lost(true)));
            changes.extend(loss.to.filter(|to| *to < until).map(|to| (to.max(self.done), Change::Lost(false))));
        }
    }

    fn lane_changes(&mut self, open: &[(LaneId, Segment<LaneState>)], until: Time, changes: &mut Vec<(Time, Change)>) {
        for (lane, _) in open {
            self.lines.entry(*lane).or_default();
        }
        for (lane, line) in &mut self.lines {
            let mut known = self.done;
            while let Some(first) = line.front_mut().filter(|first| first.from < until) {
                // What a lane was assumed to do before this piece stays counted.
                changes.push((first.from.max(self.done), Change::Lane(*lane, Some(first.state))));
                known = first.to;
                if first.to > until {
                    first.from = until;
                    break;
                }
                line.pop_front();
                self.waiting -= 1;
                // Unless another piece begins there, nothing is known after it.
                if line.front().is_none_or(|next| next.from > known) {
                    changes.push((known.max(self.done), Change::Lane(*lane, None)));
                }
            }
            let ongoing = open.iter().find(|(of, piece)| of == lane && piece.from < until && known < until);
            if let Some((_, piece)) = ongoing {
                changes.push((piece.from.max(known), Change::Lane(*lane, Some(seen(piece.state, self.every_run)))));
            }
        }
    }

    fn pause_changes(&mut self, until: Time, changes: &mut Vec<(Time, Change)>) {
        while let Some(pause) = self.pauses.front().filter(|pause| pause.released <= until) {
            // In time order; sorting is quick where the changes are sorted already.
            let phase = |at, phase| (at, Change::Phase(phase, pause.leader, pause.generation));
            changes.push(phase(pause.begin, Some(Still::ToStop)));
            changes.extend(pause.votes.iter().map(|(lane, tid)| (pause.begin, Change::Vote(*lane, *tid))));
            changes.push(phase(pause.stopped, Some(Still::Work)));
            changes.push(phase(pause.collected, Some(Still::Back)));
            changes.push(phase(pause.released, None));
            changes.extend(pause.votes.iter().map(|(lane, _)| (pause.released, Change::Over(*lane))));
            self.slowest.expect(pause.begin, pause.released);
            self.pauses.pop_front();
        }
        while let Some(piece) = self.causes.front().filter(|piece| piece.to <= until) {
            changes.push((piece.from, Change::Cause(Some(piece.cause))));
            changes.push((piece.to, Change::Cause(None)));
            self.causes.pop_front();
        }
    }

    fn apply(&mut self, at: Time, change: Change) {
        let Moment { lanes, serving, phase, leads, generation, cause, lost, .. } = &mut self.moment;
        match change {
            Change::Sample(index) => return self.sample(at, index),
            Change::Lane(lane, state) => *lanes.of(lane) = state,
            Change::Thread(tid, Some(state)) => _ = serving.states.insert(tid, state),
            Change::Thread(tid, None) => _ = serving.states.remove(&tid),
            Change::Vote(lane, tid) => serving.vote(lane, tid),
            Change::Over(lane) => serving.over(lane),
            Change::Phase(now, leader, of) => (*phase, *leads, *generation) = (now, leader, of),
            Change::Cause(now) => *cause = now,
            Change::Lost(now) => *lost = now,
        }
        self.moment.stale = true;
    }

    /// Nothing changed for `ns` from `at` on.
    fn count(&mut self, at: Time, ns: u64) {
        if ns == 0 || self.moment.lanes.values().all(Option::is_none) {
            return;
        }
        self.moment.refresh(self.runs_posted);
        self.moment.add_to(&mut self.sums, ns);
        if let Some(pieces) = &mut self.pieces {
            for (lane, part) in &self.moment.parts {
                pieces.add(*lane, Segment { from: at, to: at.plus(ns), state: *part });
            }
        }
        if let Some(sums) = self.slowest.around(at) {
            self.moment.add_to(sums, ns);
        }
    }

    /// A sample counts for the part that its thread's lane is in; for none if the thread serves no lane.
    fn sample(&mut self, at: Time, index: usize) {
        let (sample, ns) = &self.samples[index];
        self.moment.refresh(self.runs_posted);
        let Moment { parts, serving, generation, .. } = &self.moment;
        let serves =
            |lane: LaneId| serving.voted(lane).or_else(|| serving.last(lane).map(|last| last.0)) == Some(sample.tid);
        if let Some((_, part)) = parts.iter().find(|(lane, _)| serves(*lane)) {
            let age = generation.filter(|_| *part == AccountPart::Collecting);
            let sample = CodeSample { purpose: sample.purpose.map(|purpose| purpose.of_age(age)), ..*sample };
            self.sums.sample(*part, &sample, *ns);
            if let Some(sums) = self.slowest.around(at) {
                sums.sample(*part, &sample, *ns);
            }
        }
    }
}

impl Moment {
    /// Counts what lanes did for `ns`.
    fn add_to(&self, sums: &mut AccountSums, ns: u64) {
        let mut tops = [false; AccountPart::TOPS];
        for (lane, part) in &self.parts {
            sums.add(*lane, *part, ns);
            tops[part.top()] = true;
        }
        sums.wall_ns += ns;
        if self.phase.is_none() {
            sums.with_work(self.parts.iter().filter(|(_, part)| *part != AccountPart::Idle).count(), ns);
        }
        let ticked = sums.tops_ns.iter_mut().zip(tops).filter(|(_, there)| *there);
        ticked.for_each(|(sum, _)| *sum += ns);
    }

    fn refresh(&mut self, runs_posted: bool) {
        if !std::mem::take(&mut self.stale) {
            return;
        }
        let Room { mut need, mut served, mut standing } = std::mem::take(&mut self.room);
        need.clear();
        standing.clear();
        self.parts.clear();
        let alone = self.works_alone();
        for (lane, state) in self.lanes.iter().filter_map(|(lane, state)| Some((lane, (*state)?))) {
            let state = if alone == Some(lane) { LaneState::Collecting } else { state };
            match self.without_thread(state) {
                Some(AccountPart::Still(Still::Work, _)) => standing.push(lane),
                Some(part) => self.parts.push((lane, part)),
                None if self.lost => self.parts.push((lane, AccountPart::Unknown(Why::KernelLost))),
                None => need.push((lane, state)),
            }
        }
        self.serving.serve(need.iter().map(|one| one.0), &mut served);
        // Why the first collecting lane is not at work. While any of them works, the others wait for that work.
        let mut keeps: Option<Option<Cause>> = None;
        for (lane, served) in &served {
            let state = need.iter().find(|one| one.0 == *lane).map_or(LaneState::Gap, |one| one.1);
            let part = self.with_thread(state, *served, runs_posted);
            if state.collects() {
                let cause = kept_off(part);
                keeps = Some(keeps.unwrap_or(cause).filter(|_| cause.is_some()));
            }
            self.parts.push((*lane, part));
        }
        let cause = keeps.flatten();
        self.parts.extend(standing.iter().map(|lane| (*lane, AccountPart::Still(Still::Work, cause))));
        self.room = Room { need, served, standing };
    }

    /// The leader, if only it can be at work: other lanes have finished, or have not begun.
    fn works_alone(&self) -> Option<LaneId> {
        let leader = self.leads.filter(|_| self.phase == Some(Still::Work))?;
        let waits = self.lanes.get(leader) == Some(&Some(LaneState::WaitingForOthers));
        (waits && !self.lanes.values().flatten().any(|state| state.collects())).then_some(leader)
    }

    /// The part of a lane in `state`, if its thread does not matter.
    fn without_thread(&self, state: LaneState) -> Option<AccountPart> {
        Some(match state {
            LaneState::Idle => AccountPart::Idle,
            LaneState::Gap => AccountPart::Unknown(Why::EventsLost),
            LaneState::WaitingToLead => AccountPart::Still(Still::Lead, None),
            LaneState::WaitingForOthers => AccountPart::Still(self.phase.unwrap_or(Still::ToStop), self.cause),
            LaneState::Release => AccountPart::Still(Still::Back, self.cause),
            _ if self.kernel => return None,
            _ if state.collects() => AccountPart::Collecting,
            LaneState::Slice => AccountPart::Slice,
            _ => AccountPart::Posted,
        })
    }

    /// The part of a lane that has something to do, by the state of its thread.
    fn with_thread(&self, state: LaneState, served: Served, runs_posted: bool) -> AccountPart {
        let collects = state.collects() || state == LaneState::Slice;
        let thread = match served {
            Served::By(_, thread) => thread,
            Served::Asleep => ThreadState::Asleep,
            Served::Unknown => return AccountPart::Unknown(Why::State),
        };
        match thread {
            ThreadState::Running(_) if state.collects() => AccountPart::Collecting,
            ThreadState::Running(_) if collects => AccountPart::Slice,
            ThreadState::Running(_) => AccountPart::Program,
            ThreadState::WaitsFor(holder) => AccountPart::NoCpu(holder.into()),
            ThreadState::Blocked => AccountPart::Blocked,
            // Which thread collects is not known; none of the awake ones does.
            ThreadState::Asleep if collects && served == Served::Asleep => AccountPart::Unknown(Why::Thread),
            ThreadState::Asleep if collects => AccountPart::Still(Still::Work, None),
            ThreadState::Asleep if state == LaneState::WaitingToStop && self.cause == Some(Cause::ForeignCall) => {
                AccountPart::Call
            }
            ThreadState::Asleep if runs_posted && state == LaneState::Program => AccountPart::Call,
            ThreadState::Asleep => AccountPart::Idle,
        }
    }
}

/// The program's own states. A lane may change between them thousands of times in a millisecond.
fn between_pauses(state: LaneState) -> bool {
    matches!(state, LaneState::Program | LaneState::Idle)
}

/// Where only some runs are seen, a lane between two of them may or may not be idle: its thread decides.
fn seen(state: LaneState, every_run: bool) -> LaneState {
    if state == LaneState::Idle && !every_run { LaneState::Program } else { state }
}

/// Why a collecting lane is not at work.
fn kept_off(part: AccountPart) -> Option<Cause> {
    Some(match part {
        AccountPart::NoCpu(Keeper::Quota) => Cause::Throttled,
        AccountPart::NoCpu(Keeper::Other(_)) => Cause::Preempted,
        AccountPart::NoCpu(Keeper::Sibling) => Cause::Oversubscribed,
        AccountPart::NoCpu(Keeper::IdleCpu) => Cause::IdleCpu,
        AccountPart::NoCpu(Keeper::Unknown) => Cause::NotScheduled,
        AccountPart::Blocked => Cause::BlockedInKernel,
        _ => return None,
    })
}

/// The latest moment at which no thread waits for a CPU: what kept a thread off shows when its wait is over.
fn before_waits(judge: &Judge<'_>, until: Time) -> Time {
    let open = judge.tracks.own().filter_map(|tid| judge.tracks.wait_around(tid, until));
    let recent = open.map(|wait| wait.0).filter(|from| until.since(*from) < OPEN_WAIT_MAX_NS);
    recent.min().unwrap_or(until).min(until)
}

fn thread_changes(judge: &Judge<'_>, from: Time, until: Time, changes: &mut Vec<(Time, Change)>) {
    // A thread without any event has not reached a CPU or left one: it sleeps.
    for tid in judge.tracks.own().filter(|tid| judge.tracks.since(*tid, until).is_some()) {
        let ended = judge.tracks.ended_at(tid);
        let stretches = judge.tracks.stretches(tid, from, until);
        for (index, stretch) in stretches.iter().enumerate() {
            let next = || stretches.get(index + 1).map(|next| (next.state, next.cpu));
            let life = match threads::state(judge, tid, stretch) {
                Some(state) => Some(Some(state)),
                None if ended.is_some_and(|at| at <= stretch.from) => None,
                // It is created or woken next: before, it did not exist or slept.
                None => match next() {
                    Some((SchedState::Woken { .. }, None)) => None,
                    Some((SchedState::Woken { .. }, _)) => Some(Some(ThreadState::Asleep)),
                    _ => Some(None),
                },
            };
            changes.push((stretch.from, Change::Thread(tid, life)));
        }
    }
}
