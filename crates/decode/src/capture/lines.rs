//! Lines of a file that a recorder appends to. Owns how much of a line is held in memory, how a truncated file looks,
//! and what happens to lines that cannot be read.

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

/// Reads line by line.
#[derive(Debug)]
pub(super) struct Lines<R> {
    input: R,
    line: Vec<u8>,
    max: u64,
}

impl<R: BufRead> Lines<R> {
    /// Lines of at most `max` bytes. A longer one comes in pieces, none of which parses.
    pub fn new(input: R, max: u64) -> Lines<R> {
        Lines { input, line: Vec::new(), max }
    }

    /// Advances to the next line; false at the end.
    pub fn advance(&mut self) -> bool {
        self.line.clear();
        let read = self.input.by_ref().take(self.max).read_until(b'\n', &mut self.line);
        matches!(read, Ok(count) if count > 0)
    }

    pub fn line(&self) -> &[u8] {
        &self.line
    }

    /// Whether the line lacks its end: its recorder was killed.
    pub fn is_cut(&self) -> bool {
        !self.line.ends_with(b"\n") && (self.line.len() as u64) < self.max
    }

    /// Whether the line is empty.
    pub fn is_blank(&self) -> bool {
        self.line.iter().all(u8::is_ascii_whitespace)
    }
}

/// A line of a file of JSON objects.
pub trait OfLine: Sized {
    /// The file's name without its extension, as used in losses.
    const FILE: &'static str;
    /// Limit of a line in bytes; longer lines are damage.
    const BYTES_MAX: u64;
    /// The earliest time of damage before the first line; `None`: lines do not bound damage in time.
    const BEGIN: Option<Time> = None;

    /// The content of this line; `None`: something that only a later version knows.
    ///
    /// # Errors
    /// The line has no valid content.
    fn of_line(line: &[u8]) -> Result<Option<Self>, Damaged>;

    /// Time of this line, where times of lines bound damage between them.
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

/// The content of the lines of such a file, in file order. Unreadable lines are skipped and counted.
#[derive(Debug)]
pub struct JsonLines<R, L> {
    lines: Lines<R>,
    last: Option<Time>,
    damaged: Loss,
    item: PhantomData<L>,
}

impl<R: BufRead, L: OfLine> JsonLines<R, L> {
    /// Reads `input`, the bytes of a file.
    pub fn new(input: R) -> Self {
        let damaged = Loss::new(L::FILE, LossKind::Damaged, 0, "");
        JsonLines { lines: Lines::new(input, L::BYTES_MAX), last: L::BEGIN, damaged, item: PhantomData }
    }

    /// What has been skipped so far; complete once the iterator has ended. A last line without its end means that the
    /// recorder was killed; that is not damage.
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
                Ok(Some(item)) => {
                    self.last = item.time();
                    self.damaged.to = self.damaged.to.or(self.last);
                    return Some(item);
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
