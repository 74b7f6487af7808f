//! The workloads with known truth about where memory is, each on every GHC. They use one lane, and other load
//! on the machine does not affect them.

use testkit::truths;

// Where the memory is.
truths! {
    "ghc-9.0":
        live_9_0_pinned_strip "pinned-strip",
        live_9_0_slice "slice",
        live_9_0_large_churner "large-churner",
        live_9_0_not_returned "not-returned",
        live_9_0_copy_reserve "copy-reserve",
        live_9_0_outside_heap "outside-heap";
    "ghc-9.6":
        live_9_6_pinned_strip "pinned-strip",
        live_9_6_slice "slice",
        live_9_6_large_churner "large-churner",
        live_9_6_not_returned "not-returned",
        live_9_6_copy_reserve "copy-reserve",
        live_9_6_outside_heap "outside-heap";
    "ghc-9.10":
        live_9_10_pinned_strip "pinned-strip",
        live_9_10_slice "slice",
        live_9_10_large_churner "large-churner",
        live_9_10_not_returned "not-returned",
        live_9_10_copy_reserve "copy-reserve",
        live_9_10_outside_heap "outside-heap";
}
