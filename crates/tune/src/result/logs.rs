//! What was measured in which block, as logarithms. Owns which rows count: clean ones with a
//! number above 0.

use crate::study::interval::mean_of;
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
            let Some(Ok(value)) = row.taken.outcome.logarithm() else { continue };
            let block = blocks.entry(ask.block).or_default();
            block.fresh = ask.stage == Stage::Fresh;
            block.values.push((ask.configuration, value));
            let memory = row.figures.get(MEMORY).and_then(|bytes| Outcome::Measured(*bytes).logarithm()?.ok());
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
        fresh.filter_map(|block| Some(mean_of(&block.values, over)? - mean_of(&block.values, one)?)).collect()
    }
}
