//! A plan: the flags that follow from what a process may use, from what its binary
//! accepts and from what it was asked for already. Owns the words of a plan and the
//! order of its making; the rules lie in one module for each subject, and
//! `docs/plan-rules.md` says them for readers. Refuses to look at a machine.

pub(crate) mod accept;
pub(crate) mod ghc;
pub(crate) mod given;
mod measure;
pub(crate) mod memory;
pub(crate) mod ocaml;
mod program;
mod relink;
mod words;
pub(crate) mod workers;

#[cfg(test)]
mod ghc_tests;
#[cfg(test)]
mod properties;
#[cfg(test)]
pub(crate) mod testing;

use rtscope_model::resources::Resources;
use serde::Serialize;
use std::collections::BTreeMap;

pub use program::{Ghc, Given, Ocaml, Program, Runtime};

/// What a program is started for.
#[derive(Copy, Clone, Eq, PartialEq, Debug, Default, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Goal {
    /// Short and even response times.
    #[default]
    Latency,
    /// Most work in the least time.
    Throughput,
    /// A small process.
    Memory,
}

impl Goal {
    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Goal::Latency => "latency",
            Goal::Throughput => "throughput",
            Goal::Memory => "memory",
        }
    }
}

/// How sure a figure is.
#[derive(Copy, Clone, Eq, PartialEq, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Confidence {
    /// It follows from what was read.
    High,
    /// A rule that is known to be beaten at times, or something is hidden.
    Medium,
    /// Little more than a guess.
    Low,
}

impl Confidence {
    /// Its name in a plan.
    pub fn name(self) -> &'static str {
        match self {
            Confidence::High => "high",
            Confidence::Medium => "medium",
            Confidence::Low => "low",
        }
    }
}

/// One flag of the plan. The binary accepts it.
#[derive(Clone, Eq, PartialEq, Debug, Serialize)]
pub struct Flag {
    /// `-N`, or `s` of `OCAMLRUNPARAM`.
    pub flag: String,
    /// `4`, `16m`; `None`: it takes no value.
    pub value: Option<String>,
    /// A sentence with the numbers in it.
    pub reason: String,
    /// The file or the fact that the figure came from.
    pub source: String,
    /// How sure it is.
    pub confidence: Confidence,
}

/// A flag that was thought of and is not in the plan.
#[derive(Clone, Eq, PartialEq, Debug, Serialize)]
pub struct Refused {
    /// `-qa`.
    pub flag: String,
    /// What it would be, where it has a value.
    pub value: Option<String>,
    /// Why not.
    pub why: String,
}

/// An option that the program was given already and that stays.
#[derive(Clone, Eq, PartialEq, Debug, Serialize)]
pub struct Kept {
    /// As it was written: `-N3`.
    pub option: String,
    /// `-with-rtsopts`, `GHCRTS`, `the command line`, `OCAMLRUNPARAM`.
    pub from: &'static str,
    /// What that means for the plan.
    pub means: String,
}

/// What to link with, so that more of the plan can be had.
#[derive(Clone, Eq, PartialEq, Debug, Serialize)]
pub struct Relink {
    /// Options for GHC, or what to depend on.
    pub with: String,
    /// What that gives, and what it costs.
    pub why: String,
}

/// A rule of thumb that measurement is known to beat.
#[derive(Clone, Eq, PartialEq, Debug, Serialize)]
pub struct Measure {
    /// The flag in question.
    pub flag: String,
    /// What to try beside the plan's value.
    pub candidates: Vec<String>,
    /// What is known.
    pub why: String,
    /// The command that finds out.
    pub command: String,
}

/// What to start a program with on this machine.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Plan {
    /// What it is for.
    pub goal: Goal,
    /// `ghc` or `ocaml`; `None`: the program's runtime is not known.
    pub runtime: Option<&'static str>,
    /// The program, if one was named.
    pub program: Option<String>,
    /// Why it is not known what the program accepts; `None`: it is.
    pub unknown: Option<String>,
    /// Flags that the program accepts.
    pub flags: Vec<Flag>,
    /// What the user or the link asked for, which stays.
    pub kept: Vec<Kept>,
    /// What is not in the plan, and why.
    pub refused: Vec<Refused>,
    /// The environment to start it with: the flags, then the user's own.
    pub env: BTreeMap<&'static str, String>,
    /// CPUs that `rtscope run` leaves it; `None`: all that are allowed.
    pub cpus: Option<Vec<u32>>,
    /// Workers (capabilities or domains) that the plan reckons with.
    pub workers: u32,
    /// What to link with.
    pub relink: Vec<Relink>,
    /// What to measure.
    pub measure: Vec<Measure>,
    /// What a reader should know, one sentence each.
    pub notes: Vec<String>,
}

impl Plan {
    fn empty(goal: Goal, program: &Program) -> Plan {
        Plan {
            goal,
            runtime: None,
            program: program.name.clone(),
            unknown: None,
            flags: Vec::new(),
            kept: Vec::new(),
            refused: Vec::new(),
            env: BTreeMap::new(),
            cpus: None,
            workers: 1,
            relink: Vec::new(),
            measure: Vec::new(),
            notes: Vec::new(),
        }
    }

    /// A flag as the program reads it: `-N4`, `s=1M`.
    pub fn word(&self, flag: &str, value: Option<&str>) -> String {
        let between = if self.runtime == Some("ocaml") && value.is_some() { "=" } else { "" };
        format!("{flag}{between}{}", value.unwrap_or_default())
    }

    /// Each flag as the program reads it.
    pub fn words(&self) -> impl Iterator<Item = String> {
        self.flags.iter().map(|flag| self.word(&flag.flag, flag.value.as_deref()))
    }

    fn refuse(&mut self, flag: impl Into<String>, value: Option<String>, why: impl Into<String>) {
        self.refused.push(Refused { flag: flag.into(), value, why: why.into() });
    }
}

/// What `program` is best started with where it may use `resources`, for `goal`.
pub fn plan(resources: &Resources, program: &Program, goal: Goal) -> Plan {
    let mut plan = Plan::empty(goal, program);
    let room = workers::Room::of(resources);
    match &program.runtime {
        Runtime::Ghc(ghc) => ghc::plan(&mut plan, resources, &room, ghc, &program.given),
        Runtime::Ocaml(ocaml) => ocaml::plan(&mut plan, resources, &room, ocaml, &program.given),
        Runtime::Unknown(why) => {
            plan.workers = room.workers(goal);
            plan.unknown = Some(why.clone());
        }
    }
    narrow(&mut plan, &room);
    notes_on_the_machine(&mut plan, resources);
    plan
}

/// The file that said the first of `whats` for which there is one.
fn source_of(resources: &Resources, whats: &[&str]) -> Option<String> {
    let find = |what: &&str| resources.sources.iter().find(|source| source.what.starts_with(what));
    whats.iter().find_map(find).map(|source| source.path.clone())
}

/// A mask for more workers than it has CPUs would only make them queue, and a program
/// of `-rtsopts=some` would not start.
fn narrow(plan: &mut Plan, room: &workers::Room) {
    plan.cpus = room.narrowed(plan.goal);
    let Some(cpus) = &plan.cpus else { return };
    if (cpus.len() as u64) < u64::from(plan.workers) {
        plan.notes.push(format!(
            "{} are more than {}: the affinity mask stays as it is.",
            words::count(plan.workers.into(), "worker"),
            words::count(cpus.len() as u64, "core")
        ));
        plan.cpus = None;
    }
}

fn notes_on_the_machine(plan: &mut Plan, resources: &Resources) {
    if resources.ancestors_hidden {
        plan.notes.push(
            "Control groups above those that are visible from here may set smaller quotas and memory limits: this \
             plan cannot know them."
                .to_owned(),
        );
    }
    if resources.kinds.len() > 1 {
        let kinds = resources.kinds.iter().map(|kind| format!("{} {}", kind.cpus.len(), kind.name));
        plan.notes.push(format!(
            "The CPUs are of several kinds ({}): a collection waits for its slowest worker, so measure a start on the \
             fast ones alone (`taskset -c LIST`).",
            kinds.collect::<Vec<_>>().join(", ")
        ));
    }
    plan.notes.extend(resources.notes.iter().cloned());
}
