//! Languages with a runtime of their own, as far as names in an executable tell whose
//! code is whose. Owns what is the same for all of them; how each one names its code is in
//! a module of its own.

use super::{ghc, ocaml};
use rtscope_model::CodeKind;
use std::collections::HashMap;

/// Whose code a symbol of an executable that holds a runtime is.
#[derive(Copy, Clone, Eq, PartialEq, Debug)]
pub enum Owner {
    /// The program's language.
    Program,
    /// The runtime's, whatever lies beside it.
    Runtime,
    /// The runtime's, as far as what lies beside it allows: programs have functions of the
    /// same name too.
    PerhapsRuntime,
    /// Something else.
    Other,
}

/// A language.
#[derive(Copy, Clone, Eq, PartialEq, Debug)]
pub enum Language {
    /// Haskell, as GHC compiles it.
    Ghc,
    /// OCaml.
    Ocaml,
}

impl Language {
    /// The language of a file with these functions; `None`: it holds no code of one.
    pub fn of<'n>(names: impl Iterator<Item = &'n str> + Clone) -> Option<Language> {
        if names.clone().any(ocaml::proves) {
            return Some(Language::Ocaml);
        }
        names.clone().any(ghc::proves).then_some(Language::Ghc)
    }

    /// Whose code `name` is.
    pub fn owner(self, name: &str) -> Owner {
        match self {
            Language::Ghc => ghc::owner(name),
            Language::Ocaml => ocaml::owner(name),
        }
    }

    /// As people write it. Other names stay.
    pub fn readable(self, name: &str) -> String {
        match self {
            Language::Ghc => ghc::readable(name),
            Language::Ocaml => ocaml::readable(name),
        }
    }

    /// The module of a name whose compiler leaves out the names of local functions.
    pub fn module(self, name: &str) -> Option<&str> {
        match self {
            Language::Ghc => ghc::module(name),
            Language::Ocaml => None,
        }
    }

    /// Whether `name` marks a place in code and is no function.
    pub fn is_label(self, name: &str) -> bool {
        self == Language::Ocaml && ocaml::is_label(name)
    }

    /// Whose code it is; `neighbours` own the nearest functions on both sides that others
    /// can call.
    pub fn kind(self, owner: Owner, mut neighbours: impl Iterator<Item = Owner>) -> CodeKind {
        let runtime = match (owner, self) {
            (Owner::Program, _) => return CodeKind::Program,
            (Owner::Runtime, _) => true,
            (Owner::Other, _) => false,
            (Owner::PerhapsRuntime, Language::Ghc) => neighbours.any(|owner| owner == Owner::Runtime),
            // A program's C lies right before the runtime, and its local functions before
            // those that call them.
            (Owner::PerhapsRuntime, Language::Ocaml) => !neighbours.any(|owner| owner == Owner::Other),
        };
        if runtime { CodeKind::Runtime } else { CodeKind::Foreign }
    }
}

/// Name → whether only static functions have it, of a list of a runtime's functions.
pub(super) fn table(list: &str) -> HashMap<&str, bool> {
    let lines = list.lines().filter(|line| !line.starts_with('#'));
    lines.map(|line| line.strip_suffix(" static").map_or((line, false), |name| (name, true))).collect()
}

/// A name without what a C compiler adds behind a dot.
pub(super) fn base(name: &str) -> &str {
    name.split('.').next().unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_of_the_language_that_its_functions_prove() {
        let of = |names: &[&str]| Language::of(names.iter().copied());
        assert_eq!(of(&["main", "caml_program", "camlStub.entry"]), Some(Language::Ocaml));
        assert_eq!(of(&["camlPlugin.f_12"]), Some(Language::Ocaml));
        assert_eq!(of(&["main", "Main_main1_info"]), Some(Language::Ghc));
        assert_eq!(of(&["hs_main"]), Some(Language::Ghc));
        assert_eq!(of(&["main", "mark", "schedule", "caml_mylib_busy"]), None);
    }

    #[test]
    fn a_static_name_is_the_runtimes_only_beside_it() {
        let (ghc, ocaml) = (Language::Ghc, Language::Ocaml);
        let kind = |language: Language, name: &str, beside: [Owner; 2]| {
            assert_eq!(language.owner(name), Owner::PerhapsRuntime);
            language.kind(Owner::PerhapsRuntime, beside.into_iter())
        };
        assert_eq!(kind(ghc, "copy", [Owner::Other, Owner::Runtime]), CodeKind::Runtime);
        assert_eq!(kind(ghc, "copy", [Owner::Other, Owner::Program]), CodeKind::Foreign);
        assert_eq!(kind(ocaml, "mark", [Owner::Runtime, Owner::Other]), CodeKind::Foreign);
        assert_eq!(kind(ocaml, "mark", [Owner::Program, Owner::Runtime]), CodeKind::Runtime);
        assert_eq!(kind(ocaml, "caml_of_another_version", [Owner::Runtime; 2]), CodeKind::Runtime);
        assert_eq!(kind(ocaml, "caml_mylib_busy", [Owner::Other, Owner::Runtime]), CodeKind::Foreign);
    }
}
