//! The result of a load as programs read it: schema `rtscope/load/1`, described in
//! `docs/guide/load.md`. Owns keys and doubts; refuses to format anything for people.

use crate::spread::SpreadFigures;
use crate::tally::Errors;
use serde::{Deserialize, Serialize};

/// Name of this schema.
pub const SCHEMA: &str = "rtscope/load/1";

/// Share of failed requests from which the figures are doubted.
const ERRORS_DOUBTED: f64 = 0.01;

/// rtscope's own lateness (99th percentile) from which the figures are doubted.
const LATE_NS: u64 = 1_000_000;

/// A load and its result.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Document {
    /// Always [`SCHEMA`].
    pub schema: String,
    /// The requested URL, as given.
    pub url: String,
    /// `http/1.1` or `h2c`.
    pub protocol: String,
    /// The request's method: `GET`, ...
    pub method: String,
    /// Phases of the profile, without the warm-up.
    pub profile: Vec<PhaseShape>,
    /// Length of the warm-up.
    pub warm_up_ns: u64,
    /// Time after which a request has failed, from when it was due.
    pub timeout_ns: u64,
    /// Most connections at a time.
    pub connections: u64,
    /// Most concurrent requests per connection; null with HTTP/1.1.
    pub streams: Option<u64>,
    /// Threads that sent requests.
    pub threads: u64,
    /// When the schedule began, including the warm-up.
    pub started: Started,
    /// Time from the start until the last request ended.
    pub took_ns: u64,
    /// Why the load ended.
    pub ended: Ended,
    /// The limit that was broken.
    pub limit: Option<String>,
    /// How many requests were due, and how they ended.
    pub requests: Requests,
    /// Failures by cause.
    pub errors: Errors,
    /// Requests per second.
    pub rate: Rate,
    /// Latency of the requests and its parts.
    pub latency: Latency,
    /// Connections that were opened.
    pub opened: u64,
    /// One entry per second, by when requests ended; the warm-up's requests are not counted.
    pub seconds: Vec<Second>,
    /// Requests that were recorded in a file; null without one.
    pub kept: Option<KeptRequests>,
    /// Reasons why the figures may not be what was asked for; empty is good.
    pub doubts: Vec<Doubt>,
    /// For plots: pairs of a share of all requests and the nanoseconds that these took at most.
    #[serde(skip)]
    pub curve: Vec<(f64, u64)>,
}

/// A phase of the profile.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[allow(missing_docs)]
pub struct PhaseShape {
    pub from: f64,
    pub to: f64,
    pub lasts_ns: u64,
}

/// A moment on two clocks.
#[derive(Copy, Clone, Eq, PartialEq, Debug, Serialize, Deserialize)]
pub struct Started {
    /// `CLOCK_MONOTONIC`, as in captures.
    pub monotonic_ns: u64,
    /// Nanoseconds since 1970.
    pub unix_ns: u64,
}

/// Why a load ended.
#[derive(Copy, Clone, Eq, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ended {
    /// Its profile came to its end.
    AsPlanned,
    /// A limit was broken.
    Limit,
    /// The user interrupted it.
    Interrupted,
}

/// Numbers of requests.
#[derive(Clone, Eq, PartialEq, Debug, Serialize, Deserialize)]
pub struct Requests {
    /// Requests that became due after the warm-up.
    pub due: u64,
    /// Requests answered with a status below 400.
    pub fine: u64,
    /// Requests that failed.
    pub failed: u64,
    /// Requests still open when the load was given up, in the warm-up or later.
    pub unfinished: u64,
    /// Requests due in the warm-up.
    pub warm_up: u64,
    /// Requests of the warm-up that failed.
    pub warm_up_failed: u64,
}

/// Requests per second; null where no time passed.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Rate {
    /// Requests that became due while the schedule ran.
    pub due: Option<f64>,
    /// Requests with a good answer, until the last request ended.
    pub fine: Option<f64>,
}

/// Latency of requests. `all` counts from when each was due; `late`, `queued` and `service` are its
/// three parts.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[allow(missing_docs)]
pub struct Latency {
    pub all: SpreadFigures,
    pub fine: SpreadFigures,
    pub failed: SpreadFigures,
    pub late: SpreadFigures,
    pub queued: SpreadFigures,
    pub service: SpreadFigures,
}

/// One second of a load: the requests that became due and ended in it, and the latency of those that ended.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[allow(missing_docs)]
pub struct Second {
    /// Its start, from the start of the load.
    pub from_ns: u64,
    /// Its length: 1,000,000,000, except for the last one.
    pub lasts_ns: u64,
    pub due: u64,
    pub fine: u64,
    pub failed: u64,
    pub p50_ns: Option<u64>,
    pub p90_ns: Option<u64>,
    pub p99_ns: Option<u64>,
    pub max_ns: Option<u64>,
    /// Requests that waited for a connection at its end.
    pub waiting: u64,
    /// Requests that the server was handling at its end.
    pub in_flight: u64,
    /// Time since the oldest of these was due, at its end.
    pub oldest_ns: u64,
}

/// Requests recorded in a file.
#[derive(Copy, Clone, Eq, PartialEq, Debug, Serialize, Deserialize)]
pub struct KeptRequests {
    /// Requests written.
    pub requests: u64,
    /// Requests left out because the file was full.
    pub left_out: u64,
}

/// A reason to doubt the figures.
#[derive(Copy, Clone, Eq, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Doubt {
    /// The load was given up before its end.
    GivenUp,
    /// No request got a good answer.
    NoAnswer,
    /// 1 % or more of the requests failed: quick failures lower the latency, and missing answers are only
    /// known to be late.
    Errors,
    /// rtscope itself was a millisecond or more late for 1 % of the requests.
    Late,
}

impl Document {
    /// Failed requests as a share of those that ended; 0 if none ended.
    pub fn error_share(&self) -> f64 {
        let ended = self.requests.fine + self.requests.failed;
        if ended == 0 { 0.0 } else { self.requests.failed as f64 / ended as f64 }
    }

    /// The doubts that follow from the other fields.
    pub(crate) fn doubted(&self) -> Vec<Doubt> {
        let doubts = [
            (self.ended != Ended::AsPlanned, Doubt::GivenUp),
            (self.requests.fine == 0, Doubt::NoAnswer),
            (self.error_share() >= ERRORS_DOUBTED, Doubt::Errors),
            (self.latency.late.p99_ns.is_some_and(|ns| ns >= LATE_NS), Doubt::Late),
        ];
        doubts.into_iter().filter(|(holds, _)| *holds).map(|(_, doubt)| doubt).collect()
    }
}
