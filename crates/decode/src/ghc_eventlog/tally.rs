//! What a whole pass over a log counted.

use super::index::RawLoss;
use rtscope_model::{ClockMap, LaneId, LogTime, Loss, LossKind, Time};

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
    /// Lanes by number; the global buffer is not among them.
    pub lanes: Vec<LaneTally>,
    /// First stamp of the log.
    pub first: Option<Time>,
    /// Last stamp of the log.
    pub last: Option<Time>,
    /// What was not seen.
    pub losses: Vec<Loss>,
}

/// Counts of one lane.
#[derive(Copy, Clone, Debug, PartialEq)]
pub struct LaneTally {
    /// The lane.
    pub lane: LaneId,
    /// Time in which a green thread ran on it, nanoseconds (0 without class s).
    pub green_run_ns: u64,
    /// Opening of its first block.
    pub first: Time,
    /// Its last stamp.
    pub last: Time,
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
                sum.count = sum.count.saturating_add(loss.count);
                sum.from = sum.from.zip(loss.from).map(|(a, b)| a.min(b));
                sum.to = sum.to.zip(loss.to).map(|(a, b)| a.max(b));
            }
        }
    }

    pub(super) fn has(&self, kind: LossKind) -> bool {
        self.listed.iter().chain(self.beyond.iter().map(|(sum, _)| sum)).any(|loss| loss.kind == kind)
    }

    pub(super) fn convert(&self, source: &str, clock: &ClockMap) -> Vec<Loss> {
        let time = |stamp: u64| clock.convert(LogTime(stamp));
        let convert = |loss: &RawLoss, note: String| Loss {
            source: source.to_string(),
            kind: loss.kind,
            count: loss.count,
            from: loss.from.map(time),
            to: loss.to.map(time),
            note,
        };
        let listed = self.listed.iter().map(|loss| convert(loss, loss.note.clone()));
        let beyond = self.beyond.iter().map(|(sum, times)| {
            convert(sum, format!("{times} further losses of this kind, the first of them: {}", sum.note))
        });
        listed.chain(beyond).collect()
    }
}
