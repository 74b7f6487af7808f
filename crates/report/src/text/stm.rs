//! Transactions (STM), if the program had any: outcomes of attempts, by lane and by name.

use crate::stm as words;
use rtscope_analyze::results::stm::Transactions;
use rtscope_terminal::screen::Screen;
use rtscope_terminal::style::short;

/// Maximum rows of each table.
const LANES_SHOWN: usize = 8;
const NAMES_SHOWN: usize = 10;
/// Maximum characters of a name.
const NAME_SHOWN: usize = 32;

/// The section of a report; nothing if the program began no transaction.
pub(super) fn write(screen: &mut Screen, found: Option<&Transactions>) {
    if let Some(found) = found.filter(|found| words::any(found)) {
        screen.blank();
        section(screen, found);
    }
}

/// Whatever is known of transactions.
pub fn section(screen: &mut Screen, found: &Transactions) {
    screen.entry("Transactions", &words::figures(found));
    screen.entries("", words::details(found).into_iter().flatten());
    if found.lanes.len() > 1 && found.outcomes {
        words::lanes(found).write(screen, "By capability", (LANES_SHOWN, "capabilities"));
    }
    words::names(found, |name| short(name, NAME_SHOWN)).write(screen, "By name", (NAMES_SHOWN, "names"));
    screen.entries("", words::left_out(found));
}
