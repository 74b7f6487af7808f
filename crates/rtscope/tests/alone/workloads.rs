//! Workloads with known truth that depends on time, recorded and reported by the real program. Owns asserting
//! that the right finding comes first.

use crate::answers;
use std::sync::atomic::{AtomicUsize, Ordering};
use testkit::truths;

// Each on one GHC, `healthy` on all: the slow tests have the others.
truths! {
    PAUSES;
    "ghc-9.0":
        live_9_0_healthy "healthy", live_9_0_throttled "throttled", live_9_0_neighbour "neighbour",
        live_9_0_sequential "sequential", live_9_0_late_safepoint "late-safepoint",
        live_9_0_foreign_call_safe "foreign-call-safe", live_9_0_page_faults "page-faults";
    "ghc-9.6":
        live_9_6_healthy "healthy", live_9_6_throttled_neighbour "throttled-neighbour",
        live_9_6_idle_capabilities "idle-capabilities", live_9_6_non_moving "non-moving",
        live_9_6_late_safepoint_yields "late-safepoint-yields", live_9_6_foreign_sleep "foreign-sleep";
    "ghc-9.10":
        live_9_10_healthy "healthy", live_9_10_oversubscribed "oversubscribed",
        live_9_10_non_threaded "non-threaded", live_9_10_foreign_call "foreign-call",
        live_9_10_traced "traced";
}

// How the collector is configured.
truths! {
    COLLECTOR;
    "ghc-9.0":
        live_9_0_large_nursery "large-nursery", live_9_0_unboxed_array "unboxed-array",
        live_9_0_parallel_gc "parallel-gc-not-paying", live_9_0_parallel_gc_paying "parallel-gc-paying",
        live_9_0_short_major_gc "short-major-gc";
    "ghc-9.6":
        live_9_6_small_nursery "small-nursery", live_9_6_long_major_gc "long-major-gc",
        live_9_6_stacks "stacks", live_9_6_memory_limit "memory-limit",
        live_5_3_deep_stack "deep-stack", live_5_3_old_writes "old-writes";
    "ghc-9.10":
        live_5_4_custom_memory "custom-memory", live_5_4_fork_writes "fork-writes",
        live_9_10_remembered_set "remembered-set", live_9_10_survivors "survivors",
        live_9_10_weak_pointers "weak-pointers";
}

// What lanes without work wait for, and what those with work do needlessly; OCaml's where one release is enough.
truths! {
    WAITS;
    "ghc-9.0":
        live_9_0_lock_convoy "lock-convoy", live_9_0_pool_at_rest "pool-at-rest",
        live_9_0_wide_transactions "wide-transactions", live_9_0_hand_over "hand-over",
        live_9_0_small_writes "small-writes";
    "ghc-9.6":
        live_9_6_lock_asleep "lock-asleep", live_9_6_thunk_leak "thunk-leak", live_9_6_sparks_fizzle "sparks-fizzle", live_9_6_at_rest "at-rest", live_5_3_domain_lock "domain-lock",
        live_5_3_comparing "comparing", live_5_3_hand_over_domains "hand-over-domains",
        live_5_3_slow_reader "slow-reader";
    "ghc-9.10":
        live_9_10_pool_in_turn "pool-in-turn", live_9_10_scans_then_writes "scans-then-writes", live_9_10_uneven "uneven",
        live_9_10_sparks_lazy "sparks-lazy", live_9_10_unevaluated "unevaluated",
        live_5_4_uneven_domains "uneven-domains", live_5_4_uneven_shares "uneven-shares", live_5_4_mutex_convoy "mutex-convoy",
        live_5_4_spinning "spinning", live_5_4_short_lived_domains "short-lived-domains",
        live_5_4_digest_whole "digest-whole", live_5_4_long_keys "long-keys";
}

// Memory in which nothing is to be found: on a machine that is not idle, there are other findings.
truths! {
    MEMORY;
    "ghc-9.0":
        live_9_0_slice_whole "slice-whole";
    "ghc-9.6":
        live_9_6_large_churner_apart "large-churner-apart";
    "ghc-9.10":
        live_9_10_compact_region "compact-region";
}

/// Every one of them, with the toolchain that runs it.
pub fn all() -> Vec<(&'static str, &'static str)> {
    [PAUSES, COLLECTOR, WAITS, MEMORY].concat()
}

/// Recorded by the tests above, where those ran.
#[test]
fn what_delayed_pauses_is_reported_alike() {
    let all = all();
    // Logs of some workloads take 20 s each, so a thread takes the next one as soon as it can.
    let next = AtomicUsize::new(0);
    let one = || all.get(next.fetch_add(1, Ordering::Relaxed));
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while let Some((ghc, name)) = one() {
                    testkit::truth::recorded(ghc, name, |capture| {
                        testkit::account::sums_up(&answers::are_one(capture))
                    });
                }
            });
        }
    });
}
