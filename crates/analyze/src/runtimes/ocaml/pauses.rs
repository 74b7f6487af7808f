//! Recognises OCaml 5's stop-the-world sections. Owns the order in which the runtime
//! posts them (checked against rings of 5.3.0 and 5.4.1; 5.0 to 5.2 by source):
//!
//! ```text
//! leader    Lead … Barrier … Minor LeaveBarrier [CycleEnd] … /Lead
//! follower       Follow Barrier … Minor LeaveBarrier [CycleEnd] … /Follow
//! ```
//!
//! A follower's `Follow` is its arrival. The leader's own arrival is its `Barrier`, which runtimes up to 5.2 do not
//! post: there the leader is assumed to have arrived with its request. All have stopped with the last arrival. The
//! work is done when the first lane is through `LeaveBarrier`, which opens when all have collected: the lane that
//! opens it still has to post that, and may lose its CPU to lanes that it wakes. At the end of a major cycle and in a
//! compaction the work is done when the last lane is done. A lane has left when its part of the section ends. It
//! leaves before it posts that: its end may be stamped after the next request, and counts only up to that request.
//! After a gap in a lane's events everything is doubted until a section begins that was seen whole. Refuses to know
//! threads, causes, and what a lane waited for before it could lead.

use crate::kernel::lane_thread::LaneMarks;
use crate::pauses::unfinished::Unfinished;
use crate::pauses::work::LaneWork;
use crate::pauses::{Recognise, Recognised};
use rtscope_model::{
    Body, Counter, Event, LaneId, LanePause, Loss, Pause, PauseKind, PauseMode, PauseQuality, Phase, ReleaseBasis,
    Runtime, Time,
};
use std::collections::BTreeMap;

/// What is known of a lane between sections.
#[derive(Default)]
struct DomainLane {
    off: bool,
    /// Its thread waits on a condition, so its backup thread answers.
    waits: bool,
}

/// One lane's part in a section.
#[derive(Default)]
struct LaneSection {
    arrived: Option<Time>,
    ended: Option<Time>,
    work: LaneWork,
    /// When it was through the barrier after a minor collection.
    through: Option<Time>,
    waited: bool,
}

#[derive(Default)]
struct Section {
    id: u64,
    leader: Option<LaneId>,
    requested: Option<Time>,
    /// The next request: this section ends there at the latest.
    cap: Option<Time>,
    parts: BTreeMap<LaneId, LaneSection>,
    kind: PauseKind,
    promoted_bytes: Option<u64>,
    doubtful: bool,
}

impl Section {
    fn begin(&self) -> Option<Time> {
        self.requested.or_else(|| self.parts.values().filter_map(|part| part.arrived).min())
    }

    fn inside(&mut self, lane: LaneId) -> Option<&mut LaneSection> {
        self.parts.get_mut(&lane).filter(|part| part.ended.is_none())
    }

    /// All followers have arrived before any lane can have left.
    fn all_left(&self) -> bool {
        self.parts.values().all(|part| part.ended.is_some())
    }

    /// Whether more of it was seen than its request.
    fn took_place(&self) -> bool {
        let took_part = |(lane, part): (&LaneId, &LaneSection)| self.leader != Some(*lane) && part.arrived.is_some();
        self.parts.iter().any(took_part) || self.parts.values().any(|part| part.work.begin.is_some())
    }

    /// Notes that the section does more than was known so far.
    fn does(&mut self, kind: PauseKind) {
        let rank = |kind| match kind {
            PauseKind::Compaction => 4,
            PauseKind::Major => 3,
            PauseKind::Minor => 2,
            PauseKind::Layout => 1,
            PauseKind::ConcurrentSync | PauseKind::Unknown => 0,
        };
        if rank(kind) > rank(self.kind) {
            self.kind = kind;
        }
    }
}

#[derive(Default)]
pub struct Recogniser {
    lanes: BTreeMap<LaneId, DomainLane>,
    /// Largest number of lanes that were on at once.
    lanes_most: usize,
    /// Requested or at work.
    open: Option<Section>,
    /// The previous section: some lane has not posted yet that it has left.
    closing: Option<Section>,
    next_id: u64,
    unfinished: Unfinished,
}

impl Recognise for Recogniser {
    fn oldest(&self) -> Option<Time> {
        let open = self.open.as_ref().and_then(Section::begin);
        let closing = self.closing.as_ref().and_then(Section::begin);
        [open, closing].into_iter().flatten().min()
    }

    fn lanes_on(&self) -> usize {
        self.lanes.values().filter(|lane| !lane.off).count()
    }

    /// A program joins its domains before it ends, so this is the largest number that lived at once.
    fn lanes_in_the_end(&self) -> usize {
        self.lanes_most
    }

    fn push(&mut self, event: &Event, out: &mut Vec<Recognised>) {
        let Body::Runtime(body) = event.body else { return };
        let (lane, time) = (event.lane, event.time);
        if !lane.is_some() {
            return;
        }
        if !self.lanes.contains_key(&lane) {
            self.switch(lane, false);
        }
        match body {
            Runtime::PhaseBegin(phase) => self.begins(lane, time, phase, out),
            Runtime::PhaseEnd(phase) => self.ends(lane, time, phase),
            Runtime::Count(Counter::PromotedBytes, bytes) => {
                if let Some(section) = self.section_of(lane) {
                    section.promoted_bytes = Some(section.promoted_bytes.unwrap_or(0).saturating_add(bytes));
                }
            }
            Runtime::LaneCreated => self.switch(lane, false),
            Runtime::LaneDeleted => {
                self.leaves(lane, time);
                self.switch(lane, true);
            }
            Runtime::Gap => self.gap(lane, time),
            _ => return,
        }
        if self.closing.as_ref().is_some_and(Section::all_left) {
            self.close(out);
        }
        if self.closing.is_none() && self.open.as_ref().is_some_and(Section::all_left) {
            self.closing = self.open.take();
            self.close(out);
        }
    }

    fn finish(&mut self, _: Time, out: &mut Vec<Recognised>) -> Option<Loss> {
        self.close(out);
        if let Some(mut open) = self.open.take() {
            open.doubtful = true;
            if open.parts.values().any(|part| part.work.begin.is_some()) {
                self.closing = Some(open);
                self.close(out);
            }
            // A section that was only requested is not a loss: the runtime's last section removes the rings.
        }
        self.unfinished.loss("rings")
    }
}

impl Recogniser {
    fn switch(&mut self, lane: LaneId, off: bool) {
        *self.lanes.entry(lane).or_default() = DomainLane { off, waits: false };
        self.lanes_most = self.lanes_most.max(self.lanes_on());
    }

    /// The section that `lane` is in.
    fn section_of(&mut self, lane: LaneId) -> Option<&mut Section> {
        let mut sections = [&mut self.closing, &mut self.open].into_iter().flatten();
        sections.find(|section| section.parts.get(&lane).is_some_and(|part| part.ended.is_none()))
    }

    fn part_of(&mut self, lane: LaneId) -> Option<&mut LaneSection> {
        self.section_of(lane)?.inside(lane)
    }

    fn begins(&mut self, lane: LaneId, time: Time, phase: Phase, out: &mut Vec<Recognised>) {
        match phase {
            Phase::Lead => self.requested(lane, time, out),
            Phase::Follow => self.arrives(lane, time),
            Phase::Condition => self.lanes.entry(lane).or_default().waits = true,
            Phase::Barrier => {
                if let Some(part) = self.part_of(lane) {
                    part.arrived.get_or_insert(time);
                    part.work.mark(time);
                }
            }
            Phase::Minor | Phase::CycleEnd | Phase::Compact => {
                let Some(section) = self.section_of(lane) else { return };
                section.does(kind(phase));
                let Some(part) = section.inside(lane) else { return };
                part.work.start(time);
                part.work.mark(time);
            }
            Phase::Resize => {
                if let Some(section) = self.section_of(lane) {
                    section.does(PauseKind::Layout);
                }
            }
            Phase::LeaveBarrier => {
                if let Some(part) = self.part_of(lane) {
                    part.work.mark(time);
                }
            }
            _ => {}
        }
    }

    fn ends(&mut self, lane: LaneId, time: Time, phase: Phase) {
        match phase {
            Phase::Lead | Phase::Follow => self.leaves(lane, time),
            Phase::Condition => self.lanes.entry(lane).or_default().waits = false,
            Phase::Minor | Phase::CycleEnd | Phase::Compact => {
                if let Some(part) = self.part_of(lane) {
                    part.work.pause(time);
                    part.work.mark(time);
                }
            }
            Phase::Barrier | Phase::LeaveBarrier => {
                if let Some(part) = self.part_of(lane) {
                    part.work.mark(time);
                    if phase == Phase::LeaveBarrier {
                        part.through.get_or_insert(time);
                    }
                }
            }
            _ => {}
        }
    }

    fn new_section(&mut self, leader: Option<LaneId>, requested: Option<Time>) -> Section {
        self.next_id += 1;
        Section { id: self.next_id - 1, leader, requested, doubtful: leader.is_none(), ..Section::default() }
    }

    /// A lane has become leader: all have left the previous section.
    fn requested(&mut self, lane: LaneId, time: Time, out: &mut Vec<Recognised>) {
        self.close(out);
        if let Some(mut open) = self.open.take() {
            open.cap = Some(time);
            if open.took_place() {
                self.closing = Some(open);
            } else {
                self.unfinished.add(open.begin().unwrap_or(time), time);
            }
        }
        let mut section = self.new_section(Some(lane), Some(time));
        section.parts.entry(lane).or_default().work.mark(time);
        self.open = Some(section);
    }

    fn arrives(&mut self, lane: LaneId, time: Time) {
        let waited = self.lanes.get(&lane).is_some_and(|lane| lane.waits);
        // Without a request: it was lost, or the stream begins here.
        if self.open.is_none() {
            let lost = self.new_section(None, None);
            self.open = Some(lost);
        }
        let Some(open) = &mut self.open else { return };
        if open.parts.contains_key(&lane) {
            open.doubtful = true;
            return;
        }
        let part = open.parts.entry(lane).or_default();
        (part.arrived, part.waited) = (Some(time), waited);
        part.work.mark(time);
    }

    fn leaves(&mut self, lane: LaneId, time: Time) {
        if let Some(part) = self.part_of(lane) {
            part.work.pause(time);
            part.ended = Some(time);
            part.work.mark(time);
        }
    }

    /// Events of `lane` were lost: if it was inside, it may have left and come back.
    fn gap(&mut self, lane: LaneId, time: Time) {
        for section in [&mut self.closing, &mut self.open].into_iter().flatten() {
            section.doubtful = true;
        }
        self.leaves(lane, time);
        self.lanes.entry(lane).or_default().waits = false;
    }

    /// Hands the closing section to `out`.
    fn close(&mut self, out: &mut Vec<Recognised>) {
        let Some(section) = self.closing.take() else { return };
        let Some(pause) = pause(&section) else { return };
        let marks = section.parts.into_iter().map(|(lane, part)| LaneMarks {
            lane,
            collection: part.work.marks,
            waited: part.waited,
            ..LaneMarks::default()
        });
        out.push(Recognised { pause, marks: marks.collect() });
    }
}

fn kind(phase: Phase) -> PauseKind {
    match phase {
        Phase::Compact => PauseKind::Compaction,
        Phase::CycleEnd => PauseKind::Major,
        _ => PauseKind::Minor,
    }
}

fn pause(section: &Section) -> Option<Pause> {
    let parts = &section.parts;
    let first = section.begin()?;
    let cap = section.cap.unwrap_or(Time(u64::MAX));
    let stopped = parts.values().filter_map(|part| part.arrived).max().unwrap_or(first).max(first).min(cap);
    let left = |part: &LaneSection| part.ended.map(|ended| ended.min(cap).max(stopped));
    let last_left = parts.values().filter_map(left).max();
    let through = parts.values().filter_map(|part| part.through).min().filter(|_| section.kind == PauseKind::Minor);
    let worked = through.or_else(|| parts.values().filter_map(|part| part.work.end).max());
    // Of a section without collections only the ends are known.
    let collected = worked.or(last_left).unwrap_or(stopped).min(cap).max(stopped);
    let lanes: Vec<LanePause> = parts
        .iter()
        .map(|(lane, part)| LanePause {
            lane: *lane,
            tid: None,
            arrived: part.arrived.filter(|_| section.leader != Some(*lane)),
            work_begin: part.work.begin,
            work_end: part.work.end.map(|end| end.min(collected)),
            work_ns: part.work.ns.saturating_sub(part.work.end.map_or(0, |end| end.since(collected))),
            left: left(part).map(|left| left.max(collected)),
        })
        .collect();
    let arrivals = lanes.iter().filter_map(|lane| Some((lane.arrived?, lane.lane)));
    let generation = match section.kind {
        PauseKind::Minor => Some(0),
        PauseKind::Major => Some(1),
        _ => None,
    };
    let whole = !section.doubtful && parts.values().all(|part| part.ended.is_some() && !part.work.continues());
    Some(Pause {
        id: section.id,
        kind: section.kind,
        mode: PauseMode::Parallel,
        generation,
        leader: section.leader,
        requested: section.requested.map(|requested| requested.min(stopped)),
        stopped,
        collected,
        released: lanes.iter().filter_map(|lane| lane.left).max().unwrap_or(collected),
        release_basis: ReleaseBasis::BackAtWork,
        straggler: arrivals.max().map(|(_, lane)| lane),
        copied_bytes: section.promoted_bytes,
        gc_threads: Some(lanes.iter().filter(|lane| lane.work_begin.is_some()).count() as u32),
        lanes,
        quality: if whole { PauseQuality::Whole } else { PauseQuality::Partial },
    })
}

#[cfg(test)]
#[path = "pauses_tests.rs"]
mod tests;
