//! The tools that rtscope is built and tested with: compilers, workloads with known truth, an independent
//! computation of pauses, benchmarks, checks of the sources. A library, so that live tests and commands
//! use the same code.
#![forbid(unsafe_code)]

pub mod accounts;
pub mod apt;
pub mod bench;
pub mod cache;
pub mod commit;
pub mod compiled;
pub mod corpus;
pub mod demo;
pub mod dependencies;
pub mod draw;
pub mod effects;
pub mod fixtures;
pub mod guest;
pub mod noise;
pub mod ocaml;
pub mod overhead;
pub mod package;
pub mod purposes;
pub mod raw_log;
pub mod raw_pauses;
pub mod raw_ring;
pub mod ring_corpus;
pub mod rows;
pub mod runner;
pub mod serving;
pub mod starts;
pub mod statistics;
pub mod stm_suite;
pub mod surroundings;
pub mod tidy;
pub mod toolchain;
pub mod truth;
pub mod verify;
pub mod waits;
pub mod workload;

/// Reports that a test could not run because `what` is missing.
///
/// # Panics
/// If `RTSCOPE_REQUIRE_ALL` is set, as the test tiers do on a machine where `what` can be installed: there,
/// a skipped test is a failure.
pub fn missing(what: &str) {
    assert!(std::env::var_os("RTSCOPE_REQUIRE_ALL").is_none(), "this test cannot run: missing {what}");
    eprintln!("not run: missing {what}");
}
