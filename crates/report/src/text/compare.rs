//! The comparison as text: what changed, what differs between the recordings, figures, findings, and what two runs
//! cannot show.

use crate::compared::Compared;
use crate::sections::compare as sections;
use crate::{units, words};
use rtscope_analyze::results::Results;
use rtscope_terminal::present;
use rtscope_terminal::screen::Screen;
use rtscope_terminal::style::{Style, Tone, clean, shorten_front};

/// Maximum losses listed.
const LOSSES_SHOWN: usize = 4;

/// The comparison for `style`. Ends with a line feed.
pub fn render(compared: &Compared, style: &Style) -> String {
    let mut screen = Screen::new(style);
    title(&mut screen, "A", &compared.a.results);
    title(&mut screen, "B", &compared.b.results);
    let unseen = sections::unseen(compared, LOSSES_SHOWN);
    for section in [
        sections::verdict(compared),
        sections::account(compared),
        sections::figures(compared),
        sections::findings(compared),
        unseen,
    ] {
        present::section(&mut screen, &section);
    }
    screen.finish()
}

fn title(screen: &mut Screen<'_>, side: &str, results: &Results) {
    let facts = words::facts(results, super::runtime, units::duration(results.span_ns), false);
    let path = clean(&results.source.path);
    let path = shorten_front(&path, screen.style().width.saturating_sub(2));
    screen.spread(Tone::Strong, &format!("{side} {path}"), &facts.join(screen.style().dot()));
}
