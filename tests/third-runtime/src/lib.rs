//! A runtime that does not exist, from outside the rooms of rtscope: its log format, its analysis
//! and a rule of its own, added through the registries. Owns "pebble", a runtime that stops its
//! hollows to gather stones; it is here to show that a third runtime changes no file of `crates/`.
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

/// Makes rtscope know it.
pub fn register() {
    rtscope_analyze::runtimes::register(&analysis::Analysis);
    rtscope_decode::formats::register(&log::Format);
}
