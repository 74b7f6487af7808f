//! From a configuration's words to what a process is started with, and to what a user pastes.
//! Owns the merging with what the user gave; refuses to start anything.

use super::start;
use super::what::{Place, What, number};
use crate::plan::workers::Room;
use crate::plan::{Plan, Program, Runtime};
use rtscope_model::SchedPolicy;
use rtscope_model::resources::Resources;
use std::ffi::OsString;

/// What a process is started with.
#[derive(Clone, Eq, PartialEq, Debug, Default)]
pub struct Setup {
    /// The program and its arguments.
    pub argv: Vec<OsString>,
    /// Variables to set in the place of those that are there; the rest stays.
    pub set: Vec<(String, String)>,
    /// CPUs to confine it to, ascending; `None`: those that are allowed.
    pub cpus: Option<Vec<u32>>,
    /// Its class.
    pub class: SchedPolicy,
    /// Workers or domains that it then has, as far as that is known; at least 1.
    pub workers: u32,
    /// GHC: what to put between the quotes of `-with-rtsopts="…"` in the place of variables;
    /// `None`: the program is none of GHC's, or there are no flags.
    pub with_rtsopts: Option<String>,
}

/// What all configurations of a study share.
#[derive(Clone, Debug)]
pub struct Frame {
    command: Vec<OsString>,
    runtime: Runtime,
    /// `GHCRTS`, `OCAMLRUNPARAM` as the user has them.
    ghcrts: String,
    ocamlrunparam: String,
    /// CPUs in the order in which they are taken.
    order: Vec<u32>,
    domains: Option<u32>,
    workers: u32,
}

impl Frame {
    /// Of a program, its command and the machine.
    pub fn new(program: &Program, command: &[OsString], resources: &Resources, plan: &Plan) -> Frame {
        let room = Room::of(resources);
        let own = |text: &Option<String>| text.as_deref().unwrap_or_default().trim().to_owned();
        Frame {
            command: command.to_vec(),
            runtime: program.runtime.clone(),
            ghcrts: own(&program.given.ghcrts),
            ocamlrunparam: own(&program.given.ocamlrunparam),
            order: room.order(&resources.cpus_allowed),
            domains: start::template(command).map(|template| template.today.unwrap_or(room.cpus)),
            workers: plan.workers,
        }
    }

    /// What to start with for a configuration, its words with spaces between them as a study's
    /// space names it; none are what the user runs today. Words of no setting are left out.
    pub fn setup(&self, configuration: &str) -> Setup {
        let words = configuration.split_ascii_whitespace();
        let words: Vec<(What, &str)> = words.filter_map(|word| Some((What::of(word)?, word))).collect();
        let value = |wanted: What| words.iter().find(|(what, _)| *what == wanted).map(|(_, word)| *word);
        let count = |what| value(what).and_then(number).map(|number| u32::try_from(number).unwrap_or(u32::MAX).max(1));
        let of = |place: Place| words.iter().filter(move |(what, _)| what.place() == place).map(|(_, word)| *word);
        let domains = count(What::Domains).or(self.domains);
        let mut setup = Setup {
            argv: self.argv(domains),
            class: if value(What::Class) == Some("class=batch") { SchedPolicy::Batch } else { SchedPolicy::Normal },
            cpus: count(What::Cpus).map(|count| self.first_cpus(count)),
            workers: count(What::Workers).or(domains).or(count(What::MostDomains)).unwrap_or(self.workers).max(1),
            ..Setup::default()
        };
        let (ghc, ocaml): (Vec<_>, Vec<_>) = (of(Place::Ghc).collect(), of(Place::Ocaml).collect());
        if !ghc.is_empty() {
            setup.set.push(("GHCRTS".to_owned(), joined(&self.ghcrts, &ghc, " ")));
            setup.with_rtsopts = self.with_rtsopts(&ghc);
        }
        if !ocaml.is_empty() {
            setup.set.push(("OCAMLRUNPARAM".to_owned(), joined(&self.ocamlrunparam, &ocaml, ",")));
        }
        setup
    }

    fn argv(&self, domains: Option<u32>) -> Vec<OsString> {
        let Some(domains) = domains else { return self.command.clone() };
        let word =
            |(place, word): (usize, &OsString)| if place == 0 { word.clone() } else { start::filled(word, domains) };
        self.command.iter().enumerate().map(word).collect()
    }

    fn first_cpus(&self, count: u32) -> Vec<u32> {
        let mut cpus: Vec<u32> = self.order.iter().take(count as usize).copied().collect();
        cpus.sort_unstable();
        cpus
    }

    /// What is linked in already, without what the words replace, then the words.
    fn with_rtsopts(&self, words: &[&str]) -> Option<String> {
        let Runtime::Ghc(ghc) = &self.runtime else { return None };
        let replaced =
            |own: &&str| What::of(own).is_some_and(|what| words.iter().any(|word| What::of(word) == Some(what)));
        let own = ghc.with_rtsopts.split_ascii_whitespace().filter(|own| !replaced(own));
        Some(own.chain(words.iter().copied()).collect::<Vec<_>>().join(" "))
    }
}

/// The last one wins: what is tried stands behind what the user gave.
fn joined(own: &str, words: &[&str], between: &str) -> String {
    let own = Some(own).filter(|own| !own.is_empty());
    own.into_iter().chain(words.iter().copied()).collect::<Vec<_>>().join(between)
}
