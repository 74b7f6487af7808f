//! Tests that need a compiler and judge no time: they run in parallel. Owns the list of its files;
//! `scripts/test` checks that none is left out.
#![forbid(unsafe_code)]

mod bindings;
mod domain_threads;
mod events_library;
mod export;
mod exports;
mod faults;
mod figures;
mod heap;
mod heap_input;
mod heap_record;
mod left;
mod logs;
mod memory;
mod ocaml_programs;
mod plan;
mod purposes;
mod quiz;
mod readme;
mod record;
mod remedies;
mod requests;
mod rings;
mod stm;
mod stm_bench;
mod stm_invariants;
mod top;
mod trials;
mod tune;
mod tune_jobs;
mod tune_space;
mod user_events;
mod view_tracks;
mod waits;
mod waits_input;
