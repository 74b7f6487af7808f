//! GHC programs: their plan, what can be tried, which words conflict. Owns what `tune` knows about
//! GHC's runtime, from the option parsers of 9.0, 9.6 and 9.10 and from runs of their programs.

mod accept;
mod given;
pub(crate) mod knobs;
mod measure;
mod memory;
mod options;
mod plan;
mod relink;
mod rules;

#[cfg(test)]
mod plan_tests;
#[cfg(test)]
pub(super) use given::Subject;

pub use knobs::Ghc;

use crate::dialect::Dialect;
use crate::options::part::{Bounds, Broken, SpacePart, View};
use crate::plan::Plan;
use crate::plan::workers::Room;
use crate::runtime::{Given, Linked, TunableRuntime, Wish};
use rtscope_model::Rtsopts;
use rtscope_model::resources::Resources;
use std::sync::Arc;

/// The GHC runtime system.
pub static RUNTIME: TunableRuntime =
    TunableRuntime { dialect: &knobs::DIALECT, any: || Arc::new(Ghc::any()), any_of: "GHC", about: "GHC, for Haskell" };

impl Linked for Ghc {
    fn dialect(&self) -> &'static Dialect {
        &knobs::DIALECT
    }

    fn about(&self) -> String {
        let version =
            self.version.map_or("GHC of an unknown version".to_owned(), |(a, b, c)| format!("GHC {a}.{b}.{c}"));
        let Some(rtsopts) = &self.rtsopts else { return format!("{version}, stripped") };
        let way = match self.threaded {
            Some(true) => "threaded",
            Some(false) => "not threaded",
            None => "threaded or not",
        };
        let with = match self.with_rtsopts.as_str() {
            "" => String::new(),
            words => format!(", -with-rtsopts=\"{words}\""),
        };
        format!("{version}, {way}, -rtsopts={}{with}", rtsopts.name())
    }

    fn plan(&self, plan: &mut Plan, resources: &Resources, room: &Room, given: &Given) {
        plan::plan(plan, resources, room, self, given);
    }

    fn part(&self, wish: &Wish<'_>, room: &Room, _: bool) -> SpacePart {
        options::part(wish, room, self)
    }

    fn broken(&self, view: &View<'_>, bounds: &Bounds) -> Option<Broken> {
        rules::broken(view, bounds, self)
    }

    fn linked_in(&self, words: &[&str]) -> Option<String> {
        Some(relink::linked_in(self, words))
    }

    fn takes_all(&self) -> bool {
        self.rtsopts == Some(Rtsopts::All)
    }
}
