//! Time: one internal clock (nanoseconds of `CLOCK_MONOTONIC`), and the conversion to it. Owns the conversion;
//! refuses to mix converted and raw stamps, which is why they are two types.

use serde::{Deserialize, Serialize};

/// A time on the trace clock, in nanoseconds: `CLOCK_MONOTONIC` if the offset of the log is known, else the log's own
/// clock (see [`ClockMap`]).
#[derive(Copy, Clone, Eq, PartialEq, Ord, PartialOrd, Hash, Debug, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Time(pub u64);

impl Time {
    /// Nanoseconds from `earlier` to `self`; 0 where `earlier` is later.
    pub fn since(self, earlier: Time) -> u64 {
        self.0.saturating_sub(earlier.0)
    }

    /// The time `ns` later.
    pub fn plus(self, ns: u64) -> Time {
        Time(self.0.saturating_add(ns))
    }

    /// The time `ns` earlier, but not before zero.
    pub fn minus(self, ns: u64) -> Time {
        Time(self.0.saturating_sub(ns))
    }
}

/// A stamp in a runtime's log, in nanoseconds since the runtime's own origin. It must be converted by a [`ClockMap`]
/// before it can be compared with anything else.
#[derive(Copy, Clone, Eq, PartialEq, Ord, PartialOrd, Hash, Debug, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct LogTime(pub u64);

/// How the offset of a log's clock was found.
#[derive(Copy, Clone, Eq, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ClockMethod {
    /// The runtime's own origin was read from the process (`start_init_elapsed`).
    RuntimeStatic,
    /// The log's pairing of its clock with `CLOCK_REALTIME`, and the host's
    /// pairing of that with `CLOCK_MONOTONIC`.
    WallClockPair,
    /// The runtime itself uses `CLOCK_MONOTONIC`: no conversion.
    Monotonic,
    /// Unknown: times stay on the log's own clock, and kernel events cannot be joined.
    LogOwn,
}

/// The map from a log's clock to the trace clock, with its error.
#[derive(Copy, Clone, Eq, PartialEq, Debug, Serialize, Deserialize)]
pub struct ClockMap {
    /// Added to a log stamp to get nanoseconds of the trace clock.
    pub offset_ns: i64,
    /// Largest error of the offset, in nanoseconds; `None`: unknown.
    pub error_ns: Option<u64>,
    /// How the offset was found.
    pub method: ClockMethod,
}

impl Default for ClockMap {
    fn default() -> ClockMap {
        ClockMap::LOG_OWN
    }
}

impl ClockMap {
    /// The map of a log with an unknown origin: times stay on the log's own clock.
    pub const LOG_OWN: ClockMap = ClockMap { offset_ns: 0, error_ns: None, method: ClockMethod::LogOwn };

    /// The map of a log whose stamps are already on the trace clock.
    pub const MONOTONIC: ClockMap = ClockMap { offset_ns: 0, error_ns: Some(0), method: ClockMethod::Monotonic };

    /// Converts a stamp of the log.
    pub fn convert(&self, stamp: LogTime) -> Time {
        Time(stamp.0.saturating_add_signed(self.offset_ns))
    }

    /// Whether converted times are `CLOCK_MONOTONIC`, so that they can be joined with kernel events.
    pub fn is_monotonic(&self) -> bool {
        self.method != ClockMethod::LogOwn
    }
}
