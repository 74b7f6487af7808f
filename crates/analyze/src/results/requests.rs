//! Requests of a load laid beside what the server did meanwhile, as a report gives them. Owns their
//! shape; the judgement is [`crate::recording::requests`]'.

use rtscope_model::Time;
use serde::Serialize;

/// What a request waited for.
#[derive(Copy, Clone, Eq, PartialEq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum What {
    /// A pause.
    Pause,
    /// Requests that a pause had held up.
    Queued,
    /// A quota, or requests that it had held up.
    Throttled,
    /// A CPU, or requests that had waited for one.
    RunQueue,
    /// None of these.
    Neither,
}

/// All of them, in the order in which they are taken from a latency.
pub const WHATS: [What; 5] = [What::Pause, What::Queued, What::Throttled, What::RunQueue, What::Neither];

/// A load joined with a recording.
#[derive(Clone, Debug, Serialize)]
pub struct Joined {
    /// Where the requests went.
    pub url: String,
    /// Requests that the figures are of: not of the warm-up, and sent and done while the
    /// recording ran.
    pub count: u64,
    /// Due in the warm-up.
    pub warm_up: u64,
    /// Not whole inside the recording.
    pub outside: u64,
    /// Could not be read.
    pub damaged: u64,
    /// Behind the bound of what is taken in.
    pub left_out: u64,
    /// Latency from when they were due, nanoseconds: half took at most this.
    pub p50_ns: u64,
    /// 99 in 100 took at most this.
    pub p99_ns: u64,
    /// The longest.
    pub max_ns: u64,
    /// The slowest hundredth.
    pub slow: Slow,
    /// The very slowest, worst first.
    pub worst: Vec<Worst>,
    /// For pictures.
    #[serde(skip)]
    pub drawing: Drawing,
}

/// The slowest hundredth of the requests.
#[derive(Clone, Debug, Serialize)]
pub struct Slow {
    /// How many.
    pub count: u64,
    /// The shortest of them, nanoseconds.
    pub from_ns: u64,
    /// What they took above the median of all, nanoseconds.
    pub above_ns: u64,
    /// By what they waited for: one for each of [`WHATS`], in that order.
    pub parts: Vec<Part>,
}

/// Slow requests that waited for one thing. Null where the recording cannot tell.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Part {
    /// For what.
    pub what: What,
    /// How many.
    pub requests: Option<u64>,
    /// Of the slow ones.
    pub share: Option<f64>,
    /// What it explains of the latency above the median, whichever requests' it is.
    pub above_ns: Option<u64>,
    /// Of that of all.
    pub above_share: Option<f64>,
}

/// One slow request.
#[allow(missing_docs)]
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Worst {
    /// When it was due.
    pub due: Time,
    /// When a connection had it.
    pub sent: Option<Time>,
    /// When it was done.
    pub done: Time,
    /// "answered", "connect", "closed", "protocol", "timeout".
    pub outcome: &'static str,
    /// Of the answer.
    pub status: Option<u16>,
    /// What it waited for; null where the recording cannot tell.
    pub what: Option<What>,
    /// Its latency above the median, taken apart.
    pub pause_ns: Option<u64>,
    pub queued_ns: Option<u64>,
    pub throttled_ns: Option<u64>,
    pub run_queue_ns: Option<u64>,
    /// What is left.
    pub rest_ns: Option<u64>,
}

/// What pictures are drawn from.
#[derive(Clone, Debug, Default)]
pub struct Drawing {
    /// The load's time from its first request to its last, in slices of one width.
    pub slices: Vec<Slice>,
    /// Slow requests, thinned: when due, latency, what they waited for.
    pub slow: Vec<(Time, u64, Option<What>)>,
}

/// What requests did in a slice of time.
#[allow(missing_docs)]
#[derive(Copy, Clone, Debug)]
pub struct Slice {
    pub from: Time,
    pub to: Time,
    /// Became due.
    pub due: u64,
    /// Were answered below 400, whenever they were due.
    pub fine: u64,
    /// Failed, whenever they were due.
    pub failed: u64,
    /// Of those that became due half took at most this.
    pub p50_ns: Option<u64>,
}
