//! Decodes one ring's words, a buffer at a time, into the requested events. The hot path of the decoder: other events
//! are counted and skipped by their length.
//!
//! Owns the checks of words: impossible lengths, types and stamps are damage, and reading continues where an event is
//! known to start: at the next frame, or at the physical start of the ring. Losses of any kind are summed up until
//! the next good event, before which a [`RingEvent::Gap`] is inserted.

use super::captured;
use super::layout::{Container, FRAME, Layout, POSITION_MAX};
use super::packed;
use super::tables::{kind, user};
use super::tally::{Losses, RawLoss};
use super::words::{words, words_at};
use crate::source::ReadAt;
use rtscope_model::LossKind;
use std::sync::Arc;

/// Size of the buffer of one ring, and of all together, in bytes.
const BUFFER: usize = 64 << 10;
const BUFFER_MIN: usize = 16 << 10;
const BUFFERS: usize = 32 << 20;
/// A stamp that is later than the previous one by more than this, in nanoseconds, is only believed if the
/// next event agrees.
const JUMP: u64 = 1_000_000_000;
/// Size of tables indexed by type (3 bits) and id (6 bits).
pub(super) const TYPES: usize = 1 << 9;

const OVERWRITTEN: &str = "the ring was full: the program overwrote these words before they were copied; fewer rings can \
                           be larger: record with OCAMLRUNPARAM=d=16,e=22 where at most 16 domains live at a time";
const HISTORY: &str = "older than what the ring held when it was first read";
const DAMAGED: &str = "words that are no events: the file is damaged, or a program was still writing it";
const CUT: &str = "the file ends where the ring's words go on";

/// A requested event.
#[derive(Copy, Clone, Eq, PartialEq, Debug)]
pub(super) struct Raw {
    pub(super) time: u64,
    pub(super) what: RingEvent,
}

/// Ids are the version's numbers.
#[derive(Copy, Clone, Eq, PartialEq, Debug)]
pub(super) enum RingEvent {
    /// Words are missing before the next event, whose time this is.
    Gap,
    Begin(u16),
    End(u16),
    Counter(u16, i64),
    Lifecycle(u16, i64),
    User {
        kind: u8,
        id: u16,
        value: i64,
    },
}

/// The requested events.
#[derive(Clone)]
pub(super) struct Filter {
    /// By [`index`]; `beyond`: whether ids of 64 and more are wanted.
    pub(super) types: [bool; TYPES],
    pub(super) beyond: bool,
    /// By type of user event.
    pub(super) user: [bool; 5],
}

/// Index of a type and an id below 64 in tables.
pub(super) fn index(kind: u8, id: u16) -> usize {
    (usize::from(kind) << 6 | usize::from(id)) & (TYPES - 1)
}

/// Events by type.
#[derive(Clone)]
pub(super) struct EventCounts {
    pub(super) types: [u64; TYPES],
    pub(super) user: [u64; 5],
    /// Events with ids of 64 and more.
    pub(super) beyond: u64,
}

impl Default for EventCounts {
    fn default() -> EventCounts {
        EventCounts { types: [0; TYPES], user: [0; 5], beyond: 0 }
    }
}

/// Shared by all readers of one pass.
pub(super) struct Pass {
    pub(super) source: Arc<dyn ReadAt>,
    pub(super) layout: Layout,
    pub(super) filter: Filter,
    pub(super) counts: EventCounts,
    pub(super) losses: Losses,
    bytes: Vec<u8>,
    /// Capacity of a ring's buffer, in words.
    capacity: usize,
}

impl Pass {
    pub(super) fn new(source: Arc<dyn ReadAt>, layout: Layout, filter: Filter) -> Pass {
        let counts = EventCounts::default();
        Pass { source, layout, filter, counts, losses: Losses::default(), bytes: Vec::new(), capacity: BUFFER / 8 }
    }

    /// Readers of the rings that are not empty, by number.
    pub(super) fn slots(&mut self) -> Vec<Slot> {
        let slots: Vec<Slot> = match &self.layout.container {
            Container::Captured(frames) => {
                frames.losses.iter().for_each(|loss| self.losses.push(*loss));
                let slot = |(slot, frames): (&u16, &Arc<[u64]>)| Slot::of_frames(*slot, Arc::clone(frames));
                frames.of.iter().map(slot).collect()
            }
            Container::File { .. } => (0..self.layout.rings).filter_map(|slot| self.file_slot(slot)).collect(),
        };
        self.capacity = (BUFFERS / slots.len().max(1)).clamp(BUFFER_MIN, BUFFER) / 8;
        slots
    }

    fn file_slot(&mut self, slot: u16) -> Option<Slot> {
        let Ok(Some([head, tail])) = self.ring_head(slot) else {
            self.lose(LossKind::Damaged, 0, None, None);
            return None;
        };
        if tail < head || tail - head > self.layout.words || tail > POSITION_MAX {
            self.lose(LossKind::Damaged, 8 * self.layout.words, None, None);
            return None;
        }
        (tail > 0).then(|| Slot::new(slot, Run { position: head, end: tail, ..Run::default() }, head))
    }

    /// The positions between which ring `slot` holds words now.
    fn ring_head(&self, slot: u16) -> std::io::Result<Option<[u64; 2]>> {
        match self.layout.container {
            Container::File { heads, head_bytes, .. } => {
                words_at(self.source.as_ref(), heads + u64::from(slot) * head_bytes)
            }
            Container::Captured(_) => Ok(None),
        }
    }

    /// The first position of ring `slot` that has not been overwritten yet; `None`: its words can no
    /// longer be overwritten.
    fn overwritten_until(&self, slot: u16) -> Option<u64> {
        match self.layout.container {
            // If the head can no longer be read, nothing is certain.
            Container::File { .. } => Some(self.ring_head(slot).ok().flatten().map_or(u64::MAX, |[head, _]| head)),
            Container::Captured(_) => None,
        }
    }

    /// The end of the segment around `position`: no write of the program crosses the end of a ring.
    fn segment_end(&self, position: u64) -> u64 {
        (position | (self.layout.words - 1)) + 1
    }

    fn lose(&mut self, kind: LossKind, count: u64, from: Option<u64>, to: Option<u64>) {
        let note = match kind {
            LossKind::RingWords if from.is_none() => HISTORY,
            LossKind::RingWords => OVERWRITTEN,
            LossKind::Truncated => CUT,
            _ => DAMAGED,
        };
        self.losses.push(RawLoss { kind, count, from, to, note });
    }
}

/// Consecutive words: a ring's file, or a sequence of frames.
#[derive(Default)]
struct Run {
    /// Position of the next word to read, and end of this run.
    position: u64,
    end: u64,
    /// Captured: offset of the word at `position`.
    offset: u64,
    /// The container ends inside this run: number of missing bytes that have not been counted.
    cut: Option<u64>,
    /// A damaged frame: its end is unknown, and its content has been counted.
    unsure: bool,
    frames: Arc<[u64]>,
    next: usize,
}

impl Run {
    fn frames(frames: Arc<[u64]>) -> Run {
        Run { frames, ..Run::default() }
    }
}

/// Losses since the last good event.
#[derive(Default)]
struct Missing {
    /// Whether there are any.
    any: bool,
    /// Number of overwritten words.
    overwritten: u64,
    /// Number of damaged bytes.
    damaged: u64,
    /// Number of truncated bytes.
    cut: u64,
}

/// The reader of one ring.
pub(super) struct Slot {
    pub(super) number: u16,
    /// The next event, once requested.
    pub(super) head: Option<Raw>,
    /// Stamps of the first and last event; 0: there was none.
    pub(super) first: u64,
    pub(super) last: u64,
    /// Number of words read.
    pub(super) read: u64,
    words: Vec<u64>,
    at: usize,
    /// Position of the word after the buffer.
    run: Run,
    missing: Missing,
}

enum Scan {
    Found(Raw),
    Dry,
    Bad,
}

impl Slot {
    fn new(number: u16, run: Run, lost: u64) -> Slot {
        let missing = Missing { any: lost > 0, overwritten: lost, ..Missing::default() };
        Slot { number, head: None, first: 0, last: 0, read: 0, words: Vec::new(), at: 0, run, missing }
    }

    /// The reader of a ring that has only frames.
    pub(super) fn of_frames(number: u16, frames: Arc<[u64]>) -> Slot {
        Slot::new(number, Run::frames(frames), 0)
    }

    /// Continues with frames of another container that were taken since.
    pub(super) fn resume_with(&mut self, frames: Arc<[u64]>) {
        (self.run.frames, self.run.next) = (frames, 0);
    }

    /// Takes the next event and looks for the one after it.
    pub(super) fn take(&mut self, pass: &mut Pass) -> Option<Raw> {
        let next = self.advance(pass);
        std::mem::replace(&mut self.head, next)
    }

    /// The next requested event; `None` at the end of the ring.
    pub(super) fn advance(&mut self, pass: &mut Pass) -> Option<Raw> {
        loop {
            match self.scan(pass) {
                Scan::Found(raw) => return Some(raw),
                Scan::Bad => self.skip_segment(pass),
                Scan::Dry => {
                    if !self.refill(pass) {
                        self.words = Vec::new();
                        self.at = 0;
                        self.settle(pass, None);
                        return None;
                    }
                }
            }
        }
    }

    fn scan(&mut self, pass: &mut Pass) -> Scan {
        let words = self.words.as_slice();
        let (filter, counts) = (&pass.filter, &mut pass.counts);
        let mut at = self.at;
        let mut last = self.last;
        let scan = loop {
            let Some(header) = words.get(at).copied() else { break Scan::Dry };
            let length = (header >> 54) as usize;
            let code = (header >> 49 & 31) as u8;
            let id = (header >> 36 & 0x1fff) as u16;
            let next = at + length;
            if code == kind::INTERNAL {
                // Padding up to the physical end of the ring, where buffers end too.
                if length == 0 {
                    break Scan::Bad;
                }
                if next > words.len() {
                    break Scan::Dry;
                }
                if next < words.len() {
                    break Scan::Bad;
                }
                at = next;
                continue;
            }
            let (least, most) = LENGTHS.get(usize::from(code)).copied().unwrap_or((1, 0));
            if length < usize::from(least) || length > usize::from(most) {
                break Scan::Bad;
            }
            let (Some(time), true) = (words.get(at + 1).copied(), next <= words.len()) else { break Scan::Dry };
            if time.wrapping_sub(last) > JUMP && !plausible(words, time, last, next) {
                self.missing.any = true;
                self.missing.damaged += 8 * length as u64;
                at = next;
                continue;
            }
            if self.missing.any {
                self.at = at;
                self.last = last;
                if self.first == 0 {
                    self.first = time;
                }
                self.settle(pass, Some(time));
                return Scan::Found(Raw { time, what: RingEvent::Gap });
            }
            last = time;
            at = next;
            let wanted = if code >= USER {
                let kind = usize::from(code - USER);
                counts.user.get_mut(kind).into_iter().for_each(|count| *count += 1);
                filter.user.get(kind).is_some_and(|wanted| *wanted)
            } else if id < 64 {
                let index = index(code, id);
                counts.types[index] += 1;
                filter.types[index]
            } else {
                counts.beyond += 1;
                filter.beyond
            };
            if self.first == 0 {
                self.first = time;
            }
            if wanted {
                let value = if length > 2 { words.get(at - length + 2).map_or(0, |word| *word as i64) } else { 0 };
                let what = match code {
                    kind::BEGIN => RingEvent::Begin(id),
                    kind::END => RingEvent::End(id),
                    kind::COUNTER => RingEvent::Counter(id, value),
                    kind::LIFECYCLE => RingEvent::Lifecycle(id, value),
                    USER.. => RingEvent::User { kind: code - USER, id, value },
                    _ => continue,
                };
                break Scan::Found(Raw { time, what });
            }
        };
        self.at = at;
        self.last = last;
        scan
    }

    /// Reports the losses up to the event at `to`.
    fn settle(&mut self, pass: &mut Pass, to: Option<u64>) {
        let missing = std::mem::take(&mut self.missing);
        let from = (self.last != 0).then_some(self.last);
        let kinds = [
            (LossKind::RingWords, missing.overwritten),
            (LossKind::Damaged, missing.damaged),
            (LossKind::Truncated, missing.cut),
        ];
        for (kind, count) in kinds.into_iter().filter(|(_, count)| *count > 0) {
            pass.lose(kind, count, from, to);
        }
    }

    /// Counts as damage the rest of the buffer and the words after it, up to the next place where an event is
    /// known to start.
    fn skip_segment(&mut self, pass: &Pass) {
        let end = pass.segment_end(self.run.position.saturating_sub(1)).min(self.run.end);
        let rest = self.words.len().saturating_sub(self.at) as u64;
        // The buffer may end with the segment's last words.
        let unread = if rest > 0 { end.saturating_sub(self.run.position) } else { 0 };
        self.missing.any = true;
        self.missing.damaged += 8 * (rest + unread);
        self.words.clear();
        self.at = 0;
        self.run.position += unread;
        self.run.offset += 8 * unread;
    }

    /// Reads more words after the remaining ones, which are less than one event. `false`: at the end of the ring.
    fn refill(&mut self, pass: &mut Pass) -> bool {
        self.words.drain(..self.at);
        self.at = 0;
        let carried = self.words.len() as u64;
        let ended = self.run.position >= self.run.end;
        if let Some(bytes) = self.run.cut.filter(|_| ended) {
            self.run.cut = None;
            self.missing.cut += bytes + 8 * carried;
            self.missing.any = true;
            self.words.clear();
            return true;
        }
        if carried > 0 && (ended || self.run.position & (pass.layout.words - 1) == 0) {
            // An event that crosses the end of its frame or of the ring.
            self.missing.damaged += 8 * carried;
            self.missing.any = true;
            self.words.clear();
            return true;
        }
        if ended {
            return self.next_frame(pass);
        }
        self.read(pass)
    }

    fn read(&mut self, pass: &mut Pass) -> bool {
        let position = self.run.position;
        let segment = pass.segment_end(position).min(self.run.end) - position;
        let room = pass.capacity.saturating_sub(self.words.len()).max(1);
        let want = usize::try_from(segment).unwrap_or(usize::MAX).min(room);
        let offset = match pass.layout.container {
            Container::File { data, .. } => {
                let ring = data + u64::from(self.number) * 8 * pass.layout.words;
                ring + 8 * (position & (pass.layout.words - 1))
            }
            Container::Captured(_) => self.run.offset,
        };
        if pass.bytes.len() < 8 * want {
            pass.bytes.resize(8 * want, 0);
        }
        let bytes = pass.bytes.get_mut(..8 * want).unwrap_or_default();
        let got = pass.source.read_full(bytes, offset).unwrap_or(0) / 8;
        if got < want {
            // The file ends, or was truncated while it was read.
            let counted = self.run.cut.unwrap_or(8 * (self.run.end - position - got as u64));
            self.run.cut = Some(counted);
            self.run.end = position + got as u64;
        }
        let overwritten = pass.overwritten_until(self.number).filter(|head| *head > position);
        self.run.position += got as u64;
        self.run.offset += 8 * got as u64;
        self.read += got as u64;
        let fresh = pass.bytes.get(..8 * got).unwrap_or_default();
        match overwritten {
            None => self.words.extend(words(fresh)),
            Some(head) => self.overtaken(head, position, fresh),
        }
        true
    }

    /// The program overwrote words while they were read: those before `head` are lost, and with them the event
    /// that `self.words` starts.
    fn overtaken(&mut self, head: u64, position: u64, fresh: &[u8]) {
        let from = position - self.words.len() as u64;
        let kept = head.min(self.run.end);
        self.missing.any = true;
        self.missing.overwritten += kept - from;
        self.words.clear();
        match usize::try_from(kept - position).ok().and_then(|skip| fresh.get(skip.checked_mul(8)?..)) {
            Some(rest) => self.words.extend(words(rest)),
            None => self.run.position = kept,
        }
    }

    /// Continues with the next frame; `false` after the last, and in a ring's file.
    fn next_frame(&mut self, pass: &mut Pass) -> bool {
        let Some(at) = self.run.frames.get(self.run.next).copied() else { return false };
        let Container::Captured(frames) = &pass.layout.container else { return false };
        let cut = frames.cut == Some(at);
        self.run.next += 1;
        let head: Option<[u64; 4]> = words_at(pass.source.as_ref(), at).ok().flatten();
        let Some([what, position, count, _]) = head.filter(|[_, position, ..]| *position <= POSITION_MAX) else {
            self.missing.any = true;
            self.missing.damaged += FRAME;
            return true;
        };
        // As in the index, where the missing end was counted.
        let count = match cut {
            true => pass.source.size().unwrap_or(0).saturating_sub(at + FRAME) / 8,
            false => count.min(POSITION_MAX),
        };
        if position < self.run.end {
            // Earlier words: rings do not run backwards.
            self.missing.any = true;
            self.missing.damaged += 8 * count;
            return true;
        }
        if position > self.run.end {
            self.missing.any = true;
            self.missing.overwritten += if self.run.unsure { 0 } else { position - self.run.end };
        }
        self.run = Run {
            position,
            end: position.saturating_add(count),
            offset: at + FRAME,
            cut: cut.then_some(0),
            unsure: false,
            frames: std::mem::take(&mut self.run.frames),
            next: self.run.next,
        };
        if what & 0xff == captured::kind::PACKED {
            self.unpack(pass, count);
        }
        true
    }

    /// Reads all words of a packed frame, of which `count` words follow its head.
    fn unpack(&mut self, pass: &mut Pass, count: u64) {
        let whole = usize::try_from(count).ok().filter(|count| *count <= packed::FOLLOW_MAX).and_then(|count| {
            pass.bytes.resize(pass.bytes.len().max(8 * count), 0);
            let bytes = pass.bytes.get_mut(..8 * count)?;
            let got = pass.source.read_full(bytes, self.run.offset).unwrap_or(0);
            packed::unpack(bytes.get(..got)?, &mut self.words)
        });
        if whole != Some(true) && self.run.cut.is_none() {
            // Any of the words may be wrong.
            self.words.clear();
            self.run.unsure = true;
            self.missing.any = true;
            self.missing.damaged += 8 * count;
        }
        self.read += self.words.len() as u64;
        self.run.position += self.words.len() as u64;
        self.run.end = self.run.position;
    }
}

/// First code of user event types.
const USER: u8 = 16;

/// Smallest and largest size of an event in words, by type; user events from [`USER`] on.
const LENGTHS: [(u16, u16); 32] = {
    let mut lengths = [(1, 0); 32];
    lengths[kind::LIFECYCLE as usize] = (2, 3);
    lengths[kind::BEGIN as usize] = (2, 2);
    lengths[kind::END as usize] = (2, 2);
    lengths[kind::COUNTER as usize] = (3, 3);
    lengths[kind::ALLOC as usize] = (3, 64);
    lengths[kind::FLUSH as usize] = (2, 2);
    lengths[(USER + user::UNIT) as usize] = (2, 2);
    lengths[(USER + user::INT) as usize] = (3, 3);
    lengths[(USER + user::BEGIN) as usize] = (2, 2);
    lengths[(USER + user::END) as usize] = (2, 2);
    lengths[(USER + user::CUSTOM) as usize] = (3, 1023);
    lengths
};

/// Whether a stamp that does not closely follow `last` is right: it must be later, and not later than the next event,
/// which starts at `next`.
#[cold]
fn plausible(words: &[u64], time: u64, last: u64, next: usize) -> bool {
    let padding = |header: &u64| header >> 49 & 31 == u64::from(kind::INTERNAL);
    let following = words.get(next).filter(|header| !padding(header)).and_then(|_| words.get(next + 1));
    time >= last && time != 0 && time < 1 << 62 && following.is_none_or(|following| time <= *following)
}
