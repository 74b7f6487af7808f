//! Copies words out of one ring file before its runtime overwrites them. Owns the
//! protocol of head and tail; refuses to look into events.
//!
//! A runtime stores an event's words, then moves the ring's tail; before that it moves
//! the head past what the words will overwrite. So `position..tail` is copied piece by
//! piece, and the head is reread after each: what it has passed meanwhile may have been
//! overwritten and is dropped. Head and tail always lie between two events.

use super::layout::{NAME, NAMES, RingLayout, WORD};
use super::stream::StreamWriter;
use rtscope_decode::ocaml_ring::PACKED_WORDS_MAX;
use rtscope_model::Time;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::atomic::{Ordering, fence};

/// Number of last copied words kept to recognise the ring: one of this many is a
/// stamp, which no other run of a program repeats.
const KNOWN_WORDS: u64 = 8;
/// Rings are assigned in order: this many after the last used one are checked.
const AHEAD: u64 = 8;
/// Machines that may show one thread's stores to another in another order can show
/// the head late, by at most the longest event.
const GUARD_WORDS: Option<u64> = if cfg!(target_arch = "x86_64") { None } else { Some(1024) };

/// One ring file that is being copied.
#[derive(Debug)]
pub struct Ring {
    pub file: File,
    pub layout: RingLayout,
    slots: Vec<RingSlot>,
    /// Rings whose headers are read.
    looked_at: u64,
    headers: Vec<u8>,
    /// Words that were just read.
    words: Vec<u8>,
    names: Vec<[u8; NAME as usize]>,
}

#[derive(Clone, Debug, Default)]
struct RingSlot {
    /// Everything before was copied or is lost.
    position: u64,
    /// The words before `position`.
    known: Vec<u8>,
}

#[derive(Copy, Clone, Eq, PartialEq, Debug)]
pub enum Round {
    /// Number of new words in the fullest ring.
    Copied(u64),
    /// The rings are not the previous ones: the process called exec, and the new program made its
    /// own in the same file. Nothing was copied of them.
    Restarted,
}

/// Head and tail of a ring.
type Ends = (u64, u64);

impl Ring {
    pub fn new(file: File, layout: RingLayout) -> Ring {
        let looked_at = AHEAD.min(layout.rings);
        Ring { file, layout, slots: Vec::new(), looked_at, headers: Vec::new(), words: Vec::new(), names: Vec::new() }
    }

    pub fn has_begun(&mut self) -> io::Result<bool> {
        self.read_headers()?;
        Ok((0..self.looked_at).any(|slot| self.seen_ends(slot).1 > 0))
    }

    /// Copies what is new in all rings. Errors: the file is truncated or cannot be read.
    pub fn copy(&mut self, stream: &mut StreamWriter, now: Time) -> io::Result<Round> {
        self.read_headers()?;
        let mut most = 0;
        for slot in 0..self.looked_at {
            let ends = self.seen_ends(slot);
            if ends == (0, 0) && self.slots.get(slot as usize).is_none_or(|slot| slot.position == 0) {
                continue;
            }
            if self.slots.len() <= slot as usize {
                self.slots.resize(slot as usize + 1, RingSlot::default());
            }
            match self.copy_slot(slot, ends, stream, now)? {
                Round::Copied(words) => most = most.max(words),
                Round::Restarted => return Ok(Round::Restarted),
            }
        }
        Ok(Round::Copied(most))
    }

    /// Reads all headers that matter: more of them while the last ones are in use.
    fn read_headers(&mut self) -> io::Result<()> {
        loop {
            let bytes = self.looked_at * self.layout.header_bytes;
            self.headers.resize(usize::try_from(bytes).unwrap_or(0), 0);
            self.file.read_exact_at(&mut self.headers, self.layout.header(0))?;
            let last = (0..self.looked_at).rev().find(|slot| self.seen_ends(*slot).1 > 0);
            let wanted = last.map_or(0, |last| last + 1 + AHEAD).min(self.layout.rings);
            if wanted <= self.looked_at {
                return Ok(());
            }
            self.looked_at = wanted;
        }
    }

    fn seen_ends(&self, slot: u64) -> Ends {
        let at = usize::try_from(slot * self.layout.header_bytes).unwrap_or(usize::MAX);
        self.headers.get(at..).map_or((0, 0), ends)
    }

    fn read_ends(&self, slot: u64) -> io::Result<Ends> {
        let mut bytes = [0; 16];
        self.file.read_exact_at(&mut bytes, self.layout.header(slot))?;
        Ok(ends(&bytes))
    }

    fn copy_slot(&mut self, slot: u64, seen: Ends, stream: &mut StreamWriter, now: Time) -> io::Result<Round> {
        let (head, tail) = seen;
        let Some(state) = self.slots.get(slot as usize) else { return Ok(Round::Copied(0)) };
        let position = state.position;
        if tail < position {
            // Accepted only if it is seen twice.
            let again = self.read_ends(slot)?.1 < position;
            return Ok(if again { Round::Restarted } else { Round::Copied(0) });
        }
        let live = tail.checked_sub(head).filter(|live| *live <= self.layout.words);
        if tail == position || live.is_none() {
            // Nothing new, or an inconsistent read of the two ends: the next read will show.
            return Ok(Round::Copied(0));
        }
        let (before, mark) = (state.known.clone(), stream.mark());
        let begin = if position < head { RingSlot { position: head, known: Vec::new() } } else { state.clone() };
        let copied = self.copy_words(slot, begin, seen, stream, now);
        // After everything was read: those words also belonged to this program.
        let copied = match copied {
            Ok(next) => self.still_there(slot, &before, position).map(|there| next.filter(|_| there)),
            Err(error) => Err(error),
        };
        let Ok(Some(next)) = copied else {
            // It is not certain yet that the added words belong to this program.
            stream.drop_since(mark);
            return copied.map(|_| Round::Restarted);
        };
        if let Some(state) = self.slots.get_mut(slot as usize) {
            *state = next;
        }
        Ok(Round::Copied(tail - position))
    }

    /// Copies from `next` up to the tail; `None` if the ring was restarted meanwhile.
    fn copy_words(
        &mut self,
        slot: u64,
        mut next: RingSlot,
        (mut head, tail): Ends,
        stream: &mut StreamWriter,
        now: Time,
    ) -> io::Result<Option<RingSlot>> {
        while next.position < tail {
            let from = next.position;
            let (offset, in_a_row) = self.layout.place(slot, from);
            // As many as a frame takes, which are still in the nearest cache when it is made.
            self.words.resize(words_to_bytes(in_a_row.min(tail - from).min(PACKED_WORDS_MAX)), 0);
            self.file.read_exact_at(&mut self.words, offset)?;
            // The words above are read before the head below.
            fence(Ordering::SeqCst);
            let (head_after, tail_after) = self.read_ends(slot)?;
            if tail_after < tail || head_after < head {
                return Ok(None);
            }
            head = head_after;
            next.position = first_sound(from.max(head), (tail, tail_after), self.layout.words);
            if next.position > from {
                next.known.clear();
            }
            let sound = self.words.get(words_to_bytes(next.position - from)..).unwrap_or_default();
            let taken = stream.words(slot, next.position, sound, now);
            next.known = remembered(&next.known, sound.get(..taken).unwrap_or_default());
            next.position += taken as u64 / WORD;
        }
        Ok(Some(next))
    }

    /// Whether the words before `position` are still there, unless they were overwritten.
    fn still_there(&mut self, slot: u64, known: &[u8], position: u64) -> io::Result<bool> {
        let from = position - known.len() as u64 / WORD;
        self.words.clear();
        let mut at = from;
        while at < position {
            let (offset, in_a_row) = self.layout.place(slot, at);
            let count = in_a_row.min(position - at);
            let start = self.words.len();
            self.words.resize(start + words_to_bytes(count), 0);
            self.file.read_exact_at(self.words.get_mut(start..).unwrap_or_default(), offset)?;
            at += count;
        }
        fence(Ordering::SeqCst);
        Ok(self.words == known || self.read_ends(slot)?.0 > from)
    }

    /// Copies names that are new. They are registered in order, so the search ends at
    /// the first empty one; `all` checks every place, and rereads known ones.
    pub fn copy_names(&mut self, stream: &mut StreamWriter, now: Time, all: bool) -> io::Result<()> {
        const BATCH: u64 = 16;
        let Some(table) = self.layout.names else { return Ok(()) };
        // The last known one may have been read while it was written.
        let mut next = if all { 0 } else { (self.names.len() as u64).saturating_sub(1) };
        while next < NAMES {
            let count = BATCH.min(NAMES - next);
            let mut bytes = [0; (BATCH * NAME) as usize];
            let wanted = bytes.get_mut(..(count * NAME) as usize).unwrap_or_default();
            self.file.read_exact_at(wanted, table + next * NAME)?;
            for name in wanted.chunks_exact(NAME as usize) {
                let Ok(name) = <[u8; NAME as usize]>::try_from(name) else { continue };
                if name.first() == Some(&0) && !all {
                    return Ok(());
                }
                self.take_name(next, name, stream, now);
                next += 1;
            }
        }
        Ok(())
    }

    fn take_name(&mut self, id: u64, name: [u8; NAME as usize], stream: &mut StreamWriter, now: Time) {
        let place = id as usize;
        if name.first() == Some(&0) || self.names.get(place) == Some(&name) {
            return;
        }
        if self.names.len() <= place {
            self.names.resize(place + 1, [0; NAME as usize]);
        }
        if let Some(known) = self.names.get_mut(place) {
            *known = name;
        }
        stream.name(id, &name, now);
    }
}

/// The first position that cannot have been overwritten; if the head may be seen
/// late and the ring is almost full, that excludes everything copied.
fn first_sound(head: u64, (tail, tail_after): (u64, u64), words: u64) -> u64 {
    let full = |guard: u64| (tail_after + guard).saturating_sub(words) > head;
    if GUARD_WORDS.is_some_and(full) { tail } else { head }
}

fn ends(header: &[u8]) -> Ends {
    let word =
        |at: usize| header.get(at..at + 8).map_or(0, |word| u64::from_ne_bytes(word.try_into().unwrap_or_default()));
    (word(0), word(8))
}

fn words_to_bytes(words: u64) -> usize {
    usize::try_from(words.saturating_mul(WORD)).unwrap_or(usize::MAX)
}

/// The last words known now.
fn remembered(before: &[u8], fresh: &[u8]) -> Vec<u8> {
    let most = words_to_bytes(KNOWN_WORDS);
    let missing = most.saturating_sub(fresh.len());
    let before = before.get(before.len().saturating_sub(missing)..).unwrap_or_default();
    [before, fresh.get(fresh.len().saturating_sub(most)..).unwrap_or_default()].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    const WORDS: u64 = 8192;

    /// A file with one ring that has 8,000 words of events, truncated after `words` of them.
    fn truncated_after(words: u64) -> (tempfile::TempDir, Ring, StreamWriter) {
        let layout = RingLayout { rings: 1, words: WORDS, headers: 64, header_bytes: 80, data: 144, names: None };
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ring");
        let mut bytes = vec![0; 64];
        bytes.extend([0, 8_000_u64].iter().flat_map(|word| word.to_ne_bytes()));
        bytes.resize(144, 0);
        let event = [2_u64 << 54 | 2 << 49 | 11 << 36, 5];
        bytes.extend(event.iter().cycle().take(words as usize).flat_map(|word| word.to_ne_bytes()));
        std::fs::write(&path, bytes).unwrap();
        let rings = crate::capture::folder::Folder::open(folder.path()).unwrap();
        let stream = StreamWriter::create(&rings, "0.ring", &layout, 7, Time(1)).unwrap();
        (folder, Ring::new(File::open(path).unwrap(), layout), stream)
    }

    #[test]
    fn what_was_copied_before_a_read_fails_is_dropped() {
        let (_folder, mut ring, mut stream) = truncated_after(8_000);
        let head = stream.mark();
        assert_eq!(ring.copy(&mut stream, Time(2)).unwrap(), Round::Copied(8_000));
        assert!(stream.mark() > head);

        // The first piece is there, the second is not.
        const { assert!(PACKED_WORDS_MAX < 5_000) };
        let (_folder, mut ring, mut stream) = truncated_after(5_000);
        let head = stream.mark();
        assert_eq!(ring.copy(&mut stream, Time(2)).unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
        assert_eq!(stream.mark(), head);
    }
}
