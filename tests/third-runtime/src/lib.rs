//! A runtime that does not exist, added from outside rtscope's crates: its log format, its analysis and
//! its rule come in through the registries. Owns "pebble", a runtime that stops its hollows to gather
//! stones; it shows that a third runtime changes no file of `crates/`.
#![forbid(unsafe_code)]

mod analysis;
mod log;
mod rule;

use rtscope_model::runtime::{Knobs, LaneThreads, RuntimeInfo};

/// The runtime as data.
pub static PEBBLE: RuntimeInfo = RuntimeInfo {
    id: "pebble",
    name: "Pebble",
    language: "Gravel",
    lane: ("hollow", "hollows"),
    lock: ("latch", "latches"),
    log: "pebble log",
    lane_threads: LaneThreads::PerPause,
    knobs: Knobs { lanes: Some("--hollows="), ..Knobs::NONE },
    ..rtscope_model::runtime::UNKNOWN
};

/// Registers pebble with rtscope.
pub fn register() {
    rtscope_analyze::runtimes::register(&analysis::Analysis);
    rtscope_decode::formats::register(&log::Format);
}
