//! Schedules the scans of blocks. Any worker may start a block; blocks start in the order in which the merge will
//! need them, several of one lane at a time. Their items are queued per block, and a block whose queue would exceed
//! the budget is parked. The reader of the stream scans too while it waits.
//!
//! Progress: the block that the reader waits for may always take a step while its queue is empty, whatever the budget.

use super::index::Block;
use super::scan::{BlockScan, CarryOver, Plan, ScannedEvent, Scratch, Step};
use std::collections::{BTreeSet, VecDeque};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// Limit of blocks started and not yet read to their end, beyond one per lane.
const BUDGET_BLOCKS: usize = 512;

/// Blocks of one lane, in time order.
pub(super) struct LaneBlocks {
    pub(super) cap: u16,
    /// Indices into `blocks`.
    pub(super) order: Vec<u32>,
    /// Blocks of all lanes.
    pub(super) blocks: Arc<Vec<Block>>,
}

impl LaneBlocks {
    pub(super) fn get(&self, seq: usize) -> Option<&Block> {
        self.blocks.get(*self.order.get(seq)? as usize)
    }

    fn wrote_ns(&self, seq: usize) -> Option<u64> {
        let before = self.get(seq.checked_sub(1)?)?;
        let this = self.get(seq)?;
        (before.t_end != 0).then(|| this.t_open.checked_sub(before.t_end)).flatten()
    }

    /// No event of block `seq` is expected before this time.
    pub(super) fn bound(&self, seq: usize) -> Option<u64> {
        let open = self.get(seq)?.t_open;
        let before = seq.checked_sub(1).and_then(|seq| self.get(seq)).map_or(0, |block| block.t_end);
        Some(if before == 0 { open } else { open.min(before) })
    }
}

/// A block of a lane.
#[derive(Copy, Clone, Eq, PartialEq, Ord, PartialOrd)]
struct BlockId {
    lane: u16,
    seq: u32,
}

enum ScanState {
    Running,
    Parked(Box<BlockScan>),
    Done(CarryOver),
}

struct QueuedBlock {
    chunks: VecDeque<Vec<ScannedEvent>>,
    work: ScanState,
    rank: u64,
}

#[derive(Default)]
struct Queue {
    /// Sequence number of the first slot.
    first: u32,
    slots: VecDeque<QueuedBlock>,
}

impl Queue {
    fn next_seq(&self) -> u32 {
        self.first + self.slots.len() as u32
    }

    fn slot(&mut self, seq: u32) -> Option<&mut QueuedBlock> {
        self.slots.get_mut(seq.checked_sub(self.first)? as usize)
    }
}

#[derive(Default)]
struct PoolState {
    queues: Vec<Queue>,
    /// Index in [`Pool::order`] of the next block to start.
    next: usize,
    parked: BTreeSet<(u64, BlockId)>,
    queued: usize,
    active: usize,
    wanted: Option<u16>,
    reader_waits: bool,
    idle: usize,
    stopping: bool,
    counts: Vec<u64>,
}

/// The scans of a stream's blocks and their queues.
pub(super) struct Pool {
    pub(super) plan: Plan,
    pub(super) lanes: Vec<LaneBlocks>,
    /// Tags whose records are counted.
    tags: Vec<u16>,
    order: Vec<BlockId>,
    state: Mutex<PoolState>,
    work: Condvar,
    ready: Condvar,
}

enum Job {
    Start(BlockId),
    Resume(BlockId, Box<BlockScan>),
}

/// What the reader gets at once.
pub(super) struct Chunk {
    pub(super) items: Vec<ScannedEvent>,
    /// Present where the block ended with these items.
    pub(super) end: Option<CarryOver>,
}

impl Pool {
    pub(super) fn new(plan: Plan, lanes: Vec<LaneBlocks>, tags: Vec<u16>) -> Pool {
        let queues = lanes.iter().map(|_| Queue::default()).collect();
        let order = merge_order(&lanes);
        let counts = vec![0; tags.len()];
        let state = Mutex::new(PoolState { queues, counts, ..PoolState::default() });
        Pool { plan, lanes, tags, order, state, work: Condvar::new(), ready: Condvar::new() }
    }

    fn lock(&self) -> MutexGuard<'_, PoolState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Asks the workers to stop.
    pub(super) fn stop(&self) {
        self.lock().stopping = true;
        self.work.notify_all();
    }

    /// Records by tag so far.
    pub(super) fn counts(&self) -> Vec<(u16, u64)> {
        self.tags.iter().copied().zip(self.lock().counts.iter().copied()).collect()
    }

    /// The loop of a worker.
    pub(super) fn worker(&self) {
        let mut scratch = Scratch::new();
        let mut state = self.lock();
        while !state.stopping {
            if let Some(job) = self.pick(&mut state) {
                drop(state);
                self.run(job, &mut scratch);
                state = self.lock();
            } else if state.next >= self.order.len() && state.active == 0 {
                return;
            } else {
                state.idle += 1;
                state = self.work.wait(state).unwrap_or_else(PoisonError::into_inner);
                state.idle -= 1;
            }
        }
    }

    fn run(&self, job: Job, scratch: &mut Scratch) {
        let (place, mut scan) = self.begin(job, scratch);
        loop {
            let step = scan.step(&self.plan, scratch);
            let mut state = self.lock();
            let full = state.queued >= self.plan.budget_items && !state.is_awaited(place);
            match self.publish(&mut state, place, scan, step, full, scratch) {
                Some(back) => scan = back,
                None => return,
            }
        }
    }

    fn begin(&self, job: Job, scratch: &mut Scratch) -> (BlockId, Box<BlockScan>) {
        let place = match job {
            Job::Resume(place, scan) => return (place, scan),
            Job::Start(place) => place,
        };
        let lane = self.lanes.get(usize::from(place.lane));
        let seq = place.seq as usize;
        let block = lane.and_then(|lane| lane.get(seq)).copied().unwrap_or(Block::NONE);
        let wrote_ns = lane.and_then(|lane| lane.wrote_ns(seq));
        (place, Box::new(BlockScan::new(block, wrote_ns, &self.plan, &mut scratch.counts)))
    }

    /// Queues the items of a step. Returns the scan if it may continue at once.
    fn publish(
        &self,
        state: &mut PoolState,
        place: BlockId,
        scan: Box<BlockScan>,
        step: Step,
        park: bool,
        scratch: &mut Scratch,
    ) -> Option<Box<BlockScan>> {
        for (tag, sum) in self.tags.iter().zip(&mut state.counts) {
            *sum += std::mem::take(&mut scratch.counts[usize::from(*tag)]);
        }
        let stopping = state.stopping;
        state.queued += scratch.out.len();
        let slot = state.queues.get_mut(usize::from(place.lane)).and_then(|queue| queue.slot(place.seq))?;
        if !scratch.out.is_empty() {
            slot.chunks.push_back(scratch.out.as_slice().into());
        }
        let mut back = None;
        if step == Step::Done {
            slot.work = ScanState::Done(scan.into_carry_over());
        } else if park || stopping {
            let rank = slot.rank;
            slot.work = ScanState::Parked(scan);
            state.parked.insert((rank, place));
            self.wake(state);
        } else {
            back = Some(scan);
        }
        if state.reader_waits {
            self.ready.notify_one();
        }
        back
    }

    /// Wakes a worker, if there is enough to do: a quarter of the queue's budget is free. Waking one for each piece
    /// taken costs more than the piece.
    fn wake(&self, state: &PoolState) {
        if state.idle > 0 && state.queued <= self.plan.budget_items / 4 * 3 {
            self.work.notify_one();
        }
    }

    /// The next job, for a worker or for the waiting reader.
    fn pick(&self, state: &mut PoolState) -> Option<Job> {
        if let Some(job) = state.wanted.and_then(|lane| self.pick_wanted(state, lane)) {
            return Some(job);
        }
        if state.queued >= self.plan.budget_items {
            return None;
        }
        if let Some((_, place)) = state.parked.pop_first() {
            return state.unpark(place);
        }
        if state.active >= BUDGET_BLOCKS + self.lanes.len() {
            return None;
        }
        while let Some(place) = self.order.get(state.next).copied() {
            state.next += 1;
            if state.start(place, state.next as u64) {
                return Some(Job::Start(place));
            }
        }
        None
    }

    fn pick_wanted(&self, state: &mut PoolState, lane: u16) -> Option<Job> {
        let queue = state.queues.get_mut(usize::from(lane))?;
        let place = BlockId { lane, seq: queue.first };
        if let Some(slot) = queue.slots.front() {
            if !slot.chunks.is_empty() || !matches!(slot.work, ScanState::Parked(_)) {
                return None;
            }
            let rank = slot.rank;
            state.parked.remove(&(rank, place));
            return state.unpark(place);
        }
        let exists = self.lanes.get(usize::from(lane)).is_some_and(|lane| (place.seq as usize) < lane.order.len());
        (exists && state.start(place, 0)).then_some(Job::Start(place))
    }

    /// The next piece of `lane`; works or waits until there is one. `None`: after its last block.
    pub(super) fn next(&self, lane: u16, scratch: &mut Scratch) -> Option<Chunk> {
        let blocks = self.lanes.get(usize::from(lane))?.order.len();
        let mut state = self.lock();
        loop {
            let queue = state.queues.get_mut(usize::from(lane))?;
            if queue.slots.is_empty() && queue.first as usize >= blocks {
                return None;
            }
            if let Some(chunk) = state.take(lane) {
                state.wanted = None;
                self.wake(&state);
                return Some(chunk);
            }
            state.wanted = Some(lane);
            if let Some(job) = self.pick(&mut state) {
                drop(state);
                let (place, mut scan) = self.begin(job, scratch);
                let step = scan.step(&self.plan, scratch);
                state = self.lock();
                self.publish(&mut state, place, scan, step, true, scratch);
            } else {
                state.reader_waits = true;
                state = self.ready.wait(state).unwrap_or_else(PoisonError::into_inner);
                state.reader_waits = false;
            }
        }
    }
}

impl PoolState {
    /// Opens a slot for `place` unless it was started before.
    fn start(&mut self, place: BlockId, rank: u64) -> bool {
        let Some(queue) = self.queues.get_mut(usize::from(place.lane)) else { return false };
        if place.seq != queue.next_seq() {
            return false;
        }
        queue.slots.push_back(QueuedBlock { chunks: VecDeque::new(), work: ScanState::Running, rank });
        self.active += 1;
        true
    }

    fn unpark(&mut self, place: BlockId) -> Option<Job> {
        let slot = self.queues.get_mut(usize::from(place.lane))?.slot(place.seq)?;
        match std::mem::replace(&mut slot.work, ScanState::Running) {
            ScanState::Parked(scan) => Some(Job::Resume(place, scan)),
            other => {
                slot.work = other;
                None
            }
        }
    }

    /// Whether the reader is waiting for items of `place`.
    fn is_awaited(&self, place: BlockId) -> bool {
        self.wanted == Some(place.lane)
            && self.queues.get(usize::from(place.lane)).is_some_and(|queue| {
                queue.first == place.seq && queue.slots.front().is_some_and(|slot| slot.chunks.is_empty())
            })
    }

    fn take(&mut self, lane: u16) -> Option<Chunk> {
        let queue = self.queues.get_mut(usize::from(lane))?;
        let slot = queue.slots.front_mut()?;
        let items = slot.chunks.pop_front();
        let ended = slot.chunks.is_empty() && matches!(slot.work, ScanState::Done(_));
        if items.is_none() && !ended {
            return None;
        }
        let items = items.unwrap_or_default();
        self.queued = self.queued.saturating_sub(items.len());
        let mut end = None;
        if ended && let Some(QueuedBlock { work: ScanState::Done(leaves), .. }) = queue.slots.pop_front() {
            queue.first += 1;
            self.active = self.active.saturating_sub(1);
            end = Some(leaves);
        }
        Some(Chunk { items, end })
    }
}

/// Every block, in the order in which a merge by time needs them. Within a lane the log's order is kept,
/// whatever its stamps.
fn merge_order(lanes: &[LaneBlocks]) -> Vec<BlockId> {
    let mut keyed = Vec::with_capacity(lanes.iter().map(|lane| lane.order.len()).sum());
    for (index, lane) in lanes.iter().enumerate() {
        let mut latest = 0;
        for seq in 0..lane.order.len() {
            latest = lane.get(seq).map_or(0, |block| block.t_open).max(latest);
            keyed.push((latest, BlockId { lane: index as u16, seq: seq as u32 }));
        }
    }
    keyed.sort_unstable();
    keyed.into_iter().map(|(_, place)| place).collect()
}
