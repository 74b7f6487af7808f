//! Kinds of what is drawn of a recording, on a timeline or in a waterfall: their numbers, their names for
//! people, and their roles, which are colours and patterns of `web/app/palette.css`. Causes of waits are kinds
//! too. Refuses to know what is drawn where.

use crate::words;
use rtscope_analyze::results::LaneTime;
use rtscope_model::{Cause, LaneState};
use serde::{Deserialize, Serialize};

/// Causes of waits start here, in the order of [`Cause::ALL`].
const FIRST_CAUSE: u16 = 32;

/// A kind of span.
#[derive(Clone, Eq, PartialEq, Debug, Serialize, Deserialize)]
pub struct Kind {
    /// Number in tiles.
    pub id: u16,
    /// Its name for people.
    pub name: String,
    /// Its role: how it is drawn.
    pub role: String,
}

rtscope_model::listed! {
    /// Kinds of spans that a timeline may have, in the order of their numbers. Their names can differ between
    /// runtimes; numbers and roles do not.
    #[derive(Copy, Clone, Eq, PartialEq, Hash, Debug)]
    #[allow(missing_docs)]
    pub enum SpanKind {
        Program,
        Idle,
        WaitingToStop,
        WaitingToLead,
        Collecting,
        CollectingMajor,
        WaitingForOthers,
        Slice,
        Release,
        Request,
        Running,
        WaitsForCpu,
        Queued,
        Throttled,
        Asleep,
        Blocked,
        Unknown,
        Mark,
        Gap,
        OtherWork,
        IdleCpu,
        NotScheduled,
        ConcurrentMark,
        ConcurrentSync,
        ConcurrentSweep,
        Own,
    }
}

impl SpanKind {
    /// Its number in tiles, from 1 on.
    pub fn id(self) -> u16 {
        self as u16 + 1
    }

    /// Its name for people, and its role.
    pub fn look(self) -> (&'static str, &'static str) {
        if let Some(state) = LaneState::of_number(self.id()) {
            return (state.name(), state.role());
        }
        match self {
            SpanKind::Running => ("on a CPU", "running"),
            SpanKind::WaitsForCpu => ("wants a CPU that another has", "wants-a-cpu"),
            SpanKind::Queued => ("wants a CPU that the program's own threads have", "queued"),
            SpanKind::Throttled => ("throttled: the CPU quota was used up", "throttled"),
            SpanKind::Asleep => ("asleep", "asleep"),
            SpanKind::Blocked => ("blocked in the kernel", "blocked"),
            SpanKind::Mark => ("mark", "mark"),
            SpanKind::IdleCpu => ("could run, while a CPU stands idle", "wants-a-cpu"),
            SpanKind::NotScheduled => ("wants a CPU; who has it is not known", "wants-a-cpu"),
            SpanKind::ConcurrentMark => ("concurrent mark", "slice"),
            SpanKind::ConcurrentSync => ("stop at the end of a concurrent mark", "collecting"),
            SpanKind::ConcurrentSweep => ("concurrent sweep", "slice"),
            SpanKind::Own => ("the program's own", "mark"),
            _ => ("not known", "unknown"),
        }
    }

    /// How lane time is drawn.
    pub fn of_lane_time(time: LaneTime) -> SpanKind {
        match time {
            LaneTime::Program => SpanKind::Program,
            LaneTime::Collecting => SpanKind::Collecting,
            LaneTime::Standing => SpanKind::WaitingForOthers,
            LaneTime::Release => SpanKind::Release,
            LaneTime::Throttled => SpanKind::Throttled,
            LaneTime::WaitsForCpu => SpanKind::WaitsForCpu,
            LaneTime::Queued => SpanKind::Queued,
            LaneTime::Kept => SpanKind::Blocked,
            LaneTime::Idle => SpanKind::Idle,
            LaneTime::Unknown => SpanKind::Unknown,
        }
    }

    /// Its name where collections are drawn alike, whatever they collect.
    pub fn words(self) -> &'static str {
        if self == SpanKind::Collecting { "collecting" } else { self.look().0 }
    }
}

/// The number of the kind for a cause.
pub fn of_cause(cause: Cause) -> u16 {
    FIRST_CAUSE + cause as u16
}

/// The kind of this number, as a session describes it.
pub fn described(id: u16) -> Kind {
    let cause = id.checked_sub(FIRST_CAUSE).and_then(|index| Cause::ALL.get(usize::from(index)));
    if let Some(cause) = cause {
        return Kind { id, name: words::cause(*cause, None), role: role(*cause).into() };
    }
    let kind = SpanKind::ALL.into_iter().find(|kind| kind.id() == id).unwrap_or(SpanKind::Unknown);
    let (name, role) = kind.look();
    Kind { id, name: name.into(), role: role.into() }
}

/// A top-level part of the account is drawn as the state that most of it is.
pub fn role_of_part(id: &str) -> &'static str {
    let kind = match id {
        "program" => SpanKind::Running,
        "collecting" => SpanKind::Collecting,
        "standing-still" => SpanKind::WaitingToStop,
        "no-cpu" => SpanKind::WaitsForCpu,
        "kept" => SpanKind::Blocked,
        "idle" => SpanKind::Asleep,
        _ => SpanKind::Unknown,
    };
    kind.look().1
}

/// A cause is drawn as the state of the thread that was waited for.
pub fn role(cause: Cause) -> &'static str {
    match cause {
        Cause::Running | Cause::LateSafepoint | Cause::ForeignCall | Cause::InKernel => "running",
        Cause::Throttled => "throttled",
        Cause::HostSteal | Cause::Preempted | Cause::IdleCpu | Cause::NotScheduled | Cause::WakeLatency => {
            "wants-a-cpu"
        }
        Cause::Oversubscribed => "queued",
        Cause::Asleep | Cause::HandedOver => "asleep",
        Cause::BlockedInKernel => "blocked",
        Cause::Unknown => "unknown",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PALETTE: &str = include_str!("../../../web/app/palette.css");

    #[test]
    fn numbers_are_distinct_and_described() {
        let mut ids: Vec<u16> = SpanKind::ALL.iter().map(|kind| kind.id()).collect();
        assert_eq!(ids, (1..=26).collect::<Vec<u16>>());
        ids.extend(Cause::ALL.map(of_cause));
        let all = ids.len();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), all);
        let unknown = described(9_999);
        assert_eq!((unknown.name.as_str(), unknown.role.as_str()), ("not known", "unknown"));
        for id in ids.into_iter().filter(|id| *id != SpanKind::Unknown.id() && *id != of_cause(Cause::Unknown)) {
            let kind = described(id);
            assert!(kind.id == id && kind.role != "unknown" && !kind.name.is_empty(), "{kind:?}");
        }
    }

    #[test]
    fn every_role_has_its_colour() {
        let roles = SpanKind::ALL.iter().map(|kind| kind.look().1).chain(Cause::ALL.map(role));
        for role in roles {
            assert!(PALETTE.contains(&format!("--{role}:")), "palette.css has no {role}");
        }
    }
}
