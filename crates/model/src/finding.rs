//! The outcome of a diagnosis rule: a sentence with evidence, a cost and a
//! remedy. Owns the shape; the rules live in `analyze`.

use crate::time::Time;
use serde::{Deserialize, Serialize};

/// How much it matters.
#[derive(Copy, Clone, Eq, PartialEq, Ord, PartialOrd, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Severity {
    /// Worth knowing.
    Note,
    /// Costs something that a user of the service can feel.
    Warning,
    /// Dominates what the program waits for.
    Severe,
}

/// How sure a statement is.
#[derive(Copy, Clone, Eq, PartialEq, Ord, PartialOrd, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Confidence {
    /// From counters or an inference.
    Low,
    /// From events of one side, or by elimination.
    Medium,
    /// Seen in events of both the runtime and the kernel.
    High,
}

impl Confidence {
    /// Its word, in JSON as well.
    pub fn word(self) -> &'static str {
        match self {
            Confidence::Low => "low",
            Confidence::Medium => "medium",
            Confidence::High => "high",
        }
    }
}

/// One thing that was seen.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Evidence {
    /// One sentence with numbers and units.
    pub text: String,
    /// Start of the time range it is about.
    pub from: Option<Time>,
    /// End of that range.
    pub to: Option<Time>,
}

/// One thing to change.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Remedy {
    /// What to do, in words.
    pub text: String,
    /// The flag or setting, ready to paste, where there is one.
    pub flag: Option<String>,
    /// How to see that it helped.
    pub verify: String,
    /// The figure of the report that shows it.
    pub metric: Option<Metric>,
}

/// A figure of `report --json` and the way it shall go.
#[derive(Clone, Eq, PartialEq, Debug, Serialize, Deserialize)]
pub struct Metric {
    /// Path of keys: `pauses.time_to_stop_ns.sum`.
    pub path: String,
    /// Which way is better.
    pub should: Trend,
}

/// A direction.
#[derive(Copy, Clone, Eq, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Trend {
    /// Smaller is better.
    Fall,
    /// Larger is better.
    Rise,
}

impl Metric {
    /// `path` shall fall.
    pub fn falls(path: &str) -> Option<Metric> {
        Some(Metric { path: path.to_owned(), should: Trend::Fall })
    }

    /// `path` shall rise.
    pub fn rises(path: &str) -> Option<Metric> {
        Some(Metric { path: path.to_owned(), should: Trend::Rise })
    }
}

/// The outcome of one diagnosis rule.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Finding {
    /// Stable name, as in the documentation: `cpu-throttled`.
    pub id: String,
    /// How much it matters.
    pub severity: Severity,
    /// How sure.
    pub confidence: Confidence,
    /// The sentence: what happens, what it costs, who does it.
    pub claim: String,
    /// Wall-clock time it cost, in nanoseconds; 0 where it costs memory.
    pub cost_ns: u64,
    /// Resident memory it cost; null where it costs time.
    #[serde(default)]
    pub cost_bytes: Option<u64>,
    /// `cost_ns` as a share of the recording's wall clock, `cost_bytes` as one of the resident
    /// memory then; 0 to 1.
    pub share: f64,
    /// What was seen.
    pub evidence: Vec<Evidence>,
    /// What to change, best first.
    pub remedies: Vec<Remedy>,
}
