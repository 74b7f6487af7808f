//! What the analysis of one runtime has to say.

use crate::findings::Rule;
use crate::folds::Fold;
use crate::kernel::lane_thread::{LaneThreads, PerPause};
use crate::pauses::Recognise;
use crate::recording::Context;
use rtscope_model::RuntimeInfo;

/// The analysis of one runtime.
pub trait Support: Sync {
    /// Whose.
    fn info(&self) -> &'static RuntimeInfo;

    /// What turns its events into pauses.
    fn recogniser(&self, context: &Context) -> Box<dyn Recognise>;

    /// Which threads serve its lanes.
    fn lane_threads(&self, _context: &Context) -> Box<dyn LaneThreads> {
        Box::new(PerPause)
    }

    /// Folds that other runtimes have no use for.
    fn folds(&self, _context: &Context) -> Vec<Box<dyn Fold>> {
        Vec::new()
    }

    /// Rules that only its programs can break.
    fn rules(&self) -> &'static [&'static Rule] {
        &[]
    }
}
