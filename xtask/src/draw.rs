//! Families: the settings of a workload that are drawn at random for each run of the truth suite, within
//! ranges where its truth holds. Owns the template language; `workload.toml` has the ranges, in `[draw]`.
//!
//! A template is a word with parts in braces. `{20..90}` is a whole number, with equal probability for
//! each order of magnitude; `{1m|2m|4m}` is one of several texts; `{items=20..90}` also names its text, and
//! `{items}` repeats that text from there on.

use crate::statistics::random;
use anyhow::{Context, Result, bail, ensure};
use serde::Deserialize;
use std::collections::BTreeMap;

/// The `[draw]` table; absent settings stay as the workload has them.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Draw {
    /// The program's own arguments.
    pub args: Option<Vec<String>>,
    /// GHC: runtime flags.
    pub rts: Option<Vec<String>>,
    /// OCaml: `OCAMLRUNPARAM`.
    pub runparam: Option<String>,
    /// Quota, in hundredths of a CPU.
    pub quota_percent: Option<String>,
    /// The program's arguments with the remedy applied.
    pub remedy_args: Option<Vec<String>>,
}

/// Draws the parts of templates, one after the other.
pub struct TemplateFiller {
    state: u64,
    named: BTreeMap<String, String>,
}

impl TemplateFiller {
    /// Equal seeds give equal draws.
    pub fn new(seed: u64) -> TemplateFiller {
        // Consecutive seeds must give different draws.
        let mut state = seed.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15).max(1);
        (0..4).for_each(|_| _ = random(&mut state));
        TemplateFiller { state, named: BTreeMap::new() }
    }

    /// Fills in a list of templates.
    pub fn words(&mut self, templates: &[String]) -> Result<Vec<String>> {
        templates.iter().map(|template| self.word(template)).collect()
    }

    /// Fills in one template.
    pub fn word(&mut self, template: &str) -> Result<String> {
        let mut word = String::new();
        let mut rest = template;
        while let Some((before, part)) = rest.split_once('{') {
            let (part, after) = part.split_once('}').with_context(|| format!("{template}: a brace is open"))?;
            word += before;
            word += &self.part(part).with_context(|| template.to_owned())?;
            rest = after;
        }
        Ok(word + rest)
    }

    fn part(&mut self, part: &str) -> Result<String> {
        let (name, what) = part.split_once('=').map_or((None, part), |(name, what)| (Some(name), what));
        let text = if let Some((from, to)) = what.split_once("..") {
            self.number(from.parse()?, to.parse()?)?.to_string()
        } else if what.contains('|') {
            let choices: Vec<&str> = what.split('|').collect();
            choices[(random(&mut self.state) % choices.len() as u64) as usize].to_owned()
        } else {
            match self.named.get(what) {
                Some(text) if name.is_none() => text.clone(),
                _ => bail!("{what} is no range, no choice, and nothing of that name was drawn"),
            }
        };
        if let Some(name) = name {
            self.named.insert(name.to_owned(), text.clone());
        }
        Ok(text)
    }

    fn number(&mut self, from: u64, to: u64) -> Result<u64> {
        ensure!(0 < from && from <= to, "{from}..{to} is no range of whole numbers above 0");
        let share = (random(&mut self.state) % (1 << 32)) as f64 / (1u64 << 32) as f64;
        Ok((from as f64 * ((to + 1) as f64 / from as f64).powf(share)) as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn draws(template: &str) -> Vec<String> {
        (0..2_000).map(|seed| TemplateFiller::new(seed).word(template).unwrap()).collect()
    }

    #[test]
    fn numbers_fill_their_range_and_orders_of_magnitude_are_alike() {
        let drawn: Vec<u64> = draws("{10..1000}").iter().map(|word| word.parse().unwrap()).collect();
        assert!(drawn.iter().all(|number| (10..=1000).contains(number)));
        let small = drawn.iter().filter(|number| **number < 100).count();
        assert!((900..1_100).contains(&small), "{small}");
        assert!(draws("{1..2}").iter().any(|word| word == "1") && draws("{1..2}").iter().any(|word| word == "2"));
        assert!(draws("{7..7}").iter().all(|word| word == "7"));
    }

    #[test]
    fn choices_and_names() {
        for choice in ["-A1m", "-A2m"] {
            let times = draws("-A{1m|2m}").iter().filter(|word| *word == choice).count();
            assert!((900..1_100).contains(&times), "{choice}: {times}");
        }
        let words = ["{n=2..9}", "{n}x{n}"].map(str::to_owned);
        let drawn = TemplateFiller::new(3).words(&words).unwrap();
        assert_eq!(drawn[1], format!("{0}x{0}", drawn[0]));
        assert_eq!(drawn, TemplateFiller::new(3).words(&words).unwrap(), "the same seed");
    }

    #[test]
    fn what_is_no_template_is_refused() {
        for wrong in ["{", "{5", "{name}", "{9..2}", "{0..2}", "{a..b}", "{n=m}"] {
            assert!(TemplateFiller::new(1).word(wrong).is_err(), "{wrong}");
        }
        assert_eq!(TemplateFiller::new(1).word("-N2").unwrap(), "-N2");
    }
}
