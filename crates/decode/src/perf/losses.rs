//! What a stream did not hold. Owns keeping that bounded: hostile bytes can name
//! any number of losses.

use rtscope_model::{Loss, LossKind, Time};

/// Losses of one stream that are told apart; later ones widen the last of their kind.
const KEPT: usize = 256;

/// The losses of one stream.
#[derive(Clone, Debug)]
pub struct Losses {
    source: String,
    kept: Vec<Loss>,
}

impl Losses {
    /// None so far.
    pub fn new(source: &str) -> Losses {
        Losses { source: source.to_owned(), kept: Vec::new() }
    }

    pub fn add(&mut self, kind: LossKind, count: u64, from: Option<Time>, to: Option<Time>, note: &str) {
        if self.kept.len() >= KEPT
            && let Some(last) = self.kept.iter_mut().rev().find(|loss| loss.kind == kind)
        {
            last.count = last.count.saturating_add(count);
            // No time means: from the start, to the end.
            last.from = last.from.zip(from).map(|(a, b)| a.min(b));
            last.to = last.to.zip(to).map(|(a, b)| a.max(b));
            return;
        }
        self.kept.push(Loss { source: self.source.clone(), kind, count, from, to, note: note.to_owned() });
    }

    /// All of them, which are forgotten.
    pub fn take(&mut self) -> Vec<Loss> {
        std::mem::take(&mut self.kept)
    }

    pub fn all(&self) -> &[Loss] {
        &self.kept
    }
}
