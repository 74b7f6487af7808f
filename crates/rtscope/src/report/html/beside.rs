//! Two recordings beside each other, each drawn as on a page of its own, both on the same scales: pauses over
//! time, what any window left, memory, lanes and why they were waited for, the longest pauses. Refuses to
//! compute figures and to judge differences.

use super::frame::{figure, section};
use super::page::{lanes_over_time, legend, pause};
use super::{svg_memory, svg_mmu, svg_time, svg_waterfall, table};
use crate::compare::{Analysed, Compared};
use crate::draw::escape::escape;
use rtscope_analyze::results::{Mmu, Results, WorstPause};
use rtscope_model::units;
use std::fmt::Write as _;

/// Longest pauses of each that are drawn.
const WORST_MAX: usize = 3;

/// What there was over time.
pub(super) fn over_time(body: &mut String, compared: &Compared) {
    let all = [&compared.a.results, &compared.b.results];
    let drawn =
        |draw: fn(&Results, &[&Results]) -> Option<String>| all.map(|one| draw(one, &all).map(|svg| figure(&svg, "")));
    both(body, "over-time", "Pauses over time", drawn(svg_time::draw), "No pause was seen.");
    let mut utilisation = String::new();
    sides(&mut utilisation, drawn(svg_mmu::draw), "No pause was seen.");
    if !utilisation.is_empty() {
        utilisation.push_str(&windows(all[0], all[1]));
        section(body, "utilisation", "What any window left for the program", &utilisation);
    }
    let memory = all.map(|one| {
        let parts = [svg_memory::draw(one, &all).map(|svg| figure(&svg, "")), table::memory(one)];
        parts.iter().any(Option::is_some).then(|| parts.into_iter().flatten().collect::<String>())
    });
    both(body, "memory", "Memory", memory, "Nothing told how much memory the program held.");
}

/// What each lane did and why it was waited for; then the longest pauses, those of one rank on one scale.
pub(super) fn lanes(body: &mut String, compared: &Compared) {
    let all = [&compared.a, &compared.b];
    let tables = all.map(|one| {
        let drawn = lanes_over_time(&one.results, &[&compared.a.results, &compared.b.results]);
        let parts = [drawn, table::causes(&one.results), table::lanes(&one.results)];
        parts.iter().any(Option::is_some).then(|| parts.into_iter().flatten().collect::<String>())
    });
    both(body, "lanes", "Lanes, and why they were waited for", tables, "No lane was seen.");
    let mut worst = String::new();
    for rank in 0..WORST_MAX {
        let pair = all.map(|one| one.results.drawing.worst.get(rank));
        let span_ns = pair.iter().flatten().map(|worst| svg_waterfall::length_ns(worst)).max().unwrap_or(0);
        let draw = |(one, worst): (&Analysed, Option<&WorstPause>)| {
            worst.map(|worst| pause(&one.results, &one.names, (rank + 1, worst), span_ns, "h4"))
        };
        let [a, b] = pair;
        sides(&mut worst, [draw((all[0], a)), draw((all[1], b))], "No such pause.");
    }
    if !worst.is_empty() {
        let about = "<p class=\"faint\">The longest of both on one scale, then the second and the third.</p>";
        section(body, "worst", "The longest pauses, lane by lane", &format!("{}{about}{worst}", legend()));
    }
}

/// A section with A and B; none where there is nothing of either.
fn both(body: &mut String, id: &str, title: &str, of: [Option<String>; 2], nothing: &str) {
    let mut content = String::new();
    sides(&mut content, of, nothing);
    if !content.is_empty() {
        section(body, id, title, &content);
    }
}

fn sides(out: &mut String, of: [Option<String>; 2], nothing: &str) {
    if of.iter().all(Option::is_none) {
        return;
    }
    out.push_str("<div class=\"beside\">");
    for (name, content) in ["A", "B"].into_iter().zip(of) {
        let content = content.unwrap_or_else(|| format!("<p>{nothing}</p>"));
        let _ = write!(out, "<div><h3>{name}</h3>{content}</div>");
    }
    out.push_str("</div>");
}

/// Share of any window that each had at least.
fn windows(a: &Results, b: &Results) -> String {
    let of = |results: &Results, window_ns: u64| {
        let found = results.mmu.iter().find(|mmu| mmu.window_ns == window_ns).filter(|_| results.pauses.count > 0);
        found.map_or_else(|| "-".into(), |mmu| escape(&units::percent(mmu.utilization)).into_owned())
    };
    let mut lengths: Vec<u64> = a.mmu.iter().chain(&b.mmu).map(|mmu: &Mmu| mmu.window_ns).collect();
    lengths.sort_unstable();
    lengths.dedup();
    let row = |ns: &u64| vec![units::tick_label(*ns as f64), of(a, *ns), of(b, *ns)];
    let rows: Vec<Vec<String>> = lengths.iter().map(row).collect();
    table::table(&["in any window of", "A had at least", "B had at least"], &rows)
}
