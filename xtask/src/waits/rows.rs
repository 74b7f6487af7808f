//! A row for each case of each run. Owns what rows sum up to and which sums are right enough.

use super::score::{Right, Score};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Shares that have to be right.
const KIND_MIN: f64 = 0.98;
const REST_MIN: f64 = 0.95;

/// What is true of one case in one run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// Of the run.
    pub seed: u64,
    /// Of this repository.
    pub commit: String,
    /// Compiler and, of GHC, the runtime's way.
    pub runtime: String,
    /// What its threads are a case of.
    pub case: String,
    /// Threads of this case.
    pub threads: u64,
    /// Looks at them.
    pub looks: u64,
    /// What is right.
    pub score: Score,
}

impl Row {
    /// Whether `other` is of the same run.
    pub fn is_of(&self, seed: u64, commit: &str, runtime: &str) -> bool {
        self.seed == seed && self.commit == commit && self.runtime == runtime
    }
}

/// Sums of rows, by what `key` says of each.
pub fn by<'r>(rows: &'r [Row], key: impl Fn(&'r Row) -> &'r str) -> BTreeMap<&'r str, (u64, Score)> {
    let mut sums: BTreeMap<&str, (u64, Score)> = BTreeMap::new();
    for row in rows {
        let (threads, score) = sums.entry(key(row)).or_default();
        *threads += row.threads;
        *score = score.and(row.score);
    }
    sums
}

/// What is below what it has to be; empty where all is well.
pub fn misses(score: &Score) -> Vec<String> {
    let bounds = [
        ("kind", score.kind, KIND_MIN),
        ("object", score.object, REST_MIN),
        ("holder", score.holder, REST_MIN),
        ("place", score.place, REST_MIN),
        ("callee", score.callee, REST_MIN),
    ];
    let below = bounds.into_iter().filter(|(_, right, least)| right.share() < *least);
    below.map(|(what, right, least)| format!("{what} {}, at least {:.0} %", shown(right), 100.0 * least)).collect()
}

fn shown(right: Right) -> String {
    if right.of == 0 { String::new() } else { format!("{:.1} % of {}", 100.0 * right.share(), right.of) }
}

/// Tables of runtimes and of cases, in Markdown.
pub fn tables(rows: &[Row]) -> String {
    let of_case = |row: &Row| format!("{}: {}", if row.runtime.starts_with("ghc") { "GHC" } else { "OCaml" }, row.case);
    let named: Vec<Row> = rows.iter().map(|row| Row { case: of_case(row), ..row.clone() }).collect();
    let mut text = String::new();
    for (head, sums) in [("runtime", by(&named, |row| &row.runtime)), ("case", by(&named, |row| &row.case))] {
        text += &format!(
            "| {head} | threads | kind | object | holder | place | C function |\n|---|---:|---:|---:|---:|---:|---:|\n"
        );
        for (name, (threads, score)) in sums {
            let cells = [score.kind, score.object, score.holder, score.place, score.callee].map(shown);
            text += &format!("| {name} | {threads} | {} |\n", cells.join(" | "));
        }
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(runtime: &str, right: u64) -> Row {
        let kind = Right { of: 100, right };
        let score = Score { kind, ..Score::default() };
        Row { seed: 1, commit: "c".into(), runtime: runtime.into(), case: "lock".into(), threads: 4, looks: 25, score }
    }

    #[test]
    fn a_table_has_shares_and_what_is_below_its_bound_is_told() {
        let text = tables(&[row("ghc-9.0", 100), row("ocaml-5.3.0", 97)]);
        assert!(text.contains("| ghc-9.0 | 4 | 100.0 % of 100 |  |"), "{text}");
        assert!(text.contains("| OCaml: lock | 4 | 97.0 % of 100 |"), "{text}");
        assert!(misses(&row("", 98).score).is_empty());
        assert_eq!(misses(&row("", 97).score), ["kind 97.0 % of 100, at least 98 %"]);
    }
}
