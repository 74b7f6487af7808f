//! What was measured in which block, as logarithms. Owns which rows count: clean ones with a
//! number above 0.

use crate::study::{Outcome, Row, Stage};
use std::collections::BTreeMap;

/// The figure of a row that says how much memory it took.
pub const MEMORY: &str = "rss_bytes";

/// A block.
#[derive(Clone, Debug, Default)]
pub(super) struct Block {
    /// Only these tell what is gained: nothing was chosen by them.
    pub fresh: bool,
    /// Configuration and logarithm of its measure, in their order.
    pub values: Vec<(usize, f64)>,
    /// The same of its memory, where that is known.
    pub memory: Vec<(usize, f64)>,
}

/// All blocks.
#[derive(Clone, Debug, Default)]
pub(super) struct Logs(BTreeMap<usize, Block>);

impl Logs {
    pub fn new(rows: &[Row]) -> Logs {
        let mut blocks: BTreeMap<usize, Block> = BTreeMap::new();
        for row in rows.iter().filter(|row| !row.dirty) {
            let ask = row.taken.ask;
            let Outcome::Measured(value) = row.taken.outcome else { continue };
            let Some(value) = logarithm(value) else { continue };
            let block = blocks.entry(ask.block).or_default();
            block.fresh = ask.stage == Stage::Fresh;
            block.values.push((ask.configuration, value));
            let memory = row.figures.get(MEMORY).and_then(|bytes| logarithm(*bytes));
            block.memory.extend(memory.map(|memory| (ask.configuration, memory)));
        }
        Logs(blocks)
    }

    /// None of them is empty.
    pub fn blocks(&self) -> impl Iterator<Item = &Block> {
        self.0.values()
    }

    /// All trials.
    pub fn all(&self) -> impl Iterator<Item = (usize, f64)> + '_ {
        self.blocks().flat_map(|block| block.values.iter().copied())
    }

    /// By fresh block in which both were measured, how much lower the first is than the second.
    pub fn fresh_gains(&self, one: usize, over: usize) -> Vec<f64> {
        let fresh = self.blocks().filter(|block| block.fresh);
        fresh.filter_map(|block| Some(mean(&block.values, over)? - mean(&block.values, one)?)).collect()
    }
}

/// The mean of a configuration in a block.
pub(super) fn mean(values: &[(usize, f64)], configuration: usize) -> Option<f64> {
    let own = values.iter().filter(|(other, _)| *other == configuration).map(|(_, value)| *value);
    let (sum, count) = own.fold((0.0, 0usize), |(sum, count), value| (sum + value, count + 1));
    (count > 0).then(|| sum / count as f64)
}

fn logarithm(value: f64) -> Option<f64> {
    (value.is_finite() && value > 0.0).then(|| value.ln())
}
