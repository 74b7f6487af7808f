//! Attempts at transactions (STM) over time, by outcome.

use crate::units;
use rtscope_analyze::results::Results;
use rtscope_analyze::results::stm::{StmSlice, Transactions};
use rtscope_draw::svg::{Anchor, Svg, WIDTH, levels, round_step, text_width, time_axis};
use rtscope_model::Time;

const LEFT: f64 = 78.0;
const PLOT: [f64; 4] = [LEFT, 26.0, WIDTH - LEFT - 20.0, 150.0];

/// A part of the attempts: its number in a slice, its class and its name.
type AttemptPart = (fn(&StmSlice) -> u64, &'static str, &'static str);

/// The stacked parts, from the bottom up.
const OUTCOMES: [AttemptPart; 3] = [
    (|slice| slice.commits, "collect", "took effect"),
    (|slice| slice.lost, "stop", "run again"),
    (|slice| slice.waits, "unsplit", "waited"),
];
/// The only part if outcomes were not counted.
const ATTEMPTS: [AttemptPart; 1] = [(|slice| slice.attempts, "unsplit", "attempts")];

/// Attempts per second in each slice, by outcome.
pub(crate) fn draw(results: &Results, found: &Transactions) -> Option<String> {
    let parts = if found.outcomes { &OUTCOMES[..] } else { &ATTEMPTS };
    let per_second = |slice: &StmSlice, count: u64| count as f64 * 1e9 / slice.to.since(slice.from).max(1) as f64;
    let high = |slice: &StmSlice| parts.iter().map(|(of, ..)| per_second(slice, of(slice))).sum::<f64>();
    let max = found.over_time.iter().map(high).fold(0.0, f64::max);
    if max <= 0.0 {
        return None;
    }
    let [left, top, width, height] = PLOT;
    let span = results.span_ns.max(1);
    let mut svg = Svg::new(top + height + 40.0, "transactions over time");
    svg.text(left, 12.0, Anchor::Start, "strong", "attempts a second");
    legend(&mut svg, parts);
    let label = |rate| if rate == 0.0 { "0".to_owned() } else { units::rate(rate) };
    levels(&mut svg, PLOT, [round_step(max, 4.0), max], label);
    let x = |at: Time| left + width * (at.since(results.started) as f64 / span as f64).min(1.0);
    for slice in &found.over_time {
        let part = |(of, class, name): &AttemptPart| {
            let rate = per_second(slice, of(slice));
            let title = format!("{} {name} ({} a second)", units::count(of(slice)), units::rate(rate));
            (height * rate / max, *class, title)
        };
        svg.stack([x(slice.from), x(slice.to)], top + height, parts.iter().map(part));
    }
    time_axis(&mut svg, PLOT, span);
    Some(svg.finish())
}

fn legend(svg: &mut Svg, parts: &[AttemptPart]) {
    let mut at = LEFT + 150.0;
    for (_, class, name) in parts.iter().filter(|_| parts.len() > 1) {
        svg.key(at, 12.0, class, name);
        at += text_width(name) + 45.0;
    }
}
