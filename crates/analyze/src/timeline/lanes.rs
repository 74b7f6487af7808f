//! What each lane did: a line of states of the runtime's own.
//!
//! Owns how they follow from its events. Between collections: runs a green thread, or does not; where no
//! run is posted that cannot be told, and all of it counts as the program. In a collection: as the recogniser
//! of pauses reads it, which is why a lane's line is known up to the oldest pause that is not over. Where
//! events were lost there is a gap. Refuses kernel threads and causes.

use super::compose::{Composer, Segment};
use crate::context::Context;
use crate::leadership::Leadership;
use crate::pauses::{Recognise, Recognised, recogniser};
use rtscope_model::{Body, Event, LaneId, LanePause, Pause, PauseKind, PauseMode, Phase, Runtime, Time};

/// What was collected.
#[derive(Copy, Clone, Eq, PartialEq, Debug)]
pub enum Collected {
    /// Young data only.
    Minor,
    /// All of it.
    Major,
    /// The heap was compacted or laid out anew, or the log does not say.
    Other,
}

/// What a lane does.
#[derive(Copy, Clone, Eq, PartialEq, Debug)]
pub enum LaneState {
    /// The program; where runs of green threads are not posted, also nothing.
    Program,
    /// Nothing to run.
    Idle,
    /// It was asked to stop and has not yet; another one takes longer.
    Asked,
    /// It was asked to stop, has not yet, and is the last: the world waits for it.
    WaitingToStop,
    /// It wants to collect and another lane leads.
    WaitingToLead,
    /// It collects.
    Collecting(Collected),
    /// It stands still: others have not stopped or collect.
    WaitingForOthers,
    /// The work is done and it is not back yet.
    Release,
    /// It works on the old heap while others run the program.
    Slice,
    /// Its events were lost.
    Gap,
}

#[derive(Default)]
struct Lane {
    line: Composer<LaneState>,
    off: bool,
    runs: bool,
    wants: bool,
    slice: bool,
    waits: bool,
    /// Behind a gap, until a run or a stop tells.
    unknown: bool,
    /// Its last event.
    last: Time,
    /// The last run or stop, where the recogniser has not been told of it.
    held: Option<Event>,
}

impl Lane {
    fn state(&self, runs_posted: bool) -> Option<LaneState> {
        match self {
            Lane { off: true, .. } => None,
            Lane { wants: true, .. } => Some(LaneState::WaitingToLead),
            Lane { slice: true, .. } => Some(LaneState::Slice),
            Lane { waits: true, .. } => Some(LaneState::Idle),
            Lane { unknown: true, .. } if runs_posted => Some(LaneState::Gap),
            Lane { runs, .. } if *runs || !runs_posted => Some(LaneState::Program),
            _ => Some(LaneState::Idle),
        }
    }
}

/// The fold.
pub struct LaneStates {
    lanes: Vec<Option<Box<Lane>>>,
    recogniser: Box<dyn Recognise>,
    /// Waits to lead that a runtime does not post.
    leadership: Option<Leadership>,
    /// No pause is open: runs and stops can wait until one begins.
    quiet: bool,
    runs_posted: bool,
    /// The first event of any lane.
    first: Option<Time>,
    finished: Vec<Recognised>,
}

impl LaneStates {
    /// The lines of the recording that `context` describes.
    pub fn new(context: &Context) -> Self {
        LaneStates {
            lanes: Vec::new(),
            recogniser: recogniser(context),
            leadership: (context.runtime.family.as_deref() == Some("ocaml")).then(Leadership::default),
            quiet: true,
            runs_posted: false,
            first: None,
            finished: Vec::new(),
        }
    }

    /// Whether runs of green threads were seen, so that idle lanes are told.
    pub fn runs_posted(&self) -> bool {
        self.runs_posted
    }

    /// Takes the next event; what is known now is handed to `out`.
    pub fn push(&mut self, event: &Event, out: &mut impl FnMut(LaneId, Segment<LaneState>)) {
        let Body::Runtime(body) = event.body else { return };
        if event.lane.is_some() {
            self.base(event, body);
        }
        self.recognise(event, body);
        if let Some(leadership) = &mut self.leadership
            && let Some(wait) = leadership.push(event)
            && leadership.inferred()
            && let Some(lane) = find(&mut self.lanes, wait.lane)
        {
            lane.line.lay(wait.from, wait.to, LaneState::WaitingToLead);
        }
        let until = if self.quiet { event.time } else { self.recogniser.oldest().unwrap_or(event.time) };
        let until = until.min(event.time);
        if self.finished.is_empty() {
            if let Some(lane) = find(&mut self.lanes, event.lane) {
                lane.line.flush(until, &mut |segment| out(event.lane, segment));
            }
            return;
        }
        self.lay();
        for (id, lane) in each(&mut self.lanes) {
            lane.line.flush(until, &mut |segment| out(id, segment));
        }
    }

    /// The stream is over at `end`.
    pub fn finish(&mut self, end: Time, out: &mut impl FnMut(LaneId, Segment<LaneState>)) {
        self.tell();
        self.recogniser.finish(end, &mut self.finished);
        self.lay();
        for (id, lane) in each(&mut self.lanes) {
            lane.line.finish(end.max(lane.last), &mut |segment| out(id, segment));
        }
    }

    /// What a lane does between collections.
    fn base(&mut self, event: &Event, body: Runtime) {
        let index = usize::from(event.lane.0);
        if self.lanes.len() <= index {
            self.lanes.resize_with(index + 1, || None);
        }
        let first = *self.first.get_or_insert(event.time);
        let Some(lane) = self.lanes.get_mut(index) else { return };
        let new = lane.is_none();
        let lane = lane.get_or_insert_default();
        match body {
            Runtime::ThreadRun(_) => {
                (lane.runs, lane.unknown) = (true, false);
                if !std::mem::replace(&mut self.runs_posted, true) {
                    return self.runs_are_posted(event);
                }
            }
            Runtime::ThreadStop(..) => (lane.runs, lane.unknown) = (false, false),
            Runtime::PhaseBegin(phase) => phase_changes(lane, phase, true),
            Runtime::PhaseEnd(phase) => phase_changes(lane, phase, false),
            Runtime::LaneCreated | Runtime::LaneEnabled => {
                *lane.as_mut() = Lane { line: std::mem::take(&mut lane.line), ..Lane::default() };
            }
            Runtime::LaneDeleted | Runtime::LaneDisabled => lane.off = true,
            Runtime::Gap => {
                // One that was not seen before was there all the same: what it did is what was lost.
                lane.line.enter(if new { first } else { lane.last }, Some(LaneState::Gap));
                *lane.as_mut() = Lane { line: std::mem::take(&mut lane.line), unknown: true, ..Lane::default() };
            }
            _ if !new => {
                lane.last = event.time;
                return;
            }
            _ => {}
        }
        lane.last = event.time;
        let state = lane.state(self.runs_posted);
        lane.line.enter(event.time, state);
    }

    /// The first run of all: from now on lanes are known to be idle where none runs.
    fn runs_are_posted(&mut self, event: &Event) {
        for (id, lane) in each(&mut self.lanes) {
            if id == event.lane {
                lane.last = event.time;
            }
            let state = lane.state(true);
            lane.line.enter(event.time, state);
        }
    }

    /// Lets the recogniser see what it needs: of runs and stops outside collections that is the last of
    /// each lane, and these are most of a log.
    fn recognise(&mut self, event: &Event, body: Runtime) {
        if self.quiet {
            match body {
                Runtime::ThreadRun(_) | Runtime::ThreadStop(..) => {
                    if let Some(lane) = find(&mut self.lanes, event.lane) {
                        lane.held = Some(*event);
                    }
                    return;
                }
                Runtime::Count(..)
                | Runtime::ThreadMoved(_)
                | Runtime::ThreadCreated(_)
                | Runtime::ThreadWoken(_)
                | Runtime::User(..)
                | Runtime::HeapProfile(_)
                | Runtime::TaskCreated(_)
                | Runtime::TracerWrote { .. } => return,
                _ => self.tell(),
            }
        }
        self.recogniser.push(event, &mut self.finished);
        self.quiet = self.recogniser.oldest().is_none();
    }

    /// Hands over the runs and stops that were held back.
    fn tell(&mut self) {
        for lane in self.lanes.iter_mut().flatten() {
            if let Some(event) = lane.held.take() {
                self.recogniser.push(&event, &mut self.finished);
            }
        }
    }

    /// Lays pauses that are over on the lanes' lines.
    fn lay(&mut self) {
        for Recognised { pause, .. } in self.finished.drain(..) {
            for part in &pause.lanes {
                if let Some(lane) = find(&mut self.lanes, part.lane) {
                    pieces(&pause, part, |from, to, state| lane.line.lay(from, to, state));
                }
            }
        }
    }
}

fn find(lanes: &mut [Option<Box<Lane>>], id: LaneId) -> Option<&mut Lane> {
    lanes.get_mut(usize::from(id.0))?.as_deref_mut()
}

fn each(lanes: &mut [Option<Box<Lane>>]) -> impl Iterator<Item = (LaneId, &mut Lane)> {
    lanes.iter_mut().zip(0..).filter_map(|(lane, id)| Some((LaneId(id), lane.as_deref_mut()?)))
}

fn phase_changes(lane: &mut Lane, phase: Phase, begins: bool) {
    match phase {
        Phase::Wanted => lane.wants = begins,
        Phase::MajorSlice => lane.slice = begins,
        Phase::Condition => lane.waits = begins,
        _ => {}
    }
}

/// One lane's part of a pause, in order.
fn pieces(pause: &Pause, part: &LanePause, mut piece: impl FnMut(Time, Time, LaneState)) {
    let (stopped, collected) = (pause.stopped, pause.collected);
    let leads = pause.leader == Some(part.lane);
    let still = if leads { pause.requested } else { part.arrived };
    if let (Some(requested), Some(arrived)) = (pause.requested, still) {
        let last = pause.straggler == Some(part.lane);
        piece(requested, arrived.min(stopped), if last { LaneState::WaitingToStop } else { LaneState::Asked });
    }
    if let Some(still) = still {
        // Behind the last of the others everything waits for whoever asked: it may have lost its CPU.
        let in_time = if leads { others_arrived(pause, part.lane).unwrap_or(stopped) } else { stopped };
        let in_time = in_time.clamp(still, stopped.max(still));
        piece(still, in_time, LaneState::WaitingForOthers);
        piece(in_time, stopped, LaneState::WaitingToStop);
    }
    let left = part.left.unwrap_or(collected).max(stopped);
    let work = match (part.work_begin, part.work_end) {
        (Some(begin), end) => Some((begin, end.unwrap_or(collected))),
        // Where lanes do not share it, whoever asked does it.
        (None, _) => (leads && pause.mode != PauseMode::Parallel).then_some((stopped, collected)),
    };
    let (begin, end) = work.unwrap_or((left, left));
    let begin = begin.clamp(stopped, left.max(stopped));
    piece(stopped, begin, LaneState::WaitingForOthers);
    piece(begin, end.max(begin), LaneState::Collecting(kind(pause.kind)));
    let end = end.max(begin);
    piece(end, collected.min(left), LaneState::WaitingForOthers);
    piece(collected.max(end), left, LaneState::Release);
}

/// When the last lane but `leader` had stopped, where all of them say so.
fn others_arrived(pause: &Pause, leader: LaneId) -> Option<Time> {
    let mut others = pause.lanes.iter().filter(|part| part.lane != leader).peekable();
    others.peek()?;
    others.try_fold(Time(0), |last, part| Some(last.max(part.arrived?)))
}

fn kind(kind: PauseKind) -> Collected {
    match kind {
        PauseKind::Minor => Collected::Minor,
        PauseKind::Major => Collected::Major,
        _ => Collected::Other,
    }
}

#[cfg(test)]
#[path = "lanes_tests.rs"]
mod tests;
