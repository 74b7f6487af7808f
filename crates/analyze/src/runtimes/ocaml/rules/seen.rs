//! How rules access the folds that only this runtime has.

use crate::findings::Facts;
use crate::program::forks::Forks;
use crate::runtimes::ocaml::sections::Sections;
use std::sync::LazyLock;

/// Maximum number of domains that are named.
pub const LANES_NAMED: usize = 4;

/// The empty result for a recording without the fold.
static NONE: LazyLock<(Sections, Forks)> = LazyLock::new(Default::default);

/// What single domains cost collections.
pub fn sections<'a>(facts: &Facts<'a>) -> &'a Sections {
    facts.fold().unwrap_or(&NONE.0)
}

/// Forks of the process.
pub fn forks<'a>(facts: &Facts<'a>) -> &'a Forks {
    facts.fold().unwrap_or(&NONE.1)
}
