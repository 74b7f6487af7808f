//! A plan with what it was made for, as every format takes it.

use super::program::FoundProgram;
use rtscope_host::procfs::Host;
use rtscope_host::resources;
use rtscope_model::resources::Resources;
use rtscope_tune::plan::{Goal, Plan};

/// A plan with what it was made for.
#[derive(Clone, Debug)]
pub struct Planned {
    /// The plan.
    pub plan: Plan,
    /// What the process may use.
    pub resources: Resources,
    /// The program in a few words: `GHC 9.0.2, threaded, -rtsopts=all`.
    pub about: String,
}

impl Planned {
    /// The plan for `found` with what `host` gives to process `pid`, or to this one.
    pub fn of(found: &FoundProgram, host: &Host, pid: Option<u32>, goal: Goal) -> Planned {
        let resources = resources::without_caches(host, pid);
        let plan = rtscope_tune::plan::plan(&resources, &found.program, goal);
        Planned { plan, resources, about: found.about.clone() }
    }

    /// A short name for the program: `mill`.
    pub fn name(&self) -> String {
        let path = self.plan.program.as_deref().map(std::path::Path::new);
        path.and_then(|path| path.file_name()).map_or("prog".into(), |name| name.to_string_lossy().into_owned())
    }
}
