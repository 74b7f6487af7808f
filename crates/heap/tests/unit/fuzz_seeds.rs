//! Runs every seed and every crash that a fuzzer found through the fuzzer's own check.

#[path = "../../../../fuzz/checks/heap.rs"]
mod heap;
#[path = "../../../../fuzz/checks/inputs.rs"]
mod inputs;

use inputs::files;

#[test]
fn the_fuzzers_check_holds_for_seeds_and_crashes() {
    let seeds = files("seeds/heap");
    assert!(seeds.len() >= 4, "the seeds are missing: {seeds:?}");
    for path in seeds.into_iter().chain(files("crashes/heap")) {
        println!("{}", path.display());
        heap::check(&std::fs::read(path).expect("reads"));
    }
}
