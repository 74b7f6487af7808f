//! The activity of a lane, in runtime-neutral terms. Owns the list of states, their names and roles; refuses to
//! decide when one begins.

use rtscope_decode::fxt::carried;
use rtscope_model::{GreenThread, LaneState, NameId, Names, Phase};
use std::borrow::Cow;

/// A state of a track. States nest: the innermost is the current activity, the enclosing ones show what it is part of.
#[derive(Copy, Clone, Eq, PartialEq, Hash, Debug)]
pub enum State {
    /// A green thread of the program runs.
    Program(GreenThread),
    /// Not in a collection: the program or idle, where the log does not distinguish them.
    Outside,
    /// A lane's state, outside a collection or in its part of one.
    Lane(LaneState),
    /// The lane's part in a collection that it leads.
    Leads,
    /// The lane's part in a collection that another lane leads; where nothing is nested inside, it waits for others.
    Follows,
    /// A concurrent collector marks.
    Marking,
    /// All lanes are stopped for the concurrent collector.
    MarkSync,
    /// The concurrent collector sweeps.
    Sweeping,
    /// A phase with a name of the runtime.
    Phase(Phase),
    /// A span that the program posts; the name is in the runtime stream's table.
    User(NameId),
}

/// Limit of the numbers of fixed states, see [`State::number`].
pub const FIXED: u64 = 64;
const PHASES: u64 = FIXED;
const NAMES: u64 = 1 << 20;

impl State {
    /// Every state with a fixed name.
    #[cfg(test)]
    const ALL: [State; 16] = [
        State::Program(GreenThread(0)),
        State::Outside,
        State::Lane(LaneState::WaitingToLead),
        State::Leads,
        State::Follows,
        State::Lane(LaneState::WaitingToStop),
        State::Lane(LaneState::Collecting),
        State::Lane(LaneState::Asked),
        State::Lane(LaneState::Release),
        State::Lane(LaneState::Slice),
        State::Marking,
        State::MarkSync,
        State::Sweeping,
        State::Phase(Phase::Interrupt),
        State::Phase(Phase::Explicit),
        State::Phase(Phase::Finalise),
    ];

    /// A number for the name; from 1 to below [`FIXED`] for fixed names.
    pub fn number(self) -> u64 {
        match self {
            State::Program(_) => 1,
            State::Outside => 2,
            State::Lane(LaneState::WaitingToLead) => 3,
            State::Leads => 4,
            State::Follows => 5,
            State::Lane(LaneState::WaitingToStop) => 6,
            State::Lane(state) if state.collects() => 7,
            State::Lane(LaneState::Slice) => 12,
            State::Marking => 14,
            State::MarkSync => 15,
            State::Sweeping => 16,
            State::Phase(Phase::Interrupt) => 17,
            State::Phase(Phase::Explicit) => 18,
            State::Phase(Phase::Finalise) => 19,
            State::Lane(LaneState::Release) => 20,
            State::Lane(state) => 32 + u64::from(state.number()),
            State::Phase(Phase::Detail(number)) => PHASES + 1 + u64::from(number),
            State::Phase(_) => PHASES,
            State::User(name) => NAMES + u64::from(name.0),
        }
    }

    /// Its name; `user` is the table for [`State::User`].
    pub fn name(self, user: &Names) -> Cow<'_, str> {
        Cow::Borrowed(match self {
            State::Program(_) => "program",
            State::Outside => "outside collections",
            State::Lane(state) => state.short_name(),
            State::Leads => "collection, leading",
            State::Follows => "collection",
            State::Marking => "concurrent mark",
            State::MarkSync => "concurrent mark, stop",
            State::Sweeping => "concurrent sweep",
            State::Phase(Phase::Interrupt) => "interrupt",
            State::Phase(Phase::Explicit) => "asked for by the program",
            State::Phase(Phase::Finalise) => "finalisers",
            State::Phase(phase) => return carried::phase_name(phase),
            State::User(name) => user.get(name),
        })
    }

    pub fn green(self) -> Option<GreenThread> {
        match self {
            State::Program(green) => Some(green),
            _ => None,
        }
    }

    /// The role of the lane's time while this is the innermost state, in one word.
    pub fn role(self) -> &'static str {
        ROLES.get(self.role_number()).copied().unwrap_or_default()
    }

    /// The index of the role in [`ROLES`].
    pub fn role_number(self) -> usize {
        match self {
            State::Program(_) | State::User(_) => 0,
            State::Outside => 1,
            State::Lane(LaneState::WaitingToLead) => 2,
            State::Lane(LaneState::WaitingToStop | LaneState::Asked) => 3,
            State::Lane(state) if state.collects() => 4,
            State::Leads | State::Follows => 5,
            State::Lane(LaneState::Slice) => 6,
            State::Lane(LaneState::Release) => 10,
            State::Lane(_) => 1,
            State::Marking | State::MarkSync | State::Sweeping => 8,
            State::Phase(_) => 9,
        }
    }
}

/// The roles of a lane's time.
pub const ROLES: [&str; 11] = [
    "program",
    "outside",
    "waiting-to-lead",
    "waiting-to-stop",
    "collecting",
    "waiting-for-others",
    "slice",
    "asleep",
    "concurrent",
    "runtime",
    "release",
];

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn states_have_numbers_and_names_of_their_own() {
        let user = Names::default();
        assert!(State::ALL.iter().all(|state| !state.role().is_empty()));
        let numbers: HashSet<u64> = State::ALL.iter().map(|state| state.number()).collect();
        let names: HashSet<_> = State::ALL.iter().map(|state| state.name(&user).into_owned()).collect();
        assert_eq!((numbers.len(), names.len()), (State::ALL.len(), State::ALL.len()));
        assert!(numbers.iter().all(|number| (1..FIXED).contains(number)));
        let others = [State::Phase(Phase::Detail(0)), State::Phase(Phase::Detail(u16::MAX)), State::User(NameId(0))];
        let others: HashSet<u64> = others.iter().map(|state| state.number()).collect();
        assert!(others.len() == 3 && others.iter().all(|number| *number > FIXED), "{others:?}");
        assert_eq!(State::Phase(Phase::Detail(999)).name(&user), "phase 999");
    }
}
