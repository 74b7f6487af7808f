//! The page's figures as JSON, so that a browser bundle can draw from the page itself without further requests. Lists
//! are cut to what fits; what was left out is counted.

use crate::pauses_json::PauseLine;
use rtscope_analyze::results::{LaneStates, MemoryLine, Results, WorstPause};
use rtscope_draw::escape::json_in_script;
use rtscope_model::Names;
use serde_json::{Value, json};

/// Schema of the embedded document.
const SCHEMA: &str = "rtscope/page/1";
/// Maximum elements of any list.
const LIST_MAX: usize = 200;
/// Maximum slices, and points of a line.
const POINTS_MAX: usize = 1000;

/// The document for a script element, in at most `room` bytes: without the drawing if it would be longer, and an
/// empty object if even that does not fit. `left_out` counts elements that were left out of lists.
pub(super) fn embedded(results: &Results, names: &Names, room: usize) -> String {
    let mut left_out = 0;
    let mut cut = clipped(results, &mut left_out);
    let fits = |left_out: u64, results: &Results, drawing: &Value| {
        let document = json!({ "schema": SCHEMA, "left_out": left_out, "results": results, "drawing": drawing });
        let json = json_in_script(&document.to_string());
        (json.len() <= room).then_some(json)
    };
    let bare = json!({ "over_time": [], "memory": [], "worst": [] });
    let found = fits(left_out, &cut, &drawing(results, names)).or_else(|| fits(left_out + 1, &cut, &bare));
    let found = found.or_else(|| {
        left_out += std::mem::take(&mut cut.heaps).len() as u64;
        fits(left_out + 1, &cut, &bare)
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
    cut_results.sparks.iter_mut().for_each(|sparks| cut(&mut sparks.lanes, left_out));
    cut(&mut cut_results.user, left_out);
    cut_results.counters.iter_mut().for_each(|counter| cut(&mut counter.points, left_out));
    cut(&mut cut_results.stragglers, left_out);
    cut(&mut cut_results.causes, left_out);
    cut(&mut cut_results.findings, left_out);
    cut(&mut cut_results.heaps, left_out);
    cut_results.code.iter_mut().for_each(|code| cut(&mut code.top, left_out));
    cut(&mut cut_results.losses, left_out);
    cut(&mut cut_results.kernel.notes, left_out);
    cut_results.green_threads.iter_mut().for_each(|green| cut(&mut green.lanes, left_out));
    cut_results
}

fn drawing(results: &Results, names: &Names) -> Value {
    let drawing = &results.drawing;
    // Points are pairs of nanoseconds and bytes.
    let line = |line: &MemoryLine| {
        let every = line.points.len().div_ceil(POINTS_MAX).max(1);
        json!({ "name": line.name, "points": line.points.iter().step_by(every).collect::<Vec<_>>() })
    };
    let states = |of: &LaneStates| json!({ "lane": of.lane, "tid": of.tid, "spans": first(&of.spans, LIST_MAX) });
    let worst = |worst: &WorstPause| {
        let pause = PauseLine::new(&worst.blamed, names, &drawing.symbols);
        json!({ "pause": pause, "states": first(&worst.states, LIST_MAX).iter().map(states).collect::<Value>() })
    };
    json!({
        "over_time": first(&drawing.over_time, POINTS_MAX),
        "memory": drawing.memory.iter().map(line).collect::<Value>(),
        "worst": first(&drawing.worst, crate::drawings::waterfall::WORST_MAX).iter().map(worst).collect::<Value>(),
    })
}

fn first<T>(list: &[T], most: usize) -> &[T] {
    list.get(..most).unwrap_or(list)
}
