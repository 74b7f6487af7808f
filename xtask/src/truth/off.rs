//! Leaves out a finding's rule: does the lost time still have a name? Owns which findings are tested.

use anyhow::Result;
use serde_json::Value;

/// Smallest share of the run for which something must be found without the rule.
const SHARE_MIN: f64 = 0.15;
/// Findings that name a part of the account themselves (`overhead`), a wait of threads that no lane
/// represents (`domain-lock`), or time that counts as explained, such as I/O (`blocked-output`,
/// `unbuffered-io`).
const NO_PART: [&str; 4] = ["overhead", "domain-lock", "blocked-output", "unbuffered-io"];

/// Whether a part of the account, or another rule, names the time if the rule of `report`'s first finding is
/// left out: `without` reports again. `None`: it costs memory or little time, or has no such part.
pub fn named(report: &Value, without: impl FnOnce(&str) -> Result<Value>) -> Result<Option<bool>> {
    let first = &report["findings"][0];
    let (share, id) = (first["share"].as_f64().unwrap_or(0.0), first["id"].as_str().unwrap_or_default());
    if share < SHARE_MIN || first["cost_ns"] == 0 || NO_PART.contains(&id) {
        return Ok(None);
    }
    let report = without(id)?;
    let mut left = report["findings"].as_array().map_or(&[][..], Vec::as_slice).iter();
    Ok(Some(left.any(|finding| finding["cost_ns"] != 0)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn asked(first: &Value, left: &Value) -> Option<bool> {
        named(&json!({"findings": [first]}), |_| Ok(json!({"findings": left}))).unwrap()
    }

    #[test]
    fn what_is_left_names_time_or_not() {
        let first = json!({"id": "stacks", "share": 0.3, "cost_ns": 9});
        assert_eq!(asked(&first, &json!([{"id": "collecting", "cost_ns": 8}])), Some(true));
        assert_eq!(asked(&first, &json!([{"id": "copy-reserve", "cost_ns": 0}])), Some(false), "memory is no time");
        assert_eq!(asked(&first, &json!([])), Some(false));
    }

    #[test]
    fn little_memory_and_what_has_no_part_have_no_answer() {
        for first in [
            json!({"id": "stacks", "share": 0.1, "cost_ns": 9}),
            json!({"id": "copy-reserve", "share": 0.5, "cost_ns": 0}),
            json!({"id": "overhead", "share": 0.5, "cost_ns": 9}),
        ] {
            assert_eq!(asked(&first, &json!([])), None, "{first}");
        }
    }
}
