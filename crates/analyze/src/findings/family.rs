//! The words and flags of each runtime, for rules that hold for both. Owns them; refuses to
//! know what a rule says.

use crate::context::Context;

/// A runtime with a collector that stops the world.
#[derive(Copy, Clone, Eq, PartialEq, Debug)]
pub(crate) enum Family {
    /// GHC, also where no runtime is named.
    Ghc,
    /// OCaml 5.
    Ocaml,
}

/// Both.
pub(crate) const ALL: &[Family] = &[Family::Ghc, Family::Ocaml];
/// What only GHC's runtime has.
pub(crate) const GHC: &[Family] = &[Family::Ghc];
/// What only OCaml's has.
pub(crate) const OCAML: &[Family] = &[Family::Ocaml];

/// What the runtime called `family` ("ghc", "ocaml") stops; of another it is "lane".
pub fn lane_word(family: Option<&str>) -> &'static str {
    match family {
        Some("ghc") => Family::Ghc.lane(),
        Some("ocaml") => Family::Ocaml.lane(),
        _ => "lane",
    }
}

impl Family {
    /// The runtime of a recording.
    pub fn of(context: &Context) -> Family {
        match context.runtime.family.as_deref() {
            Some("ocaml") => Family::Ocaml,
            _ => Family::Ghc,
        }
    }

    /// What the runtime stops.
    pub fn lane(self) -> &'static str {
        match self {
            Family::Ghc => "capability",
            Family::Ocaml => "domain",
        }
    }

    /// Several of them.
    pub fn lanes(self) -> &'static str {
        match self {
            Family::Ghc => "capabilities",
            Family::Ocaml => "domains",
        }
    }

    /// The language.
    pub fn language(self) -> &'static str {
        match self {
            Family::Ghc => "Haskell",
            Family::Ocaml => "OCaml",
        }
    }

    /// What the runtime writes its events to.
    pub fn log(self) -> &'static str {
        match self {
            Family::Ghc => "eventlog",
            Family::Ocaml => "ring",
        }
    }

    /// The flag that sets the number of lanes. An OCaml program spawns as many domains as
    /// its own code says.
    pub fn lanes_flag(self, lanes: usize) -> Option<String> {
        (self == Family::Ghc).then(|| format!("+RTS -N{lanes}"))
    }

    /// The flag that lets one thread collect. OCaml's collections need every domain.
    pub fn sequential_flag(self) -> Option<String> {
        (self == Family::Ghc).then(|| "+RTS -qg".to_owned())
    }
}
