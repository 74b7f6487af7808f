//! The experiment: every configuration once, discarded; then whole blocks, each with every configuration
//! once, in an order that follows from the seed. Owns that order and what becomes of the runs; asks [`Runs`]
//! to run something.

use super::super::template::Template;
use super::results::{SCHEMA, Scaling, ScalingLine, ScalingPoint, ScalingRun};
use rtscope_host::taken::Ticks;
use rtscope_terminal::user_error::UserError;
use rtscope_tune::{stats, trials};
use std::ffi::OsString;

/// The placeholder for the number of workers.
pub(super) const PLACE: &str = "{workers}";

pub struct ScalingPlan {
    pub series: Vec<Template>,
    /// Numbers of workers, ascending.
    pub workers: Vec<u32>,
    pub repeats: u32,
    pub seed: u64,
}

#[derive(Copy, Clone, Debug)]
pub struct Ran {
    pub work: u64,
    pub wall_ns: u64,
    /// What the CPUs did during the run; `None`: this kernel does not report it.
    pub taken: Option<Ticks>,
}

pub trait Runs {
    fn run(&mut self, command: &[OsString]) -> Result<Ran, UserError>;
}

/// Measures; `progress` gets the number of finished runs, that of all runs, and what runs now.
pub fn measure(
    plan: &ScalingPlan,
    runs: &mut dyn Runs,
    progress: &mut dyn FnMut(usize, usize, &str),
) -> Result<Scaling, UserError> {
    let configurations: Vec<(&Template, u32)> =
        plan.series.iter().flat_map(|series| plan.workers.iter().map(move |workers| (series, *workers))).collect();
    let mut found: Vec<Vec<Ran>> = vec![Vec::new(); configurations.len()];
    let all = configurations.len() * (plan.repeats as usize + 1);
    let mut done = 0;
    let mut one = |(series, workers): &(&Template, u32)| {
        progress(done, all, &format!("{} with {workers}", series.name));
        done += 1;
        runs.run(&series.filled(PLACE, *workers))
    };
    for configuration in &configurations {
        // From now on its files are in the page cache.
        one(configuration)?;
    }
    for number in trials::blocks(configurations.len(), plan.repeats as usize, plan.seed).into_iter().flatten() {
        if let (Some(configuration), Some(runs)) = (configurations.get(number), found.get_mut(number)) {
            runs.push(one(configuration)?);
        }
    }
    progress(all, all, "");
    Ok(results(plan, &found))
}

fn results(plan: &ScalingPlan, found: &[Vec<Ran>]) -> Scaling {
    let width = plan.workers.len().max(1);
    let first = found.get(..width).unwrap_or(found);
    let line = |(index, (series, rows)): (usize, (&Template, &[Vec<Ran>]))| {
        let points = plan.workers.iter().zip(rows.iter().zip(first));
        let points = points.filter_map(|(workers, (runs, first))| {
            point(*workers, runs, (index > 0).then_some(first.as_slice()), plan.seed)
        });
        ScalingLine { name: series.name.clone(), template: series.shown(), points: points.collect() }
    };
    Scaling {
        schema: SCHEMA,
        seed: plan.seed,
        repeats: plan.repeats,
        cpus: std::thread::available_parallelism().ok().map(usize::from),
        others: others(&found.iter().flatten().copied().collect::<Vec<_>>()),
        series: plan.series.iter().zip(found.chunks(width)).enumerate().map(line).collect(),
    }
}

/// `None` without runs.
fn point(workers: u32, ran: &[Ran], first: Option<&[Ran]>, seed: u64) -> Option<ScalingPoint> {
    let run = |ran: &Ran| ScalingRun { work: ran.work, wall_ns: ran.wall_ns };
    let runs: Vec<ScalingRun> = ran.iter().map(run).collect();
    let own: Vec<f64> = runs.iter().map(ScalingRun::rate).collect();
    let of_first = first.and_then(|first| {
        // Run by run: both belong to the same block.
        let ratios: Vec<f64> = own.iter().zip(first).map(|(own, first)| own / run(first).rate()).collect();
        stats::bootstrap(&ratios, seed)
    });
    Some(ScalingPoint { workers, rate: stats::bootstrap(&own, seed)?, of_first, others: others(ran), runs })
}

/// `None` if it is unknown for any run.
fn others(ran: &[Ran]) -> Option<f64> {
    let ticks: Option<Vec<Ticks>> = ran.iter().map(|ran| ran.taken).collect();
    ticks?.into_iter().fold(Ticks::default(), |sum, ticks| sum + ticks).others()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Programs that take some milliseconds per worker, longer from run to run.
    #[derive(Default)]
    struct Fake {
        asked: Vec<String>,
    }

    impl Runs for Fake {
        fn run(&mut self, command: &[OsString]) -> Result<Ran, UserError> {
            let words: Vec<_> = command.iter().map(|word| word.to_string_lossy().into_owned()).collect();
            self.asked.push(words.join(" "));
            let workers: u64 = words[1].parse().unwrap();
            let slow = if words[0] == "slow" { 4 } else { 1 };
            let drift = self.asked.len() as u64;
            let taken = Some(Ticks { all: 100, busy: 60, own: 50, ..Ticks::default() });
            Ok(Ran { work: 100 * workers, wall_ns: slow * (1_000_000_000 + drift), taken })
        }
    }

    fn plan(repeats: u32) -> ScalingPlan {
        let series = ["fast=fast {workers}", "slow=slow {workers}"].map(|text| text.parse().unwrap()).into();
        ScalingPlan { series, workers: vec![1, 2, 4], repeats, seed: 3 }
    }

    #[test]
    fn a_first_round_is_dropped_and_blocks_are_whole() {
        let mut runs = Fake::default();
        let mut progress = Vec::new();
        let found = measure(&plan(6), &mut runs, &mut |done, all, _| progress.push((done, all))).unwrap();
        assert_eq!((runs.asked.len(), progress[0], progress.last().copied()), (42, (0, 42), Some((42, 42))));
        for block in runs.asked.chunks(6) {
            let mut block = block.to_vec();
            block.sort();
            assert_eq!(block, ["fast 1", "fast 2", "fast 4", "slow 1", "slow 2", "slow 4"]);
        }
        assert!(found.points().all(|point| point.runs.len() == 6 && point.runs.iter().all(|run| run.work > 0)));
        // The discarded runs were the fastest here.
        assert!(found.points().flat_map(|point| &point.runs).all(|run| run.wall_ns > 1_000_000_006));
    }

    #[test]
    fn rates_have_intervals_and_ratios_to_the_first_line() {
        let found = measure(&plan(6), &mut Fake::default(), &mut |_, _, _| ()).unwrap();
        let [fast, slow] = &found.series[..] else { panic!("two lines") };
        let four = &slow.points[2];
        assert!((four.rate.median - 100.0).abs() < 0.1 && four.rate.interval.is_some(), "{four:?}");
        assert!((four.of_first.unwrap().median - 0.25).abs() < 0.001);
        assert_eq!((four.workers, four.others, fast.points[0].of_first), (4, Some(0.1), None));
        assert_eq!(found.others, Some(0.1));
        let few = measure(&plan(5), &mut Fake::default(), &mut |_, _, _| ()).unwrap();
        assert!(few.points().all(|point| point.rate.interval.is_none()));
    }

    #[test]
    fn a_run_that_fails_ends_it() {
        struct Broken;
        impl Runs for Broken {
            fn run(&mut self, _: &[OsString]) -> Result<Ran, UserError> {
                Err(UserError::new("it does not run"))
            }
        }
        assert!(measure(&plan(1), &mut Broken, &mut |_, _, _| ()).is_err());
    }
}
