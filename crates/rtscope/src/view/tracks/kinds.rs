//! Numbers, words and roles of what tracks show. Owns which state is drawn as what; the kinds that every
//! page knows are [`SpanKind`]'s, those here come on top.

use crate::report::words;
use crate::view::session::{Kind, SpanKind};
use rtscope_analyze::blame::Holder;
use rtscope_analyze::timeline::{Collected, LaneState, ThreadState};
use rtscope_model::{Cause, PauseKind};

/// Events were lost.
pub const GAP: u16 = 19;
/// A heap is compacted or laid out anew.
pub const OTHER_WORK: u16 = 20;
/// A thread may run and its CPU is idle.
pub const IDLE_CPU: u16 = 21;
/// A thread may run and does not; nothing says who does.
pub const NOT_SCHEDULED: u16 = 22;
/// A concurrent collector marks.
pub const CONCURRENT_MARK: u16 = 23;
/// It has stopped the world at the end of that.
pub const CONCURRENT_SYNC: u16 = 24;
/// It sweeps.
pub const CONCURRENT_SWEEP: u16 = 25;
/// A span of the program's own.
pub const OWN: u16 = 26;
/// Causes of waits, from here on in the order of [`CAUSES`].
const FIRST_CAUSE: u16 = 32;

const CAUSES: [Cause; 15] = [
    Cause::HostSteal,
    Cause::Running,
    Cause::LateSafepoint,
    Cause::ForeignCall,
    Cause::InKernel,
    Cause::Throttled,
    Cause::Preempted,
    Cause::Oversubscribed,
    Cause::IdleCpu,
    Cause::NotScheduled,
    Cause::WakeLatency,
    Cause::Asleep,
    Cause::BlockedInKernel,
    Cause::HandedOver,
    Cause::Unknown,
];

/// What a lane does.
pub fn of_lane(state: LaneState) -> u16 {
    match state {
        LaneState::Program => SpanKind::Program.id(),
        LaneState::Idle => SpanKind::Idle.id(),
        LaneState::Asked => SpanKind::Request.id(),
        LaneState::WaitingToStop => SpanKind::WaitingToStop.id(),
        LaneState::WaitingToLead => SpanKind::WaitingToLead.id(),
        LaneState::Collecting(Collected::Minor) => SpanKind::Collecting.id(),
        LaneState::Collecting(Collected::Major) => SpanKind::CollectingMajor.id(),
        LaneState::Collecting(Collected::Other) => OTHER_WORK,
        LaneState::WaitingForOthers => SpanKind::WaitingForOthers.id(),
        LaneState::Release => SpanKind::Release.id(),
        LaneState::Slice => SpanKind::Slice.id(),
        LaneState::Gap => GAP,
    }
}

/// What a kernel thread does.
pub fn of_thread(state: ThreadState) -> u16 {
    match state {
        ThreadState::Running(_) => SpanKind::Running.id(),
        ThreadState::Behind(Holder::Quota { .. }) => SpanKind::Throttled.id(),
        ThreadState::Behind(Holder::Foreign { .. }) => SpanKind::WantsACpu.id(),
        ThreadState::Behind(Holder::Sibling { .. }) => SpanKind::Queued.id(),
        ThreadState::Behind(Holder::Nobody) => IDLE_CPU,
        ThreadState::Behind(Holder::Unknown) => NOT_SCHEDULED,
        ThreadState::Asleep => SpanKind::Asleep.id(),
        ThreadState::Blocked => SpanKind::Blocked.id(),
    }
}

/// The work of a pause.
pub fn of_work(kind: PauseKind) -> u16 {
    match kind {
        PauseKind::Minor => SpanKind::Collecting.id(),
        PauseKind::Major => SpanKind::CollectingMajor.id(),
        PauseKind::ConcurrentSync => CONCURRENT_SYNC,
        PauseKind::Compaction | PauseKind::Layout | PauseKind::Unknown => OTHER_WORK,
    }
}

/// Why something was waited for.
pub fn of_cause(cause: Cause) -> u16 {
    let index = CAUSES.iter().position(|known| *known == cause).unwrap_or(CAUSES.len() - 1);
    FIRST_CAUSE + index as u16
}

/// How a session tells a kind.
pub fn described(id: u16) -> Kind {
    if let Some(known) = SpanKind::ALL.iter().find(|kind| kind.id() == id) {
        return known.described();
    }
    let cause = id.checked_sub(FIRST_CAUSE).and_then(|index| CAUSES.get(usize::from(index)));
    let (name, role) = match (id, cause) {
        (GAP, _) => ("events were lost".into(), "gap"),
        (OTHER_WORK, _) => ("collecting (its kind is not told, or the heap is laid out anew)".into(), "collecting"),
        (IDLE_CPU, _) => ("could run, while its CPU stands idle".into(), "wants-a-cpu"),
        (NOT_SCHEDULED, _) => ("wants a CPU; who has it is not known".into(), "wants-a-cpu"),
        (CONCURRENT_MARK, _) => ("concurrent mark".into(), "slice"),
        (CONCURRENT_SYNC, _) => ("stop at the end of a concurrent mark".into(), "collecting"),
        (CONCURRENT_SWEEP, _) => ("concurrent sweep".into(), "slice"),
        (OWN, _) => ("the program's own".into(), "mark"),
        (_, Some(cause)) => (words::cause(*cause, None), role(*cause)),
        _ => ("not known".into(), "unknown"),
    };
    Kind { id, name, role: role.into() }
}

/// A cause is drawn as the state of the thread that was waited for.
fn role(cause: Cause) -> &'static str {
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

    #[test]
    fn numbers_are_told_apart_and_described() {
        let mut ids: Vec<u16> = SpanKind::ALL.iter().map(|kind| kind.id()).chain(GAP..=OWN).collect();
        ids.extend(CAUSES.map(of_cause));
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
}
