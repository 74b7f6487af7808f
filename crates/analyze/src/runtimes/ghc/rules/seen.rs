//! How rules reach the folds that this runtime alone has.

use crate::findings::{Facts, Need};
use crate::runtimes::ghc::triggers::Triggers;
use std::sync::LazyLock;

/// What a collection followed from.
pub static ALLOCATION: Need = Need { name: "events of the heap", optional: false, missing: no_allocation };

fn no_allocation(facts: &Facts<'_>) -> Option<String> {
    triggers(facts).due_bytes().is_none().then(|| {
        "the log does not say how large the allocation area is: collections were logged without heap figures."
            .to_owned()
    })
}

/// What a recording without the fold would have seen.
static NONE: LazyLock<Triggers> = LazyLock::new(Triggers::default);

/// Why collections were asked for.
pub fn triggers<'a>(facts: &Facts<'a>) -> &'a Triggers {
    facts.fold().unwrap_or(&NONE)
}
