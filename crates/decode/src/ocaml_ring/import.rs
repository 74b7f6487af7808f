//! A ring's events in the neutral vocabulary: which types a set of classes needs, what each of them means, and the
//! few sums that the runtime leaves to its reader.

use super::layout::Layout;
use super::slot::{Filter, Raw, RingEvent, TYPES, index};
use super::tables::{self, counter, kind, lifecycle, user};
use super::user_names::UserNames;
use super::version::Version;
use crate::source::ReadAt;
use rtscope_model::{Class, Classes, Counter, LaneId, Phase, Pid, Runtime, Tid, UserEvent};
use std::collections::VecDeque;

/// Larger figures are damage.
const WORDS_MAX: i64 = 1 << 47;

/// The neutral phase of `phase` (given by its number in 5.4).
pub(crate) fn neutral(phase: u16) -> Phase {
    match phase {
        tables::EMPTY_MINOR => Phase::Wanted,
        tables::STW_LEADER => Phase::Lead,
        tables::STW_HANDLER => Phase::Follow,
        tables::STW_API_BARRIER => Phase::Barrier,
        tables::MINOR => Phase::Minor,
        tables::MINOR_LEAVE_BARRIER => Phase::LeaveBarrier,
        tables::MAJOR | tables::EXPLICIT_GC_MAJOR_SLICE => Phase::MajorSlice,
        tables::MAJOR_GC_STW => Phase::CycleEnd,
        tables::COMPACT => Phase::Compact,
        tables::INTERRUPT_REMOTE => Phase::Interrupt,
        tables::DOMAIN_CONDITION_WAIT => Phase::Condition,
        tables::EXPLICIT_GC_MINOR
        | tables::EXPLICIT_GC_MAJOR
        | tables::EXPLICIT_GC_FULL_MAJOR
        | tables::EXPLICIT_GC_COMPACT => Phase::Explicit,
        tables::FINALISE_UPDATE_FIRST | tables::FINALISE_UPDATE_LAST | tables::MINOR_FINALIZED => Phase::Finalise,
        tables::DOMAIN_RESIZE_HEAP_RESERVATION => Phase::Resize,
        detail => Phase::Detail(detail),
    }
}

/// The last figures of a domain. No figure reaches 2^51, and there are at most 4096 domains, so sums do not overflow.
#[derive(Clone, Default)]
struct DomainFigures {
    exists: bool,
    /// Bytes allocated in its young heap since it was created.
    allocated: u64,
    /// Bytes of its heap, of its pools, live in pools, and in blocks too large for pools.
    heap: u64,
    pools: u64,
    pools_live: u64,
    large: u64,
    /// Whether it has counted its heap at the end of any cycle, and of this one.
    counts: bool,
    fresh: bool,
}

/// Turns a ring's events into neutral ones.
pub(super) struct Importer {
    classes: Classes,
    /// Neutral phases by the version's own numbers, where they are requested.
    phases: [Option<Phase>; 64],
    lanes: Vec<DomainFigures>,
    /// Total heap size of all domains.
    heap_bytes: u64,
    /// The figures at the end of this cycle have been summed up.
    summed: bool,
    pub(super) names: UserNames,
    pub(super) stopped: bool,
}

impl Importer {
    pub(super) fn new(version: Version, classes: Classes, rings: u16) -> Importer {
        let wanted = |phase: &Phase| classes.has(phase.class());
        let mut phases = [None; 64];
        for (id, into) in (0..).zip(phases.iter_mut()) {
            *into = tables::phase(version, id).map(neutral).filter(wanted);
        }
        let lanes = vec![DomainFigures::default(); usize::from(rings)];
        Importer { classes, phases, lanes, heap_bytes: 0, summed: false, names: UserNames::default(), stopped: false }
    }

    /// The types that are needed.
    pub(super) fn filter(&self) -> Filter {
        let mut types = [false; TYPES];
        let mut want = |kind: u8, id: u16| types[index(kind, id)] = true;
        for (id, _) in (0..).zip(&self.phases).filter(|(_, phase)| phase.is_some()) {
            want(kind::BEGIN, id);
            want(kind::END, id);
        }
        // Rare, and always needed: where lanes start anew, and pauses.
        (0..tables::LIFECYCLE.len() as u16).for_each(|id| want(kind::LIFECYCLE, id));
        let (figures, heap) = (self.classes.has(Class::Figures), self.classes.has(Class::Heap));
        if figures {
            want(kind::COUNTER, counter::MINOR_PROMOTED);
            (counter::ALLOCATED_WORK..=counter::EXTRA_WORK).for_each(|id| want(kind::COUNTER, id));
        }
        if figures || heap {
            want(kind::COUNTER, counter::MINOR_ALLOCATED);
        }
        if heap {
            (counter::POOL_WORDS..=counter::HEAP_WORDS).for_each(|id| want(kind::COUNTER, id));
        }
        let mut by_user = [self.classes.has(Class::User); 5];
        by_user[usize::from(user::INT)] |= self.classes.has(Class::Lanes);
        Filter { types, beyond: false, user: by_user }
    }

    /// Returns the event of `raw` on `lane`; further ones are appended to `more`.
    pub(super) fn import(
        &mut self,
        raw: Raw,
        lane: LaneId,
        (layout, source): (&Layout, &dyn ReadAt),
        more: &mut More,
    ) -> Option<Runtime> {
        let phase = |id: u16| self.phases.get(usize::from(id)).copied().flatten();
        match raw.what {
            RingEvent::Gap => Some(Runtime::Gap),
            RingEvent::Begin(id) => phase(id).map(Runtime::PhaseBegin),
            RingEvent::End(id) => phase(id).map(Runtime::PhaseEnd),
            RingEvent::Counter(id, value) => self.count(id, value, lane, more),
            RingEvent::Lifecycle(id, value) => self.live(id, value, lane),
            RingEvent::User { kind, id, value } => {
                let (name, is_thread) = self.names.of(id, layout, source);
                if is_thread && kind == user::INT {
                    let tid = u32::try_from(value).ok().filter(|_| self.classes.has(Class::Lanes))?;
                    return Some(Runtime::TaskCreated(Tid(tid)));
                }
                let posted = match kind {
                    user::INT => UserEvent::Value(value),
                    user::BEGIN => UserEvent::Begin,
                    user::END => UserEvent::End,
                    _ => UserEvent::Mark,
                };
                self.classes.has(Class::User).then_some(Runtime::User(name, posted))
            }
        }
    }

    fn live(&mut self, id: u16, value: i64, lane: LaneId) -> Option<Runtime> {
        let state = self.lanes.get_mut(usize::from(lane.0))?;
        let event = match id {
            lifecycle::RING_START => (!std::mem::replace(&mut state.exists, true)).then_some(Runtime::LaneCreated),
            lifecycle::DOMAIN_SPAWN | lifecycle::DOMAIN_TERMINATE => {
                let exists = id == lifecycle::DOMAIN_SPAWN;
                self.heap_bytes -= state.heap;
                *state = DomainFigures { exists, ..DomainFigures::default() };
                Some(if exists { Runtime::LaneCreated } else { Runtime::LaneDeleted })
            }
            lifecycle::FORK_PARENT => {
                let child = u32::try_from(value).ok().filter(|child| *child != 0);
                child.map(|child| Runtime::Forked { child: Pid(child) })
            }
            lifecycle::RING_STOP => {
                self.stopped = true;
                None
            }
            _ => None,
        };
        event.filter(|_| self.classes.has(Class::Lanes))
    }

    fn count(&mut self, id: u16, value: i64, lane: LaneId, more: &mut More) -> Option<Runtime> {
        let figure = u64::try_from(value).ok().filter(|_| value < WORDS_MAX)?;
        let bytes = figure * 8;
        let state = self.lanes.get_mut(usize::from(lane.0))?;
        match id {
            // These two are already in bytes.
            counter::MINOR_PROMOTED => return Some(Runtime::Count(Counter::PromotedBytes, figure)),
            counter::MINOR_ALLOCATED => {
                state.allocated = state.allocated.saturating_add(figure);
                if self.classes.has(Class::Heap) {
                    more.push_back((lane, Runtime::Count(Counter::AllocatedBytes, state.allocated)));
                }
                let young = Runtime::Count(Counter::YoungBytes, figure);
                return Some(young).filter(|_| self.classes.has(Class::Figures));
            }
            counter::POOL_WORDS => {
                // The first of a domain's six figures at the end of a cycle. When one comes a second time, the next
                // cycle has begun, even if a domain's figures are still missing.
                let next = state.fresh;
                if next && !self.summed {
                    self.cycle(more);
                }
                if next {
                    self.lanes.iter_mut().for_each(|lane| lane.fresh = false);
                    self.summed = false;
                }
                let state = self.lanes.get_mut(usize::from(lane.0))?;
                state.pools = bytes;
            }
            counter::POOL_LIVE_WORDS => state.pools_live = bytes,
            counter::LARGE_WORDS => state.large = bytes,
            counter::LARGE_BLOCKS => {
                (state.fresh, state.counts) = (true, true);
                let heap = state.pools + state.large;
                self.heap(lane, heap, more);
                if self.lanes.iter().all(|lane| lane.fresh || !lane.counts && !lane.exists) {
                    self.cycle(more);
                }
            }
            counter::HEAP_WORDS => self.heap(lane, bytes, more),
            counter::ALLOCATED_WORK => return Some(Runtime::Count(Counter::MajorWork, figure)),
            counter::DEPENDENT_WORK | counter::EXTRA_WORK => {
                return Some(Runtime::Count(Counter::OutsideWork, figure));
            }
            _ => {}
        }
        None
    }

    /// Sets the heap size of `lane`; the sum over domains is posted without a lane.
    fn heap(&mut self, lane: LaneId, bytes: u64, more: &mut More) {
        let Some(state) = self.lanes.get_mut(usize::from(lane.0)) else { return };
        self.heap_bytes = self.heap_bytes - state.heap + bytes;
        state.heap = bytes;
        more.push_back((LaneId::NONE, Runtime::Count(Counter::HeapBytes, self.heap_bytes)));
    }

    /// All domains have counted their heaps at the end of a cycle.
    fn cycle(&mut self, more: &mut More) {
        let live: u64 = self.lanes.iter().map(|lane| lane.pools_live + lane.large).sum();
        let free: u64 = self.lanes.iter().map(|lane| lane.pools.saturating_sub(lane.pools_live)).sum();
        self.summed = true;
        let large: u64 = self.lanes.iter().map(|lane| lane.large).sum();
        let sums = [(Counter::LiveBytes, live), (Counter::OldFreeBytes, free), (Counter::LargeBytes, large)];
        for (counter, bytes) in sums {
            more.push_back((LaneId::NONE, Runtime::Count(counter, bytes)));
        }
    }
}

/// The events of a runtime's event after the first.
pub(super) type More = VecDeque<(LaneId, Runtime)>;
