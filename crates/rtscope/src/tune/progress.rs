//! What is said while trials run: on a terminal one line that changes, else a line for each
//! stage. Owns these words.

use crate::style::clean;
use rtscope_tune::study::{Ask, Stage};
use std::io::{self, IsTerminal, Write};

/// The line.
#[derive(Debug, Default)]
pub struct Progress {
    quiet: bool,
    stage: Option<Stage>,
    shown: bool,
}

impl Progress {
    /// One that is silent if it is to be.
    pub fn new(quiet: bool) -> Progress {
        Progress { quiet, ..Progress::default() }
    }

    /// A trial of `all` begins.
    pub fn begins(&mut self, ask: &Ask, all: usize, words: &str) {
        let words = if words.is_empty() { "as it is run today".to_owned() } else { clean(words).into_owned() };
        let text = format!("trial {} of at most {all}, {}: {words}", ask.number + 1, stage(ask.stage));
        if io::stderr().is_terminal() {
            return self.rewrite(&text);
        }
        if self.stage.replace(ask.stage) != Some(ask.stage) {
            self.say(&format!("trial {} of at most {all}: {}", ask.number + 1, stage(ask.stage)));
        }
    }

    /// A line of its own.
    pub fn say(&mut self, text: &str) {
        self.clear();
        if !self.quiet {
            // A closed standard error is no reason to fail.
            let _ = writeln!(io::stderr(), "rtscope: {text}");
        }
    }

    fn rewrite(&mut self, text: &str) {
        if !self.quiet {
            self.shown = true;
            let mut err = io::stderr().lock();
            let _ = write!(err, "\r{text:<78.78}\r").and_then(|()| err.flush());
        }
    }

    /// Takes the line that changes away.
    pub fn clear(&mut self) {
        if std::mem::take(&mut self.shown) {
            let mut err = io::stderr().lock();
            let _ = write!(err, "\r{:78}\r", "").and_then(|()| err.flush());
        }
    }
}

fn stage(stage: Stage) -> &'static str {
    match stage {
        Stage::Check => "what runs today beside itself",
        Stage::Breadth => "many configurations once",
        Stage::Halving => "the best beside each other",
        Stage::Fresh => "fresh blocks of the best",
    }
}
