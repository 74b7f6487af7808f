//! `large-objects`: buffers of which little is used are kept as a whole.
//!
//! Cost: bytes of large objects that are seen only through slices of them, less what the
//! slices show.

use super::super::{Facts, Family, Rule, Verdict, family};
use super::{Lasted, blind, frees, of_resident};
use crate::results::BlamedPause;
use rtscope_model::heap::Heap;
use rtscope_model::units::{bytes, count};
use rtscope_model::{Evidence, Names, Remedy};

/// Of the resident memory.
const SHARE_MIN: f64 = 0.1;

pub(in super::super) struct LargeObjects;

impl Rule for LargeObjects {
    fn id(&self) -> &'static str {
        "large-objects"
    }

    fn families(&self) -> &'static [Family] {
        family::GHC
    }

    fn blind(&self, facts: &Facts<'_>) -> Option<String> {
        blind(facts)
    }

    fn optional(&self) -> bool {
        true
    }

    fn check(&self, facts: &Facts<'_>) -> Option<Verdict> {
        let lasted = Lasted::of(facts, unseen_bytes).filter(|lasted| lasted.share() >= SHARE_MIN)?;
        Some(lasted.verdict(lasted.bytes, seen(&lasted), remedies()))
    }

    fn summary(&self, facts: &Facts<'_>, verdict: &Verdict) -> String {
        let Some(lasted) = Lasted::of(facts, unseen_bytes) else { return String::new() };
        let large = &lasted.heap.large;
        let by = large.holder.as_ref().map_or(String::new(), |name| format!(" held by `{name}`"));
        format!(
            "{} are large buffers kept for slices{by} that show {} of them.",
            of_resident(&lasted, verdict.cost_bytes()),
            bytes(large.shown_bytes)
        )
    }

    fn instance(&self, _: &BlamedPause, _: &Names) -> Option<String> {
        None
    }
}

/// Bytes of sliced buffers that no slice shows.
fn unseen_bytes(heap: &Heap) -> u64 {
    heap.large.sliced_bytes.saturating_sub(heap.large.shown_bytes)
}

fn seen(lasted: &Lasted<'_>) -> Vec<Evidence> {
    let large = &lasted.heap.large;
    vec![lasted.evidence(format!(
        "{} large objects with {}; {} of them, with {}, are seen only through slices, {} in all.",
        count(large.objects),
        bytes(large.bytes),
        count(large.sliced),
        bytes(large.sliced_bytes),
        bytes(large.shown_bytes)
    ))]
}

fn remedies() -> Vec<Remedy> {
    vec![frees(
        "Copy what is kept of a buffer (`Data.ByteString.copy`, `Data.Text.copy`), and let the buffer go.",
        None,
        "Record again: no large object is kept for a slice, and less is resident.",
    )]
}
