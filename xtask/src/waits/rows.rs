//! A row for each case of each run. Owns the sums of rows and which sums are good enough.

use super::score::{Right, Score};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Required shares of correct answers.
const KIND_MIN: f64 = 0.98;
const REST_MIN: f64 = 0.95;

/// The score of one case in one run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct WaitRow {
    /// Seed of the run.
    pub seed: u64,
    /// Commit of this repository.
    pub commit: String,
    /// Compiler and, for GHC, the runtime's way.
    pub runtime: String,
    /// Name of the test case.
    pub case: String,
    /// Number of threads of this case.
    pub threads: u64,
    /// Number of looks at them.
    pub looks: u64,
    /// What was right.
    pub score: Score,
}

impl WaitRow {
    /// Whether it belongs to this run.
    pub fn is_of(&self, seed: u64, commit: &str, runtime: &str) -> bool {
        self.seed == seed && self.commit == commit && self.runtime == runtime
    }
}

/// Sums of rows, grouped by `key`.
pub fn by<'r>(rows: &'r [WaitRow], key: impl Fn(&'r WaitRow) -> &'r str) -> BTreeMap<&'r str, (u64, Score)> {
    let mut sums: BTreeMap<&str, (u64, Score)> = BTreeMap::new();
    for row in rows {
        let (threads, score) = sums.entry(key(row)).or_default();
        *threads += row.threads;
        *score = score.and(row.score);
    }
    sums
}

/// Shares below the required ones; empty if all is well.
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

/// Markdown tables by runtime and by case.
pub fn tables(rows: &[WaitRow]) -> String {
    let of_case =
        |row: &WaitRow| format!("{}: {}", if row.runtime.starts_with("ghc") { "GHC" } else { "OCaml" }, row.case);
    let named: Vec<WaitRow> = rows.iter().map(|row| WaitRow { case: of_case(row), ..row.clone() }).collect();
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

    fn row(runtime: &str, right: u64) -> WaitRow {
        let kind = Right { of: 100, right };
        let score = Score { kind, ..Score::default() };
        WaitRow {
            seed: 1,
            commit: "c".into(),
            runtime: runtime.into(),
            case: "lock".into(),
            threads: 4,
            looks: 25,
            score,
        }
    }

    #[test]
    fn a_table_has_shares_and_what_is_below_its_bound_is_reported() {
        let text = tables(&[row("ghc-9.0", 100), row("ocaml-5.3.0", 97)]);
        assert!(text.contains("| ghc-9.0 | 4 | 100.0 % of 100 |  |"), "{text}");
        assert!(text.contains("| OCaml: lock | 4 | 97.0 % of 100 |"), "{text}");
        assert!(misses(&row("", 98).score).is_empty());
        assert_eq!(misses(&row("", 97).score), ["kind 97.0 % of 100, at least 98 %"]);
    }
}
