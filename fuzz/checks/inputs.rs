//! The stored inputs of the fuzzers, for tests that replay them.

use std::path::{Path, PathBuf};

/// Files in one of the fuzzers' folders, sorted; none if it does not exist.
pub fn files(folder: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz").join(folder);
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let mut files: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    files.sort();
    files
}
