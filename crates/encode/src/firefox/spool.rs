//! Many streams of bytes, written at once and read one after the other, in one temporary file. Owns where each
//! stream's pieces are, and how much is held in memory.

use std::io::{self, Read, Seek, SeekFrom, Write};

/// A stream is moved to the file when it holds this many bytes.
const PIECE: usize = 64 << 10;
/// All streams are moved when they hold this many bytes together.
const HELD: usize = 16 << 20;

#[derive(Default)]
struct SpoolStream {
    held: Vec<u8>,
    /// Offset and length of each piece.
    pieces: Vec<(u64, u32)>,
}

/// A file that can be read back.
trait File: Read + Write + Seek {}

impl<F: Read + Write + Seek> File for F {}

/// Streams in a file that can be read back.
pub(super) struct Spool {
    file: Box<dyn File>,
    streams: Vec<SpoolStream>,
    held: usize,
    end: u64,
    written: u64,
    most: u64,
}

impl Spool {
    /// Streams in an empty file; more than `most` bytes are refused.
    pub fn new(file: impl Read + Write + Seek + 'static, most: u64) -> Spool {
        Spool { file: Box::new(file), streams: Vec::new(), held: 0, end: 0, written: 0, most }
    }

    /// Creates a stream and returns its number.
    pub fn stream(&mut self) -> usize {
        self.streams.push(SpoolStream::default());
        self.streams.len() - 1
    }

    /// Appends to a stream.
    pub fn push(&mut self, stream: usize, bytes: &[u8]) -> io::Result<()> {
        self.written += bytes.len() as u64;
        if self.written > self.most {
            let most = self.most >> 30;
            let why =
                format!("the recording is too long for this format, which is read as a whole: more than {most} GiB");
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, format!("{why}; --to perfetto has no such bound")));
        }
        let Some(to) = self.streams.get_mut(stream) else { return Ok(()) };
        to.held.extend_from_slice(bytes);
        self.held += bytes.len();
        if to.held.len() >= PIECE {
            self.put(stream)?;
        }
        if self.held >= HELD {
            (0..self.streams.len()).try_for_each(|stream| self.put(stream))?;
        }
        Ok(())
    }

    fn put(&mut self, stream: usize) -> io::Result<()> {
        let Some(of) = self.streams.get_mut(stream).filter(|of| !of.held.is_empty()) else { return Ok(()) };
        self.file.seek(SeekFrom::Start(self.end))?;
        self.file.write_all(&of.held)?;
        of.pieces.push((self.end, of.held.len() as u32));
        self.end += of.held.len() as u64;
        self.held -= of.held.len();
        of.held.clear();
        // Otherwise many streams would keep the memory that one of them once needed.
        of.held.shrink_to(PIECE);
        Ok(())
    }

    /// Copies a whole stream to `out`.
    pub fn copy(&mut self, stream: usize, out: &mut impl Write) -> io::Result<()> {
        let Some(of) = self.streams.get(stream) else { return Ok(()) };
        let mut piece = Vec::new();
        for (place, length) in &of.pieces {
            piece.resize(*length as usize, 0);
            self.file.seek(SeekFrom::Start(*place))?;
            self.file.read_exact(&mut piece)?;
            out.write_all(&piece)?;
        }
        out.write_all(&of.held)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Cursor;

    #[test]
    fn streams_come_back_whole_and_memory_is_bounded() {
        let mut spool = Spool::new(Cursor::new(Vec::new()), u64::MAX);
        let streams: Vec<usize> = (0..500).map(|_| spool.stream()).collect();
        for round in 0..100u32 {
            for stream in &streams {
                spool.push(*stream, format!("{stream}:{round} {}", "x".repeat(900)).as_bytes()).unwrap();
                assert!(spool.held < HELD);
            }
        }
        for stream in streams {
            let mut back = Vec::new();
            spool.copy(stream, &mut back).unwrap();
            let expected: String = (0..100).map(|round| format!("{stream}:{round} {}", "x".repeat(900))).collect();
            assert!(back == expected.as_bytes(), "{stream}");
        }
    }

    #[test]
    fn too_much_is_refused_in_words() {
        let mut spool = Spool::new(Cursor::new(Vec::new()), 1 << 30);
        let stream = spool.stream();
        spool.written = 1 << 30;
        let error = spool.push(stream, b"x").unwrap_err();
        assert!(error.to_string().contains("more than 1 GiB; --to perfetto"), "{error}");
    }
}
