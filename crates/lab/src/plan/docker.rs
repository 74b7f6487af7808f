//! A plan as a compose file, with an equivalent `docker run` line above it. Owns these words; the image is
//! the reader's.

use super::{Planned, yaml};
use rtscope_model::text::quoted;
use rtscope_terminal::style::clean;

/// The compose file.
pub fn render(planned: &Planned) -> String {
    let plan = &planned.plan;
    let name = yaml::name(&planned.name());
    let cpuset = plan.cpus.as_ref().map(|cpus| cpus.iter().map(u32::to_string).collect::<Vec<_>>().join(","));
    let memory = planned.resources.memory_limit_bytes.filter(|bytes| planned.resources.memory_limited && *bytes > 0);
    let mut run = vec!["docker run".to_owned()];
    run.extend(plan.env.iter().map(|(name, value)| format!("--env {}", quoted(&format!("{name}={value}")))));
    run.extend(cpuset.iter().map(|cpus| format!("--cpuset-cpus {cpus}")));
    run.extend(memory.map(|bytes| format!("--memory {bytes}b")));
    // Not wrapped, so that it can be copied.
    let mut out = format!("# {} IMAGE\n", clean(&run.join(" ")));
    out += &yaml::reasons(plan);
    out += &format!("services:\n  {}:\n", yaml::string(&name));
    out += &format!("    image: {} # put your image here\n", yaml::string(&format!("{name}:latest")));
    if plan.env.is_empty() {
        out += &yaml::comment("No flags: `rtscope plan` says why.", 4);
    } else {
        out += "    environment:\n";
        for (name, value) in &plan.env {
            // Compose expands $NAME.
            out += &format!("      {}: {}\n", yaml::string(name), yaml::string(&value.replace('$', "$$")));
        }
    }
    if let Some(cpus) = &cpuset {
        out += &format!("    cpuset: {}\n", yaml::string(cpus));
    }
    if let Some(bytes) = memory {
        out += &yaml::comment("The limit that this plan reckons with.", 4);
        out += &format!("    mem_limit: {}\n", yaml::string(&format!("{bytes}b")));
    }
    out
}
