//! The account as trees: of the run, and of the slowest pauses. Refuses to choose which parts are shown.

use crate::kinds::role_of_part;
use crate::units;
use rtscope_analyze::results::Results;
use rtscope_draw::tree::{Top, Tree};
use rtscope_model::{Account, RuntimeInfo};

/// The account of the whole recording, if lanes were seen.
pub fn of_run(results: &Results) -> Option<&Account> {
    results.account.as_ref().filter(|account| account.lanes_ns > 0)
}

/// Lines for parts of parts on a terminal.
const LINES: usize = 24;
const LINES_OF_SLOWEST: usize = 12;

/// Where the time of the whole recording went.
pub fn run(results: &Results) -> Option<Tree<'_>> {
    let head = "Where the time went".to_owned();
    of_run(results).map(|account| tree(head, account, results.runtime.info(), LINES))
}

/// Where the time of the slowest pauses went.
pub fn slowest(results: &Results) -> Option<Tree<'_>> {
    let slowest = results.slowest_pauses.as_ref().filter(|slowest| slowest.account.lanes_ns > 0)?;
    let head = match slowest.count {
        1 => "In the only pause".to_owned(),
        all if all == results.pauses.count => format!("In the {all} pauses"),
        some => format!("In the {some} slowest pauses ({} or longer)", units::duration(slowest.least_ns)),
    };
    Some(Tree { folded: true, ..tree(head, &slowest.account, results.runtime.info(), LINES_OF_SLOWEST) })
}

fn tree<'r>(head: String, account: &'r Account, runtime: &RuntimeInfo, lines: usize) -> Tree<'r> {
    let tops = account.parts.iter().map(|part| Top { role: role_of_part(&part.id), part }).collect();
    Tree { head, whole: whole(account, runtime), whole_ns: account.lanes_ns, tops, lines, folded: false }
}

/// The time that an account divides: "6.02 s of 2 capabilities over 3.01 s".
fn whole(account: &Account, runtime: &RuntimeInfo) -> String {
    let (one, many) = runtime.lane;
    let lanes = units::counted(account.lanes.len() as u64, one, many);
    format!("{} of {lanes} over {}", units::duration(account.lanes_ns), units::duration(account.wall_ns))
}
