//! Counts of a whole pass over a log.

use crate::raw_loss::RawLoss;
use rtscope_model::{ClockMap, LogTime, Loss, LossKind};

/// Limit of losses listed individually; further ones of a kind are summed up.
const LISTED: usize = 64;

/// Counts of one pass. Complete once the stream has returned `None`; covers every record of the log, whatever
/// classes were requested.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tally {
    /// Records by tag, ascending; only tags that occur. Block markers count.
    pub by_tag: Vec<(u16, u64)>,
    /// Bytes of all blocks read.
    pub bytes: u64,
    /// Losses of the pass.
    pub losses: Vec<Loss>,
}

impl Tally {
    /// Number of records of all tags.
    pub fn events(&self) -> u64 {
        self.by_tag.iter().map(|(_, count)| count).sum()
    }

    /// Number of records of `tag`.
    pub fn count(&self, tag: u16) -> u64 {
        self.by_tag.iter().find(|(of, _)| *of == tag).map_or(0, |(_, count)| *count)
    }
}

/// Collects losses; bounded, so that a log that consists of damage takes little memory.
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
