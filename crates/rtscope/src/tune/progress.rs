//! What is said while trials run: on a terminal one line that changes, else a line for each
//! stage. Owns these words.

use crate::line::Line;
use crate::style::clean;
use rtscope_tune::study::{Ask, Stage};
use std::io::{self, Write};

/// Who says it.
#[derive(Debug)]
pub struct Progress {
    quiet: bool,
    line: Line,
    stage: Option<Stage>,
}

impl Progress {
    /// One that is silent if it is to be.
    pub fn new(quiet: bool) -> Progress {
        Progress { quiet, line: Line::new(quiet), stage: None }
    }

    /// A trial of `all` begins.
    pub fn begins(&mut self, ask: &Ask, all: usize, words: &str) {
        let trial = format!("trial {} of at most {all}, {}", ask.number + 1, stage(ask.stage));
        if self.line.is_seen() {
            let words = if words.is_empty() { "as it is run today".into() } else { clean(words) };
            self.line.put(&format!("{trial}: {words}"));
        } else if self.stage.replace(ask.stage) != Some(ask.stage) {
            self.say(&trial);
        }
    }

    /// A line of its own.
    pub fn say(&mut self, text: &str) {
        self.line.clear();
        if !self.quiet {
            // A closed standard error is no reason to fail.
            let _ = writeln!(io::stderr(), "rtscope: {text}");
        }
    }

    /// Takes the line that changes away.
    pub fn clear(&mut self) {
        self.line.clear();
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
