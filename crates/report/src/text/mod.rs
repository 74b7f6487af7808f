//! The report as text. The first screen is what a tired engineer understands at 3 a.m.: where the time went, what is
//! wrong and what to change, what was not seen. The full report continues with every figure.

mod account;
mod below;
pub mod compare;
mod figures;
mod places;
pub mod stm;
mod verdict;

use super::{requests, tables, units, words};
use rtscope_analyze::results::Results;
use rtscope_terminal::screen::Screen;
use rtscope_terminal::style::{Style, Tone, clean, short, shorten_front};

/// Lines of the first screen.
const LINES: usize = 40;
/// Lines for parts of parts in the account of the full report.
const PARTS_OF_ALL: usize = 24;
/// Lines for parts of parts in the account of the slowest pauses.
const PARTS_OF_SLOWEST: usize = 12;
/// Losses that the first screen has room for.
const LOSSES_FIRST: usize = 1;

/// The first screen, at most 40 lines of text for `style`. Ends with a line feed.
pub fn first_screen(results: &Results, style: &Style) -> String {
    let mut head = Screen::new(style);
    title(&mut head, results);
    verdict::in_a_line(&mut head, results);
    let mut screen = Screen::new(style);
    if !results.findings.is_empty() {
        verdict::write(&mut screen, results);
    }
    waited_most(&mut screen, results);
    requests(&mut screen, results);
    screen.blank();
    let mut losses = words::losses(results);
    losses.extend(words::no_log(results).filter(|_| !results.findings.is_empty()));
    if !losses.is_empty() {
        let losses = words::cut(losses, LOSSES_FIRST, |more| format!("and {more} more, see -v"));
        screen.entries("Not seen", &losses);
    }
    screen.entries("Not checked", words::not_checked(results));
    screen.entry("More", &more(results));
    let (mut text, rest) = (head.finish(), screen.finish());
    let used = text.lines().count() + rest.lines().count() + account::least_lines(results);
    let mut tree = Screen::new(style);
    account::write(&mut tree, results, LINES.saturating_sub(used));
    text.push_str(&tree.finish());
    text.push_str(&rest);
    text
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
    account::write(&mut screen, results, PARTS_OF_ALL);
    account::slowest(&mut screen, results, PARTS_OF_SLOWEST);
    verdict::write(&mut screen, results);
    requests(&mut screen, results);
    figures::write(&mut screen, results);
    unseen(&mut screen, results);
    places::write(&mut screen, results);
    stm::write(&mut screen, results.transactions.as_ref());
    waits(&mut screen, results);
    below::write(&mut screen, results);
    screen.finish()
}

fn title(screen: &mut Screen, results: &Results) {
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
fn waited_most(screen: &mut Screen, results: &Results) {
    let Some((found, account)) = results.waits.as_ref().zip(results.account.as_ref()) else { return };
    let idle = account.part("idle").map_or(0, |part| part.ns);
    if idle as f64 >= account.lanes_ns as f64 * IDLE_FROM
        && let Some(most) = super::waits::sentences(found, results.runtime.info()).first()
    {
        screen.blank();
        screen.entry("Waited for", &clean(most));
    }
}

/// Maximum slowest requests with a line of their own.
const WORST_SHOWN: usize = 3;
/// Maximum characters of the URL.
const URL_SHOWN: usize = 60;

/// The requests of a load, if these were given: what the slowest waited for.
fn requests(screen: &mut Screen, results: &Results) {
    let Some(joined) = &results.requests else { return };
    screen.blank();
    screen.entry("Requests", &requests::figures(joined, &short(&joined.url, URL_SHOWN)));
    screen.entry("", &requests::slowest(joined));
    screen.entries("", [requests::explained(joined), requests::left_out(joined)].into_iter().flatten());
    let slowest = tables::slowest(results, joined, WORST_SHOWN, |at| format!("due at {at}"));
    slowest.write(screen, "The slowest", (WORST_SHOWN, ""));
}

/// What threads waited for while lanes had nothing to run.
fn waits(screen: &mut Screen, results: &Results) {
    let Some(found) = &results.waits else { return };
    let runtime = results.runtime.info();
    let mut sentences = super::waits::sentences(found, runtime);
    if sentences.is_empty() {
        return;
    }
    sentences.push(format!("({})", super::waits::basis(found)));
    screen.blank();
    screen.entries("Waited for", sentences.iter().map(|sentence| clean(sentence)));
}

/// The name of a runtime, cut to fit a line.
fn runtime(name: &str) -> String {
    short(name, 40)
}

/// Maximum losses listed.
const LOSSES_SHOWN: usize = 4;

/// What was not seen, what more privileges would show, and what recording cost.
fn unseen(screen: &mut Screen, results: &Results) {
    screen.blank();
    let mut unseen = words::cut(words::losses(results), LOSSES_SHOWN, |more| format!("and {more} more, see --json"));
    unseen.extend(words::limits(results));
    if unseen.is_empty() {
        unseen.push("nothing is known to be missing".into());
    }
    screen.entries("Not seen", &unseen);
    screen.entries("Cost of this", words::cost(results));
}
