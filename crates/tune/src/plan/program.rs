//! What is known of a program before it is started: its runtime, what its link
//! allows, what it was asked for already. Owns these words; refuses to find them out.

use rtscope_model::{OcamlRelease, Rtsopts, Version};

/// A program to plan for.
#[derive(Clone, Eq, PartialEq, Debug)]
pub struct Program {
    /// As the user calls it; `None`: a plan for any program.
    pub name: Option<String>,
    /// Its runtime.
    pub runtime: Runtime,
    /// What it was given already.
    pub given: Given,
}

impl Program {
    /// Any GHC program that is linked with `-threaded -rtsopts`.
    pub fn any_ghc(given: Given) -> Program {
        Program { name: None, runtime: Runtime::Ghc(Ghc::any()), given }
    }

    /// Any program of OCaml 5.3 or later.
    pub fn any_ocaml(given: Given) -> Program {
        let ocaml = Ocaml { release: Some(OcamlRelease::From5_3) };
        Program { name: None, runtime: Runtime::Ocaml(ocaml), given }
    }
}

/// The runtime of a program.
#[derive(Clone, Eq, PartialEq, Debug)]
pub enum Runtime {
    /// GHC's.
    Ghc(Ghc),
    /// OCaml's.
    Ocaml(Ocaml),
    /// Neither, or it cannot be told: a sentence says why.
    Unknown(String),
}

/// What a GHC program's link says.
#[derive(Clone, Eq, PartialEq, Debug, Default)]
pub struct Ghc {
    /// The compiler; `None`: not known.
    pub version: Option<Version>,
    /// Linked with `-threaded`; `None`: not known.
    pub threaded: Option<bool>,
    /// Which options it takes from outside; `None`: not known.
    pub rtsopts: Option<Rtsopts>,
    /// Its `-with-rtsopts`.
    pub with_rtsopts: String,
    /// Whether `--numa` works; `None`: not known.
    pub numa: Option<bool>,
    /// No binary was looked at: the above is what a plan without a program assumes.
    pub assumed: bool,
}

impl Ghc {
    /// A program that takes every flag.
    pub fn any() -> Ghc {
        Ghc { threaded: Some(true), rtsopts: Some(Rtsopts::All), assumed: true, ..Ghc::default() }
    }
}

/// What is known of an OCaml program.
#[derive(Clone, Eq, PartialEq, Debug, Default)]
pub struct Ocaml {
    /// Which releases its runtime can be of; `None`: not known.
    pub release: Option<OcamlRelease>,
}

/// What a program is told by its user.
#[derive(Clone, Eq, PartialEq, Debug, Default)]
pub struct Given {
    /// `GHCRTS`.
    pub ghcrts: Option<String>,
    /// Runtime options of its command line, without `+RTS`.
    pub arguments: Vec<String>,
    /// `OCAMLRUNPARAM`, or `CAMLRUNPARAM`, which counts where the first is not set.
    pub ocamlrunparam: Option<String>,
}
