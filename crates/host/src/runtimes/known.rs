//! The runtimes that can be recognised in program files. Owns the list and its order: a program belongs to the
//! first runtime that detects it.

use super::files::RuntimeFiles;
use super::ghc::Ghc;
use super::ocaml::Ocaml;
use crate::symbols::names::{Names, NoRuntime};

pub(crate) fn all() -> impl DoubleEndedIterator<Item = &'static dyn RuntimeFiles> {
    [&Ghc as &dyn RuntimeFiles, &Ocaml].into_iter()
}

/// How code is named in a file with these functions, and whether one of them proves it. Searched from the end of
/// the list: names that prove GHC have a form that a program's C may have too.
pub(crate) fn names_of<'n>(names: impl Iterator<Item = &'n str> + Clone) -> (&'static dyn Names, bool) {
    match all().rev().find(|known| names.clone().any(|name| known.proves(name))) {
        Some(known) => (known, true),
        None => (&NoRuntime, false),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::symbols::names::Owner;

    #[test]
    fn a_file_is_of_the_language_that_its_functions_prove() {
        let of = |names: &[&str]| {
            let found = all().rev().find(|known| names.iter().any(|name| known.proves(name)));
            assert_eq!(names_of(names.iter().copied()).1, found.is_some());
            found.map(|known| known.info().id)
        };
        assert_eq!(of(&["main", "caml_program", "camlStub.entry"]), Some("ocaml"));
        assert_eq!(of(&["camlPlugin.f_12"]), Some("ocaml"));
        assert_eq!(of(&["main", "Main_main1_info"]), Some("ghc"));
        assert_eq!(of(&["hs_main"]), Some("ghc"));
        assert_eq!(of(&["main", "mark", "schedule", "caml_mylib_busy"]), None);
    }

    #[test]
    fn a_static_name_is_the_runtimes_only_next_to_it() {
        let is_runtimes = |language: &dyn Names, name: &str, neighbours: [Owner; 2]| {
            assert_eq!(language.owner(name), Owner::PerhapsRuntime);
            language.is_runtimes(&neighbours)
        };
        assert!(is_runtimes(&Ghc, "copy", [Owner::Other, Owner::Runtime]));
        assert!(!is_runtimes(&Ghc, "copy", [Owner::Other, Owner::Program]));
        assert!(!is_runtimes(&Ocaml, "mark", [Owner::Runtime, Owner::Other]));
        assert!(is_runtimes(&Ocaml, "mark", [Owner::Program, Owner::Runtime]));
        assert!(is_runtimes(&Ocaml, "caml_of_another_version", [Owner::Runtime; 2]));
        assert!(!is_runtimes(&Ocaml, "caml_mylib_busy", [Owner::Other, Owner::Runtime]));
    }
}
