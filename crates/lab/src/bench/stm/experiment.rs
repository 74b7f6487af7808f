//! The experiment: each configuration once, discarded; then blocks. In each block every benchmark runs with
//! every number of threads, in random order, and each of these in all configurations in succession, again in
//! random order: runs that are compared are close in time. Owns that order and what becomes of the runs; asks
//! [`Programs`] for one.

use super::benchmarks::Benchmark;
use super::configurations::Configuration;
use super::results::{Baselines, Measured, Runs, StmPoint, Timed};
use rtscope_tune::trials;

pub struct StmPlan {
    /// In the order of the list.
    pub benchmarks: Vec<Benchmark>,
    /// The default is the first.
    pub configurations: Vec<Configuration>,
    /// Numbers of threads, ascending.
    pub threads: Vec<u32>,
    pub runs: u32,
    /// First blocks in which each runs once more to count aborts, if its timed run did not report them.
    pub counted: u32,
    /// Seed of the order and of the resampling.
    pub seed: u64,
}

#[derive(Copy, Clone, Debug)]
pub struct Ask<'a> {
    pub benchmark: &'a Benchmark,
    pub configuration: &'a Configuration,
    pub threads: u32,
    /// Whether the program counts: its time is then of no use.
    pub counting: bool,
}

#[derive(Copy, Clone, PartialEq, Debug)]
pub struct Ran {
    /// Time of its work, by its own clock.
    pub ns: f64,
    /// Attempts whose work was lost.
    pub aborts: Option<f64>,
}

/// Why there are no more runs.
#[derive(Clone, Eq, PartialEq, Debug)]
pub enum End {
    /// The program did not do what it should.
    Failed(String),
    /// Interrupted, or the machine is never quiet.
    Stopped(String),
}

impl End {
    pub fn why(&self) -> &str {
        match self {
            End::Failed(why) | End::Stopped(why) => why,
        }
    }

    pub fn status(&self) -> u8 {
        match self {
            End::Failed(_) => 1,
            End::Stopped(_) => 3,
        }
    }
}

pub trait Programs {
    /// Runs one to its end; an error ends the experiment.
    fn run(&mut self, ask: &Ask<'_>) -> Result<Ran, End>;
}

/// Measures; `progress` gets what runs now, the numbers of finished and of all runs, and the block. If it ends
/// early, gives what was measured by then.
pub fn measure(
    plan: &StmPlan,
    programs: &mut dyn Programs,
    progress: &mut dyn FnMut(Progress<'_>),
) -> (Vec<Measured>, Option<End>) {
    let width = plan.configurations.len();
    let mut found = vec![Runs::default(); plan.benchmarks.len() * plan.threads.len() * width];
    let end = all(plan, programs, progress, &mut found).err();
    let per_benchmark = (plan.threads.len() * width).max(1);
    let measured = plan.benchmarks.iter().zip(found.chunks(per_benchmark)).map(|(benchmark, runs)| Measured {
        name: benchmark.name.clone(),
        about: benchmark.about,
        command: benchmark.command.shown(),
        points: points(plan, runs),
    });
    (measured.collect(), end)
}

#[derive(Copy, Clone, Debug)]
pub struct Progress<'a> {
    /// Finished blocks; `None`: the discarded runs.
    pub block: Option<usize>,
    /// Timed runs that are done, and their total.
    pub done: usize,
    pub all: usize,
    pub ask: Ask<'a>,
}

fn all(
    plan: &StmPlan,
    programs: &mut dyn Programs,
    progress: &mut dyn FnMut(Progress<'_>),
    found: &mut [Runs],
) -> Result<(), End> {
    let cells: Vec<(&Benchmark, u32)> =
        plan.benchmarks.iter().flat_map(|benchmark| plan.threads.iter().map(move |one| (benchmark, *one))).collect();
    let (width, blocks) = (plan.configurations.len(), plan.runs as usize);
    let all = cells.len() * width * blocks;
    if let Some((benchmark, threads)) = cells.first() {
        // From now on its files are in memory, and what does not run at all fails before any measurement.
        for configuration in &plan.configurations {
            let ask = Ask { benchmark, configuration, threads: *threads, counting: false };
            progress(Progress { block: None, done: 0, all, ask });
            programs.run(&ask)?;
        }
    }
    let mut done = 0;
    // Another random stream than that of the cells.
    let mut orders = trials::blocks(width, cells.len() * blocks, plan.seed.wrapping_add(1)).into_iter();
    for (block, order) in trials::blocks(cells.len(), blocks, plan.seed).into_iter().enumerate() {
        for cell in order {
            let Some((benchmark, threads)) = cells.get(cell) else { continue };
            for number in orders.next().unwrap_or_default() {
                let Some(configuration) = plan.configurations.get(number) else { continue };
                let Some(runs) = found.get_mut(cell * width + number) else { continue };
                let ask = Ask { benchmark, configuration, threads: *threads, counting: false };
                progress(Progress { block: Some(block), done, all, ask });
                one(plan, programs, &ask, block, runs)?;
                done += 1;
            }
        }
    }
    Ok(())
}

/// A timed run, and the counting run that belongs to it.
fn one(plan: &StmPlan, programs: &mut dyn Programs, ask: &Ask<'_>, block: usize, runs: &mut Runs) -> Result<(), End> {
    let ran = programs.run(ask)?;
    runs.times.push(Timed { block, ns: ran.ns });
    let counts = block < plan.counted as usize && ask.benchmark.count.is_some();
    let aborts = match ran.aborts {
        None if counts => programs.run(&Ask { counting: true, ..*ask })?.aborts,
        said => said,
    };
    runs.aborts.extend(aborts);
    Ok(())
}

/// The points of a benchmark: for each number of threads its configurations.
fn points(plan: &StmPlan, runs: &[Runs]) -> Vec<StmPoint> {
    let width = plan.configurations.len().max(1);
    let times = |at: usize| runs.get(at).map(|runs| runs.times.as_slice());
    let all = plan.threads.iter().flat_map(|threads| plan.configurations.iter().map(move |one| (*threads, one.name)));
    let point = |(at, ((threads, name), own)): (usize, ((u32, &'static str), &Runs))| {
        let (row, column) = (at / width, at % width);
        let default = times(row * width).filter(|_| column > 0);
        let fewest = times(column).filter(|_| row > 0);
        StmPoint::of(threads, name, own.clone(), Baselines { default, fewest }, plan.seed)
    };
    all.zip(runs).enumerate().filter_map(point).collect()
}

#[cfg(test)]
mod tests {
    use super::super::benchmarks;
    use super::super::configurations::{self, Cores, Way};
    use super::*;

    /// Programs that take some nanoseconds per thread, twice as many with `often`, more from run to run;
    /// `again` reports aborts itself.
    #[derive(Default)]
    struct Fake {
        asked: Vec<(String, u32, &'static str, bool)>,
        fails_at: Option<usize>,
    }

    impl Programs for Fake {
        fn run(&mut self, ask: &Ask<'_>) -> Result<Ran, End> {
            if self.fails_at == Some(self.asked.len()) {
                return Err(End::Failed("it is broken".into()));
            }
            let name = ask.configuration.name;
            self.asked.push((ask.benchmark.name.clone(), ask.threads, name, ask.counting));
            let slow = if name == "often" { 2.0 } else { 1.0 };
            let drift = 1.0 + self.asked.len() as f64 / 1e6;
            let aborts = if ask.counting { Some(7.0) } else { (name == "again").then_some(9.0) };
            Ok(Ran { ns: 1000.0 * f64::from(ask.threads) * slow * drift, aborts })
        }
    }

    fn plan(runs: u32) -> StmPlan {
        StmPlan {
            benchmarks: benchmarks::of("./b", &["si".into(), "ll".into()], &[]).unwrap(),
            configurations: configurations::of(&[Way::Often, Way::Again], Cores { all: 2, few: 1 }),
            threads: vec![1, 4],
            runs,
            counted: 2,
            seed: 3,
        }
    }

    #[test]
    fn blocks_are_whole_and_what_is_compared_stands_together() {
        let mut fake = Fake::default();
        let mut progress = Vec::new();
        let (found, end) = measure(&plan(6), &mut fake, &mut |now| progress.push((now.block, now.done, now.all)));
        assert_eq!(
            (end, progress[0], progress[3], progress.last().copied()),
            (None, (None, 0, 72), (Some(0), 0, 72), Some((Some(5), 71, 72)))
        );
        // Three are discarded. Two blocks count as well, except where the run itself reports aborts.
        let timed: Vec<_> = fake.asked.iter().skip(3).filter(|run| !run.3).collect();
        assert_eq!((timed.len(), fake.asked.iter().filter(|run| run.3).count()), (72, 16));
        for cell in timed.chunks(3) {
            let mut names: Vec<_> = cell.iter().map(|run| run.2).collect();
            names.sort_unstable();
            assert_eq!(names, ["again", "default", "often"]);
            assert!(cell.iter().all(|run| (&run.0, run.1) == (&cell[0].0, cell[0].1)));
        }
        for block in timed.chunks(12) {
            let mut cells: Vec<_> = block.iter().map(|run| (run.0.as_str(), run.1)).collect();
            cells.sort_unstable();
            cells.dedup();
            assert_eq!(cells, [("ll", 1), ("ll", 4), ("si", 1), ("si", 4)]);
        }
        assert_eq!(
            found.iter().map(|one| (one.name.as_str(), one.points.len())).collect::<Vec<_>>(),
            [("si", 6), ("ll", 6)]
        );
    }

    #[test]
    fn every_point_has_its_time_its_ratio_and_its_aborts() {
        let (found, _) = measure(&plan(6), &mut Fake::default(), &mut |_| ());
        let [default, often, again] = &found[0].points[3..] else { panic!("three configurations with 4 threads") };
        assert_eq!((default.threads, default.configuration, default.of_default), (4, "default", None));
        // Four times as long as with one thread, and the runs of a block drift a little.
        let of_fewest: Vec<_> = found[0].points.iter().map(|point| point.of_fewest.map(|ratio| ratio.ratio)).collect();
        assert!(of_fewest[..3].iter().all(Option::is_none), "{of_fewest:?}");
        assert!(of_fewest[3..].iter().all(|ratio| (ratio.unwrap() - 4.0).abs() < 0.01), "{of_fewest:?}");
        assert!((often.of_default.unwrap().ratio - 2.0).abs() < 0.001 && often.time_ns.interval.is_some());
        assert!((often.time_ns.median - 8000.0).abs() < 10.0, "{often:?}");
        assert_eq!((often.aborts_of_runs.as_slice(), again.aborts_of_runs.len()), (&[7.0, 7.0][..], 6));
        assert_eq!(again.aborts.unwrap().median, 9.0);
    }

    #[test]
    fn what_was_measured_before_the_end_is_kept() {
        let at = |runs| {
            let mut fake = Fake { fails_at: Some(runs), ..Fake::default() };
            let (found, end) = measure(&plan(4), &mut fake, &mut |_| ());
            assert_eq!(end, Some(End::Failed("it is broken".into())));
            let times = found.iter().flat_map(|one| &one.points).map(|point| point.times.len());
            times.sum::<usize>()
        };
        assert_eq!((at(0), at(3)), (0, 0));
        // 3 dropped, 20 in each of two blocks that count, 12 in the third.
        assert_eq!((at(3 + 20), at(3 + 40), at(3 + 40 + 12 + 5)), (12, 24, 41));
    }

    #[test]
    fn a_program_that_cannot_count_is_not_asked_to() {
        let own = StmPlan { benchmarks: vec![Benchmark::own(&["x".into(), "{threads}".into()])], ..plan(2) };
        let mut fake = Fake::default();
        let (found, _) = measure(&own, &mut fake, &mut |_| ());
        assert!(fake.asked.iter().all(|run| !run.3));
        assert!(found[0].points.iter().all(|point| (point.configuration == "again") == point.aborts.is_some()));
    }
}
