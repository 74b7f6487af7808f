//! GHC's runtime: how its collections are recognised, why they were requested, its sparks.

mod nursery;
pub mod pauses;
pub mod rules;
pub mod sparks;
pub mod triggers;

use super::support::Support;
use crate::findings::Rule;
use crate::folds::Fold;
use crate::pauses::Recognise;
use crate::recording::Context;
use rtscope_model::RuntimeInfo;
use rtscope_model::runtimes::GHC;

pub(super) struct Ghc;

impl Support for Ghc {
    fn info(&self) -> &'static RuntimeInfo {
        &GHC
    }

    fn recogniser(&self, context: &Context) -> Box<dyn Recognise> {
        Box::new(pauses::Recogniser::new(context.threaded, context.generations))
    }

    fn folds(&self, context: &Context) -> Vec<Box<dyn Fold>> {
        let sparks = Box::<sparks::Sparks>::default();
        vec![Box::new(triggers::Triggers::new(context)), sparks, Box::new(nursery::Pieces)]
    }

    fn rules(&self) -> &'static [&'static Rule] {
        &rules::RULES
    }
}
