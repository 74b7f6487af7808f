//! The rules that only programs of OCaml's runtime can break, and what it adds to general ones.
//! Owns their list, and how they reach the folds that this runtime alone has. Refuses what
//! holds for any runtime: see `findings`.

mod explicit_gc;
mod fork_pause;
mod idle_domain;
mod late_release;
mod leadership_contention;
mod small_minor_heap;

pub use fork_pause::forks;

use super::answers::Answers;
use super::leadership::Leadership;
use crate::findings::{Facts, Rule, oversubscribed};

/// All of them.
pub static RULES: [&Rule; 7] = [
    &late_release::RULE,
    &idle_domain::RULE,
    &fork_pause::RULE,
    &OVERSUBSCRIBED,
    &small_minor_heap::RULE,
    &leadership_contention::RULE,
    &explicit_gc::RULE,
];

/// Where only idle domains are too many for the CPUs, they are what is to be told.
static OVERSUBSCRIBED: Rule = Rule {
    check: |facts| if idle_domain::crowding(facts) { None } else { (oversubscribed::RULE.check)(facts) },
    ..oversubscribed::BASE
};

/// What single lanes cost collections.
fn answers<'a>(facts: &Facts<'a>) -> &'a Answers {
    facts.answers
}

/// Waits to become leader.
fn leadership<'a>(facts: &Facts<'a>) -> &'a Leadership {
    facts.leadership
}
