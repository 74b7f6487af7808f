//! What only one runtime has: how its events become pauses, how threads serve its lanes, folds of
//! its own. A folder for each, and the registry of them, which a program may extend before it
//! reads anything. Refuses what two runtimes share.

pub mod ghc;
pub mod ocaml;

use crate::folds::Fold;
use crate::kernel::lane_thread::{LaneThreads, PerPause};
use crate::pauses::{Nothing, Recognise};
use crate::recording::Context;
use rtscope_model::RuntimeInfo;
use std::sync::{PoisonError, RwLock};

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
}

/// Of a runtime that nobody knows: no pauses.
struct Unknown;

impl Support for Unknown {
    fn info(&self) -> &'static RuntimeInfo {
        &rtscope_model::runtime::UNKNOWN
    }

    fn recogniser(&self, _: &Context) -> Box<dyn Recognise> {
        Box::new(Nothing)
    }
}

static BUILT_IN: [&dyn Support; 2] = [&ghc::Ghc, &ocaml::Ocaml];
static REGISTERED: RwLock<Vec<&'static dyn Support>> = RwLock::new(Vec::new());

/// Makes the analysis of a runtime known, and the runtime itself.
pub fn register(support: &'static dyn Support) {
    rtscope_model::runtime::register(support.info());
    REGISTERED.write().unwrap_or_else(PoisonError::into_inner).push(support);
}

/// The analysis of the runtime that `context` names.
pub fn of(context: &Context) -> &'static dyn Support {
    let info = context.runtime.info();
    let is = |support: &&&'static dyn Support| support.info() == info;
    let registered = || REGISTERED.read().unwrap_or_else(PoisonError::into_inner).iter().find(is).copied();
    BUILT_IN.iter().find(is).copied().or_else(registered).unwrap_or(&Unknown)
}
