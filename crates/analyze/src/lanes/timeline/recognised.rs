//! The one place where events become pauses and lane states: a recogniser runs once for each analysis.
//!
//! Owns what the recogniser is shown, and when. Runs and stops of green threads outside collections are most of a
//! log; the recogniser needs only the last one of each lane. Refuses to know a runtime.

use super::lanes::{Doing, LaneDetail, LaneStates};
use crate::basis::compose::Segment;
use crate::basis::per_lane::PerLane;
use crate::folds::Wait;
use crate::pauses::{Recognise, Recognised};
use rtscope_model::{Event, LaneId, LaneState, Loss, Runtime, Time};

/// Pauses and lane states of one recording.
pub struct Timeline {
    recogniser: Box<dyn Recognise>,
    states: Option<LaneStates>,
    /// The last run or stop of each lane that the recogniser has not seen.
    held: PerLane<Option<Event>>,
    holds: bool,
    /// Start of the open pause; runs and stops are held back while there is none.
    open_since: Option<Time>,
    /// Finished pauses that were not taken.
    over: Vec<Recognised>,
}

impl Timeline {
    /// A timeline with this recogniser and this detail of lane states.
    pub fn new(recogniser: Box<dyn Recognise>, detail: LaneDetail) -> Timeline {
        let states = (detail != LaneDetail::Pauses).then(|| LaneStates::new(detail));
        let held = PerLane::default();
        Timeline { recogniser, states, held, holds: false, open_since: None, over: Vec::new() }
    }

    /// Takes the next event of the runtime, and the wait that folds found in it. States that become known go to
    /// `out`, pauses to [`Timeline::pauses`].
    pub fn push(
        &mut self,
        event: &Event,
        body: Runtime,
        wait: Option<Wait>,
        out: &mut dyn FnMut(LaneId, &Segment<Doing>),
    ) {
        if let Some(states) = &mut self.states
            && event.lane.is_some()
        {
            states.base(event, body);
        }
        self.recognise(event, body);
        if let Some(states) = &mut self.states {
            let until = self.open_since.map_or(event.time, |since| since.min(event.time));
            states.push(event, wait, &self.over, until, out);
        }
    }

    fn recognise(&mut self, event: &Event, body: Runtime) {
        if self.open_since.is_none() {
            match body {
                Runtime::ThreadRun(_) | Runtime::ThreadStop(..) if event.lane.is_some() => {
                    *self.held.of(event.lane) = Some(*event);
                    self.holds = true;
                    return;
                }
                Runtime::ThreadMoved(_) | Runtime::ThreadCreated(_) | Runtime::ThreadWoken(_) | Runtime::User(..) => {
                    return;
                }
                Runtime::Count(..) => {}
                _ => self.show(),
            }
        }
        self.recogniser.push(event, &mut self.over);
        // While a pause is open, figures and work begin no other; a pause that a figure ends counts as open until the
        // next event of another kind.
        let within = matches!(body, Runtime::Count(..) | Runtime::WorkBegin | Runtime::WorkIdle | Runtime::WorkEnd);
        if self.open_since.is_none() || !within {
            self.open_since = self.recogniser.oldest();
        }
    }

    /// Shows the recogniser the runs and stops that were held back.
    fn show(&mut self) {
        if std::mem::take(&mut self.holds) {
            let Timeline { recogniser, over, .. } = self;
            self.held.change(|_, event| {
                if let Some(event) = event.take() {
                    recogniser.push(&event, over);
                }
            });
        }
    }

    /// Takes the finished pauses, in the order in which they ended.
    pub fn pauses(&mut self) -> impl Iterator<Item = Recognised> {
        self.over.drain(..)
    }

    /// Whether a finished pause was not taken yet.
    pub fn any(&self) -> bool {
        !self.over.is_empty()
    }

    /// Ends the stream: its last runtime event came at `last`, the recording ended at `end`. Returns the loss of
    /// pauses that had only been requested.
    pub fn finish(&mut self, last: Time, end: Time, out: &mut dyn FnMut(LaneId, &Segment<Doing>)) -> Option<Loss> {
        self.show();
        let loss = self.recogniser.finish(last, &mut self.over);
        if let Some(states) = &mut self.states {
            let until = match states.detail {
                LaneDetail::Nested | LaneDetail::States => end,
                LaneDetail::Summed | LaneDetail::Pauses => last,
            };
            states.finish(until, &self.over, out);
        }
        loss
    }

    /// What each lane does now, as far as no pause changes it: pieces that end at `until`.
    pub fn open(&self, until: Time) -> Vec<(LaneId, Segment<LaneState>)> {
        let open = self.states.iter().flat_map(LaneStates::open);
        open.map(|(lane, from, state)| (lane, Segment { from, to: until, state })).collect()
    }

    /// The recogniser that turns events into pauses.
    pub fn recogniser(&self) -> &dyn Recognise {
        self.recogniser.as_ref()
    }

    /// See [`Recognise::oldest`].
    pub fn oldest(&self) -> Option<Time> {
        self.open_since
    }
}
