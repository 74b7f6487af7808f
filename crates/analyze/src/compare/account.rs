//! How two accounts differ: the share of lane time of each part, before and after. Owns which parts are worth a line;
//! one run of each gives no interval, so none is judged.

use crate::results::Results;
use rtscope_model::{Account, Node};
use serde::Serialize;

/// A part of a smaller share in both runs is left out.
const SHARE_MIN: f64 = 0.01;

/// A part of the account in both runs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PartChange {
    /// Ids from the top: "standing-still.to-stop".
    pub path: String,
    /// The name for display.
    pub name: String,
    /// 0 for a top-level part, 1 for a part of one.
    pub depth: usize,
    /// Share of lane time before.
    pub a_share: f64,
    /// Share of lane time after.
    pub b_share: f64,
}

impl PartChange {
    /// The change of its share.
    pub fn change(&self) -> f64 {
        self.b_share - self.a_share
    }
}

/// The top-level parts, those that changed most first, each before its own parts; empty where either run has no
/// account.
pub(super) fn changes(a: &Results, b: &Results) -> Vec<PartChange> {
    fn known(results: &Results) -> Option<&Account> {
        results.account.as_ref().filter(|account| account.lanes_ns > 0)
    }
    let Some((a, b)) = known(a).zip(known(b)) else { return Vec::new() };
    let wholes = [a.lanes_ns, b.lanes_ns];
    let mut all = Vec::new();
    for (top, parts) in changed(("", 0), wholes, [&a.parts, &b.parts]) {
        let above = format!("{}.", top.path);
        all.push(top);
        all.extend(changed((&above, 1), wholes, parts).into_iter().map(|(part, _)| part));
    }
    all
}

/// Parts of one node in both runs, those that changed most first, with their own parts. `wholes`: lane time of each run.
fn changed<'n>(
    (above, depth): (&str, usize),
    wholes: [u64; 2],
    of: [&'n [Node]; 2],
) -> Vec<(PartChange, [&'n [Node]; 2])> {
    let find = |parts: &'n [Node], id: &str| parts.iter().find(|part| part.id == id);
    let share = |part: Option<&Node>, whole: u64| part.map_or(0.0, |part| part.ns as f64 / whole as f64);
    let only_after = of[1].iter().filter(|part| find(of[0], &part.id).is_none());
    let change = |part: &Node| {
        let [a, b] = of.map(|parts| find(parts, &part.id));
        let (a_share, b_share) = (share(a, wholes[0]), share(b, wholes[1]));
        let (path, name) = (format!("{above}{}", part.id), part.name.clone());
        let parts = [a, b].map(|part| part.map_or(&[][..], |part| &part.parts));
        (PartChange { path, name, depth, a_share, b_share }, parts)
    };
    let all = of[0].iter().chain(only_after).map(change);
    let mut changed: Vec<_> = all.filter(|(part, _)| part.a_share.max(part.b_share) >= SHARE_MIN).collect();
    changed.sort_by(|(one, _), (other, _)| other.change().abs().total_cmp(&one.change().abs()));
    changed
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(parts: Vec<Node>) -> Results {
        let lanes_ns = parts.iter().map(|part| part.ns).sum();
        Results { account: Some(Account { lanes_ns, parts, ..Account::default() }), ..Results::default() }
    }

    #[test]
    fn what_grew_most_comes_first_with_its_parts() {
        let still = |ns| Node::sum("still", "standing still", vec![Node::leaf("quota", "a quota", ns)]);
        let before = run(vec![Node::leaf("program", "program", 900), Node::leaf("gone", "gone", 100)]);
        let after = run(vec![Node::leaf("program", "program", 1_000), still(991), Node::leaf("tiny", "tiny", 9)]);
        let changes = changes(&before, &after);
        let paths: Vec<_> = changes.iter().map(|part| (&*part.path, part.depth, part.a_share)).collect();
        assert_eq!(paths, [("still", 0, 0.0), ("still.quota", 1, 0.0), ("program", 0, 0.9), ("gone", 0, 0.1)]);
        assert!(super::changes(&before, &Results::default()).is_empty());
    }
}
