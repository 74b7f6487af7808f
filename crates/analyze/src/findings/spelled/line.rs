//! A setting in words, and the note that goes with it. Owns how often a note appears.

#[derive(Clone, Eq, PartialEq, Debug, Default)]
pub(super) struct Spelled {
    /// The line to paste.
    pub line: Option<String>,
    /// The note that goes with it.
    pub note: Option<Note>,
}

/// A sentence that follows a remedy.
#[derive(Clone, Eq, PartialEq, Debug)]
pub(super) enum Note {
    /// For this remedy only.
    Own(String),
    /// The program has to be relinked: once per finding.
    Relink(String),
    /// The program may have to be relinked: once per report.
    PerhapsRelink(&'static str),
}

impl Spelled {
    pub fn line(line: impl Into<Option<String>>) -> Spelled {
        Spelled { line: line.into(), note: None }
    }

    pub fn noted(self, note: Note) -> Spelled {
        Spelled { note: Some(note), ..self }
    }
}
