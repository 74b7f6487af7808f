//! Whether a difference is real, and whether it matters. Owns both decisions.
//!
//! *Real*: the quarters of the two runs are further apart, by a tenth and more than they scatter. Chance alone would
//! say that of any figure in one comparison of twenty (Holm 1979, over all figures looked at). The tenth covers what
//! a single run cannot show: memory layout alone changes a program's speed by up to that (Mytkowicz et al. 2009).
//! *Matters*: beyond a twentieth, and beyond what a person can feel.

use super::blocks::{Blocks, DRAWS, Others, Quarter, quarters};
use super::figures::{Figure, Unit};
use super::sample::Side;
use crate::results::Results;
use serde::Serialize;

/// The chance that one comparison calls anything real that is not.
const ERROR: f64 = 0.05;
/// Changes smaller than this share do not matter.
const RELATIVE_MIN: f64 = 0.05;
/// Two starts of the same program may differ by this share.
const START_TO_START: f64 = 0.1;
/// A figure is not judged if more quarters than this have no value for it.
const MISSING_MAX: usize = DRAWS / 20;
const SEEDS: (u64, u64) = (0xa11c_e5e5_0bad_cafe, 0xb0b5_1ded_5eed_f00d);

/// A figure of both runs.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Compared {
    #[serde(skip)]
    pub(super) figure: Figure,
    /// Path of keys in `report --json`.
    pub path: String,
    /// Unit of what follows.
    pub unit: Unit,
    /// Before; null where not known.
    pub a: Option<f64>,
    /// After; null where not known.
    pub b: Option<f64>,
    /// After minus before.
    pub change: Option<f64>,
    /// The change as a share of before; null where that is 0.
    pub relative: Option<f64>,
    /// 95 in 100 pairs of quarters differ by at least this ...
    pub low: Option<f64>,
    /// ... and at most this.
    pub high: Option<f64>,
    /// Roughly the smallest change that these two runs could have shown.
    pub smallest: Option<f64>,
    /// Whether it is more than chance; null where that cannot be judged.
    pub real: Option<bool>,
    /// Whether it is large enough to care.
    pub matters: bool,
    /// Whether it follows from what other processes and the host took.
    pub by_others: bool,
    /// What the change of its part costs over the second run's length (gains are negative).
    pub cost_ns: Option<f64>,
    /// Why it was not judged.
    pub why_not: Option<String>,
    #[serde(skip)]
    p: Option<f64>,
    /// Median difference between pairs of quarters.
    #[serde(skip)]
    middle: Option<f64>,
}

impl Compared {
    /// Whether the difference is both real and worth caring about.
    pub fn differs(&self) -> bool {
        self.real == Some(true) && self.matters
    }

    /// How far starts may differ, in the figure's unit.
    fn margin(&self) -> f64 {
        START_TO_START * self.a.unwrap_or(0.0).abs().min(self.b.unwrap_or(0.0).abs())
    }

    /// Like [`Compared::differs`], but by the draws, where the reports lack the figure: without what other
    /// processes took.
    pub(super) fn differs_as_drawn(&self) -> bool {
        let (middle, before) = (self.middle.unwrap_or(0.0), self.a.unwrap_or(0.0));
        self.real == Some(true) && matters(self.figure, middle, before)
    }
}

/// A run, prepared for judging.
pub(super) struct JudgedRun<'r> {
    pub results: &'r Results,
    pub seen: u64,
    pub blocks: Option<Blocks<'r>>,
}

impl<'r> JudgedRun<'r> {
    pub(super) fn of(side: &Side<'r>) -> JudgedRun<'r> {
        let blocks = Blocks::of(side.results, side.samples);
        JudgedRun { results: side.results, seen: side.samples.seen, blocks }
    }
}

/// Judges every one of `figures`.
pub(super) fn judge(
    a: &JudgedRun<'_>,
    b: &JudgedRun<'_>,
    others: Others,
    figures: impl Iterator<Item = Figure>,
) -> Vec<Compared> {
    let drawn = (quarters(SEEDS.0), quarters(SEEDS.1));
    let mut all: Vec<(Compared, Vec<f64>)> =
        figures.map(|figure| compared(figure, a, b, others, (&drawn.0, &drawn.1))).collect();
    let tests = all.iter().filter(|(one, _)| one.p.is_some()).count();
    for (one, deltas) in &mut all {
        if one.p.is_some() {
            one.smallest = Some(one.margin() + moments(deltas).1 * quantile(ERROR / tests.max(1) as f64));
        }
    }
    let mut all: Vec<Compared> = all.into_iter().map(|(one, _)| one).collect();
    holm(&mut all);
    all
}

fn compared(
    figure: Figure,
    a: &JudgedRun<'_>,
    b: &JudgedRun<'_>,
    others: Others,
    drawn: (&[Quarter], &[Quarter]),
) -> (Compared, Vec<f64>) {
    let (before, after) = (figure.value(a.results), figure.value(b.results));
    let change = before.zip(after).map(|(before, after)| after - before);
    let relative = before.zip(change).filter(|(before, _)| *before != 0.0).map(|(before, change)| change / before);
    let mut one = Compared {
        figure,
        path: figure.path(),
        unit: figure.unit(),
        a: before,
        b: after,
        change,
        relative,
        matters: change.zip(before).is_some_and(|(change, before)| matters(figure, change, before)),
        ..Compared::default()
    };
    match deltas(figure, a, b, others, drawn) {
        Ok(deltas) => {
            one.p = Some(p_value(&deltas, one.margin()));
            one.middle = at(&deltas, 0.5);
            let (low, high) = (at(&deltas, ERROR / 2.0), at(&deltas, 1.0 - ERROR / 2.0));
            one.low = low.zip(change).map(|(low, change)| low.min(change));
            one.high = high.zip(change).map(|(high, change)| high.max(change));
            (one, deltas)
        }
        Err(why) => {
            one.why_not = Some(why);
            (one, Vec::new())
        }
    }
}

/// Whether the change lies beyond both edges of the zone of indifference.
fn matters(figure: Figure, change: f64, before: f64) -> bool {
    figure.floor().is_some_and(|floor| change.abs() >= floor && change.abs() >= RELATIVE_MIN * before.abs())
}

/// Differences between pairs of quarters, smallest first, or why there are none.
fn deltas(
    figure: Figure,
    a: &JudgedRun<'_>,
    b: &JudgedRun<'_>,
    others: Others,
    drawn: (&[Quarter], &[Quarter]),
) -> Result<Vec<f64>, String> {
    if figure.value(a.results).is_none() || figure.value(b.results).is_none() {
        return Err("not known in both runs".into());
    }
    let fewest = a.seen.min(b.seen);
    if fewest < figure.pauses_needed() {
        return Err(format!("{fewest} pauses are too few ({} needed)", figure.pauses_needed()));
    }
    let (Some(first), Some(second)) = (&a.blocks, &b.blocks) else {
        return Err("a recording is too short".into());
    };
    let first = figure.drawn(first, a.results, others, drawn.0);
    let second = figure.drawn(second, b.results, others, drawn.1);
    if first.len().min(second.len()) + MISSING_MAX < DRAWS {
        return Err("it stands on too small a part of a run".into());
    }
    let mut deltas: Vec<f64> = first.iter().zip(&second).map(|(first, second)| second - first).collect();
    deltas.sort_by(f64::total_cmp);
    Ok(deltas)
}

/// Mean and spread of the differences between pairs of quarters.
fn moments(deltas: &[f64]) -> (f64, f64) {
    let count = deltas.len().max(1) as f64;
    let mean = deltas.iter().sum::<f64>() / count;
    (mean, (deltas.iter().map(|delta| (delta - mean).powi(2)).sum::<f64>() / count).sqrt())
}

/// The chance that differences with this spread, around no more than `margin`, lie where these do. The tail is
/// assumed to be normal: the far ends of the draws are single blocks drawn repeatedly, and no run looks like that.
fn p_value(deltas: &[f64], margin: f64) -> f64 {
    let (mean, spread) = moments(deltas);
    let beyond = mean.abs() - margin;
    if beyond <= 0.0 {
        return 1.0;
    }
    if spread > 0.0 { two_tails(beyond / spread) } else { 0.0 }
}

/// Both tails of the normal distribution beyond `z` (at least 0), to 1.5e-7 (Abramowitz and Stegun, 7.1.26).
fn two_tails(z: f64) -> f64 {
    let x = z / std::f64::consts::SQRT_2;
    let t = 1.0 / (1.0 + 0.3275911 * x);
    let series = [1.061405429, -1.453152027, 1.421413741, -0.284496736, 0.254829592];
    (series.iter().fold(0.0, |sum, coefficient| (sum + coefficient) * t) * (-x * x).exp()).clamp(0.0, 1.0)
}

/// How many standard deviations out the tails hold `error`.
fn quantile(error: f64) -> f64 {
    let (mut low, mut high) = (0.0, 8.0);
    for _ in 0..40 {
        let middle = (low + high) / 2.0;
        if two_tails(middle) > error { low = middle } else { high = middle }
    }
    low
}

/// The value at a share of a sorted list.
fn at(sorted: &[f64], share: f64) -> Option<f64> {
    let last = sorted.len().checked_sub(1)?;
    sorted.get((last as f64 * share).round() as usize).copied()
}

/// Marks the figures whose change is real.
fn holm(all: &mut [Compared]) {
    let chances: Vec<f64> = all.iter().filter_map(|one| one.p).collect();
    let tested = all.iter_mut().filter(|one| one.p.is_some());
    for (one, real) in tested.zip(steps(&chances)) {
        one.real = Some(real);
    }
}

/// Holm's step-down: the smallest chance has to pass the strictest test; once one fails, all larger ones do.
fn steps(chances: &[f64]) -> Vec<bool> {
    let mut order: Vec<usize> = (0..chances.len()).collect();
    let chance = |index: usize| chances.get(index).copied().unwrap_or(1.0);
    order.sort_by(|one, other| chance(*one).total_cmp(&chance(*other)));
    let mut passed = vec![false; chances.len()];
    for (rank, index) in order.into_iter().enumerate() {
        if chance(index) > ERROR / (chances.len() - rank) as f64 {
            break;
        }
        if let Some(real) = passed.get_mut(index) {
            *real = true;
        }
    }
    passed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn far_beyond_the_spread_is_no_chance() {
        let risen: Vec<f64> = (0..DRAWS).map(|n| 10_000.0 + n as f64).collect();
        assert!(p_value(&risen, 0.0) < 1e-6);
        assert!(p_value(&risen, 10_400.0) > 0.3, "most of it lies within the margin");
        assert_eq!(p_value(&risen, 12_000.0), 1.0);
        let both: Vec<f64> = (0..DRAWS).map(|n| n as f64 - 500.0).collect();
        assert!(p_value(&both, 0.0) > 0.9);
        assert_eq!(p_value(&[0.0; 100], 0.0), 1.0, "nothing changed");
        assert_eq!(p_value(&[], 0.0), 1.0);
    }

    #[test]
    fn tails_of_the_normal_distribution() {
        for (z, tails) in [(0.0, 1.0), (1.0, 0.317311), (1.959964, 0.05), (3.0, 0.0026998)] {
            assert!((two_tails(z) - tails).abs() < 1e-6, "{z}: {}", two_tails(z));
        }
        assert!((quantile(0.05) - 1.959964).abs() < 1e-4);
    }

    #[test]
    fn quantiles_of_a_list() {
        assert_eq!(at(&[], 0.5), None);
        assert_eq!(at(&[1.0, 2.0, 3.0], 0.5), Some(2.0));
    }

    #[test]
    fn holm_stops_at_the_first_that_fails() {
        assert_eq!(steps(&[0.06, 0.0001, 0.03, 0.011]), [false, true, false, true]);
        assert_eq!(steps(&[0.04, 0.03]), [false, false], "both, or the smaller first");
    }
}
