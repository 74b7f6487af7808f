//! Mistakes that other programs made when they determined what a process may use, each
//! as a tree for which their way gives a wrong answer. Refuses to test anything else.

use testkit::tree;

use tree::{Tree, V2, noted, source};

/// Go 1.25 reads only the limit of the process's own group (golang/go#81180): a parent
/// that limits an unlimited child is not seen.
#[test]
fn go_reads_the_leaf_only() {
    let tree = Tree::four_cores();
    tree.groups("0::/pod/app\n", V2)
        .group("cgroup.procs", "")
        .group("pod/cpu.max", "50000 100000")
        .group("pod/memory.high", "1073741824")
        .group("pod/app/cpu.max", "max 100000")
        .group("pod/app/memory.max", "max");
    let found = tree.resources();
    assert_eq!(found.quota_cpus, Some(0.5));
    assert_eq!(found.quota_path.as_deref(), Some("/sys/fs/cgroup/pod/cpu.max"));
    assert_eq!((found.memory_limit_bytes, found.memory_limited), (Some(1 << 30), true));
    assert_eq!(found.memory_limit_path.as_deref(), Some("/sys/fs/cgroup/pod/memory.high"));
    assert!(!found.ancestors_hidden);
}

/// Go never goes below two CPUs if a quota is smaller (golang/go#74283), and rounds:
/// the quota is reported unchanged, however small.
#[test]
fn go_takes_two_cpus_at_least() {
    let tree = Tree::four_cores();
    tree.groups("0::/app\n", V2).group("app/cpu.max", "5000 100000");
    assert_eq!(tree.resources().quota_cpus, Some(0.05));
    tree.group("app/cpu.max", "150000 100000");
    assert_eq!(tree.resources().quota_cpus, Some(1.5));
}

/// Rounding each level before the smallest is known gives 2 for both of these, and
/// hides which of them is the tighter.
#[test]
fn rounding_levels_loses_the_smallest() {
    let tree = Tree::four_cores();
    tree.groups("0::/pod/app\n", V2).group("pod/cpu.max", "150001 100000").group("pod/app/cpu.max", "200000 100000");
    let found = tree.resources();
    assert_eq!(found.quota_cpus, Some(1.50001));
    assert_eq!(found.levels[0].quota_cpus, Some(2.0));
    assert_eq!(found.levels[1].period_ns, Some(100_000_000));
}

/// libuv computes the smallest quota of all levels and returns another one: here the
/// smallest is neither the first nor the last level.
#[test]
fn libuv_does_not_use_the_minimum() {
    let tree = Tree::four_cores();
    tree.groups("0::/a/b/c\n", V2)
        .group("a/cpu.max", "400000 100000")
        .group("a/b/cpu.max", "125000 50000")
        .group("a/b/c/cpu.max", "300000 100000");
    let found = tree.resources();
    assert_eq!((found.quota_cpus, found.quota_path.as_deref()), (Some(2.5), Some("/sys/fs/cgroup/a/b/cpu.max")));
}

/// libuv looks for `:cpu,` and misses a v1 hierarchy that has `cpu` alone, and one that
/// lists it last.
#[test]
fn libuv_misses_a_cpu_controller_that_is_alone() {
    for (list, options) in
        [("1:cpu:/x", "cpu"), ("3:cpu,cpuacct:/x", "cpu,cpuacct"), ("4:cpuacct,cpu:/x", "cpuacct,cpu")]
    {
        let tree = Tree::four_cores();
        tree.groups(
            &format!("{list}\n"),
            &format!("31 25 0:27 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,{options}\n"),
        )
        .group("cpu/x/cpu.cfs_quota_us", "250000")
        .group("cpu/x/cpu.cfs_period_us", "100000")
        .group("cpu/cpu.cfs_quota_us", "-1")
        .group("cpu/cpu.cfs_period_us", "100000");
        let found = tree.resources();
        assert_eq!(found.quota_cpus, Some(2.5), "{list}");
        assert_eq!(source(&found, "quota of /x"), Some(("/sys/fs/cgroup/cpu/x/cpu.cfs_quota_us", "250000")));
        assert_eq!(source(&found, "quota of /"), Some(("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1")));
    }
}

/// automaxprocs looks for the v2 hierarchy at `/sys/fs/cgroup` only.
#[test]
fn automaxprocs_knows_one_mount_point() {
    let tree = Tree::four_cores();
    tree.groups("0::/app\n", &V2.replace("/sys/fs/cgroup", "/mnt/control\\040groups"))
        .write("mnt/control groups/app/cpu.max", "50000 100000");
    let found = tree.resources();
    assert_eq!(found.quota_path.as_deref(), Some("/mnt/control groups/app/cpu.max"));
    assert_eq!(found.quota_cpus, Some(0.5));
}

/// automaxprocs gives up if the group's path does not begin with the root of the
/// mount ("not a descendant of mount point root", uber-go/automaxprocs#85), and
/// others join the two: with the prefix stripped the file is found.
#[test]
fn automaxprocs_trips_over_the_root_of_a_mount() {
    let tree = Tree::four_cores();
    tree.groups("0::/docker/abc/in\n", &V2.replace(" / ", " /docker/abc "))
        .group("in/cpu.max", "max 100000")
        .group("cpu.max", "50000 100000");
    let found = tree.resources();
    assert_eq!((found.quota_cpus, found.quota_path.as_deref()), (Some(0.5), Some("/sys/fs/cgroup/cpu.max")));
    assert!(found.ancestors_hidden, "/docker and / are not mounted");

    // By name, the group is not below the mounted one: the mounted group is read, and that is reported.
    let other = Tree::four_cores();
    other.groups("0::/docker/xyz\n", &V2.replace(" / ", " /docker/abc ")).group("cpu.max", "50000 100000");
    let found = other.resources();
    assert_eq!(found.quota_cpus, Some(0.5));
    assert!(found.ancestors_hidden && noted(&found, &["/docker/xyz", "outside"]));

    // A path that merely begins with the same letters is not below it.
    let namesake = Tree::four_cores();
    namesake.groups("0::/docker/abcd\n", &V2.replace(" / ", " /docker/abc ")).group("d/cpu.max", "1000 100000");
    assert_eq!(namesake.resources().quota_cpus, None);
}

/// cgroup-rts-threads fails on hosts that have both v1 and v2; a v1 `cpu` controller is
/// the one that counts there.
#[test]
fn cgroup_rts_threads_fails_on_hybrid_hosts() {
    let tree = Tree::four_cores();
    let mounts = "31 25 0:27 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu,cpuacct\n\
                  32 25 0:28 / /sys/fs/cgroup/systemd rw - cgroup cgroup rw,xattr,name=systemd\n\
                  33 25 0:29 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n";
    tree.groups("3:cpu,cpuacct:/app\n1:name=systemd:/user\n0::/user\n", mounts)
        .group("unified/user/cgroup.events", "populated 1")
        .group("unified/user/memory.max", "2147483648")
        .group("cpu/app/cpu.cfs_quota_us", "50000")
        .group("cpu/app/cpu.cfs_period_us", "100000");
    let found = tree.resources();
    assert_eq!(found.quota_cpus, Some(0.5));
    assert_eq!(found.memory_limit_bytes, Some(2 << 30), "memory is with v2 here");
    let versions: Vec<_> = found.levels.iter().map(|level| (level.path.as_str(), level.version)).collect();
    assert_eq!(versions, [("/app", 1), ("/", 1), ("/user", 2), ("/", 2)]);
}

/// cgroup-rts-threads also reads only the process's own group on v1.
#[test]
fn cgroup_rts_threads_reads_the_v1_leaf_only() {
    let tree = Tree::four_cores();
    tree.groups("1:cpu:/pod/app\n", "31 25 0:27 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n")
        .group("cpu/pod/app/cpu.cfs_quota_us", "-1")
        .group("cpu/pod/app/cpu.cfs_period_us", "100000")
        .group("cpu/pod/cpu.cfs_quota_us", "50000")
        .group("cpu/pod/cpu.cfs_period_us", "100000")
        .group("cpu/pod/cpu.stat", "nr_periods 10\nnr_throttled 7\nthrottled_time 5")
        .group("cpu/pod/app/cpu.stat", "nr_periods 0\nnr_throttled 0\nthrottled_time 0");
    let found = tree.resources();
    assert_eq!(found.quota_cpus, Some(0.5));
    let throttled: Vec<_> = found.levels.iter().map(|level| (level.throttled_periods, level.periods)).collect();
    assert_eq!(throttled, [(Some(0), Some(0)), (Some(7), Some(10)), (None, None)]);
}

/// num_cpus counts the machine's physical cores, whatever the affinity mask leaves of them.
#[test]
fn num_cpus_ignores_the_mask_for_cores() {
    let tree = Tree::four_cores();
    tree.allow("2-3");
    let found = tree.resources();
    assert_eq!((found.cores, &found.siblings), (1, &vec![vec![2, 3]]));
    tree.allow("0,2,4");
    let found = tree.resources();
    assert_eq!((found.cores, &found.siblings), (3, &vec![vec![0], vec![2], vec![4]]));
}

/// Rust's std joins `/` with a mount root of `/../..` after `unshare -C`, and reads the
/// hierarchy's root instead of the process's group. The process is found by its number.
#[test]
fn rust_std_reads_the_wrong_group_in_a_cgroup_namespace() {
    let tree = Tree::four_cores();
    tree.groups("0::/\n", &V2.replace(" / ", " /../.. "))
        .group("cgroup.procs", "1\n2")
        .group("cpu.stat", "usage_usec 1")
        .group("pod/cpu.max", "50000 100000")
        .group("pod/cgroup.procs", "")
        .group("pod/app/cpu.max", "200000 100000")
        .group("pod/app/cgroup.procs", "76\n77\n78")
        .group("other/cpu.max", "1000 100000")
        .group("other/cgroup.procs", "770");
    let found = tree.resources();
    assert_eq!((found.quota_cpus, found.quota_path.as_deref()), (Some(0.5), Some("/sys/fs/cgroup/pod/cpu.max")));
    assert_eq!(found.levels[0].quota_cpus, Some(2.0));
    assert!(!found.ancestors_hidden, "all levels up to the true root were found");
    assert_eq!(
        source(&found, "cpu group of the process, which / does not name").unwrap().0,
        "/sys/fs/cgroup/pod/app/cgroup.procs"
    );

    // Found nowhere: the mounted group is still an ancestor; the levels between are reported as hidden.
    tree.group("pod/app/cgroup.procs", "76");
    let found = tree.resources();
    assert_eq!((found.quota_cpus, found.ancestors_hidden), (None, true));
    assert!(noted(&found, &["hidden", "namespace"]));
}

/// In a container with a namespace of its own all names are `/`, as on a host without
/// groups. The contents of the folder distinguish them.
#[test]
fn a_namespace_that_looks_like_the_root_is_distinguished_from_it() {
    let tree = Tree::four_cores();
    tree.groups("0::/\n", V2).group("cgroup.procs", "77").group("cgroup.controllers", "cpu").group("cpu.stat", "x 1");
    assert!(!tree.resources().ancestors_hidden);
    tree.group("cgroup.events", "populated 1").group("cpu.max", "max 100000");
    let found = tree.resources();
    assert_eq!((found.quota_cpus, found.ancestors_hidden), (None, true));
    assert!(noted(&found, &["/sys/fs/cgroup", "hidden", "cgroup.events"]));

    let v1 = Tree::four_cores();
    v1.groups("1:cpu:/\n", "31 25 0:27 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n")
        .group("cpu/cgroup.procs", "77")
        .group("cpu/cpu.cfs_quota_us", "-1")
        .group("cpu/cpu.cfs_period_us", "100000");
    assert!(v1.resources().ancestors_hidden);
    v1.group("cpu/release_agent", "");
    assert!(!v1.resources().ancestors_hidden);
}

/// The code of article 000 compares the core ids of adjacent CPUs: if siblings are
/// not adjacent (0 and 4 on a common laptop) it counts each twice.
#[test]
fn article_000_compares_adjacent_core_ids() {
    let tree = Tree::of(&[(0, 0, &[0, 4]), (0, 1, &[1, 5]), (0, 2, &[2, 6]), (0, 3, &[3, 7])]);
    let found = tree.resources();
    assert_eq!(found.cores, 4);
    assert_eq!(found.siblings, [[0, 4], [1, 5], [2, 6], [3, 7]]);
}

/// It also ignores packages: on two sockets the core ids are 0,0,1,1,0,0,1,1. Neither
/// with lists of siblings nor without them may equal ids of two packages be one core.
#[test]
fn article_000_ignores_packages() {
    let tree = Tree::of(&[(0, 0, &[0, 1]), (0, 1, &[2, 3]), (1, 0, &[4, 5]), (1, 1, &[6, 7])]);
    let found = tree.resources();
    assert_eq!((found.cores, found.packages), (4, 2));
    for cpu in 0..8 {
        tree.remove(&format!("sys/devices/system/cpu/cpu{cpu}/topology/core_cpus_list"));
        tree.remove(&format!("sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list"));
    }
    let found = tree.resources();
    assert_eq!((found.cores, found.packages), (4, 2));
    assert_eq!(found.siblings, [[0, 1], [2, 3], [4, 5], [6, 7]]);
}

/// As printed it sets the count to the last core id: ids have gaps.
#[test]
fn article_000_takes_the_last_core_id_for_a_count() {
    let tree = Tree::of(&[(0, 0, &[0, 1]), (0, 8, &[2, 3]), (0, 24, &[4, 5])]);
    assert_eq!(tree.resources().cores, 3);
}
