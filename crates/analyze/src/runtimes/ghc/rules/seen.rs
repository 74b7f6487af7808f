//! How rules access the folds that only this runtime has.

use crate::findings::{Facts, Need};
use crate::runtimes::ghc::triggers::Triggers;
use std::sync::LazyLock;

/// What caused a collection.
pub static ALLOCATION: Need = Need { name: "events of the heap", optional: false, missing: no_allocation };

fn no_allocation(facts: &Facts<'_>) -> Option<String> {
    triggers(facts).due_bytes().is_none().then(|| {
        "the log does not say how large the allocation area is: collections were logged without heap figures."
            .to_owned()
    })
}

/// The empty result for a recording without the fold.
static NONE: LazyLock<Triggers> = LazyLock::new(Triggers::default);

/// Why collections were requested.
pub fn triggers<'a>(facts: &Facts<'a>) -> &'a Triggers {
    facts.fold().unwrap_or(&NONE)
}
