//! Builds rings event by event, for tests of this crate and of crates that use it (feature `testing`). Writes what a
//! runtime would, including padding and overwriting, and on request invalid data. Panics if a test asks for something
//! that its version does not have.

use super::captured::NAME;
use super::packed::{Packer, WORDS_MAX as PACKED_WORDS_MAX};
use super::tables::{self, COUNTERS, LIFECYCLE, kind, lifecycle, user};
use super::version::Version;
use super::words::words;
use std::ops::Range;

/// Distance between ring heads, in bytes.
const HEAD: usize = 80;
/// Entries in a file's table of names.
const NAMES: usize = 1 << 13;

/// The rings of one process.
#[derive(Clone, Debug)]
pub struct RingBuilder {
    version: Version,
    ring_words: u64,
    rings: Vec<Ring>,
    names: Vec<(u16, String)>,
    pid: u32,
}

impl RingBuilder {
    /// `rings` rings of `ring_words` words (a power of two) each, as `version` creates them.
    pub fn new(version: Version, rings: u16, ring_words: u64) -> RingBuilder {
        assert!(ring_words.is_power_of_two());
        let ring = Ring { version, ring_words, ..Ring::default() };
        RingBuilder { version, ring_words, rings: vec![ring; usize::from(rings)], names: Vec::new(), pid: 7 }
    }

    /// Writes to ring `slot`.
    pub fn slot(mut self, slot: u16, write: impl FnOnce(&mut Ring)) -> RingBuilder {
        write(&mut self.rings[usize::from(slot)]);
        self
    }

    /// Sets the name of user event `id`.
    pub fn name(mut self, id: u16, text: &str) -> RingBuilder {
        self.names.push((id, text.to_owned()));
        self
    }

    /// A minor collection that `leader` leads and `followers` take part in, with all events that the version writes
    /// for it: wanted at `at`, led from 10 ns later on, all stopped after 20, collected after 40, left after 50,
    /// over after 60.
    pub fn minor(mut self, at: u64, leader: u16, followers: &[u16]) -> RingBuilder {
        let wants = self.version >= Version::V5_4;
        for slot in [leader].iter().chain(followers) {
            let leads = *slot == leader;
            let part = if leads { "stw_leader" } else { "stw_handler" };
            let ring = &mut self.rings[usize::from(*slot)];
            if leads && wants {
                ring.begin(at, "empty_minor");
            }
            ring.begin(at + 10, part);
            if !leads || self.version >= Version::V5_3 {
                ring.span(at + 11, at + 20, "stw_api_barrier");
            }
            ring.begin(at + 20, "minor").span(at + 21, at + 30, "minor_local_roots");
            ring.counter(at + 39, "minor_promoted", 80).counter(at + 39, "minor_allocated", 800);
            ring.end(at + 40, "minor");
            if !followers.is_empty() {
                ring.span(at + 40, at + 50, "minor_leave_barrier");
            }
            ring.end(at + 60, part);
            if leads && wants {
                ring.end(at + 60, "empty_minor");
            }
        }
        self
    }

    /// Number of words written to ring `slot` so far.
    pub fn words(&self, slot: u16) -> u64 {
        self.rings[usize::from(slot)].position()
    }

    /// The file as the program leaves it.
    pub fn file(&self) -> Vec<u8> {
        let count = self.rings.len();
        let data = 64 + HEAD * count;
        let names = data + 8 * self.ring_words as usize * count;
        let named = self.version > Version::V5_0;
        let table = if named { names as u64 } else { 0 };
        let ring = [count as u64, HEAD as u64, 8 * self.ring_words, self.ring_words, 64, data as u64, table];
        let mut bytes: Vec<u8> = [1].iter().chain(&ring).flat_map(|word: &u64| word.to_le_bytes()).collect();
        for ring in &self.rings {
            bytes.extend(ring.oldest().to_le_bytes().iter().chain(&ring.position().to_le_bytes()));
            bytes.extend([0; HEAD - 16]);
        }
        for ring in &self.rings {
            bytes.extend(ring.physical().iter().flat_map(|word| word.to_le_bytes()));
        }
        if named {
            bytes.resize(names + NAMES * NAME, 0);
            for (id, text) in &self.names {
                let from = names + usize::from(*id) * NAME;
                bytes[from..from + text.len()].copy_from_slice(text.as_bytes());
            }
        }
        bytes
    }

    /// The stream of a recorder that loses nothing and reads every `events` events.
    pub fn captured(&self, events: usize) -> Vec<u8> {
        let rings: Vec<Vec<Range<u64>>> = self.rings.iter().map(|ring| ring.frames(events)).collect();
        let most = rings.iter().map(Vec::len).max().unwrap_or(0);
        let turn = |turn: usize| {
            let rings = (0u16..).zip(&rings);
            rings.filter_map(move |(slot, frames)| Some((slot, frames.get(turn)?.clone())))
        };
        let frames: Vec<(u16, Range<u64>)> = (0..most).flat_map(turn).collect();
        self.captured_as(&frames)
    }

    /// The stream of a recorder that takes these words of these rings, by their positions.
    pub fn captured_as(&self, frames: &[(u16, Range<u64>)]) -> Vec<u8> {
        let head = [self.rings.len() as u64, self.ring_words, u64::from(self.version > Version::V5_0), self.pid.into()];
        let mut stream = b"RTSRING1".to_vec();
        stream.extend(head.into_iter().chain([0; 3]).flat_map(u64::to_le_bytes));
        for (id, text) in &self.names {
            let mut bytes = text.clone().into_bytes();
            bytes.resize(NAME, 0);
            stream.extend(frame(2, 0, u64::from(*id), &words(&bytes).collect::<Vec<_>>()));
        }
        for (slot, range) in frames {
            let words = &self.rings[usize::from(*slot)].words[range.start as usize..range.end as usize];
            stream.extend(frame(1, *slot, range.start, words));
        }
        stream
    }
}

/// One frame of a captured stream.
pub fn frame(kind: u64, slot: u16, number: u64, words: &[u64]) -> Vec<u8> {
    let head = [kind | u64::from(slot) << 16, number, words.len() as u64, 1];
    head.iter().chain(words).flat_map(|word| word.to_le_bytes()).collect()
}

/// A packed frame of the same words, which are whole events.
pub fn packed(slot: u16, position: u64, words: &[u64]) -> Vec<u8> {
    let own: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
    let mut bytes = (words.len() as u64).to_le_bytes().to_vec();
    assert_eq!(Packer::default().pack(&own, &mut bytes), own.len());
    bytes.resize(bytes.len().next_multiple_of(8), 0);
    frame(4, slot, position, &self::words(&bytes).collect::<Vec<_>>())
}

/// The stream that a recorder would have taken from a program's ring file, in packed frames of about `frame_words`
/// words, with every fifth one unpacked.
pub fn capture_of(file: &[u8], frame_words: u64) -> Vec<u8> {
    let at = |offset: usize| words(&file[offset..offset + 8]).next().unwrap_or(0);
    let [rings, head_bytes, ring_bytes, ring_words] = [1, 2, 3, 4].map(|word| at(8 * word));
    let [heads, data, names] = [5, 6, 7].map(|word| at(8 * word) as usize);
    let mut stream = b"RTSRING1".to_vec();
    stream.extend([rings, ring_words, u64::from(names != 0), 0, 0, 0, 0].iter().flat_map(|word| word.to_le_bytes()));
    for slot in 0..rings as usize {
        let head = heads + slot * head_bytes as usize;
        let (mut position, tail) = (at(head), at(head + 8));
        let word = |position: u64| at(data + slot * ring_bytes as usize + 8 * (position % ring_words) as usize);
        while position < tail {
            let mut end = position;
            let frame_end = tail.min(position + frame_words).min((position | (ring_words - 1)) + 1);
            while end < frame_end {
                end += word(end) >> 54;
            }
            let words: Vec<u64> = (position..end).map(word).collect();
            let plain = (position / frame_words) % 5 == 4 || words.len() as u64 > PACKED_WORDS_MAX;
            let form = if plain { |slot, position, words: &[u64]| frame(1, slot, position, words) } else { packed };
            stream.extend(form(slot as u16, position, &words));
            position = end;
        }
    }
    for id in (0..NAMES).filter(|_| names != 0) {
        let from = names + id * NAME;
        match file.get(from..from + NAME) {
            Some(name) if name[0] != 0 => stream.extend(frame(2, 0, id as u64, &words(name).collect::<Vec<_>>())),
            _ => {}
        }
    }
    stream
}

/// A ring, with everything ever written to it.
#[derive(Clone, Debug)]
pub struct Ring {
    version: Version,
    ring_words: u64,
    words: Vec<u64>,
    /// Positions where events and padding start.
    starts: Vec<u64>,
}

impl Default for Ring {
    fn default() -> Ring {
        Ring { version: Version::V5_4, ring_words: 1, words: Vec::new(), starts: Vec::new() }
    }
}

impl Ring {
    /// Adds an event of any type, with padding as the runtime writes it.
    pub fn event(&mut self, is_user: bool, kind: u8, id: u16, time: u64, payload: &[u64]) -> &mut Self {
        let length = payload.len() as u64 + 2;
        let left = self.ring_words - self.position() % self.ring_words;
        if length > left {
            self.starts.push(self.position());
            self.words.push(left << 54);
            self.words.resize(self.words.len() + left as usize - 1, 0xdead);
        }
        let header = length << 54 | u64::from(is_user) << 53 | u64::from(kind) << 49 | u64::from(id) << 36;
        self.raw(&[&[header, time], payload].concat())
    }

    /// Adds raw words.
    pub fn raw(&mut self, words: &[u64]) -> &mut Self {
        self.starts.push(self.position());
        self.words.extend(words);
        self
    }

    /// A phase begins.
    pub fn begin(&mut self, time: u64, phase: &str) -> &mut Self {
        let id = self.phase(phase);
        self.event(false, kind::BEGIN, id, time, &[])
    }

    /// A phase ends.
    pub fn end(&mut self, time: u64, phase: &str) -> &mut Self {
        let id = self.phase(phase);
        self.event(false, kind::END, id, time, &[])
    }

    /// A whole phase.
    pub fn span(&mut self, from: u64, to: u64, phase: &str) -> &mut Self {
        self.begin(from, phase).end(to, phase)
    }

    /// A counter's value.
    pub fn counter(&mut self, time: u64, name: &str, value: u64) -> &mut Self {
        let id = COUNTERS.iter().position(|(known, _)| *known == name).expect("a counter");
        self.event(false, kind::COUNTER, id as u16, time, &[value])
    }

    /// The six figures of a domain's heap at the end of a cycle, in words.
    pub fn heap(&mut self, time: u64, pools: u64, pools_live: u64, large: u64) -> &mut Self {
        self.counter(time, "major_heap_pool_words", pools).counter(time, "major_heap_pool_live_words", pools_live);
        self.counter(time, "major_heap_large_words", large).counter(time, "major_heap_pool_frag_words", 1);
        self.counter(time, "major_heap_pool_live_blocks", 2).counter(time, "major_heap_large_blocks", 3)
    }

    /// A lifecycle event; its value is omitted where the runtime has none.
    pub fn life(&mut self, time: u64, name: &str, value: u64) -> &mut Self {
        let id = LIFECYCLE.iter().position(|known| *known == name).expect("a lifecycle event") as u16;
        let payload: &[u64] = if id == lifecycle::RING_STOP { &[] } else { &[value] };
        self.event(false, kind::LIFECYCLE, id, time, payload)
    }

    /// A user event without a value: `unit`, `span_begin`, `span_end`.
    pub fn user(&mut self, time: u64, kind: &str, id: u16) -> &mut Self {
        let kind = tables::USER_TYPES.iter().position(|known| *known == kind).expect("a type of user event");
        self.event(true, kind as u8, id, time, &[])
    }

    /// A user event with a value.
    pub fn user_int(&mut self, time: u64, id: u16, value: i64) -> &mut Self {
        self.event(true, user::INT, id, time, &[value as u64])
    }

    /// Number of words written so far.
    pub fn position(&self) -> u64 {
        self.words.len() as u64
    }

    fn phase(&self, name: &str) -> u16 {
        let named = |id: &u16| tables::phase(self.version, *id).is_some_and(|phase| tables::phase_name(phase) == name);
        (0..64).find(named).expect("a phase of this version")
    }

    /// Position of the oldest event that was not overwritten.
    pub fn oldest(&self) -> u64 {
        let held = |start: &u64| self.position() - start < self.ring_words;
        self.starts.iter().copied().find(held).unwrap_or(self.position())
    }

    fn physical(&self) -> Vec<u64> {
        let mut physical = vec![0; self.ring_words as usize];
        for (position, word) in self.words.iter().enumerate() {
            physical[position % self.ring_words as usize] = *word;
        }
        physical
    }

    fn frames(&self, events: usize) -> Vec<Range<u64>> {
        let starts: Vec<u64> = self.starts.iter().copied().step_by(events.max(1)).collect();
        let ends = starts.iter().skip(1).copied().chain([self.position()]);
        starts.iter().copied().zip(ends).map(|(from, to)| from..to).collect()
    }
}
