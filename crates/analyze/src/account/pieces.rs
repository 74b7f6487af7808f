//! What each lane's time counts as over time, for observers that draw it. Owns that adjacent stretches of one part are
//! one piece; refuses to keep pieces that were handed out.

use super::part::AccountPart;
use crate::basis::compose::Segment;
use rtscope_model::LaneId;
use std::collections::BTreeMap;

/// Receives pieces of lanes; those of one lane come in order.
pub type OnPart<'a> = &'a mut dyn FnMut(LaneId, &Segment<AccountPart>);

#[derive(Default)]
pub(super) struct Pieces {
    open: BTreeMap<LaneId, Segment<AccountPart>>,
    closed: Vec<(LaneId, Segment<AccountPart>)>,
}

impl Pieces {
    /// A lane was in a part; later than what was added of this lane before.
    pub fn add(&mut self, lane: LaneId, piece: Segment<AccountPart>) {
        let open = self.open.entry(lane).or_insert(piece);
        if (open.state, open.to) == (piece.state, piece.from) {
            open.to = piece.to;
        } else if *open != piece {
            self.closed.push((lane, std::mem::replace(open, piece)));
        }
    }

    /// No more pieces follow.
    pub fn close(&mut self) {
        self.closed.extend(std::mem::take(&mut self.open));
    }

    /// Hands out the pieces that no later one can extend.
    pub fn take(&mut self, each: OnPart<'_>) {
        self.closed.drain(..).for_each(|(lane, piece)| each(lane, &piece));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rtscope_model::Time;

    #[test]
    fn stretches_of_one_part_are_one_piece() {
        let mut pieces = Pieces::default();
        let piece = |from, to, state| Segment { from: Time(from), to: Time(to), state };
        for (from, to, state) in [
            (0, 5, AccountPart::Program),
            (5, 7, AccountPart::Program),
            (7, 9, AccountPart::Idle),
            (12, 15, AccountPart::Idle),
        ] {
            pieces.add(LaneId(1), piece(from, to, state));
        }
        let taken = |pieces: &mut Pieces| {
            let mut all = Vec::new();
            pieces.take(&mut |_, piece| all.push(*piece));
            all
        };
        let before = [piece(0, 7, AccountPart::Program), piece(7, 9, AccountPart::Idle)];
        assert_eq!(taken(&mut pieces), before);
        pieces.close();
        assert_eq!(taken(&mut pieces), [piece(12, 15, AccountPart::Idle)]);
    }
}
