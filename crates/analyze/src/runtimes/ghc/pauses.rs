//! Recognises GHC's stop-the-world collections. Owns the order in which GHC
//! posts them (checked against logs of 9.0.2; the same by source up to 9.10):
//!
//! ```text
//! leader    StopRequested … Stopped Work… Resumed GlobalSync figures
//! follower            Stopped       Work…         Resumed
//! ```
//!
//! A follower's `Stopped` is its arrival; the leader's means that all have stopped. For a sequential collection, and
//! for lanes that the runtime leaves out of it, nothing is posted. The non-threaded runtime posts no request. A
//! follower may leave so late that the next request is older than its `Resumed`: the pause then ends at that request,
//! so that no moment counts for two pauses. The leader posts its request after it has made it, so a follower's
//! arrival may be older than the request (by microseconds, or by a time slice if the leader loses its CPU in
//! between): it is kept for the request that follows. Refuses to know threads and causes.

use crate::basis::per_lane::PerLane;
use crate::kernel::lane_thread::LaneMarks;
use crate::pauses::unfinished::Unfinished;
use crate::pauses::work::LaneWork;
use crate::pauses::{Recognise, Recognised};
use rtscope_model::{
    Body, Counter, Event, GreenThread, LaneId, LanePause, Loss, Pause, PauseKind, PauseMode, PauseQuality,
    ReleaseBasis, Runtime, StopReason, Time,
};

/// What the recogniser knows of a lane between pauses.
#[derive(Default)]
struct KnownLane {
    off: bool,
    /// Last green thread, when it stopped (`None`: it runs), and whether it would have continued.
    green: Option<(GreenThread, Option<Time>, bool)>,
}

/// One lane's part in an open pause.
#[derive(Default)]
struct LaneStop {
    begun: Option<Time>,
    ended: Option<Time>,
    work: LaneWork,
    /// The thread that the lane had to resume.
    busy: Option<GreenThread>,
    stopped_green: Option<Time>,
    ran: Option<Time>,
}

impl LaneStop {
    fn end(&mut self, time: Time) {
        self.work.pause(time);
        self.ended = Some(time);
        self.work.mark(time);
    }
}

#[derive(Default)]
struct Open {
    id: Option<u64>,
    mode: PauseMode,
    leader: Option<LaneId>,
    requested: Option<Time>,
    stopped: Option<Time>,
    collected: Option<Time>,
    /// The next request: this pause ends there at the latest.
    cap: Option<Time>,
    parts: PerLane<LaneStop>,
    generation: Option<u16>,
    copied_bytes: Option<u64>,
    gc_threads: Option<u32>,
    doubtful: bool,
}

impl Open {
    fn new(mode: PauseMode, leader: Option<LaneId>, requested: Option<Time>, parts: PerLane<LaneStop>) -> Self {
        Open { mode, leader, requested, parts, ..Open::default() }
    }

    fn begin(&self) -> Option<Time> {
        self.requested.or(self.stopped).or_else(|| self.parts.values().filter_map(|p| p.begun).min())
    }

    /// Whether a lane has begun and not ended.
    fn inside(&self, lane: LaneId) -> bool {
        self.parts.get(lane).is_some_and(|part| part.begun.is_some() && part.ended.is_none())
    }

    fn all_left(&self) -> bool {
        // Its figures come one after the other; these two are among the first and the last.
        self.generation.is_some()
            && self.gc_threads.is_some()
            && self.parts.values().all(|part| {
                (part.begun.is_none() || part.ended.is_some()) && (part.busy.is_none() || part.ran.is_some())
            })
    }
}

#[derive(Default)]
pub struct Recogniser {
    threaded: Option<bool>,
    generations: Option<u16>,
    lanes: PerLane<KnownLane>,
    /// Arrivals that no request explains yet, in order of arrival.
    early: Vec<(LaneId, Time)>,
    /// Requested or collecting.
    open: Option<Open>,
    /// Collected; some lanes may not have resumed.
    closing: Option<Open>,
    /// Empty allocation of the last pause's parts, for reuse.
    spare: PerLane<LaneStop>,
    /// The stop of a concurrent collector.
    sync: Option<(u64, Time)>,
    next_id: u64,
    unfinished: Unfinished,
    /// Number of lanes that were on when the program's end shut down the first one.
    before_end: Option<usize>,
}

impl Recogniser {
    pub fn new(threaded: Option<bool>, generations: Option<u16>) -> Self {
        Recogniser { threaded, generations, ..Recogniser::default() }
    }
}

impl Recognise for Recogniser {
    fn oldest(&self) -> Option<Time> {
        let mut oldest = Time(u64::MAX);
        for open in [&self.open, &self.closing].into_iter().flatten() {
            oldest = oldest.min(open.begin().unwrap_or(oldest));
        }
        if let Some((_, from)) = self.sync {
            oldest = oldest.min(from);
        }
        if let Some((_, at)) = self.early.first() {
            oldest = oldest.min(*at);
        }
        (oldest != Time(u64::MAX)).then_some(oldest)
    }

    fn lanes_on(&self) -> usize {
        self.lanes.values().filter(|lane| !lane.off).count()
    }

    fn lanes_in_the_end(&self) -> usize {
        self.before_end.unwrap_or_else(|| self.lanes_on())
    }

    fn push(&mut self, event: &Event, out: &mut Vec<Recognised>) {
        let Body::Runtime(body) = event.body else { return };
        let (lane, time) = (event.lane, event.time);
        if lane.is_some() {
            self.lanes.of(lane);
        }
        match body {
            Runtime::StopRequested { parallel } => self.requested(lane, time, parallel, out),
            Runtime::Stopped => self.begun(lane, time, out),
            Runtime::Resumed => self.ended(lane, time, out),
            Runtime::WorkBegin | Runtime::WorkIdle | Runtime::WorkEnd => self.work(lane, time, body, out),
            Runtime::Count(counter, value) => self.figure(lane, counter, value),
            Runtime::ThreadRun(green) => self.ran(lane, time, green),
            Runtime::ThreadStop(green, reason) => {
                let continues = reason == StopReason::Yielded;
                self.lanes.of(lane).green = Some((green, Some(time), continues));
            }
            Runtime::ThreadMoved(green) => self.moved(lane, green),
            Runtime::LaneDeleted => {
                self.before_end.get_or_insert(self.lanes.values().filter(|lane| !lane.off).count());
                self.lanes.of(lane).off = true;
            }
            Runtime::LaneDisabled => self.lanes.of(lane).off = true,
            Runtime::LaneCreated | Runtime::LaneEnabled => self.lanes.of(lane).off = false,
            // GHC 9 posts each twice; the first one counts.
            Runtime::ConcurrentSyncBegin if self.sync.is_none() => {
                let id = self.new_id();
                self.sync = Some((id, time));
            }
            Runtime::ConcurrentSyncEnd => {
                if let Some((id, from)) = self.sync.take() {
                    out.push(concurrent_sync(id, from, time, PauseQuality::Whole));
                }
            }
            _ => {}
        }
        if may_be_last(body) && self.closing.as_ref().is_some_and(Open::all_left) {
            self.close(out);
        }
    }

    fn finish(&mut self, end: Time, out: &mut Vec<Recognised>) -> Option<Loss> {
        self.request_lost(out);
        self.close(out);
        if let Some((id, from)) = self.sync.take() {
            out.push(concurrent_sync(id, from, end, PauseQuality::Partial));
        }
        if let Some(open) = self.open.take() {
            self.abandon(open, end, out);
        }
        self.unfinished.loss("eventlog")
    }
}

impl Recogniser {
    fn new_id(&mut self) -> u64 {
        self.next_id += 1;
        self.next_id - 1
    }

    fn requested(&mut self, lane: LaneId, time: Time, parallel: bool, out: &mut Vec<Recognised>) {
        self.threaded = Some(true);
        if let Some(open) = self.open.take() {
            self.abandon(open, time, out);
        }
        if let Some(closing) = &mut self.closing {
            closing.cap = Some(time);
            // Lanes without a run until now had not resumed: their part ends here.
            closing.parts.change(|_, part| {
                if part.busy.is_some() && part.ran.is_none() {
                    part.ran = Some(time);
                }
            });
        }
        let mode = if parallel { PauseMode::Parallel } else { PauseMode::Sequential };
        let mut open = Open::new(mode, Some(lane), Some(time), std::mem::take(&mut self.spare));
        open.parts.of(lane).work.mark(time);
        for (lane, arrived) in self.early.drain(..) {
            let part = open.parts.of(lane);
            part.begun = Some(arrived);
            part.work.mark(arrived);
        }
        self.open = Some(open);
    }

    /// Early arrivals without a request belong to a pause whose request was lost.
    fn request_lost(&mut self, out: &mut Vec<Recognised>) {
        if self.early.is_empty() || self.open.is_some() {
            return;
        }
        let mut open = Open::new(PauseMode::Parallel, None, None, std::mem::take(&mut self.spare));
        open.doubtful = true;
        self.open = Some(open);
        for (lane, time) in std::mem::take(&mut self.early) {
            self.begun(lane, time, out);
        }
    }

    /// No end was seen (a gap, or the end of the stream): what is known becomes a partial pause.
    fn abandon(&mut self, mut open: Open, time: Time, out: &mut Vec<Recognised>) {
        if open.stopped.is_none() {
            self.unfinished.add(open.begin().unwrap_or(time), time);
            return;
        }
        self.close(out);
        open.doubtful = true;
        open.collected = Some(time);
        self.closing = Some(open);
        self.close(out);
    }

    fn begun(&mut self, lane: LaneId, time: Time, out: &mut Vec<Recognised>) {
        if self.open.is_none() && self.threaded == Some(true) {
            // Its request follows, or was lost: then only the figures show which lane led.
            if self.early.iter().any(|(early, _)| *early == lane) {
                self.request_lost(out);
            } else {
                return self.early.push((lane, time));
            }
        }
        if self.open.is_none() {
            self.open = Some(Open::new(PauseMode::NonThreaded, Some(lane), None, std::mem::take(&mut self.spare)));
        }
        let Some(open) = &mut self.open else { return };
        let leads = open.leader == Some(lane);
        let lost_request = open.leader.is_none();
        let part = open.parts.of(lane);
        // Twice on one lane, or a second lane where there can be only one.
        if part.begun.is_some() || (open.mode == PauseMode::NonThreaded && !leads) {
            open.doubtful = true;
        }
        part.begun.get_or_insert(time);
        part.work.mark(time);
        if leads || lost_request {
            // Without a request the last begin is the best bound for `stopped`.
            open.stopped = Some(open.stopped.map_or(time, |before| before.max(time)));
            if open.id.is_none() {
                open.id = Some(self.next_id);
                self.next_id += 1;
            }
        }
        if leads {
            // All lanes have stopped, so all have left the previous pause.
            self.close(out);
        }
    }

    fn ended(&mut self, lane: LaneId, time: Time, out: &mut Vec<Recognised>) {
        if let Some(closing) = &mut self.closing
            && closing.inside(lane)
            && !self.open.as_ref().is_some_and(|open| open.inside(lane))
            && let Some(part) = closing.parts.get_mut(lane)
        {
            part.end(time);
            return;
        }
        if self.early.iter().any(|(early, _)| *early == lane) {
            self.request_lost(out);
        }
        let Some(open) = &mut self.open else { return };
        let Some(part) = open.parts.get_mut(lane) else { return };
        if part.begun.is_none() {
            return;
        }
        part.end(time);
        let ends = match open.leader {
            Some(leader) => leader == lane,
            None => open.parts.values().all(|part| part.ended.is_some()),
        };
        if ends && open.stopped.is_some() {
            self.collected(time, out);
        }
    }

    fn collected(&mut self, time: Time, out: &mut Vec<Recognised>) {
        let Some(mut open) = self.open.take() else { return };
        self.close(out);
        open.collected = Some(time);
        for (id, lane) in self.lanes.iter() {
            if lane.off {
                continue;
            }
            let part = open.parts.of(id);
            if let Some((green, stopped, continues)) = lane.green {
                part.busy = (continues || stopped.is_none()).then_some(green);
                part.stopped_green = stopped;
            }
        }
        self.closing = Some(open);
    }

    fn work(&mut self, lane: LaneId, time: Time, body: Runtime, out: &mut Vec<Recognised>) {
        if self.early.iter().any(|(early, _)| *early == lane) {
            self.request_lost(out);
        }
        let Some(open) = &mut self.open else { return };
        let Some(part) = open.parts.get_mut(lane) else { return };
        part.work.mark(time);
        if body == Runtime::WorkBegin {
            part.work.start(time);
        } else {
            part.work.pause(time);
        }
    }

    /// Figures follow the leader's end; in a disturbed order they may come just before it.
    fn figure(&mut self, lane: LaneId, counter: Counter, value: u64) {
        let collecting = self.open.as_mut().filter(|open| open.stopped.is_some());
        let waiting = self.closing.as_mut().filter(|closing| closing.leader.is_none_or(|leader| leader == lane));
        let Some(pause) = waiting.or(collecting) else { return };
        match counter {
            Counter::Generation if pause.generation.is_none() => {
                pause.generation = Some(value.min(u64::from(u16::MAX)) as u16);
                if pause.leader.is_none() {
                    pause.leader = Some(lane);
                    pause.stopped = pause.parts.get(lane).and_then(|part| part.begun).or(pause.stopped);
                }
            }
            Counter::CopiedBytes => pause.copied_bytes = Some(value),
            Counter::GcThreads => pause.gc_threads = Some(value.min(u64::from(u32::MAX)) as u32),
            Counter::Generations => self.generations = Some(value.min(u64::from(u16::MAX)) as u16),
            _ => {}
        }
    }

    /// A thread moved to another lane: its own lane has nothing to resume.
    fn moved(&mut self, lane: LaneId, green: GreenThread) {
        let part = self.closing.as_mut().and_then(|closing| closing.parts.get_mut(lane));
        if let Some(part) = part.filter(|part| part.busy == Some(green) && part.ran.is_none()) {
            part.busy = None;
        }
    }

    fn ran(&mut self, lane: LaneId, time: Time, green: GreenThread) {
        if let Some(closing) = &mut self.closing {
            closing.parts.change(|id, part| {
                if id == lane {
                    part.ran.get_or_insert(time);
                } else if part.busy == Some(green) && part.ran.is_none() {
                    // Its thread moved to another lane: nothing to resume.
                    part.busy = None;
                }
            });
        }
        self.lanes.of(lane).green = Some((green, None, true));
    }

    /// Hands the closing pause to `out`.
    fn close(&mut self, out: &mut Vec<Recognised>) {
        let Some(mut open) = self.closing.take() else { return };
        let (Some(stopped), Some(collected)) = (open.stopped, open.collected) else { return };
        let id = open.id.unwrap_or(self.next_id);
        let pause = self.pause(&open, id, stopped, collected);
        let marks = open.parts.drain().map(|(lane, part)| LaneMarks {
            lane,
            collection: part.work.marks,
            stopped_green: part.stopped_green,
            ran_green: part.ran.filter(|_| part.busy.is_some()),
            waited: false,
        });
        out.push(Recognised { pause, marks: marks.collect() });
        self.spare = open.parts;
    }

    fn pause(&self, open: &Open, id: u64, stopped: Time, collected: Time) -> Pause {
        let collected = collected.max(stopped);
        let cap = open.cap.unwrap_or(Time(u64::MAX)).max(collected);
        let mut released = (collected, ReleaseBasis::LowerBound);
        let mut lanes = Vec::with_capacity(open.parts.len());
        let mut unfinished = false;
        for (lane, part) in open.parts.iter() {
            let back = part.busy.and(part.ran);
            let left = back.or(part.ended).map(|left| left.min(cap));
            unfinished |= part.begun.is_some() && part.ended.is_none();
            if let Some(left) = left {
                let basis = if back.is_some() { ReleaseBasis::BackAtWork } else { ReleaseBasis::LowerBound };
                if left > released.0 || (left == released.0 && basis == ReleaseBasis::BackAtWork) {
                    released = (left, basis);
                }
            }
            lanes.push(LanePause {
                lane,
                tid: None,
                arrived: part.begun.filter(|_| open.leader != Some(lane)),
                work_begin: part.work.begin,
                work_end: part.work.end,
                work_ns: part.work.ns,
                left,
            });
        }
        let oldest = self.generations.map(|count| count.saturating_sub(1));
        let kind = match (open.generation, oldest) {
            (Some(generation), Some(oldest)) if generation >= oldest => PauseKind::Major,
            (Some(_), Some(_)) | (Some(0), None) => PauseKind::Minor,
            (Some(1), None) => PauseKind::Major,
            _ => PauseKind::Unknown,
        };
        let whole = !open.doubtful && !unfinished;
        Pause {
            id,
            kind,
            mode: open.mode,
            generation: open.generation,
            leader: open.leader,
            requested: open.requested.map(|requested| requested.min(stopped)),
            stopped,
            collected,
            released: released.0,
            release_basis: released.1,
            straggler: straggler(open),
            lanes,
            copied_bytes: open.copied_bytes,
            gc_threads: open.gc_threads,
            quality: if whole { PauseQuality::Whole } else { PauseQuality::Partial },
        }
    }
}

/// Whether an event can be the last one of a pause.
fn may_be_last(body: Runtime) -> bool {
    use Counter::{GcThreads, Generation};
    matches!(
        body,
        Runtime::StopRequested { .. }
            | Runtime::Resumed
            | Runtime::ThreadRun(_)
            | Runtime::ThreadMoved(_)
            | Runtime::Count(Generation | GcThreads, _)
    )
}

/// The follower that arrived last.
fn straggler(open: &Open) -> Option<LaneId> {
    let followers = open.parts.iter().filter(|(lane, _)| open.leader != Some(*lane));
    followers.filter_map(|(lane, part)| Some((part.begun?, lane))).max().map(|(_, lane)| lane)
}

/// The stop of a concurrent collector. GHC posts only its two ends. When the last lane stopped in between is not
/// logged, so the time to stop is unknown.
fn concurrent_sync(id: u64, from: Time, to: Time, quality: PauseQuality) -> Recognised {
    let to = to.max(from);
    let pause = Pause {
        id,
        kind: PauseKind::ConcurrentSync,
        mode: PauseMode::Sequential,
        stopped: from,
        collected: to,
        released: to,
        quality,
        ..Pause::default()
    };
    Recognised { pause, marks: Vec::new() }
}

#[cfg(test)]
#[path = "pauses_tests.rs"]
mod tests;
