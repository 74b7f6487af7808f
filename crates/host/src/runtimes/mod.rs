//! The runtimes whose programs are recorded. Owns the list; what one of them is lies in its own folder.

pub mod by_bytes;
mod c_stack;
pub mod files;
pub mod ghc;
pub(crate) mod known;
pub mod link;
pub mod live_log;
pub mod ocaml;
pub mod recorded;
pub mod route;
pub mod waiting;

pub use ghc::{heap, options, stm, unflushed};
pub use ocaml::rings;

use ghc::Ghc;
use ocaml::Ocaml;
use recorded::HostRuntime;
use rtscope_model::runtime::RuntimeInfo;
use std::sync::{PoisonError, RwLock};

static BUILT_IN: [&dyn HostRuntime; 2] = [&Ghc, &Ocaml];
static REGISTERED: RwLock<Vec<&'static dyn HostRuntime>> = RwLock::new(Vec::new());

/// Makes one known from which nothing was recorded yet.
pub fn register(runtime: &'static dyn HostRuntime) {
    known::register(runtime);
    REGISTERED.write().unwrap_or_else(PoisonError::into_inner).push(runtime);
}

/// All of them.
pub(crate) fn all() -> impl Iterator<Item = &'static dyn HostRuntime> {
    let registered = REGISTERED.read().unwrap_or_else(PoisonError::into_inner).clone();
    BUILT_IN.into_iter().chain(registered)
}

/// Those that a program may be of: one, where its file tells, else all.
pub(crate) fn possible(told: &RuntimeInfo) -> impl Iterator<Item = &'static dyn HostRuntime> {
    all().filter(move |runtime| !told.is_known() || runtime.info() == told)
}

#[cfg(test)]
mod tests {
    use super::files::RuntimeFiles;
    use super::recorded::{Around, Command, Launch, Prepared, ReadHeap, RuntimeLogs, Told};
    use super::*;
    use crate::binary::{FileSays, Inspected};
    use crate::symbols::names::Names;
    use crate::target::Process;
    use rtscope_model::runtime::UNKNOWN;

    #[derive(Debug)]
    struct Flint;

    static FLINT: RuntimeInfo = RuntimeInfo { id: "flint-of-host", ..UNKNOWN };

    impl Names for Flint {}

    impl RuntimeFiles for Flint {
        fn info(&self) -> &'static RuntimeInfo {
            &FLINT
        }

        fn wanted(&self) -> &'static str {
            "flint_start"
        }

        fn detect(&self, file: &FileSays<'_, '_>, _found: &mut Inspected) -> bool {
            file.address("flint_start").is_some()
        }
    }

    impl HostRuntime for Flint {
        fn writes(&self) -> &'static str {
            "flints"
        }

        fn environment(&self) -> &'static [&'static str] {
            &["FLINTS"]
        }

        fn prepare(&self, _command: &Command<'_>, _launch: &mut Launch) -> Prepared {
            Ok(None)
        }

        fn attach(&self, _: &Process, _: &Around<'_>, _: &mut Told) -> Option<Box<dyn RuntimeLogs>> {
            None
        }

        fn heap(&self) -> Result<ReadHeap, &'static str> {
            Err("flints have no heap")
        }
    }

    #[test]
    fn one_from_elsewhere_is_asked_like_the_others() {
        let is_flint = |id: &str| id == FLINT.id;
        assert!(!all().any(|runtime| is_flint(runtime.info().id)));
        register(&Flint);
        assert!(known::all().any(|runtime| is_flint(runtime.info().id)));
        assert_eq!(possible(&UNKNOWN).count(), BUILT_IN.len() + 1);
        assert_eq!(possible(&FLINT).map(|runtime| runtime.writes()).collect::<Vec<_>>(), ["flints"]);
    }
}
