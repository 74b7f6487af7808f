//! Whose code a name in an executable is, as far as languages with a runtime of their own show it.
//! Owns what all of them share; how each one names its code is in its own folder below `runtimes`.

use rtscope_model::{CodeKind, PurposeId, Role};
use std::collections::HashMap;

/// The owner of a symbol in an executable with a runtime.
#[derive(Copy, Clone, Eq, PartialEq, Debug)]
pub enum Owner {
    /// The program's language.
    Program,
    /// The runtime's, whatever its neighbours are.
    Runtime,
    /// The runtime's, if its neighbours allow it: programs also have functions of this name.
    PerhapsRuntime,
    Other,
}

/// The contents of a library, by its name.
#[derive(Copy, Clone, Eq, PartialEq, Debug)]
pub enum Library {
    Runtime,
    /// Code of its language.
    Code,
}

/// How a compiler names code; the defaults are for an unknown compiler.
pub trait Names {
    /// Whether only a file with code of this language, or the runtime, has this function.
    fn proves(&self, _name: &str) -> bool {
        false
    }

    fn owner(&self, _name: &str) -> Owner {
        Owner::Other
    }

    /// The name as people write it. Other names stay.
    fn readable(&self, name: &str) -> String {
        name.to_owned()
    }

    /// Whether code that may be the runtime's is: `neighbours` own the nearest functions on both sides
    /// that others can call.
    fn is_runtimes(&self, _neighbours: &[Owner]) -> bool {
        false
    }

    /// The contents of a library with this name, if the name shows them.
    fn library(&self, _name: &str) -> Option<Library> {
        None
    }

    /// The module of a name whose compiler leaves out the names of local functions.
    fn module<'n>(&self, _name: &'n str) -> Option<&'n str> {
        None
    }

    /// Such a module as people write it.
    fn readable_module(&self, module: &str) -> String {
        module.to_owned()
    }

    /// Whether `name` marks a place in code and is not a function.
    fn is_label(&self, _name: &str) -> bool {
        false
    }

    fn purpose(&self, _name: &str) -> Option<Role> {
        None
    }

    /// How to get names for the program's code, if its compiler leaves out the names of local functions.
    fn unnamed(&self) -> Option<&'static str> {
        None
    }

    /// Whether this is the best known of the program's names for one address.
    fn is_best(&self, _name: &str) -> bool {
        true
    }
}

/// Names in a file without code of such a language.
pub struct NoRuntime;

impl Names for NoRuntime {}

pub(super) fn kind(names: &dyn Names, owner: Owner, neighbours: impl FnOnce() -> Vec<Owner>) -> CodeKind {
    match owner {
        Owner::Program => CodeKind::Program,
        Owner::Runtime => CodeKind::Runtime,
        Owner::PerhapsRuntime if names.is_runtimes(&neighbours()) => CodeKind::Runtime,
        Owner::PerhapsRuntime | Owner::Other => CodeKind::Foreign,
    }
}

/// Parses a list of a runtime's functions. Names that only static functions have may also belong to other code.
pub(crate) fn table(list: &str) -> HashMap<&str, Owner> {
    let lines = list.lines().filter(|line| !line.starts_with('#'));
    lines
        .map(|line| line.strip_suffix(" static").map_or((line, Owner::Runtime), |name| (name, Owner::PerhapsRuntime)))
        .collect()
}

/// The purposes of a runtime's functions, by their names without compilers' suffixes.
#[derive(Debug, Default)]
pub(crate) struct Purposes<'t> {
    exact: HashMap<&'t str, Role>,
    /// By prefix of a name.
    starts: Vec<(&'t str, Role)>,
}

impl<'t> Purposes<'t> {
    /// Reads a table like `runtimes/*/purposes.txt`: an id on a line of its own, and names indented below it.
    /// `~name` serves its callers, `name*` is all names with this prefix, `^name` gives only the purpose of what
    /// it calls, `>name` leads to what has a purpose of its own. Unknown purposes are left out.
    pub(crate) fn read(text: &'t str) -> Purposes<'t> {
        let (mut purposes, mut calls, mut of) = (Purposes::default(), Vec::new(), None);
        for line in text.lines().filter(|line| !line.starts_with('#')) {
            if !line.starts_with(' ') {
                of = PurposeId::of(line);
                continue;
            }
            for word in line.split_ascii_whitespace() {
                let Some(own) = of else { continue };
                let (serves, name) = word.strip_prefix('~').map_or((false, word), |name| (true, name));
                let (leads, name) = name.strip_prefix('>').map_or((false, name), |name| (true, name));
                let role = Role { own, calls: (!serves).then_some(own), leads };
                match (name.strip_prefix('^'), name.strip_suffix('*')) {
                    (Some(name), _) => calls.push((name, own)),
                    (_, Some(start)) => purposes.starts.push((start, role)),
                    _ => _ = purposes.exact.insert(name, role),
                }
            }
        }
        for (name, calls) in calls {
            purposes.exact.entry(name).and_modify(|role| role.calls = Some(calls));
        }
        purposes
    }

    /// The purpose of the function `name`: by its own name, else by the longest prefix.
    pub(crate) fn of(&self, name: &str) -> Option<Role> {
        let name = base(name);
        let starts = || self.starts.iter().filter(|(start, _)| name.starts_with(start));
        let longest = || starts().max_by_key(|(start, _)| start.len()).map(|(_, role)| *role);
        self.exact.get(name).copied().or_else(longest)
    }
}

/// A name without the suffix that compilers add to local ones after a dot (`start_init_elapsed.lto_priv.0`).
pub(crate) fn base(name: &str) -> &str {
    name.split('.').next().unwrap_or(name)
}
