//! The events of a whole log in time order: settles what blocks left open for their lane, merges the lanes, counts.
//! Refuses to sort beyond the reorder window: a stamp that comes later than that is delivered late and counted.

use super::header::Header;
use super::index::GLOBAL;
use super::pool::{Chunk, LaneBlocks, Pool};
use super::scan::{CarryOver, Pending, REORDER, Rule, ScannedEvent, Scratch, held_from, insert};
use super::tally::{Losses, Tally};
use crate::raw_loss::RawLoss;
use rtscope_model::{Body, ClockMap, Event, LaneId, LogTime, LossKind, Names};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;
use std::sync::Arc;
use std::thread::JoinHandle;

/// Events of a log, by (time, lane, position). Stops its threads when dropped.
pub struct Stream {
    pool: Arc<Pool>,
    workers: Vec<JoinHandle<()>>,
    scratch: Scratch,
    lanes: Vec<LaneReader>,
    /// Each lane's next time (or a lower bound of it) and index.
    heap: BinaryHeap<Reverse<(u64, u16)>>,
    clock: ClockMap,
    name: String,
    /// The header of the log.
    pub(super) header: Arc<Header>,
    losses: Losses,
    ended: bool,
    latest: u64,
    /// Buffer for events that are requested one by one.
    one: Vec<Event>,
}

/// One lane's reader.
#[derive(Default)]
struct LaneReader {
    id: LaneId,
    items: Vec<ScannedEvent>,
    at: usize,
    /// Items from here on may still get a predecessor.
    guard: usize,
    /// Index of the next block.
    seq: usize,
    /// No items of block `seq` have been read yet.
    between: bool,
    over: bool,
    armed: bool,
    pending: Option<Pending>,
    /// The last stamp of the lane.
    last: Option<u64>,
    bytes: u64,
    late: Option<(u64, u64, u64)>,
}

impl LaneReader {
    fn new(cap: u16) -> LaneReader {
        LaneReader { id: LaneId(cap), between: true, ..LaneReader::default() }
    }

    fn take_in(&mut self, chunk: Chunk, bytes: u64) -> Vec<RawLoss> {
        self.items.drain(..self.at);
        self.at = 0;
        // Checking all of them first also fetches them from the CPU that made them.
        if self.items.is_empty() && chunk.items.iter().all(|item| item.rule == Rule::Plain) {
            self.items = chunk.items;
        } else {
            for item in chunk.items {
                self.settle(item);
            }
        }
        self.guard = self.items.len();
        self.between = chunk.end.is_some();
        let mut losses = Vec::new();
        if let Some(leaves) = chunk.end {
            self.seq += 1;
            self.bytes += bytes;
            if !leaves.settled {
                self.guard = self.guard.saturating_sub(REORDER);
            }
            losses = self.inherit(leaves);
        }
        if let Some(pending) = self.pending {
            // The block's scan may hold back as many itself.
            self.guard = self.guard.min(held_from(&self.items, pending.time, 2 * REORDER));
        }
        losses
    }

    fn settle(&mut self, item: ScannedEvent) {
        match item.rule {
            Rule::Plain => insert(&mut self.items, item),
            Rule::IfArmed if self.armed => insert(&mut self.items, ScannedEvent { rule: Rule::Plain, ..item }),
            Rule::IfArmed => {}
            Rule::TakePending => {
                if let Some(pending) = self.pending.take() {
                    insert(&mut self.items, pending.item(self.id));
                }
            }
        }
    }

    fn inherit(&mut self, leaves: CarryOver) -> Vec<RawLoss> {
        self.armed = leaves.armed.unwrap_or(self.armed);
        self.pending = leaves.pending.unwrap_or(self.pending);
        self.last = self.last.max(leaves.last);
        leaves.losses
    }

    /// Lower bound of the lane's next event: its next item, else the time in the next block's marker; a pending stop
    /// may precede both.
    fn next_time(&self, blocks: &LaneBlocks) -> Option<u64> {
        let next = match self.items.get(self.at) {
            Some(item) => Some(item.time),
            None if self.between => blocks.bound(self.seq),
            None => None,
        }?;
        let pending = self.pending.filter(|_| self.at >= self.guard);
        Some(pending.map_or(next, |pending| pending.time.min(next)))
    }

    fn take(&mut self) -> Option<ScannedEvent> {
        if self.at >= self.guard {
            return None;
        }
        let item = *self.items.get(self.at)?;
        self.at += 1;
        Some(item)
    }
}

impl Stream {
    pub(super) fn new(
        pool: Pool,
        threads: usize,
        clock: ClockMap,
        (name, header): (String, Arc<Header>),
        losses: Losses,
        ended: bool,
    ) -> Stream {
        let pool = Arc::new(pool);
        let mut heap = BinaryHeap::with_capacity(pool.lanes.len());
        for (index, lane) in pool.lanes.iter().enumerate() {
            heap.push(Reverse((lane.bound(0).unwrap_or(0), index as u16)));
        }
        // The reader scans too: one thread fewer than requested. A thread that cannot be started only costs speed.
        let workers = (1..threads)
            .filter_map(|number| {
                let pool = Arc::clone(&pool);
                let builder = std::thread::Builder::new().name(format!("eventlog-{number}"));
                builder.spawn(move || pool.worker()).ok()
            })
            .collect();
        let lanes = pool.lanes.iter().map(|lane| LaneReader::new(lane.cap)).collect();
        Stream {
            pool,
            workers,
            scratch: Scratch::new(),
            lanes,
            heap,
            clock,
            name,
            header,
            losses,
            ended,
            latest: 0,
            one: Vec::new(),
        }
    }

    /// Names of the labels of heap profiles, complete from the start.
    pub fn names(&self) -> &Names {
        self.pool.plan.labels.names()
    }

    /// Counts so far; complete once the stream has ended.
    pub fn tally(&self) -> Tally {
        let by_tag = self.pool.counts().into_iter().filter(|(_, count)| *count > 0).collect();
        Tally {
            by_tag,
            bytes: self.lanes.iter().map(|lane| lane.bytes).sum(),
            losses: self.all_losses().convert(&self.name, &self.clock),
        }
    }

    fn all_losses(&self) -> Losses {
        let mut losses = self.losses.clone();
        for lane in &self.lanes {
            let Some((count, from, to)) = lane.late else { continue };
            let note = format!(
                "capability {}: events with stamps older than the reorder window allows; they were used where they came",
                lane.id
            );
            losses.push(RawLoss { kind: LossKind::OutOfOrder, count, from: Some(from), to: Some(to), note });
        }
        if !self.ended && !losses.has(LossKind::Truncated) {
            let caps = self.lanes.iter().filter(|lane| lane.id.0 != GLOBAL);
            let from = caps.filter_map(|lane| lane.last).min();
            let note = "the log has no end mark: the program was killed or still runs, and up to 2 MiB of events per \
                        capability were not written; `rtscope record` saves them"
                .to_string();
            losses.push(RawLoss { kind: LossKind::Truncated, count: 0, from, to: None, note });
        }
        losses
    }

    /// Gets more items of lane `index`; returns its next time or bound, `None` at its end.
    fn fill(&mut self, index: u16) -> Option<u64> {
        let lane = self.lanes.get_mut(usize::from(index))?;
        let blocks = self.pool.lanes.get(usize::from(index))?;
        if !lane.over {
            match self.pool.next(index, &mut self.scratch) {
                Some(chunk) => {
                    let bytes = blocks.get(lane.seq).map_or(0, |block| u64::from(block.len));
                    lane.take_in(chunk, bytes).into_iter().for_each(|loss| self.losses.push(loss));
                }
                None => {
                    lane.over = true;
                    lane.guard = lane.items.len();
                }
            }
        } else if lane.at >= lane.items.len() {
            return None;
        }
        lane.next_time(blocks).or(Some(self.latest))
    }

    /// Appends the next events, in order, until `batch` has `most`. A lane changes its place in the heap only where
    /// another one comes first.
    pub(super) fn deliver(&mut self, batch: &mut Vec<Event>, most: usize) {
        while batch.len() < most
            && let Some(&Reverse((_, index))) = self.heap.peek()
        {
            // The second element of a heap is one of the two children of the first.
            let others = self.heap.as_slice().iter().skip(1).take(2);
            let second = others.map(|Reverse(key)| *key).min().unwrap_or((u64::MAX, u16::MAX));
            let next = loop {
                let next = match self.take(index, batch) {
                    Some(next) => next,
                    None => self.fill(index),
                };
                if batch.len() >= most || next.is_none_or(|time| (time, index) > second) {
                    break next;
                }
            };
            if let Some(mut top) = self.heap.peek_mut() {
                match next {
                    Some(time) => top.0.0 = time,
                    None => {
                        PeekMut::pop(top);
                    }
                }
            }
        }
    }

    /// Appends the next event of lane `index`; returns the lane's next time or bound. `None`: it has to be filled.
    fn take(&mut self, index: u16, batch: &mut Vec<Event>) -> Option<Option<u64>> {
        let lane = self.lanes.get_mut(usize::from(index))?;
        let item = lane.take()?;
        if item.time < self.latest {
            let (count, from, to) = lane.late.unwrap_or((0, item.time, self.latest));
            lane.late = Some((count + 1, from.min(item.time), to.max(self.latest)));
        } else {
            self.latest = item.time;
        }
        let time = self.clock.convert(LogTime(item.time));
        batch.push(Event { time, lane: item.lane, body: Body::Runtime(item.what) });
        let next = self.pool.lanes.get(usize::from(index)).and_then(|blocks| lane.next_time(blocks));
        Some(next.or(Some(self.latest)))
    }
}

impl Iterator for Stream {
    type Item = Event;

    fn next(&mut self) -> Option<Event> {
        let mut one = std::mem::take(&mut self.one);
        self.deliver(&mut one, 1);
        let event = one.pop();
        self.one = one;
        event
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        self.pool.stop();
        for worker in self.workers.drain(..) {
            // A worker that panicked has nothing left to report.
            let _ = worker.join();
        }
    }
}
