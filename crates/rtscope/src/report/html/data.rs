//! The page's figures as JSON, so that a browser bundle can draw from the same
//! page without asking anybody. Lists are cut to what fits; what was left out
//! is counted.

use crate::draw::escape::json_in_script;
use crate::report::pauses_json::PauseLine;
use rtscope_analyze::results::{LaneStates, MemoryLine, PauseSlice, Results, StateSpan};
use rtscope_model::{Names, Time};
use serde::Serialize;

/// Schema of the embedded document.
const SCHEMA: &str = "rtscope/page/1";
/// Elements of any list at most.
const LIST_MAX: usize = 200;
/// Slices, and points of a line at most.
const POINTS_MAX: usize = 1000;

#[derive(Serialize)]
struct Data<'r> {
    schema: &'static str,
    /// Elements that were left out of lists.
    left_out: u64,
    results: Results,
    drawing: Drawing<'r>,
}

#[derive(Serialize)]
struct Drawing<'r> {
    over_time: &'r [PauseSlice],
    memory: Vec<Line>,
    worst: Vec<Worst<'r>>,
}

#[derive(Serialize)]
struct Line {
    name: &'static str,
    /// Nanoseconds and bytes.
    points: Vec<(Time, u64)>,
}

#[derive(Serialize)]
struct Worst<'r> {
    pause: PauseLine<'r>,
    states: Vec<States<'r>>,
}

#[derive(Serialize)]
struct States<'r> {
    lane: u16,
    tid: u32,
    spans: &'r [StateSpan],
}

/// The document, ready to stand in a script element; without the drawing where
/// it would be longer than `room`, and an empty object where even that is.
pub(super) fn embedded(results: &Results, names: &Names, room: usize) -> String {
    let mut left_out = 0;
    let cut = clipped(results, &mut left_out);
    let full = Data { schema: SCHEMA, left_out, results: cut.clone(), drawing: drawing(results, names) };
    let bare = Drawing { over_time: &[], memory: Vec::new(), worst: Vec::new() };
    let mut short = Data { schema: SCHEMA, left_out: left_out + 1, results: cut, drawing: bare };
    let fits = |data: &Data<'_>| {
        let json = json_in_script(&serde_json::to_string(data).ok()?);
        (json.len() <= room).then_some(json)
    };
    let found = fits(&full).or_else(|| fits(&short)).or_else(|| {
        short.left_out += std::mem::take(&mut short.results.heaps).len() as u64;
        fits(&short)
    });
    found.unwrap_or_else(|| "{}".into())
}

/// The results with their lists cut.
fn clipped(results: &Results, left_out: &mut u64) -> Results {
    fn cut<T>(list: &mut Vec<T>, left_out: &mut u64) {
        *left_out += list.len().saturating_sub(LIST_MAX) as u64;
        list.truncate(LIST_MAX);
    }
    let mut cut_results = results.clone();
    cut_results.drawing = Default::default();
    cut(&mut cut_results.source.events_by_type, left_out);
    cut(&mut cut_results.runtime.args, left_out);
    cut(&mut cut_results.lanes, left_out);
    cut(&mut cut_results.spectrum, left_out);
    if let Some(sparks) = &mut cut_results.sparks {
        cut(&mut sparks.lanes, left_out);
    }
    cut(&mut cut_results.user, left_out);
    cut_results.counters.iter_mut().for_each(|counter| cut(&mut counter.points, left_out));
    cut(&mut cut_results.stragglers, left_out);
    cut(&mut cut_results.causes, left_out);
    cut(&mut cut_results.findings, left_out);
    cut(&mut cut_results.heaps, left_out);
    cut_results.code.iter_mut().for_each(|code| cut(&mut code.top, left_out));
    cut(&mut cut_results.losses, left_out);
    cut(&mut cut_results.kernel.notes, left_out);
    if let Some(green) = &mut cut_results.green_threads {
        cut(&mut green.lanes, left_out);
    }
    cut_results
}

fn drawing<'r>(results: &'r Results, names: &'r Names) -> Drawing<'r> {
    let drawing = &results.drawing;
    let line = |line: &MemoryLine| {
        let every = line.points.len().div_ceil(POINTS_MAX).max(1);
        Line { name: line.name, points: line.points.iter().step_by(every).copied().collect() }
    };
    let worst = drawing.worst.iter().take(super::svg_waterfall::WORST_MAX).map(|worst| Worst {
        pause: PauseLine::new(&worst.blamed, names, &drawing.symbols),
        states: worst.states.iter().take(LIST_MAX).map(states).collect(),
    });
    Drawing {
        over_time: first(&drawing.over_time, POINTS_MAX),
        memory: drawing.memory.iter().map(line).collect(),
        worst: worst.collect(),
    }
}

fn states(states: &LaneStates) -> States<'_> {
    States { lane: states.lane, tid: states.tid, spans: first(&states.spans, LIST_MAX) }
}

fn first<T>(list: &[T], most: usize) -> &[T] {
    list.get(..most).unwrap_or(list)
}
