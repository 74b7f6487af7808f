//! Turns a configuration's words into what a process is started with, and into what a user pastes.
//! Owns merging with what the user gave; refuses to start anything.

use super::start;
use crate::dialect::{self, CLASS, CPUS, DOMAINS, OF_STARTS, Role, What};
use crate::plan::Plan;
use crate::plan::workers::Room;
use crate::runtime::Program;
use crate::runtimes;
use rtscope_model::SchedPolicy;
use rtscope_model::resources::Resources;
use std::ffi::OsString;

/// How a process is started.
#[derive(Clone, Eq, PartialEq, Debug, Default)]
pub struct Setup {
    /// The program and its arguments.
    pub argv: Vec<OsString>,
    /// Environment variables to replace; all others stay.
    pub set: Vec<(String, String)>,
    /// CPUs to pin it to, ascending; `None`: all that are allowed.
    pub cpus: Option<Vec<u32>>,
    /// Its scheduling class.
    pub class: SchedPolicy,
    /// Its resulting number of workers or domains, as far as known; at least 1.
    pub workers: u32,
    /// The compiler option that links the flags in, as an alternative to variables; `None`: there is no
    /// such option, or there are no flags.
    pub link: Option<String>,
}

/// What all configurations of a study share.
#[derive(Clone, Debug)]
pub struct StudyFrame {
    command: Vec<OsString>,
    program: Program,
    /// CPUs in the order in which they are used.
    order: Vec<u32>,
    domains: Option<u32>,
    workers: u32,
}

impl StudyFrame {
    /// Builds it for a program, its command and the machine.
    pub fn new(program: &Program, command: &[OsString], resources: &Resources, plan: &Plan) -> StudyFrame {
        let room = Room::of(resources);
        StudyFrame {
            command: command.to_vec(),
            program: program.clone(),
            order: room.order(&resources.cpus_allowed),
            domains: start::template(command).map(|template| template.today.unwrap_or(room.cpus)),
            workers: plan.workers,
        }
    }

    /// The setup for a configuration, given as its words separated by spaces, as in the name in a study's
    /// space; no words mean what the user runs today. Unknown words are left out.
    pub fn setup(&self, configuration: &str) -> Setup {
        let known = |word: &str| {
            let own = runtimes::dialects().flat_map(|dialect| dialect.knobs);
            dialect::of(own.chain(&OF_STARTS).copied(), word)
        };
        let words = configuration.split_ascii_whitespace();
        let words: Vec<(What, &str)> = words.filter_map(|word| Some((known(word)?, word))).collect();
        let value = |wanted: &dyn Fn(What) -> bool| words.iter().find(|(what, _)| wanted(what)).map(|(_, word)| *word);
        let count = |wanted: &dyn Fn(What) -> bool| value(wanted).and_then(dialect::count);
        let domains = count(&|what| what == &DOMAINS).or(self.domains);
        let workers = count(&|what| what.role == Role::Workers).or(domains);
        let workers = workers.or_else(|| count(&|what| what.role == Role::Ceiling));
        let batch = value(&|what| what == &CLASS) == Some("class=batch");
        let mut setup = Setup {
            argv: self.argv(domains),
            class: if batch { SchedPolicy::Batch } else { SchedPolicy::Normal },
            cpus: count(&|what| what == &CPUS).map(|count| self.first_cpus(count)),
            workers: workers.unwrap_or(self.workers).max(1),
            ..Setup::default()
        };
        for dialect in runtimes::dialects() {
            let own = words.iter().filter(|(what, _)| dialect.knobs.contains(what)).map(|(_, word)| *word);
            let own: Vec<&str> = own.collect();
            if own.is_empty() {
                continue;
            }
            // The last option wins, so the tried flags follow the user's.
            let given = Some(self.program.given.variable(dialect).trim()).filter(|given| !given.is_empty());
            let all: Vec<&str> = given.into_iter().chain(own.iter().copied()).collect();
            setup.set.push((dialect.variable().to_owned(), all.join(dialect.info.spelling.between)));
            let link = self.program.link.as_ref().ok().filter(|link| link.dialect() == dialect);
            setup.link = setup.link.or_else(|| link?.linked_in(&own));
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
}
