//! Two recordings side by side, each drawn as on its own page, but on common scales: pauses over time, mutator
//! utilisation, memory, lanes and why pauses waited, the longest pauses. Refuses to compute figures and to
//! judge differences.

use super::frame::{Sections, drawn, joined};
use super::page::{lanes_over_time, legend, pause};
use super::{svg_memory, svg_mmu, svg_time, svg_waterfall, table};
use crate::compared::{Analysed, Compared};
use rtscope_analyze::results::{Mmu, Results, WorstPause};
use rtscope_draw::escape::escape;
use rtscope_model::units;

/// Number of longest pauses drawn of each recording.
const WORST_MAX: usize = 3;

/// Pauses, utilisation and memory over time.
pub(super) fn over_time(body: &mut Sections, compared: &Compared) {
    let all = [&compared.a.results, &compared.b.results];
    let draw = |draw: fn(&Results, &[&Results]) -> Option<String>| all.map(|one| drawn(draw(one, &all)));
    body.optional("over-time", "Pauses over time", sides(compared, draw(svg_time::draw), "No pause was seen."));
    let utilisation = sides(compared, draw(svg_mmu::draw), "No pause was seen.");
    let utilisation = utilisation.map(|drawn| drawn + &windows(all[0], all[1]));
    body.optional("utilisation", "What any window left for the program", utilisation);
    let memory = all.map(|one| joined([drawn(svg_memory::draw(one, &all)), table::memory(one)]));
    body.optional(
        "memory",
        "Memory",
        sides(compared, memory, "The recordings do not say how much memory the program held."),
    );
}

/// What lanes did and why pauses waited; then the longest pauses, both of the same rank on one scale.
pub(super) fn lanes(body: &mut Sections, compared: &Compared) {
    let all = [&compared.a, &compared.b];
    let tables = all.map(|one| {
        let drawn = lanes_over_time(&one.results, &[&compared.a.results, &compared.b.results]);
        joined([drawn, table::causes(&one.results), table::lanes(&one.results)])
    });
    body.optional("lanes", "What ran when, and why pauses waited", sides(compared, tables, "Nothing was seen."));
    let pair = |rank: usize| {
        let pair = all.map(|one| (one, one.results.drawing.worst.get(rank)));
        let span_ns = pair.iter().filter_map(|(_, worst)| worst.map(svg_waterfall::length_ns)).max().unwrap_or(0);
        let draw = |(one, worst): (&Analysed, Option<&WorstPause>)| {
            worst.map(|worst| pause(&one.results, &one.names, (rank + 1, worst), span_ns, "h4"))
        };
        sides(compared, pair.map(draw), "No such pause.")
    };
    let worst: String = (0..WORST_MAX).filter_map(pair).collect();
    if !worst.is_empty() {
        let about = "<p class=\"faint\">The longest of both on one scale, then the second and the third.</p>";
        body.section("worst", "The longest pauses", &format!("{}{about}{worst}", legend()));
    }
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
        let head = format!("{}{side} {}", table::swatch(side_class(side)), escape(name(&one.results)));
        format!("<div><h3>{head}</h3>{}</div>", content.unwrap_or_else(|| format!("<p>{nothing}</p>")))
    };
    let sides: String = [("A", &compared.a), ("B", &compared.b)].into_iter().zip(of).map(side).collect();
    Some(format!("<div class=\"beside\">{sides}</div>"))
}

/// The minimum mutator utilisation of both, by window.
fn windows(a: &Results, b: &Results) -> String {
    let of = |results: &Results, window_ns: u64| {
        let found = results.mmu.iter().find(|mmu| mmu.window_ns == window_ns).filter(|_| results.pauses.count > 0);
        found.map_or_else(|| "-".into(), |mmu| escape(&units::percent(mmu.utilization)).into_owned())
    };
    let mut lengths: Vec<u64> = a.mmu.iter().chain(&b.mmu).map(|mmu: &Mmu| mmu.window_ns).collect();
    lengths.sort_unstable();
    lengths.dedup();
    let row = |ns: u64| [units::tick_label(ns as f64), of(a, ns), of(b, ns)];
    table::table(&["in any window of", "A had at least", "B had at least"], lengths.into_iter().map(row))
}
