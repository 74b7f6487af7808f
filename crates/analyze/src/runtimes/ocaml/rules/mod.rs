//! The rules that only programs of OCaml's runtime can break, and what it adds to general ones.
//! Owns their list, and how they reach the folds that this runtime alone has. Refuses what
//! holds for any runtime: see `findings`.

mod explicit_gc;
mod fork_pause;
mod idle_domain;
mod late_release;
mod leadership_contention;
mod small_minor_heap;

use super::answers::Answers;
use super::leadership::Leadership;
use super::sections::Sections;
use crate::findings::{Facts, Rule, oversubscribed};
use crate::program::forks::Forks;
use std::sync::LazyLock;

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

/// What a recording without the fold would have seen.
static NONE: LazyLock<(Sections, Forks)> = LazyLock::new(Default::default);

/// What single lanes cost collections.
fn answers<'a>(facts: &Facts<'a>) -> &'a Answers {
    &facts.fold::<Sections>().unwrap_or(&NONE.0).answers
}

/// Waits to become leader.
fn leadership<'a>(facts: &Facts<'a>) -> &'a Leadership {
    &facts.fold::<Sections>().unwrap_or(&NONE.0).leadership
}

/// Copies of the process.
fn forks<'a>(facts: &Facts<'a>) -> &'a Forks {
    facts.fold().unwrap_or(&NONE.1)
}
