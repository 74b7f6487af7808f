//! What an experiment found: rates, their median and its interval, for each line of the plot and each number of
//! workers. Owns the figures and the shape of the JSON document (`docs/guide/scaling.md`).

use rtscope_tune::stats::Median;
use serde::Serialize;

pub const SCHEMA: &str = "rtscope/scaling/1";

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Scaling {
    pub schema: &'static str,
    /// Seed of the order and of the resampling.
    pub seed: u64,
    pub repeats: u32,
    /// CPUs that the programs may use; `None`: not known.
    pub cpus: Option<usize>,
    /// Share of all CPUs of this machine that other processes used, over all runs, 0 to 1.
    pub others: Option<f64>,
    /// In the order given.
    pub series: Vec<ScalingLine>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ScalingLine {
    pub name: String,
    /// Its command, with a placeholder for the number of workers.
    pub template: String,
    /// By number of workers, ascending.
    pub points: Vec<ScalingPoint>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ScalingPoint {
    pub workers: u32,
    /// Work per second.
    pub rate: Median,
    /// Rate divided by that of the first line in the same block; `None` for the first line.
    pub of_first: Option<Median>,
    /// Share of all CPUs that other processes used during its runs.
    pub others: Option<f64>,
    pub runs: Vec<ScalingRun>,
}

#[derive(Copy, Clone, Debug, PartialEq, Serialize)]
pub struct ScalingRun {
    pub work: u64,
    pub wall_ns: u64,
}

impl ScalingRun {
    pub fn rate(&self) -> f64 {
        self.work as f64 * 1e9 / self.wall_ns.max(1) as f64
    }
}

impl Scaling {
    pub fn points(&self) -> impl Iterator<Item = &ScalingPoint> {
        self.series.iter().flat_map(|line| &line.points)
    }

    /// The greatest rate that is drawn; 0 if there is none.
    pub fn rate_max(&self) -> f64 {
        let top = |point: &ScalingPoint| point.rate.interval.map_or(point.rate.median, |(_, high)| high);
        self.points().map(top).fold(0.0, f64::max)
    }
}
