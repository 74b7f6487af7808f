//! The shape of a record that carries one event, before it is encoded: timeline, category, name, arguments. Owns the
//! ids of timelines, which writing and reading share.

use super::record::{EventKind, Value};
use rtscope_model::{LaneId, Tid};

/// First id of timelines that are not kernel threads: above any thread id, and within 31 bits, since some readers
/// keep no more.
const BASE: u64 = 1 << 30;
/// Timeline of pauses of the whole program.
pub const PAUSES: u64 = BASE + (1 << 20) + 3;
/// Timeline of causes of waits in pauses.
pub const CAUSES: u64 = BASE + (2 << 20) + 3;
/// Timeline of the recorder's samples of the machine.
pub const MACHINE: u64 = BASE + (3 << 20) + 3;

/// The id of a lane's timeline. Its two lowest bits are those of eio-trace's rings.
pub fn lane_id(lane: LaneId) -> u64 {
    BASE + (u64::from(lane.0) << 2) + 1
}

/// The lane with the timeline `id`.
pub fn lane_of(id: u64) -> Option<LaneId> {
    let offset = id.checked_sub(BASE)?;
    (offset & 3 == 1).then(|| u16::try_from(offset >> 2).ok()).flatten().map(LaneId)
}

/// Where an event is drawn.
#[derive(Copy, Clone, Eq, PartialEq, Debug)]
pub enum FxtTrack {
    /// On the timeline of a lane.
    Lane(LaneId),
    /// On a kernel thread.
    Thread(Tid),
    /// On one of [`PAUSES`], [`CAUSES`] and [`MACHINE`].
    Other(u64),
}

/// Limit of a shape's arguments.
pub const ARGS_MAX: usize = 8;

/// One event record.
#[derive(Copy, Clone, PartialEq, Debug)]
pub struct Shape<'a> {
    /// The kind of event.
    pub kind: EventKind,
    /// The timeline that it is drawn on.
    pub track: FxtTrack,
    /// The event's category.
    pub category: &'static str,
    /// The event's name, or what it is made of.
    pub name: Name<'a>,
    args: [(&'static str, Value<'a>); ARGS_MAX],
    count: usize,
}

/// A name, or the parts that make it.
#[derive(Copy, Clone, Eq, PartialEq, Debug)]
pub enum Name<'a> {
    /// A complete name.
    Text(&'a str),
    /// A text followed by a number.
    Numbered(&'static str, u64),
}

impl<'a> Shape<'a> {
    /// A shape without arguments.
    pub fn new(kind: EventKind, track: FxtTrack, category: &'static str, name: &'a str) -> Shape<'a> {
        Shape { kind, track, category, name: Name::Text(name), args: [("", Value::Null); ARGS_MAX], count: 0 }
    }

    /// Adds an argument; more than [`ARGS_MAX`] are dropped.
    pub fn with(mut self, name: &'static str, value: Value<'a>) -> Shape<'a> {
        if let Some(place) = self.args.get_mut(self.count) {
            *place = (name, value);
            self.count += 1;
        }
        self
    }

    /// The arguments added so far.
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
