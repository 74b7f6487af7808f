//! One pause, lane by lane: request, arrival, work, release; below a lane that others waited for, the causes; below
//! each lane the kernel states of its thread, and which thread had the CPU instead. Parts, words and colours are
//! those of the viewer (`web/app/waterfall.js`, `web/app/palette.css`); a test keeps the two consistent.

use crate::kinds::role;
use crate::{units, words};
use rtscope_analyze::kernel::called;
use rtscope_analyze::results::{LaneStates, Results, StateSpan, ThreadState, WorstPause};
use rtscope_draw::svg::{Anchor, Svg, WIDTH, round_step, tick_label, ticks};
use rtscope_model::text::short;
use rtscope_model::text::word;
use rtscope_model::{Cause, LaneId, LanePause, NameId, Names, Pause, SymbolId, Time};

const LEFT: f64 = 150.0;
const PLOT_WIDTH: f64 = WIDTH - LEFT - 10.0;
const PHASES: [f64; 2] = [4.0, 18.0];
const LANE_HEIGHT: f64 = 16.0;
const STRIP_HEIGHT: f64 = 11.0;
/// Height of the states of a lane with causes: too low for words.
const STRIP_LOW: f64 = 5.0;
/// Heights of a lane with one strip, and with two.
const ROWS: [f64; 2] = [40.0, 46.0];
/// Maximum pauses drawn lane by lane.
pub(crate) const WORST_MAX: usize = 10;
/// Maximum lanes drawn per pause.
pub(crate) const LANES_MAX: usize = 8;
/// Maximum thread states, and causes, drawn under one lane.
const SPANS_MAX: usize = 150;

/// The drawing of one pause; its width stands for `span_ns`.
pub(crate) fn draw(results: &Results, names: &Names, worst: &WorstPause, span_ns: u64) -> String {
    let pause = &worst.blamed.pause;
    let rows: Vec<LaneRow<'_>> =
        chosen(pause).into_iter().map(|part| LaneRow::of(results, names, worst, part, span_ns)).collect();
    let plot_height = PHASES[1] + 12.0 + rows.iter().map(LaneRow::height).sum::<f64>();
    let mut svg = Svg::new(plot_height + 34.0, &sentence(results, names, worst));
    let scale = Scale { from: pause.begin(), span: span_ns.max(1) };
    axis(&mut svg, &scale, plot_height);
    phases(&mut svg, &scale, pause, plot_height);
    let mut top = PHASES[0] + PHASES[1] + 14.0;
    for row in &rows {
        label(&mut svg, results, pause, row.part, top);
        lane(&mut svg, &scale, worst, row.part, top);
        let mut below = top + LANE_HEIGHT + 1.0;
        if !row.why.is_empty() {
            causes(&mut svg, &scale, &row.why, below);
            below += STRIP_HEIGHT + 1.0;
        }
        if let Some(states) = row.states {
            let height = if row.why.is_empty() { STRIP_HEIGHT } else { STRIP_LOW };
            strip(&mut svg, &scale, states, pause.released, [below, height]);
        }
        top += row.height();
    }
    svg.finish()
}

/// The length of a pause, from its first moment to its last.
pub(crate) fn length_ns(worst: &WorstPause) -> u64 {
    worst.blamed.pause.released.since(worst.blamed.pause.begin())
}

/// A lane of the drawing.
struct LaneRow<'w> {
    part: &'w LanePause,
    why: Vec<Why>,
    states: Option<&'w LaneStates>,
}

/// Pieces of a wait that are drawn as one.
struct Why {
    /// Role of the longest piece, as are the words.
    role: &'static str,
    words: String,
    longest_ns: u64,
    /// Whether other pieces have other causes.
    others: bool,
    from: Time,
    to: Time,
}

impl Why {
    /// Whether both have a single cause, and the same one.
    fn same(&self, next: &Why) -> bool {
        self.words == next.words && !self.others && !next.others
    }

    /// Merges the next piece.
    fn join(&mut self, next: Why) {
        self.others |= next.others || self.words != next.words;
        if next.longest_ns > self.longest_ns {
            (self.role, self.words, self.longest_ns) = (next.role, next.words, next.longest_ns);
        }
        self.to = next.to;
    }

    fn label(&self) -> String {
        if self.others { format!("{}, and others", self.words) } else { self.words.clone() }
    }
}

/// Joins adjacent pieces of one cause, and those too short to be seen, until there are few enough.
fn thinned(mut pieces: Vec<Why>, span_ns: u64) -> Vec<Why> {
    let mut visible = span_ns / 1200;
    loop {
        let mut out: Vec<Why> = Vec::new();
        for piece in pieces {
            match out.last_mut().filter(|last| piece.from.since(last.to) <= visible) {
                Some(last) if last.same(&piece) || last.to.since(last.from) < visible => last.join(piece),
                _ => out.push(piece),
            }
        }
        if out.len() <= SPANS_MAX || visible > span_ns {
            out.truncate(SPANS_MAX);
            return out;
        }
        (pieces, visible) = (out, visible.saturating_mul(2).max(1));
    }
}

impl<'w> LaneRow<'w> {
    fn of(results: &Results, names: &Names, worst: &'w WorstPause, part: &'w LanePause, span_ns: u64) -> LaneRow<'w> {
        let begin = worst.blamed.pause.begin();
        let own = worst.blamed.causes.iter().filter(|piece| piece.lane == Some(part.lane) && piece.ns() > 0);
        let pieces = own.map(|piece| Why {
            role: role(piece.cause),
            words: why(results, names, (piece.cause, piece.who, piece.code)),
            longest_ns: piece.ns(),
            others: false,
            from: piece.from.max(begin),
            to: piece.to,
        });
        let why = thinned(pieces.collect(), span_ns);
        LaneRow { part, why, states: worst.states.iter().find(|states| states.lane == part.lane.0) }
    }

    fn height(&self) -> f64 {
        if self.why.is_empty() || self.states.is_none() { ROWS[0] } else { ROWS[1] }
    }
}

/// The cause of a wait in words, and where its code was.
fn why(results: &Results, names: &Names, (cause, thread, code): (Cause, Option<NameId>, Option<SymbolId>)) -> String {
    let thread = thread.map(|thread| names.get(thread)).filter(|thread| !thread.is_empty());
    let words = words::cause(cause, thread);
    match code {
        Some(code) => format!("{words}: {}", called(results.drawing.symbols.get(code))),
        None => words,
    }
}

/// The drawing in a sentence, for screen readers.
fn sentence(results: &Results, names: &Names, worst: &WorstPause) -> String {
    let pause = &worst.blamed.pause;
    let ns = |from: Time, to: Time| units::duration(to.since(from));
    let kind = words::pause_kind(pause.kind);
    let mut parts = vec![format!("Pause {}, a {kind} of {}", pause.id, units::duration(length_ns(worst)))];
    if let Some(requested) = pause.requested {
        parts.push(format!("{} until all had stopped", ns(requested, pause.stopped)));
    }
    parts.push(format!("{} collecting", ns(pause.stopped, pause.collected)));
    parts.push(format!("{} until all ran again", ns(pause.collected, pause.released)));
    parts.extend(worst.blamed.held_up_by().map(|held| {
        let noun = results.runtime.info().lane.0;
        let lane = held.lane.map_or_else(|| format!("a {noun} that is not known"), |lane| format!("{noun} {lane}"));
        let why = why(results, names, (held.cause, held.who, held.code));
        format!("held up by {lane} for {}: {why}", units::duration(held.ns))
    }));
    format!("{}.", parts.join("; "))
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

/// The lanes that matter most: the straggler, the leader, the last to leave, then by arrival.
fn chosen(pause: &Pause) -> Vec<&LanePause> {
    let last_left = pause.lanes.iter().max_by_key(|part| part.left).map(|part| part.lane);
    let mut lanes: Vec<_> = pause.lanes.iter().collect();
    lanes.sort_by_key(|part| {
        let first = [pause.straggler, pause.leader, last_left].contains(&Some(part.lane));
        (!first, std::cmp::Reverse(part.arrived), part.lane)
    });
    lanes.truncate(LANES_MAX);
    lanes.sort_by_key(|part| part.lane);
    lanes
}

fn axis(svg: &mut Svg, scale: &Scale, height: f64) {
    let step = round_step(scale.span as f64, 7.0).max(1.0);
    for tick in ticks(step, scale.span as f64) {
        let x = LEFT + PLOT_WIDTH * tick / scale.span as f64;
        svg.line([x, PHASES[0], x, height], "grid");
        // The last label stays inside the drawing.
        let anchor = if x > WIDTH - 40.0 { Anchor::End } else { Anchor::Middle };
        let label = if tick == 0.0 { "request".into() } else { format!("+{}", tick_label(tick)) };
        svg.text(x, height + 16.0, anchor, "tick", &label);
    }
}

/// The three phases of the whole pause, at the top.
fn phases(svg: &mut Svg, scale: &Scale, pause: &Pause, bottom: f64) {
    let [top, height] = PHASES;
    svg.text(LEFT - 8.0, top + 13.0, Anchor::End, "strong", "pause");
    let parts = [
        (["fill-waiting-to-stop", "on-waiting-to-stop"], "stop", pause.begin(), pause.stopped),
        (["fill-collecting", "on-collecting"], "collect", pause.stopped, pause.collected),
        (["fill-release", "on-release"], "restart", pause.collected, pause.released),
    ];
    for ([fill, on], name, from, to) in parts.into_iter().filter(|(.., from, to)| to > from) {
        let text = format!("{name} {}", units::duration(to.since(from)));
        let frame = scale.frame(from, to, top, height);
        svg.rect(frame, fill, &text);
        svg.text_inside(frame, on, &text);
    }
    for at in [pause.stopped, pause.collected] {
        svg.line([scale.x(at), top + height, scale.x(at), bottom], "mark");
    }
}

/// A label as far as it has room: the whole, or its head before a colon or a comma, never a piece of a word.
fn fitting(words: &str, room: usize) -> Option<&str> {
    let head = words.split([':', ',', ';', '(']).next().unwrap_or_default().trim_end();
    [words, head].into_iter().find(|label| !label.is_empty() && label.chars().count() <= room)
}

fn label(svg: &mut Svg, results: &Results, pause: &Pause, part: &LanePause, top: f64) {
    let name = lane_name(results, part.lane);
    svg.text(LEFT - 8.0, top + 12.0, Anchor::End, "tick", &short(&name, 20));
    let lane = Some(part.lane);
    let role = if lane == pause.straggler { Some("last") } else { (lane == pause.leader).then_some("led") };
    let tid = part.tid.map(|tid| format!("tid {tid}"));
    let notes: Vec<String> = role.map(str::to_owned).into_iter().chain(tid).collect();
    svg.text(LEFT - 8.0, top + 26.0, Anchor::End, "faint", &notes.join(", "));
}

/// The name of a lane.
pub(crate) fn lane_name(results: &Results, lane: LaneId) -> String {
    let known = results.lanes.iter().find(|known| known.id == lane.0);
    known.map_or_else(|| format!("{} {lane}", results.runtime.info().lane.0), |known| known.name.clone())
}

/// One lane: not yet stopped, waiting, working, resuming.
fn lane(svg: &mut Svg, scale: &Scale, worst: &WorstPause, part: &LanePause, top: f64) {
    let pause = &worst.blamed.pause;
    let straggler = Some(part.lane) == pause.straggler;
    if let Some(arrived) = part.arrived {
        let frame = scale.frame(pause.begin(), arrived, top, LANE_HEIGHT);
        let text = format!("stopped after {}", units::duration(arrived.since(pause.begin())));
        svg.rect(frame, if straggler { "fill-waiting-to-stop" } else { "fill-request" }, &text);
        if straggler {
            svg.text_inside(frame, "on-waiting-to-stop", &format!("the others wait: {text}"));
        }
        if pause.stopped > arrived {
            let wait = scale.frame(arrived, pause.stopped, top + LANE_HEIGHT / 2.0 - 1.0, 2.0);
            let text = format!("waits {} for the others", units::duration(pause.stopped.since(arrived)));
            svg.rect(wait, "fill-wait", &text);
        }
    }
    if let (Some(begin), Some(end)) = (part.work_begin, part.work_end) {
        let frame = scale.frame(begin, end, top, LANE_HEIGHT);
        svg.rect(frame, "fill-collecting", &format!("collects {}", units::duration(part.work_ns)));
    }
    if let Some(left) = part.left.filter(|left| *left > pause.collected) {
        let frame = scale.frame(pause.collected, left, top, LANE_HEIGHT);
        svg.rect(frame, "fill-release", &format!("back after {}", units::duration(left.since(pause.collected))));
    }
}

/// Why others waited for a lane.
fn causes(svg: &mut Svg, scale: &Scale, pieces: &[Why], top: f64) {
    for why in pieces {
        let (role, words) = (why.role, why.label());
        let frame = scale.frame(why.from, why.to, top, STRIP_HEIGHT);
        svg.rect(frame, &format!("fill-{role}"), &format!("{words}: {}", units::duration(why.to.since(why.from))));
        let room = ((frame[2] - 8.0) / 6.6).max(0.0) as usize;
        if let Some(label) = fitting(&words, room) {
            small(svg, frame, &format!("small on-{role}"), label);
        }
    }
}

/// The kernel's states of the lane's thread until `end`; what was not kept is shown as unknown.
fn strip(svg: &mut Svg, scale: &Scale, states: &LaneStates, end: Time, [top, height]: [f64; 2]) {
    let mut spans = joined(&states.spans, scale);
    if let Some(from) = spans.last().map(|last| last.to).filter(|to| *to < end) {
        spans.push(StateSpan { from, to: end, state: ThreadState::Unknown, who: None });
    }
    for span in spans {
        let thread = span.who.as_deref().map(|thread| format!(", {thread} has it")).unwrap_or_default();
        let words = format!("{}{thread}", words::state(span.state));
        let frame = scale.frame(span.from, span.to, top, height);
        svg.rect(frame, &class(span.state), &format!("{words}: {}", units::duration(span.to.since(span.from))));
        if height >= STRIP_HEIGHT {
            let dark = matches!(span.state, ThreadState::Running | ThreadState::Runnable | ThreadState::Blocked);
            small(svg, frame, if dark { "on-dark small" } else { "on-pale small" }, &words);
        }
    }
}

/// Words in a strip.
fn small(svg: &mut Svg, [left, top, width, height]: [f64; 4], class: &str, words: &str) {
    svg.text_inside([left, top - 0.8, width, height], class, words);
}

/// The class of a thread state in the style sheet.
pub(crate) fn class(state: ThreadState) -> String {
    format!("k-{}", word(&state))
}

/// Merges spans too short to be seen into their left neighbour, so that a thread that switches often does not fill
/// the page.
fn joined(spans: &[StateSpan], scale: &Scale) -> Vec<StateSpan> {
    let mut visible = scale.span / 1200;
    loop {
        let mut out: Vec<StateSpan> = Vec::new();
        for span in spans {
            let same = |last: &&mut StateSpan| (last.state, &last.who) == (span.state, &span.who);
            match out.last_mut().filter(|last| span.to.since(span.from) < visible || same(last)) {
                Some(last) => last.to = span.to,
                None => out.push(span.clone()),
            }
        }
        if out.len() <= SPANS_MAX || visible > scale.span {
            out.truncate(SPANS_MAX);
            return out;
        }
        visible = visible.saturating_mul(2).max(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_of_pieces_are_drawn_to_the_end() {
        let why = |n: u64| Why {
            role: "wants-a-cpu",
            words: format!("preempted by {}", n % 7),
            longest_ns: 10 + n % 3,
            others: false,
            from: Time(n * 1_000),
            to: Time((n + 1) * 1_000),
        };
        let drawn = thinned((0..50_000).map(why).collect(), 50_000_000);
        assert!(drawn.len() <= SPANS_MAX && drawn.len() > SPANS_MAX / 4, "{}", drawn.len());
        assert_eq!((drawn.first().unwrap().from, drawn.last().unwrap().to), (Time(0), Time(50_000_000)));
        assert!(drawn.windows(2).all(|pair| pair[0].to == pair[1].from));
        assert!(drawn.iter().all(|one| one.others && one.label().ends_with(", and others")));
        let few = thinned(vec![why(0), why(1), why(9)], 10_000);
        assert_eq!(few.iter().map(|one| one.others).collect::<Vec<_>>(), [false, false, false]);
    }

    #[test]
    fn labels_are_whole_words_or_nothing() {
        let throttled = "throttled: the CPU quota was used up";
        assert_eq!(fitting(throttled, 40), Some(throttled));
        assert_eq!(fitting(throttled, 12), Some("throttled"));
        assert_eq!(fitting("preempted by make (pid 7), and others", 20), Some("preempted by make"));
        assert_eq!((fitting(throttled, 8), fitting("", 8)), (None, None));
    }

    const VIEWER: [&str; 2] =
        [include_str!("../../../../web/app/waterfall.js"), include_str!("../../../../web/app/describe.js")];

    #[test]
    fn parts_have_the_words_and_colours_of_the_viewer() {
        let mut own = include_str!("waterfall.rs").split("#[cfg(test)]");
        let own = own.next().unwrap();
        for words in
            ["stopped after ", "for the others", "collects ", "back after ", " collecting", "held up by ", " for "]
        {
            assert!(own.contains(words) && VIEWER[0].contains(words), "{words}");
        }
        for name in ["\"last\"", "\"led\"", "until all had stopped", "until all ran again"] {
            assert!(own.contains(name) && VIEWER[0].contains(name), "{name}");
        }
        for role in ["waiting-to-stop", "request", "wait", "collecting", "release"] {
            assert!(own.contains(&format!("\"fill-{role}\"")) && VIEWER[0].contains(&format!("\"{role}\"")), "{role}");
        }
        for kind in ["minor", "major", "concurrent-sync", "compaction", "layout", "unknown"] {
            let words = words::pause_kind(serde_json::from_value(kind.into()).unwrap());
            assert!(VIEWER[1].contains(&format!("\"{words}\"")), "describe.js has no {words}");
        }
    }
}
