//! What a lane is doing: the states, with their numbers, words and roles, which the report's page, the
//! viewer and the exports share. Owns this one table; refuses to decide when a state begins, and colours,
//! which follow from the role.

/// What a lane does.
#[derive(Copy, Clone, Eq, PartialEq, Ord, PartialOrd, Hash, Debug)]
pub enum LaneState {
    /// The program; where runs of green threads are not posted, also nothing.
    Program,
    /// Nothing to run.
    Idle,
    /// It was asked to stop, has not yet, and is the last: the world waits for it.
    WaitingToStop,
    /// It wants to collect and another one leads.
    WaitingToLead,
    /// It collects young data only.
    CollectingMinor,
    /// It collects everything.
    CollectingMajor,
    /// It collects; the kind is unknown, or the heap is compacted or laid out anew.
    Collecting,
    /// It stands still: others have not stopped or collect.
    WaitingForOthers,
    /// It works on the old heap while others run the program.
    Slice,
    /// The work is done and it is not back yet.
    Release,
    /// It was asked to stop and has not yet; another one takes longer.
    Asked,
    /// Its events were lost.
    Gap,
}

/// A state's number in tiles, its name, its name where all collections look alike, its role.
type Row = (LaneState, u16, &'static str, &'static str, &'static str);

#[rustfmt::skip]
const TABLE: [Row; 12] = [
    (LaneState::Program, 1, "program", "program", "program"),
    (LaneState::Idle, 2, "idle", "idle", "idle"),
    (LaneState::WaitingToStop, 3, "waiting to stop", "waiting to stop", "waiting-to-stop"),
    (LaneState::WaitingToLead, 4, "waiting to lead", "waiting to lead", "waiting-to-lead"),
    (LaneState::CollectingMinor, 5, "collecting, minor", "collecting", "collecting"),
    (LaneState::CollectingMajor, 6, "collecting, major", "collecting", "collecting-major"),
    (LaneState::Collecting, 20, "collecting (its kind is not known, or the heap is laid out anew)", "collecting", "collecting"),
    (LaneState::WaitingForOthers, 7, "waiting for others", "waiting for others", "waiting-for-others"),
    (LaneState::Slice, 8, "slice of the old heap", "major slice", "slice"),
    (LaneState::Release, 9, "getting back to work", "release", "release"),
    (LaneState::Asked, 10, "asked to stop", "asked to stop", "request"),
    (LaneState::Gap, 19, "events were lost", "events were lost", "gap"),
];

impl LaneState {
    /// All of them.
    pub fn all() -> impl Iterator<Item = LaneState> {
        TABLE.iter().map(|row| row.0)
    }

    /// The states that stand for all where what a lane did is summed up, in the order in which they are stacked.
    pub const SUMMED: [LaneState; 8] = [
        LaneState::Program,
        LaneState::Slice,
        LaneState::CollectingMinor,
        LaneState::WaitingForOthers,
        LaneState::Asked,
        LaneState::Release,
        LaneState::Idle,
        LaneState::Gap,
    ];

    /// The one of [`LaneState::SUMMED`] that it counts as.
    pub fn summed(self) -> LaneState {
        match self {
            LaneState::CollectingMajor | LaneState::Collecting => LaneState::CollectingMinor,
            LaneState::WaitingToLead => LaneState::WaitingForOthers,
            LaneState::WaitingToStop => LaneState::Asked,
            other => other,
        }
    }

    /// Whether it collects.
    pub fn collects(self) -> bool {
        self.summed() == LaneState::CollectingMinor
    }

    fn row(self) -> &'static Row {
        TABLE.iter().find(|row| row.0 == self).unwrap_or(&TABLE[0])
    }

    /// The state with this number in tiles.
    pub fn of_number(number: u16) -> Option<LaneState> {
        TABLE.iter().find(|row| row.1 == number).map(|row| row.0)
    }

    /// Its number in tiles.
    pub fn number(self) -> u16 {
        self.row().1
    }

    /// What people call it.
    pub fn name(self) -> &'static str {
        self.row().2
    }

    /// The same where all collections look alike.
    pub fn short_name(self) -> &'static str {
        self.row().3
    }

    /// What it is drawn as: a colour of the palette.
    pub fn role(self) -> &'static str {
        self.row().4
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn numbers_and_names_are_unique_and_each_state_counts_as_one_that_is_stacked() {
        let numbers: BTreeSet<u16> = LaneState::all().map(LaneState::number).collect();
        let names: BTreeSet<&str> = LaneState::all().map(LaneState::name).collect();
        assert_eq!((numbers.len(), names.len()), (TABLE.len(), TABLE.len()));
        for state in LaneState::all() {
            assert_eq!(LaneState::of_number(state.number()), Some(state));
            assert!(LaneState::SUMMED.contains(&state.summed()) && !state.role().is_empty());
        }
    }
}
