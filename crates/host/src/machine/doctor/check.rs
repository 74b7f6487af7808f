//! One probe and its outcome. Owns that what is good has no command that mends it.

use serde::Serialize;

/// How good a thing is for recording.
#[derive(Copy, Clone, Eq, PartialEq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum State {
    /// Nothing is missing.
    Ok,
    /// rtscope works, and sees less.
    Degraded,
    /// What hangs on it cannot be had at all.
    Missing,
}

/// One probe and its outcome.
#[derive(Clone, Eq, PartialEq, Debug, Serialize)]
pub struct Check {
    /// A short stable name, such as `perf-event-paranoid`.
    pub name: &'static str,
    /// How good that is.
    pub state: State,
    /// What was seen, with its path and value.
    pub found: String,
    /// What rtscope can and cannot do then.
    pub means: String,
    /// The exact command that mends it, where there is one.
    pub mend: Option<String>,
}

impl Check {
    pub(super) fn new(name: &'static str, state: State, found: String, means: &str) -> Check {
        Check { name, state, found, means: means.to_owned(), mend: None }
    }

    pub(super) fn mended_by(self, command: &str) -> Check {
        Check { mend: (self.state != State::Ok).then(|| command.to_owned()), ..self }
    }
}
