//! Scans one block, a window at a time: counts every record, accounts green-thread time, and keeps what the requested
//! classes need. The hot path of the decoder.
//!
//! State that crosses a block's border (an open run, a stop that waits for a collection) is left unresolved here and
//! settled by the reader of the lane, so that blocks can be scanned in any order.

use super::frame::{Frame, FrameTable, IPE_MAX, NoFrame, RECORD_HEAD};
use super::heap_profile::Labels;
use super::import::{self, action};
use super::index::{Block, BlockEnd, EARLY_NS, LATE_NS, MARKER};
use super::record::Record;
use crate::raw_loss::RawLoss;
use crate::source::ReadAt;
use rtscope_model::event::Runtime;
use rtscope_model::{Class, Classes, GreenThread, LaneId, LossKind};
use std::sync::Arc;

/// How many items back a late stamp may be moved.
pub(super) const REORDER: usize = 32;
/// After this many bytes of records no late stamp is expected.
const SETTLED_BYTES: u64 = 4096;
/// Bytes read at once, at most.
const WINDOW: usize = 128 << 10;
/// Bytes read at once, at least. Where nearly every record gives an item, a step is full before its window is used
/// up, and the rest would be read again.
const WINDOW_MIN: usize = 4 << 10;

/// One event on the log's clock, before its lane has settled it.
#[derive(Copy, Clone, Debug, PartialEq)]
pub(super) struct ScannedEvent {
    pub(super) time: u64,
    pub(super) what: Runtime,
    pub(super) lane: LaneId,
    pub(super) rule: Rule,
}

/// What the lane's reader has to settle.
#[derive(Copy, Clone, Eq, PartialEq, Debug)]
pub(super) enum Rule {
    /// Nothing to settle.
    Plain,
    /// The block's first run: only wanted if the block before ended after a collection that no run has followed.
    IfArmed,
    /// Not an event: a collection without a stop before it in this block. A stop that the block before left
    /// pending belongs here.
    TakePending,
}

/// A stop that becomes an event only if a collection follows.
#[derive(Copy, Clone, Debug, PartialEq)]
pub(super) struct Pending {
    pub(super) time: u64,
    thread: u32,
    status: u16,
    info: u32,
}

impl Pending {
    pub(super) fn item(self, lane: LaneId) -> ScannedEvent {
        let what = import::stopped(self.thread, self.status, self.info);
        ScannedEvent { time: self.time, what, lane, rule: Rule::Plain }
    }
}

/// Inserts `item` in time order among the last [`REORDER`] of `items`, after equal times.
pub(super) fn insert(items: &mut Vec<ScannedEvent>, item: ScannedEvent) {
    let len = items.len();
    items.push(item);
    let floor = len.saturating_sub(REORDER);
    let tail = items.get_mut(floor..).unwrap_or_default();
    let mut at = tail.len().saturating_sub(1);
    while let Some([before, after]) = at.checked_sub(1).and_then(|from| tail.get_mut(from..=at)) {
        if before.time <= after.time {
            break;
        }
        std::mem::swap(before, after);
        at -= 1;
    }
}

/// Index from which on `items` must wait for a stop at `time` that may still become an event; at most the last `most`
/// of them wait.
pub(super) fn held_from(items: &[ScannedEvent], time: u64, most: usize) -> usize {
    let floor = items.len().saturating_sub(most);
    let tail = items.get(floor..).unwrap_or_default();
    floor + tail.iter().position(|item| item.time > time).unwrap_or(tail.len())
}

/// Shared by all block scans of a stream.
pub(super) struct Plan {
    pub(super) table: FrameTable,
    pub(super) classes: Classes,
    pub(super) labels: Arc<Labels>,
    pub(super) sources: Vec<Arc<dyn ReadAt>>,
    /// Limit of items in one step (slightly more where one record gives several).
    pub(super) step_items: usize,
    /// Limit of queued items in all, before scans are parked.
    pub(super) budget_items: usize,
    /// Green edges are requested, and not every run and stop.
    pub(super) edges: bool,
    pub(super) green: bool,
}

impl Plan {
    pub(super) fn tracer(&self) -> bool {
        self.classes.has(Class::Tracer)
    }
}

/// A worker's buffers.
pub(super) struct Scratch {
    window: Vec<u8>,
    pub(super) counts: Box<[u64; 1 << 16]>,
    pub(super) out: Vec<ScannedEvent>,
}

impl Scratch {
    pub(super) fn new() -> Scratch {
        let counts = vec![0u64; 1 << 16].into_boxed_slice().try_into();
        Scratch { window: vec![0; WINDOW], counts: counts.unwrap_or_else(|_| Box::new([0; 1 << 16])), out: Vec::new() }
    }
}

/// What a block leaves to the next one.
#[derive(Clone, Debug, Default)]
pub(super) struct CarryOver {
    /// Whether the next run is wanted; `None`: the block had no collection and no run.
    pub(super) armed: Option<bool>,
    /// The stop that is pending now; the outer `None`: the block had no stop, and none became an event.
    pub(super) pending: Option<Option<Pending>>,
    /// Its last items are far enough from its end that no stamp of the next block can precede them.
    pub(super) settled: bool,
    /// Last stamp.
    pub(super) last: Option<u64>,
    pub(super) losses: Vec<RawLoss>,
}

/// How a step ended.
#[derive(Copy, Clone, Eq, PartialEq, Debug)]
pub(super) enum Step {
    More,
    Done,
}

/// One block being scanned.
pub(super) struct BlockScan {
    block: Block,
    lane: LaneId,
    /// Where to continue, and where the block ends, in its source.
    at: u64,
    end: u64,
    /// Items that a later stamp may still precede.
    carry: Vec<ScannedEvent>,
    last_emitted: u64,
    last: u64,
    /// Stamps in a range of `span` from `lo` on are believed.
    lo: u64,
    span: u64,
    strange: u64,
    strange_at: u64,
    want: usize,
    leaves: CarryOver,
}

impl BlockScan {
    /// `wrote_ns`: how long the tracer wrote before this block was opened.
    pub(super) fn new(block: Block, wrote_ns: Option<u64>, plan: &Plan, counts: &mut [u64; 1 << 16]) -> BlockScan {
        let lo = block.t_open.saturating_sub(EARLY_NS);
        let hi = if block.t_end == 0 { u64::MAX >> 2 } else { block.t_end.saturating_add(LATE_NS) };
        let end = block.offset.saturating_add(u64::from(block.len));
        let mut scan = BlockScan {
            block,
            lane: LaneId(block.cap),
            at: (block.offset + MARKER as u64).min(end),
            end,
            carry: Vec::new(),
            last_emitted: 0,
            last: block.t_open,
            lo,
            span: hi.saturating_sub(lo),
            strange: 0,
            strange_at: 0,
            want: WINDOW,
            leaves: CarryOver::default(),
        };
        if let Some(count) = counts.get_mut(usize::from(super::tags::BLOCK_MARKER)) {
            *count += 1;
        }
        if let Some(ns) = wrote_ns.filter(|_| plan.tracer()) {
            let what = Runtime::TracerWrote { ns };
            scan.carry.push(ScannedEvent { time: block.t_open, what, lane: scan.lane, rule: Rule::Plain });
            scan.last_emitted = scan.at;
        }
        scan
    }

    /// What the block leaves, after [`Step::Done`].
    pub(super) fn into_carry_over(self) -> CarryOver {
        self.leaves
    }

    /// Scans one window and puts the finished items into `scratch.out`.
    pub(super) fn step(&mut self, plan: &Plan, scratch: &mut Scratch) -> Step {
        scratch.out.clear();
        scratch.out.append(&mut self.carry);
        let left = self.end.saturating_sub(self.at);
        let want = usize::try_from(left).unwrap_or(usize::MAX).min(self.want);
        if scratch.window.len() < want {
            scratch.window.resize(want, 0);
        }
        let window = scratch.window.get_mut(..want).unwrap_or_default();
        let source = plan.sources.get(usize::from(self.block.source));
        let got = source.map_or(Ok(0), |source| source.read_full(window, self.at));
        let (got, shrunk) = match got {
            Ok(got) => (got, got < want),
            Err(error) => {
                self.lose(LossKind::Damaged, left, format!("cannot be read ({error})"));
                (0, true)
            }
        };
        if shrunk && self.leaves.losses.is_empty() {
            let note = "the log became shorter while it was read; the program may have restarted its log";
            self.lose(LossKind::Truncated, left.saturating_sub(got as u64), note.to_string());
        }
        let bytes = window.get(..got).unwrap_or_default();
        let whole = shrunk || got as u64 == left;
        let (used, stop) = self.window(plan, bytes, whole, &mut scratch.counts, &mut scratch.out);
        self.at += used as u64;
        let step = self.after(plan, stop, used, got, whole, shrunk);
        self.publish(step, &mut scratch.out);
        step
    }

    fn window(
        &mut self,
        plan: &Plan,
        bytes: &[u8],
        whole: bool,
        counts: &mut [u64; 1 << 16],
        out: &mut Vec<ScannedEvent>,
    ) -> (usize, Option<NoFrame>) {
        let mut at = 0;
        let mut last = self.last;
        // The last stop, where only the one before a collection is wanted: it is decoded when the collection comes.
        let mut stopped: Option<Frame> = None;
        let stop = loop {
            let frame = match plan.table.frame(bytes, at, whole) {
                Ok(frame) => frame,
                Err(stop) => break Some(stop),
            };
            if frame.time.wrapping_sub(self.lo) > self.span {
                self.strange += 1;
                self.strange_at = self.at + at as u64;
                counts[usize::from(frame.tag)] += 1;
                at = frame.next;
                continue;
            }
            last = last.max(frame.time);
            match frame.action {
                action::SKIP => {}
                action::RUN => {
                    if plan.green || plan.edges && self.leaves.armed != Some(false) {
                        self.run(plan, bytes.get(frame.body..frame.next).unwrap_or_default(), frame.time, at, out);
                    }
                }
                action::STOP => {
                    if plan.green {
                        self.stop(plan, bytes, &frame, at, out);
                    } else if plan.edges {
                        stopped = Some(frame);
                    }
                }
                action::MARKER => break Some(NoFrame::Undeclared(frame.tag)),
                other => {
                    if other != action::IMPORT {
                        if let Some(frame) = stopped.take() {
                            self.stop(plan, bytes, &frame, at, out);
                        }
                        self.collection(other, frame.time, at, out);
                    }
                    if other == action::IMPORT || import::wanted(frame.tag, plan.classes) {
                        let payload = bytes.get(frame.body..frame.next).unwrap_or_default();
                        self.import(plan, &Record::decode(frame.tag, payload), frame.time, at, out);
                    }
                }
            }
            counts[usize::from(frame.tag)] += 1;
            at = frame.next;
            if out.len() >= plan.step_items {
                break None;
            }
        };
        if let Some(frame) = stopped {
            self.stop(plan, bytes, &frame, at, out);
        }
        self.last = last;
        (at, stop)
    }

    fn emit(&mut self, item: ScannedEvent, at: usize, out: &mut Vec<ScannedEvent>) {
        self.last_emitted = self.at + at as u64;
        insert(out, item);
    }

    fn run(&mut self, plan: &Plan, payload: &[u8], time: u64, at: usize, out: &mut Vec<ScannedEvent>) {
        let Record::RunThread { thread } = Record::decode(super::tags::RUN_THREAD, payload) else { return };
        let what = Runtime::ThreadRun(GreenThread(thread));
        let rule = if plan.green || self.leaves.armed.is_some() { Rule::Plain } else { Rule::IfArmed };
        self.leaves.armed = Some(false);
        self.emit(ScannedEvent { time, what, lane: self.lane, rule }, at, out);
    }

    fn stop(&mut self, plan: &Plan, bytes: &[u8], frame: &Frame, at: usize, out: &mut Vec<ScannedEvent>) {
        let payload = bytes.get(frame.body..frame.next).unwrap_or_default();
        let time = frame.time;
        let Record::StopThread { thread, status, info } = Record::decode(super::tags::STOP_THREAD, payload) else {
            return;
        };
        let pending = Pending { time, thread, status, info: info.unwrap_or(0) };
        if plan.green {
            self.emit(pending.item(self.lane), at, out);
        } else {
            self.leaves.pending = Some(Some(pending));
        }
    }

    /// The lane has stopped: a pending stop is the last one before a collection.
    fn collection(&mut self, action: u8, time: u64, at: usize, out: &mut Vec<ScannedEvent>) {
        match self.leaves.pending.replace(None) {
            Some(Some(pending)) => self.emit(pending.item(self.lane), at, out),
            Some(None) => {}
            None => {
                let what = Runtime::GlobalSync;
                self.emit(ScannedEvent { time, what, lane: self.lane, rule: Rule::TakePending }, at, out);
            }
        }
        if action == action::EDGE {
            self.leaves.armed = Some(true);
        }
    }

    fn import(&mut self, plan: &Plan, record: &Record<'_>, time: u64, at: usize, out: &mut Vec<ScannedEvent>) {
        if let Some(profile) = plan.labels.event(record) {
            let what = Runtime::HeapProfile(profile);
            return self.emit(ScannedEvent { time, what, lane: self.lane, rule: Rule::Plain }, at, out);
        }
        import::import(record, self.lane, |lane, what| {
            self.emit(ScannedEvent { time, what, lane, rule: Rule::Plain }, at, out);
        });
    }

    /// Decides how to continue after a window was scanned.
    fn after(
        &mut self,
        plan: &Plan,
        stop: Option<NoFrame>,
        used: usize,
        got: usize,
        whole: bool,
        shrunk: bool,
    ) -> Step {
        let left = self.end.saturating_sub(self.at);
        match stop {
            None => {
                self.want = (used + used / 8).clamp(WINDOW_MIN, WINDOW);
                return Step::More;
            }
            Some(NoFrame::Cut) if !whole => {
                // A record larger than the window: read more at once.
                let most = if used == 0 { 2 * IPE_MAX } else { WINDOW };
                self.want = (got * 2).min(most);
                if used > 0 || got < 2 * IPE_MAX {
                    return Step::More;
                }
                self.lose(LossKind::Damaged, left, "a record that does not end".to_string());
            }
            Some(NoFrame::Cut) if left == 0 || shrunk => {}
            Some(NoFrame::Cut) if self.block.end == BlockEnd::Whole => {
                self.lose(LossKind::Damaged, left, "its last record reaches over its end".to_string());
            }
            Some(NoFrame::Cut) => {}
            Some(NoFrame::End) if left <= 2 || self.block.end != BlockEnd::Whole => {}
            Some(NoFrame::End) => {
                self.lose(LossKind::Damaged, left, "an end-of-data mark inside the block".to_string());
            }
            Some(NoFrame::Undeclared(tag)) => {
                let what = if plan.table.declares(tag) { "does not belong" } else { "is not declared by the header" };
                self.lose(LossKind::Damaged, left, format!("tag {tag}, which {what} at byte {}", self.at));
            }
        }
        self.finish();
        Step::Done
    }

    fn finish(&mut self) {
        if let BlockEnd::Cut(missing) = self.block.end {
            let note =
                "the log ends inside this block: the program was killed, the disk was full, or the copy is incomplete";
            self.lose(LossKind::Truncated, u64::from(missing), note.to_string());
        }
        if self.strange > 0 {
            let note = format!("{} records with impossible times, the last at byte {}", self.strange, self.strange_at);
            self.lose(LossKind::Damaged, self.strange * RECORD_HEAD as u64, note);
        }
        self.leaves.settled = self.at.saturating_sub(self.last_emitted) > SETTLED_BYTES;
        self.leaves.last = Some(self.last);
    }

    fn lose(&mut self, kind: LossKind, count: u64, what: String) {
        let Block { cap, offset, len, source, t_end, .. } = self.block;
        let of = if source == 0 { "the log" } else { "an unflushed buffer" };
        let buffer = if cap == super::index::GLOBAL { "the global buffer".into() } else { format!("capability {cap}") };
        let note = format!("{what} (block of {buffer}, bytes {offset} to {} of {of})", offset + u64::from(len));
        let to = (t_end != 0).then_some(t_end.max(self.last));
        self.leaves.losses.push(RawLoss { kind, count, from: Some(self.last), to, note });
    }

    /// Holds back items that a later stamp may precede.
    fn publish(&mut self, step: Step, out: &mut Vec<ScannedEvent>) {
        if step == Step::Done {
            return;
        }
        let mut keep = out.len();
        if self.at.saturating_sub(self.last_emitted) <= SETTLED_BYTES {
            keep = keep.saturating_sub(REORDER);
        }
        if let Some(Some(pending)) = self.leaves.pending {
            keep = keep.min(held_from(out, pending.time, REORDER));
        }
        self.carry.extend(out.drain(keep..));
    }
}
