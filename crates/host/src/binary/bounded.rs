//! Bounded reads of a file that another user made, for the ELF reader. Owns how much of one file is
//! read, whatever its headers say, and how long a name may be. A sparse file costs its maker nothing,
//! so the length of a file bounds nothing.

use object::{ReadCache, ReadCacheOps, ReadRef};
use std::cell::{Cell, RefCell};
use std::collections::HashSet;
use std::ops::Range;

/// Bytes read from one file: more than the symbols of any known program take.
pub(crate) const READ_MAX: u64 = 192 << 20;
/// Total bytes of names read. Symbols can share one name.
const NAMES_MAX: u64 = 256 << 20;
/// Longer names are truncated.
const NAME_MAX: u64 = 4096;
/// Names are read in chunks of this many bytes: a system call for each of fifty thousand symbol
/// names would take a noticeable part of the program's start.
const CHUNK: u64 = 1 << 20;

/// A bounded [`ReadCache`] (see the module). A read past the bounds is an error of the reader.
#[derive(Debug)]
pub(crate) struct Bounded<R: ReadCacheOps> {
    cache: ReadCache<R>,
    /// Pieces that are in the cache.
    read: RefCell<HashSet<(u64, u64)>>,
    bytes_left: Cell<u64>,
    names_left: Cell<u64>,
}

impl<R: ReadCacheOps> Bounded<R> {
    pub(crate) fn new(file: R) -> Bounded<R> {
        Bounded {
            cache: ReadCache::new(file),
            read: RefCell::default(),
            bytes_left: Cell::new(READ_MAX),
            names_left: Cell::new(NAMES_MAX),
        }
    }
}

fn take(left: &Cell<u64>, bytes: u64) -> Result<(), ()> {
    left.set(left.get().checked_sub(bytes).ok_or(())?);
    Ok(())
}

impl<'data, R: ReadCacheOps> ReadRef<'data> for &'data Bounded<R> {
    fn len(self) -> Result<u64, ()> {
        self.cache.len()
    }

    fn read_bytes_at(self, offset: u64, size: u64) -> Result<&'data [u8], ()> {
        if offset.checked_add(size).is_none_or(|end| self.cache.len().is_ok_and(|length| end > length)) {
            return Err(());
        }
        if !self.read.borrow().contains(&(offset, size)) {
            take(&self.bytes_left, size)?;
            self.read.borrow_mut().insert((offset, size));
        }
        self.cache.read_bytes_at(offset, size)
    }

    fn read_bytes_at_until(self, range: Range<u64>, delimiter: u8) -> Result<&'data [u8], ()> {
        let length = range.end.checked_sub(range.start).ok_or(())?.min(NAME_MAX);
        let start = range.start - range.start % CHUNK;
        let chunk = self.read_bytes_at(start, CHUNK.min(self.cache.len()?.saturating_sub(start)))?;
        let rest = usize::try_from(range.start - start).ok().and_then(|from| chunk.get(from..)).ok_or(())?;
        let here = rest.get(..(length as usize).min(rest.len())).ok_or(())?;
        take(&self.names_left, 1)?;
        let name = match memchr::memchr(delimiter, here) {
            Some(end) => here.get(..end).ok_or(())?,
            None if length == NAME_MAX && here.len() as u64 == length => here,
            // The name continues in the next chunk, or has no end.
            None => {
                let whole = self.read_bytes_at(range.start, length)?;
                match memchr::memchr(delimiter, whole) {
                    Some(end) => whole.get(..end).ok_or(())?,
                    None if length == NAME_MAX => whole,
                    None => return Err(()),
                }
            }
        };
        take(&self.names_left, name.len() as u64)?;
        Ok(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Cursor;

    #[test]
    fn names_go_over_the_end_of_a_chunk_and_are_cut() {
        let mut bytes = vec![b'x'; 2 * CHUNK as usize];
        let at = CHUNK as usize + 3;
        bytes[at] = 0;
        let bounded = Bounded::new(Cursor::new(&bytes));
        let name = |from: u64, to: u64| (&bounded).read_bytes_at_until(from..to, 0).map(<[u8]>::len);
        assert_eq!(name(CHUNK - 5, 2 * CHUNK), Ok(8));
        assert_eq!(name(CHUNK, 2 * CHUNK), Ok(3));
        assert_eq!(name(CHUNK + 4, 2 * CHUNK), Ok(NAME_MAX as usize));
        assert_eq!(name(CHUNK - NAME_MAX - 5, 2 * CHUNK), Ok(NAME_MAX as usize));
        assert_eq!(name(2 * CHUNK - 9, 2 * CHUNK), Err(()));
        assert_eq!(name(2 * CHUNK + 9, 2 * CHUNK), Err(()));
    }

    #[test]
    fn no_more_is_read_of_a_file_than_the_bound() {
        let file = tempfile::tempfile().unwrap();
        file.set_len(1 << 40).unwrap();
        let bounded = Bounded::new(file);
        let data = &bounded;
        assert!(data.read_bytes_at(0, READ_MAX + 1).is_err() && data.read_bytes_at(0, 1 << 20).is_ok());
        // A read that is already cached costs nothing.
        for _ in 0..1000 {
            assert!(data.read_bytes_at(0, 1 << 20).is_ok());
        }
        let read = (1..1000).take_while(|part| data.read_bytes_at(part << 20, 1 << 20).is_ok()).count() as u64;
        assert_eq!((read + 1) << 20, READ_MAX);
    }
}
