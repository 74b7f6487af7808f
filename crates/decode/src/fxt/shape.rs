//! The shape of a record that carries one event, before it is bytes: timeline, category,
//! name, arguments. Owns the numbers of timelines, which writing and reading share.

use super::record::{EventKind, Value};
use rtscope_model::{LaneId, Tid};

/// Ids of timelines that are no thread of the kernel's begin here: above any thread's id,
/// and within 31 bits, which is what some readers keep.
const BASE: u64 = 1 << 30;
/// Pauses of the whole program.
pub const PAUSES: u64 = BASE + (1 << 20) + 3;
/// Causes of their waits.
pub const CAUSES: u64 = BASE + (2 << 20) + 3;
/// What was sampled of the machine.
pub const MACHINE: u64 = BASE + (3 << 20) + 3;

/// The timeline of a lane. Its two lowest bits are those of eio-trace's rings.
pub fn lane_id(lane: LaneId) -> u64 {
    BASE + (u64::from(lane.0) << 2) + 1
}

/// The lane whose timeline this is.
pub fn lane_of(id: u64) -> Option<LaneId> {
    let offset = id.checked_sub(BASE)?;
    (offset & 3 == 1).then(|| u16::try_from(offset >> 2).ok()).flatten().map(LaneId)
}

/// Where an event is drawn.
#[derive(Copy, Clone, Eq, PartialEq, Debug)]
pub enum Track {
    /// On a lane.
    Lane(LaneId),
    /// On a thread of the kernel's.
    Thread(Tid),
    /// On one of [`PAUSES`], [`CAUSES`] and [`MACHINE`].
    Other(u64),
}

/// Arguments that a shape can have.
pub const ARGS_MAX: usize = 8;

/// One event record.
#[derive(Copy, Clone, PartialEq, Debug)]
pub struct Shape<'a> {
    /// Kind.
    pub kind: EventKind,
    /// Timeline.
    pub track: Track,
    /// Category.
    pub category: &'static str,
    /// Name.
    pub name: Name<'a>,
    args: [(&'static str, Value<'a>); ARGS_MAX],
    count: usize,
}

/// A name, or what it is made of.
#[derive(Copy, Clone, Eq, PartialEq, Debug)]
pub enum Name<'a> {
    /// A text.
    Text(&'a str),
    /// A text and a number.
    Numbered(&'static str, u64),
}

impl<'a> Shape<'a> {
    /// One without arguments.
    pub fn new(kind: EventKind, track: Track, category: &'static str, name: &'a str) -> Shape<'a> {
        Shape { kind, track, category, name: Name::Text(name), args: [("", Value::Null); ARGS_MAX], count: 0 }
    }

    /// It with another argument; more than [`ARGS_MAX`] are left out.
    pub fn with(mut self, name: &'static str, value: Value<'a>) -> Shape<'a> {
        if let Some(place) = self.args.get_mut(self.count) {
            *place = (name, value);
            self.count += 1;
        }
        self
    }

    /// Its arguments.
    pub fn args(&self) -> &[(&'static str, Value<'a>)] {
        self.args.get(..self.count).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_timeline_is_taken_for_a_thread_or_another() {
        for lane in [LaneId(0), LaneId(4095), LaneId::NONE] {
            assert_eq!(lane_of(lane_id(lane)), Some(lane));
            assert!(lane_id(lane) > 1 << 22 && lane_id(lane) < 1 << 31);
        }
        assert_eq!([PAUSES, CAUSES, MACHINE].map(lane_of), [None; 3]);
        assert_eq!([0, 1, 5, 1 << 22].map(lane_of), [None; 4]);
    }
}
