//! Two recordings side by side, each drawn as on its own page, but on common scales: pauses over time, mutator
//! utilisation, memory, lanes and why pauses waited, the longest pauses. Refuses to compute figures and to
//! judge differences.

use super::worst::{legend, pause};
use crate::compared::{Analysed, Compared};
use crate::drawings::{self, waterfall};
use crate::sections::{causes, lanes, levels};
use rtscope_analyze::results::{Mmu, Results, WorstPause};
use rtscope_draw::escape::escape;
use rtscope_draw::html;
use rtscope_draw::present::{Block, Section, Table};
use rtscope_model::units;

/// Number of longest pauses drawn of each recording.
const WORST_MAX: usize = 3;

/// Pauses, utilisation and memory over time; what lanes did and why pauses waited; the longest pauses.
pub(super) fn sections(compared: &Compared) -> Vec<Section<'_>> {
    let results = || [&compared.a.results, &compared.b.results];
    let both = move |draw: fn(&Results, &[&Results]) -> Option<String>| {
        Block::markup(move || {
            let drawn = results().map(|one| draw(one, &results()).map(|svg| html::figure(&svg, "")));
            sides(compared, drawn, "No pause was seen.")
        })
    };
    let memory = move || {
        let memory = results().map(|one| {
            let drawn = drawings::memory::draw(one, &results()).map(|svg| html::figure(&svg, ""));
            joined([drawn, table(levels(one))])
        });
        sides(compared, memory, "The recordings do not say how much memory the program held.")
    };
    let strips = move || {
        let strips = results()
            .map(|one| joined([drawings::lanes::with_legend(one, &results()), table(causes(one)), table(lanes(one))]));
        sides(compared, strips, "Nothing was seen.")
    };
    let [a, b] = results();
    vec![
        Section::new("over-time", "Pauses over time", [both(drawings::time::draw)]),
        Section::new(
            "utilisation",
            "What any window left for the program",
            [both(drawings::mmu::draw), windows(a, b).block()],
        ),
        Section::new("memory", "Memory", [Block::markup(memory)]),
        Section::new("lanes", "What ran when, and why pauses waited", [Block::markup(strips)]),
        Section::new("worst", "The longest pauses", [Block::markup(move || longest(compared))]),
    ]
}

/// The longest pauses, both of the same rank on one scale.
fn longest(compared: &Compared) -> Option<String> {
    let pair = |rank: usize| {
        let all = [&compared.a, &compared.b];
        let pair = all.map(|one| (one, one.results.drawing.worst.get(rank)));
        let span_ns = pair.iter().filter_map(|(_, worst)| worst.map(waterfall::length_ns)).max().unwrap_or(0);
        let draw = |(one, worst): (&Analysed, Option<&WorstPause>)| {
            worst.map(|worst| pause(&one.results, &one.names, (rank + 1, worst), span_ns, "h4"))
        };
        sides(compared, pair.map(draw), "No such pause.")
    };
    let worst: String = (0..WORST_MAX).filter_map(pair).collect();
    let about = html::faint("The longest of both on one scale, then the second and the third.");
    (!worst.is_empty()).then(|| format!("{}{about}{worst}", legend()))
}

/// How a side is drawn.
pub(super) fn side_class(side: &str) -> &'static str {
    if side == "A" { "side-a" } else { "side-b" }
}

/// The name of a recording's file.
pub(super) fn name(results: &Results) -> &str {
    let path = results.source.path.trim_end_matches('/');
    path.rsplit('/').next().unwrap_or(path)
}

/// A and B side by side; `None` if both are missing.
fn sides(compared: &Compared, of: [Option<String>; 2], nothing: &str) -> Option<String> {
    if of.iter().all(Option::is_none) {
        return None;
    }
    let side = |((side, one), content): ((&str, &Analysed), Option<String>)| {
        let head = format!("{}{side} {}", html::swatch(side_class(side)), escape(name(&one.results)));
        format!("<div><h3>{head}</h3>{}</div>", content.unwrap_or_else(|| format!("<p>{nothing}</p>")))
    };
    let sides: String = [("A", &compared.a), ("B", &compared.b)].into_iter().zip(of).map(side).collect();
    Some(format!("<div class=\"beside\">{sides}</div>"))
}

fn table(table: Table) -> Option<String> {
    table.block().map(|block| html::block(&block))
}

/// The parts that exist, one below the other; `None` without any.
fn joined<const N: usize>(parts: [Option<String>; N]) -> Option<String> {
    parts.iter().any(Option::is_some).then(|| parts.into_iter().flatten().collect())
}

/// The minimum mutator utilisation of both, by window.
fn windows(a: &Results, b: &Results) -> Table {
    let of = |results: &Results, window_ns: u64| {
        let found = results.mmu.iter().find(|mmu| mmu.window_ns == window_ns).filter(|_| results.pauses.count > 0);
        found.map_or_else(|| "-".to_owned(), |mmu| units::percent(mmu.utilization))
    };
    let mut lengths: Vec<u64> = a.mmu.iter().chain(&b.mmu).map(|mmu: &Mmu| mmu.window_ns).collect();
    lengths.sort_unstable();
    lengths.dedup();
    let mut table = Table::of_columns("in any window of", ["A had at least", "B had at least"]);
    for ns in lengths.into_iter().filter(|_| a.pauses.count > 0 || b.pauses.count > 0) {
        table.row(units::tick_label(ns as f64), [of(a, ns), of(b, ns)]);
    }
    table
}
