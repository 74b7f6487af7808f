//! Transactions (STM), if the program had any: outcomes of attempts, over time, by lane and by name.

use crate::drawings::transactions;
use crate::stm as words;
use crate::units::{count, percent};
use rtscope_analyze::results::Results;
use rtscope_analyze::results::stm::{LaneTransactions, NamedTransactions, Transactions};
use rtscope_draw::present::{Block, Cell, Name, Section, Table, TextForm};
use rtscope_model::STM_SHARED_LANE;

/// Maximum rows of each table on a terminal.
const LANES_SHOWN: usize = 8;
const NAMES_SHOWN: usize = 10;

/// The section of a report; empty if the program began no transaction.
pub(super) fn section(results: &Results) -> Section<'_> {
    match results.transactions.as_ref().filter(|found| words::any(found)) {
        Some(found) => of(found, Block::picture(move || transactions::draw(results, found))),
        None => Section::new("transactions", "Transactions", []),
    }
}

/// Whatever is known of transactions, with a picture of them.
pub fn of<'r>(found: &'r Transactions, picture: Option<Block<'r>>) -> Section<'r> {
    let sentences = [words::figures(found)].into_iter().chain(words::details(found).into_iter().flatten());
    let lanes = lanes(found).block().filter(|_| found.outcomes && found.lanes.len() > 1);
    let blocks = [
        Block::text("Transactions", TextForm::List, sentences),
        picture,
        lanes,
        names(found).block(),
        Block::text("", TextForm::Plain, words::left_out(found)),
    ];
    Section::new("transactions", "Transactions", blocks)
}

fn share(share: Option<f64>) -> String {
    share.map_or("-".to_owned(), percent)
}

/// A row for each lane.
fn lanes(found: &Transactions) -> Table {
    let row = |lane: &LaneTransactions| {
        let counts = &lane.counts;
        let name =
            if lane.lane == STM_SHARED_LANE { "all others".to_owned() } else { format!("capability {}", lane.lane) };
        let cells = [
            count(counts.attempts),
            count(counts.commits),
            share(lane.commit_share),
            count(counts.lost()),
            share(lane.lost_share),
            count(counts.waits),
        ];
        (Name::from(name), cells.map(Cell::from))
    };
    let heads = ["attempts", "took effect", "of all", "run again", "share", "waited"];
    Table::new("by capability", heads, found.lanes.iter().map(row)).short(LANES_SHOWN, "capabilities")
}

/// A row for each name.
fn names(found: &Transactions) -> Table {
    let row = |named: &NamedTransactions| {
        let counts = &named.counts;
        let cells = [
            count(counts.attempts),
            count(counts.commits),
            count(named.lost),
            share(named.lost_share),
            count(counts.waits),
            count(counts.exceptions),
        ];
        (Name::code(named.name.as_str()), cells.map(Cell::from))
    };
    let heads = ["attempts", "took effect", "run again", "share", "waited", "exceptions"];
    Table::new("by name", heads, found.names.iter().map(row)).short(NAMES_SHOWN, "names")
}
