//! The lines of a file that a recorder appends to. Owns how much of one is held in memory, what a file that was cut
//! anywhere looks like, and what becomes of lines that cannot be read.

use rtscope_model::{Loss, LossKind};
use std::io::{BufRead, Read};
use std::marker::PhantomData;

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

/// What a line of a file of JSON objects says.
pub trait OfLine: Sized {
    /// The file's name without its ending, as losses have it.
    const FILE: &'static str;
    /// Longer lines are damage.
    const BYTES_MAX: u64;

    /// What this line says; `None`: something that only a later recorder knows.
    ///
    /// # Errors
    /// It says nothing that can be.
    fn of_line(line: &[u8]) -> Result<Option<Self>, Damaged>;
}

/// A line that cannot be read.
#[derive(Copy, Clone, Eq, PartialEq, Debug)]
pub struct Damaged;

impl From<serde_json::Error> for Damaged {
    fn from(_: serde_json::Error) -> Self {
        Damaged
    }
}

/// What the lines of such a file say, in the order of the file. Those that cannot be read are skipped and counted.
#[derive(Debug)]
pub struct JsonLines<R, L> {
    lines: Lines<R>,
    damaged: u64,
    said: PhantomData<L>,
}

impl<R: BufRead, L: OfLine> JsonLines<R, L> {
    /// Over the bytes of a file.
    pub fn new(input: R) -> Self {
        JsonLines { lines: Lines::new(input, L::BYTES_MAX), damaged: 0, said: PhantomData }
    }

    /// What was skipped so far. A last line without its end is a recorder that was killed, not
    /// damage.
    pub fn losses(&self) -> Vec<Loss> {
        let note = format!("{} lines of {}.jsonl could not be read and were skipped", self.damaged, L::FILE);
        let loss = Loss::new(L::FILE, LossKind::Damaged, self.damaged, note);
        (self.damaged > 0).then_some(loss).into_iter().collect()
    }
}

impl<R: BufRead, L: OfLine> Iterator for JsonLines<R, L> {
    type Item = L;

    fn next(&mut self) -> Option<L> {
        while self.lines.advance() {
            match L::of_line(self.lines.line()) {
                Ok(Some(said)) => return Some(said),
                Ok(None) => {}
                Err(Damaged) if self.lines.is_cut() || self.lines.is_blank() => {}
                Err(Damaged) => self.damaged = self.damaged.saturating_add(1),
            }
        }
        None
    }
}
