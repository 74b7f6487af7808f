//! The account of every log of the corpus sums up, and every pause has the one answer to what held it up.

use rtscope::report::pauses_json::PauseLines;
use rtscope::{input, pipeline};
use serde_json::Value;
use std::collections::BTreeMap;
use xtask::corpus;

#[test]
fn every_log_is_divided_without_rest() {
    for log in corpus::logs(&["eventlog", "events"]).unwrap() {
        let input = input::open(&log, None).unwrap();
        let mut lines = PauseLines::new(Vec::new());
        let mut keep = |pause: &_, names: &_, symbols: &_| lines.write(pause, names, symbols).unwrap();
        let (results, _) = pipeline::analyse(&input, &pipeline::Options::new(&log), &mut keep).unwrap();
        let report = serde_json::to_value(&results).unwrap();
        let name = log.display();
        testkit::account::sums_up(&report);
        let account = results.account.as_ref().unwrap_or_else(|| panic!("{name}: no account"));
        assert!(account.sums_up() && account.lanes_ns > 0, "{name}");
        // A log says nothing of CPUs.
        assert!(account.part("no-cpu").is_none() && account.part("kept").is_none(), "{name}: {account:#?}");
        held_up_once(&report, lines.finish().unwrap(), &name.to_string());
    }
}

/// Sums of the report are those of its pauses; what is not known is null or "unknown".
fn held_up_once(report: &Value, lines: Vec<u8>, name: &str) {
    let mut sums: BTreeMap<u64, (u64, u64)> = BTreeMap::new();
    for line in String::from_utf8(lines).unwrap().lines() {
        let pause: Value = serde_json::from_str(line).unwrap();
        let held = &pause["held_up_by"];
        assert_eq!(held.is_null(), pause["causes"].as_array().unwrap().is_empty(), "{name}: {pause:#}");
        if held.is_null() {
            continue;
        }
        assert!(held["ns"].as_u64() > Some(0) && held["cause"].is_string(), "{name}: {held}");
        if pause["quality"] == "whole"
            && let Some(lane) = held["lane"].as_u64()
        {
            let sum = sums.entry(lane).or_default();
            *sum = (sum.0 + 1, sum.1 + held["ns"].as_u64().unwrap());
        }
    }
    let told = report["held_up"].as_array().unwrap().iter();
    let told: BTreeMap<u64, (u64, u64)> = told
        .map(|one| (one["lane"].as_u64().unwrap(), (one["count"].as_u64().unwrap(), one["sum_ns"].as_u64().unwrap())))
        .collect();
    assert_eq!(told, sums, "{name}");
}
