//! The content of a plan: flags with reasons, what stays, what is refused and why, what to link with
//! and to measure. Owns these data types; refuses to decide anything.

use crate::dialect::Dialect;
use rtscope_model::Confidence;
use serde::Serialize;
use std::collections::BTreeMap;

rtscope_model::listed! {
    /// What a program is tuned for; the name is the one on the command line.
    #[derive(Copy, Clone, Eq, PartialEq, Debug, Default, Serialize)]
    #[serde(rename_all = "lowercase")]
    pub enum Goal: name {
        /// Short and steady response times.
        #[default]
        Latency = "latency",
        /// Most work per time.
        Throughput = "throughput",
        /// A small process.
        Memory = "memory",
    }
}

impl Goal {
    /// What the goal means, as a phrase.
    pub fn about(self) -> &'static str {
        match self {
            Goal::Latency => "Short and even response times",
            Goal::Throughput => "Most work in the least time",
            Goal::Memory => "A small process",
        }
    }
}

/// A flag of the plan, which the binary accepts.
#[derive(Clone, Eq, PartialEq, Debug, Serialize)]
pub struct Flag {
    /// `-N`, or `s` of `OCAMLRUNPARAM`.
    pub flag: String,
    /// `4`, `16m`; `None`: the flag takes no value.
    pub value: Option<String>,
    /// Why, as a sentence with the figures.
    pub reason: String,
    /// The file or fact that the figures come from.
    pub source: String,
    /// How certain the value is.
    pub confidence: Confidence,
}

impl Flag {
    /// A flag with its reason and the source of that.
    pub(crate) fn new(flag: &str, value: Option<String>, reason: String, source: String, sure: Confidence) -> Flag {
        Flag { flag: flag.to_owned(), value, reason, source, confidence: sure }
    }
}

/// A flag that was considered and is not in the plan.
#[derive(Clone, Eq, PartialEq, Debug, Serialize)]
pub struct Refused {
    /// `-qa`.
    pub flag: String,
    /// Its value, if it takes one.
    pub value: Option<String>,
    /// Why the flag is not in the plan.
    pub why: String,
}

/// An option that the program already has and that stays.
#[derive(Clone, Eq, PartialEq, Debug, Serialize)]
pub struct KeptOption {
    /// As it was written: `-N3`.
    pub option: String,
    /// `-with-rtsopts`, `GHCRTS`, `the command line`, `OCAMLRUNPARAM`.
    pub from: &'static str,
    /// The consequence for the plan.
    pub means: String,
}

/// What to link with so that more of the plan can be used.
#[derive(Clone, Eq, PartialEq, Debug, Serialize)]
pub struct Relink {
    /// Options for GHC, or a package to depend on.
    pub with: String,
    /// What it enables, and what it costs.
    pub why: String,
}

/// A rule of thumb that measurement is known to improve on.
#[derive(Clone, Eq, PartialEq, Debug, Serialize)]
pub struct Measure {
    /// The flag in question.
    pub flag: String,
    /// Values to try in addition to the plan's.
    pub candidates: Vec<String>,
    /// What is known about it.
    pub why: String,
    /// The command that measures it.
    pub command: String,
}

/// How to start a program on this machine.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct Plan {
    /// What the plan optimizes for.
    pub goal: Goal,
    /// How its flags are spelled; in JSON the runtime's id; `None`: the runtime is not known.
    pub runtime: Option<&'static Dialect>,
    /// The program, if one was named.
    pub program: Option<String>,
    /// Why it is not known which flags the program accepts; `None`: it is known.
    pub unknown: Option<String>,
    /// Flags that the program accepts.
    pub flags: Vec<Flag>,
    /// Options from the user or the link, which stay.
    pub kept: Vec<KeptOption>,
    /// Flags that are not in the plan, and why.
    pub refused: Vec<Refused>,
    /// The environment to start the program with: the flags, then the user's own options.
    pub env: BTreeMap<&'static str, String>,
    /// CPUs that `rtscope run` allows it; `None`: all that are allowed now.
    pub cpus: Option<Vec<u32>>,
    /// The number of workers (capabilities or domains) that the plan assumes.
    pub workers: u32,
    /// What to link with to use more flags.
    pub relink: Vec<Relink>,
    /// What is worth measuring.
    pub measure: Vec<Measure>,
    /// Notes for the reader, one sentence each.
    pub notes: Vec<String>,
}

impl Plan {
    /// A flag as the program reads it: `-N4`, `s=1M`.
    pub fn word(&self, flag: &str, value: Option<&str>) -> String {
        let equals = self.runtime.filter(|_| value.is_some()).map_or("", |runtime| runtime.info.spelling.equals);
        format!("{flag}{equals}{}", value.unwrap_or_default())
    }

    /// All flags as the program reads them.
    pub fn words(&self) -> impl Iterator<Item = String> {
        self.flags.iter().map(|flag| self.word(&flag.flag, flag.value.as_deref()))
    }

    pub(crate) fn refuse(&mut self, flag: impl Into<String>, value: Option<String>, why: impl Into<String>) {
        self.refused.push(Refused { flag: flag.into(), value, why: why.into() });
    }

    /// Adds something to measure, if there are candidates.
    pub(crate) fn try_out(&mut self, flag: &str, candidates: Vec<String>, why: &str) {
        if candidates.is_empty() {
            return;
        }
        let command = format!("rtscope tune -- {}", self.program.as_deref().unwrap_or("PROG"));
        self.measure.push(Measure { flag: flag.to_owned(), candidates, why: why.to_owned(), command });
    }

    /// Sets the runtime's variable to the flags, followed by its present value.
    pub(crate) fn set(&mut self, own: impl Iterator<Item = String>) {
        if let Some(runtime) = self.runtime.filter(|_| !self.flags.is_empty()) {
            let words: Vec<String> = self.words().chain(own).collect();
            self.env.insert(runtime.variable(), words.join(runtime.info.spelling.between));
        }
    }
}
