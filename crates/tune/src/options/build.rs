//! Builds configurations from settings and their levels: the product of the most important levels,
//! and every other level on top of a few bases. Owns that rule. The same settings give the same
//! configurations in the same order.

use super::offer::{By, Rejected};
use super::part::{Broken, Dimension, View, plain};
use crate::dialect::Words;
use std::collections::BTreeSet;

/// The configurations to try.
#[derive(Clone, Debug, Default)]
pub struct Built {
    /// The configurations; the first is what runs today.
    pub configurations: Vec<Words>,
    /// Combinations that were left out.
    pub rejected: Vec<Rejected>,
}

/// Checks a configuration for words that conflict.
pub type Rule<'a> = &'a dyn Fn(&View<'_>) -> Option<Broken>;

/// Builds the space of `dimensions`; `plan` is the plan's configuration.
pub fn build(dimensions: &[Dimension], today: &Words, plan: &Words, bases: &[Words], broken: Rule<'_>) -> Built {
    let mut builder = Builder { built: Built::default(), seen: BTreeSet::new(), today, broken };
    // No rule removes today's configuration or the plan's.
    builder.keep(Words::new());
    builder.keep(plan.clone());
    builder.product(&Words::new(), dimensions);
    for dimension in dimensions {
        let bases = if dimension.bases.is_empty() { bases } else { &dimension.bases };
        for (base, level) in bases.iter().flat_map(|base| dimension.single.iter().map(move |level| (base, level))) {
            let mut words = base.clone();
            words.insert(dimension.what, level.clone());
            builder.propose(words);
        }
    }
    builder.built
}

struct Builder<'a> {
    built: Built,
    seen: BTreeSet<Words>,
    today: &'a Words,
    broken: Rule<'a>,
}

impl Builder<'_> {
    fn product(&mut self, words: &Words, rest: &[Dimension]) {
        let Some((first, rest)) = rest.split_first() else { return self.propose(words.clone()) };
        self.product(words, rest);
        for level in &first.product {
            let mut words = words.clone();
            words.insert(first.what, level.clone());
            self.product(&words, rest);
        }
    }

    fn propose(&mut self, words: Words) {
        let words = plain(words, self.today);
        let view = View { words: &words, today: self.today };
        match (self.broken)(&view) {
            None => self.keep(words),
            Some((words, why)) => {
                let rejected = Rejected { words, why, by: By::Rule };
                if !self.built.rejected.contains(&rejected) {
                    self.built.rejected.push(rejected);
                }
            }
        }
    }

    fn keep(&mut self, words: Words) {
        if self.seen.insert(words.clone()) {
            self.built.configurations.push(words);
        }
    }
}
