//! The first screen: what a tired engineer understands at 3 a.m. First the
//! verdict (what is wrong, what it costs, what to change), then the figures,
//! then what was not seen. About 35 lines.

mod figures;
mod screen;
mod verdict;

use super::{units, words};
use crate::style::{Style, Tone, clean, shorten};
use rtscope_analyze::results::Results;
use screen::Screen;

/// The report as text for `style`. Ends with a line feed.
pub fn render(results: &Results, style: &Style) -> String {
    let mut screen = Screen::new(style);
    title(&mut screen, results);
    verdict::write(&mut screen, results);
    figures::write(&mut screen, results);
    unseen(&mut screen, results);
    screen.finish()
}

fn title(screen: &mut Screen, results: &Results) {
    let mut facts = Vec::new();
    facts.extend(words::runtime(&results.runtime).map(|runtime| shorten(&clean(&runtime), 40).into_owned()));
    if !results.lanes.is_empty() {
        facts.push(units::counted(results.lanes.len() as u64, "lane", "lanes"));
    }
    facts.push(units::duration(results.span_ns));
    if words::has_runtime(results) {
        let pauses = &results.pauses;
        facts.push(format!(
            "{} ({} a second)",
            units::counted(pauses.count, "pause", "pauses"),
            units::rate(pauses.per_second)
        ));
    }
    let path = clean(&results.source.path).into_owned();
    let facts = facts.join(screen.style().dot());
    let room = screen.style().width.saturating_sub(facts.chars().count() + 2);
    let path = shorten(&path, room.max(16)).into_owned();
    screen.spread(Tone::Strong, &path, &facts);
}

/// How many losses are told one by one.
const LOSSES_SHOWN: usize = 4;

/// What was not seen, what more privilege would show, and what seeing cost.
fn unseen(screen: &mut Screen, results: &Results) {
    screen.blank();
    let mut told = 0;
    for loss in results.losses.iter().take(LOSSES_SHOWN) {
        screen.entry(if told == 0 { "Not seen" } else { "" }, &words::loss(loss));
        told += 1;
    }
    let more = results.losses.len().saturating_sub(LOSSES_SHOWN);
    if more > 0 {
        screen.entry("", &format!("and {more} more, see --json"));
    }
    if results.pauses.partial > 0 {
        let partial = units::counted(results.pauses.partial, "pause was", "pauses were");
        screen.entry("", &format!("{partial} not seen whole: counted, but not in the figures above"));
    }
    for note in &results.kernel.notes {
        screen.entry(if told == 0 { "Not seen" } else { "" }, note);
        told += 1;
    }
    if told == 0 {
        screen.entry("Not seen", "nothing is known to be missing");
    }
    if let Some(cost) = words::cost(results) {
        screen.entry("Cost of this", &cost);
    }
}
