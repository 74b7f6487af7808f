//! How rules reach the folds that this runtime alone has.

use crate::findings::Facts;
use crate::program::forks::Forks;
use crate::runtimes::ocaml::sections::Sections;
use std::sync::LazyLock;

/// Domains that are named.
pub const LANES_NAMED: usize = 4;

/// What a recording without the fold would have seen.
static NONE: LazyLock<(Sections, Forks)> = LazyLock::new(Default::default);

/// What collections cost single domains.
pub fn sections<'a>(facts: &Facts<'a>) -> &'a Sections {
    facts.fold().unwrap_or(&NONE.0)
}

/// Copies of the process.
pub fn forks<'a>(facts: &Facts<'a>) -> &'a Forks {
    facts.fold().unwrap_or(&NONE.1)
}
