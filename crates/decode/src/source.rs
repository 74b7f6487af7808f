//! The input of decoders: bytes at an offset. Files are read with `pread`, never mapped: a program may truncate its
//! log while we read, and a mapped page past the new end would kill the reader.

use rustix::fs::{SeekFrom, seek};
use std::fs::File;
use std::io::{self, Read, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Random access to bytes that may still grow or shrink.
pub trait ReadAt: Send + Sync {
    /// Reads up to `buffer.len()` bytes at `offset`; 0 at or past the end.
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize>;

    /// Size now, in bytes.
    fn size(&self) -> io::Result<u64>;

    /// Number of bytes after what can be read: their writer is writing them, or was killed while it did.
    ///
    /// # Errors
    /// The source cannot be read.
    fn left_over(&self) -> io::Result<u64> {
        Ok(0)
    }

    /// Fills the buffer from `offset` on, as far as there are bytes; returns how many.
    ///
    /// # Errors
    /// The source cannot be read.
    fn read_full(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let mut filled = 0;
        while let Some(rest) = buffer.get_mut(filled..).filter(|rest| !rest.is_empty()) {
            match self.read_at(rest, offset.saturating_add(filled as u64)) {
                Ok(0) => break,
                Ok(count) => filled += count.min(rest.len()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(filled)
    }
}

impl ReadAt for File {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        std::os::unix::fs::FileExt::read_at(self, buffer, offset)
    }

    fn size(&self) -> io::Result<u64> {
        Ok(self.metadata()?.len())
    }
}

impl ReadAt for Vec<u8> {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let from = usize::try_from(offset).unwrap_or(usize::MAX).min(self.len());
        let count = buffer.len().min(self.len() - from);
        buffer[..count].copy_from_slice(&self[from..from + count]);
        Ok(count)
    }

    fn size(&self) -> io::Result<u64> {
        Ok(self.len() as u64)
    }
}

/// Copies a log that comes through a pipe into `file` (such as an unlinked temporary file), so that it can be opened.
/// A read error ends the copy: what came before is kept, and the error is returned with its length.
pub fn spool(mut from: impl Read, mut file: &File) -> (u64, io::Result<()>) {
    let mut buffer = vec![0; 64 << 10];
    let mut copied = 0;
    loop {
        let count = match from.read(&mut buffer) {
            Ok(0) => return (copied, Ok(())),
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return (copied, Err(error)),
        };
        if let Err(error) = file.write_all(buffer.get(..count).unwrap_or_default()) {
            return (copied, Err(error));
        }
        copied += count as u64;
    }
}

/// Longer than two records of any format here, whose lengths have 16 bits: so long a run of zeros always
/// exceeds a record.
const HOLE_MAX: u64 = 128 << 10;

/// A log that its writer wrote sequentially: it ends at its first long hole. Reading a hole takes time but no space
/// on disk, so a file of a few bytes could keep a reader busy for days.
#[derive(Debug)]
pub struct Written {
    file: File,
    /// No long hole lies before this offset.
    sound: AtomicU64,
}

impl Written {
    /// The written part of `file`, which may still grow.
    pub fn new(file: File) -> Written {
        Written { file, sound: AtomicU64::new(0) }
    }

    /// Where the file, or its written part, ends now.
    fn end(&self) -> io::Result<u64> {
        let mut at = self.sound.load(Ordering::Relaxed);
        let size = self.file.metadata()?.len();
        while at < size {
            // File systems without holes report one at the end.
            let Ok(hole) = seek(&self.file, SeekFrom::Hole(at)) else { return Ok(size) };
            // Without data after it, it is the last hole.
            let data = seek(&self.file, SeekFrom::Data(hole)).unwrap_or(size);
            if data.saturating_sub(hole) > HOLE_MAX {
                self.sound.store(hole, Ordering::Relaxed);
                return Ok(hole);
            }
            at = data.max(hole).max(at + 1);
        }
        self.sound.store(size, Ordering::Relaxed);
        Ok(size)
    }
}

/// A stored file, read sequentially.
pub struct FromFront {
    stored: Arc<dyn ReadAt>,
    at: u64,
}

impl std::fmt::Debug for FromFront {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("FromFront").field("at", &self.at).finish_non_exhaustive()
    }
}

impl From<Arc<dyn ReadAt>> for FromFront {
    fn from(stored: Arc<dyn ReadAt>) -> FromFront {
        FromFront { stored, at: 0 }
    }
}

impl Read for FromFront {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.stored.read_at(buffer, self.at)?;
        self.at += count as u64;
        Ok(count)
    }
}

impl ReadAt for Written {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let wanted = offset.saturating_add(buffer.len() as u64);
        let count = if wanted <= self.sound.load(Ordering::Relaxed) {
            buffer.len()
        } else {
            usize::try_from(self.end()?.saturating_sub(offset)).unwrap_or(usize::MAX).min(buffer.len())
        };
        ReadAt::read_at(&self.file, buffer.get_mut(..count).unwrap_or_default(), offset)
    }

    fn size(&self) -> io::Result<u64> {
        self.end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::FileExt as _;

    #[test]
    fn a_log_ends_at_its_first_long_hole() {
        let file = tempfile::tempfile().unwrap();
        file.write_all_at(&[7; 100_000], 0).unwrap();
        let written = Written::new(file.try_clone().unwrap());
        let mut buffer = vec![0; 200_000];
        assert_eq!((written.size().unwrap(), written.read_at(&mut buffer, 1).unwrap()), (100_000, 99_999));
        // It grows, with a hole as made by `cp --sparse` from zeros in a record.
        file.write_all_at(&[7; 100_000], 150_000).unwrap();
        assert_eq!(written.size().unwrap(), 250_000);
        assert_eq!(written.read_at(&mut buffer, 40_000).unwrap(), 200_000);
        file.set_len(1 << 40).unwrap();
        let end = written.size().unwrap();
        assert!((250_000..250_000 + HOLE_MAX).contains(&end), "{end}");
        file.write_all_at(&[7; 9], 1 << 39).unwrap();
        assert_eq!(written.size().unwrap(), end);
        assert_eq!(written.read_at(&mut buffer, 1 << 39).unwrap(), 0);
        assert_eq!(written.read_at(&mut buffer, end - 1).unwrap(), 1);
        // The missing data arrives.
        file.set_len(250_000).unwrap();
        file.write_all_at(&[7; 100_000], 250_000).unwrap();
        assert_eq!(written.size().unwrap(), 350_000);
    }
}
