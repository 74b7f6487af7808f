//! What each flag does on its own. Owns which configurations are compared for that; the estimates
//! come from the search's belief after all clean trials.
//!
//! A level is compared with the default's level over all pairs of configurations that differ in
//! nothing else, tried or not: the belief gives the uncertainty of the mean difference. Two flags that
//! were only tried together share their effect, with wide intervals.

use super::logs::Logs;
use crate::study::Space;
use crate::study::belief::Belief;
use crate::study::interval::{self, Interval};
use crate::study::space;
use serde::Serialize;
use std::collections::HashMap;

/// With this many degrees of freedom, Student's distribution equals the normal one to three digits.
const NORMAL: usize = 1_000;

/// A setting and what its levels do.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Effect {
    /// The prefix of its words: `-A`.
    pub setting: String,
    /// In the order of the values; absence, if possible, first.
    pub levels: Vec<LevelEffect>,
}

/// The effect of one level.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct LevelEffect {
    /// The word; null: the setting is absent.
    pub word: Option<String>,
    /// The default has this level, which others are compared with.
    pub default: bool,
    /// Number of clean trials with this level.
    pub trials: usize,
    /// The measure with the default's level divided by that with this level, all other settings equal,
    /// averaged over the space: above 1 is better. Null for the default's level, for a level that was not
    /// tried, and if no pair differs only in it.
    pub gain: Option<Interval>,
}

/// The effects of all settings in which configurations differ; each interval by itself is wrong in
/// `error` of all cases, as far as the belief's assumptions hold.
pub(super) fn effects(space: &Space, logs: &Logs, error: f64) -> Vec<Effect> {
    let belief = trained(space, logs);
    let points: HashMap<&[usize], usize> = (0..space.len()).map(|number| (space.point(number), number)).collect();
    let base = space.point(space.default());
    let effect = |(at, setting): (usize, &space::Setting)| {
        let own = base.get(at).copied().unwrap_or_default();
        let level = |(number, level): (usize, &space::Level)| {
            let has = |configuration: usize| space.point(configuration).get(at) == Some(&number);
            let trials = logs.all().filter(|(one, _)| has(*one)).count();
            let observed = (trials > 0 && number != own).then(|| {
                let with: Vec<usize> = (0..space.len()).filter(|one| has(*one)).collect();
                gain(&belief, &pairs(space, &points, &with, at, own), error)
            });
            LevelEffect { word: level.word.clone(), default: number == own, trials, gain: observed.flatten() }
        };
        Effect { setting: setting.name.clone(), levels: setting.levels.iter().enumerate().map(level).collect() }
    };
    let settings = space.settings().iter().enumerate().filter(|(_, setting)| setting.levels.len() > 1);
    settings.map(effect).collect()
}

/// The belief after all clean trials, block by block.
fn trained(space: &Space, logs: &Logs) -> Belief {
    let mut belief = Belief::new(space);
    for block in logs.blocks() {
        belief.open_block();
        block.values.iter().for_each(|(configuration, value)| belief.observe(*configuration, *value));
    }
    belief
}

/// Pairs each of `with` with the configuration that differs from it only in level `own` of setting `at`.
fn pairs(
    space: &Space,
    points: &HashMap<&[usize], usize>,
    with: &[usize],
    at: usize,
    own: usize,
) -> Vec<(usize, usize)> {
    let other = |one: &usize| {
        let mut point = space.point(*one).to_vec();
        *point.get_mut(at)? = own;
        Some((*one, *points.get(point.as_slice())?))
    };
    with.iter().filter_map(other).collect()
}

fn gain(belief: &Belief, pairs: &[(usize, usize)], error: f64) -> Option<Interval> {
    let share = 1.0 / pairs.len() as f64;
    let weights: Vec<(usize, f64)> =
        pairs.iter().flat_map(|(with, without)| [(*without, share), (*with, -share)]).collect();
    let (mean, deviation) = belief.sum(&weights);
    (!pairs.is_empty()).then(|| interval::around(mean, deviation, NORMAL, error)).flatten().map(Interval::exp)
}

#[cfg(test)]
mod tests {
    use super::super::testing::{measured, space};
    use super::*;

    fn level<'a>(effects: &'a [Effect], setting: &str, word: Option<&str>) -> &'a LevelEffect {
        let effect = effects.iter().find(|effect| effect.setting == setting).unwrap();
        effect.levels.iter().find(|level| level.word.as_deref() == word).unwrap()
    }

    #[test]
    fn additive_flags_are_separated_across_blocks() {
        let space = space(&["-A1m", "-A4m", "-A1m -qg", "-A4m -qg", "-A16m"]);
        let terms = [0.0, -0.2, 0.3, 0.1, -0.5];
        // Some blocks lack some configurations.
        let rows = (0..12).flat_map(|block| {
            let shift = f64::from(block % 4) * 0.1;
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
            let near = (gain.mean / truth.exp() - 1.0).abs() < 0.1;
            assert!(near && gain.holds(truth.exp()) && gain.high / gain.low < 1.4, "{setting}: {gain:?}");
        }
        let own = level(&found, "-A", Some("-A1m"));
        assert_eq!((own.default, own.gain, own.trials), (true, None, 18));
        assert!(level(&found, "-qg", None).default);
    }

    #[test]
    fn flags_that_always_stand_together_share_what_they_do() {
        let space = space(&["-A1m", "-A4m", "-A1m -I0", "-A4m -I0"]);
        let rows: Vec<_> =
            (0..8).flat_map(|block| [(0, 1.0), (3, 0.6)].map(|(one, value)| measured(block, one, value))).collect();
        let found = effects(&space, &Logs::new(&rows), 0.05);
        let gains =
            [("-A", Some("-A4m")), ("-I", Some("-I0"))].map(|(name, word)| level(&found, name, word).gain.unwrap());
        let product = gains[0].mean * gains[1].mean;
        assert!((product * 0.6 - 1.0).abs() < 0.1, "{gains:?}");
        // Neither part is certain.
        assert!(gains.iter().all(|gain| gain.mean > 1.1 && gain.low < 1.0), "{gains:?}");
    }

    #[test]
    fn what_was_not_tried_has_no_figure() {
        let space = space(&["-A1m", "-A4m", "-A1m -I0"]);
        let one = [measured(0, 0, 1.0), measured(0, 1, 2.0)];
        let found = effects(&space, &Logs::new(&one), 0.05);
        assert_eq!(level(&found, "-I", Some("-I0")).gain, None);
        assert!(level(&found, "-A", Some("-A4m")).gain.unwrap().mean < 1.0);
        assert!(
            effects(&space, &Logs::new(&[]), 0.05)
                .iter()
                .flat_map(|effect| &effect.levels)
                .all(|level| level.gain.is_none())
        );
    }
}
