//! The page of a comparison: the answer, what differs between the recordings, both bars, both distributions on one
//! axis, every figure with its interval, findings that came and went, both runs over time and by lane, side by side.
//! Refuses to compute figures.

use super::frame::{Sections, facts, figure, finish, head, list, list_or, more};
use super::side_by_side::{name, side_class};
use super::table::swatch;
use super::{account, side_by_side, svg_bar, svg_mirror, table};
use crate::compared::Compared;
use crate::{compare as words, units, words as report_words};
use rtscope_analyze::compare::Verdict;
use rtscope_analyze::compare::judge::Compared as Figure;
use rtscope_analyze::results::Results;
use rtscope_draw::escape::{escape, json_in_script};
use std::collections::BTreeMap;

/// Maximum items of any list.
const ITEMS_MAX: usize = 50;

/// The page; `rtscope-data` holds the document of `report --compare --json`.
pub fn comparison(compared: &Compared) -> String {
    let (a, b) = (&compared.a.results, &compared.b.results);
    let titles = [a, b].map(|results| escape(name(results)).into_owned()).join(" and ");
    let header = format!("<header><h1>{titles}</h1>{}{}</header>\n", side("A", a), side("B", b));
    let mut body = Sections::new(header);
    body.section("verdict", "What changed", &verdict(compared));
    body.optional("account", "Where the time went", account::changes(compared));
    body.section("clock", "The wall clock", &bars(a, b));
    let mirror = svg_mirror::draw(a, b).map(|svg| figure(&svg, "A upwards, B downwards"));
    body.optional("distribution", "How long pauses were", mirror);
    body.section("figures", "Figures", &figures(compared));
    side_by_side::over_time(&mut body, compared);
    side_by_side::lanes(&mut body, compared);
    let findings: Vec<String> = compared.comparison.findings.iter().map(words::finding).collect();
    body.section("findings", "Findings", &list_or("None in either.", &cut(findings)));
    let mut unseen = words::limits(&compared.comparison);
    unseen.extend(words::losses(compared));
    let unseen = list_or("Nothing is known to be missing.", &cut(unseen));
    body.section("losses", "What this cannot show", &unseen);
    let data = words::json(compared).unwrap_or_default();
    let body = body.body();
    let head = head(&format!("{} and {}", a.source.path, b.source.path), &body, None, false);
    finish(&head, &body, &json_in_script(&data))
}

fn side(name: &str, results: &Results) -> String {
    let facts = facts(&report_words::facts(results, str::to_owned, units::duration(results.span_ns), false));
    format!(
        "<p>{} <strong>{name} {}</strong> &middot; {facts}</p>",
        swatch(side_class(name)),
        escape(&results.source.path)
    )
}

fn verdict(compared: &Compared) -> String {
    let class = match compared.comparison.verdict {
        Verdict::NoDifference => "good",
        Verdict::Different => "note",
        Verdict::OthersDiffer | Verdict::CannotTell => "warning",
    };
    let headline = words::headline(compared);
    let mut out = format!("<article class=\"finding {class}\"><h3>{}</h3></article>", escape(&headline));
    out += &titled("Not the same", compared.comparison.settings.iter().map(words::setting).collect());
    out + &titled("Fail if", compared.conditions.iter().map(words::condition).collect())
}

fn bars(a: &Results, b: &Results) -> String {
    let bar = |(name, results): (&str, &Results)| match svg_bar::draw(results) {
        Some(svg) => figure(&svg, &format!("{name}, {}", units::duration(results.span_ns))),
        None => format!("<p>{name}: unknown, no log of a runtime was recorded.</p>"),
    };
    [("A", a), ("B", b)].map(bar).concat()
}

fn figures(compared: &Compared) -> String {
    let span_ns = compared.b.results.span_ns;
    let known = || compared.comparison.figures.iter().filter(|figure| figure.a.is_some() && figure.b.is_some());
    let row = |figure| {
        let cells = words::cells(figure, span_ns).map(|cell| escape(&cell).into_owned());
        cells.into_iter().chain([interval(figure), format!("<span>{}</span>", words::decided(figure))])
    };
    let about = "<p class=\"faint\">Sums: share of each run, and their change as time in a run as long as B. Interval: 95 in \
                 100 pairs of quarters; the stroke in the small drawing is no change.</p>";
    let not_judged = not_judged(known());
    let table = table::table(&["", "A", "B", "change", "interval", "", ""], known().map(row));
    format!("{table}{about}{not_judged}")
}

/// The figures that were not judged, grouped by reason.
fn not_judged<'f>(known: impl Iterator<Item = &'f Figure>) -> String {
    let mut whys: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for figure in known {
        if let Some(why) = &figure.why_not {
            whys.entry(why).or_default().push(words::name(&figure.path));
        }
    }
    titled("Not judged", whys.iter().map(|(why, names)| format!("{}: {why}", names.join("; "))).collect())
}

/// A small drawing of an interval relative to no change, on a scale of its own.
fn interval(figure: &Figure) -> String {
    let (Some(low), Some(high)) = (figure.low, figure.high) else { return String::new() };
    let (from, to) = (low.min(0.0), high.max(0.0));
    if to <= from || !(to - from).is_finite() {
        return String::new();
    }
    let x = |value: f64| 4.0 + 112.0 * (value - from) / (to - from);
    let class = if figure.differs() { "differs" } else { "may-be-chance" };
    format!(
        "<svg class=\"share\" viewBox=\"0 0 120 10\" aria-hidden=\"true\"><rect x=\"{:.1}\" y=\"2\" width=\"{:.1}\" \
         height=\"6\" class=\"{class}\"/><line x1=\"{zero:.1}\" y1=\"0\" x2=\"{zero:.1}\" y2=\"10\" class=\"axis\"/></svg>",
        x(low),
        (x(high) - x(low)).max(1.0),
        zero = x(0.0)
    )
}

/// A list with its heading; empty without items.
fn titled(title: &str, items: Vec<String>) -> String {
    if items.is_empty() { String::new() } else { format!("<h4>{title}</h4>{}", list(&cut(items))) }
}

fn cut(items: Vec<String>) -> Vec<String> {
    report_words::cut(items, ITEMS_MAX, more)
}
