//! A plan as a Pod: environment, and requests and limits with the advice that goes
//! with them. Owns the manifest's words; the image is the reader's.

use super::{Planned, yaml};
use rtscope_model::resources::Resources;
use rtscope_model::units;

/// The Pod.
pub fn render(planned: &Planned) -> String {
    let plan = &planned.plan;
    let name = yaml::name(&planned.name());
    let goal = plan.goal.name();
    let about = format!(
        "A plan for {goal} made by `rtscope plan` on one machine. It holds on nodes that give the container as much; where \
         nodes differ, start the program with `rtscope run`, which plans at each start."
    );
    let mut out = yaml::comment(&about, 0);
    out += &yaml::reasons(plan);
    out += "apiVersion: v1\nkind: Pod\nmetadata:\n";
    out += &format!("  name: {}\n", yaml::string(&name));
    out += "spec:\n  containers:\n";
    out += &format!("    - name: {}\n", yaml::string(&name));
    out += &format!("      image: {} # put your image here\n", yaml::string(&format!("{name}:latest")));
    if plan.env.is_empty() {
        out += &yaml::comment("No flags: `rtscope plan` says why.", 6);
    }
    out += &environment(plan.env.iter().map(|(name, value)| (*name, value.as_str())));
    if let Some(quota) = planned.resources.quota_cpus {
        let about = format!(
            "Planned under a limit of {}, which this leaves out. Where it has to stay, take the variables alone, and keep \
             `limits: {{cpu: {:.0}m}}`.",
            units::of_cpus(quota),
            quota * 1000.0
        );
        out += &yaml::comment(&about, 6);
    }
    out += &resources(plan.workers, memory(&planned.resources).as_deref(), 6);
    out
}

/// The part of a container that sets variables; empty if there are none.
pub(crate) fn environment<'v>(variables: impl Iterator<Item = (&'v str, &'v str)>) -> String {
    let mut out = String::new();
    for (name, value) in variables {
        if out.is_empty() {
            out += "      env:\n";
        }
        out += &format!("        - name: {}\n          value: {}\n", yaml::string(name), yaml::string(value));
    }
    out
}

/// What a container requests, indented by `indent` spaces: whole CPUs, and `memory`, a quantity.
pub fn resources(cpus: u32, memory: Option<&str>, indent: usize) -> String {
    let pad = " ".repeat(indent);
    let cpus = yaml::string(&cpus.to_string());
    let mut out = format!("{pad}resources:\n");
    match memory {
        Some(bytes) => {
            out += &yaml::comment(
                "Requests that equal limits, in whole CPUs, make the pod Guaranteed: on nodes where the kubelet's CPU \
                 manager is static it gets CPUs of its own and no quota. On other nodes take limits.cpu out, or keep it \
                 whole: a quota stops every worker when it is used up, in the middle of a collection as well.",
                indent + 2,
            );
            let both = format!("{pad}    cpu: {cpus}\n{pad}    memory: {}\n", yaml::string(bytes));
            out += &format!("{pad}  requests:\n{both}{pad}  limits:\n{both}");
        }
        None => {
            out += &yaml::comment(
                "A request without a CPU limit: a quota stops every worker when it is used up, in the middle of a \
                 collection as well. If there has to be a limit, make it a whole number, as large as the request; with a \
                 memory limit equal to its request too, the pod is Guaranteed, and gets CPUs of its own and no quota on \
                 nodes where the kubelet's CPU manager is static. No memory limit was seen here, so none is planned.",
                indent + 2,
            );
            out += &format!("{pad}  requests:\n{pad}    cpu: {cpus}\n");
        }
    }
    out
}

/// The memory limit that the plan assumes, as a quantity.
pub(crate) fn memory(resources: &Resources) -> Option<String> {
    let bytes = resources.memory_limit_bytes.filter(|bytes| resources.memory_limited && *bytes > 0)?;
    Some(if bytes % (1 << 20) == 0 { format!("{}Mi", bytes >> 20) } else { bytes.to_string() })
}
