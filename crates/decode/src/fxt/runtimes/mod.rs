//! What traces of other tools say of a runtime, and under which names: only OCaml's have such tools.
//! Owns those names; refuses to read a record.

pub mod phases;

use crate::ocaml_ring::COUNTERS;
use rtscope_model::RuntimeInfo;
use rtscope_model::runtimes::OCAML;

/// Whose phases are in a trace that rtscope did not make.
pub const OF_OTHERS: &RuntimeInfo = &OCAML;
/// The category of what happens to its lanes,
pub const LANES: &[u8] = b"ocaml";
/// that one begins,
pub const LANE_BEGINS: &[u8] = b"domain-spawn";
/// and that one ends.
pub const LANE_ENDS: &[u8] = b"domain-terminate";

/// Whether the runtime posts a counter of this name.
pub fn is_counter(name: &[u8]) -> bool {
    COUNTERS.iter().any(|(known, _)| known.as_bytes() == name)
}
