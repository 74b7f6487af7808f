//! What is printed while trials run: on a terminal one changing line, otherwise a line per stage. Owns these words.

use rtscope_terminal::line::Line;
use rtscope_terminal::style::clean;
use rtscope_terminal::user_error::say;
use rtscope_tune::study::{Ask, Stage};

/// Which trials a run has.
#[derive(Copy, Clone, Debug)]
pub enum Extent {
    /// A search: at most this many, including those of earlier runs.
    Search(usize),
    /// Blocks of a fixed list.
    Listed {
        /// Number of the first in the whole study.
        first: usize,
        all: usize,
    },
}

/// Prints progress; a stage is an `S`.
#[derive(Debug)]
pub struct Progress<S = Stage> {
    quiet: bool,
    line: Line,
    stage: Option<S>,
}

impl Progress {
    /// A trial begins, with the words of its configuration.
    pub fn begins(&mut self, ask: &Ask, extent: Extent, words: &str) {
        let trial = trial(ask, extent);
        let words = if words.is_empty() { "as it is run today".into() } else { clean(words) };
        self.goes_on(ask.stage, &format!("{trial}: {words}"), &trial);
    }
}

impl<S: Copy + PartialEq> Progress<S> {
    /// Silent if `quiet`.
    pub fn new(quiet: bool) -> Self {
        Progress { quiet, line: Line::new(quiet), stage: None }
    }

    /// Something in a stage begins: prints `now` on the changing line, otherwise `first` if the stage is new.
    pub fn goes_on(&mut self, stage: S, now: &str, first: &str) {
        if self.line.is_seen() {
            self.line.put(now);
        } else if self.stage.replace(stage) != Some(stage) {
            self.say(first);
        }
    }

    pub fn say(&mut self, text: &str) {
        self.line.clear();
        if !self.quiet {
            say(text);
        }
    }

    /// Clears the changing line.
    pub fn clear(&mut self) {
        self.line.clear();
    }
}

/// Which trial it is, and its purpose.
fn trial(ask: &Ask, extent: Extent) -> String {
    match extent {
        Extent::Search(most) => format!("trial {} of at most {most}, {}", ask.number + 1, stage(ask.stage)),
        Extent::Listed { first, all } => {
            format!("trial {} of {all}, blocks of a fixed list", ask.number.saturating_sub(first) + 1)
        }
    }
}

fn stage(stage: Stage) -> &'static str {
    match stage {
        Stage::Check => "what runs today against itself",
        Stage::Breadth => "many configurations once",
        Stage::Halving => "the best against each other",
        Stage::Fresh => "fresh blocks of the best",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rtscope_tune::jobs::block;
    use rtscope_tune::study::{Design, Space};

    #[test]
    fn trials_of_a_search_count_to_its_budget() {
        let ask = Ask { number: 12, stage: Stage::Fresh, block: 3, configuration: 0, again: false };
        assert_eq!(trial(&ask, Extent::Search(24)), "trial 13 of at most 24, fresh blocks of the best");
    }

    #[test]
    fn trials_of_one_block_count_from_its_first() {
        let space = Space::new(vec![String::new(), "-N1".into(), "-N2".into()], 0).unwrap();
        let asks = block(&space, &Design::new(40, 1), 5);
        let extent = Extent::Listed { first: asks[0].number, all: asks.len() };
        let lines: Vec<String> = asks.iter().map(|ask| trial(ask, extent)).collect();
        let wanted: Vec<String> = (1..=4).map(|trial| format!("trial {trial} of 4, blocks of a fixed list")).collect();
        assert_eq!(lines, wanted);
    }
}
