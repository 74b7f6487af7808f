//! The runtimes that rtscope is built with, as data. Owns the list; what else belongs to one
//! lives in the folder of its name in `decode`, `analyze`, `host` and `tune`.

pub mod ghc;
pub mod heap;
mod ocaml;

pub use ghc::GHC;
pub use ocaml::{OCAML, OcamlRelease};

use crate::runtime::RuntimeInfo;

/// All of them.
pub static ALL: [&RuntimeInfo; 2] = [&GHC, &OCAML];
