//! The recorded result of each pair of runs.

use super::pair::Scored;
use serde::{Deserialize, Serialize};

/// The result of one pair.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PurposeRow {
    pub seed: u64,
    pub commit: String,
    pub runtime: String,
    pub toolchain: String,
    pub kind: String,
    pub amount: u64,
    pub samples: u64,
    pub with_purpose: f64,
    pub right: f64,
    pub known_ns: f64,
    pub found_ns: f64,
    pub elsewhere: String,
}

impl PurposeRow {
    /// The row for a pair with this amount of work.
    pub fn of(seed: u64, commit: &str, toolchain: &str, (kind, amount): (&str, u64), scored: &Scored) -> PurposeRow {
        let elsewhere = scored.elsewhere.iter().map(|(key, ns)| format!("{key} {:+.0} ms", ns / 1e6));
        PurposeRow {
            seed,
            commit: commit.to_owned(),
            runtime: scored.runtime.clone(),
            toolchain: toolchain.to_owned(),
            kind: kind.to_owned(),
            amount,
            samples: scored.samples,
            with_purpose: scored.with_purpose,
            right: scored.right(),
            known_ns: scored.known_ns,
            found_ns: scored.found_ns,
            elsewhere: elsewhere.collect::<Vec<_>>().join(", "),
        }
    }

    /// Whether it is this commit's result for the pair.
    pub fn is_of(&self, seed: u64, commit: &str, (toolchain, runtime): (&str, &str), kind: &str) -> bool {
        let of_run = self.seed == seed && self.commit == commit && self.toolchain == toolchain;
        of_run && self.kind == kind && self.runtime.starts_with(runtime)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_is_of_its_pair_alone() {
        let scored = Scored {
            runtime: "ghc 9.0.2".into(),
            samples: 7,
            with_purpose: 0.999,
            known_ns: 1000.0,
            found_ns: 960.0,
            elsewhere: vec![("copying-old".into(), 4e7)],
        };
        let row = PurposeRow::of(3, "abc", "ghc-9.0", ("stacks", 10), &scored);
        assert!(row.is_of(3, "abc", ("ghc-9.0", "ghc"), "stacks"));
        assert!(!row.is_of(3, "abc", ("ghc-9.0", "ocaml"), "stacks"));
        assert!(!row.is_of(3, "abd", ("ghc-9.0", "ghc"), "stacks"));
        assert_eq!((row.right, &*row.elsewhere), (0.96, "copying-old +40 ms"));
    }
}
