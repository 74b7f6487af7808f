//! What an experiment found: time, ratio to the default and aborts for each benchmark, number of
//! threads and configuration, each with its interval. Owns the arithmetic and the shape of the JSON
//! document (`docs/guide/transactions-bench.md`).

use super::configurations::Configuration;
use rtscope_tune::stats::{self, Median};
use serde::Serialize;

/// `schema` of the document.
pub const SCHEMA: &str = "rtscope/stm-bench/1";

/// A whole experiment.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StmResults {
    /// [`SCHEMA`].
    pub schema: &'static str,
    /// Seed of the order and of the resampling.
    pub seed: u64,
    /// Requested runs of each point.
    pub runs: u32,
    /// CPUs that the programs may use; `None`: not known.
    pub cpus: Option<usize>,
    /// Capabilities of programs that are not limited.
    pub capabilities: u32,
    /// Why it is not all that was asked for; `None`: it is.
    pub ended: Option<String>,
    /// Whether runs count whatever other processes did meanwhile.
    pub noisy: bool,
    /// Runs that did not count because other processes used the CPUs, and were repeated.
    pub disturbed: u64,
    /// Mean share of the CPUs that other processes used during the runs that count, 0 to 1.
    pub foreign: Option<f64>,
    /// The default first.
    pub configurations: Vec<Configuration>,
    /// In the order of the list.
    pub benchmarks: Vec<Measured>,
}

/// A benchmark.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Measured {
    /// Name of the benchmark, or of the user's program.
    pub name: String,
    /// What it does; `None`: a command of the user.
    pub about: Option<&'static str>,
    /// Its command, with a placeholder for the number of threads.
    pub command: String,
    /// By number of threads, ascending, and for each in the order of the configurations.
    pub points: Vec<StmPoint>,
}

/// A benchmark with a number of threads in a configuration.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StmPoint {
    /// Number of threads.
    pub threads: u32,
    /// The configuration's name.
    pub configuration: &'static str,
    /// Median of its times, nanoseconds.
    pub time_ns: Median,
    /// Its time divided by that of the default in the same block; `None` for the default itself, and for fewer
    /// than two blocks.
    pub of_default: Option<Ratio>,
    /// Its time divided by that of the same configuration with the fewest threads in the same block; `None` for
    /// those, and for fewer than two blocks.
    pub of_fewest: Option<Ratio>,
    /// Median of its aborts; `None`: they were not counted.
    pub aborts: Option<Median>,
    /// Aborts of each run in which they were counted.
    pub aborts_of_runs: Vec<f64>,
    /// Each run that was timed, by block.
    pub times: Vec<Timed>,
}

/// One timed run.
#[derive(Copy, Clone, Debug, PartialEq, Serialize)]
pub struct Timed {
    /// Its block, from 0.
    pub block: usize,
    /// Time that the program reports, nanoseconds.
    pub ns: f64,
}

impl StmPoint {
    /// Computes it from its runs and those that it is compared with; `None` without runs. `seed` is for the
    /// intervals of medians.
    pub fn of(
        threads: u32,
        configuration: &'static str,
        own: Runs,
        baselines: Baselines<'_>,
        seed: u64,
    ) -> Option<StmPoint> {
        let times: Vec<f64> = own.times.iter().map(|run| run.ns).collect();
        let ratio = |other: Option<&[Timed]>| other.and_then(|other| ratio(&own.times, other));
        Some(StmPoint {
            threads,
            configuration,
            time_ns: stats::bootstrap(&times, seed)?,
            of_default: ratio(baselines.default),
            of_fewest: ratio(baselines.fewest),
            aborts: stats::bootstrap(&own.aborts, seed),
            aborts_of_runs: own.aborts,
            times: own.times,
        })
    }
}

/// Runs that a point is compared with, if there are any.
#[derive(Copy, Clone, Debug, Default)]
pub struct Baselines<'a> {
    /// The default with as many threads.
    pub default: Option<&'a [Timed]>,
    /// This configuration with the fewest threads.
    pub fewest: Option<&'a [Timed]>,
}

/// Measurements of a point.
#[derive(Clone, Debug, Default)]
pub struct Runs {
    /// Timed runs.
    pub times: Vec<Timed>,
    /// Aborts of the runs in which they were counted.
    pub aborts: Vec<f64>,
}

/// Ratio of two times, with its 95 % interval.
#[derive(Copy, Clone, Debug, PartialEq, Serialize)]
pub struct Ratio {
    /// Lower end of the interval.
    pub low: f64,
    /// The estimate.
    pub ratio: f64,
    /// Upper end of the interval.
    pub high: f64,
}

/// The centre of ratios to others, block by block, on a logarithmic scale.
fn ratio(own: &[Timed], others: &[Timed]) -> Option<Ratio> {
    let of_same_block =
        |run: &Timed| others.iter().find(|other| other.block == run.block).map(|other| run.ns / other.ns);
    let logs: Vec<f64> = own.iter().filter_map(of_same_block).map(f64::ln).filter(|log| log.is_finite()).collect();
    let (low, ratio, high) = stats::centre(&logs)?;
    Some(Ratio { low: low.exp(), ratio: ratio.exp(), high: high.exp() })
}

/// How a configuration compares with the default, over all points.
#[derive(Clone, Debug, PartialEq)]
pub struct Standing<'a> {
    /// Name of the configuration.
    pub configuration: &'a str,
    /// Points whose whole interval is below 1.
    pub faster: usize,
    /// Points whose whole interval is above 1.
    pub slower: usize,
    /// Points whose interval includes 1.
    pub same: usize,
    /// The lowest mean ratio, with its benchmark and threads.
    pub best: (&'a str, u32, Ratio),
    /// The ratio with the highest upper end, with its benchmark and threads.
    pub worst: (&'a str, u32, Ratio),
}

impl StmResults {
    /// Every point with its benchmark.
    pub fn points(&self) -> impl Iterator<Item = (&Measured, &StmPoint)> {
        self.benchmarks.iter().flat_map(|benchmark| benchmark.points.iter().map(move |point| (benchmark, point)))
    }

    /// The standing of each configuration that has a ratio anywhere.
    pub fn standings(&self) -> Vec<Standing<'_>> {
        self.configurations.iter().filter_map(|configuration| self.standing(configuration.name)).collect()
    }

    fn standing<'a>(&'a self, configuration: &'a str) -> Option<Standing<'a>> {
        let own = self.points().filter(|(_, point)| point.configuration == configuration);
        let all: Vec<(&str, u32, Ratio)> =
            own.filter_map(|(of, point)| Some((of.name.as_str(), point.threads, point.of_default?))).collect();
        let count = |holds: fn(&Ratio) -> bool| all.iter().filter(|(.., ratio)| holds(ratio)).count();
        let (faster, slower) = (count(|ratio| ratio.high < 1.0), count(|ratio| ratio.low > 1.0));
        Some(Standing {
            configuration,
            faster,
            slower,
            same: all.len() - faster - slower,
            best: *all.iter().min_by(|a, b| a.2.ratio.total_cmp(&b.2.ratio))?,
            worst: *all.iter().max_by(|a, b| a.2.high.total_cmp(&b.2.high))?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn timed(times: &[(usize, f64)]) -> Vec<Timed> {
        times.iter().map(|(block, ns)| Timed { block: *block, ns: *ns }).collect()
    }

    #[test]
    fn ratios_are_of_the_same_block() {
        let default = timed(&[(0, 100.0), (1, 1000.0), (3, 50.0), (4, 1.0), (5, 1.0), (6, 1.0), (7, 3.0)]);
        // A slow spell affects both; block 2 has no default, block 3 nothing to compare.
        let own = timed(&[(1, 2000.0), (0, 200.0), (2, 7.0), (4, 2.0), (5, 2.0), (6, 2.0), (7, 6.0)]);
        let found = ratio(&own, &default).unwrap();
        assert!([found.low, found.ratio, found.high].iter().all(|end| (end - 2.0).abs() < 1e-9), "{found:?}");
        assert_eq!(ratio(&own[..6], &default), None, "five pairs");
        let far = timed(&[(0, 100.0), (1, 4000.0), (4, 1.0), (5, 4.0), (6, 1.0), (7, 12.0)]);
        let spread = ratio(&far, &default).unwrap();
        assert!((spread.ratio - 2.0).abs() < 1e-9 && spread.low <= 1.0 && spread.high >= 4.0, "{spread:?}");
    }

    #[test]
    fn a_point_has_medians_and_keeps_its_runs() {
        let times = timed(&[(0, 4.0), (1, 2.0), (2, 3.0), (3, 9.0), (4, 1.0), (5, 5.0), (6, 3.0)]);
        let own = Runs { times: times.clone(), aborts: vec![10.0, 30.0, 20.0] };
        let baselines = Baselines { default: Some(&times), fewest: None };
        let point = StmPoint::of(4, "often", own, baselines, 1).unwrap();
        let (low, high) = point.time_ns.interval.unwrap();
        assert!(point.time_ns.median == 3.0 && low >= 1.0 && high <= 9.0 && low < high);
        assert_eq!((point.aborts.unwrap().median, point.aborts.unwrap().interval), (20.0, None));
        assert_eq!((point.of_default.unwrap().ratio, point.of_fewest, point.times), (1.0, None, times));
        assert_eq!(StmPoint::of(4, "often", Runs::default(), Baselines::default(), 1), None);
    }
}
