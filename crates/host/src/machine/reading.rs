//! Reads small kernel files so that each figure can be shown with its source:
//! returns texts, and remembers which file gave which fact and which could not be
//! read. Refuses to interpret them.

use crate::system::procfs::Host;
use rtscope_model::resources::Source;
use std::io;
use std::path::Path;

/// Characters kept of a text.
const TEXT_MAX: usize = 240;

/// Notes kept; a tree of garbage would give one for each of its files.
const NOTES_MAX: usize = 40;

/// What has been read so far.
#[derive(Debug)]
pub struct Reading<'h> {
    pub host: &'h Host,
    sources: Vec<Source>,
    notes: Vec<String>,
    notes_left_out: usize,
}

impl<'h> Reading<'h> {
    pub fn new(host: &'h Host) -> Self {
        Reading { host, sources: Vec::new(), notes: Vec::new(), notes_left_out: 0 }
    }

    /// A file's text; `None` if it does not exist. One that cannot be read is also noted.
    pub fn text(&mut self, path: impl AsRef<Path>) -> Option<String> {
        let path = path.as_ref();
        match self.host.read(path) {
            Ok(text) => Some(text),
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => None,
            Err(error) => {
                self.note(format!("{} cannot be read: {error}", path.display()));
                None
            }
        }
    }

    /// A file's text, remembered as the source of `what`.
    pub fn source(&mut self, what: &str, path: impl AsRef<Path>) -> Option<String> {
        let text = self.text(&path)?;
        self.add_source(what, path, &text);
        Some(text)
    }

    /// Remembers `path` with `text` as the source of `what`, once.
    pub fn add_source(&mut self, what: &str, path: impl AsRef<Path>, text: &str) {
        let text = text.trim();
        let mut kept: String = text.chars().take(TEXT_MAX).collect();
        if kept.len() < text.len() {
            kept.push_str("...");
        }
        let source = Source { what: what.to_owned(), path: path.as_ref().display().to_string(), text: kept };
        if !self.sources.contains(&source) {
            self.sources.push(source);
        }
    }

    /// Adds a note, once.
    pub fn note(&mut self, note: String) {
        if self.notes.contains(&note) {
            return;
        }
        if self.notes.len() < NOTES_MAX {
            self.notes.push(note);
        } else {
            self.notes_left_out += 1;
        }
    }

    /// The sources, and the notes.
    pub fn finish(mut self) -> (Vec<Source>, Vec<String>) {
        if self.notes_left_out > 0 {
            self.notes.push(format!("{} more things could not be read or do not fit together", self.notes_left_out));
        }
        (self.sources, self.notes)
    }
}

/// The start of a file's text, which may be anything, for a message.
pub fn quoted(text: &str) -> String {
    let text = text.trim();
    let short: String = text.chars().take(40).map(|c| if c.is_control() { ' ' } else { c }).collect();
    if text.chars().nth(40).is_some() { format!("`{short}...`") } else { format!("`{short}`") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_is_nothing_and_what_cannot_be_read_is_noted() {
        let root = tempfile::tempdir().unwrap();
        std::fs::create_dir(root.path().join("folder")).unwrap();
        std::fs::write(root.path().join("long"), format!(" {} \n", "x".repeat(300))).unwrap();
        let host = Host::at(root.path());
        let mut reading = Reading::new(&host);
        assert_eq!(reading.text("/none"), None);
        assert_eq!(reading.text("/folder"), None);
        assert_eq!(reading.text("/folder"), None);
        assert!(reading.source("a long text", "/long").is_some());
        let (sources, notes) = reading.finish();
        assert_eq!(notes.len(), 1);
        assert!(notes[0].starts_with("/folder cannot be read: "), "{notes:?}");
        assert_eq!(sources[0].path, "/long");
        assert_eq!(sources[0].text, "x".repeat(240) + "...");
    }

    #[test]
    fn notes_are_bounded() {
        let host = Host::default();
        let mut reading = Reading::new(&host);
        (0..100).for_each(|index| reading.note(format!("note {index}")));
        let (_, notes) = reading.finish();
        assert_eq!(notes.len(), 41);
        assert!(notes[40].starts_with("60 more"));
    }
}
