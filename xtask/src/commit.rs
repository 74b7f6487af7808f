//! The commit of this tree, which measurements are recorded with.

use crate::workload::repository;
use anyhow::{Context, Result, ensure};
use std::process::Command;

/// Its hash, with `+` if any of these files or folders has uncommitted changes.
///
/// # Errors
/// git cannot be run here.
pub fn commit(of: &[&str]) -> Result<String> {
    let changed = if git(&[&["status", "--porcelain", "--"], of].concat())?.is_empty() { "" } else { "+" };
    Ok(format!("{}{changed}", git(&["rev-parse", "--short=12", "HEAD"])?))
}

fn git(words: &[&str]) -> Result<String> {
    let done = Command::new("git").args(["-c", "safe.directory=*"]).args(words).current_dir(repository()).output();
    let done = done.context("git cannot be run")?;
    ensure!(done.status.success(), "git: {}", String::from_utf8_lossy(&done.stderr));
    Ok(String::from_utf8_lossy(&done.stdout).trim().to_owned())
}
