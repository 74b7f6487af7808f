//! Memory over time: resident, held by the runtime, in blocks, and live, over bands of the heap profile; also the
//! rates of allocation and promotion. Each value holds until the next; there is no line where nothing is known.

use super::bands::{self, Classed, bands};
use super::heap_map;
use super::time::longest_span;
use rtscope_analyze::results::{CounterLine, MemoryLine, Results};
use rtscope_draw::svg::{Svg, WIDTH, names_at_right, time_axis};
use rtscope_model::Time;
use rtscope_model::units;

const LEFT: f64 = 70.0;
/// Room right of the plot for the names of the lines.
const RIGHT: f64 = 130.0;
const PLOT: [f64; 4] = [LEFT, 10.0, WIDTH - LEFT - RIGHT, 200.0];
/// Maximum points drawn per line.
const POINTS_MAX: usize = 700;

/// Label and class of a line.
fn line(name: &str) -> (&'static str, &'static str) {
    match name {
        "rss" => ("RSS", "m-rss"),
        "heap" => ("heap held", "m-heap"),
        "blocks" => ("in blocks", "m-blocks"),
        "live" => ("live", "m-live"),
        "residency" => ("residency", "m-residency"),
        _ => ("other", "m-other"),
    }
}

struct MemorySeries {
    name: String,
    class: &'static str,
    points: Vec<(Time, Option<u64>)>,
}

/// The drawing of memory, on the scales of `all`; `None` without points.
pub(crate) fn draw(results: &Results, all: &[&Results]) -> Option<String> {
    let named = |memory: &MemoryLine| {
        let (name, class) = line(memory.name);
        let last = memory.points.last().map_or(0, |(_, bytes)| *bytes);
        let points = memory.points.iter().map(|(at, bytes)| (*at, Some(*bytes))).collect();
        MemorySeries { name: format!("{name} {}", units::bytes(last)), class, points }
    };
    let lines: Vec<_> = results.drawing.memory.iter().map(named).collect();
    let drawn = |one: &&Results| one.drawing.memory.iter().flat_map(|line| &line.points).map(|(_, bytes)| *bytes).max();
    let stacked = all.iter().filter_map(|one| bands::max(&bands(one)));
    let scale = (all.iter().filter_map(drawn).chain(stacked).max()?, longest_span(all));
    let background = (&bands(results)[..], &heap_map::marks(&results.heaps)[..]);
    plot(results, "memory over time", &lines, background, scale, units::bytes)
}

/// The drawing of rates; `None` without points.
pub(crate) fn draw_rates(results: &Results) -> Option<String> {
    let named = |counter: &CounterLine| {
        let (name, class) = match counter.name {
            "allocation_bytes_per_second" => ("allocated", "m-heap"),
            "promotion_bytes_per_second" => ("promoted", "m-live"),
            _ => return None,
        };
        Some(MemorySeries { name: name.to_owned(), class, points: counter.points.clone() })
    };
    let lines: Vec<_> = results.counters.iter().filter_map(named).collect();
    let title = "allocation and promotion over time";
    let max = lines.iter().flat_map(|line| line.points.iter().filter_map(|(_, bytes)| *bytes)).max()?;
    let scale = (max, results.span_ns.max(1));
    plot(results, title, &lines, (&[], &[]), scale, |bytes| units::bytes_per_second(bytes as f64))
}

/// Draws lines over bands; `marks` are times with their tooltips. The axes cover `max` bytes and `span` nanoseconds.
fn plot(
    results: &Results,
    title: &str,
    lines: &[MemorySeries],
    (bands, marks): (&[Classed], &[(Time, String)]),
    (max, span): (u64, u64),
    label: impl Fn(u64) -> String,
) -> Option<String> {
    if bands.is_empty() && lines.iter().all(|line| line.points.iter().all(|(_, bytes)| bytes.is_none())) {
        return None;
    }
    let [left, top, width, height] = PLOT;
    let mut svg = Svg::new(top + height + 26.0, title);
    let step = byte_step(max.max(1));
    let ceiling = max.max(1).div_ceil(step).saturating_mul(step).max(1);
    let y = |bytes: u64| top + height * (1.0 - bytes as f64 / ceiling as f64);
    let x = |at: Time| left + width * (at.since(results.started) as f64 / span as f64).min(1.0);

    bands::draw(&mut svg, bands, x, y, left + width);
    for level in (0..=ceiling).step_by(usize::try_from(step).unwrap_or(usize::MAX)) {
        svg.level(PLOT, y(level), &label(level));
    }
    time_axis(&mut svg, PLOT, span);
    for (at, words) in marks {
        svg.line([x(*at), top, x(*at), top + height], "mark");
        svg.dot(x(*at), top + height, "dot", words);
    }
    let mut labels = Vec::new();
    for line in lines {
        let every = line.points.len().div_ceil(POINTS_MAX).max(1);
        // Keep the highest of each group: peaks are of interest.
        let highest = |group: &[(Time, Option<u64>)]| group.iter().copied().max_by_key(|(_, bytes)| *bytes);
        let placed = |(at, bytes): (Time, Option<u64>)| (x(at), bytes.map(y));
        let points: Vec<_> = line.points.chunks(every).filter_map(highest).map(placed).collect();
        let last = svg.known_steps(&points, left + width, line.class);
        labels.extend(last.map(|y| (y, line.name.clone(), line.class.to_owned())));
    }
    names_at_right(&mut svg, [WIDTH - RIGHT + 6.0, top + height], labels);
    Some(svg.finish())
}

/// A round step in bytes: 1, 2 or 5 (or 10, 20, 50, 100, 200, 500) of a binary unit.
fn byte_step(max: u64) -> u64 {
    let mut unit = 1u64;
    while max / unit >= 1024 && unit < 1 << 60 {
        unit *= 1024;
    }
    let within = max as f64 / unit as f64;
    let step = rtscope_draw::svg::round_step(within, 5.0) * unit as f64;
    (step as u64).max(1)
}

#[cfg(test)]
mod tests {
    use super::byte_step;

    #[test]
    fn steps_are_round_in_binary_units() {
        assert_eq!(byte_step(84 << 20), 20 << 20);
        assert_eq!(byte_step(1023), 500);
        assert_eq!(byte_step(5 << 30), 1 << 30);
        assert_eq!(byte_step(0), 1);
        assert!(byte_step(u64::MAX) > 0);
    }
}
