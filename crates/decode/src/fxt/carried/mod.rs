//! How a record carries an event of rtscope, in both directions. Owns categories, names and arguments. Writer and
//! reader share this table, so that a trace gives back what was put into it.

mod fields;
mod heap_profile;
mod kernel;
mod runtime;
mod samples;

use super::record::EventRecord;
use super::shape::{FxtTrack, Shape};
use rtscope_model::{Body, Event, LaneId, NameId, Names, Phase, Sched};
use std::borrow::Cow;

pub use fields::{DERIVED, GAP, GC, HEAP_PROFILE, OWN};
pub use kernel::SwitchShape;
pub(super) use kernel::{read_switch, read_wakeup};
pub(super) use runtime::{of_collector, user};

/// The record that carries an event. It is built on the stack for one record, so its size does no harm.
#[allow(clippy::large_enum_variant)]
#[derive(Copy, Clone, PartialEq, Debug)]
pub enum Carried<'a> {
    /// An event record.
    Event(Shape<'a>),
    /// A context switch record.
    Switch(SwitchShape),
    /// A wake-up record: the woken thread, its waker and the CPU.
    #[allow(missing_docs)]
    Wakeup { thread: u32, waker: u32, cpu: u16 },
}

/// The record for `event`; names of threads and of the program's own events come from their tables.
pub fn carry<'a>(event: &Event, kernel: &'a Names, user: &'a Names) -> Carried<'a> {
    match event.body {
        Body::Runtime(body) => Carried::Event(runtime::shape(FxtTrack::Lane(event.lane), body, user)),
        Body::Sched(Sched::Waking { waker, target, target_cpu }) => {
            Carried::Wakeup { thread: target.0, waker: waker.0, cpu: target_cpu.0 }
        }
        Body::Sched(sched) => {
            SwitchShape::of(&sched).map_or_else(|| Carried::Event(kernel::shape(&sched, kernel)), Carried::Switch)
        }
        Body::Sample(sample) => Carried::Event(samples::shape(&sample)),
        Body::Code(sample) => Carried::Event(samples::code(&sample)),
    }
}

/// A name that a thread gets and that must be known before `event`.
pub fn naming(event: &Event) -> Option<(u32, NameId)> {
    match event.body {
        Body::Sched(Sched::Switch { next, next_name, .. }) => Some((next.0, next_name)),
        _ => None,
    }
}

/// The name under which a phase is written.
pub fn phase_name(phase: Phase) -> Cow<'static, str> {
    match (super::runtimes::phases::name(phase), phase) {
        (Some(name), _) => name.into(),
        (None, Phase::Detail(number)) => format!("{}{number}", super::runtimes::phases::UNNAMED).into(),
        (None, _) => "".into(),
    }
}

/// The event that an event record carries, if [`carry`] writes such records. `lane` is the lane of its timeline.
pub(super) fn read(record: &EventRecord<'_>, lane: Option<LaneId>, names: &mut Names) -> Option<(LaneId, Body)> {
    if let Some(lane) = lane {
        return runtime::read(record, names).map(|body| (lane, Body::Runtime(body)));
    }
    let body = kernel::read(record, names).map(Body::Sched);
    let body = body.or_else(|| samples::read(record).map(Body::Sample));
    body.or_else(|| samples::read_code(record).map(Body::Code)).map(|body| (LaneId::NONE, body))
}
