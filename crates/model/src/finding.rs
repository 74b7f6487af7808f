//! The outcome of a diagnosis rule: a sentence with evidence, a cost and a
//! remedy. Owns the shape, and what a remedy's parts read like; the rules live in `analyze`.

use crate::setting::Setting;
use crate::time::Time;
use serde::{Deserialize, Serialize, Serializer};
use std::fmt;
use std::ops::Deref;

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

crate::listed! {
    /// How sure a statement is.
    #[derive(Copy, Clone, Eq, PartialEq, Ord, PartialOrd, Hash, Debug, Serialize, Deserialize)]
    #[serde(rename_all = "kebab-case")]
    pub enum Confidence: word {
        /// From counters or an inference.
        Low = "low",
        /// From events of one side, or by elimination.
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
    says_share: bool,
}

impl Claim {
    /// `says_share`: the text holds the finding's share.
    pub fn new(text: impl Into<String>, says_share: bool) -> Claim {
        Claim { text: text.into(), says_share }
    }

    /// Whether it says what share of the run or of the memory the finding costs.
    pub fn says_share(&self) -> bool {
        self.says_share
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

/// One thing that was seen.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Evidence {
    /// One sentence with numbers and units.
    pub text: String,
    /// Start of the time range it is about.
    pub from: Option<Time>,
    /// End of that range.
    pub to: Option<Time>,
}

/// What to do, in words.
#[derive(Clone, Eq, PartialEq, Debug)]
pub struct Advice {
    /// Without the "Or" of an alternative.
    pub words: String,
    /// It can be done instead of what is listed before it.
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

/// One thing to change.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Remedy {
    /// What to do, in words.
    pub text: Advice,
    /// What it sets, where that is more than words.
    pub setting: Option<Setting>,
    /// The same as this program takes it, ready to paste; `None`: it cannot be said so.
    pub flag: Option<String>,
    /// How to see that it helped.
    pub verify: String,
    /// The figure of the report that shows it.
    pub metric: Option<Metric>,
}

impl Remedy {
    /// In words only.
    pub fn new(words: impl Into<String>) -> Remedy {
        Remedy { text: words.into().into(), setting: None, flag: None, verify: String::new(), metric: None }
    }

    /// An alternative to what is listed before it: `words` go on after "or".
    pub fn or(words: impl Into<String>) -> Remedy {
        Remedy { text: Advice { words: words.into(), alternative: true }, ..Remedy::new("") }
    }

    /// With what it sets.
    pub fn set(self, setting: impl Into<Option<Setting>>) -> Remedy {
        Remedy { setting: setting.into(), ..self }
    }

    /// With an option of the program's runtime.
    pub fn option(self, word: impl Into<String>) -> Remedy {
        self.set(Setting::option(word))
    }

    /// The figure falls, and that is how to see that it helped.
    pub fn falls(self, figure: Figure) -> Remedy {
        self.moves(figure, Trend::Fall)
    }

    /// The figure rises.
    pub fn rises(self, figure: Figure) -> Remedy {
        self.moves(figure, Trend::Rise)
    }

    fn moves(self, figure: Figure, should: Trend) -> Remedy {
        let metric = Some(Metric { path: figure.path.to_owned(), should });
        Remedy { metric, ..self }.shows(figure.shows)
    }

    /// Another recording shows `what`, more exactly than its figure says.
    pub fn shows(self, what: &str) -> Remedy {
        self.verify(format!("Record again: {what}."))
    }

    /// A whole sentence, where recording again is not all there is to do.
    pub fn verify(self, sentence: impl Into<String>) -> Remedy {
        Remedy { verify: sentence.into(), ..self }
    }
}

/// A figure of `report --json` that remedies move, and what is said of it where it did.
#[derive(Copy, Clone, Eq, PartialEq, Debug)]
pub struct Figure {
    /// Path of keys: `pauses.time_to_stop_ns.sum`.
    pub path: &'static str,
    /// What another recording shows: "less is resident".
    pub shows: &'static str,
}

/// A figure of `report --json` and the way it shall go.
#[derive(Clone, Eq, PartialEq, Debug, Serialize)]
pub struct Metric {
    /// Path of keys: `pauses.time_to_stop_ns.sum`.
    pub path: String,
    /// Which way is better.
    pub should: Trend,
}

/// A direction.
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
    /// How much it matters.
    pub severity: Severity,
    /// How sure.
    pub confidence: Confidence,
    /// The sentence: what happens, what it costs, who does it.
    pub claim: Claim,
    /// Wall-clock time it cost, in nanoseconds; 0 where it costs memory.
    pub cost_ns: u64,
    /// Resident memory it cost; null where it costs time.
    pub cost_bytes: Option<u64>,
    /// `cost_ns` as a share of the recording's wall clock, `cost_bytes` as one of the resident
    /// memory then; 0 to 1.
    pub share: f64,
    /// What was seen.
    pub evidence: Vec<Evidence>,
    /// What to change, best first.
    pub remedies: Vec<Remedy>,
}
