//! A loss as found by a decoder: its stamps are on the log's clock, and its source has no name yet.

use rtscope_model::{Loss, LossKind, Time};

#[derive(Copy, Clone, Debug, Eq, PartialEq)]
pub(crate) struct RawLoss<Note = String> {
    pub kind: LossKind,
    pub count: u64,
    pub from: Option<u64>,
    pub to: Option<u64>,
    pub note: Note,
}

impl<Note: Clone + Into<String>> RawLoss<Note> {
    /// Both losses merged, with the note of this one.
    pub fn and(self, other: &RawLoss<Note>) -> RawLoss<Note> {
        RawLoss {
            count: self.count.saturating_add(other.count),
            // Without a time: from the start, or to the end.
            from: self.from.zip(other.from).map(|(a, b)| a.min(b)),
            to: self.to.zip(other.to).map(|(a, b)| a.max(b)),
            ..self
        }
    }

    /// The loss with the source name `source`, its stamps converted by `time`.
    pub fn named(&self, source: &str, time: impl Fn(u64) -> Time) -> Loss {
        let (from, to) = (self.from.map(&time), self.to.map(&time));
        Loss { from, to, ..Loss::new(source, self.kind, self.count, self.note.clone()) }
    }
}
