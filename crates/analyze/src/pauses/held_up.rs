//! What held a pause up: the one answer that text, JSON, page and view share.
//!
//! Owns the choice among a pause's waits. The work of the collection itself holds nothing up.

use crate::results::{BlamedPause, HeldUp};
use rtscope_model::CausePiece;

impl BlamedPause {
    /// What it waited for longest; `None` if it waited for nothing. Pieces with the same lane, thread and cause count
    /// together; of two equally long ones the first wins.
    pub fn held_up_by(&self) -> Option<HeldUp> {
        let key = |piece: &CausePiece| (piece.lane, piece.tid, piece.cause, piece.who);
        let mut sums: Vec<(&CausePiece, u64)> = Vec::new();
        for piece in &self.causes {
            match sums.iter_mut().find(|(longest, _)| key(longest) == key(piece)) {
                Some((longest, ns)) => {
                    *ns += piece.ns();
                    if longest.ns() < piece.ns() {
                        *longest = piece;
                    }
                }
                None => sums.push((piece, piece.ns())),
            }
        }
        let (longest, ns) = sums.into_iter().rev().max_by_key(|sum| sum.1)?;
        let CausePiece { lane, tid, cause, who, code, .. } = *longest;
        Some(HeldUp { lane, tid, cause, who, code, ns })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rtscope_model::{Cause, Confidence, LaneId, Tid, Time};

    fn piece(lane: u16, cause: Cause, from: u64, to: u64) -> CausePiece {
        CausePiece {
            cause,
            lane: Some(LaneId(lane)),
            tid: Some(Tid(10 + u32::from(lane))),
            who: None,
            who_pid: None,
            code: None,
            neighbour: false,
            from: Time(from),
            to: Time(to),
            confidence: Confidence::High,
        }
    }

    #[test]
    fn the_longest_of_all_waits_is_named_whichever_lane_stopped_last() {
        let mut blamed = BlamedPause { pause: Default::default(), causes: Vec::new(), kept_ns: None };
        assert_eq!(blamed.held_up_by(), None);
        blamed.pause.straggler = Some(LaneId(1));
        blamed.causes = vec![
            piece(1, Cause::Running, 0, 281),
            piece(0, Cause::Throttled, 281, 20_000),
            piece(1, Cause::WakeLatency, 50_000, 70_000),
            piece(0, Cause::Throttled, 70_000, 80_000),
        ];
        let held = blamed.held_up_by().unwrap();
        assert_eq!((held.lane, held.cause, held.ns), (Some(LaneId(0)), Cause::Throttled, 29_719));
    }

    #[test]
    fn what_is_not_known_is_reported_as_such() {
        let causes = vec![CausePiece { lane: None, tid: None, ..piece(0, Cause::Unknown, 0, 5) }];
        let held = BlamedPause { pause: Default::default(), causes, kept_ns: None }.held_up_by().unwrap();
        assert_eq!((held.lane, held.tid, held.cause, held.ns), (None, None, Cause::Unknown, 5));
    }
}
