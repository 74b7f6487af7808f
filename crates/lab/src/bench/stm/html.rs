//! The page of an experiment with transactions: how configurations compare with the default, then both plots and the
//! figures of each benchmark. Refuses to compute figures.

use crate::bench::stm::results::{Measured, Ratio, StmPoint, StmResults};
use crate::bench::stm::{svg, text};
use rtscope_draw::escape::escape;
use rtscope_draw::plot::LINES;
use rtscope_report::html::frame::{More, Sections, facts, figure, list, shell_of};
use rtscope_report::html::table::{optional, table};

/// The style of the plots' lines.
const MORE: More =
    More { style: LINES, style_hash: "sha256-PgI+AXb79nzF+sZwkWFyd1souseSJKx6FbPfJ81JPgI=", script_hash: None };

/// The page; `rtscope-data` holds the document of `bench stm --json`, if it fits.
pub fn stm_bench(found: &StmResults) -> String {
    let header = format!("<header><h1>{}</h1><p>{}</p></header>\n", text::TITLE, facts(&text::facts(found)));
    let mut body = Sections::new(header);
    body.section("verdict", "Compared with the default", &verdict(found));
    for (index, benchmark) in found.benchmarks.iter().enumerate() {
        let about = benchmark.about.map_or_else(String::new, |about| format!(": {about}"));
        let title = escape(&format!("{}{about}", text::name(&benchmark.name))).into_owned();
        body.section(&format!("benchmark-{}", index + 1), &title, &measured(found, benchmark));
    }
    shell_of(text::TITLE, body, found, Some(&MORE))
}

fn verdict(found: &StmResults) -> String {
    let row = |standing| text::standing(&standing).map(|cell| escape(&cell).into_owned());
    let heads = ["", "faster", "slower", "neither", "best", "slowest, upper end"];
    let standings = optional(&heads, found.standings().into_iter().map(row));
    standings.unwrap_or_default() + &list(&text::notes(found))
}

fn measured(found: &StmResults, benchmark: &Measured) -> String {
    let command = format!("<p><code>{}</code></p>", escape(&benchmark.command));
    let mut out = format!("{command}{}", figure(&svg::in_page(found, benchmark), ""));
    out += &across(found, benchmark, "time", |point| Some(text::time(point.time_ns.median)));
    let mut known = |what: &str, cell: &dyn Fn(&StmPoint) -> Option<String>| {
        if benchmark.points.iter().any(|point| cell(point).is_some()) {
            out += &across(found, benchmark, what, cell);
        }
    };
    known("of the default", &|point| point.of_default.map(interval));
    let fewest = benchmark.points.first().map_or(0, |point| point.threads);
    known(&format!("of {fewest}"), &|point| point.of_fewest.map(interval));
    known("aborts", &|point| Some(text::count(point.aborts?.median)));
    out
}

fn interval(ratio: Ratio) -> String {
    let [middle, low, high] = [ratio.ratio, ratio.low, ratio.high].map(text::ratio);
    format!("{middle} [{low}, {high}]")
}

/// A table of one figure: a row for each number of threads, a column for each configuration.
fn across(found: &StmResults, benchmark: &Measured, what: &str, cell: impl Fn(&StmPoint) -> Option<String>) -> String {
    let heads: Vec<&str> = found.configurations.iter().map(|configuration| configuration.name).collect();
    let row = |points: &[StmPoint]| {
        let threads = points.first().map_or_else(String::new, |point| point.threads.to_string());
        let of = |name: &&str| {
            let point = points.iter().find(|point| point.configuration == *name);
            point.and_then(&cell).unwrap_or_default()
        };
        std::iter::once(threads).chain(heads.iter().map(of)).collect::<Vec<_>>()
    };
    let rows = benchmark.points.chunk_by(|a, b| a.threads == b.threads).map(row);
    let first = format!("{what}, with threads");
    table(&[&[first.as_str()][..], &heads].concat(), rows)
}
