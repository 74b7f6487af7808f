//! What is specific to one runtime: how its events become pauses, how threads serve its lanes, its own folds. A
//! folder for each, and their registry, which a program may extend before it reads anything. Refuses what two
//! runtimes share.

pub(crate) mod ghc;
pub(crate) mod ocaml;
mod support;

pub use support::Support;

use crate::findings::{RULES, Rule};
use crate::pauses::{Nothing, Recognise};
use crate::recording::Context;
use rtscope_model::RuntimeInfo;
use rtscope_model::runtime::UNKNOWN;
use rtscope_model::runtimes::ALL;
use std::collections::BTreeMap;
use std::sync::{PoisonError, RwLock};

/// The support for an unknown runtime: no pauses.
struct Unknown;

impl Support for Unknown {
    fn info(&self) -> &'static RuntimeInfo {
        &UNKNOWN
    }

    fn recogniser(&self, _: &Context) -> Box<dyn Recognise> {
        Box::new(Nothing)
    }
}

static BUILT_IN: [&dyn Support; 2] = [&ghc::Ghc, &ocaml::Ocaml];
static REGISTERED: RwLock<Vec<&'static dyn Support>> = RwLock::new(Vec::new());

/// Registers a runtime and its analysis.
pub fn register(support: &'static dyn Support) {
    rtscope_model::runtime::register(support.info());
    REGISTERED.write().unwrap_or_else(PoisonError::into_inner).push(support);
}

/// The analysis of the runtime that `context` names.
pub fn of(context: &Context) -> &'static dyn Support {
    support(context.runtime.info())
}

fn support(info: &RuntimeInfo) -> &'static dyn Support {
    let is = |support: &&&'static dyn Support| support.info() == info;
    let registered = || REGISTERED.read().unwrap_or_else(PoisonError::into_inner).iter().find(is).copied();
    BUILT_IN.iter().find(is).copied().or_else(registered).unwrap_or(&Unknown)
}

/// Every rule that can apply to a program of `runtime`, in order: general ones, and the runtime's own, which replace
/// general ones with the same id.
pub fn rules_of(runtime: &RuntimeInfo) -> Vec<&'static Rule> {
    let own = support(runtime).rules();
    let general = RULES.iter().filter(|rule| own.iter().all(|one| one.id != rule.id));
    let mut rules: Vec<_> = general.chain(own).copied().collect();
    rules.sort_by_key(|rule| rule.order);
    rules
}

/// Whether any runtime has a rule with this id.
pub fn is_rule(id: &str) -> bool {
    ALL.iter().any(|info| rules_of(info).iter().any(|rule| rule.id == id))
}

/// The table of thresholds in `docs/findings/README.md`, as Markdown: one line for each rule.
pub fn thresholds() -> String {
    let mut rows: BTreeMap<(u16, &str), (&Rule, Vec<&str>)> = BTreeMap::new();
    for info in [&UNKNOWN].into_iter().chain(ALL) {
        for rule in rules_of(info) {
            rows.entry((rule.order, rule.id)).or_insert((rule, Vec::new())).1.push(info.name);
        }
    }
    let mut table = "| id | of | from this share of the wall clock | needs | why |\n|---|---|---|---|---|\n".to_owned();
    for (rule, families) in rows.into_values() {
        let families = if families[0] == UNKNOWN.name { "any".to_owned() } else { families.join(", ") };
        let needs = rule.needs.map_or("", |need| need.name);
        table += &format!("| `{}` | {families} | {} | {needs} | {} |\n", rule.id, rule.threshold(), rule.why);
    }
    table
}

#[cfg(test)]
#[path = "rules_tests.rs"]
mod tests;
