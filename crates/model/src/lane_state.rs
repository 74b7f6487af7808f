//! The states of a lane, with the numbers, names and roles that the report's page, the viewer and the exports share.
//! Owns this one table; refuses to decide when a state begins, and colours, which follow from the role.

/// The activity of a lane.
#[derive(Copy, Clone, Eq, PartialEq, Ord, PartialOrd, Hash, Debug)]
pub enum LaneState {
    /// Runs the program; if runs of green threads are not posted, perhaps idle.
    Program,
    /// Has nothing to run.
    Idle,
    /// Was requested to stop, has not stopped yet, and is the last: all others wait for it.
    WaitingToStop,
    /// Wants to collect, but another lane leads.
    WaitingToLead,
    /// Collects young data only.
    CollectingMinor,
    /// Collects everything.
    CollectingMajor,
    /// Collects; the kind is unknown, or the heap is compacted or laid out anew.
    Collecting,
    /// Is stopped while other lanes have not stopped yet or collect.
    WaitingForOthers,
    /// Works on the old heap while other lanes run the program.
    Slice,
    /// The collection is done, but the lane has not resumed.
    Release,
    /// Was requested to stop and has not stopped yet; another lane takes longer.
    Asked,
    /// Events of the lane were lost.
    Gap,
}

/// A state, its number in tiles, its name, its name where kinds of collections are not distinguished, its role.
type StateRow = (LaneState, u16, &'static str, &'static str, &'static str);

#[rustfmt::skip]
const TABLE: [StateRow; 12] = [
    (LaneState::Program, 1, "program", "program", "program"),
    (LaneState::Idle, 2, "idle", "idle", "idle"),
    (LaneState::WaitingToStop, 3, "waiting to stop", "waiting to stop", "waiting-to-stop"),
    (LaneState::WaitingToLead, 4, "waiting to lead", "waiting to lead", "waiting-to-lead"),
    (LaneState::CollectingMinor, 5, "collecting, minor", "collecting", "collecting"),
    (LaneState::CollectingMajor, 6, "collecting, major", "collecting", "collecting-major"),
    (LaneState::Collecting, 20, "collecting (kind unknown, or heap resize)", "collecting", "collecting"),
    (LaneState::WaitingForOthers, 7, "waiting for others", "waiting for others", "waiting-for-others"),
    (LaneState::Slice, 8, "slice of the old heap", "major slice", "slice"),
    (LaneState::Release, 9, "restarting", "release", "release"),
    (LaneState::Asked, 10, "asked to stop", "asked to stop", "request"),
    (LaneState::Gap, 19, "events were lost", "events were lost", "gap"),
];

impl LaneState {
    /// All states.
    pub fn all() -> impl Iterator<Item = LaneState> {
        TABLE.iter().map(|row| row.0)
    }

    /// Whether the lane collects in this state.
    pub fn collects(self) -> bool {
        matches!(self, LaneState::Collecting | LaneState::CollectingMinor | LaneState::CollectingMajor)
    }

    fn row(self) -> &'static StateRow {
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

    /// Its name for display.
    pub fn name(self) -> &'static str {
        self.row().2
    }

    /// Its name where kinds of collections are not distinguished.
    pub fn short_name(self) -> &'static str {
        self.row().3
    }

    /// Its role in a drawing, which selects a colour of the palette.
    pub fn role(self) -> &'static str {
        self.row().4
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn numbers_and_names_are_unique_and_each_state_has_a_role() {
        let numbers: BTreeSet<u16> = LaneState::all().map(LaneState::number).collect();
        let names: BTreeSet<&str> = LaneState::all().map(LaneState::name).collect();
        assert_eq!((numbers.len(), names.len()), (TABLE.len(), TABLE.len()));
        for state in LaneState::all() {
            assert_eq!(LaneState::of_number(state.number()), Some(state));
            assert!(!state.role().is_empty());
        }
    }
}
