//! Transactions (STM), where the program had any: what became of attempts, by lane and by name.

use crate::draw::screen::Screen;
use crate::report::stm as words;
use crate::style::{clean, shorten};
use rtscope_analyze::results::stm::{NamedTransactions, Transactions};

/// Rows of each table.
const LANES_SHOWN: usize = 8;
const NAMES_SHOWN: usize = 10;
/// Characters of a name.
const NAME_SHOWN: usize = 32;

/// The section of a report: nothing where the program began no transaction.
pub(super) fn write(screen: &mut Screen, found: Option<&Transactions>) {
    if let Some(found) = found.filter(|found| words::any(found)) {
        screen.blank();
        section(screen, found);
    }
}

/// What is known, whatever that is.
pub(crate) fn section(screen: &mut Screen, found: &Transactions) {
    screen.entry("Transactions", &words::figures(found));
    words::told(found).into_iter().flatten().for_each(|text| screen.entry("", &text));
    let more = |shown: usize, all: usize, what: &str| {
        all.checked_sub(shown).filter(|more| *more > 0).map(|more| vec![format!("{more} more {what}, see --json")])
    };
    if found.lanes.len() > 1 && found.outcomes {
        let mut rows: Vec<_> = found.lanes.iter().take(LANES_SHOWN).map(words::lane).collect();
        rows.extend(more(LANES_SHOWN, found.lanes.len(), "lanes"));
        screen.table("By lane", &words::LANE_HEADS, &rows);
    }
    let name = |named: &NamedTransactions| {
        let mut row = words::name(named);
        if let Some(name) = row.first_mut() {
            *name = shorten(&clean(name), NAME_SHOWN).into_owned();
        }
        row
    };
    let mut rows: Vec<_> = found.names.iter().take(NAMES_SHOWN).map(name).collect();
    if !rows.is_empty() {
        rows.extend(more(NAMES_SHOWN, found.names.len(), "names"));
        screen.table("By name", &words::NAME_HEADS, &rows);
    }
    if let Some(text) = words::left_out(found) {
        screen.entry("", &text);
    }
}
