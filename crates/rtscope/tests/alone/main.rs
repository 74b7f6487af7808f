//! Tests that need a compiler and a machine that does nothing else: one at a time, but for those of
//! `load`, which mostly wait. Owns the list of its files; `scripts/test` checks that none is left out.
#![forbid(unsafe_code)]

#[path = "../answers/mod.rs"]
mod answers;

mod code;
mod compare;
mod load;
mod logs;
mod noise;
mod purposes;
mod servers;
mod storms;
mod studies;
mod truth;
mod workloads;
