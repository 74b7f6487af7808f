//! The rules that only programs of GHC's runtime can break. Owns their list, and how they reach
//! the folds that this runtime alone has. Refuses what holds for any runtime: see `findings`.

mod blackhole_or_lock;
mod explicit_gc;
mod heap;
mod idle_gc;
mod late_safepoint;
mod parallel_gc_not_paying;
mod remembered_set;
mod small_nursery;
mod stm_contention;
mod tracer_disturbance;

use super::triggers::Triggers;
use crate::findings::{Facts, Need, Rule};
use crate::program::green::GreenThreads;
use crate::results::stm::Transactions;
use std::sync::LazyLock;

/// All of them.
pub static RULES: [&Rule; 15] = [
    &late_safepoint::RULE,
    &tracer_disturbance::RULE,
    &parallel_gc_not_paying::RULE,
    &remembered_set::RULE,
    &small_nursery::RULE,
    &idle_gc::RULE,
    &explicit_gc::RULE,
    &heap::pinned_retention::RULE,
    &heap::large_objects::RULE,
    &heap::block_fragmentation::RULE,
    &heap::memory_not_returned::RULE,
    &heap::copy_reserve::RULE,
    &heap::not_the_haskell_heap::RULE,
    &blackhole_or_lock::RULE,
    &stm_contention::RULE,
];

/// What a collection followed from.
static ALLOCATION: Need = Need { name: "events of the heap", optional: false, missing: no_allocation };

fn no_allocation(facts: &Facts<'_>) -> Option<String> {
    triggers(facts).due_bytes().is_none().then(|| {
        "the log does not say how large the allocation area is: collections were logged without heap figures."
            .to_owned()
    })
}

/// What a recording without the fold would have seen.
static NONE: LazyLock<Triggers> = LazyLock::new(Triggers::default);

/// Why collections were asked for.
fn triggers<'a>(facts: &Facts<'a>) -> &'a Triggers {
    facts.fold().unwrap_or(&NONE)
}

/// Green threads.
fn green<'a>(facts: &Facts<'a>) -> &'a GreenThreads {
    facts.green
}

/// Transactions, where their counts were read.
fn transactions<'a>(facts: &Facts<'a>) -> Option<&'a Transactions> {
    facts.transactions
}

#[cfg(test)]
mod collector_tests;
