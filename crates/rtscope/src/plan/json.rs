//! A plan as one JSON document. Its keys keep their meaning.

use super::Planned;
use serde::Serialize;

#[derive(Serialize)]
struct Document<'p> {
    schema: &'static str,
    #[serde(flatten)]
    plan: &'p rtscope_tune::plan::Plan,
    about: &'p str,
    machine: Machine<'p>,
}

/// The figures that the plan follows from; `rtscope machine --json` has them all.
#[derive(Serialize)]
struct Machine<'p> {
    cpus_allowed: &'p [u32],
    cores: u32,
    numa_nodes: u32,
    quota_cpus: Option<f64>,
    quota_path: Option<&'p str>,
    ancestors_hidden: bool,
    memory_limit_bytes: Option<u64>,
    memory_limit_path: Option<&'p str>,
    memory_limited: bool,
}

/// The document, on one line.
pub fn render(planned: &Planned) -> String {
    let resources = &planned.resources;
    let document = Document {
        schema: "rtscope/plan/1",
        plan: &planned.plan,
        about: &planned.about,
        machine: Machine {
            cpus_allowed: &resources.cpus_allowed,
            cores: resources.cores,
            numa_nodes: resources.numa_nodes,
            quota_cpus: resources.quota_cpus,
            quota_path: resources.quota_path.as_deref(),
            ancestors_hidden: resources.ancestors_hidden,
            memory_limit_bytes: resources.memory_limit_bytes,
            memory_limit_path: resources.memory_limit_path.as_deref(),
            memory_limited: resources.memory_limited,
        },
    };
    // Keys are text and no figure is infinite, so there is always a document.
    crate::style::json(&document).unwrap_or_default() + "\n"
}
