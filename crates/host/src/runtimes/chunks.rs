//! Caches a process's memory during a sample: threads lie near each other, so one piece serves many. Owns how large
//! such pieces are and how few are kept; refuses to keep them for the next sample.

use crate::target::memory::Memory;
use std::cell::RefCell;
use std::collections::HashSet;
use std::io;

/// Where threads and stacks lie.
const OF_HEAP: u64 = 8 << 10;
/// Reading a page takes as long as reading one of its words.
const PAGE: u64 = 4 << 10;
/// Bytes kept: lists lead from neighbour to neighbour, and memory of its own costs the recorder as much as reading
/// another's.
const KEPT: u64 = 1 << 20;
/// Places for a piece: what all threads have in common is used again before as many others come there.
const WAYS: usize = 4;
/// Spreads numbers of pieces, as stacks lie at equal distances (the golden ratio's 64 bits).
const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;
/// Pages remembered that do not exist: words that are no addresses are the same on many stacks.
const FAILED_MAX: usize = 1 << 12;

/// Memory read through cached pieces.
#[derive(Debug)]
pub struct Chunks<'m, M> {
    memory: &'m M,
    piece: u64,
    kept: RefCell<Kept>,
}

/// What was read.
#[derive(Debug, Default)]
struct Kept {
    pieces: Vec<Piece>,
    reads: u64,
    /// Numbers of pages that do not exist.
    failed: HashSet<u64>,
}

#[derive(Clone, Debug, Default)]
struct Piece {
    number: Option<u64>,
    /// Whether the whole piece could be read.
    whole: bool,
    /// The read that used it last.
    used: u64,
    bytes: Vec<u8>,
}

/// The place of piece `number`, or the one that it may take: of its places, the one that was used longest ago.
fn place(pieces: &mut [Piece], number: u64) -> Option<&mut Piece> {
    let set = (number.wrapping_mul(SPREAD) >> 32) as usize % (pieces.len() / WAYS) * WAYS;
    let ways = pieces.get_mut(set..set + WAYS)?;
    match ways.iter().position(|piece| piece.number == Some(number)) {
        Some(known) => ways.get_mut(known),
        None => ways.iter_mut().min_by_key(|piece| piece.used),
    }
}

impl<'m, M: Memory> Chunks<'m, M> {
    pub fn of(memory: &'m M) -> Self {
        Chunks { memory, piece: OF_HEAP, kept: RefCell::default() }
    }

    /// For variables and stacks that lie on a few pages, each read once.
    pub fn pages(memory: &'m M) -> Self {
        Chunks { piece: PAGE, ..Chunks::of(memory) }
    }

    /// Copies the bytes of piece `number` from `at` on; false: the whole piece cannot be read. Errors: it is a page,
    /// which exists whole or not at all.
    fn copy(&self, number: u64, at: usize, buffer: &mut [u8]) -> io::Result<bool> {
        let Kept { pieces, reads, failed } = &mut *self.kept.borrow_mut();
        if pieces.is_empty() {
            pieces.resize((KEPT / self.piece) as usize, Piece::default());
        }
        let Some(piece) = place(pieces, number) else { return Ok(false) };
        if piece.number != Some(number) {
            if failed.contains(&number) {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            piece.bytes.resize(self.piece as usize, 0);
            let read = number.checked_mul(self.piece).map(|address| self.memory.read(address, &mut piece.bytes));
            (piece.number, piece.whole) = (Some(number), matches!(read, Some(Ok(()))));
        }
        *reads += 1;
        piece.used = *reads;
        if piece.whole {
            piece.bytes.get(at..at + buffer.len()).into_iter().for_each(|held| buffer.copy_from_slice(held));
        } else if self.piece == PAGE {
            if failed.len() < FAILED_MAX {
                failed.insert(number);
            }
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok(piece.whole)
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
            if !self.copy(at / self.piece, within, now)? {
                // Not all of the piece is mapped.
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
        assert!([8, END + PAGE, u64::MAX - 7].into_iter().all(|address| chunks.read_u64(address).is_err()));
    }

    #[test]
    fn a_page_that_does_not_exist_is_asked_for_once() {
        let asked = RefCell::new(Vec::new());
        struct Asked<'a>(Image, &'a RefCell<Vec<u64>>);
        impl Memory for Asked<'_> {
            fn read(&self, address: u64, buffer: &mut [u8]) -> io::Result<()> {
                self.1.borrow_mut().push(address / PAGE);
                self.0.read(address, buffer)
            }
        }
        let memory = Asked(Image::default().words(4 * PAGE, &[7]), &asked);
        let chunks = Chunks::pages(&memory);
        assert_eq!([0, 8].map(|at| chunks.read_u64(4 * PAGE + at).unwrap()), [7, 0]);
        assert!([0, 8, 16].into_iter().all(|at| chunks.read_u64(9 * PAGE + at).is_err()));
        assert_eq!(*asked.borrow(), [4, 9]);
    }
}
