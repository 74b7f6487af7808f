//! The capture on disk, held by descriptor, and its redaction for strangers. Refuses to know what is recorded.

pub mod folder;
pub mod redact;
pub mod store;

use rtscope_model::{Loss, LossKind};

/// A loss whose begin is not known.
pub(crate) fn loss(source: &str, kind: LossKind, count: u64, note: impl Into<String>) -> Loss {
    Loss { source: source.to_owned(), kind, count, from: None, to: None, note: note.into() }
}
