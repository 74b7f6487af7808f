//! The report page: sections in reading order, one style sheet, a policy that forbids everything else.

use super::frame::{
    Sections, drawn, facts, faint, figure, finish, head, headed, joined, list, list_or, more, paragraphs,
};
use super::plots::Plot;
use super::{
    SIZE_MAX, account, data, heap_map, plots, requests, stm, svg_bands, svg_bar, svg_histogram, svg_lanes, svg_memory,
    svg_mmu, svg_time, svg_waterfall, table, verdict,
};
use crate::kinds::SpanKind;
use crate::{code, further, units, waits, words};
use indexmap::IndexMap;
use rtscope_analyze::results::{Results, ThreadState, WorstPause};
use rtscope_draw::escape::escape;
use rtscope_model::{Cause, Names, PauseQuality};

/// Maximum losses listed.
const LOSSES_MAX: usize = 50;
/// Maximum causes listed under one pause.
const CAUSES_MAX: usize = 6;

/// The page, below [`SIZE_MAX`] bytes. `names` resolves which processes took CPUs in
/// [`rtscope_analyze::results::Drawing::worst`]; `plots` are drawings of other commands.
pub fn page(results: &Results, names: &Names, plots: &[Plot]) -> String {
    let mut body = Sections::new(header(results));
    let mut absent = Vec::new();
    body.section("verdict", "Verdict", &verdict::verdict(results));
    body.optional("requests", "What the slowest requests waited for", requests::section(results));
    body.optional("account", "Where the time went", account::section(results));
    body.optional("waits", "What threads waited for", waited(results));
    body.section("figures", "Pauses and who waited", &figures(results));
    let histogram = drawn(svg_histogram::draw(results));
    wanted(&mut body, &mut absent, "distribution", "How long pauses were", histogram);
    let over_time = drawn(svg_time::draw(results, &[results]));
    wanted(&mut body, &mut absent, "over-time", "Pauses over time", over_time);
    body.optional("lanes", "What ran when", lanes_over_time(results, &[results]));
    let utilisation = joined([drawn(svg_mmu::draw(results, &[results])), table::mmu(results)]);
    wanted(&mut body, &mut absent, "utilisation", "What any window left for the program", utilisation);
    wanted(&mut body, &mut absent, "memory", "Memory", memory(results));
    let map = heap_map::section(&results.heaps, results.heaps_left_out, results.started);
    let more = map.is_some().then_some(&heap_map::MORE);
    body.optional("heap-map", "Heap map", map);
    body.optional("rates", "Allocation and promotion over time", rates(results));
    body.optional("transactions", "Transactions", stm::section(results));
    wanted(&mut body, &mut absent, "worst", "The longest pauses", worst(results, names));
    body.optional("code", "Hottest code", table::code(results));
    body.optional("allocation", "Allocation", allocation(results));
    body.optional("user", "What the program said of itself", table::user(results));
    body.optional("concurrent", "The concurrent collector", concurrent(results));
    body.optional("sparks", "Sparks", table::sparks(results));
    body.optional("plots", "From other commands", plots::section(plots));
    body.section("losses", "What was not seen", &losses(results, &absent));
    let body = body.body();
    let head = head(&results.source.path, &body, more, !plots.is_empty());
    let room = SIZE_MAX.saturating_sub(head.len() + body.len() + 200);
    finish(&head, &body, &data::embedded(results, names, room))
}

/// A section that a page usually has; if it is missing, the end of the page says so.
fn wanted(body: &mut Sections, absent: &mut Vec<&'static str>, id: &str, title: &'static str, content: Option<String>) {
    if content.is_none() {
        absent.push(title);
    }
    body.optional(id, title, content);
}

/// The sections that the page lacks, and why: "Memory is not on this page: ...".
fn not_shown(results: &Results, absent: &[&str]) -> Vec<String> {
    let (memory, pauses): (Vec<&str>, Vec<&str>) = absent.iter().partition(|title| **title == "Memory");
    let why = if !words::has_runtime(results) {
        "no log of a runtime was recorded"
    } else if results.pauses.count == 0 {
        "no pause was seen"
    } else {
        "too little was seen of the pauses"
    };
    let titles = words::all_of(pauses.into_iter().map(str::to_owned), "\u{201d}, \u{201c}");
    let pauses = titles.map(|titles| format!("{why}, so this page has no \u{201c}{titles}\u{201d}"));
    let memory = memory.first().map(|_| "the recording does not say how much memory the program held".to_owned());
    pauses.into_iter().chain(memory).collect()
}

fn header(results: &Results) -> String {
    let length = format!("{} recorded", units::duration(results.span_ns));
    let facts = facts(&words::facts(results, str::to_owned, length, true));
    let command = results.program.as_ref().map_or(&results.runtime.args, |program| &program.command);
    let args = command.iter().take(100).map(String::as_str).collect::<Vec<_>>().join(" ");
    let args = if args.is_empty() { String::new() } else { format!("<p><code>{}</code></p>", escape(&args)) };
    let log = paragraphs(words::which_log(results));
    format!("<header><h1>{}</h1><p>{}</p>{args}{log}</header>\n", escape(&results.source.path), facts)
}

/// What threads waited for while lanes had nothing to run.
fn waited(results: &Results) -> Option<String> {
    let found = results.waits.as_ref()?;
    let sentences = waits::sentences(found, results.runtime.info());
    (!sentences.is_empty()).then(|| list(&sentences) + &faint(&(waits::basis(found) + ".")))
}

fn figures(results: &Results) -> String {
    if !words::has_runtime(results) {
        return "<p>Unknown: no log of a runtime was recorded, so pauses could not be seen.</p>".into();
    }
    let productivity = words::productivity(results).map(|text| headed("Productivity", &text));
    let above = [drawn(svg_bar::draw(results)), table::pauses(results), productivity];
    let below = [table::causes(results), table::lanes(results), table::generations(results)];
    [above, below].into_iter().flatten().flatten().collect()
}

/// What lanes did over the run.
pub(super) fn lanes_over_time(results: &Results, all: &[&Results]) -> Option<String> {
    let drawn = figure(&svg_lanes::draw(results, all)?, "");
    Some(results.drawing.lanes.as_ref().map(svg_lanes::caption).unwrap_or_default() + &drawn)
}

fn allocation(results: &Results) -> Option<String> {
    let noun = results.runtime.info().lane.0;
    let nursery = results.nursery.as_ref().map(|nursery| headed("Nursery", &further::nursery(nursery, noun)));
    Some(table::allocation(results)? + &nursery.unwrap_or_default())
}

fn concurrent(results: &Results) -> Option<String> {
    let in_pauses = further::in_pauses(results.concurrent.as_ref()?);
    Some(format!("{}<p>Of this, {}.</p>", table::concurrent(results)?, escape(&in_pauses)))
}

fn memory(results: &Results) -> Option<String> {
    let drawing = drawn(svg_memory::draw(results, &[results]));
    joined([drawing, svg_bands::legend(results), table::memory(results), table::heap_profile(results)])
}

fn rates(results: &Results) -> Option<String> {
    let drawn = figure(&svg_memory::draw_rates(results)?, "");
    Some(drawn + &paragraphs(results.promotion.map(|promotion| further::promotion(&promotion) + ".")))
}

/// The kinds of the viewer that a waterfall uses.
const KINDS: [SpanKind; 6] = [
    SpanKind::WaitingToStop,
    SpanKind::Request,
    SpanKind::Collecting,
    SpanKind::Release,
    SpanKind::Throttled,
    SpanKind::Queued,
];
/// The kernel states of threads.
const KERNEL: [ThreadState; 5] =
    [ThreadState::Running, ThreadState::Runnable, ThreadState::Sleeping, ThreadState::Blocked, ThreadState::Unknown];

fn worst(results: &Results, names: &Names) -> Option<String> {
    // Pauses of one generation that one cause held up look alike.
    let mut alike: IndexMap<_, Vec<(usize, &WorstPause)>> = IndexMap::new();
    for (rank, worst) in (1..).zip(results.drawing.worst.iter().take(svg_waterfall::WORST_MAX)) {
        let cause = worst.blamed.held_up_by().map(|held| held.cause);
        alike.entry((cause, worst.blamed.pause.generation)).or_default().push((rank, worst));
    }
    let drawn = |ranked: &(usize, &WorstPause)| {
        let drawing = pause(results, names, *ranked, svg_waterfall::length_ns(ranked.1), "h3");
        format!("<div id=\"pause-{}\">{drawing}</div>", ranked.0)
    };
    let group = |group: Vec<(usize, &WorstPause)>| {
        let (first, rest) = group.split_first()?;
        let Some(((_, longest), (_, shortest))) = rest.first().zip(rest.last()) else { return Some(drawn(first)) };
        let [from, to] = [shortest, longest].map(|worst| units::duration(svg_waterfall::length_ns(worst)));
        let lengths = if rest.len() == 1 { to } else { format!("{from} to {to}") };
        let others: String = rest.iter().map(drawn).collect();
        let summary = format!("<summary>{} more like this: {lengths}</summary>", rest.len());
        Some(format!("{}<details class=\"alike\">{summary}{others}</details>", drawn(first)))
    };
    let pauses: String = alike.into_values().filter_map(group).collect();
    (!pauses.is_empty()).then(|| legend() + &pauses)
}

/// What the colours and patterns of pauses mean.
pub(super) fn legend() -> String {
    let mut out = "<p class=\"legend\">".to_owned();
    out.extend(KINDS.map(|kind| table::entry(&table::fill(kind), kind.words())));
    out.extend(KERNEL.map(|state| table::entry(&svg_waterfall::class(state), words::state(state))));
    out.push_str("</p>");
    out
}

/// One of the longest pauses and its rank: heading, drawing and causes. The drawing's width stands for `span_ns`;
/// `head` is the tag of the heading.
pub(super) fn pause(
    results: &Results,
    names: &Names,
    (rank, worst): (usize, &WorstPause),
    span_ns: u64,
    head: &str,
) -> String {
    let heading = heading(results, rank, worst);
    let caption = caption(results, worst, names);
    let drawn = figure(&svg_waterfall::draw(results, names, worst, span_ns), &caption);
    format!("<article class=\"pause waterfall\"><{head}>{heading}</{head}>{drawn}</article>")
}

/// The heading of a pause: "1. 89.2 ms at 1.20 s, generation 0, held up by capability 1 for 40 ms".
fn heading(results: &Results, rank: usize, worst: &WorstPause) -> String {
    let pause = &worst.blamed.pause;
    let length = units::duration(svg_waterfall::length_ns(worst));
    let held = worst.blamed.held_up_by().and_then(|held| {
        let name = svg_waterfall::lane_name(results, held.lane?);
        Some(format!("held up by {name} for {}", units::duration(held.ns)))
    });
    let parts = [
        Some(format!("{rank}. {length} at {}", units::duration(pause.begin().since(results.started)))),
        pause.generation.map(|generation| results.runtime.info().generation(generation)),
        held,
        (pause.quality == PauseQuality::Partial).then(|| "not seen whole".to_owned()),
    ];
    escape(&parts.into_iter().flatten().collect::<Vec<_>>().join(", ")).into_owned()
}

/// The waits of a pause, longest first, with one entry for each cause and process or thread involved, however often
/// they alternated.
fn caption(results: &Results, worst: &WorstPause, names: &Names) -> String {
    let (symbols, (noun, nouns)) = (&results.drawing.symbols, results.runtime.info().lane);
    let mut sums: IndexMap<(Cause, &str), (Option<u32>, u64)> = IndexMap::new();
    for piece in worst.blamed.causes.iter().filter(|piece| piece.ns() > 0) {
        let thread = piece.who.map_or("", |thread| names.get(thread));
        let (pid, ns) = sums.entry((piece.cause, thread)).or_insert((piece.who_pid, 0));
        *pid = pid.filter(|pid| Some(*pid) == piece.who_pid);
        *ns = ns.saturating_add(piece.ns());
    }
    sums.sort_by(|_, a, _, b| b.1.cmp(&a.1));
    let all: u64 = sums.values().fold(0, |all, (_, ns)| all.saturating_add(*ns));
    let longest = sums.iter().take(CAUSES_MAX).map(|((cause, thread), (pid, ns))| {
        let thread = (!thread.is_empty()).then(|| match pid {
            Some(pid) => format!("{thread} (pid {pid})"),
            None => (*thread).to_string(),
        });
        let words = words::cause(*cause, thread.as_deref());
        let pieces = worst.blamed.causes.iter().filter(|piece| piece.cause == *cause);
        let stay = code::longest_stay(pieces, symbols, noun).map_or_else(String::new, |(_, stay)| format!(": {stay}"));
        let text = format!("{words} {} ({}){stay}", units::duration(*ns), units::percent_of(*ns, all));
        escape(&text).into_owned()
    });
    let more = sums.len().saturating_sub(CAUSES_MAX);
    let items: Vec<String> = longest.chain((more > 0).then(|| format!("{more} more"))).collect();
    let hidden = worst.blamed.pause.lanes.len().saturating_sub(svg_waterfall::LANES_MAX);
    let lanes = if hidden > 0 { format!(" {hidden} more {nouns} are not drawn.") } else { String::new() };
    if items.is_empty() { lanes } else { format!("Waited {} for: {}.{lanes}", units::duration(all), items.join("; ")) }
}

fn losses(results: &Results, absent: &[&str]) -> String {
    let mut items = not_shown(results, absent);
    items.extend(words::losses(results));
    items = words::cut(items, LOSSES_MAX, more);
    items.extend(words::limits(results).into_iter().take(LOSSES_MAX));
    let facts = words::recording(results);
    let facts: String = facts.iter().map(|fact| faint(fact)).collect();
    list_or("Nothing is known to be missing.", &items) + &facts
}
