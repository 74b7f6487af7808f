//! The control groups that cover a process: which they are, what they limit,
//! and which files count their throttling. A v1 `cpu` controller beats v2.
//! Group names from `/proc/PID/cgroup` are joined with the roots of the mounts
//! by stripping the prefix. The mounts are the recorder's own: it reads them, and
//! the kernel names groups in its words. Only where it has none itself are the
//! program's taken, through `/proc/PID/root`. Every visible ancestor is listed:
//! throttle counters appear only on the limited group.

use crate::procfs::{self, Host};
use rtscope_model::manifest::Group;
use std::path::{Path, PathBuf};

/// A level that covers the process, with the files to sample.
#[derive(Clone, PartialEq, Debug)]
pub struct Level {
    /// For the manifest.
    pub group: Group,
    /// `cpu.stat`, where it has throttle counters.
    pub cpu_stat: Option<PathBuf>,
    /// File with the bytes charged.
    pub memory: Option<PathBuf>,
    /// File with the out-of-memory kill count.
    oom: Option<PathBuf>,
}

/// All levels, leaf first.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Groups {
    /// Levels in the order of the manifest's list.
    pub levels: Vec<Level>,
    /// What could not be seen, one sentence each.
    pub notes: Vec<String>,
}

impl Groups {
    /// The manifest's list.
    pub fn manifest(&self) -> Vec<Group> {
        self.levels.iter().map(|level| level.group.clone()).collect()
    }

    fn note(&mut self, note: String) {
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }

    /// Smallest quota of all levels, in CPUs.
    pub fn quota_cpus(&self) -> Option<f64> {
        self.levels.iter().filter_map(|level| level.group.quota_cpus).min_by(f64::total_cmp)
    }

    /// Out-of-memory kills counted so far in all levels.
    pub fn oom_kills(&self) -> u64 {
        let texts = self.levels.iter().filter_map(|level| std::fs::read_to_string(level.oom.as_ref()?).ok());
        texts.filter_map(|text| procfs::number(&text, "oom_kill")).sum()
    }
}

/// One mounted hierarchy.
#[derive(Clone, Debug)]
struct Mount {
    root: String,
    point: PathBuf,
    version: u8,
    options: String,
}

impl Mount {
    /// A group's path below the mount; `None` where the mount does not show it.
    fn inside<'a>(&self, group: &'a str) -> Option<&'a str> {
        if group.starts_with("/..") {
            return None;
        }
        let inside = if self.root == "/" { group } else { group.strip_prefix(self.root.as_str())? };
        (inside.is_empty() || inside.starts_with('/')).then_some(inside)
    }

    fn controls(&self, controller: &str) -> bool {
        self.version == 1 && self.options.split(',').any(|option| option == controller)
    }
}

/// Finds the groups of a process.
pub fn of_process(host: &Host, pid: u32) -> Groups {
    let mut groups = Groups::default();
    let memberships = host.process_text(pid, "cgroup").unwrap_or_default();
    let own = mounts(host, "/proc/self/mountinfo", Path::new("/"));
    let root = PathBuf::from(format!("/proc/{pid}/root"));
    let programs = mounts(host, &format!("/proc/{pid}/mountinfo"), &root);
    let find = |name| hierarchy(&memberships, &own, name).or_else(|| hierarchy(&memberships, &programs, name));
    let (cpu, memory) = (find("cpu"), find("memory"));
    if cpu.is_none() && memory.is_none() {
        groups.notes.push("no control group of this process is visible, so quotas and throttling are unknown".into());
    }
    for (mount, path) in cpu.into_iter().chain(memory) {
        if mount.root.contains("/..") || path.starts_with("/..") {
            let note = format!(
                "control groups outside of {} are hidden (cgroup namespace): quotas there are not seen",
                mount.point.display()
            );
            groups.note(note);
        }
        climb(host, &mount, &path, &mut groups);
    }
    groups
}

/// The hierarchies mounted for the process whose table `mountinfo` is, below
/// what is `root` to it.
fn mounts(host: &Host, mountinfo: &str, root: &Path) -> Vec<Mount> {
    let table = host.text(mountinfo).unwrap_or_default();
    let found = table.lines().filter_map(mount);
    found
        .map(|mount| Mount { point: root.join(mount.point.strip_prefix("/").unwrap_or(&mount.point)), ..mount })
        .collect()
}

/// `36 25 0:31 /root /mount/point rw - cgroup2 cgroup rw`.
fn mount(line: &str) -> Option<Mount> {
    let (left, right) = line.split_once(" - ")?;
    let mut left = left.split(' ').skip(3);
    let (root, point) = (left.next()?, left.next()?);
    let mut right = right.split(' ');
    let version = match right.next()? {
        "cgroup2" => 2,
        "cgroup" => 1,
        _ => return None,
    };
    let options = right.nth(1).unwrap_or("").to_owned();
    Some(Mount { root: unescaped(root), point: unescaped(point).into(), version, options })
}

/// mountinfo writes blanks as `\040`.
fn unescaped(text: &str) -> String {
    text.replace("\\040", " ").replace("\\011", "\t").replace("\\134", "\\")
}

/// The hierarchy that controls `controller`, with the process's path in it.
fn hierarchy(memberships: &str, mounts: &[Mount], controller: &str) -> Option<(Mount, String)> {
    // One hierarchy can be mounted in several places: one that shows the group is best.
    let best = |path: &str, wanted: &dyn Fn(&Mount) -> bool| {
        let shows = mounts.iter().find(|mount| wanted(mount) && mount.inside(path).is_some());
        shows.or_else(|| mounts.iter().find(|mount| wanted(mount))).cloned()
    };
    let v1 = memberships.lines().find_map(|line| {
        let (_, controllers, path) = membership(line)?;
        let named = controllers.split(',').any(|name| name == controller);
        let mount = named.then(|| best(&path, &|mount| mount.controls(controller)))?;
        Some((mount?, path))
    });
    v1.or_else(|| {
        let path = memberships.lines().filter_map(membership).find(|(id, names, _)| *id == "0" && names.is_empty())?.2;
        Some((best(&path, &|mount| mount.version == 2)?, path))
    })
}

fn membership(line: &str) -> Option<(&str, &str, String)> {
    let mut parts = line.splitn(3, ':');
    Some((parts.next()?, parts.next()?, parts.next()?.to_owned()))
}

/// Adds every level from the process's own group up to the mount's root.
fn climb(host: &Host, mount: &Mount, path: &str, groups: &mut Groups) {
    let inside = mount.inside(path);
    let inside = inside.unwrap_or_else(|| {
        if !mount.root.contains("/..") && path != "/" {
            groups
                .note(format!("the group {path} lies outside of what is mounted here: only the mount's root is read"));
        }
        "/"
    });
    let mut inside = Path::new(inside.trim_start_matches('/')).to_owned();
    loop {
        let folder = host.path(mount.point.join(&inside));
        let name = format!("/{}", inside.display());
        if folder.is_dir() {
            add(level(mount, &name, &folder), groups);
        }
        if !inside.pop() {
            return;
        }
    }
}

/// Levels of the same name in two v1 hierarchies are one entry.
fn add(level: Level, groups: &mut Groups) {
    let known = groups.levels.iter_mut().find(|known| known.group.path == level.group.path);
    let Some(known) = known.filter(|known| known.group.version == level.group.version) else {
        groups.levels.push(level);
        return;
    };
    known.cpu_stat = known.cpu_stat.take().or(level.cpu_stat);
    known.memory = known.memory.take().or(level.memory);
    known.oom = known.oom.take().or(level.oom);
    known.group.memory_limit_bytes = known.group.memory_limit_bytes.or(level.group.memory_limit_bytes);
    if known.group.quota_cpus.is_none() {
        known.group.quota_cpus = level.group.quota_cpus;
        known.group.period_ns = level.group.period_ns;
        known.group.quota_path = level.group.quota_path;
    }
}

fn level(mount: &Mount, name: &str, folder: &Path) -> Level {
    let read = |file: &str| std::fs::read_to_string(folder.join(file)).ok();
    let (quota, memory_file, oom_file, limits) = if mount.version == 2 {
        (quota_v2(read("cpu.max")), "memory.current", "memory.events", ["memory.max", "memory.high"])
    } else {
        let quota = quota_v1(read("cpu.cfs_quota_us"), read("cpu.cfs_period_us"));
        (quota, "memory.usage_in_bytes", "memory.oom_control", ["memory.limit_in_bytes", "memory.soft_limit_in_bytes"])
    };
    let quota_file = if mount.version == 2 { "cpu.max" } else { "cpu.cfs_quota_us" };
    let existing = |file: &str| Some(folder.join(file)).filter(|path| path.is_file());
    let throttles = read("cpu.stat").is_some_and(|text| procfs::number(&text, "nr_throttled").is_some());
    let hard_limits = if mount.version == 2 { &limits[..] } else { &limits[..1] };
    let limit = hard_limits.iter().filter_map(|file| memory_limit(&read(file)?)).min();
    Level {
        group: Group {
            path: name.to_owned(),
            version: mount.version,
            quota_cpus: quota.map(|(cpus, _)| cpus),
            period_ns: quota.map(|(_, period)| period),
            quota_path: quota.and(Some(folder.join(quota_file).display().to_string())),
            memory_limit_bytes: limit,
        },
        cpu_stat: existing("cpu.stat").filter(|_| throttles),
        memory: existing(memory_file),
        oom: existing(oom_file),
    }
}

/// `50000 100000` or `max 100000`: CPUs and period.
fn quota_v2(text: Option<String>) -> Option<(f64, u64)> {
    let text = text?;
    let mut words = text.split_ascii_whitespace();
    let quota = words.next()?.parse().ok()?;
    quota_of(quota, words.next()?.parse().ok()?)
}

fn quota_v1(quota: Option<String>, period: Option<String>) -> Option<(f64, u64)> {
    let quota = quota?.trim().parse::<i64>().ok().filter(|quota| *quota > 0)?;
    quota_of(quota.unsigned_abs(), period?.trim().parse().ok()?)
}

fn quota_of(quota_us: u64, period_us: u64) -> Option<(f64, u64)> {
    (period_us > 0).then(|| (quota_us as f64 / period_us as f64, period_us.saturating_mul(1000)))
}

/// Bytes; "max" and v1's huge default are no limit.
fn memory_limit(text: &str) -> Option<u64> {
    text.trim().parse::<u64>().ok().filter(|limit| *limit < 1 << 60)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    struct Tree(tempfile::TempDir);

    impl Tree {
        fn new(cgroup: &str, mountinfo: &str) -> Tree {
            let tree = Tree(tempfile::tempdir().unwrap());
            tree.write("proc/7/cgroup", cgroup);
            tree.write("proc/self/mountinfo", mountinfo);
            tree
        }

        fn write(&self, path: &str, text: &str) {
            let path = self.0.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }

        fn groups(&self) -> Groups {
            of_process(&Host::at(self.0.path()), 7)
        }
    }

    const V2: &str = "30 25 0:26 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw\n";

    #[test]
    fn every_ancestor_of_a_v2_group_is_read() {
        let tree = Tree::new("0::/pods/app\n", V2);
        tree.write("sys/fs/cgroup/cgroup.procs", "");
        tree.write("sys/fs/cgroup/pods/cpu.max", "150000 100000\n");
        tree.write("sys/fs/cgroup/pods/cpu.stat", "usage_usec 5\nnr_periods 1\nnr_throttled 0\nthrottled_usec 0\n");
        tree.write("sys/fs/cgroup/pods/app/cpu.max", "max 100000\n");
        tree.write("sys/fs/cgroup/pods/app/memory.max", "1048576\n");
        tree.write("sys/fs/cgroup/pods/app/memory.events", "oom 1\noom_kill 3\n");
        let groups = tree.groups();
        let paths: Vec<_> = groups.levels.iter().map(|level| level.group.path.as_str()).collect();
        assert_eq!(paths, ["/pods/app", "/pods", "/"]);
        assert_eq!(groups.quota_cpus(), Some(1.5));
        assert_eq!(groups.levels[0].group.quota_cpus, None);
        assert_eq!(groups.levels[0].group.memory_limit_bytes, Some(1 << 20));
        assert_eq!(groups.levels[1].group.period_ns, Some(100_000_000));
        assert!(groups.levels[1].cpu_stat.is_some() && groups.levels[0].cpu_stat.is_none());
        assert_eq!(groups.oom_kills(), 3);
    }

    #[test]
    fn a_v1_cpu_controller_beats_v2_whatever_the_list_looks_like() {
        for list in ["1:cpu:/", "3:cpu,cpuacct:/", "4:cpuacct,cpu:/"] {
            let tree = Tree::new(
                &format!("{list}x\n0::/init.scope\n"),
                &format!("{V2}31 25 0:27 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu,cpuacct\n"),
            );
            tree.write("sys/fs/cgroup/cpu/x/cpu.cfs_quota_us", "50000\n");
            tree.write("sys/fs/cgroup/cpu/x/cpu.cfs_period_us", "100000\n");
            tree.write("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n");
            let groups = tree.groups();
            assert_eq!(groups.quota_cpus(), Some(0.5), "{list}");
            let first = &groups.levels[0].group;
            assert_eq!((first.path.as_str(), first.version), ("/x", 1));
            assert!(first.quota_path.as_ref().unwrap().ends_with("cpu/x/cpu.cfs_quota_us"));
        }
    }

    #[test]
    fn two_v1_hierarchies_with_one_path_are_one_level() {
        let tree = Tree::new(
            "2:memory:/a\n3:cpu:/a\n",
            "31 25 0:27 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n32 25 0:28 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n",
        );
        tree.write("sys/fs/cgroup/cpu/a/cpu.cfs_quota_us", "200000");
        tree.write("sys/fs/cgroup/cpu/a/cpu.cfs_period_us", "100000");
        tree.write("sys/fs/cgroup/memory/a/memory.limit_in_bytes", "4096");
        tree.write("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712");
        let groups = tree.groups();
        assert_eq!(groups.levels.len(), 2);
        assert_eq!(groups.levels[0].group.quota_cpus, Some(2.0));
        assert_eq!(groups.levels[0].group.memory_limit_bytes, Some(4096));
        assert_eq!(groups.levels[1].group.memory_limit_bytes, None);
    }

    #[test]
    fn a_mount_root_is_stripped_and_hidden_ancestors_are_said() {
        let tree = Tree::new("0::/docker/abc/in\n", "30 25 0:26 /docker/abc /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
        tree.write("sys/fs/cgroup/in/cpu.max", "1000 100000");
        let groups = tree.groups();
        assert_eq!(groups.quota_cpus(), Some(0.01));
        assert_eq!(groups.levels.len(), 2);
        let hidden = Tree::new("0::/\n", "30 25 0:26 /../.. /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
        hidden.write("sys/fs/cgroup/cpu.max", "50000 100000");
        let groups = hidden.groups();
        assert!(groups.notes.iter().any(|note| note.contains("hidden")));
        assert_eq!(groups.quota_cpus(), Some(0.5));
    }

    #[test]
    fn a_program_whose_root_has_no_groups_mounted_is_followed_by_the_recorders_own() {
        let tree = Tree::new("0::/pods/app\n", V2);
        tree.write("proc/7/mountinfo", "1 1 0:5 / / rw - overlay overlay rw\n");
        tree.write("sys/fs/cgroup/pods/cpu.max", "150000 100000\n");
        tree.write("sys/fs/cgroup/pods/app/cgroup.procs", "");
        assert_eq!(tree.groups().quota_cpus(), Some(1.5));
        // In a container the same path shows another part of the hierarchy.
        tree.write("proc/7/mountinfo", &V2.replace(" / /sys", " /pods/app /sys"));
        assert_eq!(tree.groups().quota_cpus(), Some(1.5));
    }

    #[test]
    fn a_recorder_without_mounts_of_its_own_looks_through_the_programs_root() {
        let tree = Tree::new("0::/app\n", "");
        tree.write("proc/7/mountinfo", V2);
        tree.write("proc/7/root/sys/fs/cgroup/app/cpu.max", "50000 100000\n");
        let groups = tree.groups();
        assert_eq!((groups.quota_cpus(), groups.levels.len()), (Some(0.5), 2));
    }

    #[test]
    fn the_mount_that_shows_the_group_is_taken_and_one_elsewhere_said() {
        let both = format!("29 25 0:26 /other /mnt rw - cgroup2 cgroup2 rw\n{V2}");
        let tree = Tree::new("0::/app\n", &both);
        tree.write("sys/fs/cgroup/app/cpu.max", "50000 100000\n");
        assert_eq!(tree.groups().quota_cpus(), Some(0.5));
        let outside = Tree::new("0::/../other\n", V2);
        outside.write("sys/fs/cgroup/cgroup.procs", "");
        assert!(outside.groups().notes.iter().any(|note| note.contains("hidden")));
        let namesake =
            Tree::new("0::/docker/abcd\n", "30 25 0:26 /docker/abc /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
        assert!(namesake.groups().notes.iter().any(|note| note.contains("outside")));
    }

    #[test]
    fn nothing_to_see_is_said() {
        assert!(Tree::new("", "").groups().notes[0].contains("unknown"));
        assert!(Tree::new("garbage\n:::\n", "x - cgroup2\n").groups().levels.is_empty());
    }
}
