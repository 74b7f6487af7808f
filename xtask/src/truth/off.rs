//! A finding whose rule is left out: whether what it cost has a name still. Owns which findings this is asked of.

use anyhow::Result;
use serde_json::Value;

/// From this share of the run on something has to be found without the rule.
const SHARE_MIN: f64 = 0.15;
/// These name a part of the account themselves (`overhead`), what threads wait for that no lane stands for
/// (`domain-lock`), or what counts as explained, which input and output do (`blocked-output`, `unbuffered-io`).
const NO_PART: [&str; 4] = ["overhead", "domain-lock", "blocked-output", "unbuffered-io"];

/// Whether a part of the account, or another rule, names time where the rule of `report`'s first finding is left out:
/// `without` reports once more. `None`: it costs memory, little, or is one of those that have no part.
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
    fn little_memory_and_what_has_no_part_are_not_asked() {
        for first in [
            json!({"id": "stacks", "share": 0.1, "cost_ns": 9}),
            json!({"id": "copy-reserve", "share": 0.5, "cost_ns": 0}),
            json!({"id": "overhead", "share": 0.5, "cost_ns": 9}),
        ] {
            assert_eq!(asked(&first, &json!([])), None, "{first}");
        }
    }
}
