//! `large-objects`: buffers of which little is used are kept as a whole.
//!
//! Cost: bytes of large objects that are seen only through slices of them, less what the
//! slices show.

use super::{Figure, Lasted, frees, of_resident};
use rtscope_model::heap::Heap;
use rtscope_model::units::{bytes, count};
use rtscope_model::{Evidence, Remedy};

pub(in super::super) struct LargeObjects;

impl Figure for LargeObjects {
    const ID: &'static str = "large-objects";
    const SHARE_MIN: f64 = 0.1;

    fn bytes(heap: &Heap) -> u64 {
        unseen_bytes(heap)
    }

    fn claim(lasted: &Lasted<'_>, cost: u64) -> String {
        let large = &lasted.heap.large;
        let by = large.holder.as_ref().map_or(String::new(), |name| format!(" held by `{name}`"));
        format!(
            "{} are large buffers kept for slices{by} that show {} of them.",
            of_resident(lasted, cost),
            bytes(large.shown_bytes)
        )
    }

    fn seen(lasted: &Lasted<'_>, _: u64) -> Vec<Evidence> {
        seen(lasted)
    }

    fn remedies(_: &Lasted<'_>) -> Vec<Remedy> {
        remedies()
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
