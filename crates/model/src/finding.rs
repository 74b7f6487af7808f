//! The outcome of a diagnosis rule: a sentence with evidence, a cost and a remedy. Owns its shape, and the wording of
//! a remedy's parts; the rules are in `analyze`.

use crate::setting::Setting;
use crate::time::Time;
use serde::{Deserialize, Serialize, Serializer};
use std::fmt;
use std::ops::Deref;

/// The importance of a finding.
#[derive(Copy, Clone, Eq, PartialEq, Ord, PartialOrd, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Severity {
    /// Worth knowing.
    Note,
    /// Has a cost that users of the service can notice.
    Warning,
    /// Dominates the waits of the program.
    Severe,
}

crate::listed! {
    /// How sure a statement is.
    #[derive(Copy, Clone, Eq, PartialEq, Ord, PartialOrd, Hash, Debug, Serialize, Deserialize)]
    #[serde(rename_all = "kebab-case")]
    pub enum Confidence: word {
        /// Based on counters or an inference.
        Low = "low",
        /// Based on events of one side, or on elimination.
        Medium = "medium",
        /// Seen in events of both the runtime and the kernel.
        High = "high",
    }
}

/// The sentence of a finding.
#[derive(Clone, Eq, PartialEq, Debug, Serialize)]
#[serde(transparent)]
pub struct Claim {
    text: String,
    #[serde(skip)]
    has_share: bool,
}

impl Claim {
    /// A claim with this text; `has_share`: the text includes the finding's share.
    pub fn new(text: impl Into<String>, has_share: bool) -> Claim {
        Claim { text: text.into(), has_share }
    }

    /// Whether the text includes the share of the run or of the memory that the finding costs.
    pub fn has_share(&self) -> bool {
        self.has_share
    }
}

impl From<&str> for Claim {
    fn from(text: &str) -> Claim {
        Claim::new(text, false)
    }
}

impl Deref for Claim {
    type Target = str;

    fn deref(&self) -> &str {
        &self.text
    }
}

impl fmt::Display for Claim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// An observation that supports a finding.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Evidence {
    /// One sentence with numbers and units.
    pub text: String,
    /// Start of the time range it is about.
    pub from: Option<Time>,
    /// End of that range.
    pub to: Option<Time>,
}

/// Text of a remedy.
#[derive(Clone, Eq, PartialEq, Debug)]
pub struct Advice {
    /// The text without the "Or" of an alternative.
    pub words: String,
    /// Whether it can be done instead of the one listed before it.
    pub alternative: bool,
}

impl<S: Into<String>> From<S> for Advice {
    fn from(words: S) -> Advice {
        Advice { words: words.into(), alternative: false }
    }
}

impl fmt::Display for Advice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.alternative { "Or " } else { "" })?;
        f.write_str(&self.words)
    }
}

impl Serialize for Advice {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// One change to make.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Remedy {
    /// The text.
    pub text: Advice,
    /// The setting to change, if it is more than text.
    pub setting: Option<Setting>,
    /// The setting as this program takes it, ready to paste; `None`: it cannot be given that way.
    pub flag: Option<String>,
    /// How to see that it helped.
    pub verify: String,
    /// The figure of the report that shows it.
    pub metric: Option<Metric>,
}

impl Remedy {
    /// A remedy that is only text.
    pub fn new(words: impl Into<String>) -> Remedy {
        Remedy { text: words.into().into(), setting: None, flag: None, verify: String::new(), metric: None }
    }

    /// An alternative to the remedy listed before it: `words` continue after "or".
    pub fn or(words: impl Into<String>) -> Remedy {
        Remedy { text: Advice { words: words.into(), alternative: true }, ..Remedy::new("") }
    }

    /// Adds a setting.
    pub fn set(self, setting: impl Into<Option<Setting>>) -> Remedy {
        Remedy { setting: setting.into(), ..self }
    }

    /// Adds an option of the program's runtime.
    pub fn option(self, word: impl Into<String>) -> Remedy {
        self.set(Setting::option(word))
    }

    /// The remedy helped if the figure falls.
    pub fn falls(self, figure: Figure) -> Remedy {
        self.moves(figure, Trend::Fall)
    }

    /// The remedy helped if the figure rises.
    pub fn rises(self, figure: Figure) -> Remedy {
        self.moves(figure, Trend::Rise)
    }

    fn moves(self, figure: Figure, should: Trend) -> Remedy {
        let metric = Some(Metric { path: figure.path.to_owned(), should });
        Remedy { metric, ..self }.shows(figure.shows)
    }

    /// Another recording shows `what`, which is more exact than its figure's text.
    pub fn shows(self, what: &str) -> Remedy {
        self.verify(format!("Record again: {what}."))
    }

    /// Sets a whole sentence, where recording again is not all there is to do.
    pub fn verify(self, sentence: impl Into<String>) -> Remedy {
        Remedy { verify: sentence.into(), ..self }
    }
}

/// A figure of `report --json` that remedies change, and the text for a change.
#[derive(Copy, Clone, Eq, PartialEq, Debug)]
pub struct Figure {
    /// Path of keys: `pauses.time_to_stop_ns.sum`.
    pub path: &'static str,
    /// What another recording shows: "less is resident".
    pub shows: &'static str,
}

/// A figure of `report --json` and its desired direction.
#[derive(Clone, Eq, PartialEq, Debug, Serialize)]
pub struct Metric {
    /// Path of keys: `pauses.time_to_stop_ns.sum`.
    pub path: String,
    /// Which way is better.
    pub should: Trend,
}

/// A direction of change.
#[derive(Copy, Clone, Eq, PartialEq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Trend {
    /// Smaller is better.
    Fall,
    /// Larger is better.
    Rise,
}

/// The outcome of one diagnosis rule.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Finding {
    /// Stable name, as in the documentation: `cpu-throttled`.
    pub id: String,
    /// The importance.
    pub severity: Severity,
    /// How sure it is.
    pub confidence: Confidence,
    /// The sentence: what happens, what it costs, what causes it.
    pub claim: Claim,
    /// Wall-clock time it cost, in nanoseconds; 0 where it costs memory.
    pub cost_ns: u64,
    /// Resident memory it cost; null where it costs time.
    pub cost_bytes: Option<u64>,
    /// `cost_ns` as a share of the recording's wall-clock time, or `cost_bytes` as a share of the resident memory at
    /// that time; 0 to 1.
    pub share: f64,
    /// The supporting observations.
    pub evidence: Vec<Evidence>,
    /// Changes to make, best first.
    pub remedies: Vec<Remedy>,
}
