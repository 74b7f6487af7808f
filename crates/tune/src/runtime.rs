//! A program as plans and trials see it: its runtime, as far as its link shows, and the options it
//! already has. Owns what a runtime must provide for its programs; refuses to inspect any program.

use crate::dialect::{self, Dialect, OF_STARTS, What};
use crate::options::part::{Bounds, Broken, SpacePart, View};
use crate::plan::Plan;
use crate::plan::workers::Room;
use rtscope_model::resources::Resources;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt::Debug;
use std::sync::Arc;

/// A program to plan for.
#[derive(Clone, Debug)]
pub struct Program {
    /// The user's name for it; `None`: the plan is for any program.
    pub name: Option<String>,
    /// What its link shows; `Err`: its runtime is not known, with a sentence that says why.
    pub link: Result<Arc<dyn Linked>, String>,
    /// The options that it already has.
    pub given: Given,
}

impl Program {
    /// How its flags are spelled; `None`: its runtime is not known.
    pub fn dialect(&self) -> Option<&'static Dialect> {
        self.link.as_ref().ok().map(|link| link.dialect())
    }

    /// The knob that `word` sets; `None`: nothing that can be tried.
    pub fn what(&self, word: &str) -> Option<What> {
        let own = self.dialect().map_or(&[][..], |dialect| dialect.knobs);
        dialect::of(own.iter().chain(&OF_STARTS).copied(), word)
    }
}

/// The runtime options that the user gives a program.
#[derive(Clone, Eq, PartialEq, Debug, Default)]
pub struct Given {
    /// Values of runtimes' environment variables, by each runtime's first variable name.
    pub variables: BTreeMap<&'static str, String>,
    /// Runtime options on its command line.
    pub arguments: Vec<String>,
}

impl Given {
    /// The value of the runtime's variable.
    pub fn variable(&self, dialect: &Dialect) -> &str {
        self.variables.get(dialect.variable()).map_or("", String::as_str)
    }
}

/// What a space is built from.
#[derive(Copy, Clone, Debug)]
pub struct Wish<'a> {
    /// The resources of the machine.
    pub resources: &'a Resources,
    /// The program to tune.
    pub program: &'a Program,
    /// The plan for the program.
    pub plan: &'a Plan,
    /// The command; an argument with `{domains}` or `{domains:4}` is a template.
    pub command: &'a [OsString],
    /// Whether to vary options that the user gave in the environment or at link time, too.
    pub vary_given: bool,
}

/// What a program's link shows, and which options its runtime therefore accepts.
pub trait Linked: Debug + Send + Sync {
    /// How its flags are spelled.
    fn dialect(&self) -> &'static Dialect;

    /// A short description: `GHC 9.0.2, threaded, -rtsopts=all`.
    fn about(&self) -> String;

    /// Fills in `plan`.
    fn plan(&self, plan: &mut Plan, resources: &Resources, room: &Room, given: &Given);

    /// What can be tried; `template`: the command says where the number of domains goes.
    fn part(&self, wish: &Wish<'_>, room: &Room, template: bool) -> SpacePart;

    /// Conflicting words of a configuration: what the runtime refuses, what it ignores, what does not fit
    /// the machine.
    fn broken(&self, view: &View<'_>, bounds: &Bounds) -> Option<Broken>;

    /// The compiler option that links `words` in, as an alternative to the variable.
    fn linked_in(&self, words: &[&str]) -> Option<String> {
        let _ = words;
        None
    }

    /// Whether it accepts every flag from its variable.
    fn takes_all(&self) -> bool;
}

/// A runtime whose programs can be planned for.
#[derive(Debug)]
pub struct TunableRuntime {
    /// How its flags are spelled.
    pub dialect: &'static Dialect,
    /// Creates a program that accepts every flag.
    pub any: fn() -> Arc<dyn Linked>,
    /// The language implementation of such a program, for users.
    pub any_of: &'static str,
    /// A short description of the runtime, for users.
    pub about: &'static str,
}

impl TunableRuntime {
    /// A program of this runtime that is not known any further.
    pub fn program(&self, given: Given) -> Program {
        Program { name: None, link: Ok((self.any)()), given }
    }
}
