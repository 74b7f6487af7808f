//! Slow: the map from domains to threads over fifty recordings of each OCaml.

use testkit::bindings;

#[test]
fn slow_domains_have_the_threads_that_they_know_in_fifty_recordings() {
    for toolchain in ["ghc-9.6", "ghc-9.10"] {
        let Some(outcome) = bindings::threads::compared(toolchain, 50) else { return };
        println!("{toolchain}: {} domains, {} wrong", outcome.domains, outcome.wrong.len());
        assert!(outcome.wrong.is_empty(), "{:#?}", outcome.wrong);
    }
}
