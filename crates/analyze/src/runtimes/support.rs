//! What the analysis of one runtime provides.

use crate::findings::Rule;
use crate::folds::Fold;
use crate::kernel::lane_thread::{LaneThreads, PerPause};
use crate::pauses::Recognise;
use crate::recording::Context;
use rtscope_model::RuntimeInfo;

/// The analysis of one runtime.
pub trait Support: Sync {
    /// The runtime that it is for.
    fn info(&self) -> &'static RuntimeInfo;

    /// The recogniser that turns its events into pauses.
    fn recogniser(&self, context: &Context) -> Box<dyn Recognise>;

    /// The map of the threads that serve its lanes.
    fn lane_threads(&self, _context: &Context) -> Box<dyn LaneThreads> {
        Box::new(PerPause)
    }

    /// Folds that only this runtime needs.
    fn folds(&self, _context: &Context) -> Vec<Box<dyn Fold>> {
        Vec::new()
    }

    /// Rules that apply only to its programs.
    fn rules(&self) -> &'static [&'static Rule] {
        &[]
    }
}
