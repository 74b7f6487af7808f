//! A recording as tracks: for each lane the states that it was in, nested; marks; lines of
//! values. What every format that draws has in common.
//!
//! Owns the recognition of lanes' states from a runtime's events, of GHC and of OCaml
//! alike, and that they nest whatever was lost. Refuses to know formats, to judge pauses
//! (they come with their causes from elsewhere, see [`pause`]), and to hold more than what
//! is open.

pub mod lines;
pub mod pause;
pub mod stack;
pub mod state;
pub mod threads;

pub use lines::{Line, Unit};
pub use stack::Closed;
pub use state::{State, Work};

use crate::Tables;
use rtscope_model::{Body, Event, Exported, HeapProfile, LaneId, NameId, Phase, Runtime, Time, UserEvent};
use stack::{Stack, Step};
use std::collections::BTreeMap;
use std::io;

/// Where something is drawn.
#[derive(Copy, Clone, Eq, PartialEq, Ord, PartialOrd, Hash, Debug)]
pub enum Track {
    /// States of a lane; of the runtime as a whole for [`LaneId::NONE`].
    Lane(LaneId),
    /// What the program posts on a lane.
    User(LaneId),
    /// The concurrent collector.
    Concurrent,
}

/// A moment worth a mark.
#[derive(Copy, Clone, Eq, PartialEq, Debug)]
pub enum Mark {
    /// The program posted it.
    User(NameId),
    /// Events of the lane were lost before.
    Lost,
    /// The process made a copy of itself: its number.
    Forked(u32),
    /// The lane was made.
    Made,
    /// It was switched on.
    On,
    /// It was switched off.
    Off,
    /// It ended.
    Ended,
}

impl Mark {
    /// What it is called.
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

/// Who draws. Spans of a track nest and come in order.
pub trait Sink {
    /// A span begins inside those that are open.
    ///
    /// # Errors
    /// What writing gives.
    fn open(&mut self, track: Track, at: Time, state: State, tables: Tables<'_>) -> io::Result<()>;

    /// The innermost span ends.
    ///
    /// # Errors
    /// What writing gives.
    fn close(&mut self, track: Track, closed: Closed, tables: Tables<'_>) -> io::Result<()>;

    /// Something happened.
    ///
    /// # Errors
    /// What writing gives.
    fn mark(&mut self, track: Track, at: Time, mark: Mark, tables: Tables<'_>) -> io::Result<()>;

    /// A line has this value from now on.
    ///
    /// # Errors
    /// What writing gives.
    fn value(&mut self, line: Line, at: Time, value: i64, tables: Tables<'_>) -> io::Result<()>;
}

/// Turns events into tracks.
pub struct Timeline {
    ocaml: bool,
    /// A log of one lane that never waits for others.
    alone: bool,
    every_green_event: bool,
    tracks: BTreeMap<Track, Stack>,
    /// The lane that asked all to stop, until its collection ends.
    leader: Option<LaneId>,
    /// Lanes that have stopped and wait until all have.
    waiting: Vec<LaneId>,
    steps: Vec<Step>,
    now: Time,
}

impl Timeline {
    /// Of the recording that `facts` describe.
    pub fn new(facts: &Exported) -> Timeline {
        Timeline {
            ocaml: facts.family.as_deref() == Some("ocaml"),
            alone: facts.threaded == Some(false),
            every_green_event: facts.every_green_event,
            tracks: BTreeMap::new(),
            leader: None,
            waiting: Vec::new(),
            steps: Vec::new(),
            now: Time(0),
        }
    }

    /// Takes the next event and says what comes of it.
    ///
    /// # Errors
    /// What `sink` gives.
    pub fn push(&mut self, event: &Event, tables: Tables<'_>, sink: &mut impl Sink) -> io::Result<()> {
        self.now = self.now.max(event.time);
        match event.body {
            Body::Runtime(body) => self.runtime(event.lane, event.time, body, tables, sink),
            Body::Sample(sample) => lines::of_sample(&sample)
                .into_iter()
                .flatten()
                .try_for_each(|(line, value)| sink.value(line, event.time, signed(value), tables)),
            Body::Sched(_) | Body::Code(_) => Ok(()),
        }
    }

    /// Closes everything at the last moment that was seen.
    ///
    /// # Errors
    /// What `sink` gives.
    pub fn finish(&mut self, tables: Tables<'_>, sink: &mut impl Sink) -> io::Result<()> {
        let tracks: Vec<Track> = self.tracks.keys().copied().collect();
        let now = self.now;
        tracks
            .into_iter()
            .try_for_each(|track| self.act(track, tables, sink, |stack, steps| stack.close_all(now, steps)))
    }

    /// Changes what is open on a track and tells `sink`.
    fn act(
        &mut self,
        track: Track,
        tables: Tables<'_>,
        sink: &mut impl Sink,
        change: impl FnOnce(&mut Stack, &mut Vec<Step>),
    ) -> io::Result<()> {
        self.steps.clear();
        change(self.tracks.entry(track).or_default(), &mut self.steps);
        for step in &self.steps {
            match *step {
                Step::Open(state, at) => sink.open(track, at, state, tables)?,
                Step::Close(closed) => sink.close(track, closed, tables)?,
            }
        }
        Ok(())
    }

    fn runtime(
        &mut self,
        lane: LaneId,
        time: Time,
        body: Runtime,
        tables: Tables<'_>,
        sink: &mut impl Sink,
    ) -> io::Result<()> {
        let track = Track::Lane(lane);
        match body {
            Runtime::Count(counter, value) => {
                // A figure that went below zero wraps.
                return match Line::of(counter, lane) {
                    Some(line) => sink.value(line, time, value as i64, tables),
                    None => Ok(()),
                };
            }
            Runtime::HeapProfile(HeapProfile::Label { label, bytes }) => {
                return sink.value(Line::Label(label), time, signed(bytes), tables);
            }
            Runtime::User(name, event) => return self.user(lane, time, name, event, tables, sink),
            Runtime::Forked { child } => return sink.mark(track, time, Mark::Forked(child.0), tables),
            Runtime::LaneCreated => sink.mark(track, time, Mark::Made, tables)?,
            Runtime::LaneEnabled => sink.mark(track, time, Mark::On, tables)?,
            Runtime::LaneDisabled => self.ends(track, time, Mark::Off, tables, sink)?,
            Runtime::LaneDeleted => return self.ends(track, time, Mark::Ended, tables, sink),
            Runtime::Gap => return self.ends(track, time, Mark::Lost, tables, sink),
            _ => {}
        }
        match body {
            Runtime::StopRequested { .. } => self.requested(lane, time, tables, sink),
            Runtime::CollectBegin => self.collection_begins(lane, time, tables, sink),
            Runtime::CollectEnd => self.collection_ends(lane, time, tables, sink),
            Runtime::WorkBegin => self.act(track, tables, sink, |stack, steps| works(stack, time, steps)),
            Runtime::WorkIdle | Runtime::WorkEnd => self.act(track, tables, sink, |stack, steps| {
                stack.close(time, true, |state| matches!(state, State::Collecting(_)), steps);
            }),
            Runtime::ThreadRun(green) => {
                let state = if self.every_green_event { State::Program(green) } else { State::Outside };
                self.act(track, tables, sink, |stack, steps| {
                    stack.close_all(time, steps);
                    stack.open(time, state, steps);
                })
            }
            Runtime::ThreadStop(..) => self.act(track, tables, sink, |stack, steps| {
                stack.close(time, false, |state| matches!(state, State::Program(_) | State::Outside), steps);
            }),
            Runtime::PhaseBegin(phase) => self.phase_begins(lane, time, phase, tables, sink),
            Runtime::PhaseEnd(phase) => self.phase_ends(lane, time, phase, tables, sink),
            Runtime::ConcurrentMarkBegin => self.concurrent(State::Marking, true, time, tables, sink),
            Runtime::ConcurrentMarkEnd => self.concurrent(State::Marking, false, time, tables, sink),
            Runtime::ConcurrentSyncBegin => self.concurrent(State::MarkSync, true, time, tables, sink),
            Runtime::ConcurrentSyncEnd => self.concurrent(State::MarkSync, false, time, tables, sink),
            Runtime::ConcurrentSweepBegin => self.concurrent(State::Sweeping, true, time, tables, sink),
            Runtime::ConcurrentSweepEnd => self.concurrent(State::Sweeping, false, time, tables, sink),
            _ => Ok(()),
        }
    }

    /// The lane does nothing that is known from here on.
    fn ends(
        &mut self,
        track: Track,
        time: Time,
        mark: Mark,
        tables: Tables<'_>,
        sink: &mut impl Sink,
    ) -> io::Result<()> {
        if let Track::Lane(lane) = track {
            self.waiting.retain(|waiting| *waiting != lane);
            self.leader = self.leader.filter(|leader| *leader != lane);
        }
        self.act(track, tables, sink, |stack, steps| stack.close_all(time, steps))?;
        sink.mark(track, time, mark, tables)
    }

    /// The lane asks all others to stop, and waits.
    fn requested(&mut self, lane: LaneId, time: Time, tables: Tables<'_>, sink: &mut impl Sink) -> io::Result<()> {
        if let Some(leader) = self.leader.replace(lane).filter(|leader| *leader != lane) {
            // Its collection's end was lost.
            self.act(Track::Lane(leader), tables, sink, |stack, steps| {
                stack.close(time, false, |state| state == State::Leads, steps);
            })?;
        }
        self.wait(lane, State::Leads, time, tables, sink)
    }

    fn wait(
        &mut self,
        lane: LaneId,
        part: State,
        time: Time,
        tables: Tables<'_>,
        sink: &mut impl Sink,
    ) -> io::Result<()> {
        if !self.waiting.contains(&lane) {
            self.waiting.push(lane);
        }
        self.act(Track::Lane(lane), tables, sink, |stack, steps| {
            stack.close_all(time, steps);
            stack.open(time, part, steps);
            stack.open(time, State::WaitingToStop, steps);
        })
    }

    /// On a follower: it has stopped. On the leader: all have.
    fn collection_begins(
        &mut self,
        lane: LaneId,
        time: Time,
        tables: Tables<'_>,
        sink: &mut impl Sink,
    ) -> io::Result<()> {
        if self.leader == Some(lane) {
            for waiting in std::mem::take(&mut self.waiting) {
                self.act(Track::Lane(waiting), tables, sink, |stack, steps| {
                    stack.close(time, true, |state| state == State::WaitingToStop, steps);
                })?;
            }
            return Ok(());
        }
        if !self.alone {
            return self.wait(lane, State::Follows, time, tables, sink);
        }
        self.act(Track::Lane(lane), tables, sink, |stack, steps| {
            stack.close_all(time, steps);
            stack.open(time, State::Leads, steps);
        })
    }

    fn collection_ends(
        &mut self,
        lane: LaneId,
        time: Time,
        tables: Tables<'_>,
        sink: &mut impl Sink,
    ) -> io::Result<()> {
        self.leader = self.leader.filter(|leader| *leader != lane);
        self.waiting.retain(|waiting| *waiting != lane);
        self.act(Track::Lane(lane), tables, sink, |stack, steps| {
            stack.close(time, false, |state| matches!(state, State::Leads | State::Follows), steps);
        })
    }

    fn phase_begins(
        &mut self,
        lane: LaneId,
        time: Time,
        phase: Phase,
        tables: Tables<'_>,
        sink: &mut impl Sink,
    ) -> io::Result<()> {
        let base = self.ocaml && lane.is_some();
        self.act(Track::Lane(lane), tables, sink, |stack, steps| {
            if base && stack.is_empty() {
                stack.open(time, State::Outside, steps);
            }
            stack.open(time, of_phase(phase), steps);
        })
    }

    fn phase_ends(
        &mut self,
        lane: LaneId,
        time: Time,
        phase: Phase,
        tables: Tables<'_>,
        sink: &mut impl Sink,
    ) -> io::Result<()> {
        let state = of_phase(phase);
        // A section is over whatever was inside.
        let go_on = !matches!(state, State::Leads | State::Follows);
        let base = self.ocaml && lane.is_some();
        self.act(Track::Lane(lane), tables, sink, |stack, steps| {
            if base && stack.is_empty() {
                stack.open(time, State::Outside, steps);
            }
            stack.close(time, go_on, |open| open == state, steps);
        })
    }

    fn concurrent(
        &mut self,
        state: State,
        begins: bool,
        time: Time,
        tables: Tables<'_>,
        sink: &mut impl Sink,
    ) -> io::Result<()> {
        self.act(Track::Concurrent, tables, sink, |stack, steps| {
            if !begins {
                stack.close(time, true, |open| open == state, steps);
            } else if !stack.has(|open| open == state) {
                // GHC 9 posts some of these twice.
                stack.open(time, state, steps);
            }
        })
    }

    fn user(
        &mut self,
        lane: LaneId,
        time: Time,
        name: NameId,
        event: UserEvent,
        tables: Tables<'_>,
        sink: &mut impl Sink,
    ) -> io::Result<()> {
        let track = Track::User(lane);
        match event {
            UserEvent::Mark => sink.mark(track, time, Mark::User(name), tables),
            UserEvent::Value(value) => sink.value(Line::User(name), time, value, tables),
            UserEvent::Begin => {
                self.act(track, tables, sink, |stack, steps| stack.open(time, State::User(name), steps))
            }
            UserEvent::End => self.act(track, tables, sink, |stack, steps| {
                stack.close(time, true, |open| open == State::User(name), steps);
            }),
        }
    }
}

/// Collector work begins, unless the collection around it was lost.
fn works(stack: &mut Stack, time: Time, steps: &mut Vec<Step>) {
    if stack.top() == Some(State::WaitingToStop) {
        stack.close(time, true, |state| state == State::WaitingToStop, steps);
    }
    if matches!(stack.top(), Some(State::Leads | State::Follows)) {
        stack.open(time, State::Collecting(Work::Any), steps);
    }
}

/// The state that a phase is.
fn of_phase(phase: Phase) -> State {
    match phase {
        Phase::Wanted => State::WantsToLead,
        Phase::Lead => State::Leads,
        Phase::Follow => State::Follows,
        Phase::Barrier => State::WaitingToStop,
        Phase::Minor => State::Collecting(Work::Young),
        Phase::CycleEnd => State::Collecting(Work::CycleEnd),
        Phase::Compact => State::Collecting(Work::Compaction),
        Phase::LeaveBarrier => State::WaitingForOthers,
        Phase::MajorSlice => State::Slice,
        Phase::Condition => State::Asleep,
        other => State::Phase(other),
    }
}

fn signed(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests;
