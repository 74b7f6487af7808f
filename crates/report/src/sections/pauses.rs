//! Pauses and lanes: where the wall clock went, what pauses waited for, which lanes held them up, how long they were and
//! when they came, what any window left for the program.

use crate::drawings;
use crate::drawings::waterfall::{lane_name, length_ns};
use crate::units;
use crate::words::{self, CauseGroup, WallPart, wall_clock};
use rtscope_analyze::results::{Column, Distribution, Generation, Lane, Results};
use rtscope_draw::present::{Block, Cell, Chart, Name, Picture, Section, Shape, Table, TextForm};
use rtscope_model::Cause;

/// Maximum lanes with a row on a terminal.
const LANES_SHOWN: usize = 6;
/// Maximum causes with a row on a terminal.
const CAUSES_SHOWN: usize = 6;

pub(super) fn section(results: &Results) -> Section<'_> {
    let title = "Pauses and who waited";
    if !words::has_runtime(results) {
        let unknown = "unknown: no log of a runtime was recorded, so pauses could not be seen".to_owned();
        return Section::new("figures", title, [Block::fact("Pauses", Some(unknown))]);
    }
    let inferred = |lane: &Lane| lane.leadership_inferred && lane.leadership_wait_ns > Some(0);
    let inferred = results.lanes.iter().any(inferred).then(|| {
        let lane = results.runtime.info().lane.0;
        format!("~ inferred from how fast the {lane} allocates: this runtime does not post it")
    });
    let green = words::green_threads(results).into_iter().flatten();
    let blocks = [
        bar(results),
        pauses(results).block(),
        Block::fact("Longest pause", longest(results)),
        Block::fact("Productivity", words::productivity(results)),
        Block::fact("Collections", collections(results)),
        Block::fact("Slices", words::slices(results)),
        causes(results).block(),
        lanes(results).block(),
        Block::text("", TextForm::Faint, inferred),
        generations(results).block(),
        Block::text("Green threads", TextForm::Plain, green),
    ];
    Section::new("figures", title, blocks)
}

/// The bar of the wall clock; the table below it is its legend.
pub(super) fn bar(results: &Results) -> Option<Block<'_>> {
    let parts = wall_clock(results);
    let shape = Shape::Bar { topic: "Wall clock", parts: parts.iter().map(|(part, ns)| (part.class(), *ns)).collect() };
    let picture = Picture::Svg(Box::new(|| drawings::bar::draw(results)));
    (!parts.is_empty()).then_some(Block::Chart(Chart { picture, shape }))
}

/// A row for each part of the wall clock, and one for whole pauses.
fn pauses(results: &Results) -> Table {
    let pauses = &results.pauses;
    let of_run = |sum: u64| units::percent_of(sum, results.span_ns);
    let named = |part: WallPart| Name::marked(part.words(), part.class());
    let sum_only = |part: WallPart, sum: u64| {
        (named(part), ["-", "-", "-", "-", &units::duration(sum), &of_run(sum)].map(Cell::from))
    };
    let row = |name: Name, d: &Distribution| {
        if d.count == 0 {
            return (name, ["-", "-", "-", "-", "unknown", "-"].map(Cell::from));
        }
        let [p50, p90, p99, max, sum] = [d.p50, d.p90, d.p99, d.max, d.sum].map(units::duration_or_dash);
        (name, [p50, p90, p99, max, sum, d.sum.map_or_else(|| "-".into(), of_run)].map(Cell::from))
    };
    let mut rows = vec![sum_only(WallPart::Program, results.span_ns.saturating_sub(pauses.total_ns))];
    if pauses.count > 0 {
        rows.push(row(named(WallPart::Stop), &pauses.time_to_stop_ns));
        rows.push(row(named(WallPart::Collect), &pauses.collect_ns));
        rows.push(row(named(WallPart::Release), &pauses.release_ns));
        let unsplit = wall_clock(results).into_iter().find(|(part, _)| *part == WallPart::Unsplit);
        rows.extend(unsplit.map(|(part, sum)| sum_only(part, sum)));
        rows.push(row("whole pause".into(), &pauses.pause_ns));
    }
    Table::new("pauses", ["median", "+9 in 10", "99 in 100", "longest", "in all", "of run"], rows)
}

/// A pause of this length is felt, however seldom it comes.
const FELT_NS: u64 = 50_000_000;

/// What the longest pause was, if it was long.
pub fn longest(results: &Results) -> Option<String> {
    let worst = results.drawing.worst.first().filter(|worst| length_ns(worst) >= FELT_NS)?;
    let pause = &worst.blamed.pause;
    let copied = pause.copied_bytes.filter(|copied| *copied > 0);
    let copied = copied.map_or_else(String::new, |copied| format!(" that copied {}", units::bytes(copied)));
    let stop = pause.requested.map(|requested| pause.stopped.since(requested));
    let held = worst.blamed.held_up_by().filter(|held| held.ns.saturating_mul(10) >= length_ns(worst));
    let held = held.map(|held| {
        let lane = held.lane.map_or_else(String::new, |lane| format!(" by {}", lane_name(results, lane)));
        format!(", held up{lane} for {} ({})", units::duration(held.ns), words::cause(held.cause, None))
    });
    Some(format!(
        "{} at {}: a {}{copied}; {} until all had stopped, {} collecting{}",
        units::duration(length_ns(worst)),
        units::duration(pause.begin().since(results.started)),
        words::pause_kind(pause.kind),
        units::duration_or_dash(stop),
        units::duration(pause.collected.since(pause.stopped)),
        held.unwrap_or_default()
    ))
}

/// What collections copied, and what the program allocates for them.
fn collections(results: &Results) -> Option<String> {
    let copied = results.pauses.by_generation.iter().fold(0u64, |sum, g| sum.saturating_add(g.copied_bytes));
    let facts = [
        (copied > 0).then(|| format!("{} copied", units::bytes(copied))),
        results.allocation_bytes_per_second.map(|rate| format!("{} allocated", units::bytes_per_second(rate))),
    ];
    words::all_of(facts.into_iter().flatten(), "; ")
}

/// Why pauses waited. A recording with only unknown causes says so at the end of the report, and waits of less than a
/// thousandth of the run need no table.
pub(crate) fn causes(results: &Results) -> Table {
    let groups = words::cause_groups(&results.causes);
    let waited = groups.iter().fold(0u64, |sum, group| sum.saturating_add(group.sum_ns));
    let known = groups.iter().any(|group| group.cause != Cause::Unknown);
    let worth = known && waited.saturating_mul(1_000) >= results.span_ns;
    let row = |group: CauseGroup<'_>| {
        (Name::from(group.words()), [Cell::from(units::duration(group.sum_ns)), Cell::Share(group.share)])
    };
    let rows = groups.into_iter().filter(|_| worth).map(row);
    Table::new("why pauses waited", ["in all", "of waits"], rows).short(CAUSES_SHOWN, "causes")
}

/// A row for each lane; of many those that delayed others most come first.
pub(crate) fn lanes(results: &Results) -> Table {
    let held = |id: u16| results.held_up.iter().find(|held| held.lane == id);
    let mut lanes: Vec<&Lane> = results.lanes.iter().collect();
    if lanes.len() > LANES_SHOWN {
        lanes.sort_by_key(|lane| (std::cmp::Reverse(held(lane.id).map_or(0, |held| held.sum_ns)), lane.id));
    }
    let leads = lanes.iter().any(|lane| lane.leadership_wait_ns.is_some());
    let row = |lane: &Lane| {
        let ns = units::duration_or_dash;
        let cells = [
            ns(lane.mutator_ns),
            ns(lane.collect_ns),
            ns(lane.stop_wait_ns),
            ns(lane.release_wait_ns),
            words::lead_wait(lane),
            words::waiting_share(lane),
            ns(lane.idle_ns),
            held(lane.id).map_or_else(|| "-".into(), |held| units::count(held.count)),
            ns(held(lane.id).map(|held| held.sum_ns)),
        ];
        (Name::from(lane.name.as_str()), cells.map(Cell::from))
    };
    let [lead, blocked, idle] = if leads { ["GC start wait", "blocked", "+idle"] } else { ["", "", "idle"] };
    let heads = ["program", "collect", "stop wait", "restart", lead, blocked, idle, "held up", "for"];
    let many = results.runtime.info().lane.1;
    Table::new(many, heads, lanes.into_iter().map(row)).short(LANES_SHOWN, many)
}

fn generations(results: &Results) -> Table {
    let row = |g: &Generation| {
        let d = &g.collect_ns;
        let [p50, max, sum] = [d.p50, d.max, d.sum].map(units::duration_or_dash);
        let name = Name::from(results.runtime.info().generation(g.generation));
        (name, [units::count(g.count), p50, max, sum, units::bytes(g.copied_bytes)].map(Cell::from))
    };
    let heads = ["how many", "median", "longest", "in all", "copied"];
    Table::new("collections", heads, results.pauses.by_generation.iter().map(row))
}

/// How many pauses of each length there were, and how much time they took: long pauses are few, but often take most of
/// the time.
pub(super) fn distribution(results: &Results) -> Section<'_> {
    let spectrum = results.spectrum.as_slice();
    let of = |height: fn(&Column) -> u64| spectrum.iter().map(height).collect();
    let shape = Shape::Columns {
        topic: "Pause lengths",
        bounds: spectrum.iter().map(|column| (column.from_ns, column.to_ns)).collect(),
        rows: vec![("how many", of(|column| column.count)), ("time in all", of(|column| column.sum_ns))],
    };
    let picture = Picture::Svg(Box::new(|| drawings::histogram::draw(results)));
    let shape = if results.pauses.count > 0 && words::has_runtime(results) { shape } else { Shape::None };
    Section::new("distribution", "How long pauses were", [Some(Block::Chart(Chart { picture, shape }))])
}

pub(super) fn over_time(results: &Results) -> Section<'_> {
    Section::new("over-time", "Pauses over time", [Block::picture(|| drawings::time::draw(results, &[results]))])
}

pub(super) fn lanes_over_time(results: &Results) -> Section<'_> {
    Section::new("lanes", "What ran when", [Block::markup(|| drawings::lanes::with_legend(results, &[results]))])
}

/// Minimum mutator utilisation, by window.
pub(super) fn utilisation(results: &Results) -> Section<'_> {
    let windows = results.mmu.iter().filter(|_| results.pauses.count > 0);
    let rows = windows.map(|mmu| {
        let window = units::tick_label(mmu.window_ns as f64);
        let bounded = units::percent(mmu.bounded);
        (Name::from(window), [Cell::Share(mmu.utilization), bounded.into()])
    });
    let table = Table::new("in any window of", ["outside pauses at least", "+in this or any longer one"], rows);
    let blocks = [Block::picture(|| drawings::mmu::draw(results, &[results])), table.block()];
    Section::new("utilisation", "What any window left for the program", blocks)
}
