//! A property of every account, whatever was recorded: its parts sum up, to the nanosecond.

use serde_json::Value;
use std::collections::BTreeSet;

/// Asserts that the accounts of a `report --json` sum up on every level, per lane and in total, and
/// returns the unknown share of lane time.
pub fn sums_up(report: &Value) -> f64 {
    let slowest = &report["slowest_pauses"]["account"];
    if !slowest.is_null() {
        one_sums_up(slowest);
        for key in ["lanes_ns", "wall_ns"] {
            assert!(ns(&slowest[key]) <= ns(&report["account"][key]), "{slowest:#}");
        }
    }
    one_sums_up(&report["account"])
}

fn one_sums_up(account: &Value) -> f64 {
    let all = ns(&account["lanes_ns"]);
    divided(&account["parts"], all, "account");
    let lanes = account["lanes"].as_array().expect("lanes of an account");
    for lane in lanes {
        divided(&lane["parts"], ns(&lane["ns"]), &format!("lane {}", lane["lane"]));
    }
    assert_eq!(lanes.iter().map(|lane| ns(&lane["ns"])).sum::<u64>(), all, "{account:#}");
    let parts = account["parts"].as_array().unwrap();
    let unknown = parts.iter().find(|part| part["id"] == "not-known").map_or(0, |part| ns(&part["ns"]));
    for part in parts {
        assert!(ns(&part["wall_ns"]) <= ns(&account["wall_ns"]), "{part:#}");
    }
    unknown as f64 / all.max(1) as f64
}

fn ns(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("no nanoseconds: {value}"))
}

/// Asserts that the parts sum up to the whole, that each has its own id, and the same of subdivided parts.
fn divided(parts: &Value, whole: u64, what: &str) {
    let parts = parts.as_array().unwrap_or_else(|| panic!("no parts of {what}"));
    assert_eq!(parts.iter().map(|part| ns(&part["ns"])).sum::<u64>(), whole, "parts of {what}: {parts:#?}");
    let ids: BTreeSet<_> = parts.iter().map(|part| part["id"].as_str()).collect();
    assert_eq!(ids.len(), parts.len(), "parts of {what}: {parts:#?}");
    for part in parts.iter().filter(|part| part["parts"].as_array().is_some_and(|parts| !parts.is_empty())) {
        divided(&part["parts"], ns(&part["ns"]), part["id"].as_str().unwrap());
    }
}
