//! What single lanes cost in collections that every lane has to answer: lanes without work that are woken to answer,
//! lanes that leave late while others try to lead the next collection, and collections that lanes request.
//!
//! Owns these sums. All of them are parts of the waits that `blame` found: a moment belongs to one lane. A lane is
//! idle in a pause if its thread waits on a condition, or if another of its threads answers for it while its own
//! thread has no CPU: an own thread with a CPU is in a call of the program that released the lane. A release counts
//! as late only while another lane waits to lead, and while the late lane is not on a CPU. Refuses to name remedies.

use crate::basis::sum::Sum;
use crate::basis::union::Union;
use crate::kernel::lane_thread::LaneMarks;
use crate::results::BlamedPause;
use crate::runtimes::ocaml::leadership::Leadership;
use rtscope_model::{Body, Cause, CausePiece, Event, LaneId, NameId, PauseQuality, Phase, Runtime, Tid, Time};
use std::collections::BTreeMap;

/// Pairs of cause and name that are distinguished.
const CAUSES_MAX: usize = 256;

/// One lane's part.
#[derive(Clone, Debug, Default)]
pub struct One {
    /// Number of pauses that it took part in.
    pub pauses: u64,
    /// Number of these in which it was idle.
    pub idle: u64,
    /// Time that the world waited for it in those, nanoseconds.
    pub idle_ns: u64,
    /// The longest such wait.
    pub longest: Option<(Time, Time)>,
}

#[derive(Default)]
pub struct LaneCosts {
    lanes: BTreeMap<LaneId, One>,
    /// Releases that prevented others from leading.
    pub late: Sum,
    late_causes: BTreeMap<(Cause, Option<NameId>), u64>,
    late_lanes: BTreeMap<LaneId, u64>,
    requesting: BTreeMap<LaneId, Time>,
    /// Calls that request a collection.
    pub requested: Sum,
    /// Wall-clock time in which any lane was in such a call.
    pub requested_wall: Union,
}

impl LaneCosts {
    pub fn push(&mut self, event: &Event) {
        let Body::Runtime(body) = event.body else { return };
        match body {
            Runtime::PhaseBegin(Phase::Explicit) => _ = self.requesting.entry(event.lane).or_insert(event.time),
            Runtime::PhaseEnd(Phase::Explicit) => {
                if let Some(since) = self.requesting.remove(&event.lane).filter(|since| *since < event.time) {
                    self.requested.add((since, event.time), event.time.since(since));
                    self.requested_wall.add(since, event.time);
                }
            }
            Runtime::Gap | Runtime::LaneDeleted => _ = self.requesting.remove(&event.lane),
            _ => {}
        }
    }

    /// Adds one pause. `own` returns a lane's own thread; `ran` says whether a thread was on a CPU at that time.
    pub fn add(
        &mut self,
        blamed: &BlamedPause,
        marks: &[LaneMarks],
        own: impl Fn(LaneId) -> Option<Tid>,
        ran: impl Fn(Tid, Time) -> bool,
        leadership: &Leadership,
    ) {
        let pause = &blamed.pause;
        if pause.quality == PauseQuality::Partial {
            return;
        }
        for part in &pause.lanes {
            let waited = marks.iter().any(|marks| marks.lane == part.lane && marks.waited);
            let away = |(tid, own): (Tid, Tid)| tid != own && !ran(own, pause.stopped);
            let answered = part.tid.zip(own(part.lane)).is_some_and(away);
            let lane = self.lanes.entry(part.lane).or_default();
            lane.pauses += 1;
            if !(waited || answered) {
                continue;
            }
            lane.idle += 1;
            for piece in blamed.causes.iter().filter(|piece| piece.lane == Some(part.lane)) {
                lane.idle_ns = lane.idle_ns.saturating_add(piece.ns());
                if lane.longest.is_none_or(|(from, to)| to.since(from) < piece.ns()) {
                    lane.longest = Some((piece.from, piece.to));
                }
            }
        }
        let mut late = 0;
        for piece in &blamed.causes {
            late += self.late(piece, piece.from >= pause.collected, leadership);
        }
        if late > 0 {
            self.late.add((pause.collected, pause.released), late);
        }
    }

    /// The part of the piece that prevented others from leading, nanoseconds.
    fn late(&mut self, piece: &CausePiece, release: bool, leadership: &Leadership) -> u64 {
        if !release || !off_cpu(piece.cause) {
            return 0;
        }
        let ns = leadership.covered_ns(piece.from, piece.to);
        if ns == 0 {
            return 0;
        }
        let key = (piece.cause, piece.who.filter(|_| piece.cause == Cause::Preempted));
        if self.late_causes.len() < CAUSES_MAX || self.late_causes.contains_key(&key) {
            *self.late_causes.entry(key).or_default() += ns;
        }
        if let Some(lane) = piece.lane {
            *self.late_lanes.entry(lane).or_default() += ns;
        }
        ns
    }

    pub fn lanes(&self) -> impl Iterator<Item = (LaneId, &One)> {
        self.lanes.iter().map(|(id, lane)| (*id, lane))
    }

    /// The causes of late releases, most time first.
    pub fn late_causes(&self) -> Vec<(Cause, Option<NameId>, u64)> {
        let mut causes: Vec<_> = self.late_causes.iter().map(|((cause, who), ns)| (*cause, *who, *ns)).collect();
        causes.sort_by_key(|cause| std::cmp::Reverse(cause.2));
        causes
    }

    /// The lanes that left late, most time first.
    pub fn late_lanes(&self) -> Vec<(LaneId, u64)> {
        let mut lanes: Vec<_> = self.late_lanes.iter().map(|(lane, ns)| (*lane, *ns)).collect();
        lanes.sort_by_key(|lane| std::cmp::Reverse(lane.1));
        lanes
    }
}

/// Whether the awaited thread did not run.
fn off_cpu(cause: Cause) -> bool {
    !cause.on_a_cpu() && !matches!(cause, Cause::HostSteal | Cause::HandedOver | Cause::Unknown)
}
