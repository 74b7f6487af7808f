//! Runs every seed and every crash that a fuzzer found through the fuzzer's own check.

#[path = "../../../../fuzz/checks/inputs.rs"]
mod inputs;
#[path = "../../../../fuzz/checks/levels.rs"]
mod levels;

use inputs::files;
use rtscope_levels::Reader;
use std::sync::Arc;

#[test]
fn the_fuzzers_check_holds_for_seeds_and_crashes() {
    let seeds = files("seeds/levels");
    assert!(seeds.len() >= 5, "the seeds are missing: {seeds:?}");
    for path in seeds.into_iter().chain(files("crashes/levels")) {
        println!("{}", path.display());
        levels::check(&std::fs::read(path).expect("reads"));
    }
}

#[test]
fn seeds_are_what_their_names_state() {
    for path in files("seeds/levels") {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default().to_owned();
        let bytes = std::fs::read(&path).expect("reads");
        let length = bytes.len() as u64;
        let read = Reader::open(Arc::new(bytes), length);
        assert_eq!(read.is_ok(), name.starts_with("whole"), "{name}");
    }
}

/// A whole file with each byte changed in turn is refused or read, and nothing worse.
#[test]
fn every_changed_byte_is_survived() {
    let path = files("seeds/levels").into_iter().find(|path| path.ends_with("whole-small")).expect("the seed");
    let whole = std::fs::read(path).expect("reads");
    for index in 0..whole.len() {
        for change in [1, 0x80, 0xff] {
            let mut bytes = whole.clone();
            bytes[index] ^= change;
            levels::check(&bytes);
        }
    }
}
