//! What is said while programs run: on a terminal one line that changes, else a line for each
//! block, for it can take hours. Owns these words.

use super::experiment::Progress;
use crate::line::Line;
use crate::style::clean;

pub struct Told {
    quiet: bool,
    blocks: u32,
    line: Line,
    last: Option<Option<usize>>,
}

impl Told {
    /// Of so many blocks; one that is silent if it is to be.
    pub fn new(quiet: bool, blocks: u32) -> Told {
        Told { quiet, blocks, line: Line::new(quiet), last: None }
    }

    pub fn begins(&mut self, now: &Progress<'_>) {
        let ask = now.ask;
        if self.line.is_seen() {
            let what = format!("{} with {} as {}", clean(&ask.benchmark.name), ask.threads, ask.configuration.name);
            self.line.put(&format!("{} of {}: {what}", now.done, now.all));
        } else if self.last.replace(now.block) != Some(now.block) {
            let text = match now.block {
                None => "each configuration is run once first, which does not count".to_owned(),
                Some(block) => format!("block {} of {}", block + 1, self.blocks),
            };
            self.say(&text);
        }
    }

    pub fn say(&mut self, text: &str) {
        self.line.clear();
        if !self.quiet {
            eprintln!("rtscope: {}", clean(text));
        }
    }
}
