//! A recording as tracks: nested states of each lane, marks, and lines of values. Shared by all formats that draw.
//!
//! Owns nesting of spans, even after losses. The states of lanes come from `rtscope-analyze`, see [`lanes`];
//! phases of a runtime that are not states of a lane have their own track. Refuses to know formats, to recognise
//! or judge pauses (they come with their causes, see [`pause`]), and to hold more than what is open or may belong
//! to an unfinished pause.

pub mod fact;
mod lanes;
mod lines;
pub mod pause;
mod stack;
pub mod state;
pub mod threads;

pub use lines::{Line, Unit};
pub use stack::Closed;
pub use state::State;

use crate::Tables;
use lanes::{OpenPart, nest};
use rtscope_analyze::basis::compose::Segment;
use rtscope_analyze::basis::per_lane::PerLane;
use rtscope_analyze::lanes::timeline::Doing;
use rtscope_model::{Body, Class, Event, Exported, HeapProfile, LaneId, NameId, Runtime, Time, UserEvent};
use stack::{Stack, Step};
use std::io;

/// A track of the timeline.
#[derive(Copy, Clone, Eq, PartialEq, Ord, PartialOrd, Hash, Debug)]
pub enum Track {
    /// States of a lane; of the whole runtime for [`LaneId::NONE`].
    Lane(LaneId),
    /// Events that the program posts on a lane.
    User(LaneId),
    /// Phases of the runtime on a lane that are not states of it.
    Phases(LaneId),
    /// The concurrent collector.
    Concurrent,
}

impl Track {
    /// Its name in formats without nested tracks; `lane_word` is the runtime's word for a lane.
    pub fn name(self, lane_word: &str) -> String {
        match self {
            Track::Lane(LaneId::NONE) => "runtime".to_owned(),
            Track::Lane(lane) => format!("{lane_word} {lane}"),
            Track::User(lane) => format!("program's own events, {}", Track::Lane(lane).name(lane_word)),
            Track::Phases(lane) => format!("runtime's phases, {}", Track::Lane(lane).name(lane_word)),
            Track::Concurrent => "concurrent collector".to_owned(),
        }
    }
}

/// A mark at one moment.
#[derive(Copy, Clone, Eq, PartialEq, Debug)]
pub enum Mark {
    /// Posted by the program.
    User(NameId),
    /// Events of the lane before this mark were lost.
    Lost,
    /// The process forked; the child's pid.
    Forked(u32),
    /// The lane was created.
    Made,
    /// The lane was enabled.
    On,
    /// The lane was disabled.
    Off,
    /// The lane ended.
    Ended,
}

impl Mark {
    /// The name of the mark.
    pub fn name(self, tables: Tables<'_>) -> &str {
        match self {
            Mark::User(name) => tables.user.get(name),
            Mark::Lost => "events lost before this",
            Mark::Forked(_) => "fork",
            Mark::Made => "lane made",
            Mark::On => "lane on",
            Mark::Off => "lane off",
            Mark::Ended => "lane ended",
        }
    }
}

/// Whether an event is drawn itself. Events that only make up states of lanes are not.
pub fn draws(event: &Event) -> bool {
    let Body::Runtime(body) = event.body else { return true };
    match body {
        Runtime::Count(counter, _) => Line::of(counter, event.lane).is_some(),
        Runtime::PhaseBegin(phase) | Runtime::PhaseEnd(phase) => !phase.is_state(),
        body => !matches!(body.class(), Class::Collection | Class::Green),
    }
}

/// Receives what is drawn. Spans of a track nest and come in order.
pub trait Sink {
    /// Begins a span inside the open ones.
    fn open(&mut self, track: Track, at: Time, state: State, tables: Tables<'_>) -> io::Result<()>;

    /// Ends the innermost span.
    fn close(&mut self, track: Track, closed: Closed, tables: Tables<'_>) -> io::Result<()>;

    /// Draws a span without inner ones.
    fn leaf(&mut self, track: Track, closed: Closed, tables: Tables<'_>) -> io::Result<()> {
        self.open(track, closed.from, closed.state, tables)?;
        self.close(track, closed, tables)
    }

    /// Draws a mark.
    fn mark(&mut self, track: Track, at: Time, mark: Mark, tables: Tables<'_>) -> io::Result<()>;

    /// Sets a line's value.
    fn value(&mut self, line: Line, at: Time, value: i64, tables: Tables<'_>) -> io::Result<()>;
}

/// Turns events into tracks.
pub struct Timeline {
    every_run: bool,
    open: Open,
    steps: Vec<Step>,
    now: Time,
}

/// State of one track.
#[derive(Default)]
struct TrackState {
    stack: Stack,
    part: Option<OpenPart>,
}

/// State of all tracks.
#[derive(Default)]
struct Open {
    lanes: PerLane<TrackState>,
    user: PerLane<TrackState>,
    phases: PerLane<TrackState>,
    concurrent: Option<TrackState>,
}

impl Open {
    fn on(&mut self, track: Track) -> &mut TrackState {
        match track {
            Track::Lane(lane) => self.lanes.of(lane),
            Track::User(lane) => self.user.of(lane),
            Track::Phases(lane) => self.phases.of(lane),
            Track::Concurrent => self.concurrent.get_or_insert_default(),
        }
    }

    fn tracks(&self) -> Vec<Track> {
        let lanes = self.lanes.iter().map(|(lane, _)| Track::Lane(lane));
        let user = self.user.iter().map(|(lane, _)| Track::User(lane));
        let phases = self.phases.iter().map(|(lane, _)| Track::Phases(lane));
        lanes.chain(user).chain(phases).chain(self.concurrent.as_ref().map(|_| Track::Concurrent)).collect()
    }
}

impl Timeline {
    /// The timeline of the recording that `facts` describe.
    pub fn new(facts: &Exported) -> Timeline {
        Timeline { every_run: facts.every_green_event, open: Open::default(), steps: Vec::new(), now: Time(0) }
    }

    /// Adds the next event and passes its spans, marks and values to `sink`.
    pub fn push(&mut self, event: &Event, tables: Tables<'_>, sink: &mut impl Sink) -> io::Result<()> {
        self.now = self.now.max(event.time);
        match event.body {
            Body::Runtime(body) => self.runtime(event.lane, event.time, body, &mut Pen { sink, tables }),
            Body::Sample(sample) => lines::of_sample(&sample)
                .into_iter()
                .flatten()
                .try_for_each(|(line, value)| sink.value(line, event.time, signed(value), tables)),
            Body::Sched(_) | Body::Code(_) => Ok(()),
        }
    }

    /// Ends all spans at the latest time seen.
    pub fn finish(&mut self, tables: Tables<'_>, sink: &mut impl Sink) -> io::Result<()> {
        let (now, pen) = (self.now, &mut Pen { sink, tables });
        self.open.tracks().into_iter().try_for_each(|track| {
            self.change(track, pen, |drawn, steps| {
                let end = drawn.part.map_or(now, |part| part.until);
                drawn.stack.close_all(end, steps);
            })
        })
    }

    /// Draws a segment of a lane.
    pub fn segment(
        &mut self,
        lane: LaneId,
        piece: &Segment<Doing>,
        tables: Tables<'_>,
        sink: &mut impl Sink,
    ) -> io::Result<()> {
        let every_run = self.every_run;
        self.change(Track::Lane(lane), &mut Pen { sink, tables }, |TrackState { stack, part }, steps| {
            nest(stack, part, piece, every_run, steps);
        })
    }

    /// Changes the open spans of a track and reports the steps to the sink.
    fn change(
        &mut self,
        track: Track,
        Pen { sink, tables }: &mut Pen<'_, impl Sink>,
        change: impl FnOnce(&mut TrackState, &mut Vec<Step>),
    ) -> io::Result<()> {
        self.steps.clear();
        change(self.open.on(track), &mut self.steps);
        for step in &self.steps {
            match *step {
                Step::Open(state, at) => sink.open(track, at, state, *tables)?,
                Step::Close(closed) => sink.close(track, closed, *tables)?,
                Step::Leaf(closed) => sink.leaf(track, closed, *tables)?,
            }
        }
        Ok(())
    }

    fn runtime(&mut self, lane: LaneId, time: Time, body: Runtime, pen: &mut Pen<'_, impl Sink>) -> io::Result<()> {
        let track = Track::Lane(lane);
        match body {
            // A figure that went below zero wraps around.
            Runtime::Count(counter, value) => {
                Line::of(counter, lane).map_or(Ok(()), |line| pen.value(line, time, value as i64))
            }
            Runtime::HeapProfile(HeapProfile::Label { label, bytes }) => {
                pen.value(Line::Label(label), time, signed(bytes))
            }
            Runtime::User(name, event) => self.user(lane, time, name, event, pen),
            Runtime::Forked { child } => pen.mark(track, time, Mark::Forked(child.0)),
            Runtime::LaneCreated => pen.mark(track, time, Mark::Made),
            Runtime::LaneEnabled => pen.mark(track, time, Mark::On),
            Runtime::LaneDisabled => self.ends(lane, time, Mark::Off, pen),
            Runtime::LaneDeleted => self.ends(lane, time, Mark::Ended, pen),
            Runtime::Gap => self.ends(lane, time, Mark::Lost, pen),
            // Phases that are states are drawn from the lanes' segments.
            Runtime::PhaseBegin(phase) | Runtime::PhaseEnd(phase) if phase.is_state() => Ok(()),
            Runtime::PhaseBegin(phase) => self.begins(Track::Phases(lane), State::Phase(phase), time, pen),
            Runtime::PhaseEnd(phase) => self.stops(Track::Phases(lane), State::Phase(phase), time, pen),
            Runtime::ConcurrentMarkBegin => self.concurrent(State::Marking, time, pen),
            Runtime::ConcurrentSyncBegin => self.concurrent(State::MarkSync, time, pen),
            Runtime::ConcurrentSweepBegin => self.concurrent(State::Sweeping, time, pen),
            Runtime::ConcurrentMarkEnd => self.stops(Track::Concurrent, State::Marking, time, pen),
            Runtime::ConcurrentSyncEnd => self.stops(Track::Concurrent, State::MarkSync, time, pen),
            Runtime::ConcurrentSweepEnd => self.stops(Track::Concurrent, State::Sweeping, time, pen),
            _ => Ok(()),
        }
    }

    /// From here on the lane's phases are unknown.
    fn ends(&mut self, lane: LaneId, time: Time, mark: Mark, pen: &mut Pen<'_, impl Sink>) -> io::Result<()> {
        if self.open.phases.get(lane).is_some() {
            self.change(Track::Phases(lane), pen, |drawn, steps| drawn.stack.close_all(time, steps))?;
        }
        pen.mark(Track::Lane(lane), time, mark)
    }

    fn begins(&mut self, on: Track, state: State, time: Time, pen: &mut Pen<'_, impl Sink>) -> io::Result<()> {
        self.change(on, pen, |drawn, steps| drawn.stack.open(time, state, steps))
    }

    fn stops(&mut self, on: Track, state: State, time: Time, pen: &mut Pen<'_, impl Sink>) -> io::Result<()> {
        self.change(on, pen, |drawn, steps| drawn.stack.close(time, state, steps))
    }

    /// GHC 9 posts some begins twice.
    fn concurrent(&mut self, state: State, time: Time, pen: &mut Pen<'_, impl Sink>) -> io::Result<()> {
        if self.open.on(Track::Concurrent).stack.has(state) {
            return Ok(());
        }
        self.begins(Track::Concurrent, state, time, pen)
    }

    fn user(
        &mut self,
        lane: LaneId,
        time: Time,
        name: NameId,
        event: UserEvent,
        pen: &mut Pen<'_, impl Sink>,
    ) -> io::Result<()> {
        let (track, state) = (Track::User(lane), State::User(name));
        match event {
            UserEvent::Mark => pen.mark(track, time, Mark::User(name)),
            UserEvent::Value(value) => pen.value(Line::User(name), time, value),
            UserEvent::Begin => self.begins(track, state, time, pen),
            UserEvent::End => self.stops(track, state, time, pen),
        }
    }
}

/// A sink and the tables that events refer to.
struct Pen<'a, S> {
    sink: &'a mut S,
    tables: Tables<'a>,
}

impl<S: Sink> Pen<'_, S> {
    fn mark(&mut self, on: Track, at: Time, mark: Mark) -> io::Result<()> {
        self.sink.mark(on, at, mark, self.tables)
    }

    fn value(&mut self, line: Line, at: Time, value: i64) -> io::Result<()> {
        self.sink.value(line, at, value, self.tables)
    }
}

fn signed(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests;
