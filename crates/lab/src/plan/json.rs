//! A plan as one JSON document. Its keys keep their meaning.

use super::Planned;
use rtscope_terminal::style::Joined;
use serde_json::json;

/// The document, on one line.
pub fn render(planned: &Planned) -> String {
    let resources = &planned.resources;
    // The figures that the plan is based on; `rtscope machine --json` has them all.
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
    let tail = json!({ "about": planned.about, "machine": machine });
    let document = Joined { head: json!({ "schema": "rtscope/plan/1" }), body: &planned.plan, tail };
    // Keys are text and no figure is infinite, so there is always a document.
    rtscope_terminal::style::json(&document).unwrap_or_default() + "\n"
}
