//! Groups found in trees that the tests make.

use super::*;
use std::fs;

struct CgroupTree(tempfile::TempDir);

impl CgroupTree {
    fn new(cgroup: &str, mountinfo: &str) -> CgroupTree {
        let tree = CgroupTree(tempfile::tempdir().unwrap());
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
    let tree = CgroupTree::new("0::/pods/app\n", V2);
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
        let tree = CgroupTree::new(
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
    let tree = CgroupTree::new(
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
fn a_mount_root_is_stripped_and_hidden_ancestors_are_reported() {
    let tree =
        CgroupTree::new("0::/docker/abc/in\n", "30 25 0:26 /docker/abc /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
    tree.write("sys/fs/cgroup/in/cpu.max", "1000 100000");
    let groups = tree.groups();
    assert_eq!(groups.quota_cpus(), Some(0.01));
    assert_eq!(groups.levels.len(), 2);
    let hidden = CgroupTree::new("0::/\n", "30 25 0:26 /../.. /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
    hidden.write("sys/fs/cgroup/cpu.max", "50000 100000");
    let groups = hidden.groups();
    assert!(groups.notes.iter().any(|note| note.contains("hidden")));
    assert_eq!(groups.quota_cpus(), Some(0.5));
}

#[test]
fn a_program_whose_root_has_no_groups_mounted_is_followed_by_the_recorders_own() {
    let tree = CgroupTree::new("0::/pods/app\n", V2);
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
    let tree = CgroupTree::new("0::/app\n", "");
    tree.write("proc/7/mountinfo", V2);
    tree.write("proc/7/root/sys/fs/cgroup/app/cpu.max", "50000 100000\n");
    let groups = tree.groups();
    assert_eq!((groups.quota_cpus(), groups.levels.len()), (Some(0.5), 2));
}

#[test]
fn the_mount_that_shows_the_group_is_used_and_one_elsewhere_reported() {
    let both = format!("29 25 0:26 /other /mnt rw - cgroup2 cgroup2 rw\n{V2}");
    let tree = CgroupTree::new("0::/app\n", &both);
    tree.write("sys/fs/cgroup/app/cpu.max", "50000 100000\n");
    assert_eq!(tree.groups().quota_cpus(), Some(0.5));
    let outside = CgroupTree::new("0::/../other\n", V2);
    outside.write("sys/fs/cgroup/cgroup.procs", "");
    assert!(outside.groups().notes.iter().any(|note| note.contains("hidden")));
    let namesake =
        CgroupTree::new("0::/docker/abcd\n", "30 25 0:26 /docker/abc /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
    assert!(namesake.groups().notes.iter().any(|note| note.contains("outside")));
}

#[test]
fn missing_groups_are_reported() {
    assert!(CgroupTree::new("", "").groups().notes[0].contains("unknown"));
    assert!(CgroupTree::new("garbage\n:::\n", "x - cgroup2\n").groups().levels.is_empty());
}
