//! Whose code a name in an executable is, as far as a language with a runtime of its own tells.
//! Owns what is the same for all of them; how each one names its code is in its own folder below
//! `runtimes`.

use rtscope_model::{CodeKind, PurposeId, Role};
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
    Other,
}

/// What a library holds, by its name.
#[derive(Copy, Clone, Eq, PartialEq, Debug)]
pub enum Library {
    Runtime,
    /// Code of its language.
    Code,
}

/// How a compiler names code; by default as one of whose names nothing is known.
pub trait Names {
    /// Whether only a file with code of this language, or the runtime, has this function.
    fn proves(&self, _name: &str) -> bool {
        false
    }

    fn owner(&self, _name: &str) -> Owner {
        Owner::Other
    }

    /// As people write it. Other names stay.
    fn readable(&self, name: &str) -> String {
        name.to_owned()
    }

    /// Whether what may be the runtime's is: `neighbours` own the nearest functions on both sides
    /// that others can call.
    fn is_runtimes(&self, _neighbours: &[Owner]) -> bool {
        false
    }

    /// What a library of this name holds, if that says it.
    fn library(&self, _name: &str) -> Option<Library> {
        None
    }

    /// The module of a name whose compiler leaves out the names of local functions.
    fn module<'n>(&self, _name: &'n str) -> Option<&'n str> {
        None
    }

    /// As people write such a module.
    fn readable_module(&self, module: &str) -> String {
        module.to_owned()
    }

    /// Whether `name` marks a place in code and is no function.
    fn is_label(&self, _name: &str) -> bool {
        false
    }

    fn purpose(&self, _name: &str) -> Option<Role> {
        None
    }

    /// What is said of the program's code that has no names, where its compiler leaves out those of local functions:
    /// how to get them.
    fn unnamed(&self) -> Option<&'static str> {
        None
    }

    /// Of the program's names for one address: whether it is the one that people know best.
    fn is_best(&self, _name: &str) -> bool {
        true
    }
}

/// Those of a file with code of no such language.
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

/// Names of a list of a runtime's functions. One that only static functions have may be another's, too.
pub(crate) fn table(list: &str) -> HashMap<&str, Owner> {
    let lines = list.lines().filter(|line| !line.starts_with('#'));
    lines
        .map(|line| line.strip_suffix(" static").map_or((line, Owner::Runtime), |name| (name, Owner::PerhapsRuntime)))
        .collect()
}

/// What functions of a runtime are for, by their names without what compilers add.
#[derive(Debug, Default)]
pub(crate) struct Purposes<'t> {
    exact: HashMap<&'t str, Role>,
    /// By how a name begins.
    starts: Vec<(&'t str, Role)>,
}

impl<'t> Purposes<'t> {
    /// Reads a table as `runtimes/*/purposes.txt` are: an id on a line of its own, and indented below it names. `~name`
    /// serves its callers, `name*` is all names that begin so, `^name` says only what those are for that it calls, `>name`
    /// leads to what is for something by itself.
    /// A purpose that there is none of is left out.
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

    /// What the function called `name` is for: by its own name, else by the longest start.
    pub(crate) fn of(&self, name: &str) -> Option<Role> {
        let name = base(name);
        let starts = || self.starts.iter().filter(|(start, _)| name.starts_with(start));
        let longest = || starts().max_by_key(|(start, _)| start.len()).map(|(_, role)| *role);
        self.exact.get(name).copied().or_else(longest)
    }
}

/// A name without what compilers add to local ones behind a dot (`start_init_elapsed.lto_priv.0`).
pub(crate) fn base(name: &str) -> &str {
    name.split('.').next().unwrap_or(name)
}
