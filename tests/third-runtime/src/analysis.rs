//! Turns pebble's events into pauses. A hollow requests a pause, each hollow reports that it has
//! stopped, works and resumes; nothing is sequential, and nothing is left out.

use crate::{PEBBLE, rule};
use rtscope_analyze::Context;
use rtscope_analyze::findings::Rule;
use rtscope_analyze::kernel::lane_thread::LaneMarks;
use rtscope_analyze::pauses::{Recognise, Recognised};
use rtscope_analyze::runtimes::Support;
use rtscope_model::{
    Body, Event, LaneId, LanePause, Loss, Pause, PauseKind, PauseMode, PauseQuality, ReleaseBasis, Runtime,
    RuntimeInfo, Time,
};
use std::collections::BTreeMap;

/// Pebble's analysis.
pub struct Analysis;

impl Support for Analysis {
    fn info(&self) -> &'static RuntimeInfo {
        &PEBBLE
    }

    fn recogniser(&self, _: &Context) -> Box<dyn Recognise> {
        Box::<Gatherings>::default()
    }

    fn rules(&self) -> &'static [&'static Rule] {
        &rule::RULES
    }
}

/// One hollow's part of a pause.
#[derive(Default)]
struct Part {
    stopped: Option<Time>,
    work: Option<(Time, Time)>,
    resumed: Option<Time>,
}

/// A gathering that has not ended.
struct Open {
    leader: LaneId,
    requested: Time,
    parts: BTreeMap<LaneId, Part>,
}

/// Recognizes gatherings.
#[derive(Default)]
struct Gatherings {
    hollows: usize,
    open: Option<Open>,
    next: u64,
}

impl Gatherings {
    fn close(&mut self, out: &mut Vec<Recognised>) {
        let Some(Open { leader, requested, parts }) = self.open.take() else { return };
        let Some(stopped) = parts.values().filter_map(|part| part.stopped).max() else { return };
        let worked = parts.values().filter_map(|part| part.work.map(|work| work.1)).max();
        let collected = worked.unwrap_or(stopped).max(stopped);
        let lane = |(lane, part): (&LaneId, &Part)| LanePause {
            lane: *lane,
            tid: None,
            arrived: part.stopped.filter(|_| *lane != leader),
            work_begin: part.work.map(|work| work.0),
            work_end: part.work.map(|work| work.1),
            work_ns: part.work.map_or(0, |work| work.1.since(work.0)),
            left: part.resumed.map(|at| at.max(collected)),
        };
        let lanes: Vec<LanePause> = parts.iter().map(lane).collect();
        let last = parts.iter().max_by_key(|(_, part)| part.stopped).map(|(lane, _)| *lane);
        let pause = Pause {
            id: self.next,
            kind: PauseKind::Major,
            mode: PauseMode::Parallel,
            generation: None,
            leader: Some(leader),
            requested: Some(requested.min(stopped)),
            stopped,
            collected,
            released: lanes.iter().filter_map(|part| part.left).max().unwrap_or(collected),
            release_basis: ReleaseBasis::BackAtWork,
            straggler: last,
            copied_bytes: None,
            gc_threads: Some(lanes.iter().filter(|part| part.work_begin.is_some()).count() as u32),
            quality: match lanes.iter().all(|part| part.left.is_some()) {
                true => PauseQuality::Whole,
                false => PauseQuality::Partial,
            },
            lanes,
        };
        self.next += 1;
        let marks = parts.keys().map(|lane| LaneMarks { lane: *lane, ..LaneMarks::default() }).collect();
        out.push(Recognised { pause, marks });
    }
}

impl Recognise for Gatherings {
    fn push(&mut self, event: &Event, out: &mut Vec<Recognised>) {
        let Body::Runtime(body) = event.body else { return };
        match body {
            Runtime::LaneCreated => self.hollows += 1,
            Runtime::StopRequested { .. } => {
                self.close(out);
                self.open = Some(Open { leader: event.lane, requested: event.time, parts: BTreeMap::new() });
            }
            _ => {}
        }
        let Some(open) = &mut self.open else { return };
        match body {
            Runtime::Stopped => open.parts.entry(event.lane).or_default().stopped = Some(event.time),
            Runtime::WorkBegin => {
                open.parts.entry(event.lane).or_default().work = Some((event.time, event.time));
            }
            Runtime::WorkEnd => {
                if let Some(work) = &mut open.parts.entry(event.lane).or_default().work {
                    work.1 = event.time;
                }
            }
            Runtime::Resumed => open.parts.entry(event.lane).or_default().resumed = Some(event.time),
            _ => return,
        }
        if open.parts.len() >= self.hollows && open.parts.values().all(|part| part.resumed.is_some()) {
            self.close(out);
        }
    }

    fn finish(&mut self, _: Time, out: &mut Vec<Recognised>) -> Option<Loss> {
        self.close(out);
        None
    }

    fn oldest(&self) -> Option<Time> {
        self.open.as_ref().map(|open| open.requested)
    }

    fn lanes_on(&self) -> usize {
        self.hollows
    }

    fn lanes_in_the_end(&self) -> usize {
        self.hollows
    }
}
