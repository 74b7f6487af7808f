//! Tree-structured Parzen estimators (Bergstra and others 2011), one per setting: which levels the
//! best trials have and the others lack. Owns what is passed to the library about a setting.

use super::{Known, Proposer, Sobol};
use crate::study::seed;
use crate::study::space::Setting;
use rand::SeedableRng;
use rand::rngs::StdRng;
use tpe::TpeOptimizer;
use tpe::density_estimation::DefaultEstimatorBuilder;

/// First [`Sobol`], then by what the best trials have in common.
#[derive(Copy, Clone, Debug)]
pub struct Tpe;

/// With fewer trials, the best ones are too few to have anything in common.
const TRIED_MIN: usize = 10;

/// The share of trials that count as the best.
const BEST: f64 = 0.2;

const STREAM: u64 = 4;

impl Proposer for Tpe {
    fn propose(&self, known: &Known<'_>) -> Option<usize> {
        if known.tried.len() < TRIED_MIN {
            return Sobol.propose(known);
        }
        let mut bytes = [0; 32];
        let mut chance = seed::at(known.seed, &[STREAM, known.proposed as u64]);
        bytes.fill_with(|| chance.below(256) as u8);
        let mut chance = StdRng::from_seed(bytes);
        let settings = known.space.settings().iter().enumerate();
        let levels = settings.map(|(index, setting)| level(known, index, setting, &mut chance).unwrap_or(0));
        known.nearest(&levels.collect::<Vec<_>>())
    }
}

/// Proposes a level; `None`: the setting has one level, or the library offers none.
fn level(known: &Known<'_>, index: usize, setting: &Setting, chance: &mut StdRng) -> Option<usize> {
    let range = tpe::categorical_range(setting.levels.len()).ok()?;
    let mut optimizer = tpe::TpeOptimizerBuilder::new().gamma(BEST).build(estimator(setting), range).ok()?;
    for configuration in known.tried.iter().copied().chain([known.space.default()]) {
        let level = *known.space.point(configuration).get(index)?;
        // The middle of the range that represents the level.
        optimizer.tell(level as f64 + 0.5, known.belief.mean(configuration)).ok()?;
    }
    TpeOptimizer::ask(&mut optimizer, chance).ok().map(|level| level as usize)
}

/// Levels with values are ordered; others are categories.
fn estimator(setting: &Setting) -> DefaultEstimatorBuilder {
    let valued = setting.levels.iter().filter(|level| level.value.is_some()).count();
    if valued > 2 { tpe::parzen_estimator() } else { tpe::histogram_estimator() }
}
