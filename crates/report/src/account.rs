//! The account in words, shared by the text and the page: which account there is, its heading, what its figures are
//! based on, and shares that sum up. Refuses to choose which parts are shown.

use crate::units;
use rtscope_analyze::results::Results;
use rtscope_model::account::Basis;
use rtscope_model::{Account, Node, RuntimeInfo};

/// The account of the whole recording, if lanes were seen.
pub fn of_run(results: &Results) -> Option<&Account> {
    results.account.as_ref().filter(|account| account.lanes_ns > 0)
}

/// The account of the slowest pauses alone, with its heading.
pub fn of_slowest(results: &Results) -> Option<(String, &Account)> {
    let slowest = results.slowest_pauses.as_ref().filter(|slowest| slowest.account.lanes_ns > 0)?;
    let head = match slowest.count {
        1 => "In the only pause".to_owned(),
        all if all == results.pauses.count => format!("In the {all} pauses"),
        some => format!("In the {some} slowest pauses ({} or longer)", units::duration(slowest.least_ns)),
    };
    Some((head, &slowest.account))
}

/// The time that an account divides: "6.02 s of 2 capabilities over 3.01 s".
pub fn whole(account: &Account, runtime: &RuntimeInfo) -> String {
    let (one, many) = runtime.lane;
    let lanes = units::counted(account.lanes.len() as u64, one, many);
    format!("{} of {lanes} over {}", units::duration(account.lanes_ns), units::duration(account.wall_ns))
}

/// What a part's figure is based on, unless that is every moment.
pub fn basis(part: &Node) -> Option<String> {
    match (part.basis, part.samples) {
        (Basis::Samples, Some(samples)) => Some(units::counted(samples, "sample", "samples")),
        (Basis::Looks, Some(looks)) => Some(units::counted(looks, "look", "looks")),
        _ => None,
    }
}

/// Whole percentages that sum up to 100; "<1 %" for less than a half.
pub fn percents(parts: &[Node], whole_ns: u64) -> Vec<String> {
    let shares = divide(parts, whole_ns, 100);
    let words = |(part, share): (&Node, usize)| match share {
        0 => "<1 %".to_owned(),
        _ if part.ns.saturating_mul(200) < whole_ns => "<1 %".to_owned(),
        share => format!("{share} %"),
    };
    parts.iter().zip(shares).map(words).collect()
}

/// Divides `cells` by length, so that parts sum up to all of them; cells that rounding leaves go to the parts that
/// lost most by it.
pub fn divide(parts: &[Node], whole_ns: u64, cells: usize) -> Vec<usize> {
    let exact = |ns: u64| u128::from(ns) * cells as u128;
    let whole = u128::from(whole_ns.max(1));
    let mut shares: Vec<usize> =
        parts.iter().map(|part| (exact(part.ns) / whole).min(cells as u128) as usize).collect();
    let mut order: Vec<usize> = (0..parts.len()).collect();
    order.sort_by_key(|index| std::cmp::Reverse(parts.get(*index).map_or(0, |part| exact(part.ns) % whole)));
    let left = cells.saturating_sub(shares.iter().sum());
    for index in order.into_iter().take(left) {
        if let Some(share) = shares.get_mut(index) {
            *share += 1;
        }
    }
    shares
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shares(ns: &[u64]) -> Vec<String> {
        let parts: Vec<Node> = ns.iter().map(|ns| Node::leaf("part", "part", *ns)).collect();
        percents(&parts, ns.iter().sum())
    }

    #[test]
    fn whole_percents_sum_to_a_hundred() {
        assert_eq!(shares(&[1, 1, 1]), ["34 %", "33 %", "33 %"]);
        assert_eq!(shares(&[995, 4, 1]), ["100 %", "<1 %", "<1 %"]);
        let some = shares(&[335, 335, 325, 5]);
        assert_eq!(some, ["34 %", "34 %", "32 %", "<1 %"]);
    }

    #[test]
    fn cells_fill_the_bar() {
        let parts: Vec<Node> = [7, 5, 3, 1].map(|ns| Node::leaf("part", "part", ns)).into();
        assert_eq!(divide(&parts, 16, 24).iter().sum::<usize>(), 24);
        assert_eq!(divide(&[], 0, 24), [0usize; 0]);
    }
}
