//! The page of an experiment with transactions: how configurations compare with the default, then both plots and the
//! figures of each benchmark. Refuses to compute figures.

use crate::bench::stm::results::{Measured, Ratio, StmPoint, StmResults};
use crate::bench::stm::{svg, text};
use rtscope_draw::page::{More, Page, facts};
use rtscope_draw::plot::LINES;
use rtscope_draw::present::{Block, Section, Table, TextForm};

/// The style of the plots' lines.
const MORE: More =
    More { style: LINES, style_hash: "sha256-dOlVXF0Q8bZ6HNmkbHA20YzAJUvRDJu4KLUoJKMeqt4=", script_hash: None };

/// The page; `rtscope-data` holds the document of `bench stm --json`, if it fits.
pub fn stm_bench(found: &StmResults) -> String {
    let header = format!("<header><h1>{}</h1><p>{}</p></header>\n", text::TITLE, facts(&text::facts(found)));
    let mut page = Page::new(header);
    page.section(&verdict(found));
    for (index, benchmark) in found.benchmarks.iter().enumerate() {
        page.section(&measured(found, index, benchmark));
    }
    page.with_document(text::TITLE, found, Some(&MORE))
}

fn verdict(found: &StmResults) -> Section<'_> {
    let mut table = Table::of_columns("", ["faster", "slower", "neither", "best", "slowest, upper end"]);
    for standing in found.standings() {
        let [name, cells @ ..] = text::standing(&standing);
        table.row(name, cells);
    }
    let blocks = [table.block(), Block::text("", TextForm::List, text::notes(found))];
    Section::new("verdict", "Compared with the default", blocks)
}

fn measured<'r>(found: &'r StmResults, index: usize, benchmark: &'r Measured) -> Section<'r> {
    let about = benchmark.about.map_or_else(String::new, |about| format!(": {about}"));
    let mut blocks = vec![
        Block::text("", TextForm::Plain, [format!("`{}`", benchmark.command)]),
        Block::picture(|| Some(svg::in_page(found, benchmark))),
        across(found, benchmark, "time", |point| Some(text::time(point.time_ns.median))).block(),
    ];
    let mut known = |what: &str, cell: &dyn Fn(&StmPoint) -> Option<String>| {
        if benchmark.points.iter().any(|point| cell(point).is_some()) {
            blocks.push(across(found, benchmark, what, cell).block());
        }
    };
    known("of the default", &|point| point.of_default.map(interval));
    let fewest = benchmark.points.first().map_or(0, |point| point.threads);
    known(&format!("of {fewest}"), &|point| point.of_fewest.map(interval));
    known("aborts", &|point| Some(text::count(point.aborts?.median)));
    let anchor = format!("benchmark-{}", index + 1);
    Section::new(anchor, format!("{}{about}", text::name(&benchmark.name)), blocks)
}

fn interval(ratio: Ratio) -> String {
    let [middle, low, high] = [ratio.ratio, ratio.low, ratio.high].map(text::ratio);
    format!("{middle} [{low}, {high}]")
}

/// A table of one figure: a row for each number of threads, a column for each configuration.
fn across(found: &StmResults, benchmark: &Measured, what: &str, cell: impl Fn(&StmPoint) -> Option<String>) -> Table {
    let names: Vec<&str> = found.configurations.iter().map(|configuration| configuration.name).collect();
    let mut table = Table::of_columns(format!("{what}, with threads"), names.iter().map(|name| (*name).to_owned()));
    for points in benchmark.points.chunk_by(|a, b| a.threads == b.threads) {
        let threads = points.first().map_or_else(String::new, |point| point.threads.to_string());
        let of = |name: &&str| {
            let point = points.iter().find(|point| point.configuration == *name);
            point.and_then(&cell).unwrap_or_default()
        };
        table.row(threads, names.iter().map(of));
    }
    table
}
