//! What each flag does by itself. Owns the least squares over all clean trials, each block
//! with a level of its own; refuses a figure where the trials cannot tell two flags apart.
//!
//! The logarithm of a measure is the block's level plus one term for each setting's level,
//! where the default's levels have 0. What settings do only together is left over and goes
//! into the intervals. Terms that the trials cannot tell apart (two flags that were only ever
//! given together) are recognised while the equations are solved by sweeping (Goodnight 1979,
//! "A tutorial on the SWEEP operator").

use super::logs::{Block, Logs};
use crate::study::Space;
use crate::study::interval::{self, Interval};
use serde::Serialize;

/// A pivot below this share of what its column began with is a rounding error.
const NOTHING: f64 = 1e-9;

/// A setting and what its levels do.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Effect {
    /// What its words begin with: `-A`.
    pub setting: String,
    /// In the order of the values; absence, where there is such, first.
    pub levels: Vec<Level>,
}

/// What one level does.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Level {
    /// The word; null: the setting is absent.
    pub word: Option<String>,
    /// The default has it: others are compared with it.
    pub default: bool,
    /// Clean trials of configurations with it.
    pub trials: usize,
    /// The measure with the default's level over that with this one, other settings alike:
    /// above 1 is better. Null of the default's level, and where the trials cannot tell.
    pub gain: Option<Interval>,
}

/// The effects of all settings in which configurations differ; each interval by itself errs in
/// `error` of all cases.
pub(super) fn effects(space: &Space, logs: &Logs, error: f64) -> Vec<Effect> {
    let terms = Terms::new(space);
    let found = solve(space, logs, &terms, error);
    let base = space.point(space.default());
    let settings = space.settings().iter().enumerate().filter(|(_, setting)| setting.levels.len() > 1);
    let effect = |(at, setting): (usize, &crate::study::space::Setting)| {
        let level = |(number, level): (usize, &crate::study::space::Level)| Level {
            word: level.word.clone(),
            default: base.get(at) == Some(&number),
            trials: logs.all().filter(|(one, _)| space.point(*one).get(at) == Some(&number)).count(),
            gain: terms.of(at, number).and_then(|term| *found.get(term)?),
        };
        Effect { setting: setting.name.clone(), levels: setting.levels.iter().enumerate().map(level).collect() }
    };
    settings.map(effect).collect()
}

/// A column for each level of each setting but the default's.
struct Terms {
    /// By setting, the number of its first column less one place for each level.
    starts: Vec<usize>,
    base: Vec<usize>,
    count: usize,
}

impl Terms {
    fn new(space: &Space) -> Terms {
        let mut count = 0;
        let start = |setting: &crate::study::space::Setting| {
            let start = count;
            count += setting.levels.len().saturating_sub(1);
            start
        };
        let starts = space.settings().iter().map(start).collect();
        Terms { starts, base: space.point(space.default()).to_vec(), count }
    }

    /// The column of a level; `None` of the default's.
    fn of(&self, setting: usize, level: usize) -> Option<usize> {
        let (start, base) = (self.starts.get(setting)?, self.base.get(setting)?);
        (level != *base).then(|| start + level - usize::from(level > *base))
    }

    /// The columns in which a configuration has a 1.
    fn columns(&self, space: &Space, configuration: usize) -> Vec<f64> {
        let mut row = vec![0.0; self.count];
        for (setting, level) in space.point(configuration).iter().enumerate() {
            if let Some(cell) = self.of(setting, *level).and_then(|term| row.get_mut(term)) {
                *cell = 1.0;
            }
        }
        row
    }
}

/// By column, the gain: minus the term.
fn solve(space: &Space, logs: &Logs, terms: &Terms, error: f64) -> Vec<Option<Interval>> {
    let size = terms.count + 1;
    let mut products = vec![vec![0.0; size]; size];
    let mut freedom = 0;
    for block in logs.blocks() {
        freedom += block.values.len() - 1;
        for row in centred(space, block, terms) {
            for (line, one) in products.iter_mut().zip(&row) {
                line.iter_mut().zip(&row).for_each(|(cell, other)| *cell += one * other);
            }
        }
    }
    let swept = sweep(&mut products, terms.count);
    let rank = swept.iter().filter(|swept| **swept).count();
    let Some(freedom) = freedom.checked_sub(rank) else { return Vec::new() };
    let at = |row: usize, column: usize| products.get(row).and_then(|row| row.get(column)).copied().unwrap_or(0.0);
    let spread = at(terms.count, terms.count).max(0.0) / freedom.max(1) as f64;
    let gain = |term: usize| {
        // What a column that was not swept takes part in cannot be told apart from it.
        let told = |other: usize| swept.get(other) == Some(&true) || at(term, other).abs() < 1e-6;
        if swept.get(term) != Some(&true) || !(0..terms.count).all(told) {
            return None;
        }
        let deviation = (spread * at(term, term).max(0.0)).sqrt();
        interval::around(-at(term, terms.count), deviation, freedom, error).map(Interval::exp)
    };
    (0..terms.count).map(gain).collect()
}

/// The rows of a block, the measure last, less what the block has in the mean: its own level
/// falls out.
fn centred(space: &Space, block: &Block, terms: &Terms) -> Vec<Vec<f64>> {
    let row = |(configuration, value): &(usize, f64)| {
        let mut row = terms.columns(space, *configuration);
        row.push(*value);
        row
    };
    let mut rows: Vec<Vec<f64>> = block.values.iter().map(row).collect();
    let count = rows.len() as f64;
    for column in 0..=terms.count {
        let mean = rows.iter().filter_map(|row| row.get(column)).sum::<f64>() / count;
        rows.iter_mut().filter_map(|row| row.get_mut(column)).for_each(|cell| *cell -= mean);
    }
    rows
}

/// Sweeps the first `count` columns of a symmetric matrix; which of them could be. Of those,
/// the matrix then has the inverse, its last column the solution, its last cell what is left
/// of the squares, and the columns that could not what they are made of.
fn sweep(matrix: &mut [Vec<f64>], count: usize) -> Vec<bool> {
    let began: Vec<f64> = (0..count).map(|at| cell(matrix, at, at)).collect();
    let mut swept = vec![false; count];
    for (at, began) in began.into_iter().enumerate() {
        let pivot = cell(matrix, at, at);
        if began <= 0.0 || pivot <= began * NOTHING {
            continue;
        }
        let row: Vec<f64> = matrix.get(at).cloned().unwrap_or_default();
        let column: Vec<f64> = (0..matrix.len()).map(|line| cell(matrix, line, at)).collect();
        for (number, (line, factor)) in matrix.iter_mut().zip(&column).enumerate() {
            for (other, (cell, own)) in line.iter_mut().zip(&row).enumerate() {
                *cell = match (number == at, other == at) {
                    (true, true) => 1.0 / pivot,
                    (true, false) => own / pivot,
                    (false, true) => -factor / pivot,
                    (false, false) => *cell - factor * own / pivot,
                };
            }
        }
        if let Some(swept) = swept.get_mut(at) {
            *swept = true;
        }
    }
    swept
}

fn cell(matrix: &[Vec<f64>], row: usize, column: usize) -> f64 {
    matrix.get(row).and_then(|row| row.get(column)).copied().unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::super::testing::{measured, space};
    use super::*;

    fn level<'a>(effects: &'a [Effect], setting: &str, word: Option<&str>) -> &'a Level {
        let effect = effects.iter().find(|effect| effect.setting == setting).unwrap();
        effect.levels.iter().find(|level| level.word.as_deref() == word).unwrap()
    }

    #[test]
    fn flags_that_add_up_are_told_apart_whatever_the_block() {
        let space = space(&["-A1m", "-A4m", "-A1m -qg", "-A4m -qg", "-A16m"]);
        let terms = [0.0, -0.2, 0.3, 0.1, -0.5];
        // Not every configuration in every block.
        let rows = (0..12).flat_map(|block| {
            let shift = f64::from(block % 4) * 0.7;
            let noise = move |configuration: usize| f64::from((block * 7 + configuration as u32 * 3) % 5) * 0.002;
            let tried = [0, 1 + block as usize % 4, 1 + (block as usize + 1) % 4];
            tried.map(|one| measured(block as usize, one, (terms[one] + shift + noise(one)).exp()))
        });
        let found = effects(&space, &Logs::new(&rows.collect::<Vec<_>>()), 0.05);
        let gain = |setting, word| level(&found, setting, word).gain.unwrap();
        for (setting, word, truth) in
            [("-A", Some("-A4m"), 0.2f64), ("-A", Some("-A16m"), 0.5), ("-qg", Some("-qg"), -0.3)]
        {
            let gain = gain(setting, word);
            assert!((gain.mean / truth.exp() - 1.0).abs() < 0.01 && gain.high / gain.low < 1.03, "{setting}: {gain:?}");
        }
        let own = level(&found, "-A", Some("-A1m"));
        assert_eq!((own.default, own.gain, own.trials), (true, None, 18));
        assert!(level(&found, "-qg", None).default);
    }

    #[test]
    fn flags_that_always_stand_together_have_no_figure() {
        let space = space(&["-A1m", "-A4m -n1m", "-A1m -I0"]);
        let rows: Vec<_> = (0..6)
            .flat_map(|block| (0..3).map(move |one| measured(block, one, 1.0 + one as f64 + 0.001 * block as f64)))
            .collect();
        let found = effects(&space, &Logs::new(&rows), 0.05);
        assert_eq!((level(&found, "-A", Some("-A4m")).gain, level(&found, "-n", Some("-n1m")).gain), (None, None));
        let alone = level(&found, "-I", Some("-I0")).gain.unwrap();
        assert!((alone.mean * 3.0 - 1.0).abs() < 0.01, "{alone:?}");
    }

    #[test]
    fn few_trials_have_no_intervals() {
        let space = space(&["-A1m", "-A4m"]);
        let one = [measured(0, 0, 1.0), measured(0, 1, 2.0)];
        for rows in [&[][..], &one[..1], &one] {
            let found = effects(&space, &Logs::new(rows), 0.05);
            assert!(found[0].levels.iter().all(|level| level.gain.is_none()), "{found:?}");
        }
    }
}
