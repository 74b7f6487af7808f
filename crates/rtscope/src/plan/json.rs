//! A plan as one JSON document. Its keys keep their meaning.

use super::Planned;
use serde::Serialize;
use serde_json::{Value, json};

#[derive(Serialize)]
struct Document<'p> {
    schema: &'static str,
    #[serde(flatten)]
    plan: &'p rtscope_tune::plan::Plan,
    about: &'p str,
    /// The figures that the plan follows from; `rtscope machine --json` has them all.
    machine: Value,
}

/// The document, on one line.
pub fn render(planned: &Planned) -> String {
    let resources = &planned.resources;
    let machine = json!({
        "cpus_allowed": resources.cpus_allowed,
        "cores": resources.cores,
        "numa_nodes": resources.numa_nodes,
        "quota_cpus": resources.quota_cpus,
        "quota_path": resources.quota_path,
        "ancestors_hidden": resources.ancestors_hidden,
        "memory_limit_bytes": resources.memory_limit_bytes,
        "memory_limit_path": resources.memory_limit_path,
        "memory_limited": resources.memory_limited,
    });
    let document = Document { schema: "rtscope/plan/1", plan: &planned.plan, about: &planned.about, machine };
    // Keys are text and no figure is infinite, so there is always a document.
    crate::style::json(&document).unwrap_or_default() + "\n"
}
