//! Caches a process's memory during a sample: threads lie near each other, so one piece serves many. Owns how large
//! such pieces are and how few are kept; refuses to keep them for the next sample.

use crate::target::memory::Memory;
use std::cell::RefCell;
use std::io;

/// Where threads and stacks lie.
const OF_HEAP: u64 = 8 << 10;
/// Reading a page takes as long as reading one of its words.
const PAGE: u64 = 4 << 10;
/// Pieces kept, at a slot each: lists lead from neighbour to neighbour, and memory of its own costs the recorder as much
/// as reading another's.
const SLOTS: u64 = 128;

/// Memory read through cached pieces.
#[derive(Debug)]
pub struct Chunks<'m, M> {
    memory: &'m M,
    piece: u64,
    slots: RefCell<Vec<Slot>>,
}

/// One kept piece.
#[derive(Clone, Debug, Default)]
struct Slot {
    /// Number of the piece; `None`: unused.
    number: Option<u64>,
    /// Whether the whole piece could be read.
    whole: bool,
    bytes: Vec<u8>,
}

impl<'m, M: Memory> Chunks<'m, M> {
    pub fn of(memory: &'m M) -> Self {
        Chunks { memory, piece: OF_HEAP, slots: RefCell::default() }
    }

    /// For variables that lie on a few pages, each read once.
    pub fn pages(memory: &'m M) -> Self {
        Chunks { memory, piece: PAGE, slots: RefCell::default() }
    }

    /// Copies the bytes of piece `number` from `at` on; false: the whole piece cannot be read.
    fn copy(&self, number: u64, at: usize, buffer: &mut [u8]) -> bool {
        let mut slots = self.slots.borrow_mut();
        if slots.is_empty() {
            slots.resize(SLOTS as usize, Slot::default());
        }
        let Some(slot) = slots.get_mut((number % SLOTS) as usize) else { return false };
        if slot.number != Some(number) {
            slot.bytes.resize(self.piece as usize, 0);
            let read = number.checked_mul(self.piece).map(|address| self.memory.read(address, &mut slot.bytes));
            (slot.number, slot.whole) = (Some(number), matches!(read, Some(Ok(()))));
        }
        let held = slot.bytes.get(at..at + buffer.len()).filter(|_| slot.whole);
        held.map(|held| buffer.copy_from_slice(held)).is_some()
    }
}

impl<M: Memory> Memory for Chunks<'_, M> {
    fn read(&self, address: u64, buffer: &mut [u8]) -> io::Result<()> {
        // Small numbers are looked up as if they were addresses; the first page is never mapped.
        if address < PAGE {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
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
    use super::*;
    use crate::runtimes::testing::Image;

    #[test]
    fn what_is_read_is_what_is_there_also_over_the_end_of_a_piece() {
        const END: u64 = 2 * OF_HEAP;
        let image = Image::default().words(END - 8, &[1, 2, 3]);
        let chunks = Chunks::of(&image);
        assert_eq!([0, 8, 16].map(|at| chunks.read_u64(END - 8 + at).unwrap()), [1, 2, 3]);
        let mut both = [0; 16];
        chunks.read(END - 8, &mut both).unwrap();
        assert_eq!(both[..9], [1, 0, 0, 0, 0, 0, 0, 0, 2]);
        assert!([8, END + 16, u64::MAX - 7].into_iter().all(|address| chunks.read_u64(address).is_err()));
    }
}
