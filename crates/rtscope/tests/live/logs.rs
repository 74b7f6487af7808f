//! Logs of the corpus: counts by type and every pause against independent computations. Owns no truth about a program.

use std::path::Path;
use xtask::runner::Runner;
use xtask::{corpus, verify};

/// The recorded corpus: counts by type and every pause, without any GHC.
#[test]
fn the_corpus_is_reported_as_it_is() {
    let runner = Runner::new(Path::new(testkit::rtscope())).unwrap();
    for (name, log, expectation) in corpus::all().unwrap() {
        let report = runner.report(&log).unwrap();
        assert_eq!(xtask::bench::counts_of_report(&report), expectation.events_by_type, "{name}");
        let verdict = verify::verify(&runner.rtscope, &log).unwrap();
        assert_eq!(verdict.pauses as u64, expectation.pauses, "{name}");
        assert!(verdict.differences.is_empty(), "{name}: {:#?}", verdict.differences);
        heap_profile_is(&report["heap_profile"], expectation.heap_profile.as_ref(), &name);
    }
}

/// Samples and the labels that have a band, against an independent reading of the log.
fn heap_profile_is(report: &serde_json::Value, expected: Option<&corpus::HeapProfile>, name: &str) {
    let Some(expected) = expected else { return assert!(report.is_null(), "{name}: {report}") };
    assert_eq!(report["breakdown"], "closure type", "{name}");
    assert_eq!((report["samples"].as_u64(), report["cut"].as_u64()), (Some(expected.samples), Some(0)), "{name}");
    assert_eq!(report["max_bytes"].as_u64(), Some(expected.max_bytes), "{name}");
    let bands = report["bands"].as_array().expect("bands");
    assert_eq!(bands.len(), expected.labels.len().min(15), "{name}");
    for band in bands {
        let label = band["label"].as_str().expect("a label");
        assert_eq!(band["max_bytes"].as_u64(), expected.labels.get(label).copied(), "{name}: {label}");
    }
    let least = bands.last().and_then(|band| band["max_bytes"].as_u64());
    let without = expected.labels.iter().filter(|(label, _)| !bands.iter().any(|band| band["label"] == label.as_str()));
    assert!(without.clone().all(|(_, bytes)| Some(*bytes) <= least), "{name}: a larger label has no band");
    assert_eq!(report["other"]["labels"].as_u64().unwrap_or(0), without.count() as u64, "{name}");
}
