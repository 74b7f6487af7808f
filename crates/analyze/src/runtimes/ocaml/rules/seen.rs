//! How rules reach the folds that this runtime alone has.

use crate::findings::Facts;
use crate::program::forks::Forks;
use crate::runtimes::ocaml::answers::Answers;
use crate::runtimes::ocaml::leadership::Leadership;
use crate::runtimes::ocaml::lives::Lives;
use crate::runtimes::ocaml::sections::Sections;
use std::sync::LazyLock;

/// What a recording without the fold would have seen.
static NONE: LazyLock<(Sections, Forks)> = LazyLock::new(Default::default);

/// What single lanes cost collections.
pub fn answers<'a>(facts: &Facts<'a>) -> &'a Answers {
    &facts.fold::<Sections>().unwrap_or(&NONE.0).answers
}

/// How long domains live.
pub fn lives<'a>(facts: &Facts<'a>) -> &'a Lives {
    &facts.fold::<Sections>().unwrap_or(&NONE.0).lives
}

/// Waits to become leader.
pub fn leadership<'a>(facts: &Facts<'a>) -> &'a Leadership {
    &facts.fold::<Sections>().unwrap_or(&NONE.0).leadership
}

/// Copies of the process.
pub fn forks<'a>(facts: &Facts<'a>) -> &'a Forks {
    facts.fold().unwrap_or(&NONE.1)
}
