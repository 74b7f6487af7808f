//! Where control groups are mounted, which group a process is in by name, and
//! where a mount shows that group. Names are relative to a cgroup namespace, which
//! can hide where they are: then the groups are searched for the process's number.
//! Refuses to read limits.

use crate::system::procfs::Host;
use std::path::{Path, PathBuf};

/// Groups searched for one process whose group has no name here.
const SEARCHED_MAX: usize = 20_000;
/// Levels below the mount that are searched.
const DEPTH_MAX: usize = 64;

/// Files that only a group below the root of a v2 hierarchy has
/// (`CFTYPE_NOT_ON_ROOT` in the kernel's `kernel/cgroup`, `kernel/sched`, `mm`).
const NOT_ON_ROOT_V2: [&str; 6] =
    ["cgroup.events", "cgroup.type", "cgroup.freeze", "cpu.max", "memory.max", "memory.current"];

/// Files that only the root of a v1 hierarchy has (`CFTYPE_ONLY_ON_ROOT`).
const ONLY_ON_ROOT_V1: [&str; 2] = ["cgroup.sane_behavior", "release_agent"];

#[derive(Clone, Debug)]
pub(super) struct Mount {
    /// The mounted group, as the reader's namespace names it.
    pub(super) root: String,
    pub(super) point: PathBuf,
    /// 1 or 2.
    pub(super) version: u8,
    options: String,
    /// The line that describes the mount, and the file that contains it.
    pub(super) line: String,
    pub(super) table: String,
}

/// Where a mount shows a group.
#[derive(Clone, Eq, PartialEq, Debug)]
enum GroupPlace {
    /// At this path below the mount.
    At(PathBuf),
    /// The mounted group is its ancestor; the names between are not known.
    Below,
    /// By the names, it is not below the mounted group.
    Elsewhere,
}

/// How much of a process's groups a mount shows.
#[derive(Clone, Debug)]
pub(super) struct MountSeen {
    pub(super) mount: Mount,
    /// The group as the process's list names it.
    pub(super) group: String,
    /// The levels to read, from `leaf` up to the mount; `None`: none is known to cover the process.
    pub(super) leaf: Option<PathBuf>,
    /// Why levels are or may be hidden, and which.
    pub(super) hidden: Option<String>,
    /// File of the group in which the search found the process's number.
    pub(super) found_in: Option<PathBuf>,
    pub(super) pid: Option<u32>,
}

/// The number of leading `/..` in a name, and the rest of the name.
fn upward(name: &str) -> (usize, &Path) {
    let (mut ups, mut rest) = (0, Path::new(name.trim_start_matches('/')));
    while let Ok(below) = rest.strip_prefix("..") {
        (ups, rest) = (ups + 1, below);
    }
    (ups, rest)
}

impl Mount {
    /// `36 25 0:31 /root /mount/point rw - cgroup2 cgroup rw`.
    fn parse(line: &str, table: &str, below: &Path) -> Option<Mount> {
        let (left, right) = line.split_once(" - ")?;
        let mut left = left.split(' ').skip(3);
        let (root, point) = (unescaped(left.next()?), unescaped(left.next()?));
        let mut right = right.split(' ');
        let version = match right.next()? {
            "cgroup2" => 2,
            "cgroup" => 1,
            _ => return None,
        };
        let options = right.nth(1).unwrap_or("").to_owned();
        let point = below.join(point.trim_start_matches('/'));
        Some(Mount { root, point, version, options, line: line.to_owned(), table: table.to_owned() })
    }

    /// Whether this is a v1 hierarchy of `controller`.
    fn controls(&self, controller: &str) -> bool {
        self.version == 1 && self.options.split(',').any(|option| option == controller)
    }

    /// Names of groups and mounts are relative to the reader's namespace: if both
    /// climb out of it equally far, they pass through the same groups.
    fn place(&self, group: &str) -> GroupPlace {
        let ((mount_ups, mounted), (group_ups, group)) = (upward(&self.root), upward(group));
        match mount_ups.cmp(&group_ups) {
            std::cmp::Ordering::Equal => {
                group.strip_prefix(mounted).map_or(GroupPlace::Elsewhere, |inside| GroupPlace::At(inside.to_owned()))
            }
            std::cmp::Ordering::Greater if mounted.as_os_str().is_empty() => GroupPlace::Below,
            _ => GroupPlace::Elsewhere,
        }
    }

    /// Proof from a file that the mounted group is not the hierarchy's root,
    /// though its name here says it is.
    fn not_the_root(&self, host: &Host) -> Option<String> {
        let has = |name: &str| host.is_file(self.point.join(name));
        if self.version == 2 {
            return NOT_ON_ROOT_V2
                .into_iter()
                .find(|name| has(name))
                .map(|name| format!("it has {name}, a root has not"));
        }
        // Each v1 group has `cgroup.procs`; a folder without it is not the kernel's and proves nothing.
        let proves = has("cgroup.procs") && !ONLY_ON_ROOT_V1.into_iter().any(has);
        proves.then(|| format!("it has no {}, a root has", ONLY_ON_ROOT_V1[1]))
    }

    /// Why there are or may be levels above the mounted group.
    fn hides_above(&self, host: &Host) -> Option<String> {
        let point = self.point.display();
        let (_, mounted) = upward(&self.root);
        if !mounted.as_os_str().is_empty() {
            let root = &self.root;
            return Some(format!("control groups above {root} are hidden (only that is mounted at {point})"));
        }
        let proof = self.not_the_root(host)?;
        Some(format!("control groups above {point} are hidden ({proof}: cgroup namespace)"))
    }

    /// How much this mount shows of `group`, the group of process `pid`.
    fn look(self, host: &Host, group: &str, pid: Option<u32>) -> MountSeen {
        let above = self.hides_above(host);
        let place = self.place(group);
        let found = pid.filter(|_| !matches!(place, GroupPlace::At(_))).and_then(|pid| self.search(host, pid));
        let (point, named) = (self.point.display(), Path::new(group).display());
        let (leaf, hidden, found_in) = match (place, found) {
            (GroupPlace::At(inside), _) => (Some(inside), above, None),
            (_, Some((inside, file))) => (Some(inside), above, Some(file)),
            (GroupPlace::Below, None) => {
                let why = format!("control groups between {point} and the process's own are hidden (cgroup namespace)");
                (Some(PathBuf::new()), Some(why), None)
            }
            // The mount may show the process's group under another name: containers do this.
            (GroupPlace::Elsewhere, None) if upward(group).0 == 0 => {
                let why = format!(
                    "the group {named} lies outside of what is mounted at {point} ({}): its levels are hidden, and what \
                     is mounted is taken for it",
                    self.root
                );
                (Some(PathBuf::new()), Some(why), None)
            }
            (GroupPlace::Elsewhere, None) => {
                let why = format!("the group {named} is hidden: it lies outside of what is mounted at {point}");
                (None, Some(why), None)
            }
        };
        MountSeen { mount: self, group: group.to_owned(), leaf, hidden, found_in, pid }
    }

    /// Searches every group below the mount for process `pid`.
    fn search(&self, host: &Host, pid: u32) -> Option<(PathBuf, PathBuf)> {
        let mut waiting = vec![PathBuf::new()];
        for _ in 0..SEARCHED_MAX {
            let inside = waiting.pop()?;
            let folder = self.point.join(&inside);
            // A threaded group does not show its list of processes.
            for name in ["cgroup.procs", "cgroup.threads"] {
                let Some(text) = host.text(folder.join(name)) else { continue };
                if text.lines().any(|line| line.trim().parse() == Ok(pid)) {
                    return Some((inside, folder.join(name)));
                }
                break;
            }
            if inside.components().count() < DEPTH_MAX {
                waiting.extend(host.folders(&folder).into_iter().rev().map(|name| inside.join(name)));
            }
        }
        None
    }
}

/// The control group mounts in a table such as `/proc/self/mountinfo`, below the
/// root directory `root` of its process.
pub(super) fn table(host: &Host, path: &str, root: &Path) -> Vec<Mount> {
    parse(&host.text(path).unwrap_or_default(), path, root)
}

/// The control group mounts in the text of such a table.
pub(super) fn parse(text: &str, path: &str, root: &Path) -> Vec<Mount> {
    text.lines().filter_map(|line| Mount::parse(line, path, root)).collect()
}

/// mountinfo writes spaces as `\040`.
fn unescaped(text: &str) -> String {
    text.replace("\\040", " ").replace("\\011", "\t").replace("\\012", "\n").replace("\\134", "\\")
}

/// The hierarchy of a controller for a process.
pub(super) enum Hierarchy {
    /// It is mounted: the mount, and the process's group in it.
    Shown(Box<MountSeen>),
    /// The process is in a group of it, but no mount shows the hierarchy.
    NotMounted(u8),
    /// The process's list does not mention one.
    None,
}

/// Which hierarchy controls `controller` for a process with these memberships, and
/// how much the best of `mounts` shows of it. A v1 controller wins over v2: a
/// controller belongs to only one of them.
pub(super) fn hierarchy(
    host: &Host,
    memberships: &str,
    mounts: &[Mount],
    controller: &str,
    pid: Option<u32>,
) -> Hierarchy {
    let lines = || memberships.lines().filter_map(membership);
    let v1 = lines().find(|(_, names, _)| names.split(',').any(|name| name == controller));
    let (version, group) = match v1.or_else(|| lines().find(|(id, names, _)| *id == "0" && names.is_empty())) {
        Some((_, "", group)) => (2, group),
        Some((_, _, group)) => (1, group),
        None => return Hierarchy::None,
    };
    let wanted = |mount: &&Mount| mount.version == 2 && version == 2 || version == 1 && mount.controls(controller);
    // One hierarchy can be mounted in several places: the mount that hides least is best.
    let seen = mounts.iter().filter(wanted).map(|mount| mount.clone().look(host, group, pid));
    let rank = |seen: &MountSeen| {
        let named = matches!(seen.mount.place(&seen.group), GroupPlace::At(_)) || seen.found_in.is_some();
        (seen.hidden.is_some(), !named, seen.leaf.is_none(), seen.mount.root.len())
    };
    match seen.min_by_key(rank) {
        Some(seen) => Hierarchy::Shown(Box::new(seen)),
        None => Hierarchy::NotMounted(version),
    }
}

/// `3:cpu,cpuacct:/path`: number, controllers, path. For a removed group the
/// kernel appends a note to the path.
fn membership(line: &str) -> Option<(&str, &str, &str)> {
    let mut parts = line.splitn(3, ':');
    let (id, names, path) = (parts.next()?, parts.next()?, parts.next()?);
    let path = path.strip_suffix(" (deleted)").unwrap_or(path);
    path.starts_with('/').then_some((id, names, path))
}
