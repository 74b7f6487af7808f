//! OCaml 5 programs: their plan, what can be tried, which words conflict. Owns what `tune` knows about
//! OCaml's runtime.

pub(crate) mod knobs;
mod options;
mod plan;

pub use knobs::Ocaml;

use crate::dialect::{DOMAINS, Dialect};
use crate::options::part::{Bounds, Broken, SpacePart, View};
use crate::plan::Plan;
use crate::plan::workers::Room;
use crate::runtime::{Given, Linked, TunableRuntime, Wish};
use knobs::{MINOR_HEAP, MINOR_HEAPS, MOST_DOMAINS};
use rtscope_model::resources::Resources;
use rtscope_model::runtimes::OcamlRelease;
use rtscope_model::units;
use std::sync::Arc;

/// The runtime of OCaml 5.
pub static RUNTIME: TunableRuntime = TunableRuntime {
    dialect: &knobs::DIALECT,
    any: || Arc::new(Ocaml { release: Some(OcamlRelease::From5_3) }),
    any_of: "OCaml 5.3 or later",
    about: "OCaml 5",
};

impl Linked for Ocaml {
    fn dialect(&self) -> &'static Dialect {
        &knobs::DIALECT
    }

    fn about(&self) -> String {
        let about = match self.release {
            Some(OcamlRelease::Before5) => "OCaml 4",
            Some(OcamlRelease::Before5_3) => "OCaml 5.0 to 5.2",
            Some(OcamlRelease::From5_3) => "OCaml 5.3 or later",
            None => "OCaml of an unknown version",
        };
        about.to_owned()
    }

    fn plan(&self, plan: &mut Plan, resources: &Resources, room: &Room, given: &Given) {
        plan::plan(plan, resources, room, self, given);
    }

    fn part(&self, wish: &Wish<'_>, room: &Room, template: bool) -> SpacePart {
        options::part(wish, room, self, template)
    }

    fn broken(&self, view: &View<'_>, bounds: &Bounds) -> Option<Broken> {
        let words = view.own_number(&MINOR_HEAP)?;
        let memory = bounds.memory?;
        let limits = [view.count(&DOMAINS), view.count(&MOST_DOMAINS)];
        let domains = limits.into_iter().flatten().min().unwrap_or(1);
        if MINOR_HEAPS.fit(domains, words, Some(memory)) {
            return None;
        }
        let why = format!("The minor heaps would take more than a tenth of {}.", units::bytes(memory));
        let which = if view.word(&DOMAINS).is_some() { &DOMAINS } else { &MOST_DOMAINS };
        view.because(&[which, &MINOR_HEAP], &why)
    }

    fn takes_all(&self) -> bool {
        false
    }
}
