//! Transactions (STM), as a report shows them. Owns their shape; [`crate::recording::stm`] sums them.

use rtscope_model::{StmCounts, StmNamed, Time};
use serde::{Deserialize, Serialize};

/// Results of a program's transactions.
#[allow(missing_docs)]
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Transactions {
    /// Whether commits and conflicts were counted: the package `rtscope-stm` is linked in. Else only attempts,
    /// if anything.
    pub outcomes: bool,
    /// Why they were not counted.
    pub why: Option<String>,
    /// Whether counting began with the program.
    pub whole: bool,
    /// First and last look; null: no look succeeded.
    pub from: Option<Time>,
    pub to: Option<Time>,
    /// From the first look, or from the start of the recording where that is the program's start, to the
    /// last, nanoseconds.
    pub span_ns: u64,
    /// From the last look until the program ended, or to the end: the counts do not include what was done then.
    pub unseen_ns: Option<u64>,
    /// Attempts as the runtime counts them, including nested ones; null: not posted.
    pub runtime_attempts: Option<u64>,
    /// Per second: attempts (the package's count, else the runtime's) and commits.
    pub attempts_per_second: Option<f64>,
    pub commits_per_second: Option<f64>,
    /// Over all lanes; null where only attempts were counted.
    pub counts: Option<StmCounts>,
    /// Attempts that were thrown away, and their share.
    pub lost: Option<u64>,
    pub lost_share: Option<f64>,
    /// Lanes that began a transaction.
    pub lanes: Vec<LaneTransactions>,
    /// Named transactions, those with most lost attempts first.
    pub names: Vec<NamedTransactions>,
    /// What the package's scheduler may do: "counting", "adaptive", "back-off", "limit"; null: not known.
    pub scheduler: Option<&'static str>,
    /// Counts over time.
    pub over_time: Vec<StmSlice>,
}

/// Transactions of one lane.
#[derive(Copy, Clone, Debug, Default, PartialEq, Serialize)]
pub struct LaneTransactions {
    /// Number of the lane.
    pub lane: u16,
    #[allow(missing_docs)]
    #[serde(flatten)]
    pub counts: StmCounts,
    /// Share of its attempts that were thrown away.
    pub lost_share: Option<f64>,
    /// Share of all commits.
    pub commit_share: Option<f64>,
}

/// Transactions of one name.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct NamedTransactions {
    /// Name of the transaction.
    pub name: String,
    #[allow(missing_docs)]
    #[serde(flatten)]
    pub counts: StmNamed,
    /// Attempts that were thrown away or are still under way.
    pub lost: u64,
    /// Share of its attempts.
    pub lost_share: Option<f64>,
}

/// Counts of one slice of time.
#[allow(missing_docs)]
#[derive(Copy, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct StmSlice {
    pub from: Time,
    pub to: Time,
    /// Attempts as the package counts them, else as the runtime does.
    pub attempts: u64,
    /// 0 where only attempts were counted.
    pub commits: u64,
    /// See `commits`.
    pub lost: u64,
    /// See `commits`.
    pub waits: u64,
}
