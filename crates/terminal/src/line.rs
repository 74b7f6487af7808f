//! One line on a terminal that changes while something runs. Owns where it is shown: on a standard error that
//! is a terminal, and nowhere else.

use crate::style::{Style, clean};
use std::io::{self, IsTerminal, Write};

/// The line. It is cleared when dropped.
#[derive(Debug)]
pub struct Line {
    width: usize,
    terminal: bool,
    shown: bool,
}

impl Line {
    /// An empty line; a quiet one stays empty.
    pub fn new(quiet: bool) -> Line {
        let terminal = !quiet && io::stderr().is_terminal();
        Line { width: Style::of_stdout().width.saturating_sub(1), terminal, shown: false }
    }

    /// Whether it is visible.
    pub fn is_seen(&self) -> bool {
        self.terminal
    }

    /// Shows `text` in place of what was there.
    pub fn put(&mut self, text: &str) {
        if self.terminal {
            self.shown = true;
            self.write(&clean(text));
        }
    }

    /// Clears it.
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
