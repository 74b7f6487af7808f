//! A setting in words, and what has to be said with it. Owns how often that is said.

/// A setting in words.
#[derive(Clone, Eq, PartialEq, Debug, Default)]
pub(super) struct Spelled {
    /// To paste.
    pub line: Option<String>,
    /// What has to be said with it.
    pub note: Option<Note>,
}

/// A sentence that follows a remedy.
#[derive(Clone, Eq, PartialEq, Debug)]
pub(super) enum Note {
    /// Of this remedy.
    Own(String),
    /// That the program has to be linked anew: once in a finding.
    Relink(String),
    /// That it may have to be: once in a report.
    Doubt(&'static str),
}

impl Spelled {
    pub fn line(line: impl Into<Option<String>>) -> Spelled {
        Spelled { line: line.into(), note: None }
    }

    pub fn noted(self, note: Note) -> Spelled {
        Spelled { note: Some(note), ..self }
    }
}
