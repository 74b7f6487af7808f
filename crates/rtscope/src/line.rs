//! One line on a terminal that changes while something goes on. Owns where it is shown: on a
//! standard error that is a terminal, and nowhere else.

use crate::style::{Style, clean};
use std::io::{self, IsTerminal, Write};

/// The line. What is shown goes when it is dropped.
#[derive(Debug)]
pub struct Line {
    width: usize,
    terminal: bool,
    shown: bool,
}

impl Line {
    /// One that nothing is on yet; a quiet one stays so.
    pub fn new(quiet: bool) -> Line {
        let terminal = !quiet && io::stderr().is_terminal();
        Line { width: Style::of_stdout().width.saturating_sub(1), terminal, shown: false }
    }

    /// Whether anybody sees it.
    pub fn is_seen(&self) -> bool {
        self.terminal
    }

    /// Shows it in the place of what stood there.
    pub fn put(&mut self, text: &str) {
        if self.terminal {
            self.shown = true;
            self.write(&clean(text));
        }
    }

    /// Takes it away.
    pub fn clear(&mut self) {
        if std::mem::take(&mut self.shown) {
            self.write("");
        }
    }

    fn write(&self, text: &str) {
        let width = self.width;
        let mut err = io::stderr().lock();
        // A terminal that has gone is no reason to stop.
        let _ = write!(err, "\r{text:<width$.width$}\r").and_then(|()| err.flush());
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        self.clear();
    }
}
