//! Caches a process's memory during a sample: threads lie near each other, so one piece serves
//! many. Owns how large such pieces are and how many are kept; refuses to keep them for the next sample.

use crate::target::memory::Memory;
use std::cell::RefCell;
use std::collections::HashMap;
use std::io;

/// Where threads and stacks lie.
const OF_HEAP: u64 = 8 << 10;
/// Reading a page takes as long as reading one of its words.
const PAGE: u64 = 4 << 10;
/// Cached pieces: 16 MiB at most.
const PIECES_MAX: usize = 2 << 10;

/// Memory read through cached pieces.
#[derive(Debug)]
pub struct Chunks<'m, M> {
    memory: &'m M,
    piece: u64,
    pieces: RefCell<HashMap<u64, Option<Box<[u8]>>>>,
}

impl<'m, M: Memory> Chunks<'m, M> {
    pub fn of(memory: &'m M) -> Self {
        Chunks { memory, piece: OF_HEAP, pieces: RefCell::default() }
    }

    /// For variables that lie on a few pages, each read once.
    pub fn pages(memory: &'m M) -> Self {
        Chunks { memory, piece: PAGE, pieces: RefCell::default() }
    }

    /// Copies the bytes of piece `number` from `at` on; false: the whole piece cannot be read.
    fn copy(&self, number: u64, at: usize, buffer: &mut [u8]) -> bool {
        let mut pieces = self.pieces.borrow_mut();
        if pieces.len() >= PIECES_MAX {
            pieces.clear();
        }
        let piece = pieces.entry(number).or_insert_with(|| {
            let mut bytes = vec![0; self.piece as usize].into_boxed_slice();
            self.memory.read(number.checked_mul(self.piece)?, &mut bytes).ok().map(|()| bytes)
        });
        let held = piece.as_ref().and_then(|piece| piece.get(at..at + buffer.len()));
        held.map(|held| buffer.copy_from_slice(held)).is_some()
    }
}

impl<M: Memory> Memory for Chunks<'_, M> {
    fn read(&self, address: u64, buffer: &mut [u8]) -> io::Result<()> {
        let (mut at, mut rest) = (address, &mut *buffer);
        while !rest.is_empty() {
            let within = (at % self.piece) as usize;
            let count = rest.len().min(self.piece as usize - within);
            let (now, after) = rest.split_at_mut(count);
            if !self.copy(at / self.piece, within, now) {
                // The piece is not mapped, or not all of it.
                return self.memory.read(address, buffer);
            }
            at = at.checked_add(count as u64).ok_or(io::ErrorKind::InvalidInput)?;
            rest = after;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::Image;
    use super::*;

    #[test]
    fn what_is_read_is_what_is_there_also_over_the_end_of_a_piece() {
        let image = Image::default().words(OF_HEAP - 8, &[1, 2, 3]);
        let chunks = Chunks::of(&image);
        assert_eq!([0, 8, 16].map(|at| chunks.read_u64(OF_HEAP - 8 + at).unwrap()), [1, 2, 3]);
        let mut both = [0; 16];
        chunks.read(OF_HEAP - 8, &mut both).unwrap();
        assert_eq!(both[..9], [1, 0, 0, 0, 0, 0, 0, 0, 2]);
        assert!(chunks.read_u64(OF_HEAP + 16).is_err() && chunks.read_u64(u64::MAX - 7).is_err());
    }
}
