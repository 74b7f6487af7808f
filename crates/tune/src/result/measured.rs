//! The median of each figure for the configurations in fresh blocks. Owns which trials count; the
//! runner names the figures.

use crate::stats::{self, Median};
use crate::study::{Outcome, Row, Space, Stage};
use serde::Serialize;
use std::collections::BTreeMap;

/// The figures of one configuration.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Measured {
    /// Its number in the space.
    pub configuration: usize,
    /// Its words.
    pub name: String,
    /// Number of clean trials in fresh blocks.
    pub trials: usize,
    /// Medians by name; the name ends with the unit.
    pub figures: BTreeMap<String, Median>,
}

/// One entry per configuration, in order; `seed` is for the intervals.
pub(super) fn measured(space: &Space, rows: &[Row], seed: u64) -> Vec<Measured> {
    let of = |configuration: usize| {
        let own: Vec<&Row> = rows.iter().filter(|row| counts(row, configuration)).collect();
        let names: std::collections::BTreeSet<&String> = own.iter().flat_map(|row| row.figures.keys()).collect();
        let median = |name: &&String| {
            let values: Vec<f64> = own.iter().filter_map(|row| row.figures.get(*name).copied()).collect();
            stats::bootstrap(&values, seed)
        };
        let figures = names.iter().filter_map(|name| Some(((*name).clone(), median(name)?))).collect();
        let name = space.name(configuration).to_owned();
        (!own.is_empty()).then_some(Measured { configuration, name, trials: own.len(), figures })
    };
    (0..space.len()).filter_map(of).collect()
}

fn counts(row: &Row, configuration: usize) -> bool {
    let taken = &row.taken;
    let own = taken.ask.stage == Stage::Fresh && taken.ask.configuration == configuration;
    own && !row.dirty && matches!(taken.outcome, Outcome::Measured(_))
}

#[cfg(test)]
mod tests {
    use super::super::testing::{measured as trial, space};
    use super::*;

    #[test]
    fn figures_of_fresh_clean_trials_have_medians() {
        let space = space(&["-A1m", "-A4m", "-A16m"]);
        let row = |block: usize, configuration: usize| {
            let mut row = trial(block, configuration, 1.0);
            let pause = (block * 10 + configuration) as f64;
            row.figures.insert("mean_pause_ns".to_owned(), pause);
            row
        };
        let mut rows: Vec<Row> = (0..7).flat_map(|block| [row(block, 0), row(block, 1)]).collect();
        rows.push(Row { dirty: true, ..row(90, 1) });
        let mut early = row(91, 1);
        early.taken.ask.stage = Stage::Breadth;
        rows.push(early);
        let mut failed = row(92, 2);
        failed.taken.outcome = Outcome::Failed("it ends with 1".to_owned());
        rows.push(failed);
        let found = measured(&space, &rows, 1);
        assert_eq!(found.iter().map(|one| (one.configuration, one.trials)).collect::<Vec<_>>(), [(0, 7), (1, 7)]);
        let pause = found[1].figures["mean_pause_ns"];
        let (low, high) = pause.interval.unwrap();
        assert!(pause.median == 31.0 && low >= 1.0 && high <= 61.0 && low < high, "{pause:?}");
        assert_eq!(measured(&space, &[row(0, 0)], 1)[0].figures["mean_pause_ns"].interval, None);
    }
}
