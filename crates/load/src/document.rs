//! The result of a load as programs read it: schema `rtscope/load/1`, described in
//! `docs/guide/load.md`. Owns keys and doubts; refuses to say anything for people.

use crate::spread::Figures;
use crate::tally::Errors;
use serde::{Deserialize, Serialize};

/// The name of this shape.
pub const SCHEMA: &str = "rtscope/load/1";

/// A share of failures from which figures are doubted.
const ERRORS_DOUBTED: f64 = 0.01;

/// rtscope's own lateness (its 99th percentile) from which figures are doubted.
const LATE_NS: u64 = 1_000_000;

/// A load and what came of it.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Document {
    /// [`SCHEMA`].
    pub schema: String,
    /// As given.
    pub url: String,
    /// `http/1.1` or `h2c`.
    pub protocol: String,
    /// `GET`, ...
    pub method: String,
    /// Rates, the warm-up apart.
    pub profile: Vec<PhaseShape>,
    /// The warm-up.
    pub warm_up_ns: u64,
    /// A request's time.
    pub timeout_ns: u64,
    /// The most connections.
    pub connections: u64,
    /// The most requests on one; null with HTTP/1.1.
    pub streams: Option<u64>,
    /// Threads that sent.
    pub threads: u64,
    /// When the schedule began, warm-up and all.
    pub started: Started,
    /// From then until the last request ended.
    pub took_ns: u64,
    /// Why it ended.
    pub ended: Ended,
    /// The limit that was broken.
    pub limit: Option<String>,
    /// How many.
    pub requests: Requests,
    /// Failures by how.
    pub errors: Errors,
    /// Per second.
    pub rate: Rate,
    /// Times.
    pub latency: Latency,
    /// Connections that were opened.
    pub opened: u64,
    /// Second by second, by when requests ended; the warm-up's requests are not counted.
    pub seconds: Vec<Second>,
    /// Requests kept in a file; null without one.
    pub kept: Option<Kept>,
    /// Why the figures may not be what was asked for; empty is good.
    pub doubts: Vec<Doubt>,
    /// For pictures: of all requests this share took at most so many nanoseconds.
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

/// A moment on both clocks.
#[derive(Copy, Clone, Eq, PartialEq, Debug, Serialize, Deserialize)]
pub struct Started {
    /// `CLOCK_MONOTONIC`, as captures.
    pub monotonic_ns: u64,
    /// Since 1970.
    pub unix_ns: u64,
}

/// Why a load ended.
#[derive(Copy, Clone, Eq, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ended {
    /// Its profile did.
    AsPlanned,
    /// A limit was broken.
    Limit,
    /// The user interrupted it.
    Interrupted,
}

/// Counts.
#[derive(Clone, Eq, PartialEq, Debug, Serialize, Deserialize)]
pub struct Requests {
    /// Became due, the warm-up apart.
    pub due: u64,
    /// Answered below 400.
    pub fine: u64,
    /// Failed.
    pub failed: u64,
    /// Had not ended when the load was given up, in warm-up or after.
    pub unfinished: u64,
    /// Due in the warm-up.
    pub warm_up: u64,
    /// Failed of those.
    pub warm_up_failed: u64,
}

/// Requests per second; null where no time passed.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Rate {
    /// That became due, while the schedule ran.
    pub due: Option<f64>,
    /// That were answered fine, until the last request ended.
    pub fine: Option<f64>,
}

/// Times of requests. `all` counts from when each was due; `late`, `queued` and `service`
/// are its three parts.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[allow(missing_docs)]
pub struct Latency {
    pub all: Figures,
    pub fine: Figures,
    pub failed: Figures,
    pub late: Figures,
    pub queued: Figures,
    pub service: Figures,
}

/// A second of a load: what became due and what ended in it, with the latency of all that did.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[allow(missing_docs)]
pub struct Second {
    /// When it began, from the start.
    pub from_ns: u64,
    /// 1,000,000,000, but for the last.
    pub lasts_ns: u64,
    pub due: u64,
    pub fine: u64,
    pub failed: u64,
    pub p50_ns: Option<u64>,
    pub p90_ns: Option<u64>,
    pub p99_ns: Option<u64>,
    pub max_ns: Option<u64>,
    /// Waited for a connection at its end.
    pub waiting: u64,
    /// Were with the server at its end.
    pub in_flight: u64,
    /// How long ago the oldest of these was due, at its end.
    pub oldest_ns: u64,
}

/// Requests in a file.
#[derive(Copy, Clone, Eq, PartialEq, Debug, Serialize, Deserialize)]
pub struct Kept {
    /// Written.
    pub requests: u64,
    /// Not, because there was no room.
    pub left_out: u64,
}

/// A reason to doubt the figures.
#[derive(Copy, Clone, Eq, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Doubt {
    /// It was given up before its end.
    GivenUp,
    /// No request was answered fine.
    NoAnswer,
    /// 1 % of the requests failed, or more: quick failures shorten latency, missing
    /// answers are only known to be late.
    Errors,
    /// rtscope itself was late by a millisecond or more for 1 % of the requests.
    Late,
}

impl Document {
    /// Failures as a share of what ended; 0 where nothing did.
    pub fn error_share(&self) -> f64 {
        let ended = self.requests.fine + self.requests.failed;
        if ended == 0 { 0.0 } else { self.requests.failed as f64 / ended as f64 }
    }

    /// What the rest of it gives reason to.
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
