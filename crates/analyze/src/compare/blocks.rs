//! A run in twenty blocks of equal length, and the values of its quarters: the variation that a comparison sets
//! differences against.
//!
//! Owns resampling. Pauses come in clusters, so it draws whole blocks, never single pauses (block bootstrap, Kuensch
//! 1989). A run also differs from the next run of the same program by more than its own blocks suggest, because
//! machine noise is slow. So each draw is a quarter, five blocks drawn from five adjacent ones, and its spread is
//! *not* scaled down for the rest of the run. For noise whose power goes with 1/f that is the spread from run to run;
//! for noise without memory it is twice that. Refuses to decide.

use super::sample::{PauseSample, Samples, SliceSums, Taken};
use crate::results::Results;
use crate::results::slices::Join;
use rtscope_model::Time;
use rtscope_model::chance::Chance;

pub const BLOCKS: usize = 20;
/// Blocks of a quarter.
const QUARTER: usize = BLOCKS / 4;
/// Quarters that are drawn.
pub const DRAWS: usize = 1_000;

rtscope_model::listed! {
    #[derive(Copy, Clone, Eq, PartialEq, Debug)]
    pub enum PausePart: key {
        /// Request to last lane stopped.
        Stop = "time_to_stop_ns",
        /// All stopped to work done.
        Collect = "collect_ns",
        /// Work done to last lane resumed.
        Release = "release_ns",
        /// Request to last lane resumed.
        Whole = "pause_ns",
    }
}

/// How to treat time in which other threads had the awaited CPU.
#[derive(Copy, Clone, Eq, PartialEq, Debug)]
pub enum Others {
    /// It counts, as in every report.
    Counted,
    /// It is subtracted from stops and releases. So is time in which another thread of the program had the CPU, if
    /// that is the kernel's doing.
    TakenOut {
        /// There were CPUs for all lanes, so only the kernel made them queue.
        siblings: bool,
    },
}

impl Others {
    fn left(self, ns: u64, taken: Taken) -> u64 {
        match self {
            Others::Counted => ns,
            Others::TakenOut { siblings } => taken.left(ns, siblings),
        }
    }
}

rtscope_model::listed! {
    /// A line of memory.
    #[derive(Copy, Clone, Eq, PartialEq, Debug)]
    pub enum MemoryCurve: name {
        /// Resident set.
        Rss = "rss",
        /// Held by the runtime.
        Heap = "heap",
        /// Live after major collections.
        Live = "live",
    }
}

/// Five blocks, as drawn.
pub type Quarter = [u8; QUARTER];

/// Draws quarters: a random start, then five draws from its five blocks.
pub fn quarters(seed: u64) -> Vec<Quarter> {
    let mut chance = Chance::new(seed);
    let mut draw = || {
        let start = chance.below(BLOCKS as u64);
        // The end joins the start, so that every block is equally likely.
        std::array::from_fn(|_| ((start + chance.below(QUARTER as u64)) % BLOCKS as u64) as u8)
    };
    (0..DRAWS).map(|_| draw()).collect()
}

pub struct Blocks<'s> {
    started: Time,
    width_ns: u64,
    sums: [SliceSums; BLOCKS],
    pauses: &'s [PauseSample],
}

/// Durations, shortest first, each with its block.
pub type Sorted = Vec<(u64, u8)>;

impl<'s> Blocks<'s> {
    /// Cuts a run into blocks; `None` if it is too short.
    pub fn of(results: &Results, samples: &'s Samples) -> Option<Blocks<'s>> {
        let width_ns = results.span_ns / BLOCKS as u64;
        if width_ns == 0 {
            return None;
        }
        let mut blocks = Blocks {
            started: results.started,
            width_ns,
            sums: [SliceSums::default(); BLOCKS],
            pauses: &samples.pauses,
        };
        for (middle, sums) in samples.slices() {
            let block = usize::from(blocks.number(middle));
            if let Some(block) = blocks.sums.get_mut(block) {
                block.join(sums);
            }
        }
        Some(blocks)
    }

    fn number(&self, at: Time) -> u8 {
        (at.since(self.started) / self.width_ns).min(BLOCKS as u64 - 1) as u8
    }

    /// Pauses per second of each block.
    pub fn pauses_per_second(&self) -> [Option<f64>; BLOCKS] {
        let seconds = self.width_ns as f64 / 1e9;
        self.sums.map(|sums| Some(sums.count as f64 / seconds))
    }

    /// Nanoseconds per second that each block spent in `part`.
    pub fn per_second(&self, part: PausePart, others: Others) -> [Option<f64>; BLOCKS] {
        let seconds = self.width_ns as f64 / 1e9;
        self.sums.map(|sums| Some(ns(&sums, part, others) as f64 / seconds))
    }

    /// Time in `part` of each pause, sorted by length.
    pub fn sorted(&self, part: PausePart, others: Others) -> Sorted {
        let known = self.pauses.iter().filter(|pause| pause.requested || part != PausePart::Stop);
        let mut sorted: Sorted = known.map(|pause| (ns(&pause.of, part, others), self.number(pause.begin))).collect();
        sorted.sort_unstable();
        sorted
    }

    /// Mean over time of a memory line in each block; `None` before its first point.
    pub fn level(&self, results: &Results, line: MemoryCurve) -> [Option<f64>; BLOCKS] {
        let points = results.drawing.memory.iter().find(|drawn| drawn.name == line.name());
        let points = points.map_or(&[][..], |line| line.points.as_slice());
        std::array::from_fn(|block| {
            let from = self.started.plus(self.width_ns.saturating_mul(block as u64));
            mean_level(points, from, from.plus(self.width_ns))
        })
    }
}

fn ns(sums: &SliceSums, part: PausePart, others: Others) -> u64 {
    let stop = others.left(sums.stop_ns, sums.stop_taken);
    let release = others.left(sums.release_ns, sums.release_taken);
    match part {
        PausePart::Stop => stop,
        PausePart::Collect => sums.collect_ns,
        PausePart::Release => release,
        PausePart::Whole => stop.saturating_add(sums.collect_ns).saturating_add(release),
    }
}

/// Mean of steps over `[from, to]`: each value holds until the next.
fn mean_level(points: &[(Time, u64)], from: Time, to: Time) -> Option<f64> {
    let (mut area, mut covered) = (0.0, 0.0);
    for (index, (at, value)) in points.iter().enumerate() {
        let until = points.get(index + 1).map_or(to, |next| next.0).min(to);
        let ns = until.since((*at).max(from)) as f64;
        area += *value as f64 * ns;
        covered += ns;
    }
    (covered > 0.0).then(|| area / covered)
}

/// The mean of a quarter's blocks; blocks without a value do not count.
pub fn mean(values: &[Option<f64>; BLOCKS], quarter: &Quarter) -> Option<f64> {
    let drawn = quarter.iter().filter_map(|block| values.get(usize::from(*block)).copied().flatten());
    let (count, sum) = drawn.fold((0u32, 0.0), |(count, sum), value| (count + 1, sum + value));
    (count > 0).then(|| sum / f64::from(count))
}

fn weights(quarter: &Quarter) -> [u64; BLOCKS] {
    let mut weights = [0; BLOCKS];
    for block in quarter {
        if let Some(weight) = weights.get_mut(usize::from(*block)) {
            *weight += 1;
        }
    }
    weights
}

fn weight(weights: &[u64; BLOCKS], block: u8) -> u64 {
    weights.get(usize::from(block)).copied().unwrap_or(0)
}

/// A quantile of the pauses in a quarter: the smallest value that at least the share `at` of them does not exceed.
/// `None` without pauses.
pub fn quantile(sorted: &Sorted, quarter: &Quarter, at: f64) -> Option<f64> {
    let weights = weights(quarter);
    let all: u64 = sorted.iter().map(|(_, block)| weight(&weights, *block)).sum();
    let rank = (at * all as f64).ceil().max(1.0) as u64;
    let mut passed = 0;
    let reaches = |(_, block): &&(u64, u8)| {
        passed += weight(&weights, *block);
        passed >= rank
    };
    sorted.iter().find(reaches).map(|(value, _)| *value as f64)
}

/// Mean length of the pauses in a quarter.
pub fn mean_length(sorted: &Sorted, quarter: &Quarter) -> Option<f64> {
    let weights = weights(quarter);
    let add = |(count, sum): (u64, f64), (value, block): &(u64, u8)| {
        let weight = weight(&weights, *block);
        (count + weight, sum + *value as f64 * weight as f64)
    };
    let (count, sum) = sorted.iter().fold((0, 0.0), add);
    (count > 0).then(|| sum / count as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quarters_lie_together_and_cover_the_run() {
        let drawn = quarters(7);
        assert_eq!(drawn, quarters(7));
        assert_ne!(drawn, quarters(8));
        let mut seen = [0u32; BLOCKS];
        for quarter in &drawn {
            let apart = |block: u8, from: u8| (u32::from(block) + BLOCKS as u32 - u32::from(from)) % BLOCKS as u32;
            let together =
                (0..BLOCKS as u8).any(|from| quarter.iter().all(|block| apart(*block, from) < QUARTER as u32));
            assert!(together, "{quarter:?}");
            quarter.iter().for_each(|block| seen[usize::from(*block)] += 1);
        }
        let fair = (DRAWS * QUARTER / BLOCKS) as u32;
        assert!(seen.iter().all(|count| count.abs_diff(fair) < fair / 4), "{seen:?}");
    }

    #[test]
    fn quantiles_count_a_block_as_often_as_it_was_drawn() {
        let sorted: Sorted = vec![(10, 0), (20, 1), (30, 0), (40, 2)];
        assert_eq!(quantile(&sorted, &[0, 0, 0, 0, 0], 0.5), Some(10.0));
        assert_eq!(quantile(&sorted, &[0, 0, 0, 0, 0], 0.99), Some(30.0));
        assert_eq!(quantile(&sorted, &[0, 1, 1, 1, 1], 0.5), Some(20.0));
        assert_eq!(quantile(&sorted, &[7, 7, 7, 7, 7], 0.5), None);
        assert_eq!(mean_length(&sorted, &[0, 2, 2, 7, 7]), Some((10.0 + 30.0 + 40.0 + 40.0) / 4.0));
    }

    #[test]
    fn a_level_holds_until_the_next() {
        let points = [(Time(10), 4), (Time(20), 8)];
        assert_eq!(mean_level(&points, Time(10), Time(30)), Some(6.0));
        assert_eq!(mean_level(&points, Time(25), Time(30)), Some(8.0));
        assert_eq!(mean_level(&points, Time(0), Time(10)), None);
        assert_eq!(mean_level(&[], Time(0), Time(10)), None);
    }

    #[test]
    fn blocks_without_a_value_do_not_count() {
        let mut values = [None; BLOCKS];
        values[3] = Some(6.0);
        assert_eq!(mean(&values, &[3, 4, 4, 4, 4]), Some(6.0));
        assert_eq!(mean(&values, &[4, 4, 4, 4, 4]), None);
    }
}
