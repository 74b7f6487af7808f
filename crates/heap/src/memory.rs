//! The memory that this crate reads: bytes at addresses of a live or dead process, and which
//! addresses exist. Refuses to know where the bytes come from.

use std::io;
use std::ops::Range;

/// Bytes at addresses.
pub trait Memory {
    /// Fills `buffer` from `address`.
    ///
    /// # Errors
    /// A byte of it cannot be read.
    fn read(&self, address: u64, buffer: &mut [u8]) -> io::Result<()>;

    /// Reads a 64-bit word in this machine's byte order.
    ///
    /// # Errors
    /// As [`Memory::read`].
    fn read_u64(&self, address: u64) -> io::Result<u64> {
        let mut word = [0; 8];
        self.read(address, &mut word)?;
        Ok(u64::from_ne_bytes(word))
    }

    /// Fills `words`, in this machine's byte order, from `ranges`, one after the other. The ranges hold
    /// whole words, no more than `words` has room for.
    ///
    /// # Errors
    /// A byte of them cannot be read.
    fn read_words(&self, ranges: &[Range<u64>], words: &mut [u64]) -> io::Result<()> {
        let mut rest = words.iter_mut();
        let mut bytes = Vec::new();
        for range in ranges {
            let length = range.end.saturating_sub(range.start);
            bytes.resize(usize::try_from(length).map_err(|_| io::ErrorKind::InvalidInput)?, 0);
            self.read(range.start, &mut bytes)?;
            let found = bytes.chunks_exact(8).map(|word| word.try_into().map_or(0, u64::from_ne_bytes));
            found.zip(rest.by_ref()).for_each(|(word, into)| *into = word);
        }
        Ok(())
    }

    /// Reads a 32-bit word in this machine's byte order.
    ///
    /// # Errors
    /// As [`Memory::read`].
    fn read_u32(&self, address: u64) -> io::Result<u32> {
        let mut word = [0; 4];
        self.read(address, &mut word)?;
        Ok(u32::from_ne_bytes(word))
    }
}

/// Addresses that a process can read and write, and that belong to its heap.
#[derive(Clone, Eq, PartialEq, Debug, Default)]
pub struct Space {
    /// In address order, disjoint, in whole megablocks.
    pub committed: Vec<Range<u64>>,
}

impl Space {
    /// Addresses of all megablocks, in order.
    pub fn megablocks(&self) -> impl Iterator<Item = u64> {
        self.committed.iter().flat_map(|range| range.clone().step_by(crate::descriptor::MEGABLOCK as usize))
    }

    /// Whether `address` lies in it.
    pub fn contains(&self, address: u64) -> bool {
        holding(&self.committed, address).is_some()
    }
}

/// The range that holds `address`; `ranges` are sorted and disjoint.
#[inline]
pub fn holding(ranges: &[Range<u64>], address: u64) -> Option<&Range<u64>> {
    let next = ranges.partition_point(|range| range.end <= address);
    ranges.get(next).filter(|range| range.contains(&address))
}
