//! The inputs that are kept for the fuzzer, for tests that replay them.

use std::path::{Path, PathBuf};

/// Files of a folder of the fuzzer's, in order; none where it is not there.
pub fn files(folder: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz").join(folder);
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let mut files: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    files.sort();
    files
}
