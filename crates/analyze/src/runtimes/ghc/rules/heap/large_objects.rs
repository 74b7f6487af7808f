//! `large-objects`: buffers are retained as a whole although little of them is used.
//!
//! Cost: bytes of large objects that are visible only through slices, minus the bytes of the slices.

use super::{FIGURE, Lasted, frees, verdict};
use crate::findings::{Facts, Rule, Verdict};
use rtscope_model::units::{bytes, count};

pub static RULE: Rule = Rule {
    id: "large-objects",
    order: 210,
    share_min: 0.1,
    why: "less is what any program with byte strings has",
    check,
    ..FIGURE
};

fn check(facts: &Facts<'_>) -> Option<Verdict> {
    let lasted = &Lasted::of(facts, |heap| heap.large.sliced_bytes.saturating_sub(heap.large.shown_bytes))?;
    let large = &lasted.heap.large;
    let by = large.holder.as_ref().map_or(String::new(), |name| format!(" held by `{name}`"));
    let shown = bytes(large.shown_bytes);
    let seen = lasted.evidence(format!(
        "{} large objects with {}; {} of them, with {}, are seen only through slices, {shown} in all.",
        count(large.objects),
        bytes(large.bytes),
        count(large.sliced),
        bytes(large.sliced_bytes)
    ));
    let copy = frees(
        "Copy what is kept of a buffer (`Data.ByteString.copy`, `Data.Text.copy`), and let the buffer go.",
        "no large object is kept for a slice",
    );
    let rest = format!(" are large buffers kept for slices{by} that show {shown} of them.");
    Some(verdict(lasted, lasted.bytes, "", rest).seen([seen]).remedies([copy]))
}
