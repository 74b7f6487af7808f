//! The lines of a file that a recorder appends to. Owns how much of one is held in memory, and what a file that was cut
//! anywhere looks like.

use std::io::{BufRead, Read};

/// One line after the other.
#[derive(Debug)]
pub(super) struct Lines<R> {
    input: R,
    line: Vec<u8>,
    max: u64,
}

impl<R: BufRead> Lines<R> {
    /// Lines of at most `max` bytes. A longer one comes in pieces, of which none parses.
    pub fn new(input: R, max: u64) -> Lines<R> {
        Lines { input, line: Vec::new(), max }
    }

    /// Goes to the next one; false at the end.
    pub fn advance(&mut self) -> bool {
        self.line.clear();
        let read = self.input.by_ref().take(self.max).read_until(b'\n', &mut self.line);
        matches!(read, Ok(count) if count > 0)
    }

    pub fn line(&self) -> &[u8] {
        &self.line
    }

    /// Whether it has no end: its recorder was killed.
    pub fn is_cut(&self) -> bool {
        !self.line.ends_with(b"\n") && (self.line.len() as u64) < self.max
    }

    /// Whether nothing stands on it.
    pub fn is_blank(&self) -> bool {
        self.line.iter().all(u8::is_ascii_whitespace)
    }
}
