//! Why the world waited: cuts each interval in which a pause waits for one lane at every transition that the kernel
//! reports for that lane's thread, and gives each piece a cause.
//!
//! | evidence | cause |
//! |---|---|
//! | on a CPU; steal or interrupt time of that CPU grew by half the piece | host or interrupt |
//! | on a CPU, most samples in the program's code while its lane has to stop | late safepoint |
//! | the same in another language's code | foreign call |
//! | most samples in the kernel | in the kernel |
//! | on a CPU otherwise | running |
//! | waits for a CPU on which another thread of the program runs | oversubscribed |
//! | waits otherwise; a quota counter moved around the wait by half of it | throttled |
//! | waits otherwise | preempted by NAME, idle CPU, not scheduled |
//! | the same since it was woken | wake-up latency |
//! | asleep elsewhere than on a lock while its lane has to stop | foreign call |
//! | asleep otherwise | asleep, or handed over |
//! | uninterruptible | blocked in the kernel |
//!
//! A thread of the program that runs on the awaited CPU rules the quota out for that piece: a throttled run queue
//! runs none of them. If a leader loses its CPU between its request and the signal to the others, the world waits for
//! the leader until it is back: before that no other lane knows of the request. Where every lane collects with its
//! own thread, the last one at work is waited for, too, as long as it has no CPU. Without usable kernel events the
//! recorder's counters decide, with low confidence. Pieces shorter than twice the clock error get no cause. Refuses
//! to sum up.

pub(crate) mod evidence;
pub(crate) mod held;
pub mod threads;

use crate::kernel::code::{CodeSamples, code_owner};
use crate::kernel::lane_thread::{Served, Votes};
use crate::kernel::samples::Counters;
use crate::kernel::sched::{Runner, SchedState, Stretch, Tracks};
use crate::pauses::Recognised;
use crate::recording::loss_of_kernel;
use rtscope_model::{
    Cause, CausePiece, CodeKind, Confidence, LaneId, Loss, NameId, Pause, PauseMode, SymbolId, Symbols, Tid, Time,
};
use std::collections::BTreeMap;

/// Steal and interrupt counters have 10 ms steps: they say nothing about running pieces shorter than a tenth of that.
const STOLEN_PIECE_MIN_NS: u64 = 1_000_000;
/// CPU time within which a leader signals the others after its request.
const SIGNAL_NS: u64 = 5_000;
/// If that took longer in wall-clock time, the world waited for the leader.
const SIGNAL_LATE_NS: u64 = 50_000;
/// Counters are sampled about every 10 ms: they say nothing about shorter waits than this.
const COUNTED_WAIT_MIN_NS: u64 = 1_000_000;

/// What holds the CPU that a thread waits for.
#[derive(Copy, Clone, Eq, PartialEq, Debug)]
pub enum CpuHolder {
    /// A quota.
    Quota {
        /// The thread that used the CPU meanwhile.
        neighbour: Option<(Tid, NameId)>,
    },
    /// Another process.
    Foreign {
        /// The thread on the CPU.
        tid: Tid,
        /// The name of its process.
        name: NameId,
    },
    /// Another thread of the program.
    Sibling {
        /// The thread on the CPU.
        tid: Tid,
    },
    /// Nothing: the CPU, or another one that the program may use, is idle.
    IdleCpu,
    /// Not known.
    Unknown,
}

/// Judges intervals by the evidence kept.
pub(crate) struct Judge<'a> {
    pub tracks: &'a Tracks,
    pub counters: &'a Counters,
    pub code: &'a CodeSamples,
    pub symbols: &'a Symbols,
    /// Largest difference between log and kernel times, nanoseconds.
    pub error_ns: u64,
    /// Whether kernel events may be used.
    pub kernel: bool,
    pub losses: &'a [Loss],
    /// The lane that a thread served last, for stops that post no arrivals.
    pub last_lane: &'a BTreeMap<Tid, LaneId>,
    /// Lanes have threads of their own, each of which collects: all others wait for the last one at work.
    pub own_threads: bool,
}

/// An interval in which the world waits for one lane.
#[derive(Default)]
struct Waited {
    from: Time,
    to: Time,
    lane: Option<LaneId>,
    served: Option<Served>,
    /// `to` is the arrival of this lane: before it, another thread may have held the lane than the one that arrives.
    arrival: bool,
    /// The lane has to stop: its thread runs the program. A leader, or a lane that resumes, runs the runtime.
    stopping: bool,
    medium: bool,
    /// The thread of the pause's leader.
    leader: Option<Tid>,
    /// When the lane's green thread stopped, where logged.
    green_stop: Option<Time>,
}

impl Waited {
    /// The lane is known to have been idle at the request.
    fn idle(&self) -> bool {
        self.green_stop.is_some_and(|stop| stop <= self.from)
    }
}

impl Judge<'_> {
    /// Fills in the pause's threads and, for stops without arrivals, its straggler. Returns the causes of its waits,
    /// in time order and without gaps. `votes` are the threads of its lanes.
    pub fn blame(&self, recognised: &mut Recognised, votes: Votes) -> Vec<CausePiece> {
        let Votes { served, open } = votes;
        for part in &mut recognised.pause.lanes {
            part.tid = served.get(&part.lane).map(|served| served.tid);
        }
        let mut waits = self.stop_waits(recognised, &served);
        let late = waits.len();
        if self.own_threads && self.kernel {
            waits.extend(collect_wait(&recognised.pause, &served));
        }
        let late = late..waits.len();
        waits.extend(release_wait(&recognised.pause, &served));
        if !self.kernel {
            return waits.iter().map(|wait| self.counted(wait)).collect();
        }
        let leader = recognised.pause.leader.and_then(|lane| served.get(&lane)).map(|served| served.tid);
        let mut pieces = Vec::new();
        for (index, wait) in waits.iter_mut().enumerate() {
            let marks = recognised.marks.iter().find(|marks| Some(marks.lane) == wait.lane);
            (wait.leader, wait.green_stop) = (leader, marks.and_then(|marks| marks.stopped_green));
            let mut causes = match wait.served {
                Some(served) => self.pieces(wait, served),
                None => {
                    let candidates = wait.lane.and_then(|lane| open.get(&lane)).map_or(&[][..], Vec::as_slice);
                    match self.distinguished(wait, candidates) {
                        Some(tid) => self.pieces(wait, Served { tid, by_elimination: true }),
                        None => self.agreed(wait, candidates),
                    }
                }
            };
            self.void(&mut causes);
            if late.contains(&index) {
                // What it does on a CPU is its share of the work.
                causes.retain(|piece| !piece.cause.on_a_cpu() && piece.cause != Cause::Unknown);
            }
            pieces.append(&mut causes);
        }
        pieces
    }

    fn stop_waits(&self, recognised: &mut Recognised, served: &BTreeMap<LaneId, Served>) -> Vec<Waited> {
        let pause = &recognised.pause;
        let Some(requested) = pause.requested.filter(|requested| *requested < pause.stopped) else { return Vec::new() };
        let stopped = pause.stopped;
        let leader = pause.leader;
        let of = |lane: Option<LaneId>| lane.and_then(|lane| served.get(&lane)).copied();
        let on_leader = |from, to| Waited { from, to, lane: leader, served: of(leader), ..Waited::default() };
        let last = pause.straggler.and_then(|lane| Some((lane, pause.lane(lane)?.arrived?)));
        let (at, lane, served, arrival) = match last {
            Some((lane, arrived)) => (arrived.clamp(requested, stopped), Some(lane), of(Some(lane)), true),
            None if pause.mode == PauseMode::NonThreaded => return Vec::new(),
            None => {
                // No arrival was posted: the leader had waited for the thread that last woke it.
                let woken = of(leader).and_then(|led| {
                    let (at, by) = self.tracks.last_waking(led.tid, requested, stopped)?;
                    let ours = by != led.tid && self.tracks.is_own(by);
                    ours.then_some((at, by))
                });
                let Some((at, by)) = woken else { return vec![on_leader(requested, stopped)] };
                recognised.pause.straggler = self.lane_of(by, at, recognised, leader);
                (at, recognised.pause.straggler, Some(Served { tid: by, by_elimination: true }), false)
            }
        };
        let (from, to) = (self.signalled_at(of(leader), requested, at), at);
        let first = Waited { from, to, lane, served, arrival, stopping: true, medium: !arrival, ..Waited::default() };
        let waits = [on_leader(requested, from), first, on_leader(at, stopped)];
        waits.into_iter().filter(|wait| wait.from < wait.to).collect()
    }

    /// When the leader had signalled the others to stop. It requests the stop first; if it loses its CPU before the
    /// signal, they know nothing. It does not sleep in between.
    fn signalled_at(&self, leader: Option<Served>, requested: Time, until: Time) -> Time {
        let Some(leader) = leader else { return requested };
        let mut left = SIGNAL_NS;
        let mut signalled = until;
        for stretch in self.tracks.stretches(leader.tid, requested, until) {
            let ns = stretch.to.since(stretch.from);
            match stretch.state {
                SchedState::Running if ns < left => left -= ns,
                SchedState::Running => signalled = signalled.min(stretch.from.plus(left)),
                state if state.waits() => {}
                _ => signalled = signalled.min(stretch.from),
            }
        }
        if signalled.since(requested) >= SIGNAL_LATE_NS { signalled } else { requested }
    }

    /// The lane that `tid` gave up at `at`: the lane whose green thread stopped last while `tid` was on a CPU, else
    /// the lane that it served last.
    fn lane_of(&self, tid: Tid, at: Time, recognised: &Recognised, leader: Option<LaneId>) -> Option<LaneId> {
        let others = recognised.marks.iter().filter(|lane| Some(lane.lane) != leader);
        let stops = others.clone().filter_map(|lane| Some((lane.stopped_green?, lane.lane)));
        let last = stops.filter(|(stop, _)| *stop <= at).max();
        let gave_up =
            last.filter(|(stop, _)| self.tracks.was_on_cpu(tid, stop.minus(self.error_ns), stop.plus(self.error_ns)));
        let served_last =
            self.last_lane.get(&tid).copied().filter(|lane| others.clone().any(|other| other.lane == *lane));
        gave_up.map(|(_, lane)| lane).or(served_last)
    }

    /// Causes of a wait for a known thread.
    fn pieces(&self, wait: &Waited, served: Served) -> Vec<CausePiece> {
        let tid = served.tid;
        let sure = if wait.medium || served.by_elimination { Confidence::Medium } else { Confidence::High };
        let stretches = self.tracks.stretches(tid, wait.from, wait.to);
        let mut pieces: Vec<CausePiece> =
            stretches.iter().map(|stretch| self.piece(tid, wait.lane, stretch, sure)).collect();
        if wait.arrival {
            self.hand_over(&mut pieces, &stretches, tid, wait);
        }
        // An uninterrupted run is looked up as a whole: samples are rare.
        let coded = merge(pieces).into_iter().map(|piece| self.with_code(piece, tid, wait));
        merge(coded.collect())
    }

    /// The piece with the place of its thread's code, and the cause that follows from it.
    fn with_code(&self, mut piece: CausePiece, tid: Tid, wait: &Waited) -> CausePiece {
        match piece.cause {
            Cause::Running => {
                let found = |from, to| self.code.majority(tid, from, to, self.symbols);
                // No safepoint since the wait began: what it ran before and after an interruption it also ran
                // in between.
                let around =
                    || found(wait.from, wait.to).filter(|_| wait.stopping).map(|found| (found, Confidence::Medium));
                let here = found(piece.from, piece.to).map(|found| (found, Confidence::High));
                let Some((found, sure)) = here.or_else(around) else { return piece };
                (piece.code, piece.confidence) = (Some(found.symbol), piece.confidence.min(sure));
                piece.cause = match found.kind {
                    CodeKind::Program if wait.stopping => Cause::LateSafepoint,
                    CodeKind::Foreign if wait.stopping => Cause::ForeignCall,
                    CodeKind::Kernel => Cause::InKernel,
                    _ => Cause::Running,
                };
            }
            Cause::Asleep | Cause::BlockedInKernel => {
                let Some((symbol, kind)) = self.waits_in(tid, piece.from) else { return piece };
                piece.code = Some(symbol);
                let asleep = piece.cause == Cause::Asleep && !self.on_lock(symbol) && !wait.idle();
                if wait.stopping && (asleep || kind == CodeKind::Foreign) {
                    piece.cause = Cause::ForeignCall;
                    piece.confidence = piece.confidence.min(Confidence::Medium);
                }
            }
            _ => {}
        }
        piece
    }

    /// What `tid`, asleep at `at`, waits in, and whose code that is.
    fn waits_in(&self, tid: Tid, at: Time) -> Option<(SymbolId, CodeKind)> {
        let sample = self.code.waits(tid, self.tracks.since(tid, at)?)?;
        Some((sample.leaf, code_owner(sample, self.symbols).0))
    }

    /// The runtime's own threads sleep on locks. If a thread sleeps in anything else, a call of the program
    /// led there.
    fn on_lock(&self, symbol: SymbolId) -> bool {
        let name = &self.symbols.get(symbol).name;
        name.is_empty() || name.contains("futex")
    }

    /// Which of several threads serves a lane that has to stop, according to samples: that thread runs the
    /// program until it stops, while a leader and spinning collector threads run the runtime and its system
    /// calls. Foreign code alone proves nothing (a safe call runs without a lane): there all other threads have
    /// to be found in the runtime.
    fn distinguished(&self, wait: &Waited, candidates: &[Tid]) -> Option<Tid> {
        let kind = |tid: &&Tid| self.code.majority(**tid, wait.from, wait.to, self.symbols).map(|found| found.kind);
        let program = |tid: &&Tid| kind(tid) == Some(CodeKind::Program);
        let elsewhere = |tid: &&Tid| !matches!(kind(tid), Some(CodeKind::Runtime | CodeKind::Kernel));
        let mut left: Vec<&Tid> = candidates.iter().filter(program).collect();
        if left.is_empty() {
            left = candidates.iter().filter(elsewhere).collect();
        }
        left.first().map(|tid| **tid).filter(|_| wait.stopping && left.len() == 1)
    }

    /// Causes of a wait for a lane that one of several threads served: for each moment, only what holds for all
    /// of them.
    fn agreed(&self, wait: &Waited, candidates: &[Tid]) -> Vec<CausePiece> {
        let pieces = |tid: &Tid| {
            let mut pieces = self.pieces(wait, Served { tid: *tid, by_elimination: true });
            pieces.iter_mut().for_each(|piece| piece.tid = None);
            pieces
        };
        let agreed = candidates.iter().map(pieces).reduce(|before, pieces| common(&before, &pieces));
        agreed.filter(|pieces| !pieces.is_empty()).unwrap_or_else(|| vec![unknown(wait)])
    }

    fn piece(&self, tid: Tid, lane: Option<LaneId>, stretch: &Stretch, sure: Confidence) -> CausePiece {
        let mut piece = piece(lane, Some(tid), (stretch.from, stretch.to), sure);
        match stretch.state {
            SchedState::Running if self.stolen(stretch) => {
                piece.cause = Cause::HostSteal;
                piece.confidence = Confidence::Low;
            }
            SchedState::Running => piece.cause = Cause::Running,
            SchedState::Sleeping => piece.cause = Cause::Asleep,
            SchedState::Blocked => piece.cause = Cause::BlockedInKernel,
            SchedState::Unknown => piece.confidence = Confidence::Low,
            SchedState::Runnable | SchedState::Woken { .. } => self.waiting(&mut piece, tid, stretch),
        }
        piece
    }

    fn waiting(&self, piece: &mut CausePiece, tid: Tid, stretch: &Stretch) {
        let pid = |tid: Tid| Some(self.tracks.pid(tid).map_or(tid.0, |pid| pid.0));
        let cause = match self.holder(tid, stretch) {
            CpuHolder::Quota { neighbour } => {
                piece.neighbour = neighbour.is_some();
                piece.cause = Cause::Throttled;
                return;
            }
            CpuHolder::Foreign { tid, name } => {
                (piece.who, piece.who_pid) = (Some(name), pid(tid));
                Cause::Preempted
            }
            CpuHolder::Sibling { tid } => {
                piece.who_pid = pid(tid);
                Cause::Oversubscribed
            }
            CpuHolder::IdleCpu => Cause::IdleCpu,
            CpuHolder::Unknown => {
                piece.confidence = piece.confidence.min(Confidence::Medium);
                Cause::NotScheduled
            }
        };
        piece.cause = if matches!(stretch.state, SchedState::Woken { .. }) { Cause::WakeLatency } else { cause };
    }

    /// What holds the CPU that a thread in `stretch` waits for.
    pub fn holder(&self, tid: Tid, stretch: &Stretch) -> CpuHolder {
        // A CPU that is idle because of a quota is not available to the program.
        if let Runner::Own(sibling) = stretch.runner
            && (!stretch.other_cpu_idle || self.throttled(tid, stretch))
        {
            return CpuHolder::Sibling { tid: sibling };
        }
        if self.throttled(tid, stretch) {
            let neighbour = match stretch.runner {
                Runner::Foreign { tid, name } => Some((tid, name)),
                _ => None,
            };
            return CpuHolder::Quota { neighbour };
        }
        match stretch.runner {
            Runner::Foreign { tid, name } => CpuHolder::Foreign { tid, name },
            Runner::Idle | Runner::Own(_) => CpuHolder::IdleCpu,
            _ => CpuHolder::Unknown,
        }
    }

    /// Counters move when throttling ends, so this checks the whole wait, not the piece.
    fn throttled(&self, tid: Tid, stretch: &Stretch) -> bool {
        let (from, to) = self.tracks.wait_around(tid, stretch.from).unwrap_or((stretch.from, stretch.to));
        let moved = self.counters.quota_moved(from, to.max(stretch.to));
        moved.is_some_and(|ns| ns.saturating_mul(2) >= to.since(from).max(1))
    }

    fn stolen(&self, stretch: &Stretch) -> bool {
        let ns = stretch.to.since(stretch.from);
        let taken = stretch.cpu.and_then(|cpu| self.counters.stolen_ns(cpu, stretch.from, stretch.to));
        ns >= STOLEN_PIECE_MIN_NS && taken.is_some_and(|taken| taken.saturating_mul(2) >= ns)
    }

    /// Walks back from the arrival. While the thread ran, waited for a CPU or was blocked in the kernel it held the
    /// lane. A sleep belongs to the lane only if the lane was idle or the thread slept while it held it; everything
    /// before a handover says nothing about the lane.
    fn hand_over(&self, pieces: &mut [CausePiece], stretches: &[Stretch], tid: Tid, wait: &Waited) {
        let slept = |index: usize| stretches.get(index).is_some_and(|stretch| stretch.state == SchedState::Sleeping);
        let changed = (0..stretches.len()).rev().filter(|index| slept(*index)).find(|index| {
            let woken_by = stretches.get(index + 1).and_then(|next| match next.state {
                SchedState::Woken { by } => Some(by),
                _ => None,
            });
            let called = stretches.get(*index).and_then(|stretch| self.waits_in(tid, stretch.from));
            let in_call = called.is_some_and(|(symbol, _)| !self.on_lock(symbol)) && wait.green_stop.is_none();
            !in_call && !self.slept_with_lane(tid, wait, woken_by)
        });
        for piece in pieces.iter_mut().take(changed.map_or(0, |index| index + 1)) {
            let sure = if self.tracks.names_next { Confidence::Medium } else { Confidence::Low };
            (piece.cause, piece.who, piece.who_pid, piece.neighbour) = (Cause::HandedOver, None, None, false);
            (piece.tid, piece.confidence) = (None, piece.confidence.min(sure));
        }
    }

    fn slept_with_lane(&self, tid: Tid, wait: &Waited, woken_by: Option<Tid>) -> bool {
        if let Some(stop) = wait.green_stop {
            // Stopped before the request: the lane was idle. After it: the thread that was on a CPU then had
            // the lane.
            let held = || self.tracks.was_on_cpu(tid, stop.minus(self.error_ns), stop.plus(self.error_ns));
            return wait.idle() || held();
        }
        // The leader prods idle lanes; timers, devices and other processes end a blocked call. A sibling that wakes
        // it hands the lane over.
        woken_by.is_some_and(|by| Some(by) == wait.leader || !self.tracks.is_own(by))
    }

    /// The table from counters alone.
    fn counted(&self, wait: &Waited) -> CausePiece {
        let mut piece = unknown(wait);
        let ns = wait.to.since(wait.from);
        if ns < COUNTED_WAIT_MIN_NS {
            return piece;
        }
        let half = |moved: u64| moved.saturating_mul(2) >= ns;
        if self.counters.quota_moved(wait.from, wait.to).is_some_and(half) {
            piece.cause = Cause::Throttled;
        } else if self.counters.switched_out_ns(wait.from, wait.to).is_some_and(half) {
            piece.cause = Cause::NotScheduled;
        }
        piece
    }

    /// Removes the cause from pieces too short for the clocks and from pieces that a kernel loss touches.
    fn void(&self, pieces: &mut Vec<CausePiece>) {
        let joined = self.error_ns.saturating_mul(2);
        for piece in pieces.iter_mut() {
            let lost = self.losses.iter().any(|loss| loss_of_kernel(loss, piece.from, piece.to));
            if piece.ns() < joined || lost {
                (piece.cause, piece.who, piece.who_pid, piece.neighbour) = (Cause::Unknown, None, None, false);
                (piece.code, piece.confidence) = (None, Confidence::Low);
            }
        }
        *pieces = merge(std::mem::take(pieces));
    }

    /// Whether a thread of the program was on a CPU at `at`; `None` where
    /// kernel records were lost.
    pub fn arrival_seen(&self, at: Time) -> Option<bool> {
        let (from, to) = (at.minus(self.error_ns), at.plus(self.error_ns));
        let lost = self.losses.iter().any(|loss| loss_of_kernel(loss, from, to));
        let lenient = self.tracks.unreported > 0;
        let some = |lenient| !self.tracks.on_cpu(from, to, lenient).is_empty();
        (!lost).then(|| some(false) || lenient && some(true))
    }
}

/// The wait for the last lane that collects, from the moment when all others are done.
fn collect_wait(pause: &Pause, served: &BTreeMap<LaneId, Served>) -> Option<Waited> {
    let mut ends: Vec<(Time, LaneId)> =
        pause.lanes.iter().filter_map(|lane| Some((lane.work_end?, lane.lane))).collect();
    ends.sort_unstable();
    let [.., (before, _), (end, last)] = ends[..] else { return None };
    let from = before.max(pause.stopped);
    let (lane, served) = (Some(last), served.get(&last).copied());
    (from < end).then_some(Waited { from, to: end, lane, served, ..Waited::default() })
}

/// The wait for the last lane to resume.
fn release_wait(pause: &Pause, served: &BTreeMap<LaneId, Served>) -> Option<Waited> {
    let last = pause.lanes.iter().filter(|lane| lane.left == Some(pause.released)).map(|lane| lane.lane).next_back();
    let served = last.and_then(|lane| served.get(&lane)).copied();
    let wait = Waited { from: pause.collected, to: pause.released, lane: last, served, ..Waited::default() };
    (pause.collected < pause.released).then_some(wait)
}

fn unknown(wait: &Waited) -> CausePiece {
    let tid = wait.served.map(|served| served.tid);
    piece(wait.lane, tid, (wait.from, wait.to), Confidence::Low)
}

/// A piece without a known cause.
fn piece(lane: Option<LaneId>, tid: Option<Tid>, (from, to): (Time, Time), confidence: Confidence) -> CausePiece {
    let (cause, who, who_pid, code, neighbour) = (Cause::Unknown, None, None, None, false);
    CausePiece { cause, lane, tid, who, who_pid, code, neighbour, from, to, confidence }
}

/// What two covers of one interval agree on, moment by moment; the rest is unknown.
fn common(left: &[CausePiece], right: &[CausePiece]) -> Vec<CausePiece> {
    let mut out = Vec::with_capacity(left.len().max(right.len()));
    let (mut lefts, mut rights) = (left.iter().peekable(), right.iter().peekable());
    while let (Some(a), Some(b)) = (lefts.peek().copied(), rights.peek().copied()) {
        let mut both = CausePiece { from: a.from.max(b.from), to: a.to.min(b.to), ..*a };
        if a.to <= b.to {
            lefts.next();
        }
        if b.to <= a.to {
            rights.next();
        }
        both.confidence = a.confidence.min(b.confidence);
        both.neighbour = a.neighbour || b.neighbour;
        if a.cause != b.cause {
            (both.cause, both.confidence, both.neighbour) = (Cause::Unknown, Confidence::Low, false);
        }
        if a.cause != b.cause || a.who != b.who {
            (both.who, both.who_pid) = (None, None);
        }
        both.code = a.code.filter(|code| a.cause == b.cause && b.code == Some(*code));
        if both.from < both.to {
            out.push(both);
        }
    }
    merge(out)
}

/// Joins adjacent pieces with the same cause and place in the code.
fn merge(pieces: Vec<CausePiece>) -> Vec<CausePiece> {
    let mut out: Vec<CausePiece> = Vec::with_capacity(pieces.len());
    for piece in pieces {
        match out.last_mut() {
            Some(last)
                if last.to == piece.from
                    && (last.cause, last.lane, last.tid, last.who, last.code)
                        == (piece.cause, piece.lane, piece.tid, piece.who, piece.code) =>
            {
                last.to = piece.to;
                last.neighbour |= piece.neighbour;
                last.confidence = last.confidence.min(piece.confidence);
            }
            _ => out.push(piece),
        }
    }
    out
}

#[cfg(test)]
#[path = "blame_tests.rs"]
mod tests;
