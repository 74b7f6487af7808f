//! The claims about each kind of work, from `purposes.toml` next to the program. Owns that file's format and
//! how a seed draws sizes.

use crate::workload::Language;
use anyhow::{Context, Result, ensure};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::fs;

/// The program's folder, for each language.
pub const PROGRAM: &str = "collector-work";

/// One kind of work.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Claim {
    /// Its name in the program.
    #[serde(skip)]
    pub kind: String,
    /// Amount of work per turn, in the middle of the range that seeds draw from.
    pub amount: u64,
    /// Number of turns.
    pub turns: u64,
    /// GHC: runtime flags.
    #[serde(default)]
    pub rts: Vec<String>,
    /// OCaml: `OCAMLRUNPARAM`.
    pub runparam: Option<String>,
    /// Ids of purposes that the work may have.
    #[serde(default)]
    pub expect: Vec<String>,
    /// For work that the kernel does: prefix of the label of the door through which it is reached.
    pub door: Option<String>,
    /// If a different purpose is expected than the kind's namesake: why.
    pub why: Option<String>,
    /// Share that tests require; less than [`RIGHT_MIN`] only if less was measured (`docs/purposes.md`).
    #[serde(default = "right_min")]
    pub held_to: f64,
}

/// Share of known work that should get the right purpose.
pub const RIGHT_MIN: f64 = 0.95;

fn right_min() -> f64 {
    RIGHT_MIN
}

/// Every claim about a language's program, by kind.
pub fn claims(language: Language) -> Result<Vec<Claim>> {
    let path = language.folder().join(PROGRAM).join("purposes.toml");
    let text = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
    let read: BTreeMap<String, Claim> = toml::from_str(&text).with_context(|| path.display().to_string())?;
    let named = read.into_iter().map(|(kind, claim)| Claim { kind, ..claim });
    let claims: Vec<Claim> = named.collect();
    for claim in &claims {
        let one = claim.expect.is_empty() != claim.door.is_none();
        ensure!(one, "{}: {} expects purposes or a door, one of both", path.display(), claim.kind);
    }
    Ok(claims)
}

impl Claim {
    /// The claim with an amount that `seed` draws: three quarters to five quarters of it.
    pub fn drawn(&self, seed: u64) -> Claim {
        let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        for byte in self.kind.bytes() {
            state = (state ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
        let share = (state >> 33) % 501;
        Claim { amount: self.amount * (750 + share) / 1000, ..self.clone() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_work_is_claimed_and_drawn_within_its_bounds() {
        for language in Language::ALL {
            let all = claims(language).unwrap();
            assert!(all.len() >= 9, "{language:?}");
            for claim in &all {
                let drawn: Vec<u64> = (1..20).map(|seed| claim.drawn(seed).amount).collect();
                let bounds = claim.amount * 3 / 4..=claim.amount * 5 / 4;
                assert!(drawn.iter().all(|amount| bounds.contains(amount)), "{}: {drawn:?}", claim.kind);
                assert!(drawn.iter().any(|amount| *amount != drawn[0]), "{}: every seed draws the same", claim.kind);
            }
        }
    }
}
