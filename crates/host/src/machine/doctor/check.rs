//! One probe and its outcome. Owns that a good outcome has no command that fixes it.

use serde::Serialize;

/// How well something serves recording.
#[derive(Copy, Clone, Eq, PartialEq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum State {
    /// Nothing is missing.
    Ok,
    /// rtscope works, but sees less.
    Degraded,
    /// What depends on it is unavailable.
    Missing,
}

/// One probe and its outcome.
#[derive(Clone, Eq, PartialEq, Debug, Serialize)]
pub struct Check {
    /// A short stable name, such as `perf-event-paranoid`.
    pub name: &'static str,
    /// How good the outcome is.
    pub state: State,
    /// What was seen, with its path and value.
    pub found: String,
    /// What rtscope can and cannot do with it.
    pub means: String,
    /// The exact command that fixes it, if there is one.
    #[serde(rename = "mend")]
    pub fix: Option<String>,
}

impl Check {
    pub(super) fn new(name: &'static str, state: State, found: String, means: &str) -> Check {
        Check { name, state, found, means: means.to_owned(), fix: None }
    }

    pub(super) fn fixed_by(self, command: &str) -> Check {
        Check { fix: (self.state != State::Ok).then(|| command.to_owned()), ..self }
    }
}
