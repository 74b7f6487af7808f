//! What collections of GHC's runtime take, by the purpose of the work: `stacks`, `weak-pointers`, `survivors`; and
//! `collecting` and `standing-still`, where no rule explains it.
//!
//! Cost: the account's part of it, as wall-clock time. Samples divide it, so these rules need them, except
//! `collecting`, which always says how long the collector worked.

use super::small_nursery::{flag, larger};
use crate::findings::nodes::{self, CollectionWork, collecting, outlives, standing_still, tune};
use crate::findings::{COLLECT, Facts, PAUSED, Rule};
use rtscope_model::Remedy;
use rtscope_model::units::bytes;

pub static STACKS: Rule = Rule { check: |facts| SCANNED.verdict(facts), ..nodes::STACKS };

static SCANNED: CollectionWork = CollectionWork {
    purposes: &["stacks"],
    what: "Collections scanned stacks of threads for ",
    because: |_| {
        ": each scans what has changed of every stack since the one before, and all of the stacks of threads that are \
         new."
            .to_owned()
    },
    remedies: |facts| {
        let fewer = Remedy::new(
            "Keep stacks shallow: use strict left folds and accumulators instead of recursion that is not in tail \
             position, and a bounded number of worker threads instead of one for each piece of work.",
        );
        let fewer = fewer.falls(COLLECT).shows("the account's part `scanning threads' stacks` falls");
        [fewer].into_iter().chain(less_often(facts, DIE)).collect()
    },
};

pub static WEAK_POINTERS: Rule = Rule {
    id: "weak-pointers",
    order: 142,
    why: "a program with a few thousand of them does not notice",
    check: |facts| LOOKED_AFTER.verdict(facts),
    ..nodes::WORK
};

/// A larger allocation area would not help: anything with a finalizer outlives it, and each is handled at least once.
static LOOKED_AFTER: CollectionWork = CollectionWork {
    purposes: &["weak-pointers", "finalisers"],
    what: "Weak pointers and finalizers took ",
    because: |_| {
        ": each collection visits all of them in the generations that it collects, and the runtime calls C finalizers one by one \
         while the program is stopped."
            .to_owned()
    },
    remedies: |_| {
        let fewer = Remedy::new(
            "Make fewer: allocate buffers with `mallocForeignPtrBytes`, which needs no finalizer, and free with `bracket` \
             what has a clear end.",
        );
        vec![fewer.falls(COLLECT).shows("the account's parts for weak pointers and finalizers fall")]
    },
};

pub static SURVIVORS: Rule = Rule { check: |facts| COPIED.verdict(facts), ..nodes::SURVIVORS };

static COPIED: CollectionWork = CollectionWork {
    purposes: &["copying-young"],
    what: "Collections of the young copied objects that were still alive for ",
    because: |facts| outlives(facts, "allocation area"),
    remedies: |facts| less_often(facts, DIE).into_iter().chain([tune()]).collect(),
};

pub static COLLECTING: Rule = Rule {
    check: |facts| collecting(facts, less_often(facts, DIE).into_iter().chain([tune()]).collect()),
    ..nodes::COLLECTING
};

pub static STANDING_STILL: Rule = Rule {
    check: |facts| standing_still(facts, less_often(facts, WAIT).into_iter().chain([tune()]).collect()),
    ..nodes::STANDING_STILL
};

/// Why a larger allocation area reduces the work.
const DIE: &str = "more objects die before they are looked at";
const WAIT: &str = "fewer collections wait for every capability";

/// A larger allocation area, if it would reduce the work.
fn less_often(facts: &Facts<'_>, because: &str) -> Option<Remedy> {
    let larger = larger(facts)?;
    let text = format!(
        "Collect the young less often: with an allocation area of {} for each capability, {} for all, {because}.",
        bytes(larger),
        bytes(larger.saturating_mul(facts.lanes.max(1) as u64))
    );
    Some(Remedy::new(text).set(flag(larger)).falls(PAUSED).shows("collections take less of the run"))
}
