//! What a whole pass over a log counted.

use crate::raw_loss::RawLoss;
use rtscope_model::{ClockMap, LogTime, Loss, LossKind};

/// Losses listed one by one; more of a kind are summed up.
const LISTED: usize = 64;

/// Counts of one pass. Complete once the stream has given `None`; covers every
/// record of the log, whatever classes were asked for.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tally {
    /// Records by tag, ascending, only those that occur. Block markers count.
    pub by_tag: Vec<(u16, u64)>,
    /// Bytes of all blocks read.
    pub bytes: u64,
    /// What was not seen.
    pub losses: Vec<Loss>,
}

impl Tally {
    /// Records of every tag.
    pub fn events(&self) -> u64 {
        self.by_tag.iter().map(|(_, count)| count).sum()
    }

    /// Records of `tag`.
    pub fn count(&self, tag: u16) -> u64 {
        self.by_tag.iter().find(|(of, _)| *of == tag).map_or(0, |(_, count)| *count)
    }
}

/// Collects losses; bounded, so that a log of nothing but damage stays small.
#[derive(Clone, Debug, Default)]
pub(super) struct Losses {
    listed: Vec<RawLoss>,
    beyond: Vec<(RawLoss, u64)>,
}

impl Losses {
    pub(super) fn push(&mut self, loss: RawLoss) {
        if self.listed.len() < LISTED {
            self.listed.push(loss);
            return;
        }
        match self.beyond.iter_mut().find(|(sum, _)| sum.kind == loss.kind) {
            None => self.beyond.push((loss, 1)),
            Some((sum, times)) => {
                *times += 1;
                *sum = sum.clone().and(&loss);
            }
        }
    }

    pub(super) fn has(&self, kind: LossKind) -> bool {
        self.listed.iter().chain(self.beyond.iter().map(|(sum, _)| sum)).any(|loss| loss.kind == kind)
    }

    pub(super) fn convert(&self, source: &str, clock: &ClockMap) -> Vec<Loss> {
        let time = |stamp: u64| clock.convert(LogTime(stamp));
        let listed = self.listed.iter().map(|loss| loss.named(source, time));
        let beyond = self.beyond.iter().map(|(sum, times)| {
            let note = format!("{times} further losses of this kind, the first of them: {}", sum.note);
            Loss { note, ..sum.named(source, time) }
        });
        listed.chain(beyond).collect()
    }
}
