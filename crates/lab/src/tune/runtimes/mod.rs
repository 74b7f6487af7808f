//! What trials need from a runtime beyond its flags: the figures that it counts itself, and its message when it
//! refuses a flag. Owns the list; each runtime has a file of its own.

pub mod ghc;
mod own;

pub use own::OwnFigures;

use rtscope_tune::runtime::Program;

/// Runtimes with figures of their own.
static ALL: [&OwnFigures; 1] = [&ghc::FIGURES];

/// Which trials have such figures, in words.
pub const RUNTIME_FIGURES: &str = "only GHC's runtime does, linked with -rtsopts=all";

/// Printed if no capture of a study has a log of the runtime.
pub const NO_LOG: &str = "why it helps is not known: the captures have no log of the runtime; up to GHC 9.2 a program \
                          writes one only if it was linked with -eventlog";

/// How to ask a program for its figures, if it takes every flag.
pub fn own_figures(program: &Program) -> Option<&'static OwnFigures> {
    let link = program.link.as_ref().ok().filter(|link| link.takes_all())?;
    ALL.into_iter().find(|own| own.info == link.dialect().info)
}

/// A sentence on flags that a runtime refused, from a program's last output.
pub fn refusal(stderr: &str) -> Option<String> {
    let of = |own: &OwnFigures| {
        let said = (own.refusal)(stderr)?;
        Some(format!("{}'s runtime refused its flags: {said}", own.info.name))
    };
    ALL.into_iter().find_map(of)
}
