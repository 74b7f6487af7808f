//! What a study requests, in which order, and its verdicts on badly behaved programs.

use super::course::*;
use super::design::{CHECK_PAIRS, FRESH_FROM};
use super::propose::{Believed, Proposer, Shuffled, Sobol};
use super::{Design, Space, seed};
use proptest::prelude::*;
use std::collections::BTreeMap;

fn space(count: usize) -> Space {
    Space::new((0..count).map(|i| format!("-A{}m -G{}", 1 << (i % 6), i / 6)).collect(), 0).unwrap()
}

/// A program that is faster by a constant step for each higher number; each trial is off by up to
/// `noise`, each block by up to twice that.
struct Program {
    step: f64,
    noise: f64,
    fails: Vec<usize>,
    stops_at: usize,
    kept: Vec<Taken>,
}

impl Program {
    fn new(step: f64, noise: f64) -> Program {
        Program { step, noise, fails: Vec::new(), stops_at: usize::MAX, kept: Vec::new() }
    }
}

impl Trials for Program {
    fn run(&mut self, _: &Space, ask: &Ask) -> Outcome {
        if ask.number >= self.stops_at {
            return Outcome::Stopped("time is over".to_owned());
        }
        if self.fails.contains(&ask.configuration) {
            return Outcome::Failed("it ends with 2".to_owned());
        }
        let uniform = |parts: &[u64]| seed::at(77, parts).below(2_001) as f64 / 1000.0 - 1.0;
        let own = uniform(&[1, ask.number as u64]) * self.noise;
        let shared = uniform(&[2, ask.block as u64]) * self.noise * 2.0;
        Outcome::Measured((own + shared - self.step * ask.configuration as f64).exp())
    }

    fn keep(&mut self, taken: &Taken) {
        self.kept.push(taken.clone());
    }
}

fn study(count: usize, trials: usize, seed: u64) -> Study {
    Study::new(space(count), Design::new(trials, seed), Box::new(Believed)).unwrap()
}

/// The trials of each block, in order.
fn blocks(kept: &[Taken]) -> Vec<(Stage, Vec<usize>)> {
    let mut blocks: BTreeMap<usize, (Stage, Vec<usize>)> = BTreeMap::new();
    for Taken { ask, .. } in kept {
        let block = blocks.entry(ask.block).or_insert((ask.stage, Vec::new()));
        assert_eq!(block.0, ask.stage);
        assert_eq!(ask.again, block.1.contains(&ask.configuration));
        block.1.push(ask.configuration);
    }
    blocks.into_values().collect()
}

#[test]
fn the_quickest_is_found_and_its_gain_is_of_fresh_blocks() {
    let mut program = Program::new(0.05, 0.03);
    let answer = run(&mut study(18, 80, 4), &mut program);
    let Verdict::Better(best) = answer.verdict else { panic!("{answer:?}") };
    assert!(best >= 16, "{answer:?}");
    let fresh = blocks(&program.kept).iter().filter(|(stage, _)| *stage == Stage::Fresh).count();
    let first = &answer.candidates[0];
    assert_eq!((first.configuration, first.pairs, answer.candidates.len()), (best, fresh, 3));
    assert!(first.gain.unwrap().holds((0.05 * best as f64).exp()), "{first:?}");
    assert_eq!((answer.trials, answer.failed.len()), (program.kept.len(), 0));
}

#[test]
fn the_plan_is_confirmed_with_the_best() {
    // The worst of all: only the wish confirms it.
    let mut program = Program::new(0.05, 0.03);
    let answer = run(&mut study(18, 80, 4).with_plan(Some(1)), &mut program);
    let plan = answer.candidates.iter().find(|candidate| candidate.configuration == 1).unwrap();
    assert!(plan.pairs >= FRESH_FROM && plan.gain.unwrap().holds(0.05f64.exp()), "{answer:?}");
    assert!(matches!(answer.verdict, Verdict::Better(best) if best >= 15), "{answer:?}");
    assert_eq!(answer.candidates.len(), 4);
    let breadth = program.kept.iter().find(|taken| taken.ask.configuration == 1).unwrap();
    assert_eq!(breadth.ask.stage, Stage::Breadth);
    // The plan may fail, be the default, or not exist.
    let mut program = Program { fails: vec![1], ..Program::new(0.05, 0.03) };
    let answer = run(&mut study(18, 80, 4).with_plan(Some(1)), &mut program);
    assert!(answer.candidates.iter().all(|candidate| candidate.configuration != 1) && answer.failed.len() == 1);
    for none in [None, Some(0), Some(99)] {
        let of = |study: &mut Study| run(study, &mut Program::new(0.05, 0.03));
        assert_eq!(of(&mut study(18, 80, 4).with_plan(none)), of(&mut study(18, 80, 4)));
    }
    // With a small budget it is no candidate, or one of two, with the best.
    for trials in 34..60 {
        let answer = run(&mut study(18, trials, 4).with_plan(Some(1)), &mut Program::new(0.05, 0.001));
        assert!(answer.candidates.first().is_some_and(|best| best.configuration > 1), "{trials}: {answer:?}");
    }
}

#[test]
fn a_program_that_flags_do_not_change_has_no_difference() {
    let none = (0..50).filter(|seed| {
        let answer = run(&mut study(18, 75, *seed), &mut Program::new(0.0, 0.05));
        answer.verdict == Verdict::NoDifference && answer.candidates.iter().all(|one| one.gain.is_some())
    });
    assert!(none.count() >= 48);
}

#[test]
fn a_gain_below_the_zone_is_no_difference() {
    let answer = run(&mut study(2, 75, 1), &mut Program::new(0.03, 0.001));
    let gain = answer.candidates[0].gain.unwrap();
    assert!(gain.low > 1.0 && gain.high < 1.05, "{gain:?}");
    assert_eq!(answer.verdict, Verdict::NoDifference);
}

#[test]
fn what_is_decided_stops_early() {
    let answer = run(&mut study(2, 400, 1), &mut Program::new(0.5, 0.01));
    assert!(matches!(answer.verdict, Verdict::Better(1)) && answer.trials < 100, "{answer:?}");
}

#[test]
fn a_noisy_machine_is_refused_before_anything_is_tuned() {
    let mut program = Program::new(0.05, 0.6);
    let answer = run(&mut study(18, 300, 1), &mut program);
    assert_eq!((answer.verdict, answer.candidates.len()), (Verdict::TooNoisy, 0));
    assert_eq!(answer.trials, 2 * CHECK_PAIRS.end());
    assert!(program.kept.iter().all(|taken| taken.ask.stage == Stage::Check));
}

#[test]
fn failures_are_reported_and_not_tried_again() {
    let mut program = Program { fails: vec![17, 16, 3], ..Program::new(0.05, 0.02) };
    let answer = run(&mut study(18, 100, 2), &mut program);
    for (number, why) in &answer.failed {
        let tried = program.kept.iter().filter(|taken| taken.ask.configuration == *number).count();
        assert_eq!((tried, why.as_str()), (1, "it ends with 2"));
    }
    assert!(answer.failed.iter().any(|(number, _)| *number == 17), "{answer:?}");
    assert!(matches!(answer.verdict, Verdict::Better(best) if best < 16), "{answer:?}");
    let all = Program { fails: (1..18).collect(), ..Program::new(0.05, 0.02) };
    let answer = run(&mut study(18, 100, 2), &mut { all });
    assert_eq!((answer.verdict, answer.failed.len(), answer.candidates.len()), (Verdict::NoDifference, 17, 0));
    let answer = run(&mut study(18, 100, 2), &mut Program { fails: vec![0], ..Program::new(0.05, 0.02) });
    assert_eq!((answer.verdict, answer.trials), (Verdict::DefaultFails("it ends with 2".to_owned()), 1));
}

#[test]
fn what_is_no_measurement_is_a_failure() {
    for value in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        let mut study = study(3, 24, 1);
        let Next::Trial(_) = study.ask() else { panic!("nothing to do") };
        study.report(Outcome::Measured(value));
        let Next::Done(answer) = study.ask() else { panic!("it goes on") };
        assert!(matches!(answer.verdict, Verdict::DefaultFails(_)));
    }
}

#[test]
fn one_that_is_stopped_concludes_from_fresh_blocks_only() {
    let program = || Program::new(0.01, 0.05);
    let mut whole = program();
    let last = run(&mut study(12, 100, 1), &mut whole);
    let first = whole.kept.iter().position(|taken| taken.ask.stage == Stage::Fresh).unwrap();
    let stopped = |stops_at| run(&mut study(12, 100, 1), &mut Program { stops_at, ..program() });
    for early in [0, first, first + 4 * FRESH_FROM - 1] {
        assert_eq!(stopped(early).verdict, Verdict::Stopped("time is over".to_owned()));
    }
    let late = stopped(first + 4 * FRESH_FROM + 1);
    assert!(late.trials < last.trials && !matches!(late.verdict, Verdict::Stopped(_)), "{late:?}");
    assert!(late.candidates.iter().all(|one| one.pairs == FRESH_FROM && one.gain.is_some()), "{late:?}");
}

#[test]
fn results_of_another_study_are_refused() {
    let mut program = Program::new(0.1, 0.02);
    run(&mut study(12, 60, 1), &mut program);
    assert!(study(12, 60, 1).resume(&program.kept).is_ok());
    assert!(study(12, 60, 2).resume(&program.kept).is_err());
    assert!(study(11, 90, 1).resume(&program.kept).is_err());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn blocks_are_whole_and_the_budget_holds(
        count in 2usize..30, trials in 24usize..200, seed in 0u64..1_000, noise in 0.0f64..0.1, which in 0usize..3
    ) {
        let proposer: Box<dyn Proposer> = [Box::new(Believed) as Box<dyn Proposer>, Box::new(Sobol), Box::new(Shuffled)]
            .into_iter().nth(which).unwrap();
        let mut program = Program::new(0.05, noise);
        let mut study = Study::new(space(count), Design::new(trials, seed), proposer).unwrap();
        let answer = run(&mut study, &mut program);
        prop_assert!(answer.trials <= trials);
        prop_assert!(program.kept.iter().enumerate().all(|(number, taken)| taken.ask.number == number));
        let mut proposed = Vec::new();
        let mut fresh = Vec::new();
        for (stage, block) in blocks(&program.kept) {
            let defaults = block.iter().filter(|configuration| **configuration == 0).count();
            prop_assert_eq!(defaults, if stage == Stage::Check { 2 } else { 1 });
            match stage {
                Stage::Check => prop_assert_eq!(block.len(), 2),
                Stage::Breadth => proposed.extend(block.into_iter().filter(|configuration| *configuration != 0)),
                Stage::Halving => prop_assert!(block.iter().all(|one| *one == 0 || proposed.contains(one))),
                Stage::Fresh => {
                    let mut sorted = block.clone();
                    sorted.sort_unstable();
                    fresh.push(sorted);
                }
            }
        }
        let tried = proposed.len();
        proposed.sort_unstable();
        proposed.dedup();
        prop_assert_eq!(tried, proposed.len());
        prop_assert!(fresh.windows(2).all(|pair| pair[0] == pair[1]));
    }

    #[test]
    fn a_study_that_is_cut_and_resumed_ends_the_same(
        cut in 0usize..100, again in 0usize..100, seed in 0u64..1_000, fails in prop::collection::vec(1usize..18, 0..3)
    ) {
        let program = || Program { fails: fails.clone(), ..Program::new(0.02, 0.05) };
        let mut whole = program();
        let answer = run(&mut study(18, 75, seed), &mut whole);
        let mut kept: Vec<Taken> = Vec::new();
        for stops_at in [cut.min(again), cut.max(again), usize::MAX] {
            // Values are read back exactly as written.
            let lines: Vec<String> = kept.iter().map(|taken| serde_json::to_string(taken).unwrap()).collect();
            kept = lines.iter().map(|line| serde_json::from_str(line).unwrap()).collect();
            let mut part = Program { stops_at, ..program() };
            let mut resumed = study(18, 75, seed).resume(&kept).unwrap();
            let found = run(&mut resumed, &mut part);
            kept.extend(part.kept);
            if stops_at == usize::MAX {
                prop_assert_eq!(&found, &answer);
            }
        }
        kept.retain(|taken| !matches!(taken.outcome, Outcome::Stopped(_)));
        prop_assert_eq!(kept, whole.kept);
    }
}
