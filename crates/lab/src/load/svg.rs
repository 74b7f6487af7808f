//! A load over time: latency, rate and failures of each second, and the curve of its
//! latencies. Refuses to say more than the document does.

use rtscope_draw::svg::{Anchor, Decades, Svg, WIDTH, names_at_right, time_axis};
use rtscope_load::document::{Document, Second};
use rtscope_model::units;
use rtscope_report::drawings::rates::{self, Stretch};

const LEFT: f64 = 62.0;
/// Room right of the plots for the names of lines.
const RIGHT: f64 = 110.0;
const LATENCY: [f64; 4] = [LEFT, 26.0, WIDTH - LEFT - RIGHT, 170.0];
const RATE: [f64; 4] = [LEFT, 232.0, WIDTH - LEFT - RIGHT, 110.0];
const CURVE: [f64; 4] = [LEFT, 26.0, WIDTH - LEFT - RIGHT, 190.0];
/// Maximum points of a line.
const POINTS_MAX: usize = 300;
/// A last second measured for less than this is drawn with the one before.
const SHORT_NS: u64 = 500_000_000;
/// Heights of the drawing over time and of the curve.
const TIME_HEIGHT: f64 = 384.0;
const CURVE_HEIGHT: f64 = 266.0;

const LABEL: &str = "latency and rate of a load over time";

/// The drawing over time as a file of its own; empty if no second was measured.
pub fn document(load: &Document) -> String {
    over_time(Svg::document(TIME_HEIGHT, LABEL, ""), load)
}

/// The drawing over time; `None` if no second was measured.
pub(super) fn time(load: &Document) -> Option<String> {
    (!load.seconds.is_empty()).then(|| over_time(Svg::new(TIME_HEIGHT, LABEL), load))
}

/// One second, or several seconds joined, of which the worst latencies are drawn.
struct LoadPoint {
    from_ns: u64,
    /// 50, 90 and 99 in 100, and the longest, in nanoseconds.
    latency: [Option<u64>; 4],
    /// Due, answered, failed: per second.
    rates: [f64; 3],
}

/// The measured seconds, joined until there are few enough, and the number of seconds per point.
fn points(load: &Document) -> (Vec<LoadPoint>, usize) {
    let measured = load.seconds.iter().filter(|second| second.from_ns >= load.warm_up_ns);
    let measured: Vec<&Second> = measured.collect();
    let each = measured.len().div_ceil(POINTS_MAX).max(1);
    let joined = |some: &[&Second]| {
        let worst = |of: fn(&Second) -> Option<u64>| some.iter().filter_map(|second| of(second)).max();
        let lasts = some.iter().map(|second| second.lasts_ns).sum::<u64>().max(1) as f64 / 1e9;
        let rate = |of: fn(&Second) -> u64| some.iter().map(|second| of(second)).sum::<u64>() as f64 / lasts;
        let latency: [fn(&Second) -> Option<u64>; 4] =
            [|second| second.p50_ns, |second| second.p90_ns, |second| second.p99_ns, |second| second.max_ns];
        let rates: [fn(&Second) -> u64; 3] = [|second| second.due, |second| second.fine, |second| second.failed];
        Some(LoadPoint { from_ns: some.first()?.from_ns, latency: latency.map(worst), rates: rates.map(rate) })
    };
    // A short last second says little by itself: it joins the one before.
    let short = measured.last().is_some_and(|last| last.lasts_ns < SHORT_NS) && measured.len() > each;
    let (most, rest) = measured.split_at(if short { (measured.len() - 2) / each * each } else { measured.len() });
    (most.chunks(each).chain((!rest.is_empty()).then_some(rest)).filter_map(joined).collect(), each)
}

fn over_time(mut svg: Svg, load: &Document) -> String {
    let (points, each) = points(load);
    let span = load.took_ns.max(1);
    let x = |ns: u64| LEFT + LATENCY[2] * (ns as f64 / span as f64).min(1.0);
    let scale = Decades::of(LATENCY, points.iter().flat_map(|point| point.latency).flatten());
    let of = if each > 1 { format!("the worst second of each {each}") } else { "of each second".to_owned() };
    svg.text(LEFT, 14.0, Anchor::Start, "strong", &format!("latency from when a request was due, {of} (logarithmic)"));
    scale.grid(&mut svg);
    let mut names = Vec::new();
    let lines = [("p50", "m-blocks"), ("p90", "m-heap"), ("p99", "m-rss"), ("longest", "m-live")];
    for (index, (name, class)) in lines.into_iter().enumerate() {
        // No line where no request ended.
        let place = |point: &LoadPoint| (x(point.from_ns), point.latency[index].map(|ns| scale.y(ns)));
        let last = svg.known_steps(&points.iter().map(place).collect::<Vec<_>>(), x(span), class);
        names.extend(last.map(|y| (y, name.to_owned(), class.to_owned())));
    }
    let [_, top, width, height] = LATENCY;
    names_at_right(&mut svg, [LEFT + width + 8.0, top + height], names);
    time_axis(&mut svg, RATE, span);
    let ends = points.iter().skip(1).map(|point| x(point.from_ns)).chain([x(span)]);
    let stretches =
        points.iter().zip(ends).map(|(point, to)| Stretch { x: [x(point.from_ns), to], rates: point.rates });
    rates::draw(&mut svg, RATE, &stretches.collect::<Vec<_>>());
    if load.warm_up_ns > 0 {
        let at = x(load.warm_up_ns);
        // Not through the text between the plots.
        for [_, top, _, height] in [LATENCY, RATE] {
            svg.line([at, top, at, top + height], "mark");
        }
        svg.text(at + 4.0, top + 10.0, Anchor::Start, "tick", "warm-up over");
    }
    svg.finish()
}

/// The curve of latencies: the share of requests that took at most so long. The last tenth, hundredth, … each start
/// one step further right; `None` without requests.
pub(super) fn curve(load: &Document) -> Option<String> {
    let (last, _) = *load.curve.last()?;
    let nines = |share: f64| -(1.0 - share).max(1e-20).log10();
    let most = nines(last).max(1.0);
    let [left, top, width, height] = CURVE;
    let mut svg = Svg::new(CURVE_HEIGHT, "latencies, in order");
    let scale = Decades::of(CURVE, load.curve.iter().map(|point| point.1).chain(load.latency.all.max_ns));
    let x = |share: f64| left + width * (nines(share) / most).min(1.0);
    svg.text(left, 14.0, Anchor::Start, "strong", "latency, from the shortest to the longest (both logarithmic)");
    scale.grid(&mut svg);
    for (share, name) in
        [(0.0, "0"), (0.5, "50 %"), (0.9, "90 %"), (0.99, "99 %"), (0.999, "99.9 %"), (0.9999, "99.99 %")]
    {
        if share <= last {
            svg.upright(CURVE, x(share), name);
        }
    }
    let points: Vec<_> = load.curve.iter().map(|(share, ns)| (x(*share), scale.y(*ns))).collect();
    svg.polyline(&points, "m-rss");
    for (share, name, figure) in [
        (0.5, "p50", load.latency.all.p50_ns),
        (0.99, "p99", load.latency.all.p99_ns),
        (0.999, "p99.9", load.latency.all.p999_ns),
    ] {
        if let Some(ns) = figure.filter(|_| share <= last) {
            svg.dot(x(share), scale.y(ns), "dot", &format!("{name}: {}", units::duration(ns)));
            let words = format!("{name} {}", units::duration(ns));
            svg.text(x(share) + 5.0, scale.y(ns) + 16.0, Anchor::Start, "tick", &words);
        }
    }
    svg.line([left, top + height, left + width, top + height], "axis");
    svg.text(left + width, top + height + 34.0, Anchor::End, "tick", "share of the requests that took at most so long");
    Some(svg.finish())
}
