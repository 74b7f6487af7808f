//! How to raise the CPU limit of a group through the tool that manages the group: the manager overwrites what others
//! write into its files. Owns which manager a group's path names; refuses to guess one from inside a container.

use rtscope_model::manifest::Group;
use rtscope_model::text::quoted;
use rtscope_model::units;

/// This many digits of a container's id are enough.
const ID_DIGITS: usize = 12;

/// What manages the limit of a group.
enum Manager<'p> {
    Kubernetes,
    /// A container's engine, and the container's name.
    Engine(&'static str, &'p str),
    /// A unit of systemd; whether it is a user's.
    Systemd(&'p str, bool),
}

fn manager(group: &Group) -> Option<Manager<'_>> {
    let parts: Vec<&str> = group.path.split('/').filter(|part| !part.is_empty()).collect();
    let last = parts.last()?;
    if parts.iter().any(|part| part.starts_with("kubepods")) {
        return Some(Manager::Kubernetes);
    }
    if let Some((engine, id)) = container(&parts) {
        return Some(Manager::Engine(engine, id));
    }
    let unit = [".service", ".scope", ".slice"].iter().any(|kind| last.ends_with(kind));
    unit.then(|| Manager::Systemd(last, parts.iter().rev().skip(1).any(|part| part.starts_with("user@"))))
}

/// The command that gives the group `cpus` CPUs; `None`: not known.
pub(super) fn raised(group: &Group, cpus: f64) -> Option<String> {
    let limit = units::cpus(cpus);
    match manager(group) {
        Some(Manager::Kubernetes) => Some(format!("resources: {{limits: {{cpu: \"{limit}\"}}}}")),
        Some(Manager::Engine(engine, id)) => Some(format!("{engine} update --cpus {limit} {id}")),
        Some(Manager::Systemd(unit, user)) => {
            let user = if user { " --user" } else { "" };
            Some(format!("systemctl{user} set-property {} CPUQuota={:.0}%", quoted(unit), cpus * 100.0))
        }
        // Seen from inside a container: who manages it does not show.
        None if group.path.trim_matches('/').is_empty() => None,
        None => written(group, cpus),
    }
}

/// The group's limit of `cpus` CPUs, as who manages it calls it.
pub(in crate::findings) fn named(group: &Group, cpus: f64) -> String {
    let limit = units::of_cpus(cpus);
    match manager(group) {
        Some(Manager::Kubernetes) if cpus.fract() == 0.0 => format!("The pod's CPU limit of {}", units::cpus(cpus)),
        Some(Manager::Kubernetes) => format!("The pod's CPU limit of {:.0}m", cpus * 1_000.0),
        Some(Manager::Engine(engine, id)) => format!("The CPU limit of the {engine} container {id}, {limit},"),
        Some(Manager::Systemd(unit, _)) => format!("The CPUQuota of {unit}, {limit},"),
        None => format!("The CPU quota of {limit} ({})", group.quota_path.as_ref().unwrap_or(&group.path)),
    }
}

/// The engine and the name of the container whose group this is. A group created within a container is not the
/// engine's: its limit stays when the container's is raised.
fn container<'p>(parts: &[&'p str]) -> Option<(&'static str, &'p str)> {
    let (engine, id) = match *parts {
        [.., "docker", id] => ("docker", id),
        // Podman puts the processes of a container one level below its scope.
        [.., scope, "container"] | [.., scope] => {
            let of = |prefix| scope.strip_prefix(prefix)?.strip_suffix(".scope");
            of("docker-").map(|id| ("docker", id)).or_else(|| Some(("podman", of("libpod-")?)))?
        }
        [] => return None,
    };
    let hex = id.chars().all(|digit| digit.is_ascii_hexdigit());
    id.get(..ID_DIGITS).filter(|_| hex).map(|id| (engine, id))
}

/// A group that no tool manages: its creator writes its file.
fn written(group: &Group, cpus: f64) -> Option<String> {
    // A recording made for sharing names no folders.
    let path = group.quota_path.as_ref().filter(|path| path.starts_with('/'))?;
    let period_us = group.period_ns.unwrap_or(100_000_000) / 1_000;
    let quota_us = (cpus * period_us as f64) as u64;
    let path = quoted(path);
    Some(if group.version == 2 {
        format!("echo '{quota_us} {period_us}' > {path}")
    } else {
        format!("echo {quota_us} > {path}")
    })
}
