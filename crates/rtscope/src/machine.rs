//! `rtscope machine`: what a process may use, for people (text, a drawing) and for programs (JSON). Owns the
//! form, and what is rejected as no machine at all; the figures are the host's.

mod drawing;
mod nest;
mod svg;
mod text;

use rtscope_host::procfs::{Host, ProcName};
use rtscope_host::resources;
use rtscope_model::resources::Resources;
use rtscope_terminal::style::Joined;
use rtscope_terminal::user_error::UserError;
use std::io::{self, Write};
use std::path::Path;

pub use svg::svg;
pub use text::text;

/// What the process `pid` (by default this process) may use of the machine whose `/proc` and `/sys` are below `root`.
pub fn inspect(root: &Path, pid: Option<u32>) -> Result<Resources, UserError> {
    let shown = root.display();
    if !root.is_dir() {
        let why = if root.exists() { "it is no folder" } else { "there is nothing of that name" };
        return Err(UserError::new(format!("cannot read a machine below {shown}"))
            .because(why)
            .next("give --root a folder that has proc and sys in it"));
    }
    let host = Host::at(root);
    if !host.is_dir("/proc") && !host.is_dir("/sys") {
        return Err(UserError::new(format!("cannot read a machine below {shown}"))
            .because("it has neither proc nor sys in it")
            .next("give --root the folder that has them"));
    }
    if let Some(pid) = pid.filter(|pid| !host.is_dir(format!("/proc/{}", ProcName::Pid(*pid)))) {
        let below = if host.is_live() { String::new() } else { format!(" below {shown}") };
        return Err(UserError::new(format!("there is no process {pid}{below}"))
            .because(format!("/proc/{pid} is not there"))
            .next("leave --pid out, or give the number of a process that runs"));
    }
    let found = resources::of(&host, pid);
    if found.cpus_allowed.is_empty() {
        return Err(UserError::new(format!("no CPU is known below {shown}"))
            .because(found.notes.first().map_or("", String::as_str))
            .next("give --root a folder that has proc/self/status and sys/devices/system/cpu in it"));
    }
    Ok(found)
}

/// `machine --json`: the schema, then [`Resources`].
pub fn json(resources: &Resources, out: &mut dyn Write) -> io::Result<()> {
    let head = serde_json::json!({ "schema": "rtscope/machine/1" });
    serde_json::to_writer(&mut *out, &Joined { head, body: resources, tail: () })?;
    out.write_all(b"\n")
}

/// The first sentence: everything that matters, in one line.
fn headline(resources: &Resources) -> String {
    use rtscope_model::units::{bytes, counted, of_cpus};
    let allowed = resources.cpus_allowed.len() as u64;
    let mut parts =
        vec![format!("{} on {}", counted(allowed, "CPU", "CPUs"), counted(resources.cores.into(), "core", "cores"))];
    parts.extend(resources.quota_cpus.map(|quota| format!("a quota of {}", of_cpus(quota))));
    parts.extend(resources.memory_limit_bytes.map(|limit| format!("{} of memory", bytes(limit))));
    parts.join(", ")
}
