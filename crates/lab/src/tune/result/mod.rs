//! The result of a study, as printed: text, JSON, a drawing. Owns what accompanies the figures (lines to paste,
//! findings of two captures); the figures are `rtscope_tune::result`'s.

pub mod pairs;
pub mod svg;
pub mod text;

use pairs::Pair;
use rtscope_tune::result::Document;
use rtscope_tune::study::interval::Interval;
use serde::Serialize;

/// A study's document with what accompanies it: also what `--json` prints.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Shown {
    #[serde(flatten)]
    pub document: Document,
    /// How to give the recommendation to the program; empty if there is none.
    pub paste: Vec<PasteLine>,
    /// Why it helps: findings of both captures; null if there are no captures.
    pub findings: Option<Vec<Pair>>,
}

/// A line to paste.
#[derive(Clone, Eq, PartialEq, Debug, Serialize)]
pub struct PasteLine {
    /// What it is for: `GHCRTS`, `link with`, `Kubernetes`.
    pub what: String,
    /// The text to paste; several lines are kept as they are.
    pub line: String,
}

impl Shown {
    pub fn new(document: Document) -> Shown {
        Shown { document, paste: Vec::new(), findings: None }
    }
}

/// The words of a configuration; in a study of a program, what runs today has none.
fn named(words: &str) -> &str {
    if words.is_empty() { "what runs today" } else { words }
}

/// Whether a gain is given as "times as fast"; otherwise as what is left of the figure.
fn is_time(found: &Document) -> bool {
    let objective = found.objective.as_str();
    objective == "wall" || objective == "time" || objective.ends_with("seconds")
}

/// A gain as it is printed.
fn printed_gain(found: &Document, gain: &Interval) -> Interval {
    match is_time(found) {
        true => *gain,
        false => Interval { low: 1.0 / gain.high, mean: 1.0 / gain.mean, high: 1.0 / gain.low },
    }
}
