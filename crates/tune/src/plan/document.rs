//! What a plan says: flags with reasons, what stays, what is refused and why, what to link and to
//! measure. Owns these words; refuses to decide any of it.

use crate::dialect::Dialect;
use rtscope_model::Confidence;
use serde::Serialize;
use std::collections::BTreeMap;

rtscope_model::listed! {
    /// What a program is started for; its name is that of the command line.
    #[derive(Copy, Clone, Eq, PartialEq, Debug, Default, Serialize)]
    #[serde(rename_all = "lowercase")]
    pub enum Goal: name {
        /// Short and even response times.
        #[default]
        Latency = "latency",
        /// Most work in the least time.
        Throughput = "throughput",
        /// A small process.
        Memory = "memory",
    }
}

impl Goal {
    /// What it means.
    pub fn about(self) -> &'static str {
        match self {
            Goal::Latency => "Short and even response times",
            Goal::Throughput => "Most work in the least time",
            Goal::Memory => "A small process",
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

impl Flag {
    /// A flag with its reason and where that is from.
    pub(crate) fn new(flag: &str, value: Option<String>, reason: String, source: String, sure: Confidence) -> Flag {
        Flag { flag: flag.to_owned(), value, reason, source, confidence: sure }
    }
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
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct Plan {
    /// What it is for.
    pub goal: Goal,
    /// The spelling of its flags, in JSON its runtime's id; `None`: the runtime is not known.
    pub runtime: Option<&'static Dialect>,
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
    /// A flag as the program reads it: `-N4`, `s=1M`.
    pub fn word(&self, flag: &str, value: Option<&str>) -> String {
        let equals = self.runtime.filter(|_| value.is_some()).map_or("", |runtime| runtime.info.spelling.equals);
        format!("{flag}{equals}{}", value.unwrap_or_default())
    }

    /// Each flag as the program reads it.
    pub fn words(&self) -> impl Iterator<Item = String> {
        self.flags.iter().map(|flag| self.word(&flag.flag, flag.value.as_deref()))
    }

    pub(crate) fn refuse(&mut self, flag: impl Into<String>, value: Option<String>, why: impl Into<String>) {
        self.refused.push(Refused { flag: flag.into(), value, why: why.into() });
    }

    /// Adds what to measure, where there is a candidate.
    pub(crate) fn try_out(&mut self, flag: &str, candidates: Vec<String>, why: &str) {
        if candidates.is_empty() {
            return;
        }
        let command = format!("rtscope tune -- {}", self.program.as_deref().unwrap_or("PROG"));
        self.measure.push(Measure { flag: flag.to_owned(), candidates, why: why.to_owned(), command });
    }

    /// Sets the runtime's variable to the flags, then to what stands there already.
    pub(crate) fn set(&mut self, own: impl Iterator<Item = String>) {
        if let Some(runtime) = self.runtime.filter(|_| !self.flags.is_empty()) {
            let words: Vec<String> = self.words().chain(own).collect();
            self.env.insert(runtime.variable(), words.join(runtime.info.spelling.between));
        }
    }
}
