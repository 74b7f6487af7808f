//! Runs every seed and every crash that a fuzzer found through the fuzzer's own checks, and checks the known content
//! of the whole logs among them.

use rtscope_decode::ghc_eventlog::{Eventlog, Tally, UnflushedBlock, tags};
use rtscope_model::{Classes, ClockMap};
use std::sync::Arc;

#[path = "../../../../fuzz/checks/capture.rs"]
mod capture;
#[path = "../../../../fuzz/checks/code.rs"]
mod code;
#[path = "../../../../fuzz/checks/frames.rs"]
mod frames;
#[path = "../../../../fuzz/checks/fxt.rs"]
mod fxt;
#[path = "../../../../fuzz/checks/ghc_eventlog.rs"]
mod ghc_eventlog;
#[path = "../../../../fuzz/checks/ghc_statistics.rs"]
mod ghc_statistics;
#[path = "../../../../fuzz/checks/heap_snapshot.rs"]
mod heap_snapshot;
#[path = "../../../../fuzz/checks/inputs.rs"]
mod inputs;
#[path = "../../../../fuzz/checks/ocaml_ring.rs"]
mod ocaml_ring;
#[path = "../../../../fuzz/checks/pack.rs"]
mod pack;
#[path = "../../../../fuzz/checks/requests.rs"]
mod requests;
#[path = "../../../../fuzz/checks/sched.rs"]
mod sched;
#[path = "../../../../fuzz/checks/stm.rs"]
mod stm;

use inputs::files;

fn pass(log: &Eventlog, threads: usize) -> (usize, Tally) {
    let mut stream = log.stream(Classes::ALL, ClockMap::LOG_OWN, threads);
    (stream.by_ref().count(), stream.tally())
}

fn open(bytes: &[u8]) -> Option<Eventlog> {
    Eventlog::open(Arc::new(bytes.to_vec()), Vec::new()).ok()
}

#[test]
fn the_fuzzers_checks_hold_for_seeds_and_crashes() {
    type Check = fn(&[u8]);
    let targets = [
        ("ghc_eventlog", ghc_eventlog::check as Check),
        ("ocaml_ring", ocaml_ring::check as Check),
        ("sched", sched::check as Check),
        ("code", code::check as Check),
        ("capture", capture::check as Check),
        ("frames", frames::check as Check),
        ("pack", pack::check as Check),
        ("fxt", fxt::check as Check),
        ("ghc_statistics", ghc_statistics::check as Check),
        ("heap_snapshot", heap_snapshot::check as Check),
        ("requests", requests::check as Check),
        ("stm", stm::check as Check),
    ];
    for (target, check) in targets {
        for path in files(&format!("seeds/{target}")).into_iter().chain(files(&format!("crashes/{target}"))) {
            println!("{}", path.display());
            check(&std::fs::read(path).expect("reads"));
        }
    }
}

#[test]
fn seeds_and_crashes_are_read_to_their_end() {
    let seeds = files("seeds/ghc_eventlog");
    assert!(seeds.len() >= 10, "the seeds are missing: {seeds:?}");
    for path in seeds.into_iter().chain(files("crashes/ghc_eventlog")) {
        let bytes = std::fs::read(&path).expect("reads");
        let whole = open(&bytes).map(|log| pass(&log, 1));
        assert_eq!(whole, open(&bytes).map(|log| pass(&log, 3)), "{}", path.display());
        let (log, buffer) = bytes.split_at(bytes.len() / 2);
        if let Ok(Some(buffer)) = UnflushedBlock::new(Arc::new(buffer.to_vec()))
            && let Ok(log) = Eventlog::open(Arc::new(log.to_vec()), vec![buffer])
        {
            pass(&log, 2);
        }
    }
}

#[test]
fn whole_logs_of_each_runtime_have_no_loss() {
    for path in files("seeds/ghc_eventlog") {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default().to_string();
        if name.contains("cut") {
            continue;
        }
        let log = open(&std::fs::read(&path).expect("reads")).expect("opens");
        let (events, tally) = pass(&log, 2);
        assert_eq!(tally.losses, [], "{name}");
        assert!(log.is_complete() && events > 20, "{name}");
        let version = name.split('-').nth(1).unwrap_or_default();
        assert_eq!(log.info().version.as_deref(), Some(version), "{name}");
        assert_eq!(log.info().way.as_deref(), Some(if version == "9.0.2" { "thr_l" } else { "thr" }), "{name}");
        assert_eq!(tally.count(tags::BLOCK_MARKER), log.blocks().len() as u64, "{name}");
        assert!(tally.count(tags::GC_STATS_GHC) > 0, "{name}");
    }
}

#[test]
fn statistics_of_each_runtime_are_whole() {
    let seeds = files("seeds/ghc_statistics");
    assert!(seeds.len() >= 4, "the seeds are missing: {seeds:?}");
    for path in seeds {
        let read = ghc_statistics::Statistics::of_bytes(&std::fs::read(&path).expect("reads"));
        let cut = path.file_name().is_some_and(|name| name.to_string_lossy().contains("cut"));
        assert_eq!(read.is_err(), cut, "{}", path.display());
        let Ok(read) = read else { continue };
        assert!(read.generations.len() == 2 && read.collections() > 2, "{read:?}");
        assert!(read.mutator_wall_ns + read.gc_wall_ns <= read.total_wall_ns && read.peak_bytes > Some(1 << 20));
    }
}
