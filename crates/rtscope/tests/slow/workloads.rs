//! The workloads with known truth on the compilers for which the regular tests leave them out. Owns asserting
//! that the right finding comes first.

use testkit::truths;

truths! {
    "ghc-9.0":
        live_9_0_at_rest "at-rest", live_9_0_foreign_call "foreign-call", live_9_0_foreign_sleep "foreign-sleep",
        live_9_0_idle_capabilities "idle-capabilities",
        live_9_0_late_safepoint_yields "late-safepoint-yields",
        live_9_0_long_major_gc "long-major-gc", live_9_0_memory_limit "memory-limit",
        live_9_0_non_moving "non-moving",
        live_9_0_non_threaded "non-threaded", live_9_0_oversubscribed "oversubscribed",
        live_9_0_page_faults_kept "page-faults-kept", live_9_0_pinned_take "pinned-take",
        live_9_0_remembered_set "remembered-set", live_9_0_small_nursery "small-nursery",
        live_9_0_sparks_chunks "sparks-chunks", live_9_0_stacks "stacks", live_9_0_survivors "survivors",
        live_9_0_throttled_neighbour "throttled-neighbour", live_9_0_traced "traced",
        live_9_0_small_writes_buffered "small-writes-buffered", live_9_0_thunk_leak "thunk-leak",
        live_9_0_thunk_leak_strict "thunk-leak-strict",
        live_9_0_uneven "uneven", live_9_0_unevaluated "unevaluated",
        live_9_0_unevaluated_forced "unevaluated-forced", live_9_0_weak_pointers "weak-pointers";
    "ghc-9.6":
        live_9_6_foreign_call "foreign-call", live_9_6_foreign_call_safe "foreign-call-safe",
        live_9_6_hand_over "hand-over", live_5_3_byte_reads "byte-reads", live_5_3_digest_whole "digest-whole", live_5_3_long_keys "long-keys", live_5_3_custom_memory "custom-memory",
        live_5_3_slow_reader_none "slow-reader-none", live_5_3_shallow_stack "shallow-stack",
        live_5_3_old_writes_flat "old-writes-flat", live_5_3_fork_writes_none "fork-writes-none",
        live_9_6_lock_convoy_striped "lock-convoy-striped", live_9_6_uneven_even "uneven-even",
        live_9_6_lock_awake "lock-awake", live_9_6_writes_then_scans "writes-then-scans",
        live_5_3_scans_then_compares "scans-then-compares",
        live_9_6_late_safepoint "late-safepoint", live_9_6_lock_convoy "lock-convoy",
        live_9_6_neighbour "neighbour", live_9_6_non_threaded "non-threaded",
        live_9_6_oversubscribed "oversubscribed", live_9_6_page_faults "page-faults",
        live_9_6_parallel_gc "parallel-gc-not-paying", live_9_6_remembered_set "remembered-set",
        live_9_6_returned "returned", live_9_6_sequential "sequential", live_9_6_throttled "throttled", live_9_6_traced "traced";
    "ghc-9.10":
        live_9_10_at_rest "at-rest", live_9_10_foreign_call_safe "foreign-call-safe",
        live_9_10_foreign_sleep "foreign-sleep",
        live_9_10_hand_over "hand-over", live_9_10_memory_limit "memory-limit",
        live_5_4_custom_memory_pooled "custom-memory-pooled",
        live_5_4_digest_parts "digest-parts", live_5_4_long_keys_hashed "long-keys-hashed", live_5_4_byte_reads "byte-reads", live_5_4_byte_reads_buffered "byte-reads-buffered",
        live_9_10_small_writes "small-writes", live_9_10_thunk_leak "thunk-leak",
        live_5_4_comparing_typed "comparing-typed", live_5_4_compares_then_scans "compares-then-scans", live_9_10_hand_over_batches "hand-over-batches",
        live_5_4_hand_over_domains_batches "hand-over-domains-batches",
        live_5_4_short_lived_domains_pool "short-lived-domains-pool",
        live_9_10_idle_capabilities "idle-capabilities", live_9_10_late_safepoint "late-safepoint",
        live_9_10_late_safepoint_yields "late-safepoint-yields",
        live_9_10_lock_convoy "lock-convoy", live_9_10_long_major_gc "long-major-gc",
        live_9_10_neighbour "neighbour", live_9_10_non_moving "non-moving",
        live_9_10_outside_heap_freed "outside-heap-freed", live_9_10_page_faults "page-faults", live_9_10_parallel_gc "parallel-gc-not-paying",
        live_9_10_sequential "sequential", live_9_10_small_nursery "small-nursery",
        live_9_10_throttled "throttled", live_9_10_throttled_neighbour "throttled-neighbour";
}
