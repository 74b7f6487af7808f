//! The table of thresholds in `docs/findings/README.md`, from the rules themselves.

use super::Rule;
use rtscope_model::units::{bytes, duration};
use std::fmt::Write as _;

/// One line for each rule, as Markdown; `whose` names the runtimes that have it.
pub fn table<'a>(rules: impl IntoIterator<Item = (&'a Rule, String)>) -> String {
    let mut table = "| id | of | from this share of the wall clock | needs | why |\n|---|---|---|---|---|\n".to_owned();
    for (rule, whose) in rules {
        let needs = rule.needs.map_or("", |need| need.name);
        let _ = writeln!(table, "| `{}` | {whose} | {} | {needs} | {} |", rule.id, threshold(rule), rule.why);
    }
    table
}

fn threshold(rule: &Rule) -> String {
    let mut text = format!("{:.0} %", rule.share_min * 100.0);
    if rule.bytes_min > 0 {
        let _ = write!(text, " of the resident memory, and {}", bytes(rule.bytes_min));
    }
    text += rule.also;
    if let Some(ns) = rule.long_ns {
        let _ = write!(text, ", or one of {}", duration(ns));
    }
    text
}
