//! The report as text. The first screen is what a tired engineer understands at 3 a.m.: where the time went, what is
//! wrong and what to change, what was not seen. The full report continues with every figure.

pub mod compare;

use super::{account, sections, units, words};
use rtscope_analyze::results::Results;
use rtscope_draw::tree::Tree;
use rtscope_terminal::screen::Screen;
use rtscope_terminal::style::{Style, Tone, clean, short, shorten_front};
use rtscope_terminal::{charts, present};

/// Lines of the first screen.
const LINES: usize = 40;
/// Losses that the first screen, and the report, have room for.
const LOSSES_FIRST: usize = 1;
const LOSSES_SHOWN: usize = 4;

/// The first screen, at most 40 lines of text for `style`. Ends with a line feed.
pub fn first_screen(results: &Results, style: &Style) -> String {
    let cards = sections::cards(results);
    let mut head = Screen::new(style);
    title(&mut head, results);
    head.blank();
    match cards.is_empty() {
        true => present::verdict(&mut head, &sections::verdict_in_short(results)),
        false => present::headline(&mut head, &cards),
    }
    let mut screen = Screen::new(style);
    if !cards.is_empty() {
        present::section(&mut screen, &sections::findings(results));
    }
    waited_most(&mut screen, results);
    if let Some(longest) = sections::longest(results) {
        screen.blank();
        screen.entry("Longest pause", &longest);
    }
    present::section(&mut screen, &sections::requests::section(results));
    screen.blank();
    let mut losses = words::losses(results);
    losses.extend(words::no_log(results).filter(|_| !cards.is_empty()));
    if !losses.is_empty() {
        let losses = words::cut(losses, LOSSES_FIRST, |more| format!("and {more} more, see -v"));
        screen.entries("Not seen", &losses);
    }
    screen.entries("Not checked", words::not_checked(results));
    screen.entry("More", &more(results));
    let (mut text, rest) = (head.finish(), screen.finish());
    let tree = account::run(results);
    let used = text.lines().count() + rest.lines().count() + tree.as_ref().map_or(0, charts::least_lines);
    text += &tree.map_or_else(String::new, |tree| drawn(&tree, style, LINES.saturating_sub(used)));
    text + &rest
}

/// The tree after an empty line, with up to `room` lines for parts of parts.
fn drawn(tree: &Tree<'_>, style: &Style, room: usize) -> String {
    let mut screen = Screen::new(style);
    screen.blank();
    charts::tree(&mut screen, tree, room);
    screen.finish()
}

/// The commands that show more.
fn more(results: &Results) -> String {
    let path = clean(&results.source.path);
    let explain = results.findings.first().map(|finding| format!("rtscope explain {}: what that means; ", finding.id));
    format!("{}rtscope report -v {path}: every figure; rtscope view {path}: the timeline", explain.unwrap_or_default())
}

/// The whole report as text for `style`. Ends with a line feed.
pub fn render(results: &Results, style: &Style) -> String {
    let mut screen = Screen::new(style);
    title(&mut screen, results);
    sections::all(results).iter().for_each(|section| present::section(&mut screen, section));
    let more = |more| format!("and {more} more, see --json");
    present::section(&mut screen, &sections::unseen(results, Vec::new(), LOSSES_SHOWN, more));
    screen.finish()
}

fn title(screen: &mut Screen<'_>, results: &Results) {
    let facts = words::facts(results, runtime, units::duration(results.span_ns), true).join(screen.style().dot());
    let path = clean(&results.source.path);
    screen.spread(Tone::Strong, &shorten_front(&path, screen.style().width), &facts);
    if let Some(log) = words::which_log(results) {
        screen.paragraph("", 0, Some(Tone::Faint), &log);
    }
}

/// Idle lanes are worth a line on the first screen from this share of lane time.
const IDLE_FROM: f64 = 0.05;

/// What threads waited for most, if lanes had nothing to run for long.
fn waited_most(screen: &mut Screen<'_>, results: &Results) {
    let Some((found, account)) = results.waits.as_ref().zip(results.account.as_ref()) else { return };
    let idle = account.part("idle").map_or(0, |part| part.ns);
    if idle as f64 >= account.lanes_ns as f64 * IDLE_FROM
        && let Some(most) = super::waits::sentences(found, results.runtime.info()).first()
    {
        screen.blank();
        screen.entry("Waited for", &clean(most));
    }
}

/// The name of a runtime, cut to fit a line.
fn runtime(name: &str) -> String {
    short(name, 40)
}
