//! Live: the thread that serves each domain, as seen from outside with busy neighbours, is the one that the
//! program itself knows.

use testkit::bindings;

fn threads_match(toolchain: &str) {
    let Some(outcome) = bindings::threads::compared(toolchain, 3) else { return };
    assert_eq!(outcome.domains, 3 * 6);
    assert!(outcome.wrong.is_empty(), "{:#?}", outcome.wrong);
}

#[test]
fn live_domains_of_5_3_have_the_threads_that_they_know() {
    threads_match("ghc-9.6");
}

#[test]
fn live_domains_of_5_4_have_the_threads_that_they_know() {
    threads_match("ghc-9.10");
}
