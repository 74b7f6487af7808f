//! Time against memory. Owns where each configuration lies, and which of them no other beats in both.

use super::logs::{Block, Logs};
use crate::study::Space;
use crate::study::design::FRESH_FROM;
use crate::study::interval::mean_of;
use serde::Serialize;

/// A configuration's time and memory.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct ParetoPoint {
    /// Its number in the space.
    pub configuration: usize,
    /// Its words.
    pub name: String,
    /// Geometric mean over blocks of its objective divided by the default's: below 1 is better.
    pub objective: f64,
    /// Geometric mean over blocks of its memory divided by the default's.
    pub memory: f64,
    /// Its memory in bytes: that ratio times the default's geometric mean.
    pub memory_bytes: f64,
    /// Blocks in which time and memory of both this and the default are known.
    pub trials: usize,
    /// Whether enough of these blocks are fresh for a gain; else the point rests on few trials, the
    /// luckiest of which are on the front.
    pub confirmed: bool,
    /// No other configuration is better in one and at least as good in the other.
    pub front: bool,
}

/// The configurations whose memory is known, best objective first.
pub(super) fn points(space: &Space, logs: &Logs) -> Vec<ParetoPoint> {
    let default = space.default();
    let own: Vec<f64> = logs.blocks().filter_map(|block| mean_of(&block.memory, default)).collect();
    let bytes = (own.iter().sum::<f64>() / own.len().max(1) as f64).exp();
    let mut points: Vec<ParetoPoint> = (0..space.len()).filter_map(|one| point(space, logs, one, bytes)).collect();
    points.sort_by(|one, other| one.objective.total_cmp(&other.objective).then(one.memory.total_cmp(&other.memory)));
    // Later points are slower: they are on the front only if they are smaller.
    let mut least = f64::INFINITY;
    for point in &mut points {
        point.front = point.memory < least;
        least = least.min(point.memory);
    }
    points
}

fn point(space: &Space, logs: &Logs, configuration: usize, bytes: f64) -> Option<ParetoPoint> {
    let pair = |block: &Block| {
        let over = |values| Some(mean_of(values, configuration)? - mean_of(values, space.default())?);
        Some((over(&block.values)?, over(&block.memory)?, block.fresh))
    };
    let pairs: Vec<(f64, f64, bool)> = logs.blocks().filter_map(pair).collect();
    let count = pairs.len() as f64;
    let ratio = |of: fn(&(f64, f64, bool)) -> f64| (pairs.iter().map(of).sum::<f64>() / count).exp();
    let memory = ratio(|pair| pair.1);
    (!pairs.is_empty()).then(|| ParetoPoint {
        configuration,
        name: space.name(configuration).to_owned(),
        objective: ratio(|pair| pair.0),
        memory,
        memory_bytes: memory * bytes,
        trials: pairs.len(),
        confirmed: pairs.iter().filter(|pair| pair.2).count() >= FRESH_FROM,
        front: false,
    })
}

#[cfg(test)]
mod tests {
    use super::super::logs::MEMORY;
    use super::super::testing::{measured, space};
    use super::*;
    use crate::study::Row;

    fn row(block: usize, configuration: usize, value: f64, bytes: f64) -> Row {
        let mut row = measured(block, configuration, value);
        row.figures.insert(MEMORY.to_owned(), bytes);
        row
    }

    #[test]
    fn the_front_is_what_nothing_beats_in_both() {
        let space = space(&["-A1m", "-A4m", "-A16m", "-A64m", "-A2m"]);
        let block = |block: usize| {
            // A slow spell of the machine affects a whole block.
            let slow = 1.0 + block as f64;
            [
                row(block, 0, 4.0 * slow, 10e6),
                row(block, 1, 2.0 * slow, 20e6),
                row(block, 2, 3.0 * slow, 30e6),
                row(block, 3, slow, 80e6),
            ]
        };
        let found = points(&space, &Logs::new(&(0..6).flat_map(block).collect::<Vec<_>>()));
        let shown: Vec<_> = found.iter().map(|point| (point.configuration, point.front, point.trials)).collect();
        assert_eq!(shown, [(3, true, 6), (1, true, 6), (2, false, 6), (0, true, 6)]);
        let best = &found[0];
        assert!((best.objective - 0.25).abs() < 1e-9 && (best.memory_bytes / 80e6 - 1.0).abs() < 1e-9, "{best:?}");
        assert!(found.iter().all(|point| point.confirmed));
    }

    #[test]
    fn without_memory_or_default_there_is_no_point() {
        let space = space(&["-A1m", "-A4m"]);
        let rows = [measured(0, 0, 1.0), row(0, 1, 1.0, 5.0), row(1, 1, 1.0, 5.0), row(2, 0, 1.0, 5.0)];
        let found = points(&space, &Logs::new(&rows));
        assert_eq!(found.iter().map(|point| point.configuration).collect::<Vec<_>>(), [0]);
        assert!(!found[0].confirmed && found[0].front);
    }
}
