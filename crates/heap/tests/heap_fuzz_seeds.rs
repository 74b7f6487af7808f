//! Every seed and every crash that a fuzzer found, through the fuzzer's own check.

#![forbid(unsafe_code)]

use std::path::{Path, PathBuf};

#[path = "../../../fuzz/checks/heap.rs"]
mod heap;

fn files(folder: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz").join(folder);
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let mut files: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    files.sort();
    files
}

#[test]
fn the_fuzzers_check_holds_for_seeds_and_crashes() {
    let seeds = files("seeds/heap");
    assert!(seeds.len() >= 4, "the seeds are missing: {seeds:?}");
    for path in seeds.into_iter().chain(files("crashes/heap")) {
        println!("{}", path.display());
        heap::check(&std::fs::read(path).expect("reads"));
    }
}
