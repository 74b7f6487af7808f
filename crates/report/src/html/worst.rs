//! The longest pauses on a page, each drawn with its waits; those that look alike are folded.

use crate::code;
use crate::drawings::waterfall::{self, LANES_MAX, WORST_MAX};
use crate::kinds::SpanKind;
use crate::{units, words};
use indexmap::IndexMap;
use rtscope_analyze::results::{Results, ThreadState, WorstPause};
use rtscope_draw::escape::escape;
use rtscope_draw::html;
use rtscope_model::{Cause, Names, PauseQuality};

/// Maximum causes listed under one pause.
const CAUSES_MAX: usize = 6;

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

/// The section's content; `None` without pauses.
pub(super) fn section(results: &Results, names: &Names) -> Option<String> {
    // Pauses of one generation that one cause held up look alike.
    let mut alike: IndexMap<_, Vec<(usize, &WorstPause)>> = IndexMap::new();
    for (rank, worst) in (1..).zip(results.drawing.worst.iter().take(WORST_MAX)) {
        let cause = worst.blamed.held_up_by().map(|held| held.cause);
        alike.entry((cause, worst.blamed.pause.generation)).or_default().push((rank, worst));
    }
    let drawn = |ranked: &(usize, &WorstPause)| {
        let drawing = pause(results, names, *ranked, waterfall::length_ns(ranked.1), "h3");
        format!("<div id=\"pause-{}\">{drawing}</div>", ranked.0)
    };
    let group = |group: Vec<(usize, &WorstPause)>| {
        let (first, rest) = group.split_first()?;
        let Some(((_, longest), (_, shortest))) = rest.first().zip(rest.last()) else { return Some(drawn(first)) };
        let [from, to] = [shortest, longest].map(|worst| units::duration(waterfall::length_ns(worst)));
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
    let kinds = KINDS.map(|kind| (format!("fill-{}", kind.look().1), kind.words().to_owned()));
    let states = KERNEL.map(|state| (waterfall::class(state), words::state(state).to_owned()));
    html::legend(kinds.into_iter().chain(states))
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
    let drawn = html::figure(&waterfall::draw(results, names, worst, span_ns), &caption);
    format!("<article class=\"pause waterfall\"><{head}>{heading}</{head}>{drawn}</article>")
}

/// The heading of a pause: "1. 89.2 ms at 1.20 s, generation 0, held up by capability 1 for 40 ms".
fn heading(results: &Results, rank: usize, worst: &WorstPause) -> String {
    let pause = &worst.blamed.pause;
    let length = units::duration(waterfall::length_ns(worst));
    let held = worst.blamed.held_up_by().and_then(|held| {
        let name = waterfall::lane_name(results, held.lane?);
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
    let hidden = worst.blamed.pause.lanes.len().saturating_sub(LANES_MAX);
    let lanes = if hidden > 0 { format!(" {hidden} more {nouns} are not drawn.") } else { String::new() };
    if items.is_empty() { lanes } else { format!("Waited {} for: {}.{lanes}", units::duration(all), items.join("; ")) }
}
