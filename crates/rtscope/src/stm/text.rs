//! A program's transactions for a terminal: the final text, and the display while the program runs.

use super::document::Document;
use rtscope_analyze::recording::stm::StmRates;
use rtscope_analyze::results::stm::Transactions;
use rtscope_report::sections::stm;
use rtscope_report::{stm as words, units};
use rtscope_terminal::present;
use rtscope_terminal::screen::Screen;
use rtscope_terminal::style::{Style, Tone, clean};

/// The whole text; while the program runs, with the rates of the last second.
pub(super) fn text(document: &Document, recent: Option<&Transactions>, style: &Style) -> String {
    let mut screen = Screen::new(style);
    title(&mut screen, document);
    recent.into_iter().for_each(|recent| screen.entry("Now", &now(recent)));
    present::section(&mut screen, &stm::of(&document.transactions, None));
    screen.finish()
}

/// The rates of the last second, in one line.
pub(super) fn now(recent: &Transactions) -> String {
    words::rates(&StmRates {
        attempts_per_second: recent.attempts_per_second.unwrap_or(0.0),
        commits_per_second: recent.commits_per_second,
        lost_share: recent.lost_share,
    })
}

fn title(screen: &mut Screen, document: &Document) {
    let looked = format!("{} looked at", units::duration(document.transactions.span_ns));
    screen.spread(Tone::Strong, &clean(&document.of), &looked);
    let counted = document.transactions.outcomes || document.transactions.runtime_attempts.is_some();
    if counted && !words::any(&document.transactions) {
        screen.paragraph("", 0, None, "No transaction was seen.");
    }
}
