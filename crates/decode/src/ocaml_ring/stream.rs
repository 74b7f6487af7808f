//! The events of all rings in time order: merges the rings, passes their events to the importer, counts. Refuses to
//! sort: stamps of one ring do not decrease, and one that does is damage.

use super::error::RingError;
use super::import::{Importer, More};
use super::layout::{Container, Layout};
use super::slot::{Pass, Raw, RingEvent, Slot, TYPES};
use super::tables::{self, COUNTERS, LIFECYCLE, USER_TYPES, kind, lifecycle};
use super::tally::{RawLoss, RingTally};
use super::version::Version;
use crate::source::ReadAt;
use rtscope_model::{Body, Event, LaneId, Loss, LossKind, Runtime, Time, TypeCount};
use std::cmp::Reverse;
use std::collections::binary_heap::PeekMut;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};
use std::sync::Arc;

const PAUSED: &str = "the program switched its events off for a while (Runtime_events.pause)";
const UNKNOWN: &str =
    "events that the version which wrote the ring does not have; if it was named by hand, name another";

/// Events of rings, by (time, ring, position).
pub struct RingStream {
    pass: Pass,
    slots: Vec<Slot>,
    /// Each ring's next stamp and index.
    heap: BinaryHeap<Reverse<(u64, u16)>>,
    pub(super) importer: Importer,
    version: Version,
    name: String,
    more: More,
    ready: VecDeque<Event>,
    /// Stamp of the last event imported.
    latest: u64,
}

impl RingStream {
    pub(super) fn new(mut pass: Pass, importer: Importer, version: Version, name: String) -> RingStream {
        let mut slots = pass.slots();
        let mut heap = BinaryHeap::with_capacity(slots.len());
        for (index, slot) in slots.iter_mut().enumerate() {
            slot.head = slot.advance(&mut pass);
            heap.extend(slot.head.map(|raw| Reverse((raw.time, index as u16))));
        }
        let (more, ready) = (VecDeque::new(), VecDeque::new());
        RingStream { pass, slots, heap, importer, version, name, more, ready, latest: 0 }
    }

    /// Continues when the events are exhausted, with frames that were taken since: a captured stream like the first
    /// one, including its head.
    ///
    /// # Errors
    /// It is not such a stream, or one of other rings.
    pub fn resume_with(&mut self, source: Arc<dyn ReadAt>) -> Result<(), RingError> {
        let mut layout = Layout::read(source.as_ref())?;
        let Container::Captured(frames) = &mut layout.container else { return Err(RingError::NotARing) };
        if (layout.rings, layout.words) != (self.pass.layout.rings, self.pass.layout.words) {
            return Err(RingError::NotARing);
        }
        if let Container::Captured(before) = &self.pass.layout.container {
            let frames = Arc::make_mut(frames);
            let known = before.names.iter().filter(|(id, _)| !frames.names.contains_key(id));
            let known: Vec<_> = known.map(|(id, name)| (*id, name.clone())).collect();
            frames.names.extend(known);
        }
        let frames = Arc::clone(frames);
        frames.losses.iter().for_each(|loss| self.pass.losses.push(*loss));
        (self.pass.source, self.pass.layout) = (source, layout);
        for (number, of) in &frames.of {
            match self.slots.iter_mut().find(|slot| slot.number == *number) {
                Some(slot) => slot.resume_with(Arc::clone(of)),
                None => self.slots.push(Slot::of_frames(*number, Arc::clone(of))),
            }
        }
        for (index, slot) in (0..).zip(&mut self.slots) {
            if slot.head.is_none() {
                slot.head = slot.advance(&mut self.pass);
                self.heap.extend(slot.head.map(|raw| Reverse((raw.time, index))));
            }
        }
        Ok(())
    }

    /// Losses since the last call.
    pub fn take_losses(&mut self) -> Vec<Loss> {
        std::mem::take(&mut self.pass.losses).named(&self.name)
    }

    /// Losses so far; complete once the stream has ended.
    pub fn losses(&self) -> Vec<Loss> {
        let mut losses = self.pass.losses.clone();
        let count = self.unknown();
        if count > 0 {
            losses.push(RawLoss { kind: LossKind::UnknownRecord, count, from: None, to: None, note: UNKNOWN });
        }
        losses.named(&self.name)
    }

    /// Counts so far; complete once the stream has ended.
    pub fn tally(&self) -> RingTally {
        let seen = || self.slots.iter().filter(|slot| slot.first != 0);
        let captured_end = match &self.pass.layout.container {
            Container::Captured(frames) => frames.ended,
            Container::File { .. } => false,
        };
        RingTally {
            by_type: self.by_type(),
            bytes: self.slots.iter().map(|slot| 8 * slot.read).sum(),
            first: seen().map(|slot| Time(slot.first)).min(),
            last: seen().map(|slot| Time(slot.last.max(slot.first))).max(),
            lanes: seen().count(),
            ended: captured_end || self.importer.stopped,
            losses: self.losses(),
        }
    }

    /// The type at this index of a table in this version: its tag and name.
    fn type_at(&self, place: usize) -> Option<(u16, String)> {
        let (kind, id) = ((place >> 6) as u8, (place & 63) as u16);
        let named = |id: u16, name: String| Some((u16::from(kind) << 6 | id, name));
        match kind {
            kind::BEGIN | kind::END => {
                let phase = tables::phase(self.version, id)?;
                let edge = if kind == kind::BEGIN { "begin" } else { "end" };
                named(phase, format!("{} {edge}", tables::phase_name(phase)))
            }
            kind::COUNTER => {
                let (name, _) = COUNTERS.get(usize::from(id)).filter(|_| tables::has_counter(self.version, id))?;
                named(id, format!("counter {name}"))
            }
            kind::LIFECYCLE => named(id, format!("lifecycle {}", LIFECYCLE.get(usize::from(id))?)),
            kind::ALLOC => named(id, "alloc".to_owned()),
            kind::FLUSH => named(id, "flush".to_owned()),
            _ => None,
        }
    }

    fn by_type(&self) -> Vec<TypeCount> {
        let counts = &self.pass.counts;
        let mut by_type: BTreeMap<u16, TypeCount> = BTreeMap::new();
        for (place, count) in counts.types.iter().enumerate().filter(|(_, count)| **count > 0) {
            if let Some((tag, name)) = self.type_at(place) {
                by_type.insert(tag, TypeCount { tag, name, count: *count });
            }
        }
        let user = (0u16..).zip(USER_TYPES).zip(counts.user).filter(|(_, count)| *count > 0);
        by_type.extend(user.map(|((kind, name), count)| {
            let tag = TYPES as u16 | kind << 6;
            (tag, TypeCount { tag, name: format!("user {name}"), count })
        }));
        by_type.into_values().collect()
    }

    /// Number of events that the version does not have.
    fn unknown(&self) -> u64 {
        let types = self.pass.counts.types.iter().enumerate();
        let unknown = types.filter(|(place, count)| **count > 0 && self.type_at(*place).is_none());
        unknown.map(|(_, count)| count).sum::<u64>() + self.pass.counts.beyond
    }

    /// Events were switched off in all rings at once, and are on again at `time`.
    fn resumed(&mut self, time: u64, by: usize) {
        // A ring may have been read past `time`; what was imported is certainly older.
        let before = |slot: &&Slot| slot.first != 0 && slot.first < time;
        let last = self.slots.iter().map(|slot| slot.last).filter(|last| *last < time).max();
        let from = last.max(Some(self.latest)).filter(|from| *from > 0);
        self.pass.losses.push(RawLoss { kind: LossKind::Paused, count: 0, from, to: Some(time), note: PAUSED });
        let lanes = self.slots.iter().enumerate().filter(|(index, slot)| *index == by || before(slot));
        let gap = |slot: &Slot| event(time, LaneId(slot.number), Runtime::Gap);
        self.ready.extend(lanes.map(|(_, slot)| gap(slot)));
    }

    /// Imports the next event of ring `index`.
    fn take(&mut self, index: usize, raw: Raw) -> Option<Event> {
        let lane = LaneId(self.slots.get(index)?.number);
        if let RingEvent::Lifecycle(lifecycle::RING_RESUME, _) = raw.what {
            self.resumed(raw.time, index);
        }
        self.latest = raw.time;
        let from = (&self.pass.layout, self.pass.source.as_ref());
        let first = self.importer.import(raw, lane, from, &mut self.more);
        self.ready.extend(self.more.drain(..).map(|(lane, what)| event(raw.time, lane, what)));
        first.map(|what| event(raw.time, lane, what))
    }
}

fn event(time: u64, lane: LaneId, what: Runtime) -> Event {
    Event { time: Time(time), lane, body: Body::Runtime(what) }
}

impl Iterator for RingStream {
    type Item = Event;

    fn next(&mut self) -> Option<Event> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Some(event);
            }
            let mut top = self.heap.peek_mut()?;
            let index = usize::from(top.0.1);
            let slot = self.slots.get_mut(index)?;
            let raw = slot.take(&mut self.pass);
            match slot.head {
                Some(next) => {
                    top.0.0 = next.time;
                    drop(top);
                }
                None => {
                    PeekMut::pop(top);
                }
            }
            if let Some(event) = raw.and_then(|raw| self.take(index, raw)) {
                return Some(event);
            }
        }
    }
}
