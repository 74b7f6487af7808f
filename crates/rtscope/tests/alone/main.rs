//! Tests that need a compiler and an otherwise idle machine: one at a time, except those of `load`, which
//! mostly wait. Owns the list of its files; `scripts/test` checks that none is left out.
#![forbid(unsafe_code)]

#[path = "../answers/mod.rs"]
mod answers;

mod code;
mod compare;
mod compiles;
mod load;
mod logs;
mod noise;
mod purposes;
mod servers;
mod storms;
mod studies;
mod truth;
mod workloads;
