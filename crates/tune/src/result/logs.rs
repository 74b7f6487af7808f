//! Measurements by block, as logarithms. Owns which rows count: clean ones with a number above 0.

use crate::study::interval::mean_of;
use crate::study::{Outcome, Row, Stage};
use std::collections::BTreeMap;

/// The row's figure for its memory use.
pub const MEMORY: &str = "rss_bytes";

/// The measurements of one block.
#[derive(Clone, Debug, Default)]
pub(super) struct Block {
    /// Only fresh blocks show gains: no choice was based on them.
    pub fresh: bool,
    /// Pairs of configuration and logarithm of its measure, in order.
    pub values: Vec<(usize, f64)>,
    /// Pairs of configuration and logarithm of its memory, where known.
    pub memory: Vec<(usize, f64)>,
}

/// All blocks, by number.
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

    /// All blocks; none is empty.
    pub fn blocks(&self) -> impl Iterator<Item = &Block> {
        self.0.values()
    }

    /// All trials, block by block.
    pub fn all(&self) -> impl Iterator<Item = (usize, f64)> + '_ {
        self.blocks().flat_map(|block| block.values.iter().copied())
    }

    /// For each fresh block with both configurations, how much lower the first measure is than the second.
    pub fn fresh_gains(&self, one: usize, over: usize) -> Vec<f64> {
        let fresh = self.blocks().filter(|block| block.fresh);
        fresh.filter_map(|block| Some(mean_of(&block.values, over)? - mean_of(&block.values, one)?)).collect()
    }
}
