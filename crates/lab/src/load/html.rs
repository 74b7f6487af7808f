//! The page of a load: the outcome in words, figures, latency and rate over time, the curve of its latencies. Refuses
//! to compute figures.

use super::svg as svg_load;
use crate::load::text;
use rtscope_draw::escape::escape;
use rtscope_load::document::Document;
use rtscope_load::spread::SpreadFigures;
use rtscope_model::units;
use rtscope_report::html::frame::{Sections, drawn, figure, list, shell_of};
use rtscope_report::html::table::table;

/// The page; `rtscope-data` holds the document of `load --json`, if it fits.
pub fn load(load: &Document) -> String {
    let how = escape(&format!("{} over {}", load.method, load.protocol)).into_owned();
    let mut body = Sections::new(format!("<header><h1>{}</h1><p>{how}</p></header>\n", escape(&load.url)));
    body.section("verdict", "What came of it", &said(load));
    body.section("figures", "Latency from when requests were due", &figures(load));
    let over_time = svg_load::time(load).map(|svg| figure(&svg, "by when requests ended"));
    body.optional("over-time", "Over time", over_time);
    body.optional("curve", "All latencies in order", drawn(svg_load::curve(load)));
    shell_of(&load.url, body, load, None)
}

fn said(load: &Document) -> String {
    let class = if load.doubts.is_empty() { "good" } else { "warning" };
    let headline = format!("<article class=\"finding {class}\"><h3>{}</h3>", escape(&text::headline(load)));
    let doubt = |doubt| format!("<p><strong>{}.</strong></p>", escape(&text::doubted(doubt, load)));
    let doubts: String = load.doubts.iter().copied().map(doubt).collect();
    headline + &doubts + "</article>" + &list(&text::notes(load))
}

fn figures(load: &Document) -> String {
    let row = |(name, figures): (&str, &SpreadFigures)| {
        let all = [figures.p50_ns, figures.p90_ns, figures.p99_ns, figures.p999_ns, figures.max_ns];
        let cells = all.into_iter().map(units::duration_or_dash);
        [name.to_owned(), units::count(figures.count)].into_iter().chain(cells)
    };
    table(&["", "requests", "p50", "p90", "p99", "p99.9", "longest"], text::rows(load).into_iter().map(row))
}
