//! How the program reports that something went wrong: what happened, why, and what to run next, on one line.
//! Owns the form of the sentence; the words are the caller's.

use rtscope_model::text::clean_json;
use serde::Serialize;
use std::fmt;
use std::io::{self, Write};
use std::path::Path;

/// The exit status of wrong usage.
pub const WRONG: u8 = 2;

/// An error with its cause and what to do next.
#[derive(Clone, Eq, PartialEq, Debug)]
pub struct UserError {
    happened: String,
    why: Option<String>,
    next: Option<String>,
    /// Exit status of the program for this failure.
    pub status: u8,
}

impl UserError {
    /// Something happened: "cannot read mill.eventlog".
    pub fn new(happened: impl Into<String>) -> UserError {
        UserError { happened: happened.into(), why: None, next: None, status: 1 }
    }

    /// What the user named cannot be read.
    pub fn unreadable(path: &Path, why: impl fmt::Display) -> UserError {
        UserError::new(format!("cannot read {}", path.display())).because(why)
    }

    /// What the user named cannot be written.
    pub fn unwritable(path: &Path, why: impl fmt::Display) -> UserError {
        UserError::new(format!("cannot write {}", path.display())).because(why)
    }

    /// Why: "it does not start with an eventlog header".
    pub fn because(mut self, why: impl fmt::Display) -> UserError {
        self.why = Some(why.to_string());
        self
    }

    /// What to run next: "record one with `rtscope record -- PROG`".
    pub fn next(mut self, next: impl Into<String>) -> UserError {
        self.next = Some(next.into());
        self
    }

    /// Sets the exit status, which is 1 by default.
    pub fn ends_with(mut self, status: u8) -> UserError {
        self.status = status;
        self
    }
}

/// Result of printing: a reader that goes away (`| head`) is no failure.
pub fn printed(done: io::Result<()>) -> io::Result<()> {
    done.or_else(|error| if error.kind() == io::ErrorKind::BrokenPipe { Ok(()) } else { Err(error) })
}

/// A document for a terminal as text, on one line or `pretty`; ends with a line feed.
pub fn document(document: &impl Serialize, pretty: bool) -> Result<String, UserError> {
    let json = if pretty { serde_json::to_string_pretty(document) } else { serde_json::to_string(document) };
    let json = json.map(|text| clean_json(&text).into_owned());
    Ok(json.map_err(|error| UserError::new("cannot write the document").because(error))? + "\n")
}

/// Prints a message on standard error, which may be closed: that is no reason to fail.
pub fn say(text: &str) {
    let _ = writeln!(io::stderr(), "rtscope: {}", without_numbers(text));
}

/// `text` cleaned, without the number that the standard library appends to an error of the system.
fn without_numbers(text: &str) -> String {
    let cleaned = crate::style::clean(text);
    let mut parts = cleaned.split(" (os error ");
    let mut words = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        match part.split_once(')') {
            Some((number, rest)) if number.parse::<i32>().is_ok() => words.push_str(rest),
            _ => words.extend([" (os error ", part]),
        }
    }
    words
}

/// Prints the results of an experiment.
pub fn print_results(text: &str) -> Result<(), UserError> {
    printed(io::stdout().lock().write_all(text.as_bytes())).map_err(|error| {
        UserError::new("cannot print the results").because(error).next("free the disk or print elsewhere")
    })
}

impl fmt::Display for UserError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts = [Some(&self.happened), self.why.as_ref(), self.next.as_ref()].into_iter().flatten();
        let parts: Vec<&str> = parts.map(String::as_str).collect();
        write!(f, "rtscope: {}", without_numbers(&parts.join("; ")))
    }
}

impl std::error::Error for UserError {}

/// Writes a file that `option` asked for.
///
/// # Errors
/// It cannot be written; the message names the option that takes another path.
pub fn write_to(path: &Path, text: &str, option: &str) -> Result<(), UserError> {
    let next = || format!("give another path with {option}");
    std::fs::write(path, text).map_err(|error| UserError::unwritable(path, error).next(next()))
}

#[cfg(test)]
mod tests {
    use super::UserError;
    use std::io;

    #[test]
    fn one_line_with_what_why_and_next() {
        let error = UserError::new("cannot read \x1b[31mmill.eventlog")
            .because("it is empty")
            .next("record one with `rtscope record -- PROG`");
        assert_eq!(
            error.to_string(),
            "rtscope: cannot read \\u{1b}[31mmill.eventlog; it is empty; record one with `rtscope record -- PROG`"
        );
        assert_eq!(UserError::new("no such file").to_string(), "rtscope: no such file");
        let numbered =
            UserError::new("cannot read x").because(io::Error::from_raw_os_error(2)).next("give y (os error z)");
        assert_eq!(numbered.to_string(), "rtscope: cannot read x; No such file or directory; give y (os error z)");
        assert_eq!((error.status, error.ends_with(2).status), (1, 2));
    }
}
