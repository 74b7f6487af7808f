//! The runtime of OCaml 5: how its stop-the-world sections are recognised, which threads serve a domain, waits to
//! lead, slices of the major heap and what causes them, and what single domains cost the others.

pub mod domains;
pub mod drive;
pub mod lane_costs;
pub mod leadership;
pub mod lives;
pub mod pauses;
pub mod rules;
pub mod sections;
pub mod slices;

use super::support::Support;
use crate::findings::Rule;
use crate::folds::Fold;
use crate::kernel::lane_thread::LaneThreads;
use crate::pauses::Recognise;
use crate::recording::Context;
use rtscope_model::runtimes::OCAML;
use rtscope_model::{RuntimeInfo, Tid};

pub(super) struct Ocaml;

impl Support for Ocaml {
    fn info(&self) -> &'static RuntimeInfo {
        &OCAML
    }

    fn recogniser(&self, _: &Context) -> Box<dyn Recognise> {
        Box::<pauses::Recogniser>::default()
    }

    fn lane_threads(&self, context: &Context) -> Box<dyn LaneThreads> {
        Box::new(domains::Domains::new(context.program_pid.map(|pid| Tid(pid.0))))
    }

    fn folds(&self, _: &Context) -> Vec<Box<dyn Fold>> {
        vec![Box::<sections::Sections>::default(), Box::<drive::Drive>::default()]
    }

    fn rules(&self) -> &'static [&'static Rule] {
        &rules::RULES
    }
}
