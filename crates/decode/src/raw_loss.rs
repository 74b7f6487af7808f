//! A loss as a decoder meets it: its stamps are the log's own, and its stream has no name yet.

use rtscope_model::{Loss, LossKind, Time};

/// See the module.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
pub(crate) struct RawLoss<Note = String> {
    pub kind: LossKind,
    pub count: u64,
    pub from: Option<u64>,
    pub to: Option<u64>,
    pub note: Note,
}

impl<Note: Clone + Into<String>> RawLoss<Note> {
    /// Both together, under the note of this one.
    pub fn and(self, other: &RawLoss<Note>) -> RawLoss<Note> {
        RawLoss {
            count: self.count.saturating_add(other.count),
            // No time means: from the start, to the end.
            from: self.from.zip(other.from).map(|(a, b)| a.min(b)),
            to: self.to.zip(other.to).map(|(a, b)| a.max(b)),
            ..self
        }
    }

    /// The loss of the stream `source`, whose stamps `time` converts.
    pub fn named(&self, source: &str, time: impl Fn(u64) -> Time) -> Loss {
        let (from, to) = (self.from.map(&time), self.to.map(&time));
        Loss { from, to, ..Loss::new(source, self.kind, self.count, self.note.clone()) }
    }
}
