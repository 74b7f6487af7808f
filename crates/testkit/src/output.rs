//! The output of a program: its standard error, and what `report` prints about a recording. Asserts
//! only that the program printed what was asked of it.

use serde_json::Value;
use std::path::Path;
use std::process::{Command, Output};

/// Standard error as text.
pub fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// The documents of `report --pauses`.
pub fn pauses(file: &Path) -> Vec<Value> {
    let done = Command::new(crate::rtscope()).args(["report", "--pauses"]).arg(file).output().unwrap();
    let text = String::from_utf8(done.stdout).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// A path as text, for a script or an argument.
pub fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}
