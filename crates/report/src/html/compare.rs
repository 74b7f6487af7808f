//! The page of a comparison: what changed, then the figures, both recordings drawn side by side, and what two runs
//! cannot show.

use super::side_by_side::{self, name, side_class};
use crate::compared::Compared;
use crate::drawings::{bar, mirror};
use crate::sections::compare as sections;
use crate::{compare as words, units, words as report_words};
use rtscope_analyze::results::Results;
use rtscope_draw::escape::{escape, json_in_script};
use rtscope_draw::html::{figure, swatch};
use rtscope_draw::page::{Page, facts, finish, head};
use rtscope_draw::present::{Block, Section};

/// Maximum losses listed.
const LOSSES_MAX: usize = 50;

/// The page; `rtscope-data` holds the document of `report --compare --json`.
pub fn comparison(compared: &Compared) -> String {
    let (a, b) = (&compared.a.results, &compared.b.results);
    let titles = [a, b].map(|results| escape(name(results)).into_owned()).join(" and ");
    let mut page = Page::new(format!("<header><h1>{titles}</h1>{}{}</header>\n", side("A", a), side("B", b)));
    let mirror = || mirror::draw(a, b).map(|svg| figure(&svg, "A upwards, B downwards"));
    let drawn = [
        Section::new("clock", "The wall clock", [Block::markup(|| Some(bars(a, b)))]),
        Section::new("distribution", "How long pauses were", [Block::markup(mirror)]),
    ];
    let first = [sections::verdict(compared), sections::account(compared)];
    let last = [sections::findings(compared), sections::unseen(compared, LOSSES_MAX)];
    let all = first.into_iter().chain(drawn).chain([sections::figures(compared)]);
    for section in all.chain(side_by_side::sections(compared)).chain(last) {
        page.section(&section);
    }
    let data = words::json(compared).unwrap_or_default();
    let body = page.body();
    let head = head(&format!("{} and {}", a.source.path, b.source.path), &body, None, false);
    finish(&head, &body, &json_in_script(&data))
}

fn side(name: &str, results: &Results) -> String {
    let facts = facts(&report_words::facts(results, str::to_owned, units::duration(results.span_ns), false));
    let path = escape(&results.source.path);
    format!("<p>{} <strong>{name} {path}</strong> &middot; {facts}</p>", swatch(side_class(name)))
}

fn bars(a: &Results, b: &Results) -> String {
    let bar = |(name, results): (&str, &Results)| match bar::draw(results) {
        Some(svg) => figure(&svg, &format!("{name}, {}", units::duration(results.span_ns))),
        None => format!("<p>{name}: unknown, no log of a runtime was recorded.</p>"),
    };
    [("A", a), ("B", b)].map(bar).concat()
}
