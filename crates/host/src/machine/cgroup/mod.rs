//! The control groups that cover a process: which they are, what they limit,
//! and which files count their throttling. A v1 `cpu` controller wins over v2.
//! Group names from `/proc/PID/cgroup` are joined with the roots of the mounts
//! by stripping the prefix; where a namespace hides the name, the groups are searched
//! for the process's number. The mounts are the reader's own: it reads them, and
//! the kernel gives group names relative to its namespace. Only if it has none are the
//! program's used, through `/proc/PID/root`. Every visible ancestor is listed:
//! throttle counters appear only on the limited group.

mod limits;
mod mounts;
#[cfg(test)]
mod tests;

use crate::machine::reading::Reading;
use crate::system::procfs::{self, Host, ProcName};
pub use limits::GroupLevel;
use mounts::{Hierarchy, MountSeen};
use rtscope_model::manifest::Group;
use rtscope_model::resources::Source;
use std::path::{Path, PathBuf};

/// All levels, leaf first.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Groups {
    /// In the order of the manifest's list.
    pub levels: Vec<GroupLevel>,
    /// Whether there are or may be levels that cannot be seen.
    pub hidden: bool,
    /// Memory limit of all levels together as the kernel computes it, with its file;
    /// v1 only.
    effective_memory: Option<(u64, String)>,
    /// The files that were read.
    pub sources: Vec<Source>,
    /// What could not be seen, one sentence each.
    pub notes: Vec<String>,
}

impl Groups {
    /// The manifest's list.
    pub fn manifest(&self) -> Vec<Group> {
        self.levels.iter().map(|level| level.group.clone()).collect()
    }

    /// The level with the smallest quota.
    pub fn tightest(&self) -> Option<&Group> {
        let groups = self.levels.iter().map(|level| &level.group).filter(|group| group.quota_cpus.is_some());
        groups.min_by(|one, other| f64::total_cmp(&one.quota_cpus.unwrap_or(0.0), &other.quota_cpus.unwrap_or(0.0)))
    }

    /// Smallest quota of all levels, in CPUs.
    pub fn quota_cpus(&self) -> Option<f64> {
        self.tightest().and_then(|group| group.quota_cpus)
    }

    /// Smallest memory limit of all levels, bytes, with its file.
    pub fn memory_limit(&self) -> Option<(u64, String)> {
        let levels = self
            .levels
            .iter()
            .filter_map(|level| Some((level.group.memory_limit_bytes?, level.memory_limit_path.clone()?)));
        levels.chain(self.effective_memory.clone()).min_by_key(|limit| limit.0)
    }

    /// Out-of-memory kills counted so far in all levels.
    pub fn oom_kills(&self) -> u64 {
        let texts = self.levels.iter().filter_map(|level| std::fs::read_to_string(level.oom.as_ref()?).ok());
        texts.filter_map(|text| procfs::number(&text, "oom_kill")).sum()
    }
}

/// Finds the groups of a process.
pub fn of_process(host: &Host, pid: u32) -> Groups {
    of(host, ProcName::Pid(pid))
}

/// Finds the groups of a process, possibly the reader's own.
pub fn of(host: &Host, process: ProcName) -> Groups {
    let mut reading = Reading::new(host);
    let mut groups = Groups::default();
    let list = format!("/proc/{process}/cgroup");
    let memberships = host.read(&list);
    // A kernel without control groups has no such list and hides none.
    groups.hidden = memberships.as_ref().is_err_and(|error| error.kind() != std::io::ErrorKind::NotFound);
    let memberships = memberships.unwrap_or_default();
    if !memberships.is_empty() {
        reading.add_source("control groups", &list, &memberships);
    }
    let mounts = mounts_for(host, process);
    let pid = number(host, process);
    let mut unknown = true;
    for controller in ["cpu", "memory"] {
        match mounts::hierarchy(host, &memberships, &mounts, controller, pid) {
            Hierarchy::Shown(shown) => {
                unknown = false;
                climb(&mut reading, controller, &shown, &mut groups);
            }
            Hierarchy::NotMounted(version) => {
                (unknown, groups.hidden) = (false, true);
                reading.note(format!(
                    "the {controller} limits of this process are in control groups v{version}, which are not mounted \
                     here: they are unknown"
                ));
            }
            Hierarchy::None => {}
        }
    }
    if unknown {
        let why = "no control group of this process is visible, so quotas and throttling are unknown";
        reading.note(why.into());
        groups.hidden |= !memberships.trim().is_empty();
    }
    (groups.sources, groups.notes) = reading.finish();
    groups
}

/// The folder of this process's own group for a controller, and the version of its
/// hierarchy; `None` if none is visible.
pub(crate) fn own_folder(host: &Host, controller: &str) -> Option<(u8, PathBuf)> {
    let memberships = host.text("/proc/self/cgroup")?;
    let mounts = mounts_for(host, ProcName::Own);
    match mounts::hierarchy(host, &memberships, &mounts, controller, number(host, ProcName::Own)) {
        Hierarchy::Shown(seen) => Some((seen.mount.version, host.path(seen.mount.point.join(seen.leaf.as_ref()?)))),
        _ => None,
    }
}

/// The mount and group that the texts of `mountinfo` and `cgroup` name for a controller, on a machine
/// that has nothing else.
pub fn named(mounts: &str, memberships: &str, controller: &str) -> Option<String> {
    let mounts = mounts::parse(mounts, "mountinfo", Path::new("/"));
    match mounts::hierarchy(&Host::at("/nonexistent"), memberships, &mounts, controller, None) {
        Hierarchy::Shown(seen) => Some(format!("{} {}", seen.mount.point.display(), seen.group)),
        Hierarchy::NotMounted(_) | Hierarchy::None => None,
    }
}

/// The mounts through which groups can be read: the reader's own and the program's.
fn mounts_for(host: &Host, process: ProcName) -> Vec<mounts::Mount> {
    let mut found = mounts::table(host, "/proc/self/mountinfo", Path::new("/"));
    if let ProcName::Pid(pid) = process {
        let root = format!("/proc/{pid}/root");
        // A copied tree has the process's files at their usual places.
        let root = if host.is_live() || host.is_dir(&root) { PathBuf::from(root) } else { PathBuf::from("/") };
        let programs = mounts::table(host, &format!("/proc/{pid}/mountinfo"), &root);
        found.extend(programs.into_iter().filter(|mount| host.is_dir(&mount.point)));
    }
    found
}

fn number(host: &Host, process: ProcName) -> Option<u32> {
    match process {
        ProcName::Pid(pid) => Some(pid),
        ProcName::Own => u32::try_from(procfs::number(&host.text("/proc/self/status")?, "Pid")?).ok(),
    }
}

/// Adds every level from the process's own group up to what is mounted.
fn climb(reading: &mut Reading<'_>, controller: &str, seen: &MountSeen, groups: &mut Groups) {
    let mount = &seen.mount;
    reading.add_source(&format!("mount of the {controller} groups"), &mount.table, &mount.line);
    if let Some(file) = &seen.found_in {
        let what = format!("{controller} group of the process, which {} does not name", seen.group);
        reading.add_source(&what, file, &seen.pid.map_or_else(String::new, |pid| pid.to_string()));
    }
    if let Some(why) = &seen.hidden {
        groups.hidden = true;
        reading.note(format!("{why}: quotas and limits there are not seen"));
    }
    let Some(leaf) = &seen.leaf else { return };
    let own = mount.point.join(leaf);
    if !reading.host.is_dir(&own) {
        groups.hidden |= !reading.host.is_dir(&mount.point);
        reading.note(format!("the process's group {} is not there: only levels above it are read", own.display()));
    }
    if controller == "memory" && mount.version == 1 {
        groups.effective_memory = limits::effective_memory_v1(reading, &own);
    }
    let mut inside = leaf.clone();
    loop {
        let folder = mount.point.join(&inside);
        let name = format!("/{}", inside.display());
        if reading.host.is_dir(&folder) && !known(groups, &name, mount.version, controller) {
            add(limits::level(reading, mount.version, &name, &folder), groups);
        }
        if !inside.pop() {
            return;
        }
    }
}

/// On v2 one folder has the files of both controllers, and is read once.
fn known(groups: &Groups, name: &str, version: u8, controller: &str) -> bool {
    let same = |level: &GroupLevel| level.group.version == 2 && level.group.path == name;
    version == 2 && controller == "memory" && groups.levels.iter().any(same)
}

/// Adds a level; levels of one name in two v1 hierarchies become one entry.
fn add(level: GroupLevel, groups: &mut Groups) {
    let known = groups.levels.iter_mut().find(|known| known.group.path == level.group.path);
    let Some(known) = known.filter(|known| known.group.version == level.group.version) else {
        groups.levels.push(level);
        return;
    };
    known.cpu_stat = known.cpu_stat.take().or(level.cpu_stat);
    known.throttled = known.throttled.or(level.throttled);
    known.memory = known.memory.take().or(level.memory);
    known.oom = known.oom.take().or(level.oom);
    if known.group.memory_limit_bytes.is_none() {
        known.group.memory_limit_bytes = level.group.memory_limit_bytes;
        known.memory_limit_path = level.memory_limit_path;
    }
    if known.group.quota_cpus.is_none() {
        known.group.quota_cpus = level.group.quota_cpus;
        known.group.period_ns = level.group.period_ns;
        known.group.quota_path = level.group.quota_path;
    }
}
