//! Sequences of packets. Every track has its own: times are then differences of a few bytes, and no packet
//! names its track.
//!
//! Owns the mapping of tracks to sequences, the start of a sequence, and the encoding of times. Spans of one track
//! come in order; those of all tracks do not, since lanes' segments become known at different times.

use super::field::{PACKET, clock, defaults, interned, packet};
use super::wire::{Short, Wire};
use crate::timeline::fact::About;
use crate::timeline::state::{FIXED, ROLES};
use rtscope_model::Time;
use std::collections::HashSet;

/// `SEQUENCE_FLAGS`: the incremental state starts here; this packet needs earlier state.
pub(super) const CLEARED: u64 = 1;
pub(super) const REFERS: u64 = 2;

/// Categories are the roles of states, numbered from 1, followed by this one.
pub(super) const PAUSE_ROLE: u64 = ROLES.len() as u64 + 1;

/// A sequence's index in [`Sequences`].
#[derive(Copy, Clone, Eq, PartialEq, Debug)]
pub(super) struct SequenceIndex(usize);

/// The sequence of packets that are not events of a track: descriptors, samples.
pub(super) const MAIN: SequenceIndex = SequenceIndex(0);

impl SequenceIndex {
    /// Its number in the trace.
    pub fn number(self) -> u64 {
        self.0 as u64 + 1
    }
}

/// Where an event is written: a track, and the sequence of its packets.
#[derive(Copy, Clone, Eq, PartialEq, Debug)]
pub(super) struct On {
    pub place: SequenceIndex,
    pub uuid: u64,
}

/// State that the packets of a sequence refer to.
struct Sequence {
    /// Its encoded number, a field of each packet.
    number: Short,
    /// The track of events that do not name one.
    track: Option<u64>,
    /// Time of the last packet with a time difference.
    now: Time,
    /// Numbers of states whose names were written; fixed ones as bits.
    fixed: u64,
    named: HashSet<u64>,
}

impl Sequence {
    fn new(place: SequenceIndex, track: Option<u64>, now: Time) -> Sequence {
        let number = Short::field(packet::SEQUENCE, place.number());
        Sequence { number, track, now, fixed: 0, named: HashSet::new() }
    }

    /// Time since the sequence's last packet; `None`: the event is earlier.
    #[inline]
    fn since(&mut self, at: Time) -> Option<u64> {
        let since = at.0.checked_sub(self.now.0)?;
        self.now = at;
        Some(since)
    }

    /// Writes a packet of an event at `at`, which is `since` later than the one before.
    fn packet(&self, (at, since): (Time, Option<u64>), out: &mut Wire, rest: impl FnOnce(&mut Wire)) {
        out.message(PACKET, |packet| {
            packet.number(packet::TIMESTAMP, since.unwrap_or(at.0));
            if since.is_none() {
                packet.number(packet::TIMESTAMP_CLOCK, clock::BOOTTIME);
            }
            packet.short(self.number);
            rest(packet);
        });
    }
}

/// All sequences of a trace.
pub(super) struct Sequences {
    all: Vec<Sequence>,
    /// By track number: the number of its sequence, 0: none.
    of_track: Vec<u32>,
}

impl Default for Sequences {
    fn default() -> Self {
        Sequences { all: vec![Sequence::new(MAIN, None, Time(u64::MAX))], of_track: Vec::new() }
    }
}

impl Sequences {
    /// The sequence of a track; `None`: the track was not declared.
    #[inline]
    pub fn of_track(&self, uuid: u64) -> Option<On> {
        let number = self.of_track.get(usize::try_from(uuid).ok()?).copied()?;
        let place = (number as usize).checked_sub(1).map(SequenceIndex)?;
        Some(On { place, uuid })
    }

    /// Begins the sequence of a track with a small number.
    pub fn begin_track(&mut self, uuid: u64, at: Time, out: &mut Wire) -> On {
        let place = self.begin(Some(uuid), at, out);
        let index = uuid as usize;
        if index >= self.of_track.len() {
            self.of_track.resize(index + 1, 0);
        }
        if let Some(of) = self.of_track.get_mut(index) {
            *of = place.number() as u32;
        }
        On { place, uuid }
    }

    /// Begins a sequence at a time that none of its events should precede.
    pub fn begin(&mut self, track: Option<u64>, at: Time, out: &mut Wire) -> SequenceIndex {
        let place = SequenceIndex(self.all.len());
        self.all.push(Sequence::new(place, track, at));
        out.message(PACKET, |packet| {
            packet.number(packet::SEQUENCE, place.number());
            packet.number(packet::SEQUENCE_FLAGS, CLEARED);
            packet.message(packet::INTERNED_DATA, |names| {
                for (role, iid) in ROLES.iter().chain(&["pause"]).zip(1..=PAUSE_ROLE) {
                    names.message(interned::CATEGORIES, |name| pair(name, iid, role));
                }
                for about in About::ALL {
                    names.message(interned::ANNOTATION_NAMES, |name| pair(name, number(about), about.word()));
                }
            });
            packet.message(packet::DEFAULTS, |packets| {
                packets.number(defaults::TIMESTAMP_CLOCK, clock::OWN);
                if let Some(uuid) = track {
                    packets.message(defaults::TRACK_EVENT, |events| events.number(defaults::TRACK, uuid));
                }
            });
        });
        out.message(PACKET, |packet| {
            packet.number(packet::SEQUENCE, place.number());
            packet.message(packet::CLOCK_SNAPSHOT, |snapshot| {
                for id in [clock::BOOTTIME, clock::OWN] {
                    snapshot.message(clock::CLOCKS, |one| {
                        one.number(clock::ID, id);
                        one.number(clock::TIMESTAMP, at.0);
                        if id == clock::OWN {
                            one.number(clock::INCREMENTAL, 1);
                        }
                    });
                }
            });
        });
        place
    }

    /// Whether an event must name its track: the sequence has no track, or another one.
    pub fn names_track(&self, on: On) -> bool {
        self.all.get(on.place.0).is_none_or(|sequence| sequence.track != Some(on.uuid))
    }

    /// Writes a packet of an event at `at`; `rest` writes all other fields.
    pub fn packet(&mut self, on: On, at: Time, out: &mut Wire, rest: impl FnOnce(&mut Wire)) {
        let Some(sequence) = self.all.get_mut(on.place.0) else { return };
        let since = sequence.since(at);
        sequence.packet((at, since), out, rest);
    }

    /// Like [`Sequences::packet`], for frequent events.
    #[inline]
    pub fn often(&mut self, on: On, at: Time, tail: Short, out: &mut Wire) {
        let Some(sequence) = self.all.get_mut(on.place.0) else { return };
        let since = sequence.since(at);
        match since.and_then(|ns| Short::field(packet::TIMESTAMP, ns).then(sequence.number)) {
            Some(head) => out.joined(PACKET, head, tail),
            None => sequence.packet((at, since), out, |packet| packet.short(tail)),
        }
    }

    /// Whether the name with the number `iid` has not been written in a sequence yet; marks it as written.
    #[inline]
    pub fn is_new(&mut self, place: SequenceIndex, iid: u64) -> bool {
        let Some(sequence) = self.all.get_mut(place.0) else { return false };
        if iid >= FIXED {
            return sequence.named.insert(iid);
        }
        let (before, bit) = (sequence.fixed, 1 << iid);
        sequence.fixed |= bit;
        before & bit == 0
    }
}

/// The number of the name of a fact's subject, from 1.
pub(super) fn number(about: About) -> u64 {
    about as u64 + 1
}

/// Writes a number and its text.
pub(super) fn pair(name: &mut Wire, iid: u64, text: &str) {
    name.number(interned::IID, iid);
    name.text(interned::NAME, text);
}
