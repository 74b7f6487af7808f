//! The names under which traces of other tools show a runtime: only OCaml has such tools. Owns those names; refuses
//! to read a record.

pub mod phases;

use crate::ocaml_ring::COUNTERS;
use rtscope_model::RuntimeInfo;
use rtscope_model::runtimes::OCAML;

/// The runtime whose phases are in a trace that rtscope did not write.
pub const OF_OTHERS: &RuntimeInfo = &OCAML;
/// The category of events about its lanes.
pub const LANES: &[u8] = b"ocaml";
/// The name of the event that a lane begins.
pub const LANE_BEGINS: &[u8] = b"domain-spawn";
/// The name of the event that a lane ends.
pub const LANE_ENDS: &[u8] = b"domain-terminate";

/// Whether the runtime posts a counter of this name.
pub fn is_counter(name: &[u8]) -> bool {
    COUNTERS.iter().any(|(known, _)| known.as_bytes() == name)
}
