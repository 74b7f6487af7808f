//! Transactions (STM), as a report gives them. Owns their shape; sums are [`crate::recording::stm`]'s.

use rtscope_model::{StmCounts, StmNamed, Time};
use serde::{Deserialize, Serialize};

/// What the transactions of a program came to.
#[allow(missing_docs)]
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Transactions {
    /// Commits and conflicts were counted: the package `rtscope-stm` is linked in. Else
    /// attempts alone, if anything.
    pub outcomes: bool,
    /// Why not.
    pub why: Option<String>,
    /// Counted from the program's start on.
    pub whole: bool,
    /// First and last look; null: none came off.
    pub from: Option<Time>,
    pub to: Option<Time>,
    /// Between them, or since the recording began where that is the program's start, nanoseconds.
    pub span_ns: u64,
    /// From the last look until the program was gone, or to the end: what was done then is not in
    /// the counts.
    pub unseen_ns: Option<u64>,
    /// Attempts as the runtime counts them, nested ones too; null: it does not tell.
    pub runtime_attempts: Option<u64>,
    /// Per second: attempts (the package's, else the runtime's) and commits.
    pub attempts_per_second: Option<f64>,
    pub commits_per_second: Option<f64>,
    /// Over all lanes; null where attempts alone were counted.
    pub counts: Option<StmCounts>,
    /// Attempts that were thrown away, and their share.
    pub lost: Option<u64>,
    pub lost_share: Option<f64>,
    /// Lane by lane, those that began a transaction.
    pub lanes: Vec<LaneTransactions>,
    /// By name, those first of which most attempts were thrown away.
    pub names: Vec<NamedTransactions>,
    /// What the package's scheduler may do: "counting", "adaptive", "back-off", "limit"; null:
    /// unknown.
    pub scheduler: Option<&'static str>,
    /// Over time.
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
    /// The name.
    pub name: String,
    #[allow(missing_docs)]
    #[serde(flatten)]
    pub counts: StmNamed,
    /// Attempts that were thrown away or are still under way.
    pub lost: u64,
    /// Their share.
    pub lost_share: Option<f64>,
}

/// What was counted in a part of the time.
#[allow(missing_docs)]
#[derive(Copy, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct StmSlice {
    pub from: Time,
    pub to: Time,
    /// The package's, else the runtime's.
    pub attempts: u64,
    /// 0 where attempts alone were counted.
    pub commits: u64,
    /// See `commits`.
    pub lost: u64,
    /// See `commits`.
    pub waits: u64,
}
