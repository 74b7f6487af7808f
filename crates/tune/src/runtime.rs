//! A program as plans and trials see it: its runtime as far as its link tells, what it was given
//! already. Owns what a runtime answers for its programs; refuses to find any of it out.

use crate::dialect::{self, Dialect, OF_STARTS, What};
use crate::options::part::{Bounds, Broken, Part, View};
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
    /// As the user calls it; `None`: a plan for any program.
    pub name: Option<String>,
    /// What its link says; `Err`: its runtime is not known, a sentence says why.
    pub link: Result<Arc<dyn Linked>, String>,
    /// What it was given already.
    pub given: Given,
}

impl Program {
    /// How its flags are spelled; `None`: its runtime is not known.
    pub fn dialect(&self) -> Option<&'static Dialect> {
        self.link.as_ref().ok().map(|link| link.dialect())
    }

    /// Of what `word` is; `None`: nothing that is tried.
    pub fn what(&self, word: &str) -> Option<What> {
        let own = self.dialect().map_or(&[][..], |dialect| dialect.knobs);
        dialect::of(own.iter().chain(&OF_STARTS).copied(), word)
    }
}

/// What a program is told by its user.
#[derive(Clone, Eq, PartialEq, Debug, Default)]
pub struct Given {
    /// Variables of runtimes by their first name.
    pub variables: BTreeMap<&'static str, String>,
    /// Runtime options of its command line.
    pub arguments: Vec<String>,
}

impl Given {
    /// What the runtime's variable holds.
    pub fn variable(&self, dialect: &Dialect) -> &str {
        self.variables.get(dialect.variable()).map_or("", String::as_str)
    }
}

/// What a space is made from.
#[derive(Copy, Clone, Debug)]
pub struct Wish<'a> {
    /// The machine.
    pub resources: &'a Resources,
    /// The program.
    pub program: &'a Program,
    /// The plan for it.
    pub plan: &'a Plan,
    /// The command; an argument that holds `{domains}` or `{domains:4}` is a template.
    pub command: &'a [OsString],
    /// What the user gave in the environment or at the link is varied too.
    pub vary_given: bool,
}

/// What the link of a program says, and so what its runtime takes.
pub trait Linked: Debug + Send + Sync {
    /// How its flags are spelled.
    fn dialect(&self) -> &'static Dialect;

    /// A few words: `GHC 9.0.2, threaded, -rtsopts=all`.
    fn about(&self) -> String;

    /// Fills `plan`.
    fn plan(&self, plan: &mut Plan, resources: &Resources, room: &Room, given: &Given);

    /// What can be tried; `template`: the command says where the number of domains goes.
    fn part(&self, wish: &Wish<'_>, room: &Room, template: bool) -> Part;

    /// Words of a configuration that do not go together: what the runtime refuses, what it drops
    /// without effect, what does not fit the machine.
    fn broken(&self, view: &View<'_>, bounds: &Bounds) -> Option<Broken>;

    /// The compiler's option that links `words` in, in the place of the variable.
    fn linked_in(&self, words: &[&str]) -> Option<String> {
        let _ = words;
        None
    }

    /// Whether it takes every flag from its variable.
    fn takes_all(&self) -> bool;
}

/// A runtime whose programs can be planned for.
#[derive(Debug)]
pub struct Runtime {
    /// How its flags are spelled.
    pub dialect: &'static Dialect,
    /// A program that takes every flag.
    pub any: fn() -> Arc<dyn Linked>,
    /// What that is a program of.
    pub any_of: &'static str,
    /// A word on the runtime, for people.
    pub about: &'static str,
}

impl Runtime {
    /// Any program.
    pub fn program(&self, given: Given) -> Program {
        Program { name: None, link: Ok((self.any)()), given }
    }
}
