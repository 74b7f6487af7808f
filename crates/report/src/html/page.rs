//! The report page: what every medium shows, the map of the heap and the longest pauses, one style sheet, a policy that
//! forbids everything else.

use super::plots::Plot;
use super::{data, plots, worst};
use crate::drawings::heap_map;
use crate::{sections, units, words};
use rtscope_analyze::results::Results;
use rtscope_draw::escape::{escape, marked};
use rtscope_draw::page::{Page, SIZE_MAX, facts, finish, head};
use rtscope_draw::present::{Block, Section, Words};
use rtscope_model::Names;

/// Maximum losses listed.
const LOSSES_MAX: usize = 50;
/// Sections that a page usually has; if one is missing, the end of the page says so.
const WANTED: [&str; 5] = ["distribution", "over-time", "utilisation", "memory", "worst"];

/// The page, below [`SIZE_MAX`] bytes. `names` resolves which processes took CPUs in
/// [`rtscope_analyze::results::Drawing::worst`]; `plots` are drawings of other commands.
pub fn page(results: &Results, names: &Names, plots: &[Plot]) -> String {
    let mut page = Page::new(header(results));
    let mut absent = Vec::new();
    let mut add = |section: Section<'_>| {
        if !page.section(&section) && WANTED.contains(&&*section.id) {
            absent.push((section.id, section.title));
        }
    };
    let map = heap_map::section(&results.heaps, results.heaps_left_out, results.started);
    let more = map.is_some().then_some(&heap_map::MORE);
    for section in sections::all(results) {
        // What is drawn for pages alone stands before these.
        match &*section.id {
            "rates" => add(Section::new("heap-map", "Heap map", [Block::markup(|| map.clone())])),
            "code" => {
                let worst = Block::markup(|| worst::section(results, names));
                add(Section::new("worst", "The longest pauses", [worst]));
            }
            _ => {}
        }
        add(section);
    }
    add(Section::new("plots", "From other commands", [Block::markup(|| plots::section(plots))]));
    let unseen = sections::unseen(results, not_shown(results, &absent), LOSSES_MAX, |more| format!("and {more} more"));
    page.section(&unseen);
    let body = page.body();
    let head = head(&results.source.path, &body, more, !plots.is_empty());
    let room = SIZE_MAX.saturating_sub(head.len() + body.len() + 200);
    finish(&head, &body, &data::embedded(results, names, room))
}

/// The sections that the page lacks, and why: "Memory is not on this page: ...".
fn not_shown(results: &Results, absent: &[(Words, Words)]) -> Vec<String> {
    let why = if !words::has_runtime(results) {
        "no log of a runtime was recorded"
    } else if results.pauses.count == 0 {
        "no pause was seen"
    } else {
        "too little was seen of the pauses"
    };
    let titles = absent.iter().filter(|(id, _)| *id != "memory").map(|(_, title)| title.to_string());
    let titles = words::all_of(titles, "\u{201d}, \u{201c}");
    let pauses = titles.map(|titles| format!("{why}, so this page has no \u{201c}{titles}\u{201d}"));
    let memory = absent.iter().any(|(id, _)| *id == "memory");
    let memory = memory.then(|| "the recording does not say how much memory the program held".to_owned());
    pauses.into_iter().chain(memory).collect()
}

fn header(results: &Results) -> String {
    let length = format!("{} recorded", units::duration(results.span_ns));
    let facts = facts(&words::facts(results, str::to_owned, length, true));
    let command = results.program.as_ref().map_or(&results.runtime.args, |program| &program.command);
    let args = command.iter().take(100).map(String::as_str).collect::<Vec<_>>().join(" ");
    let args = if args.is_empty() { String::new() } else { format!("<p><code>{}</code></p>", escape(&args)) };
    let log = words::which_log(results).map_or_else(String::new, |log| format!("<p>{}</p>", marked(&log)));
    format!("<header><h1>{}</h1><p>{facts}</p>{args}{log}</header>\n", escape(&results.source.path))
}
