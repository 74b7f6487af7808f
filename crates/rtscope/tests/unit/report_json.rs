//! The JSON forms: stable keys, null for what is not known, and a page of documentation that names every key.

use testkit::results as common;

use rtscope_report::{json, pauses_json};
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::PathBuf;

fn value(name: &str) -> Value {
    let mut out = Vec::new();
    json::write(&common::by_name(name).results, &mut out).expect("writing to memory");
    assert_eq!(out.iter().filter(|byte| **byte == b'\n').count(), 1, "one line");
    serde_json::from_slice(&out).expect("JSON")
}

fn lines(name: &str) -> Vec<Value> {
    let fixture = common::by_name(name);
    let (mut out, symbols) = (Vec::new(), &fixture.results.drawing.symbols);
    for worst in &fixture.results.drawing.worst {
        pauses_json::write(&mut out, &worst.blamed, &fixture.names, symbols).expect("writing to memory");
    }
    let text = String::from_utf8(out).expect("UTF-8");
    text.lines().map(|line| serde_json::from_str(line).expect("each line is JSON")).collect()
}

/// The keys that the documentation's tables below `heading` name. A group
/// `{a, b}` stands for each of its keys.
fn documented(heading: &str) -> BTreeSet<String> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/report-json.md");
    let text = std::fs::read_to_string(path).expect("docs/report-json.md");
    let section = text.split("\n## ").find(|section| section.starts_with(heading)).expect("the section");
    let mut keys = BTreeSet::new();
    for row in section.lines().filter(|line| line.starts_with("| `")) {
        let key = row.split('`').nth(1).unwrap_or("");
        match key.split_once('{') {
            Some((prefix, group)) => {
                let group = group.trim_end_matches('}').split(", ");
                keys.extend(group.map(|name| format!("{prefix}{name}")));
            }
            None => {
                keys.insert(key.to_string());
            }
        }
    }
    keys
}

fn without_nesting(path: &str) -> String {
    let account = path.strip_prefix("slowest_pauses.").filter(|path| path.starts_with("account."));
    let mut path = account.unwrap_or(path).to_owned();
    while path.contains(".parts[].parts") {
        path = path.replace(".parts[].parts", ".parts");
    }
    path
}

#[test]
fn every_key_is_documented_and_every_documented_key_exists() {
    let mut found = BTreeSet::new();
    for fixture in common::all() {
        common::key_paths(&value(fixture.name), "", &mut found);
    }
    // A part of an account has parts like itself, and all accounts are alike.
    let found: BTreeSet<String> = found.iter().map(|path| without_nesting(path)).collect();
    // A distribution is documented once, wherever it occurs.
    let is_part = |path: &str| {
        path.rsplit_once('.').is_some_and(|(parent, _)| parent.ends_with("_ns") || parent.ends_with("_bytes"))
    };
    let parts: BTreeSet<_> = found.iter().filter(|path| is_part(path)).cloned().collect();
    let keys: BTreeSet<_> = found.difference(&parts).cloned().collect();
    let documented_keys = documented("Keys");
    let missing: Vec<_> = keys.difference(&documented_keys).collect();
    let stale: Vec<_> = documented_keys.difference(&keys).collect();
    assert!(missing.is_empty() && stale.is_empty(), "not documented: {missing:?}; gone: {stale:?}");
    let leaves: BTreeSet<_> = parts.iter().filter_map(|path| path.rsplit('.').next()).map(String::from).collect();
    assert_eq!(leaves, documented("Distributions and levels"));
}

#[test]
fn every_key_of_a_pause_is_documented() {
    let mut found = BTreeSet::new();
    lines("preempted").iter().for_each(|line| common::key_paths(line, "", &mut found));
    assert_eq!(found, documented("Pauses"));
}

/// The keys that other programs rely on, by name: a change here breaks them.
#[test]
fn the_stable_keys_are_there() {
    let value = value("throttled");
    assert_eq!(value["schema"], "rtscope/report/1");
    for pointer in [
        "/source/kind",
        "/source/path",
        "/source/bytes",
        "/source/events",
        "/runtime/family",
        "/runtime/version",
        "/runtime/way",
        "/runtime/args",
        "/span_ns",
        "/lanes/0/id",
        "/lanes/0/name",
        "/lanes/0/tids",
        "/lanes/0/mutator_ns",
        "/lanes/0/collect_ns",
        "/lanes/0/stop_wait_ns",
        "/lanes/0/release_wait_ns",
        "/lanes/0/leadership_wait_ns",
        "/lanes/0/idle_ns",
        "/lanes/0/allocated_bytes",
        "/lanes/0/nursery_use/mean",
        "/pauses/count",
        "/pauses/per_second",
        "/pauses/total_ns",
        "/pauses/time_to_stop_ns/count",
        "/pauses/time_to_stop_ns/sum",
        "/pauses/time_to_stop_ns/mean",
        "/pauses/collect_ns/min",
        "/pauses/collect_ns/p50",
        "/pauses/collect_ns/p90",
        "/pauses/release_ns/p99",
        "/pauses/release_ns/p999",
        "/pauses/release_ns/max",
        "/pauses/by_generation/0/generation",
        "/pauses/by_generation/0/count",
        "/pauses/by_generation/0/collect_ns",
        "/pauses/by_generation/0/copied_bytes",
        "/productivity/wall",
        "/productivity/runtime_view",
        "/mmu/0/window_ns",
        "/mmu/0/utilization",
        "/mmu/0/bounded",
        "/spectrum/0/from_ns",
        "/spectrum/0/count",
        "/nursery/bytes",
        "/concurrent",
        "/sparks",
        "/memory/rss_bytes/max",
        "/memory/heap_bytes/last",
        "/memory/blocks_bytes/mean",
        "/memory/live_bytes",
        "/memory/residency_bytes",
        "/stragglers/0/lane",
        "/stragglers/0/count",
        "/stragglers/0/sum_ns",
        "/causes/0/cause",
        "/causes/0/who",
        "/causes/0/sum_ns",
        "/causes/0/share",
        "/findings/0/id",
        "/findings/0/severity",
        "/findings/0/confidence",
        "/findings/0/claim",
        "/findings/0/cost_ns",
        "/findings/0/evidence",
        "/findings/0/remedies/0/text",
        "/findings/0/remedies/0/flag",
        "/findings/0/remedies/0/verify",
        "/losses",
    ] {
        assert!(value.pointer(pointer).is_some(), "{pointer} is gone");
    }
    let loss = &self::value("cut")["losses"][0];
    for key in ["source", "kind", "count", "from", "to"] {
        assert!(loss.get(key).is_some(), "losses[].{key} is gone");
    }
}

#[test]
fn what_is_not_known_is_null() {
    let value = value("kernel_only");
    for pointer in [
        "/runtime/family",
        "/pauses/count",
        "/pauses/time_to_stop_ns/count",
        "/pauses/collect_ns/sum",
        "/productivity/wall",
        "/productivity/runtime_view",
        "/memory/heap_bytes",
        "/allocation_bytes_per_second",
    ] {
        assert_eq!(value.pointer(pointer), Some(&Value::Null), "{pointer}");
    }
    for figure in ["sum", "p50", "max"] {
        let pointer = format!("/pauses/time_to_stop_ns/{figure}");
        assert_eq!(self::value("non_threaded").pointer(&pointer), Some(&Value::Null), "{pointer}");
    }
}

#[test]
fn a_figure_that_is_no_number_is_null() {
    let mut results = common::healthy().results;
    results.pauses.per_second = f64::NAN;
    let mut out = Vec::new();
    json::write(&results, &mut out).expect("writing to memory");
    let value: Value = serde_json::from_slice(&out).expect("JSON");
    assert_eq!(value["pauses"]["per_second"], Value::Null);
}

#[test]
fn a_pause_is_a_line() {
    let lines = lines("preempted");
    assert_eq!(lines.len(), 10);
    let first = &lines[0];
    assert_eq!(first["kind"], "minor");
    assert_eq!(first["quality"], "whole");
    assert_eq!(first["straggler"], 1);
    assert_eq!(first["causes"][1]["cause"], "preempted");
    assert_eq!(first["causes"][1]["who"], "yes");
    assert_eq!(first["causes"][1]["who_pid"], 4242);
    assert_eq!(first["causes"][0]["who"], Value::Null);
    let waited = first["stopped_ns"].as_u64().zip(first["requested_ns"].as_u64()).map(|(to, from)| to - from);
    let pieces = first["causes"].as_array().expect("causes");
    let blamed: u64 = pieces.iter().filter_map(|p| Some(p["to_ns"].as_u64()? - p["from_ns"].as_u64()?)).sum();
    assert_eq!(Some(blamed), waited, "parts sum to the whole");
    assert_eq!(self::lines("non_threaded")[0]["requested_ns"], Value::Null);
}

#[test]
fn a_full_disk_is_an_error_and_not_silence() {
    let mut full = std::fs::File::options().write(true).open("/dev/full").expect("it is there");
    let fixture = common::healthy();
    let error = json::write(&fixture.results, &mut full).expect_err("the disk is full");
    assert_eq!(error.kind(), std::io::ErrorKind::StorageFull);
    let drawing = &fixture.results.drawing;
    assert!(pauses_json::write(&mut full, &drawing.worst[0].blamed, &fixture.names, &drawing.symbols).is_err());
}
