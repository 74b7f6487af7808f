//! What each lane did: a line of the runtime's own states.
//!
//! Owns how they follow from its events. Between collections a lane runs a green thread, or does not; where no runs
//! are posted that is unknown, and all of it counts as the program. In a collection they follow the recogniser of
//! pauses, which is why a lane's line is known only up to the oldest unfinished pause. Where events were lost there
//! is a gap. Refuses kernel threads and causes.

use crate::basis::compose::{Composer, Segment};
use crate::basis::per_lane::PerLane;
use crate::folds::Wait;
use crate::pauses::Recognised;
use rtscope_model::{
    Event, GreenThread, LaneId, LanePause, LaneState, Pause, PauseKind, PauseMode, Phase, Runtime, Time,
};

/// A lane's part in a collection: from standing still until it resumes.
#[derive(Copy, Clone, Eq, PartialEq, Debug)]
pub struct LanePart {
    /// Whether it requested the collection.
    pub leads: bool,
    /// When all lanes had stopped.
    pub stopped: Time,
}

/// What a lane does, and the collection that it is part of.
#[derive(Copy, Clone, Eq, PartialEq, Debug)]
pub struct Doing {
    /// The state of the lane.
    pub state: LaneState,
    /// The green thread in the state `Program`, where runs are posted.
    pub green: Option<GreenThread>,
    /// The collection that the lane stands still for.
    pub part: Option<LanePart>,
}

impl Doing {
    fn outside(state: LaneState) -> Doing {
        Doing { state, green: None, part: None }
    }
}

#[derive(Default)]
struct LaneTimeline {
    line: Composer<Doing>,
    off: bool,
    green: Option<GreenThread>,
    wants: bool,
    slice: bool,
    waits: bool,
    /// After a gap, until a run or a stop shows what it does.
    unknown: bool,
    /// Its last event.
    last: Time,
}

impl LaneTimeline {
    fn doing(&self, runs_posted: bool, nested: bool) -> Option<Doing> {
        let state = match self {
            LaneTimeline { off: true, .. } => return None,
            LaneTimeline { wants: true, .. } => LaneState::WaitingToLead,
            LaneTimeline { slice: true, .. } => LaneState::Slice,
            LaneTimeline { waits: true, .. } => LaneState::Idle,
            LaneTimeline { unknown: true, .. } if runs_posted => LaneState::Gap,
            LaneTimeline { green: Some(_), .. } => LaneState::Program,
            _ if runs_posted => LaneState::Idle,
            _ => LaneState::Program,
        };
        let green = self.green.filter(|_| nested && state == LaneState::Program);
        Some(Doing { green, ..Doing::outside(state) })
    }

    /// Forgets everything except what it did.
    fn forget(&mut self) {
        *self = LaneTimeline { line: std::mem::take(&mut self.line), ..LaneTimeline::default() };
    }
}

/// The fold over lane states.
pub struct LaneStates {
    lanes: PerLane<Box<LaneTimeline>>,
    runs_posted: bool,
    /// The first event of any lane.
    first: Option<Time>,
    pub(super) detail: LaneDetail,
}

/// How much detail of what lanes did is reported.
#[derive(Copy, Clone, Eq, PartialEq, Debug, Default)]
pub enum LaneDetail {
    /// Nothing: pauses are enough.
    #[default]
    Pauses,
    /// Like [`LaneDetail::States`], but only up to the runtime's last event: for sums.
    Summed,
    /// One state after the other, until the recording ends; equal adjacent pieces are merged.
    States,
    /// [`LaneDetail::States`] with what nested spans need: the thread of a run, and the collection that a piece
    /// belongs to.
    Nested,
}

impl LaneDetail {
    fn nested(self) -> bool {
        self == LaneDetail::Nested
    }
}

impl LaneStates {
    /// Lines of the given detail.
    pub(super) fn new(detail: LaneDetail) -> Self {
        LaneStates { lanes: PerLane::default(), runs_posted: false, first: None, detail }
    }

    /// Takes the next event. `pauses` are those that it finishes; nothing before `until` changes any more.
    pub(super) fn push(
        &mut self,
        event: &Event,
        wait: Option<Wait>,
        pauses: &[Recognised],
        until: Time,
        out: &mut dyn FnMut(LaneId, &Segment<Doing>),
    ) {
        if let Some(wait) = wait.filter(|wait| wait.inferred)
            && let Some(lane) = self.lanes.get_mut(wait.lane)
        {
            lane.line.lay(wait.from, wait.to, Doing::outside(LaneState::WaitingToLead));
        }
        if pauses.is_empty() {
            if let Some(lane) = self.lanes.get_mut(event.lane) {
                lane.line.flush(until, &mut |segment| out(event.lane, &segment));
            }
            return;
        }
        self.lay(pauses);
        self.lanes.change(|id, lane| lane.line.flush(until, &mut |segment| out(id, &segment)));
    }

    /// What each lane does now, and since when.
    pub(super) fn open(&self) -> impl Iterator<Item = (LaneId, Time, LaneState)> {
        self.lanes.iter().filter_map(|(id, lane)| lane.line.open().map(|(since, doing)| (id, since, doing.state)))
    }

    /// Ends the stream at `end`.
    pub(super) fn finish(&mut self, end: Time, pauses: &[Recognised], out: &mut dyn FnMut(LaneId, &Segment<Doing>)) {
        self.lay(pauses);
        self.lanes.change(|id, lane| lane.line.finish(end.max(lane.last), &mut |segment| out(id, &segment)));
    }

    /// What a lane does between collections.
    pub(super) fn base(&mut self, event: &Event, body: Runtime) {
        let first = *self.first.get_or_insert(event.time);
        let new = self.lanes.get(event.lane).is_none();
        let lane = self.lanes.of(event.lane);
        match body {
            Runtime::ThreadRun(green) => {
                (lane.green, lane.unknown) = (Some(green), false);
                if !std::mem::replace(&mut self.runs_posted, true) {
                    return self.runs_are_posted(event);
                }
            }
            Runtime::ThreadStop(..) => (lane.green, lane.unknown) = (None, false),
            Runtime::PhaseBegin(phase) => phase_changes(lane, phase, true),
            Runtime::PhaseEnd(phase) => phase_changes(lane, phase, false),
            Runtime::LaneCreated | Runtime::LaneEnabled => lane.forget(),
            Runtime::LaneDeleted | Runtime::LaneDisabled => lane.off = true,
            Runtime::Gap => {
                // A lane not seen before existed all the same: what it did is what was lost.
                let from = if new { first } else { lane.last };
                lane.line.enter(from, Some(Doing::outside(LaneState::Gap)));
                lane.forget();
                lane.unknown = true;
            }
            _ if !new => {
                lane.last = event.time;
                return;
            }
            _ => {}
        }
        lane.last = event.time;
        let doing = lane.doing(self.runs_posted, self.detail.nested());
        lane.line.enter(event.time, doing);
    }

    /// The first run of all: from now on, lanes without a run are known to be idle.
    fn runs_are_posted(&mut self, event: &Event) {
        let nested = self.detail.nested();
        self.lanes.change(|id, lane| {
            if id == event.lane {
                lane.last = event.time;
            }
            let doing = lane.doing(true, nested);
            lane.line.enter(event.time, doing);
        });
    }

    /// Lays finished pauses over the lane lines.
    fn lay(&mut self, pauses: &[Recognised]) {
        for Recognised { pause, .. } in pauses {
            for part in &pause.lanes {
                if let Some(line) = self.lanes.get_mut(part.lane).map(|lane| &mut lane.line) {
                    stop_requested(pause, part, |from, to, state| line.lay(from, to, Doing::outside(state)));
                    let leads = pause.leader == Some(part.lane);
                    let within = self.detail.nested().then_some(LanePart { leads, stopped: pause.stopped });
                    pieces(pause, part, |from, to, state| {
                        line.lay(from, to, Doing { state, green: None, part: within })
                    });
                }
            }
        }
    }
}

fn phase_changes(lane: &mut LaneTimeline, phase: Phase, begins: bool) {
    match phase {
        Phase::Wanted => lane.wants = begins,
        Phase::MajorSlice => lane.slice = begins,
        Phase::Condition => lane.waits = begins,
        _ => {}
    }
}

/// When a lane stood still for a pause, if known.
fn stopped_at(pause: &Pause, part: &LanePause) -> Option<Time> {
    if pause.leader == Some(part.lane) { pause.requested } else { part.arrived }
}

/// From the request until the lane stood still.
fn stop_requested(pause: &Pause, part: &LanePause, mut piece: impl FnMut(Time, Time, LaneState)) {
    if let (Some(requested), Some(still)) = (pause.requested, stopped_at(pause, part)) {
        let last = pause.straggler == Some(part.lane);
        piece(requested, still.min(pause.stopped), if last { LaneState::WaitingToStop } else { LaneState::Asked });
    }
}

/// One lane's part of a pause, in order.
fn pieces(pause: &Pause, part: &LanePause, mut piece: impl FnMut(Time, Time, LaneState)) {
    let (stopped, collected) = (pause.stopped, pause.collected);
    let leads = pause.leader == Some(part.lane);
    if let Some(still) = stopped_at(pause, part) {
        // After the last of the others arrived, everything waits for the leader: it may have lost its CPU.
        let in_time = if leads { others_arrived(pause, part.lane).unwrap_or(stopped) } else { stopped };
        let in_time = in_time.clamp(still, stopped.max(still));
        piece(still, in_time, LaneState::WaitingForOthers);
        piece(in_time, stopped, LaneState::WaitingToStop);
    }
    let left = part.left.unwrap_or(collected).max(stopped);
    let work = match (part.work_begin, part.work_end) {
        (Some(begin), end) => Some((begin, end.unwrap_or(collected))),
        // If lanes do not share the work, the leader does it.
        (None, _) => (leads && pause.mode != PauseMode::Parallel).then_some((stopped, collected)),
    };
    let done = collected.min(left);
    let (begin, end) = work.unwrap_or((done, done));
    let begin = begin.clamp(stopped, left.max(stopped));
    let end = end.max(begin);
    piece(stopped, begin, LaneState::WaitingForOthers);
    piece(begin, end, kind(pause.kind));
    piece(end, collected.min(left), LaneState::WaitingForOthers);
    piece(collected.max(end), left, LaneState::Release);
}

/// When the last lane except `leader` had stopped, if all of them posted it.
fn others_arrived(pause: &Pause, leader: LaneId) -> Option<Time> {
    let mut others = pause.lanes.iter().filter(|part| part.lane != leader).peekable();
    others.peek()?;
    others.try_fold(Time(0), |last, part| Some(last.max(part.arrived?)))
}

fn kind(kind: PauseKind) -> LaneState {
    match kind {
        PauseKind::Minor => LaneState::CollectingMinor,
        PauseKind::Major => LaneState::CollectingMajor,
        _ => LaneState::Collecting,
    }
}

#[cfg(test)]
#[path = "lanes_tests.rs"]
mod tests;
