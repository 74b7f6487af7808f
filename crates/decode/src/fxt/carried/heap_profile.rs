//! Samples of a heap profiler: one counter per label, and marks around each sample.

use super::super::record::{EventKind, EventRecord, Value};
use super::super::shape::{FxtTrack, Shape};
use super::fields::{HEAP_PROFILE, is_instant, text};
use rtscope_model::{Breakdown, HeapProfile, Names};

const BY: &str = "by";
const BEGIN: &str = "sample-begin";
const END: &str = "sample-end";

/// The record that carries `profile`. A missing label has the empty name.
pub(super) fn shape<'a>(track: FxtTrack, profile: HeapProfile, names: &'a Names) -> Shape<'a> {
    let of = |kind, name| Shape::new(kind, track, HEAP_PROFILE, name);
    match profile {
        HeapProfile::By(breakdown) => {
            of(EventKind::Instant, BY).with("breakdown", Value::Text(breakdown.word().as_bytes()))
        }
        HeapProfile::Begin => of(EventKind::Instant, BEGIN),
        HeapProfile::Label { label, bytes } => {
            of(EventKind::Counter(0), label.map_or("", |label| names.get(label))).with("v", Value::U64(bytes))
        }
        HeapProfile::End => of(EventKind::Instant, END),
    }
}

/// The profile event that a record carries.
pub(super) fn read(record: &EventRecord<'_>, names: &mut Names) -> Option<HeapProfile> {
    if let EventKind::Counter(_) = record.kind {
        let label = (!record.name.is_empty()).then(|| names.intern(&text(record.name)));
        return Some(HeapProfile::Label { label, bytes: record.args.number("v")? });
    }
    let word = |name| if let Some(Value::Text(word)) = record.args.get(name) { Some(word) } else { None };
    Some(match record.name {
        _ if !is_instant(record) => return None,
        name if name == BY.as_bytes() => HeapProfile::By(Breakdown::of_word(word("breakdown")?)?),
        name if name == BEGIN.as_bytes() => HeapProfile::Begin,
        name if name == END.as_bytes() => HeapProfile::End,
        _ => return None,
    })
}
