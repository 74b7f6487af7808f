//! One pause, lane by lane: request, arrival, work, release; under each lane
//! what the kernel did with its thread, and who had the CPU instead.

use super::svg::{Anchor, Svg, WIDTH, round_step, tick_label};
use crate::report::{units, words};
use rtscope_analyze::results::{LaneStates, Results, StateSpan, ThreadState, WorstPause};
use rtscope_model::{LaneId, LanePause, Pause, Time};

const LEFT: f64 = 150.0;
const PLOT_WIDTH: f64 = WIDTH - LEFT - 10.0;
const PHASES: [f64; 2] = [4.0, 18.0];
const LANE_HEIGHT: f64 = 16.0;
const STRIP_HEIGHT: f64 = 11.0;
const ROW: f64 = 40.0;
/// Lanes drawn of one pause.
pub(super) const LANES_MAX: usize = 8;
/// Thread states drawn under one lane.
const SPANS_MAX: usize = 150;

/// The drawing of one pause.
pub(super) fn draw(results: &Results, worst: &WorstPause) -> String {
    let pause = &worst.blamed.pause;
    let lanes = chosen(pause);
    let plot_height = PHASES[1] + 12.0 + lanes.len() as f64 * ROW;
    let mut svg = Svg::new(plot_height + 34.0, &format!("pause {} lane by lane", pause.id));
    let scale = Scale { from: pause.begin(), span: pause.released.since(pause.begin()).max(1) };
    axis(&mut svg, &scale, plot_height);
    phases(&mut svg, &scale, pause);
    for (row, part) in lanes.iter().enumerate() {
        let top = PHASES[0] + PHASES[1] + 14.0 + row as f64 * ROW;
        label(&mut svg, results, pause, part, top);
        lane(&mut svg, &scale, worst, part, top);
        if let Some(states) = worst.states.iter().find(|states| states.lane == part.lane.0) {
            strip(&mut svg, &scale, states, top + LANE_HEIGHT + 1.0);
        }
    }
    svg.finish()
}

struct Scale {
    from: Time,
    span: u64,
}

impl Scale {
    fn x(&self, at: Time) -> f64 {
        LEFT + PLOT_WIDTH * (at.since(self.from) as f64 / self.span as f64).min(1.0)
    }

    /// The box of `[from, to]`, at least wide enough to be seen.
    fn frame(&self, from: Time, to: Time, top: f64, height: f64) -> [f64; 4] {
        let (left, right) = (self.x(from), self.x(to));
        [left, top, (right - left).max(1.2), height]
    }
}

/// The lanes that tell the story: the straggler, the leader, who left last,
/// then by arrival.
fn chosen(pause: &Pause) -> Vec<&LanePause> {
    let last_left = pause.lanes.iter().max_by_key(|part| part.left).map(|part| part.lane);
    let rank = |part: &LanePause| {
        let lane = Some(part.lane);
        let first = lane == pause.straggler || lane == pause.leader || lane == last_left;
        (!first, std::cmp::Reverse(part.arrived), part.lane)
    };
    let mut lanes: Vec<_> = pause.lanes.iter().collect();
    lanes.sort_by_key(|part| rank(part));
    lanes.truncate(LANES_MAX);
    lanes.sort_by_key(|part| part.lane);
    lanes
}

fn axis(svg: &mut Svg, scale: &Scale, height: f64) {
    let step = round_step(scale.span as f64, 7.0).max(1.0);
    let mut tick = 0.0;
    while tick <= scale.span as f64 {
        let x = LEFT + PLOT_WIDTH * tick / scale.span as f64;
        svg.line([x, PHASES[0], x, height], "grid");
        // The last label stays inside the drawing.
        let anchor = if x > WIDTH - 40.0 { Anchor::End } else { Anchor::Middle };
        let label = if tick == 0.0 { "request".into() } else { format!("+{}", tick_label(tick)) };
        svg.text(x, height + 16.0, anchor, "tick", &label);
        tick += step;
    }
}

/// The whole pause in its three phases, on top.
fn phases(svg: &mut Svg, scale: &Scale, pause: &Pause) {
    let [top, height] = PHASES;
    svg.text(LEFT - 8.0, top + 13.0, Anchor::End, "strong", "pause");
    let parts = [
        ("stop", "stop", pause.begin(), pause.stopped),
        ("collect", "collect", pause.stopped, pause.collected),
        ("release", "release", pause.collected, pause.released),
    ];
    for (class, name, from, to) in parts {
        if to <= from {
            continue;
        }
        let text = format!("{name} {}", units::duration(to.since(from)));
        let frame = scale.frame(from, to, top, height);
        svg.rect(frame, class, &text);
        svg.text_inside(frame, "on-dark", &text);
    }
    for at in [pause.stopped, pause.collected] {
        let bottom = top + height + 10.0 + ROW * pause.lanes.len().min(LANES_MAX) as f64;
        svg.line([scale.x(at), top + height, scale.x(at), bottom], "mark");
    }
}

fn label(svg: &mut Svg, results: &Results, pause: &Pause, part: &LanePause, top: f64) {
    let name = lane_name(results, part.lane);
    svg.text(LEFT - 8.0, top + 12.0, Anchor::End, "tick", &crate::style::shorten(&crate::style::clean(&name), 20));
    let mut notes = Vec::new();
    if Some(part.lane) == pause.straggler {
        notes.push("stopped last".to_string());
    } else if Some(part.lane) == pause.leader {
        notes.push("asked".to_string());
    }
    if let Some(tid) = part.tid {
        notes.push(format!("tid {tid}"));
    }
    svg.text(LEFT - 8.0, top + 26.0, Anchor::End, "faint", &notes.join(", "));
}

/// What a lane is called.
pub(super) fn lane_name(results: &Results, lane: LaneId) -> String {
    let known = results.lanes.iter().find(|known| known.id == lane.0);
    known.map_or_else(|| format!("lane {lane}"), |known| known.name.clone())
}

/// One lane: not yet stopped, waiting, working, going on.
fn lane(svg: &mut Svg, scale: &Scale, worst: &WorstPause, part: &LanePause, top: f64) {
    let pause = &worst.blamed.pause;
    let straggler = Some(part.lane) == pause.straggler;
    if let Some(arrived) = part.arrived {
        let frame = scale.frame(pause.begin(), arrived, top, LANE_HEIGHT);
        let text = format!("stopped after {}", units::duration(arrived.since(pause.begin())));
        svg.rect(frame, if straggler { "stop" } else { "stop-early" }, &text);
        if straggler {
            svg.text_inside(frame, "on-dark", &format!("the others wait: {text}"));
        }
        let wait = scale.frame(arrived, pause.stopped, top + LANE_HEIGHT / 2.0 - 1.0, 2.0);
        if pause.stopped > arrived {
            svg.rect(wait, "wait", &format!("waits {} for the others", units::duration(pause.stopped.since(arrived))));
        }
    }
    if let (Some(begin), Some(end)) = (part.work_begin, part.work_end) {
        let frame = scale.frame(begin, end, top, LANE_HEIGHT);
        svg.rect(frame, "collect", &format!("collects {}", units::duration(part.work_ns)));
    }
    if let Some(left) = part.left.filter(|left| *left > pause.collected) {
        let frame = scale.frame(pause.collected, left, top, LANE_HEIGHT);
        svg.rect(frame, "release", &format!("back after {}", units::duration(left.since(pause.collected))));
    }
}

/// The kernel's states of the lane's thread.
fn strip(svg: &mut Svg, scale: &Scale, states: &LaneStates, top: f64) {
    for span in joined(&states.spans, scale) {
        let class = match span.state {
            ThreadState::Running => "k-running",
            ThreadState::Runnable => "k-runnable",
            ThreadState::Sleeping => "k-sleeping",
            ThreadState::Blocked => "k-blocked",
            ThreadState::Unknown => "k-unknown",
        };
        let who = span.who.as_deref().map(|who| format!(", {who} has it")).unwrap_or_default();
        let words = format!("{}{who}", words::state(span.state));
        let frame = scale.frame(span.from, span.to, top, STRIP_HEIGHT);
        svg.rect(frame, class, &format!("{words}: {}", units::duration(span.to.since(span.from))));
        let dark = matches!(span.state, ThreadState::Running | ThreadState::Runnable | ThreadState::Blocked);
        svg.text_inside(
            [frame[0], frame[1] - 0.8, frame[2], frame[3]],
            if dark { "on-dark small" } else { "on-pale small" },
            &words,
        );
    }
}

/// Spans too short to be seen go into their left neighbour, so that a thread
/// that switches often does not fill the page.
fn joined(spans: &[StateSpan], scale: &Scale) -> Vec<StateSpan> {
    let visible = scale.span / 1200;
    let mut out: Vec<StateSpan> = Vec::new();
    for span in spans {
        match out.last_mut() {
            Some(last) if span.to.since(span.from) < visible || same(span, last) => last.to = span.to,
            _ => out.push(span.clone()),
        }
    }
    out.truncate(SPANS_MAX);
    out
}

/// Same state, same taker: one span.
fn same(span: &StateSpan, last: &StateSpan) -> bool {
    span.state == last.state && span.who == last.who
}
