//! The rules that apply only to programs of GHC's runtime. Owns their list. Refuses rules for any runtime:
//! see `findings`.

mod blackhole_or_lock;
mod collecting;
mod explicit_gc;
mod heap;
mod idle_gc;
mod late_safepoint;
mod memory_limit;
mod overhead;
mod parallel_gc_not_paying;
mod remembered_set;
mod seen;
mod small_nursery;
mod sparks;
mod stm_contention;
mod thunk_leak;
mod tracer_disturbance;

use crate::findings::Rule;

pub static RULES: [&Rule; 24] = [
    &late_safepoint::RULE,
    &tracer_disturbance::RULE,
    &memory_limit::RULE,
    &parallel_gc_not_paying::RULE,
    &remembered_set::RULE,
    &small_nursery::RULE,
    &collecting::STACKS,
    &collecting::WEAK_POINTERS,
    &collecting::SURVIVORS,
    &collecting::COLLECTING,
    &collecting::STANDING_STILL,
    &idle_gc::RULE,
    &overhead::RULE,
    &explicit_gc::RULE,
    &heap::pinned_retention::RULE,
    &heap::large_objects::RULE,
    &heap::block_fragmentation::RULE,
    &heap::memory_not_returned::RULE,
    &heap::copy_reserve::RULE,
    &heap::not_the_haskell_heap::RULE,
    &blackhole_or_lock::RULE,
    &sparks::RULE,
    &stm_contention::RULE,
    &thunk_leak::RULE,
];

#[cfg(test)]
mod collector_tests;
#[cfg(test)]
mod program_tests;
