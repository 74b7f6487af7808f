//! The sheet that tracks are drawn on. Owns the numbers of tracks, times since the session's start, and which kinds
//! there are; refuses to know what is drawn.

use super::pen::Pen;
use rtscope_levels::{Point, Span};
use rtscope_model::{Cpu, GroupId, LaneId, NameId, Tid, Time};
use std::collections::BTreeMap;
use std::io::Write;

/// Maximum number of tracks: each takes some KiB while it is written.
const TRACKS_MAX: u32 = 4_096;

/// What a track shows.
#[derive(Copy, Clone, Eq, PartialEq, Ord, PartialOrd, Debug)]
pub enum Key {
    Pauses,
    /// What each pause waited for.
    Causes,
    /// What a concurrent collector does.
    Concurrent,
    Line(CounterKey),
    Lane(LaneId),
    /// When a lane's time counts as one of the top-level parts of the account: drawn nowhere, summed up for intervals.
    Account(LaneId, usize),
    /// User spans on a lane.
    OwnSpans(LaneId),
    /// User marks on a lane.
    Marks(LaneId),
    Thread(Tid),
    /// Values that the program posts.
    OwnValue(NameId),
}

#[derive(Copy, Clone, Eq, PartialEq, Ord, PartialOrd, Debug)]
pub enum CounterKey {
    Resident,
    Heap,
    Blocks,
    Live,
    Large,
    Copied,
    GroupMemory(GroupId),
    Throttled(GroupId),
    Stolen(Cpu),
}

pub struct Sheet<W> {
    pub(super) pen: Pen<W>,
    start: Option<Time>,
    tracks: BTreeMap<Key, u32>,
    /// Numbers of the tracks of lanes, which are looked up most.
    lanes: Vec<Option<u32>>,
    /// A bit for each kind that was drawn.
    kinds: u64,
    pub(super) too_many: bool,
}

impl<W: Write + Send + 'static> Sheet<W> {
    /// Draws with `pen`, which is new.
    pub fn new(pen: Pen<W>) -> Self {
        Sheet { pen, start: None, tracks: BTreeMap::new(), lanes: Vec::new(), kinds: 0, too_many: false }
    }

    /// Starts the session at `time`, unless it has started.
    pub fn start(&mut self, time: Time) {
        self.start.get_or_insert(time);
    }

    /// Whether nothing was drawn on this track yet.
    pub fn is_new(&self, key: Key) -> bool {
        !self.tracks.contains_key(&key)
    }

    pub fn tracks(&self) -> impl Iterator<Item = (Key, u32)> + '_ {
        self.tracks.iter().map(|(key, id)| (*key, *id))
    }

    pub fn kinds(&self) -> impl Iterator<Item = u16> + '_ {
        (0..u64::BITS).filter(|kind| self.kinds & 1 << kind != 0).map(|kind| kind as u16)
    }

    /// Draws a state of a lane.
    #[inline]
    pub fn lane(&mut self, lane: LaneId, from: Time, to: Time, kind: u16) {
        let id = match self.lanes.get(usize::from(lane.0)) {
            Some(Some(id)) => *id,
            _ => {
                let Some(id) = self.id(Key::Lane(lane)) else { return };
                let index = usize::from(lane.0);
                if self.lanes.len() <= index {
                    self.lanes.resize(index + 1, None);
                }
                self.lanes.get_mut(index).into_iter().for_each(|place| *place = Some(id));
                id
            }
        };
        self.put(id, from, to, kind, 0);
    }

    /// Draws what a lane's time counts as, on the track for that top-level part. `number` is none of other kinds.
    pub fn part(&mut self, (lane, top): (LaneId, usize), from: Time, to: Time, number: u16) {
        let Some((start, id)) = self.start.zip(self.id(Key::Account(lane, top))) else { return };
        let (from, to) = (from.since(start), to.since(start));
        if from < to {
            self.pen.span(id, Span { from, to, kind: number, detail: 0 });
        }
    }

    /// Draws a span; one that ends before the session starts is left out.
    pub fn span(&mut self, key: Key, from: Time, to: Time, kind: u16, detail: u32) {
        if to > self.start.unwrap_or(to)
            && let Some(id) = self.id(key)
        {
            self.put(id, from, to, kind, detail);
        }
    }

    /// Draws a mark.
    pub fn mark(&mut self, key: Key, at: Time, kind: u16, detail: u32) {
        if let (Some(start), Some(id)) = (self.start.filter(|start| at >= *start), self.id(key)) {
            let at = at.since(start);
            self.kinds |= bit(kind);
            self.pen.span(id, Span { from: at, to: at, kind, detail });
        }
    }

    /// Draws a value, which holds from `at` on.
    pub fn value(&mut self, key: Key, at: Time, value: i64) {
        if let (Some(start), Some(id)) = (self.start, self.id(key)) {
            self.pen.point(id, Point { at: at.since(start), value });
        }
    }

    #[inline]
    fn put(&mut self, id: u32, from: Time, to: Time, kind: u16, detail: u32) {
        let Some(start) = self.start else { return };
        let (from, to) = (from.since(start), to.since(start));
        if from < to {
            self.kinds |= bit(kind);
            self.pen.span(id, Span { from, to, kind, detail });
        }
    }

    fn id(&mut self, key: Key) -> Option<u32> {
        if let Some(id) = self.tracks.get(&key) {
            return Some(*id);
        }
        let next = self.tracks.len() as u32;
        if next >= TRACKS_MAX {
            self.too_many = true;
            return None;
        }
        self.tracks.insert(key, next);
        Some(next)
    }
}

fn bit(kind: u16) -> u64 {
    1u64.checked_shl(u32::from(kind)).unwrap_or(0)
}
