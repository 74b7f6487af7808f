//! The page's tables: pauses, causes, lanes, generations, memory, losses.

use super::frame::{faint, headed, joined};
use crate::kinds::SpanKind;
use crate::{code, further, tables, units, words};
use rtscope_analyze::results::heap_profile::Band;
use rtscope_analyze::results::{
    CodePlace, Distribution, Generation, Lane, LaneSparks, MemoryLevel, Mmu, Results, UserEvents, UserValues,
};
use rtscope_draw::escape::escape;
use rtscope_model::text::word;
use std::fmt::Write as _;

/// Maximum rows of any table; the rest is counted.
const ROWS_MAX: usize = 64;

/// The start of a table. It can have the focus, so that the arrow keys scroll a wide one.
pub fn begin(heads: &[&str]) -> String {
    let heads: String = heads.iter().map(|head| format!("<th scope=\"col\">{head}</th>")).collect();
    let around = "<div class=\"scroll\" tabindex=\"0\" role=\"group\" aria-label=\"Table\"><table><thead><tr>";
    format!("{around}{heads}</tr></thead><tbody>")
}

/// A table; cells are HTML already. The first column is text, the others figures.
pub fn table(heads: &[&str], rows: impl IntoIterator<Item: IntoIterator<Item = String>>) -> String {
    let mut out = begin(heads);
    let mut rows = rows.into_iter();
    for row in rows.by_ref().take(ROWS_MAX) {
        out.push_str("<tr>");
        for (index, cell) in row.into_iter().enumerate() {
            let tag = if index == 0 { "th scope=\"row\"" } else { "td" };
            let _ = write!(out, "<{tag}>{cell}</{}>", if index == 0 { "th" } else { "td" });
        }
        out.push_str("</tr>");
    }
    out.push_str("</tbody></table></div>");
    let more = rows.count() as u64;
    if more > 0 {
        let more = units::count(more);
        let _ = write!(out, "<p class=\"faint\">and {more} more, see <code>rtscope report --json</code></p>");
    }
    out
}

/// Like [`table`], but `None` without rows.
pub fn optional(heads: &[&str], rows: impl IntoIterator<Item: IntoIterator<Item = String>>) -> Option<String> {
    let mut rows = rows.into_iter().peekable();
    rows.peek().is_some().then(|| table(heads, rows))
}

/// A table that the text has too; `None` without rows. The first cell of each row is HTML already.
pub fn shared(shared: tables::Table) -> Option<String> {
    let (heads, mut rows) = shared.page();
    let figures = rows.iter_mut().flat_map(|row| row.iter_mut().skip(1));
    figures.for_each(|cell| *cell = escape(cell).into_owned());
    optional(&heads, rows)
}

/// A share, escaped: small ones contain a sign that HTML must not see.
fn percent(share: f64) -> String {
    escape(&units::percent(share)).into_owned()
}

/// A small square in the colour of `class`, drawn so that it needs no script
/// and no style attribute.
pub fn swatch(class: &str) -> String {
    format!(
        "<svg class=\"swatch\" viewBox=\"0 0 10 10\" aria-hidden=\"true\"><rect width=\"10\" height=\"10\" class=\"{class}\"/></svg> "
    )
}

/// The class of a drawing of `kind`.
pub fn fill(kind: SpanKind) -> String {
    format!("fill-{}", kind.look().1)
}

/// An entry of a legend. `words` are not escaped: they must not come from a recording.
pub fn entry(class: &str, words: &str) -> String {
    format!("<span>{}{words}</span> ", swatch(class))
}

/// A bar for `share`, for table cells.
fn share_bar(share: f64) -> String {
    if !share.is_finite() || share <= 0.0 {
        return String::new();
    }
    let width = (share * 120.0).clamp(0.5, 120.0);
    format!(
        "<svg class=\"share\" viewBox=\"0 0 120 10\" aria-hidden=\"true\"><rect width=\"{width:.1}\" height=\"10\" class=\"bar\"/></svg>"
    )
}

/// One row per part of the wall clock.
pub fn pauses(results: &Results) -> Option<String> {
    shared(tables::pauses(results, "whole pause", |part| format!("{}{}", swatch(&word(&part)), part.words())))
}

/// Why pauses waited.
pub fn causes(results: &Results) -> Option<String> {
    let row = |group: words::CauseGroup<'_>| {
        let (why, ns) = (escape(&group.words()).into_owned(), units::duration(group.sum_ns));
        [why, ns, percent(group.share), share_bar(group.share)]
    };
    let heads = ["why pauses waited", "in all", "of all waits", ""];
    optional(&heads, words::cause_groups(&results.causes).into_iter().map(row))
}

/// A row for each capability or domain.
pub fn lanes(results: &Results) -> Option<String> {
    let lanes: Vec<&Lane> = results.lanes.iter().collect();
    shared(tables::lanes(results, &lanes, usize::MAX, |name| escape(name).into_owned()))
}

/// A row for each generation.
pub fn generations(results: &Results) -> Option<String> {
    let row = |g: &Generation| {
        let d = &g.collect_ns;
        let [p50, max, sum] = [d.p50, d.max, d.sum].map(units::duration_or_dash);
        [
            results.runtime.info().generation(g.generation),
            units::count(g.count),
            p50,
            max,
            sum,
            units::bytes(g.copied_bytes),
        ]
    };
    let heads = ["collections", "how many", "median", "longest", "in all", "copied"];
    optional(&heads, results.pauses.by_generation.iter().map(row))
}

/// Minimum mutator utilisation by window.
pub fn mmu(results: &Results) -> Option<String> {
    let row = |mmu: &Mmu| {
        let window = units::tick_label(mmu.window_ns as f64);
        [window, percent(mmu.utilization), share_bar(mmu.utilization), percent(mmu.bounded)]
    };
    let heads = ["in any window of", "the program had at least", "", "in this or any longer one"];
    optional(&heads, results.mmu.iter().map(row)).filter(|_| results.pauses.count > 0)
}

/// What each lane allocates, and how much of its allocation area it used.
pub fn allocation(results: &Results) -> Option<String> {
    let known = results.lanes.iter().filter(|lane| lane.allocated_bytes.is_some());
    shared(tables::allocation(results.runtime.info().lane.0, known, |name| escape(name).into_owned()))
}

/// One row per phase of a concurrent collector.
pub fn concurrent(results: &Results) -> Option<String> {
    let row = |(_, many, d): (&str, &str, Distribution)| {
        let ns = units::duration_or_dash;
        [many.to_string(), units::count(d.count), ns(d.p50), ns(d.p99), ns(d.max), ns(d.sum)]
    };
    let rows = further::phases(results.concurrent.as_ref()?).map(row);
    Some(table(&["phase", "how many", "median", "99 in 100", "longest", "in all"], rows))
}

/// The fates of sparks, one row each, and their numbers by lane.
pub fn sparks(results: &Results) -> Option<String> {
    let sparks = results.sparks.as_ref()?;
    let offered = further::offered(&sparks.all)?;
    let row = |(name, what, count): (&str, &str, u64)| {
        let share = count as f64 / offered as f64;
        let what = format!("<span class=\"faint\">{what}</span>");
        [name.to_string(), units::count(count), percent(share), share_bar(share), what]
    };
    let all = ["offered".into(), units::count(offered), String::new(), String::new(), String::new()];
    let uncounted = further::uncounted(&sparks.all);
    let silent = format!("{} does not say: a pool was full when it collected", results.runtime.info());
    let lost = (uncounted > 0).then_some(("not counted", &*silent, uncounted));
    let rows = further::fates(&sparks.all).into_iter().chain(lost).map(row);
    let fates = table(&["sparks", "how many", "of those offered", "", "what it means"], [all].into_iter().chain(rows));
    let lane = |lane: &LaneSparks| {
        let offered = further::offered(&lane.counts).unwrap_or(0);
        let counts = further::fates(&lane.counts).map(|(.., count)| count);
        [lane.lane.to_string()].into_iter().chain([offered].into_iter().chain(counts).map(units::count))
    };
    let names = further::fates(&sparks.all).map(|(name, ..)| name);
    let lanes =
        table(&[&[results.runtime.info().lane.0, "offered"][..], &names].concat(), sparks.lanes.iter().map(lane));
    Some(format!("<div class=\"memory\">{fates}</div>{lanes}"))
}

/// Where the code was, by CPU time.
pub fn code(results: &Results) -> Option<String> {
    let sampled = results.code.as_ref().filter(|sampled| sampled.samples > 0)?;
    let row = |(place, share): (&CodePlace, f64)| {
        [
            format!("<code>{}</code>", escape(&place.symbol)),
            word(&place.kind),
            escape(place.source.as_ref().unwrap_or(&place.module)).into_owned(),
            units::duration(place.running_ns),
            percent(share),
            share_bar(share),
            code::waited(place),
        ]
    };
    let heads = ["place", "whose", "where", "CPU time", "of all", "", "while it was waited for"];
    let table = optional(&heads, code::places(sampled).into_iter().map(row))?;
    let longest = code::longest_wait(results).map_or_else(String::new, |text| headed("Longest wait", &text));
    Some(format!("{longest}{table}{}", faint(&(code::basis(sampled) + "."))))
}

/// The memory figures, with the meaning of each.
pub fn memory(results: &Results) -> Option<String> {
    let what = |name: &str| match name {
        "RSS" => "pages that the kernel counts as resident",
        "heap held" => "what the runtime holds from the system",
        "in blocks" => "of that, in allocated blocks",
        "live" => "of that, reachable at the last major collection",
        "residency" => "the most that was ever live: what the runtime calls residency",
        "slop" => "wasted at the ends of blocks",
        _ => "",
    };
    let row = |(name, level): (&str, MemoryLevel)| {
        let mean = units::bytes(level.mean.max(0.0) as u64);
        let what = format!("<span class=\"faint\">{}</span>", what(name));
        [name.to_string(), units::bytes(level.max), mean, units::bytes(level.last), what]
    };
    let heads = ["memory", "most", "mean", "at the end", "what it is"];
    let table = optional(&heads, words::memory(&results.memory).into_iter().map(row))?;
    Some(format!("<div class=\"memory\">{table}</div>"))
}

/// The heap profile's labels, largest first.
pub fn heap_profile(results: &Results) -> Option<String> {
    let profile = results.heap_profile.as_ref()?;
    let row =
        |band: Band| [escape(&band.label).into_owned(), units::bytes(band.max_bytes), units::bytes(band.last_bytes)];
    let (shown, rest) = words::heap_profile(profile, profile.bands.len());
    let all =
        Band { label: "all".into(), max_bytes: profile.max_bytes, last_bytes: profile.last_bytes, ..Band::default() };
    let rows = shown.into_iter().chain(rest).chain([all]).map(row);
    let heads = [&format!("heap by {}", profile.breakdown), "most", "in the last"];
    let note = words::heap_profile_note(profile).map_or_else(String::new, |note| format!("; {note}"));
    Some(table(&heads, rows) + &faint(&format!("{}{note}.", words::heap_samples(profile))))
}

/// User events: spans, then marks and values.
pub fn user(results: &Results) -> Option<String> {
    let name = |name: &str| format!("<code>{}</code>", escape(name));
    let row = |one: &UserEvents| {
        let figure = |of: fn(&UserValues) -> String| one.values.as_ref().map_or_else(|| "-".into(), of);
        [
            name(&one.name),
            units::count(one.marks),
            figure(|values| units::count(values.count)),
            figure(|values| values.min.to_string()),
            figure(|values| values.max.to_string()),
            figure(|values| format!("{:.1}", values.mean)),
            figure(|values| values.last.to_string()),
        ]
    };
    let posted = results.user.iter().filter(|one| one.marks > 0 || one.values.is_some());
    let others = optional(&["event", "moments", "values", "least", "most", "mean", "last"], posted.map(row));
    joined([shared(tables::user_spans(results, name)), others])
}
