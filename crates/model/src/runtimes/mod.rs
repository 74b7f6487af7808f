//! The built-in runtimes of rtscope, as data. Owns the list; other code for a runtime is in the folder of its name in
//! `decode`, `analyze`, `host` and `tune`.

pub mod ghc;
pub mod heap;
mod ocaml;

pub use ghc::GHC;
pub use ocaml::{OCAML, OcamlRelease};

use crate::runtime::RuntimeInfo;

/// All built-in runtimes.
pub static ALL: [&RuntimeInfo; 2] = [&GHC, &OCAML];
