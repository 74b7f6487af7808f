//! The program and what it asked of its runtime: its hottest code, its own events, sparks, the concurrent collector.

use crate::{code as places, further, units};
use rtscope_analyze::results::{CodePlace, Distribution, LaneSparks, Results, UserEvents, UserValues};
use rtscope_draw::present::{Block, Cell, Name, Section, Table, TextForm};
use rtscope_model::text::word;

/// Maximum rows of user events on a terminal.
const USER_SHOWN: usize = 5;

/// Where the code was, by CPU time.
pub(super) fn code(results: &Results) -> Section<'_> {
    let sampled = results.code.as_ref().filter(|sampled| sampled.samples > 0);
    let row = |(place, share): (&CodePlace, f64)| {
        let whose = format!("{} ({})", place.symbol, word(&place.kind));
        let source = place.source.as_ref().unwrap_or(&place.module);
        let ran = Cell::from(units::duration(place.running_ns));
        (Name::code(whose), [ran, Cell::Share(share), places::waited(place).into(), Cell::Note(source.clone())])
    };
    let rows = sampled.map(places::places).unwrap_or_default();
    let heads = ["CPU time", "share", "while others waited", "where"];
    let table = Table::new("hottest code", heads, rows.into_iter().map(row));
    let longest = places::longest_wait(results).filter(|_| sampled.is_some());
    let basis = sampled.filter(|_| !table.rows.is_empty()).map(|sampled| places::basis(sampled) + ".");
    let blocks = [Block::fact("Longest wait", longest), table.block(), Block::text("", TextForm::Faint, basis)];
    Section::new("code", "Hottest code", blocks)
}

/// User events: spans, then marks and values.
pub(super) fn user(results: &Results) -> Section<'_> {
    let span = |one: &UserEvents| {
        let (spans, ns) = (&one.spans_ns, units::duration_or_dash);
        let cells = [
            units::count(spans.count),
            ns(spans.p50),
            ns(spans.p99),
            ns(spans.max),
            ns(one.longest_at.map(|at| at.since(results.started))),
            ns(spans.sum),
            ns(one.in_pauses_ns),
            units::count(one.cut),
        ];
        (Name::code(one.name.as_str()), cells.map(Cell::from))
    };
    let heads = ["spans", "median", "99 in 100", "longest", "+at", "in all", "in pauses", "+cut"];
    let spans = Table::new("user spans", heads, further::user_spans(results).map(span)).short(USER_SHOWN, "names");
    let cut = further::user_spans(results).fold(0u64, |sum, one| sum.saturating_add(one.cut));
    let cut =
        (cut > 0).then(|| format!("{} not counted: begin or end was not seen", units::counted(cut, "span", "spans")));
    let event = |one: &UserEvents| {
        let figure = |of: fn(&UserValues) -> String| one.values.as_ref().map_or_else(|| "-".into(), of);
        let cells = [
            units::count(one.marks),
            figure(|values| units::count(values.count)),
            figure(|values| values.min.to_string()),
            figure(|values| values.max.to_string()),
            figure(|values| format!("{:.1}", values.mean)),
            figure(|values| values.last.to_string()),
        ];
        (Name::code(one.name.as_str()), cells.map(Cell::from))
    };
    let posted = results.user.iter().filter(|one| one.marks > 0 || one.values.is_some());
    let heads = ["moments", "values", "least", "most", "mean", "last"];
    let events = Table::new("user events", heads, posted.map(event)).short(USER_SHOWN, "names");
    let blocks = [spans.block(), Block::text("", TextForm::Faint, cut), events.block()];
    Section::new("user", "What the program said of itself", blocks)
}

/// A row for each phase of a concurrent collector.
pub(super) fn concurrent(results: &Results) -> Section<'_> {
    let row = |(_, many, d): (&str, &'static str, Distribution)| {
        let ns = units::duration_or_dash;
        (Name::from(many), [units::count(d.count), ns(d.p50), ns(d.p99), ns(d.max), ns(d.sum)].map(Cell::from))
    };
    let found = results.concurrent.as_ref();
    let rows = found.into_iter().flat_map(further::phases).map(row);
    let table = Table::new("concurrent", ["how many", "median", "99 in 100", "longest", "in all"], rows);
    let in_pauses = found.map(|found| format!("Of this, {}.", further::in_pauses(found)));
    let blocks = [table.block(), Block::text("", TextForm::Plain, in_pauses)];
    Section::new("concurrent", "The concurrent collector", blocks)
}

/// The fates of sparks, and their numbers by lane.
pub(super) fn sparks(results: &Results) -> Section<'_> {
    let sparks = results.sparks.as_ref().filter(|sparks| further::offered(&sparks.all).is_some());
    let Some((sparks, offered)) = sparks.and_then(|sparks| Some((sparks, further::offered(&sparks.all)?))) else {
        return Section::new("sparks", "Sparks", []);
    };
    let row = |(name, what, count): (&str, &str, u64)| {
        let share = Cell::Share(count as f64 / offered as f64);
        (Name::from(name), [units::count(count).into(), share, Cell::Note(what.to_owned())])
    };
    let all = (Name::from("offered"), [Cell::from(units::count(offered)), "".into(), Cell::Note(String::new())]);
    let silent = format!("{} does not say: a pool was full when it collected", results.runtime.info());
    let lost = Some(further::uncounted(&sparks.all)).filter(|lost| *lost > 0);
    let lost = lost.map(|lost| row(("not counted", &silent, lost)));
    let rows = [all].into_iter().chain(further::fates(&sparks.all).map(row)).chain(lost);
    let fates = Table::new("sparks", ["how many", "of those offered", "what it means"], rows);
    let names = further::fates(&sparks.all).map(|(name, ..)| name);
    let by_lane = format!("by {}", results.runtime.info().lane.0);
    let mut lanes = Table::of_columns(by_lane, ["offered"].into_iter().chain(names));
    for LaneSparks { lane, counts } in &sparks.lanes {
        let fates = further::fates(counts).map(|(.., count)| count);
        let counts = [further::offered(counts).unwrap_or(0)].into_iter().chain(fates);
        lanes.row(lane.to_string(), counts.map(units::count));
    }
    Section::new("sparks", "Sparks", [fates.block(), lanes.short(USER_SHOWN, results.runtime.info().lane.1).block()])
}
