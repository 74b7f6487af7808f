//! The runtimes whose programs are recorded. Owns the list; the details of each are in its own folder.

pub mod by_bytes;
mod c_stack;
pub(crate) mod chunks;
pub(crate) mod files;
pub(crate) mod ghc;
pub(crate) mod known;
pub mod link;
pub mod live_log;
pub(crate) mod ocaml;
pub(crate) mod recorded;
pub(crate) mod route;
#[cfg(test)]
mod testing;
pub mod waiting;

pub use ghc::{heap, options, stm, unflushed};

use ghc::Ghc;
use ocaml::Ocaml;
use recorded::HostRuntime;
use rtscope_model::runtime::RuntimeInfo;

pub(crate) fn all() -> impl Iterator<Item = &'static dyn HostRuntime> {
    [&Ghc as &dyn HostRuntime, &Ocaml].into_iter()
}

/// The runtimes that a program may use: one if its file shows it, else all.
pub(crate) fn possible(known: &RuntimeInfo) -> impl Iterator<Item = &'static dyn HostRuntime> {
    all().filter(move |runtime| !known.is_known() || runtime.info() == known)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rtscope_model::runtime::UNKNOWN;
    use rtscope_model::runtimes::GHC;

    #[test]
    fn what_is_recorded_is_also_found_in_files() {
        let recorded: Vec<&str> = all().map(|runtime| runtime.info().id).collect();
        let found: Vec<&str> = known::all().map(|runtime| runtime.info().id).collect();
        assert_eq!(recorded, found);
    }

    #[test]
    fn a_known_runtime_is_the_only_possible_one() {
        assert_eq!(possible(&UNKNOWN).count(), all().count());
        assert_eq!(possible(&GHC).map(|runtime| runtime.writes()).collect::<Vec<_>>(), ["eventlog"]);
    }
}
