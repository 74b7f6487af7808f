//! Which state is drawn as which kind.

use crate::kinds::SpanKind;
use rtscope_analyze::blame::Holder;
use rtscope_analyze::blame::threads::ThreadState;
use rtscope_model::PauseKind;

/// What a kernel thread does.
pub fn of_thread(state: ThreadState) -> u16 {
    match state {
        ThreadState::Running(_) => SpanKind::Running.id(),
        ThreadState::Behind(Holder::Quota { .. }) => SpanKind::Throttled.id(),
        ThreadState::Behind(Holder::Foreign { .. }) => SpanKind::WantsACpu.id(),
        ThreadState::Behind(Holder::Sibling { .. }) => SpanKind::Queued.id(),
        ThreadState::Behind(Holder::Nobody) => SpanKind::IdleCpu.id(),
        ThreadState::Behind(Holder::Unknown) => SpanKind::NotScheduled.id(),
        ThreadState::Asleep => SpanKind::Asleep.id(),
        ThreadState::Blocked => SpanKind::Blocked.id(),
    }
}

/// The work of a pause.
pub fn of_work(kind: PauseKind) -> u16 {
    match kind {
        PauseKind::Minor => SpanKind::Collecting.id(),
        PauseKind::Major => SpanKind::CollectingMajor.id(),
        PauseKind::ConcurrentSync => SpanKind::ConcurrentSync.id(),
        PauseKind::Compaction | PauseKind::Layout | PauseKind::Unknown => SpanKind::OtherWork.id(),
    }
}
