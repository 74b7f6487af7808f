//! `rings/N.ring`: the file that words go to. Owns its form and what waits to be
//! written, which is whole frames.

use super::layout::{Layout, NAME};
use super::pen::{Job, Pen};
use rtscope_model::Time;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::Arc;

const MAGIC: u64 = u64::from_le_bytes(*b"RTSRING1");
const KIND_WORDS: u64 = 1;
const KIND_NAME: u64 = 2;
const KIND_END: u64 = 3;
/// So much waits to be written; a write costs as much as a wake-up.
const BUFFER_MAX: usize = 256 << 10;
/// Nothing waits longer: a recorder that is killed loses it.
const WAIT_NS: u64 = 250_000_000;

/// A stream under way.
#[derive(Debug)]
pub struct Stream {
    name: String,
    file: Arc<File>,
    buffer: Vec<u8>,
    /// Bytes handed to the pen.
    size: u64,
    flushed: Time,
    /// Where the frame begins that words are added to.
    open: usize,
}

impl Stream {
    /// Makes the file `name` of a capture, which must not be there yet.
    pub fn create(capture: &Path, name: String, layout: &Layout, pid: u32, now: Time) -> io::Result<Stream> {
        let file = OpenOptions::new().append(true).create_new(true).mode(0o600).open(capture.join(&name))?;
        let mut stream = Stream { name, file: Arc::new(file), buffer: Vec::new(), size: 0, flushed: now, open: 0 };
        let named = u64::from(layout.names.is_some());
        stream.push(&[MAGIC, layout.rings, layout.words, named, u64::from(pid), 0, 0, 0]);
        Ok(stream)
    }

    fn push(&mut self, words: &[u64]) {
        self.buffer.extend(words.iter().flat_map(|word| word.to_le_bytes()));
    }

    /// Begins a frame of words of ring `slot`; they are added to what this gives, as
    /// this machine's, and ended by [`Stream::end_words`].
    pub fn begin_words(&mut self, slot: u64, now: Time) -> &mut Vec<u8> {
        self.open = self.buffer.len();
        self.push(&[KIND_WORDS | slot << 16, 0, 0, now.0]);
        &mut self.buffer
    }

    /// Ends the frame: of its words the first `skip` are dropped, the next one is the
    /// one at `position`. A frame without words is none.
    pub fn end_words(&mut self, position: u64, skip: usize) {
        let begin = (self.open + 32).min(self.buffer.len());
        let first = skip.saturating_mul(8).saturating_add(begin).min(self.buffer.len());
        self.buffer.drain(begin..first);
        let words = (self.buffer.len() - begin) / 8;
        if words == 0 {
            self.drop_words();
            return;
        }
        let head = [position, words as u64];
        for (place, byte) in
            self.buffer.iter_mut().skip(self.open + 8).zip(head.iter().flat_map(|word| word.to_le_bytes()))
        {
            *place = byte;
        }
        if cfg!(target_endian = "big") {
            self.buffer.iter_mut().skip(begin).collect::<Vec<_>>().chunks_mut(8).for_each(<[_]>::reverse);
        }
    }

    /// Forgets the frame that was begun.
    pub fn drop_words(&mut self) {
        self.buffer.truncate(self.open);
    }

    /// The name of a user event.
    pub fn name(&mut self, id: u64, name: &[u8; NAME as usize], now: Time) {
        self.push(&[KIND_NAME, id, NAME / 8, now.0]);
        self.buffer.extend(name);
    }

    /// The process has ended in good order.
    pub fn end(&mut self, now: Time) {
        self.push(&[KIND_END, 0, 0, now.0]);
    }

    /// What it is called in the capture.
    pub fn name_in_capture(&self) -> &str {
        &self.name
    }

    /// Hands over what has waited long enough, or all.
    pub fn flush(&mut self, pen: &Pen, now: Time, all: bool) {
        let due = all || self.buffer.len() >= BUFFER_MAX || now.since(self.flushed) >= WAIT_NS;
        if !due || self.buffer.is_empty() {
            return;
        }
        let bytes = std::mem::replace(&mut self.buffer, pen.buffer());
        let count = bytes.len() as u64;
        pen.write(Job { file: Arc::clone(&self.file), name: self.name.clone(), size: self.size, bytes });
        self.size += count;
        self.flushed = now;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_as_the_format_says() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("0.ring");
        let pen = Pen::start(|name, error| panic!("{name}: {error}")).unwrap();
        let layout = Layout { rings: 4, words: 8, headers: 64, header_bytes: 80, data: 384, names: Some(640) };
        let mut stream = Stream::create(folder.path(), "0.ring".into(), &layout, 77, Time(5)).unwrap();
        let words: Vec<u8> = [1_u64, 2, 3].iter().flat_map(|word| word.to_ne_bytes()).collect();
        stream.begin_words(2, Time(9)).extend(&words);
        stream.end_words(101, 1);
        stream.begin_words(3, Time(9)).extend(&words);
        stream.end_words(100, 3);
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
        assert_eq!(read[8..14], [1 | 2 << 16, 101, 2, 9, 2, 3]);
        assert_eq!(read[14..18], [2, 7, 16, 10]);
        assert_eq!(read[34..], [3, 0, 0, 11]);
        assert!(Stream::create(folder.path(), "0.ring".into(), &layout, 77, Time(5)).is_err());
    }
}
