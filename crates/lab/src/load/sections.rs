//! The content of a load's report: the outcome in words, latency by its parts, latency and rate over time, the curve of
//! its latencies. Refuses to compute figures.

use super::svg;
use super::text::{doubted, headline, notes};
use rtscope_draw::html::figure;
use rtscope_draw::present::{Block, Cell, Grade, Name, Section, Table, TextForm, Verdict};
use rtscope_load::document::Document;
use rtscope_load::spread::SpreadFigures;
use rtscope_model::units::{count, duration_or_dash};

/// All of it, in reading order.
pub fn all(load: &Document) -> [Section<'_>; 4] {
    let over_time = || svg::time(load).map(|svg| figure(&svg, "by when requests ended"));
    [
        verdict(load),
        Section::new("figures", "Latency from when requests were due", [figures(load).block()]),
        Section::new("over-time", "Over time", [Block::markup(over_time)]),
        Section::new("curve", "All latencies in order", [Block::picture(|| svg::curve(load))]),
    ]
}

fn verdict(load: &Document) -> Section<'_> {
    let doubts: Vec<String> = load.doubts.iter().map(|doubt| doubted(*doubt, load) + ".").collect();
    let grade = if doubts.is_empty() { Grade::Good } else { Grade::Warning };
    let verdict = Verdict { grade, head: headline(load), text: String::new(), doubts };
    Section::new(
        "verdict",
        "What came of it",
        [Some(Block::Verdict(verdict)), Block::text("", TextForm::List, notes(load))],
    )
}

/// Whole latencies, then their parts.
fn figures(load: &Document) -> Table {
    let latency = &load.latency;
    let mut of = vec![("all", 0, &latency.all)];
    if load.requests.failed > 0 {
        of.extend([("answered", 0, &latency.fine), ("failed", 0, &latency.failed)]);
    }
    of.extend([
        ("rtscope was late", 1, &latency.late),
        ("waited for a connection", 1, &latency.queued),
        ("was with the server", 1, &latency.service),
    ]);
    let row = |(name, depth, figures): (&str, usize, &SpreadFigures)| {
        let SpreadFigures { p50_ns, p90_ns, p99_ns, p999_ns, max_ns, .. } = *figures;
        let [p50, p90, p99, p999, max] = [p50_ns, p90_ns, p99_ns, p999_ns, max_ns].map(duration_or_dash);
        let cells = [count(figures.count), p50, p90, p99, p999, max].map(Cell::from);
        (Name { depth, ..Name::from(name) }, cells)
    };
    let heads = ["+requests", "p50", "p90", "p99", "p99.9", "longest"];
    Table::new("from when it was due", heads, of.into_iter().map(row))
}
