//! From hostile bytes to records to events.
//!
//! Owns the formats: GHC eventlogs, OCaml rings, Fuchsia traces, kernel scheduling records, code samples, capture
//! folders, requests of a load, GHC's own statistics. Decoders are state machines without I/O of their own; their
//! input is a [`ReadAt`]. A length found in the bytes is checked against what is left before anything is allocated,
//! and no input may cause a panic.
#![forbid(unsafe_code)]

pub mod capture;
pub mod code;
pub mod formats;
pub mod frames;
pub mod fxt;
pub mod ghc_eventlog;
pub mod ghc_statistics;
mod log;
pub mod ocaml_ring;
mod perf;
mod raw_loss;
pub mod requests;
pub mod sched;
pub mod source;
pub mod stm;

pub use perf::record::whole as whole_perf_records;
pub use source::{FromFront, ReadAt, Written, spool};
