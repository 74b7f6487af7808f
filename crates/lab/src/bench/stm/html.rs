//! The page of an experiment with transactions: how configurations compare with the default, then both plots and the
//! figures of each benchmark. Refuses to compute figures.

use crate::bench::stm::results::{Measured, StmResults};
use crate::bench::stm::{svg, text};
use rtscope_draw::page::{More, Page, facts};
use rtscope_draw::plot::LINES;
use rtscope_draw::present::{Block, Section, TextForm};

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
    let blocks = [text::standings(found).block(), Block::text("", TextForm::List, text::notes(found))];
    Section::new("verdict", "Compared with the default", blocks)
}

fn measured<'r>(found: &'r StmResults, index: usize, benchmark: &'r Measured) -> Section<'r> {
    let blocks = [
        Block::text("", TextForm::Plain, [format!("`{}`", benchmark.command)]),
        Block::picture(|| Some(svg::in_page(found, benchmark))),
        text::points(benchmark).block(),
    ];
    Section::new(format!("benchmark-{}", index + 1), text::title(benchmark), blocks)
}
