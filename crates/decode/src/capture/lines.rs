//! The lines of a file that a recorder appends to. Owns how much of one is held in memory, what a file that was cut
//! anywhere looks like, and what becomes of lines that cannot be read.

use rtscope_model::{Loss, LossKind, Time};
use serde::Serialize;
use std::io::{BufRead, Read};
use std::marker::PhantomData;

/// Appends one line.
pub(super) fn write(out: &mut Vec<u8>, line: &impl Serialize) {
    // Writing to memory does not fail.
    let _ = serde_json::to_writer(&mut *out, line);
    out.push(b'\n');
}

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
    /// The earliest time of damage before the first line; `None`: lines do not bound damage in time.
    const BEGIN: Option<Time> = None;

    /// What this line says; `None`: something that only a later recorder knows.
    ///
    /// # Errors
    /// It says nothing that can be.
    fn of_line(line: &[u8]) -> Result<Option<Self>, Damaged>;

    /// Its time, where the lines around damage bound it.
    fn time(&self) -> Option<Time> {
        None
    }
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
    last: Option<Time>,
    damaged: Loss,
    said: PhantomData<L>,
}

impl<R: BufRead, L: OfLine> JsonLines<R, L> {
    /// Over the bytes of a file.
    pub fn new(input: R) -> Self {
        let damaged = Loss::new(L::FILE, LossKind::Damaged, 0, "");
        JsonLines { lines: Lines::new(input, L::BYTES_MAX), last: L::BEGIN, damaged, said: PhantomData }
    }

    /// What was skipped so far; complete once the iterator has ended. A last line without its end is a recorder
    /// that was killed, not damage.
    pub fn losses(&self) -> Vec<Loss> {
        let note = format!("{} lines of {}.jsonl could not be read and were skipped", self.damaged.count, L::FILE);
        let loss = Loss { note, ..self.damaged.clone() };
        (loss.count > 0).then_some(loss).into_iter().collect()
    }
}

impl<R: BufRead, L: OfLine> Iterator for JsonLines<R, L> {
    type Item = L;

    fn next(&mut self) -> Option<L> {
        while self.lines.advance() {
            match L::of_line(self.lines.line()) {
                Ok(Some(said)) => {
                    self.last = said.time();
                    self.damaged.to = self.damaged.to.or(self.last);
                    return Some(said);
                }
                Ok(None) => {}
                Err(Damaged) if self.lines.is_cut() || self.lines.is_blank() => {}
                Err(Damaged) => {
                    self.damaged.count += 1;
                    self.damaged.from = self.damaged.from.or(self.last);
                    self.damaged.to = None;
                }
            }
        }
        None
    }
}
