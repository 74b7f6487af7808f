//! Turns records into events. Owns the meaning of other tools' traces: eio-trace's, olly's, and those of any tool
//! that names phases as OCaml does. What rtscope wrote is read by [`super::carried`].

use super::carried::{self, DERIVED};
use super::lanes::Lanes;
use super::record::{EventKind, EventRecord, OBJECT_THREAD, Record};
use super::runtimes::{self, phases};
use super::tables::Thread;
use rtscope_model::{Body, Class, Classes, Counter, Event, LaneId, NameId, Names, Runtime, Sched, Time, UserEvent};
use std::collections::HashMap;

/// Limit of names; later ones become empty.
const NAMES_MAX: usize = 1 << 18;
/// Limit of remembered threads and fibers.
const REMEMBERED: usize = 1 << 20;
/// Limit of nested open spans of a fiber.
const DEPTH: usize = 256;

/// Turns records into events.
#[derive(Debug, Default)]
pub(super) struct Importer {
    classes: Classes,
    lanes: Lanes,
    /// The trace was written by rtscope.
    own: bool,
    /// Scheduling records are the kernel's.
    kernel: bool,
    pub names: Names,
    name_count: usize,
    /// Names of the kernel's threads.
    thread_names: HashMap<u64, NameId>,
    /// eio-trace: which fiber runs on which ring, and the open spans of each thread.
    fibers: HashMap<u64, LaneId>,
    spans: HashMap<Thread, Vec<NameId>>,
    /// Lane 0 has been seen.
    has_main: bool,
    /// Bytes allocated by each lane so far.
    allocated: HashMap<LaneId, u64>,
}

/// A record becomes at most three events.
pub(super) type Found = [Option<Event>; 3];

impl Importer {
    pub fn new(classes: Classes, lanes: Lanes, own: bool, kernel: bool) -> Importer {
        Importer { classes, lanes, own, kernel: own || kernel, ..Importer::default() }
    }

    /// The events of one record.
    pub fn take(&mut self, record: &Record<'_>) -> Found {
        match record {
            Record::Event(event) if event.category == DERIVED.as_bytes() => [None; 3],
            Record::Event(event) if self.own => [self.of_own(event), None, None],
            Record::Event(event) => {
                let found = self.of_others(event);
                self.with_main_lane(found)
            }
            Record::KernelObject { id, kind: OBJECT_THREAD, name, .. } if self.kernel => {
                let name = self.name(name);
                if self.thread_names.len() < REMEMBERED || self.thread_names.contains_key(id) {
                    self.thread_names.insert(*id, name);
                }
                [None; 3]
            }
            Record::Switch(switch) => {
                let name = self.thread_names.get(&switch.incoming).copied().unwrap_or_default();
                [sched(switch.time, carried::read_switch(switch, name)), None, None]
            }
            Record::Wakeup { time, .. } if self.kernel => [sched(*time, carried::read_wakeup(record)), None, None],
            Record::Wakeup { cpu, thread, .. } => {
                // eio-trace records this when a ring continues with this fiber.
                self.fibers.retain(|_, lane| lane.0 != *cpu);
                if self.fibers.len() < REMEMBERED {
                    self.fibers.insert(*thread, LaneId(*cpu));
                }
                [None; 3]
            }
            _ => [None; 3],
        }
    }

    /// No tool records the creation of lane 0: it exists before any other, and until the end.
    fn with_main_lane(&mut self, found: Found) -> Found {
        let [Some(first), second, _] = found else { return found };
        if self.has_main || first.lane != LaneId(0) {
            return found;
        }
        self.has_main = true;
        let created = Event { body: Body::Runtime(Runtime::LaneCreated), ..first };
        if self.wants(&created.body) { [Some(created), Some(first), second] } else { found }
    }

    fn name(&mut self, bytes: &[u8]) -> NameId {
        if self.name_count >= NAMES_MAX {
            return NameId::default();
        }
        let id = self.names.intern(&String::from_utf8_lossy(bytes));
        self.name_count = self.name_count.max(id.0 as usize + 1);
        id
    }

    fn of_own(&mut self, record: &EventRecord<'_>) -> Option<Event> {
        if self.name_count >= NAMES_MAX {
            return None;
        }
        let lane = match record.thread {
            Thread::Known { thread, .. } => super::shape::lane_of(thread),
            Thread::Numbered(_) => None,
        };
        let (lane, body) = carried::read(record, lane, &mut self.names)?;
        self.wants(&body).then_some(Event { time: Time(record.time), lane, body })
    }

    fn of_others(&mut self, record: &EventRecord<'_>) -> Found {
        let lane = self.lanes.of(record.thread);
        if lane.is_none() && self.lanes.rivals.contains(&record.thread) {
            return [None; 3];
        }
        let Some(lane) = lane else { return self.posted(record, self.fiber(record.thread)) };
        let at = |body: Runtime| Some(Event { time: Time(record.time), lane, body: Body::Runtime(body) });
        let unnamed = record.category.is_empty();
        let runtime = match (record.category, record.name, record.kind) {
            (runtimes::LANES, runtimes::LANE_BEGINS, EventKind::Instant) => Some(Runtime::LaneCreated),
            (runtimes::LANES, runtimes::LANE_ENDS, EventKind::Instant) => {
                self.allocated.remove(&lane);
                Some(Runtime::LaneDeleted)
            }
            _ if unnamed || record.category == carried::GC.as_bytes() => carried::of_collector(record),
            _ => None,
        };
        match runtime {
            Some(Runtime::Count(Counter::YoungBytes, bytes)) => {
                let sum = self.allocated.entry(lane).or_default();
                *sum = sum.saturating_add(bytes);
                let counts = [(Counter::YoungBytes, bytes), (Counter::AllocatedBytes, *sum)];
                let [young, all] = counts.map(|(counter, value)| at(Runtime::Count(counter, value)));
                [young, all, None].map(|event| event.filter(|event| self.wants(&event.body)))
            }
            // Names that are not counters of OCaml.
            Some(Runtime::Count(counter, _)) if counter != Counter::PromotedBytes => self.posted(record, Some(lane)),
            Some(body) => [at(body).filter(|event| self.wants(&event.body)), None, None],
            None if unnamed && of_the_runtime(record) => [None; 3],
            None => self.posted(record, Some(lane)),
        }
    }

    /// The ring on which an Eio fiber runs.
    fn fiber(&self, thread: Thread) -> Option<LaneId> {
        match thread {
            Thread::Known { thread, .. } if thread & 3 == 2 => self.fibers.get(&(thread >> 2)).copied(),
            _ => None,
        }
    }

    /// An event that the program itself posts.
    fn posted(&mut self, record: &EventRecord<'_>, lane: Option<LaneId>) -> Found {
        // Suspensions of fibers overlap on one lane: they are no spans of a lane.
        if !self.classes.has(Class::User) || record.category == b"eio.suspend" {
            return [None; 3];
        }
        let lane = lane.unwrap_or(LaneId::NONE);
        let at =
            |time, name, what| Some(Event { time: Time(time), lane, body: Body::Runtime(Runtime::User(name, what)) });
        if let EventKind::Complete(end) = record.kind {
            let name = self.name(record.name);
            let end = end.max(record.time);
            return [at(record.time, name, UserEvent::Begin), at(end, name, UserEvent::End), None];
        }
        let Some(what) = carried::user(record) else { return [None; 3] };
        let mut name = self.name(record.name);
        match what {
            UserEvent::Begin => self.opened(record.thread, name),
            // eio-trace omits the name at the end of a span.
            UserEvent::End => {
                let open = self.spans.get_mut(&record.thread).and_then(Vec::pop);
                name = open.filter(|_| record.name.is_empty()).unwrap_or(name);
            }
            _ => {}
        }
        [at(record.time, name, what), None, None]
    }

    fn opened(&mut self, thread: Thread, name: NameId) {
        if self.spans.len() < REMEMBERED || self.spans.contains_key(&thread) {
            let open = self.spans.entry(thread).or_default();
            if open.len() < DEPTH {
                open.push(name);
            }
        }
    }

    fn wants(&self, body: &Body) -> bool {
        let Body::Runtime(body) = body else { return true };
        match body {
            Runtime::ThreadCreated(_) | Runtime::ThreadWoken(_) => self.classes.has(Class::Green),
            body => self.classes.takes(body.class()),
        }
    }
}

fn sched(time: u64, sched: Option<Sched>) -> Option<Event> {
    Some(Event { time: Time(time), lane: LaneId::NONE, body: Body::Sched(sched?) })
}

/// Whether olly wrote a counter of the runtime that rtscope does not use; olly does not distinguish these from
/// the program's own.
fn of_the_runtime(record: &EventRecord<'_>) -> bool {
    let counter = matches!(record.kind, EventKind::Counter(_));
    counter && runtimes::is_counter(record.name)
}

/// Whether a record is a phase of a runtime, and whether it has eio-trace's category.
pub(super) fn is_phase(record: &EventRecord<'_>) -> Option<bool> {
    let span = matches!(record.kind, EventKind::Begin | EventKind::End);
    let eio = record.category == carried::GC.as_bytes();
    (span && (eio || record.category.is_empty()) && phases::of_name(record.name).is_some()).then_some(eio)
}
