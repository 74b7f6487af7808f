//! The first screen: what a tired engineer understands at 3 a.m. First the
//! verdict (what is wrong, what it costs, what to change), then the figures,
//! then what was not seen. About 35 lines. Below it, what a second look asks for.

mod below;
pub mod compare;
mod figures;
mod places;
mod requests;
pub(crate) mod stm;
mod verdict;

use super::{units, words};
use crate::draw::screen::Screen;
use crate::style::{Style, Tone, clean, short, shorten_front};
use rtscope_analyze::results::Results;

/// The report as text for `style`. Ends with a line feed.
pub fn render(results: &Results, style: &Style) -> String {
    let mut screen = Screen::new(style);
    title(&mut screen, results);
    verdict::write(&mut screen, results);
    requests::write(&mut screen, results);
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

/// What threads waited for while lanes had nothing to run.
fn waits(screen: &mut Screen, results: &Results) {
    let Some(found) = &results.waits else { return };
    let runtime = results.runtime.info();
    let mut sentences = super::waits::sentences(found, runtime);
    if sentences.is_empty() {
        return;
    }
    sentences.push(format!("({})", super::waits::basis(found, runtime)));
    screen.blank();
    screen.entries("Waited for", sentences.iter().map(|sentence| clean(sentence)));
}

/// A runtime as far as a line has room for it.
fn runtime(name: &str) -> String {
    short(name, 40)
}

/// How many losses are told one by one.
const LOSSES_SHOWN: usize = 4;

/// What was not seen, what more privilege would show, and what seeing cost.
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
