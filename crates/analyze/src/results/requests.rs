//! Requests of a load, joined with what the server did meanwhile, as a report shows them. Owns their shape;
//! [`crate::recording::requests`] judges them.

use rtscope_model::Time;
use serde::Serialize;

/// What a request waited for.
#[derive(Copy, Clone, Eq, PartialEq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum What {
    /// A pause.
    Pause,
    /// Requests that a pause had delayed.
    Queued,
    /// A quota, or requests that a quota had delayed.
    Throttled,
    /// A CPU, or requests that had waited for one.
    RunQueue,
    /// None of these.
    Neither,
}

/// All of them, in the order in which they are subtracted from a latency.
pub const WHATS: [What; 5] = [What::Pause, What::Queued, What::Throttled, What::RunQueue, What::Neither];

/// A load joined with a recording.
#[derive(Clone, Debug, Serialize)]
pub struct Joined {
    /// URL of the requests.
    pub url: String,
    /// Number of requests in the figures: not in the warm-up, and sent and done during the recording.
    pub count: u64,
    /// Number of requests due in the warm-up.
    pub warm_up: u64,
    /// Number of requests that were not entirely inside the recording.
    pub outside: u64,
    /// Number of requests that could not be read.
    pub damaged: u64,
    /// Number of requests beyond the maximum that is taken in.
    pub left_out: u64,
    /// Median latency from the due time, nanoseconds.
    pub p50_ns: u64,
    /// 99th percentile of the latency, nanoseconds.
    pub p99_ns: u64,
    /// Longest latency, nanoseconds.
    pub max_ns: u64,
    /// The slowest hundredth of the requests.
    pub slow: Slow,
    /// The slowest requests, worst first.
    pub worst: Vec<SlowRequest>,
    /// Data of charts.
    #[serde(skip)]
    pub drawing: LoadDrawing,
}

/// The slowest hundredth of the requests.
#[derive(Clone, Debug, Serialize)]
pub struct Slow {
    /// Number of slow requests.
    pub count: u64,
    /// Latency of the fastest of them, nanoseconds.
    pub from_ns: u64,
    /// Sum of their latencies above the median of all, nanoseconds.
    pub above_ns: u64,
    /// By what they waited for: one part for each of [`WHATS`], in that order.
    pub parts: Vec<SlowPart>,
}

/// Slow requests that waited for one thing. Null where the recording cannot show it.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct SlowPart {
    /// What they waited for.
    pub what: What,
    /// Number of requests that mainly waited for it.
    pub requests: Option<u64>,
    /// Share of the slow requests.
    pub share: Option<f64>,
    /// How much latency above the median it explains, over all slow requests, nanoseconds.
    pub above_ns: Option<u64>,
    /// Share of all slow requests' latency above the median.
    pub above_share: Option<f64>,
}

/// One slow request.
#[allow(missing_docs)]
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct SlowRequest {
    /// When it was due.
    pub due: Time,
    /// When a connection took it.
    pub sent: Option<Time>,
    /// When it was done.
    pub done: Time,
    /// "answered", "connect", "closed", "protocol", "timeout".
    pub outcome: &'static str,
    /// HTTP status of the answer.
    pub status: Option<u16>,
    /// What it waited for; null where the recording cannot show it.
    pub what: Option<What>,
    /// Its latency above the median, by part.
    pub pause_ns: Option<u64>,
    pub queued_ns: Option<u64>,
    pub throttled_ns: Option<u64>,
    pub run_queue_ns: Option<u64>,
    /// The unexplained rest.
    pub rest_ns: Option<u64>,
}

/// The data of charts.
#[derive(Clone, Debug, Default)]
pub struct LoadDrawing {
    /// The load's time from its first request to its last, in slices of equal width.
    pub slices: Vec<Slice>,
    /// Slow requests, thinned: due time, latency, what they waited for.
    pub slow: Vec<(Time, u64, Option<What>)>,
}

/// Requests in one slice of time.
#[allow(missing_docs)]
#[derive(Copy, Clone, Debug)]
pub struct Slice {
    pub from: Time,
    pub to: Time,
    /// Number that became due.
    pub due: u64,
    /// Number answered with a status below 400, whenever they were due.
    pub fine: u64,
    /// Number that failed, whenever they were due.
    pub failed: u64,
    /// Median latency of those that became due, nanoseconds.
    pub p50_ns: Option<u64>,
}
