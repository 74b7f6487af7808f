//! What can be tried of a program: settings and their levels, the resulting configurations, and what
//! was left out and why. Owns the space of a study by trials; refuses to look at a machine and to run
//! anything: the caller passes in what a runtime refuses beyond the known rules.
//!
//! The space is the product of the most important levels (workers, collecting workers, nursery or
//! minor heap, collector), and every other level on top of a few bases: what runs today, the plan, and
//! the plan with a large nursery. It follows only from the machine, the program and what its user
//! gave it; nothing in it is random.

mod build;
mod offer;
pub(crate) mod part;
pub mod refusal;
pub mod setup;
pub(crate) mod start;

pub use crate::runtime::Wish;
pub use offer::{By, Offer, Rejected, Setting};

use crate::dialect::{CPUS, DOMAINS, Role, What, Words, number};
use crate::plan::workers::Room;
use build::Built;
use part::{Bounds, SpacePart, View, plain};

/// Builds the offer for a program.
pub fn offer(wish: &Wish<'_>) -> Offer {
    let room = Room::of(wish.resources);
    let template = start::template(wish.command);
    let link = wish.program.link.as_ref().ok();
    let mut part = link.map_or_else(SpacePart::default, |link| link.part(wish, &room, template.is_some()));
    let planned = planned(wish, template.is_some());
    start::add(&mut part, &room, template, &planned, wish.resources);
    let plan = plain(planned, &part.today);
    let bounds = Bounds {
        memory: [wish.resources.memory_limit_bytes, part.memory].into_iter().flatten().min(),
        cpus: room.cpus,
    };
    let bases = bases(&plan, &part);
    let broken = |view: &View<'_>| link.and_then(|link| link.broken(view, &bounds)).or_else(|| start::broken(view));
    let built = build::build(&part.dimensions, &part.today, &plan, &bases, &broken);
    finish(wish, part, built, &plan)
}

/// The plan's words, and its CPUs.
fn planned(wish: &Wish<'_>, template: bool) -> Words {
    let own = wish.plan.words().filter_map(|word| Some((wish.program.what(&word)?, word)));
    let mut words: Words = own.collect();
    if template {
        words.retain(|what, _| what.role != Role::Ceiling);
        words.insert(&DOMAINS, DOMAINS.word(wish.plan.workers));
    }
    if let Some(cpus) = &wish.plan.cpus {
        words.insert(&CPUS, CPUS.word(cpus.len()));
    }
    words
}

fn bases(plan: &Words, part: &SpacePart) -> Vec<Words> {
    let mut bases = vec![Words::new(), plan.clone()];
    if let Some((what, word)) = &part.roomy {
        let mut roomy = plan.clone();
        roomy.insert(what, word.clone());
        bases.push(plain(roomy, &part.today));
    }
    bases.dedup();
    bases
}

fn finish(wish: &Wish<'_>, part: SpacePart, built: Built, plan: &Words) -> Offer {
    let mut notes = Vec::new();
    notes.extend(start::odd_template(wish.command));
    match &wish.program.link {
        Ok(_) => notes.extend(wish.plan.unknown.clone()),
        Err(why) => notes.push(format!("{why} So only how it is started is varied.")),
    }
    let words = |words: &Words| words.values().cloned().collect::<Vec<_>>();
    Offer {
        settings: settings(wish, &part, &built.configurations),
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

/// The settings, each with the words that remain in `configurations`.
fn settings(wish: &Wish<'_>, part: &SpacePart, configurations: &[Words]) -> Vec<Setting> {
    let mut whats: Vec<What> = configurations.iter().flat_map(|words| words.keys().copied()).collect();
    whats.sort_unstable();
    whats.dedup();
    let plan = wish.plan;
    let setting = |what: What| {
        let mut levels: Vec<&String> = configurations.iter().filter_map(|words| words.get(what)).collect();
        levels.sort_by_key(|word| (number(word), *word));
        levels.dedup();
        let known = part.dimensions.iter().find(|dimension| dimension.what == what);
        let flag = plan
            .flags
            .iter()
            .find(|flag| wish.program.what(&plan.word(&flag.flag, flag.value.as_deref())) == Some(what));
        let name = known.map(|known| known.name.to_owned()).or_else(|| flag.map(|flag| flag.flag.clone()));
        let why = known.map(|known| known.why.clone());
        let why = why.or_else(|| flag.map(|flag| format!("The plan has it. {}", flag.reason)));
        Some(Setting {
            name: name?,
            why: why?,
            today: part.today.get(what).cloned(),
            levels: levels.into_iter().cloned().collect(),
        })
    };
    whats.into_iter().filter_map(setting).collect()
}
