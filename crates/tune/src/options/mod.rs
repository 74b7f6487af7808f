//! What can be tried of a program: settings and their levels, the configurations that follow,
//! and what was left out and why. Owns the space of a study by trials; refuses to look at a
//! machine and to run anything: what a runtime refuses beyond the known rules is handed in.
//!
//! The space is the product of the levels that matter most (workers, how many collect, nursery
//! or minor heap, collector), and each other level on top of a few bases: what runs today, the
//! plan, the plan with a roomy nursery. It follows from the machine, the program and what its
//! user gave it, by nothing else: there is no chance in it.

mod build;
mod ghc;
pub mod heard;
mod ocaml;
mod rules;
pub mod setup;
mod start;
mod what;

#[cfg(test)]
mod tests;

use crate::plan::workers::Room;
use crate::plan::{Kept, Plan, Program, Refused, Relink, Runtime};
use crate::study::Space;
use crate::study::space::NoSpace;
use build::{Built, Dimension};
use rtscope_model::resources::Resources;
use rules::Bounds;
use serde::Serialize;
use std::ffi::OsString;
use what::{What, Words};

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

/// What can be tried.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Offer {
    /// What configurations differ in.
    pub settings: Vec<Setting>,
    /// Words by configuration.
    pub configurations: Vec<Vec<String>>,
    /// The number of what the user runs today: no words.
    pub default: usize,
    /// The number of the plan's; `None`: its flags turned out to be refused.
    pub plan: Option<usize>,
    /// Combinations that are left out.
    pub rejected: Vec<Rejected>,
    /// What the user gave, which is not varied.
    pub kept: Vec<Kept>,
    /// Flags that this program does not take at all.
    pub refused: Vec<Refused>,
    /// What to link with to have them.
    pub relink: Vec<Relink>,
    /// What a reader should know, one sentence each.
    pub notes: Vec<String>,
}

/// What configurations differ in.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Setting {
    /// Its flags: `-qg, -qn`.
    pub name: String,
    /// Why it is tried: a sentence.
    pub why: String,
    /// What holds where a configuration has no word of it; `None`: not known.
    pub today: Option<String>,
    /// Its words, ascending.
    pub levels: Vec<String>,
}

/// Words that are not tried together.
#[derive(Clone, Eq, PartialEq, Debug, Serialize)]
pub struct Rejected {
    /// The words; a single one is not tried at all.
    pub words: Vec<String>,
    /// Why: a sentence.
    pub why: String,
    /// Who says so.
    pub by: By,
}

/// How a rejection is known.
#[derive(Copy, Clone, Eq, PartialEq, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum By {
    /// A rule.
    Rule,
    /// The runtime refused when it was started so.
    Probe,
}

/// What one runtime adds to a space.
#[derive(Clone, Debug, Default)]
struct Part {
    dimensions: Vec<Dimension>,
    today: Words,
    kept: Vec<Kept>,
    refused: Vec<Refused>,
    /// A size of nursery or minor heap that is larger than most: of the third base.
    roomy: Option<(What, String)>,
    /// A smaller bound of memory than the machine's, bytes.
    memory: Option<u64>,
}

/// What can be tried of a program.
pub fn offer(wish: &Wish<'_>) -> Offer {
    let room = Room::of(wish.resources);
    let template = start::template(wish.command);
    let mut part = match &wish.program.runtime {
        Runtime::Ghc(ghc) => ghc::part(wish, &room, ghc),
        Runtime::Ocaml(ocaml) => ocaml::part(wish, &room, ocaml, template.is_some()),
        Runtime::Unknown(_) => Part::default(),
    };
    let planned = planned(wish, template.is_some());
    start::add(&mut part, &room, template, &planned, wish.resources);
    let plan = build::plain(planned, &part.today);
    let bounds = Bounds {
        memory: [wish.resources.memory_limit_bytes, part.memory].into_iter().flatten().min(),
        cpus: room.cpus,
        rtsopts: match &wish.program.runtime {
            Runtime::Ghc(ghc) => ghc.rtsopts,
            _ => None,
        },
    };
    let bases = bases(&plan, &part);
    let built = build::build(&part.dimensions, &part.today, &plan, &bases, &bounds);
    finish(wish, part, built, &plan)
}

/// The plan's words, and its CPUs.
fn planned(wish: &Wish<'_>, template: bool) -> Words {
    let own = wish.plan.words().filter_map(|word| Some((What::of(&word)?, word)));
    let mut words: Words = own.collect();
    if template {
        words.remove(&What::MostDomains);
        words.insert(What::Domains, format!("domains={}", wish.plan.workers));
    }
    if let Some(cpus) = &wish.plan.cpus {
        words.insert(What::Cpus, format!("cpus={}", cpus.len()));
    }
    words
}

fn bases(plan: &Words, part: &Part) -> Vec<Words> {
    let mut bases = vec![Words::new(), plan.clone()];
    if let Some((what, word)) = &part.roomy {
        let mut roomy = plan.clone();
        roomy.insert(*what, word.clone());
        bases.push(build::plain(roomy, &part.today));
    }
    bases.dedup();
    bases
}

fn finish(wish: &Wish<'_>, part: Part, built: Built, plan: &Words) -> Offer {
    let mut notes = Vec::new();
    notes.extend(start::odd_template(wish.command));
    if let Runtime::Unknown(why) = &wish.program.runtime {
        notes.push(format!("{why} So only how it is started is varied."));
    }
    notes.extend(wish.plan.unknown.iter().filter(|_| matches!(wish.program.runtime, Runtime::Ghc(_))).cloned());
    let words = |words: &Words| words.values().cloned().collect::<Vec<_>>();
    Offer {
        settings: settings(wish.plan, &part, &built.configurations),
        plan: built.configurations.iter().position(|words| words == plan),
        configurations: built.configurations.iter().map(words).collect(),
        default: 0,
        rejected: built.rejected,
        kept: part.kept,
        refused: part.refused,
        relink: wish.plan.relink.clone(),
        notes,
    }
}

/// Each setting with the words that are left of it.
fn settings(plan: &Plan, part: &Part, configurations: &[Words]) -> Vec<Setting> {
    let mut whats: Vec<What> = configurations.iter().flat_map(|words| words.keys().copied()).collect();
    whats.sort_unstable();
    whats.dedup();
    let setting = |what: What| {
        let mut levels: Vec<&String> = configurations.iter().filter_map(|words| words.get(&what)).collect();
        levels.sort_by_key(|word| (what::number(word), *word));
        levels.dedup();
        let known = part.dimensions.iter().find(|dimension| dimension.what == what);
        let flag = plan.flags.iter().find(|flag| What::of(&plan.word(&flag.flag, flag.value.as_deref())) == Some(what));
        let name = known.map(|known| known.name.to_owned()).or_else(|| flag.map(|flag| flag.flag.clone()));
        let why = known.map(|known| known.why.clone());
        let why = why.or_else(|| flag.map(|flag| format!("The plan has it. {}", flag.reason)));
        Some(Setting {
            name: name?,
            why: why?,
            today: part.today.get(&what).cloned(),
            levels: levels.into_iter().cloned().collect(),
        })
    };
    whats.into_iter().filter_map(setting).collect()
}

impl Offer {
    /// The configurations as a study takes them; the default is [`Offer::default`].
    ///
    /// # Errors
    /// There is nothing beside the default.
    pub fn space(&self) -> Result<Space, NoSpace> {
        let names = self.configurations.iter().map(|words| words.join(" ")).collect();
        let space = Space::new(names, self.default)?;
        Ok(space.where_absence_is(self.settings.iter().filter_map(|setting| setting.today.as_deref())))
    }

    /// What to start the program with before the first trial, to see whether its runtime takes
    /// it: nothing, each word by itself, and pairs that nobody has proved to go together.
    pub fn probes(&self) -> Vec<Vec<String>> {
        let levels = || self.settings.iter().flat_map(|setting| &setting.levels);
        let ghc = |word: &&String| What::of(word).is_some_and(|what| what.place() == what::Place::Ghc);
        let mut probes = vec![Vec::new()];
        let words: Vec<&String> = levels().filter(ghc).collect();
        probes.extend(words.iter().map(|word| vec![(*word).clone()]));
        let doubtful = |word: &&&String| {
            matches!(What::of(word), Some(What::OldGeneration | What::Compaction | What::Generations | What::HeapLimit))
        };
        let pairs: Vec<&String> = words.iter().filter(doubtful).copied().collect();
        for (place, one) in pairs.iter().enumerate() {
            let others = pairs.iter().skip(place + 1).filter(|other| self.together(one, other));
            probes.extend(others.map(|other| vec![(*one).clone(), (**other).clone()]));
        }
        probes.extend(self.largest());
        probes
    }

    fn together(&self, one: &str, other: &str) -> bool {
        self.configurations
            .iter()
            .any(|words| words.iter().any(|word| word == one) && words.iter().any(|word| word == other))
    }

    /// The configuration with the most workers times nursery: whether it can be had at all.
    fn largest(&self) -> Option<Vec<String>> {
        let of = |words: &[String], what: What| {
            words
                .iter()
                .find(|word| What::of(word) == Some(what))
                .and_then(|word| Some((what::number(word)?, word.clone())))
        };
        let both = |words: &Vec<String>| Some((of(words, What::Workers)?, of(words, What::Nursery)?));
        let largest = self.configurations.iter().filter_map(both);
        let largest = largest.max_by_key(|((workers, _), (nursery, _))| workers.saturating_mul(*nursery))?;
        Some(vec![largest.0.1, largest.1.1])
    }

    /// Takes out every configuration that has all of `words`, as the runtime refuses them for
    /// `why`. The default stays: of no words nothing is learnt.
    pub fn learn(&mut self, words: &[String], why: &str) {
        if words.is_empty() {
            return;
        }
        let gone = |configuration: &Vec<String>| words.iter().all(|word| configuration.contains(word));
        let plan = self.plan.and_then(|plan| self.configurations.get(plan)).filter(|plan| !gone(plan)).cloned();
        self.configurations.retain(|configuration| !gone(configuration));
        self.plan = plan.and_then(|plan| self.configurations.iter().position(|words| *words == plan));
        for setting in &mut self.settings {
            setting.levels.retain(|level| self.configurations.iter().any(|words| words.contains(level)));
        }
        self.settings.retain(|setting| !setting.levels.is_empty());
        self.rejected.push(Rejected { words: words.to_vec(), why: why.to_owned(), by: By::Probe });
    }
}
