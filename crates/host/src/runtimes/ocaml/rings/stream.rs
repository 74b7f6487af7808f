//! `rings/N.ring`: the file that receives the words. Owns its form and the buffer of
//! whole frames that wait to be written.

use super::layout::{NAME, RingLayout};
use super::pen::{Pen, WriteJob};
use crate::capture::folder::Folder;
use rtscope_decode::ocaml_ring::Packer;
use rtscope_decode::ocaml_ring::captured::{self, FRAME_WORDS, HEAD_WORDS, frame, kind};
use rtscope_model::Time;
use std::fs::File;
use std::io;
use std::sync::Arc;

/// Bytes that wait at most; a write costs as much as a wake-up.
const BUFFER_MAX: usize = 256 << 10;
/// Longest time that frames wait: a recorder that is killed loses them.
const WAIT_NS: u64 = 250_000_000;

#[derive(Debug)]
pub struct StreamWriter {
    /// Its name in the capture.
    pub name: String,
    /// Without one, the caller takes the frames.
    file: Option<Arc<File>>,
    head: [u64; HEAD_WORDS],
    buffer: Vec<u8>,
    /// Bytes passed to the pen.
    size: u64,
    flushed: Time,
    packer: Packer,
}

impl StreamWriter {
    /// Makes the file `rings/NAME` of a capture; `rings` is that folder.
    pub fn create(rings: &Folder, name: &str, layout: &RingLayout, pid: u32, now: Time) -> io::Result<StreamWriter> {
        let file = rings.create_to_append(name)?;
        let stream = StreamWriter::in_memory(layout, pid, now);
        Ok(StreamWriter { name: format!("rings/{name}"), file: Some(Arc::new(file)), ..stream })
    }

    /// A stream without a file: the caller takes its frames.
    pub fn in_memory(layout: &RingLayout, pid: u32, now: Time) -> StreamWriter {
        let head = captured::head(layout.rings, layout.words, layout.names.is_some(), pid);
        let (name, file, packer) = (String::new(), None, Packer::default());
        let mut stream = StreamWriter { name, file, head, buffer: Vec::new(), size: 0, flushed: now, packer };
        stream.push(&head);
        stream
    }

    /// The frames since the last call, after a head.
    pub fn take(&mut self) -> Vec<u8> {
        let taken = std::mem::take(&mut self.buffer);
        let head = self.head;
        self.push(&head);
        taken
    }

    fn push(&mut self, words: &[u64]) {
        self.buffer.extend(words.iter().flat_map(|word| word.to_le_bytes()));
    }

    /// Adds words of ring `slot` in this machine's byte order; the first is at `position` and
    /// begins an event. Returns how many bytes were taken: all but a last event that is not whole.
    pub fn words(&mut self, slot: u64, position: u64, words: &[u8], now: Time) -> usize {
        let begin = self.buffer.len();
        self.push(&frame(kind::PACKED, slot, position, 0, now));
        self.push(&[0]);
        let taken = self.packer.pack(words, &mut self.buffer);
        let size = self.buffer.len().next_multiple_of(8);
        self.buffer.resize(size, 0);
        let follow = ((size - begin) / 8 - FRAME_WORDS) as u64;
        self.set(begin, 2, follow);
        self.set(begin, FRAME_WORDS, taken as u64 / 8);
        if taken == 0 {
            self.buffer.truncate(begin);
            return self.words_as_they_are(slot, position, words, now);
        }
        taken
    }

    /// Adds words that are not events: judging them is not a recorder's task.
    fn words_as_they_are(&mut self, slot: u64, position: u64, words: &[u8], now: Time) -> usize {
        if !words.is_empty() {
            self.push(&frame(kind::WORDS, slot, position, words.len() as u64 / 8, now));
            let own = words.chunks_exact(8).filter_map(|word| word.try_into().ok()).map(u64::from_ne_bytes);
            self.buffer.extend(own.flat_map(u64::to_le_bytes));
        }
        words.len()
    }

    /// Sets a word of the frame that begins at `begin`.
    fn set(&mut self, begin: usize, word: usize, value: u64) {
        let at = begin + 8 * word;
        if let Some(place) = self.buffer.get_mut(at..at + 8) {
            place.copy_from_slice(&value.to_le_bytes());
        }
    }

    /// The present end of the frames.
    pub fn mark(&self) -> usize {
        self.buffer.len()
    }

    pub fn drop_since(&mut self, mark: usize) {
        self.buffer.truncate(mark);
    }

    /// Adds the name of a user event.
    pub fn name(&mut self, id: u64, name: &[u8; NAME as usize], now: Time) {
        self.push(&frame(kind::NAME, 0, id, NAME / 8, now));
        self.buffer.extend(name);
    }

    /// Records that the process has ended regularly.
    pub fn end(&mut self, now: Time) {
        self.push(&frame(kind::ENDED, 0, 0, 0, now));
    }

    /// Passes to the pen what has waited long enough, or everything.
    pub fn flush(&mut self, pen: &Pen, now: Time, all: bool) {
        let due = all || self.buffer.len() >= BUFFER_MAX || now.since(self.flushed) >= WAIT_NS;
        if !due || self.buffer.is_empty() {
            return;
        }
        let Some(file) = self.file.clone() else { return };
        let bytes = std::mem::replace(&mut self.buffer, pen.buffer());
        let count = bytes.len() as u64;
        pen.write(WriteJob { file, name: self.name.clone(), size: self.size, bytes });
        self.size += count;
        self.flushed = now;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_match_the_format() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("0.ring");
        let pen = Pen::start(|name, error| panic!("{name}: {error}")).unwrap();
        let layout = RingLayout { rings: 4, words: 8, headers: 64, header_bytes: 80, data: 384, names: Some(640) };
        let rings = Folder::open(folder.path()).unwrap();
        let mut stream = StreamWriter::create(&rings, "0.ring", &layout, 77, Time(5)).unwrap();
        let bytes = |words: [u64; 3]| words.iter().flat_map(|word| word.to_ne_bytes()).collect::<Vec<u8>>();
        let begin = 2_u64 << 54 | 2 << 49 | 11 << 36;
        assert_eq!(stream.words(2, 101, &bytes([begin, 5, begin]), Time(9)), 16);
        let mark = stream.mark();
        stream.words(2, 103, &bytes([begin, 6, begin]), Time(9));
        stream.drop_since(mark);
        // An empty event has no words.
        assert_eq!(stream.words(3, 100, &bytes([0, 2, 3]), Time(9)), 24);
        assert_eq!(stream.words(3, 103, &[], Time(9)), 0);
        stream.name(7, &[b'x'; 128], Time(10));
        stream.end(Time(11));
        stream.flush(&pen, Time(12), false);
        assert!(std::fs::read(&path).unwrap().is_empty());
        stream.flush(&pen, Time(12), true);
        let written = pen.finish();
        let bytes = std::fs::read(&path).unwrap();
        assert_eq!(bytes.len() as u64, written);
        let read: Vec<u64> = bytes.chunks(8).map(|word| u64::from_le_bytes(word.try_into().unwrap())).collect();
        assert_eq!(bytes[..8], *b"RTSRING1");
        assert_eq!(read[1..8], [4, 8, 1, 77, 0, 0, 0]);
        assert_eq!(read[8..13], [4 | 2 << 16, 101, 3, 9, 2]);
        assert_eq!(bytes[104], 255);
        assert_eq!(bytes[105..113], begin.to_le_bytes());
        assert_eq!(bytes[113..120], [5, 0, 0, 0, 0, 0, 0]);
        assert_eq!(read[15..22], [1 | 3 << 16, 100, 3, 9, 0, 2, 3]);
        assert_eq!(read[22..26], [2, 7, 16, 10]);
        assert_eq!(read[42..], [3, 0, 0, 11]);
        assert!(StreamWriter::create(&rings, "0.ring", &layout, 77, Time(5)).is_err());
    }
}
