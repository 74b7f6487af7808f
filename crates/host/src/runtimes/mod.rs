//! The runtimes whose programs are recorded. Owns the list; what one of them is lies in its own folder.

pub mod by_bytes;
pub mod files;
pub mod ghc;
pub(crate) mod known;
pub mod link;
pub mod ocaml;
pub mod recorded;
pub mod route;

pub use ghc::stm;

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
