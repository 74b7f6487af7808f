//! What all carried events share: their categories, and how their arguments are read.

use super::super::record::{Args, EventKind, EventRecord};
use std::borrow::Cow;

/// Category of the phases and figures of collections.
pub const GC: &str = "gc";

/// Category of heap profiles.
pub const HEAP_PROFILE: &str = "heap-profile";

/// Category of events that only rtscope uses.
pub const OWN: &str = "rtscope";

/// Category of pauses and causes: derived from events, not read back.
pub const DERIVED: &str = "rtscope.pause";

/// Name of a gap in a lane's events.
pub const GAP: &str = "rtscope.gap";

/// An argument as a number, if it fits the type.
pub(super) fn fitting<T: TryFrom<u64>>(args: &Args<'_>, name: &str) -> Option<T> {
    T::try_from(args.number(name)?).ok()
}

pub(super) fn text(bytes: &[u8]) -> Cow<'_, str> {
    String::from_utf8_lossy(bytes)
}

pub(super) fn is_instant(record: &EventRecord<'_>) -> bool {
    record.kind == EventKind::Instant
}
