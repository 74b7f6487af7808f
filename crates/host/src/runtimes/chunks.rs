//! Caches a process's memory during a sample: threads lie near each other, so one piece serves many. Owns how large
//! such pieces are and how few are kept; refuses to keep them for the next sample.

use crate::target::memory::Memory;
use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::io;

/// Where threads and stacks lie.
const OF_HEAP: u64 = 8 << 10;
/// Reading a page takes as long as reading one of its words.
const PAGE: u64 = 4 << 10;
/// Bytes kept: lists lead from neighbour to neighbour, and memory of its own costs the recorder as much as reading
/// another's.
const KEPT: u64 = 1 << 20;
/// Pages remembered that do not exist: words that are no addresses are the same on many stacks.
const FAILED_MAX: usize = 1 << 12;

/// Memory read through cached pieces.
#[derive(Debug)]
pub struct Chunks<'m, M> {
    memory: &'m M,
    piece: u64,
    kept: RefCell<Kept>,
}

/// What was read, the newest pieces of it.
#[derive(Debug, Default)]
struct Kept {
    /// Where each piece is in `pieces`, by number.
    places: HashMap<u64, usize>,
    pieces: Vec<Piece>,
    /// The oldest of `pieces`, which the next one replaces.
    oldest: usize,
    /// Numbers of pages that do not exist.
    failed: HashSet<u64>,
}

#[derive(Debug, Default)]
struct Piece {
    number: Option<u64>,
    /// Whether the whole piece could be read.
    whole: bool,
    bytes: Vec<u8>,
}

impl Kept {
    /// A place for piece `number`.
    fn replace(&mut self, number: u64, most: usize) -> usize {
        let place = if self.pieces.len() < most {
            self.pieces.push(Piece::default());
            self.pieces.len() - 1
        } else {
            self.oldest = (self.oldest + 1) % most;
            self.oldest
        };
        if let Some(piece) = self.pieces.get_mut(place) {
            let before = piece.number.replace(number);
            before.and_then(|before| self.places.remove(&before));
        }
        self.places.insert(number, place);
        place
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
        let kept = &mut *self.kept.borrow_mut();
        if kept.failed.contains(&number) {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let known = kept.places.get(&number).copied();
        let place = known.unwrap_or_else(|| kept.replace(number, (KEPT / self.piece) as usize));
        let Some(piece) = kept.pieces.get_mut(place) else { return Ok(false) };
        if known.is_none() {
            piece.bytes.resize(self.piece as usize, 0);
            let read = number.checked_mul(self.piece).map(|address| self.memory.read(address, &mut piece.bytes));
            piece.whole = matches!(read, Some(Ok(())));
        }
        if piece.whole {
            piece.bytes.get(at..at + buffer.len()).into_iter().for_each(|held| buffer.copy_from_slice(held));
        } else if self.piece == PAGE {
            if kept.failed.len() < FAILED_MAX {
                kept.failed.insert(number);
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
