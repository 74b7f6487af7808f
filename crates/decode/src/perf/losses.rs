//! The losses of a stream. Owns keeping them bounded: hostile bytes can name any number of losses.

use rtscope_model::{Loss, LossKind, Time};

/// Limit of separate losses of a stream; later ones extend the last of their kind.
const KEPT: usize = 256;

/// The losses of one stream.
#[derive(Clone, Debug)]
pub struct Losses {
    source: String,
    kept: Vec<Loss>,
}

impl Losses {
    /// No losses so far.
    pub fn new(source: &str) -> Losses {
        Losses { source: source.to_owned(), kept: Vec::new() }
    }

    pub fn add(&mut self, kind: LossKind, count: u64, from: Option<Time>, to: Option<Time>, note: &str) {
        if self.kept.len() >= KEPT
            && let Some(last) = self.kept.iter_mut().rev().find(|loss| loss.kind == kind)
        {
            last.count = last.count.saturating_add(count);
            // Without a time: from the start, or to the end.
            last.from = last.from.zip(from).map(|(a, b)| a.min(b));
            last.to = last.to.zip(to).map(|(a, b)| a.max(b));
            return;
        }
        self.kept.push(Loss { source: self.source.clone(), kind, count, from, to, note: note.to_owned() });
    }

    /// Returns all losses and removes them.
    pub fn take(&mut self) -> Vec<Loss> {
        std::mem::take(&mut self.kept)
    }

    pub fn all(&self) -> &[Loss] {
        &self.kept
    }
}
