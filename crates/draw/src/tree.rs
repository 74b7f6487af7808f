//! Time, divided into parts: a form of content. Owns shares that sum up; refuses to choose which parts are shown.

use rtscope_model::account::Basis;
use rtscope_model::{Node, units};
use serde::Serialize;

/// Time, divided into parts.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Tree<'r> {
    /// The heading.
    pub head: String,
    /// What is divided, in words.
    pub whole: String,
    /// Its length, nanoseconds.
    pub whole_ns: u64,
    /// The parts that sum up to it.
    pub tops: Vec<Top<'r>>,
    /// Maximum lines for parts of parts on a terminal.
    pub lines: usize,
    /// Whether a page shows it only when asked.
    pub folded: bool,
}

/// A part that is no other's part.
#[derive(Copy, Clone, PartialEq, Debug, Serialize)]
pub struct Top<'r> {
    /// How it is drawn: a role of the palette.
    pub role: &'static str,
    /// The part, with its parts.
    pub part: &'r Node,
}

impl Tree<'_> {
    /// Whole percentages of its parts, which sum up to 100; "<1 %" for less than a half.
    pub fn percents(&self) -> Vec<String> {
        let words = |(top, share): (&Top<'_>, usize)| match share {
            0 => "<1 %".to_owned(),
            _ if top.part.ns.saturating_mul(200) < self.whole_ns => "<1 %".to_owned(),
            share => format!("{share} %"),
        };
        self.tops.iter().zip(self.divide(100)).map(words).collect()
    }

    /// Divides `cells` by length, so that parts sum up to all of them; cells that rounding leaves go to the parts that
    /// lost most by it.
    pub fn divide(&self, cells: usize) -> Vec<usize> {
        let exact: Vec<u128> = self.tops.iter().map(|top| u128::from(top.part.ns) * cells as u128).collect();
        let whole = u128::from(self.whole_ns.max(1));
        let mut shares: Vec<usize> = exact.iter().map(|ns| (ns / whole).min(cells as u128) as usize).collect();
        let mut order: Vec<usize> = (0..shares.len()).collect();
        order.sort_by_key(|index| std::cmp::Reverse(exact.get(*index).map_or(0, |ns| ns % whole)));
        let left = cells.saturating_sub(shares.iter().sum());
        for index in order.into_iter().take(left) {
            if let Some(share) = shares.get_mut(index) {
                *share += 1;
            }
        }
        shares
    }
}

/// What a part's figure is based on, unless that is every moment.
pub fn basis(part: &Node) -> Option<String> {
    match (part.basis, part.samples) {
        (Basis::Samples, Some(samples)) => Some(units::counted(samples, "sample", "samples")),
        (Basis::Looks, Some(looks)) => Some(units::counted(looks, "look", "looks")),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of<T>(ns: &[u64], what: impl Fn(&Tree<'_>) -> T) -> T {
        let parts: Vec<Node> = ns.iter().map(|ns| Node::leaf("part", "part", *ns)).collect();
        let tops = parts.iter().map(|part| Top { role: "", part }).collect();
        let (head, whole) = (String::new(), String::new());
        what(&Tree { head, whole, whole_ns: ns.iter().sum(), tops, lines: 0, folded: false })
    }

    #[test]
    fn whole_percents_sum_to_a_hundred() {
        let shares = |ns: &[u64]| of(ns, |tree| tree.percents());
        assert_eq!(shares(&[1, 1, 1]), ["34 %", "33 %", "33 %"]);
        assert_eq!(shares(&[995, 4, 1]), ["100 %", "<1 %", "<1 %"]);
        assert_eq!(shares(&[335, 335, 325, 5]), ["34 %", "34 %", "32 %", "<1 %"]);
    }

    #[test]
    fn cells_fill_the_bar() {
        assert_eq!(of(&[7, 5, 3, 1], |tree| tree.divide(24)).iter().sum::<usize>(), 24);
        assert_eq!(of(&[], |tree| tree.divide(24)), [0usize; 0]);
    }
}
