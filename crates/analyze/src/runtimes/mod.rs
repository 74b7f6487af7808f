//! What only one runtime has: how its events become pauses, folds of its own. A folder for each,
//! and the one place that picks by runtime. Refuses what two runtimes share.

pub mod ghc;
pub mod ocaml;

use crate::context::Context;
use crate::pauses::Recognise;
use rtscope_model::runtimes::OCAML;

/// The recogniser of the runtime that `context` names.
pub fn recogniser(context: &Context) -> Box<dyn Recognise> {
    match *context.runtime.info() == OCAML {
        true => Box::new(ocaml::pauses::Recogniser::default()),
        false => Box::new(ghc::pauses::Recogniser::new(context.threaded, context.generations)),
    }
}
