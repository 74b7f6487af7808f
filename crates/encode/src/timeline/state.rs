//! What a lane is doing, in words that know no runtime. Owns the list of states, their
//! names and what they count as; refuses to decide when one begins.

use rtscope_decode::fxt::carried;
use rtscope_model::{GreenThread, NameId, Names, Phase};
use std::borrow::Cow;

/// A state of a track. States nest: the innermost is what the lane is doing, those around
/// it say as part of what.
#[derive(Copy, Clone, Eq, PartialEq, Hash, Debug)]
pub enum State {
    /// A green thread of the program runs.
    Program(GreenThread),
    /// Not in a collection: the program, or nothing, where the log does not tell which.
    Outside,
    /// The lane wants to lead a collection.
    WantsToLead,
    /// Its part in a collection that it leads.
    Leads,
    /// Its part in a collection that another lane leads. By itself: waiting for others.
    Follows,
    /// It has stopped, or has asked the others to: until all have.
    WaitingToStop,
    /// It collects.
    Collecting(Work),
    /// It has collected and waits for the others to have.
    WaitingForOthers,
    /// The work is done and it is not back yet.
    Release,
    /// It works on the old heap while others run the program.
    Slice,
    /// Its thread waits on a condition.
    Asleep,
    /// A concurrent collector marks.
    Marking,
    /// All lanes are stopped for it.
    MarkSync,
    /// It sweeps.
    Sweeping,
    /// A phase with the runtime's own name.
    Phase(Phase),
    /// A span that the program posts; the name is of the runtime stream's table.
    User(NameId),
}

/// What is collected, where the runtime posts that before it begins.
#[derive(Copy, Clone, Eq, PartialEq, Hash, Debug)]
pub enum Work {
    /// Not told.
    Any,
    /// A young heap.
    Young,
    /// The end of a cycle of the old heap.
    CycleEnd,
    /// The heap is compacted.
    Compaction,
}

/// Numbers below are those of fixed states, see [`State::number`].
pub const FIXED: u64 = 64;
const PHASES: u64 = FIXED;
const NAMES: u64 = 1 << 20;

impl State {
    /// Every state whose name is always the same.
    pub const ALL: [State; 20] = [
        State::Program(GreenThread(0)),
        State::Outside,
        State::WantsToLead,
        State::Leads,
        State::Follows,
        State::WaitingToStop,
        State::Collecting(Work::Any),
        State::Collecting(Work::Young),
        State::Collecting(Work::CycleEnd),
        State::Collecting(Work::Compaction),
        State::WaitingForOthers,
        State::Release,
        State::Slice,
        State::Asleep,
        State::Marking,
        State::MarkSync,
        State::Sweeping,
        State::Phase(Phase::Interrupt),
        State::Phase(Phase::Explicit),
        State::Phase(Phase::Finalise),
    ];

    /// A number for the name: below [`FIXED`] for [`State::ALL`], from 1 on.
    pub fn number(self) -> u64 {
        match self {
            State::Program(_) => 1,
            State::Outside => 2,
            State::WantsToLead => 3,
            State::Leads => 4,
            State::Follows => 5,
            State::WaitingToStop => 6,
            State::Collecting(Work::Any) => 7,
            State::Collecting(Work::Young) => 8,
            State::Collecting(Work::CycleEnd) => 9,
            State::Collecting(Work::Compaction) => 10,
            State::WaitingForOthers => 11,
            State::Slice => 12,
            State::Asleep => 13,
            State::Marking => 14,
            State::MarkSync => 15,
            State::Sweeping => 16,
            State::Phase(Phase::Interrupt) => 17,
            State::Phase(Phase::Explicit) => 18,
            State::Phase(Phase::Finalise) => 19,
            State::Release => 20,
            State::Phase(Phase::Detail(number)) => PHASES + 1 + u64::from(number),
            State::Phase(_) => PHASES,
            State::User(name) => NAMES + u64::from(name.0),
        }
    }

    /// Its name; `user` is the table of [`State::User`].
    pub fn name(self, user: &Names) -> Cow<'_, str> {
        Cow::Borrowed(match self {
            State::Program(_) => "program",
            State::Outside => "outside collections",
            State::WantsToLead => "waiting to lead",
            State::Leads => "collection, leading",
            State::Follows => "collection",
            State::WaitingToStop => "waiting to stop",
            State::Collecting(Work::Any) => "collecting",
            State::Collecting(Work::Young) => "collecting, young heap",
            State::Collecting(Work::CycleEnd) => "collecting, end of cycle",
            State::Collecting(Work::Compaction) => "compacting",
            State::WaitingForOthers => "waiting for others",
            State::Release => "release",
            State::Slice => "major slice",
            State::Asleep => "asleep",
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

    /// The green thread that it is about.
    pub fn green(self) -> Option<GreenThread> {
        match self {
            State::Program(green) => Some(green),
            _ => None,
        }
    }

    /// One word for what the lane's time counts as while this is the innermost state.
    pub fn role(self) -> &'static str {
        ROLES.get(self.role_number()).copied().unwrap_or_default()
    }

    /// The place of that word in [`ROLES`].
    pub fn role_number(self) -> usize {
        match self {
            State::Program(_) | State::User(_) => 0,
            State::Outside => 1,
            State::WantsToLead => 2,
            State::WaitingToStop => 3,
            State::Collecting(_) => 4,
            State::Leads | State::Follows | State::WaitingForOthers => 5,
            State::Slice => 6,
            State::Asleep => 7,
            State::Marking | State::MarkSync | State::Sweeping => 8,
            State::Phase(_) => 9,
            State::Release => 10,
        }
    }
}

/// What a lane's time counts as.
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
