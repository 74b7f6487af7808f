//! The rules of `docs/machine.md`, on trees that the tests make: the sources of each
//! figure, what is used if files are missing, broken or contradict each other, and that
//! this is reported. Refuses the mistakes of others, which have a file.

use testkit::tree;

use rtscope_host::procfs::Host;
use rtscope_host::resources;
use rtscope_model::resources::Resources;
use tree::{Tree, V2, list, noted, source};

fn topology(tree: &Tree, cpus: std::ops::Range<u32>, name: &str) {
    for cpu in cpus {
        tree.remove(&format!("sys/devices/system/cpu/cpu{cpu}/topology/{name}"));
    }
}

#[test]
fn older_kernels_have_another_list_of_siblings_and_that_is_no_fault() {
    let tree = Tree::four_cores();
    topology(&tree, 0..8, "core_cpus_list");
    let found = tree.resources();
    assert_eq!(found.cores, 4);
    assert!(source(&found, "siblings of cpu2").unwrap().0.ends_with("cpu2/topology/thread_siblings_list"));
    assert!(!found.notes.iter().any(|note| note.contains("core")), "{:?}", found.notes);
}

#[test]
fn without_any_topology_each_cpu_counts_and_it_is_reported() {
    let tree = Tree::four_cores();
    for cpu in 0..8 {
        tree.remove(&format!("sys/devices/system/cpu/cpu{cpu}/topology"));
    }
    let found = tree.resources();
    assert_eq!((found.cores, found.packages, found.numa_nodes), (8, 1, 1));
    assert!(noted(&found, &["no topology", "core of its own"]));
    assert!(noted(&found, &["package of CPUs 0-7"]));
}

#[test]
fn core_ids_alone_are_never_enough() {
    let tree = Tree::four_cores();
    for name in ["core_cpus_list", "thread_siblings_list", "physical_package_id"] {
        topology(&tree, 0..8, name);
    }
    let found = tree.resources();
    assert_eq!(found.cores, 8);
    assert!(noted(&found, &["physical_package_id is not there", "core of its own"]));
}

#[test]
fn dies_of_one_package_repeat_core_ids_too() {
    let tree = Tree::of(&[(0, 0, &[0, 1]), (0, 1, &[2, 3])]);
    for name in ["core_cpus_list", "thread_siblings_list"] {
        topology(&tree, 0..4, name);
    }
    tree.cpu(2, "topology/core_id", "0").cpu(3, "topology/core_id", "0");
    assert_eq!(tree.resources().cores, 1);
    tree.cpu(2, "topology/die_id", "1").cpu(3, "topology/die_id", "1");
    assert_eq!(tree.resources().siblings, [[0, 1], [2, 3]]);
}

#[test]
fn lists_that_contradict_each_other_are_not_believed() {
    // CPU 1's list contradicts CPU 0's: ids decide.
    let tree = Tree::four_cores();
    tree.cpu(1, "topology/core_cpus_list", "1").cpu(1, "topology/thread_siblings_list", "1");
    let found = tree.resources();
    assert_eq!(found.cores, 4);
    assert!(noted(&found, &["core_cpus_list of CPU 0 and of CPU 1 contradict", "package, die and core id"]));
    // A list without its own CPU, a broken one, one that is missing for one CPU only.
    for (text, words) in [("2-3", "leaves out CPU 0"), ("0-,1", "no CPU number"), ("0-4294967295", "beyond CPU 65535")]
    {
        let tree = Tree::four_cores();
        tree.cpu(0, "topology/core_cpus_list", text);
        let found = tree.resources();
        assert_eq!(found.cores, 4);
        assert!(noted(&found, &[words, "thread_siblings_list"]), "{:?}", found.notes);
    }
    let tree = Tree::four_cores();
    topology(&tree, 3..4, "core_cpus_list");
    assert!(noted(&tree.resources(), &["cpu3/topology/core_cpus_list is not there"]));
    // Siblings in two packages.
    let tree = Tree::four_cores();
    tree.cpu(1, "topology/physical_package_id", "1");
    let found = tree.resources();
    assert_eq!((found.cores, found.packages), (4, 2));
    assert!(noted(&found, &["CPUs 0-1 share a core", "packages"]));
}

#[test]
fn with_threads_switched_off_the_siblings_have_no_folder() {
    let tree = Tree::of(&[(0, 0, &[0]), (0, 1, &[2]), (0, 2, &[4]), (0, 3, &[6])]);
    tree.allow("0-7");
    let found = tree.resources();
    assert_eq!((found.cpus_allowed.as_slice(), found.cores), ([0, 2, 4, 6].as_slice(), 4));
    assert!(noted(&found, &["not online (1,3,5,7)"]));
}

#[test]
fn two_sockets_with_a_node_each() {
    let tree = Tree::of(&[(0, 0, &[0, 4]), (1, 0, &[1, 5]), (0, 1, &[2, 6]), (1, 1, &[3, 7])]);
    tree.write("sys/devices/system/node/node0/cpulist", "0,2,4,6");
    tree.write("sys/devices/system/node/node1/cpulist", "1,3,5,7");
    tree.write("sys/devices/system/node/node2/cpulist", "");
    tree.write("sys/devices/system/node/possible", "0-2");
    let found = tree.resources();
    assert_eq!((found.packages, found.numa_nodes, found.cores), (2, 2, 4));
    let places: Vec<_> = found.cpus.iter().map(|place| (place.cpu, place.core, place.package, place.node)).collect();
    assert_eq!(places[..4], [(0, 0, 0, 0), (1, 2, 1, 1), (2, 1, 0, 0), (3, 3, 1, 1)]);
    assert_eq!(source(&found, "CPUs of node 1"), Some(("/sys/devices/system/node/node1/cpulist", "1,3,5,7")));
    tree.allow("0,2,4");
    let found = tree.resources();
    assert_eq!((found.packages, found.numa_nodes, found.cores, found.cpus.len()), (1, 1, 2, 8));
    tree.write("sys/devices/system/node/node1/cpulist", "0-1");
    assert!(noted(&tree.resources(), &["CPU 0 is in nodes 0 and 1"]));
    tree.write("sys/devices/system/node/node1/cpulist", "one");
    let found = tree.resources();
    assert!(noted(&found, &["node1/cpulist says `one`"]) && noted(&found, &["CPUs 1,3,5,7 are in no NUMA node"]));
}

#[test]
fn kinds_of_core_are_reported_where_they_differ() {
    let tree = Tree::of(&[(0, 0, &[0, 1]), (0, 8, &[2]), (0, 9, &[3])]);
    assert!(tree.resources().kinds.is_empty());
    tree.write("sys/devices/cpu_core/cpus", "0-1").write("sys/devices/cpu_atom/cpus", "2-3");
    tree.allow("1-3");
    let found = tree.resources();
    let kinds: Vec<_> = found.kinds.iter().map(|kind| (kind.name.as_str(), kind.cpus.as_slice())).collect();
    assert_eq!(kinds, [("performance", [1].as_slice()), ("efficient", &[2, 3])]);
    assert_eq!(source(&found, "efficient cores"), Some(("/sys/devices/cpu_atom/cpus", "2-3")));
    tree.write("sys/devices/cpu_atom/cpus", "2");
    assert!(noted(&tree.resources(), &["kind of core of CPUs 3 is not known"]));
}

#[test]
fn an_arm_machine_shows_kinds_by_capacity_and_may_lack_packages() {
    let tree = Tree::of(&[(0, 0, &[0]), (0, 1, &[1]), (0, 2, &[2]), (0, 3, &[3])]);
    for (cpu, capacity) in [(0, "446"), (1, "446"), (2, "1024"), (3, "1024")] {
        tree.cpu(cpu, "cpu_capacity", capacity).cpu(cpu, "topology/physical_package_id", "-1");
    }
    let found = tree.resources();
    let kinds: Vec<_> = found.kinds.iter().map(|kind| (kind.name.as_str(), kind.cpus.as_slice())).collect();
    assert_eq!(kinds, [("1024", [2, 3].as_slice()), ("446", &[0, 1])]);
    assert_eq!((found.cores, found.packages), (4, 1));
    assert!(noted(&found, &["package of CPUs 0-3 is not known"]));
    tree.cpu(0, "cpu_capacity", "1024").cpu(1, "cpu_capacity", "1024");
    assert!(tree.resources().kinds.is_empty());
}

fn with_caches() -> Tree {
    let tree = Tree::four_cores();
    for cpu in 0..8 {
        let pair = format!("{}-{}", cpu / 2 * 2, cpu / 2 * 2 + 1);
        tree.cache(cpu, 0, (1, "Data", "32K", &pair)).cache(cpu, 1, (1, "Instruction", "32K", &pair));
        tree.cache(cpu, 2, (2, "Unified", "1024K", &pair)).cache(cpu, 3, (3, "Unified", "16M", "0-7"));
    }
    tree
}

fn caches(found: &Resources) -> Vec<(u32, &str, u64, u64, u32)> {
    let cache =
        |cache: &rtscope_model::resources::Cache| (cache.level, cache.size_bytes, cache.share_bytes, cache.count);
    let all = found.caches.iter().map(|found| (cache(found), found.kind.as_str()));
    all.map(|((level, size, share, count), kind)| (level, kind, size >> 10, share >> 10, count)).collect()
}

#[test]
fn a_worker_has_its_share_of_each_cache() {
    let tree = with_caches();
    let found = tree.resources();
    let expected = [
        (1, "Data", 32, 16, 4),
        (1, "Instruction", 32, 16, 4),
        (2, "Unified", 1024, 512, 4),
        (3, "Unified", 16384, 2048, 1),
    ];
    assert_eq!(caches(&found), expected);
    let pairs: Vec<_> = found.caches[2].each.iter().map(|one| one.cpus.as_slice()).collect();
    assert_eq!(pairs, [[0, 1], [2, 3], [4, 5], [6, 7]]);
    // Cores of another kind have other sizes: the smallest represents all, each keeps its own.
    tree.cpu(6, "cache/index2/size", "2M").cpu(7, "cache/index2/size", "2M");
    let sizes: Vec<_> = tree.resources().caches[2].each.iter().map(|one| one.size_bytes >> 10).collect();
    assert_eq!((sizes, tree.resources().caches[2].size_bytes), (vec![1024, 1024, 1024, 2048], 1 << 20));
    tree.cpu(6, "cache/index2/size", "1024K").cpu(7, "cache/index2/size", "1024K");
    assert_eq!(source(&found, "size of the level 3 Unified cache").unwrap().1, "16M");
    // Only allowed CPUs take a share, and the smallest share counts.
    tree.allow("0,2-3");
    let found = tree.resources();
    assert_eq!(caches(&found)[2..], [(2, "Unified", 1024, 512, 2), (3, "Unified", 16384, 5461, 1)]);
    assert_eq!(source(&found, "CPUs that share a level 2 Unified cache").unwrap().1, "2-3");
    tree.allow("0,2");
    assert_eq!(caches(&tree.resources())[2..], [(2, "Unified", 1024, 1024, 2), (3, "Unified", 16384, 8192, 1)]);
}

#[test]
fn a_cache_that_is_not_described_is_left_out_and_reported() {
    let tree = with_caches();
    for cpu in 0..8 {
        tree.remove(&format!("sys/devices/system/cpu/cpu{cpu}/cache/index2/size"));
    }
    let found = tree.resources();
    assert_eq!(found.caches.iter().map(|cache| cache.level).collect::<Vec<_>>(), [1, 1, 3]);
    assert!(noted(&found, &["cpu0/cache/index2/size is not there", "left out (and 7 more)"]));
    for (file, text) in [("size", "0K"), ("size", "big"), ("type", "Odd"), ("level", "-1"), ("shared_cpu_list", "5")] {
        let tree = with_caches();
        tree.cpu(0, &format!("cache/index3/{file}"), text);
        let found = tree.resources();
        assert_eq!(caches(&found).last(), Some(&(3, "Unified", 16384, 2048, 1)), "the others still show it");
        assert!(noted(&found, &["cpu0/cache/index3", text, "left out"]), "{:?}", found.notes);
    }
    let tree = with_caches();
    tree.cpu(1, "cache/index2/shared_cpu_list", "1-2");
    assert!(noted(&tree.resources(), &["level 2 unified caches", "contradict"]));
    assert!(noted(&Tree::small().resources(), &["no caches"]));
}

#[test]
fn cpu_numbers_are_not_small() {
    let cores: Vec<(u32, u32, Vec<u32>)> =
        (0..1200).map(|core| (core / 600, core % 600, vec![core, core + 4000])).collect();
    let cores: Vec<_> = cores.iter().map(|(package, core, cpus)| (*package, *core, cpus.as_slice())).collect();
    let tree = Tree::of(&cores);
    let found = tree.resources();
    assert_eq!((found.cpus_allowed.len(), found.cores, found.packages), (2400, 1200, 2));
    tree.allow("1199,5199,5198");
    let found = tree.resources();
    assert_eq!((found.cores, &found.siblings), (2, &vec![vec![1199, 5199], vec![5198]]));
}

#[test]
fn a_mask_has_two_forms_and_an_empty_one_is_not_believed() {
    let tree = Tree::four_cores();
    tree.write("proc/self/status", "Cpus_allowed:\t00000000,0000000c\nCpus_allowed_list:\t2-");
    let found = tree.resources();
    assert_eq!(found.cpus_allowed, [2, 3]);
    assert_eq!(source(&found, "cpus_allowed"), Some(("/proc/self/status", "Cpus_allowed: 00000000,0000000c")));
    assert!(noted(&found, &["Cpus_allowed_list", "`2-`"]));
    for status in ["Cpus_allowed:\t0\nCpus_allowed_list:\t", "Name:\tx", "\0\u{fffd}garbage"] {
        tree.write("proc/self/status", status);
        let found = tree.resources();
        assert_eq!(found.cpus_allowed, (0..8).collect::<Vec<_>>());
        assert!(noted(&found, &["no affinity mask", "online is taken"]), "{:?}", found.notes);
    }
    tree.allow("100-200");
    let found = tree.resources();
    assert_eq!(found.cpus_allowed.len(), 101);
    assert!(noted(&found, &["100-200", "no CPU in common"]));
}

#[test]
fn what_is_online_may_be_unknown() {
    let tree = Tree::four_cores();
    for text in ["", "0-4294967295", "all"] {
        tree.write("sys/devices/system/cpu/online", text);
        let found = tree.resources();
        assert_eq!((found.cpus_allowed.len(), found.cores, found.cpus_online.len()), (8, 4, 0));
        assert!(noted(&found, &["which CPUs are online is unknown"]));
    }
    tree.remove("proc/self/status").remove("sys/devices/system/cpu/online");
    let found = tree.resources();
    assert_eq!(found.cpus_allowed.len(), 8, "folders of CPUs are left");
    assert!(noted(&found, &["folder in /sys"]));
}

#[test]
fn an_empty_tree_has_notes_instead_of_figures() {
    let root = tempfile::tempdir().unwrap();
    let found = resources::of(&Host::at(root.path()), None);
    assert!(found.cpus_allowed.is_empty() && found.sources.is_empty() && !found.ancestors_hidden);
    assert_eq!((found.cores, found.memory_limit_bytes, found.quota_cpus), (0, None, None));
    assert!(noted(&found, &["no CPU is known"]) && noted(&found, &["memory is unknown"]));
    assert!(noted(&found, &["quotas and throttling are unknown"]));
    let found = resources::of(&Host::at(root.path().join("none")), Some(4));
    assert!(noted(&found, &["/proc/4/status"]));
}

#[test]
fn quotas_that_no_kernel_sets_are_reported_and_taken_as_none() {
    let tree = Tree::four_cores();
    tree.groups("0::/a/b\n", V2).group("a/cpu.max", "300000 100000");
    let bad = [
        ("0 100000", "0 in it"),
        ("50000 0", "0 in it"),
        ("99999999999999999999999 100000", "too large"),
        ("-5 100000", "not a quota"),
        ("fast", "not a quota"),
        ("1 2 3", "not a quota"),
        ("", "not a quota"),
    ];
    for (text, words) in bad {
        tree.group("a/b/cpu.max", text);
        let found = tree.resources();
        assert_eq!(found.quota_cpus, Some(3.0), "{text}");
        assert!(noted(&found, &["/sys/fs/cgroup/a/b/cpu.max", words, "no quota"]), "{text}: {:?}", found.notes);
    }
    tree.group("a/b/cpu.max", "max 100000").group("a/cpu.max", "max");
    let found = tree.resources();
    assert_eq!((found.quota_cpus, found.quota_path), (None, None));
    assert!(!found.notes.iter().any(|note| note.contains("cpu.max")));
    // The largest number that fits is valid like any other.
    tree.group("a/cpu.max", "18446744073709551615 1");
    assert_eq!(tree.resources().quota_cpus, Some(18446744073709551615.0));
}

#[test]
fn v1_quotas_have_a_separate_period() {
    let tree = Tree::four_cores();
    tree.groups("2:cpu:/a\n", "31 25 0:27 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n");
    for (quota, period, words) in [
        ("50000", None, "no period"),
        ("50000", Some("0"), "0 in it"),
        ("0", Some("100000"), "0 in it"),
        ("-7", Some("100000"), "not a quota"),
        ("50000", Some("x"), "not a quota"),
    ] {
        tree.group("cpu/a/cpu.cfs_quota_us", quota);
        if let Some(period) = period {
            tree.group("cpu/a/cpu.cfs_period_us", period);
        }
        let found = tree.resources();
        assert_eq!(found.quota_cpus, None);
        assert!(noted(&found, &["cpu.cfs_quota_us", words]), "{quota} {period:?}: {:?}", found.notes);
    }
    tree.group("cpu/a/cpu.cfs_quota_us", "-1");
    let found = tree.resources();
    assert!(found.quota_cpus.is_none() && !found.notes.iter().any(|note| note.contains("quota_us")));
}

#[test]
fn memory_is_the_smallest_of_levels_and_machine() {
    let v1 = "32 25 0:28 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n";
    let tree = Tree::four_cores();
    tree.groups("2:memory:/a\n", v1).group("memory/a/memory.limit_in_bytes", "9223372036854771712");
    let found = tree.resources();
    assert_eq!((found.memory_limit_bytes, found.memory_limited), (Some(8 << 30), false));
    assert_eq!(found.memory_limit_path.as_deref(), Some("/proc/meminfo"));
    // A limit above the machine's memory limits nothing.
    tree.group("memory/a/memory.limit_in_bytes", "10737418240");
    assert_eq!((tree.resources().memory_limit_bytes, tree.resources().memory_limited), (Some(8 << 30), false));
    tree.group("memory/memory.limit_in_bytes", "4096");
    assert_eq!((tree.resources().memory_limit_bytes, tree.resources().memory_limited), (Some(4096), true));
    for (text, words) in
        [("lots", "no number of bytes"), ("0", "nothing could run"), ("99999999999999999999", "no number")]
    {
        tree.group("memory/memory.limit_in_bytes", text);
        let found = tree.resources();
        assert_eq!(found.memory_limit_bytes, Some(8 << 30));
        assert!(noted(&found, &["/sys/fs/cgroup/memory/memory.limit_in_bytes", words, "no limit"]));
    }
    tree.write("proc/meminfo", "MemTotal: x kB");
    assert!(noted(&tree.resources(), &["MemTotal `x kB`", "unknown"]));
}

/// In a container v1 still says which limit holds over all levels, hidden ones too.
#[test]
fn a_hidden_memory_limit_of_v1_shows_in_memory_stat() {
    let tree = Tree::four_cores();
    tree.groups("2:memory:/pod/app\n", "32 25 0:28 /pod/app /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n")
        .group("memory/memory.limit_in_bytes", "2147483648")
        .group("memory/memory.stat", "cache 5\nhierarchical_memory_limit 1073741824\ntotal_rss 7");
    let found = tree.resources();
    assert!(found.ancestors_hidden);
    assert_eq!((found.memory_limit_bytes, found.levels[0].memory_limit_bytes), (Some(1 << 30), Some(2 << 30)));
    assert_eq!(found.memory_limit_path.as_deref(), Some("/sys/fs/cgroup/memory/memory.stat"));
}

#[test]
fn groups_that_are_not_mounted_or_are_gone_are_reported() {
    let tree = Tree::small();
    tree.groups("3:cpu:/a\n0::/b\n", V2).group("b/cgroup.events", "");
    let found = tree.resources();
    assert!(found.ancestors_hidden && noted(&found, &["cpu limits", "v1", "not mounted"]));
    let gone = Tree::small();
    gone.groups("0::/a/b (deleted)\n", V2).group("a/cpu.max", "50000 100000");
    let found = gone.resources();
    assert_eq!(found.quota_cpus, Some(0.5));
    assert!(noted(&found, &["/sys/fs/cgroup/a/b is not there"]));
    let nowhere = Tree::small();
    nowhere.groups("0::/a\n", "garbage - cgroup2\n\n - \n");
    assert!(nowhere.resources().ancestors_hidden);
}

#[test]
fn a_process_is_taken_by_its_number() {
    let tree = Tree::four_cores();
    tree.write("proc/7/status", "Pid:\t7\nCpus_allowed_list:\t4-5").write("proc/7/cgroup", "0::/seven");
    tree.groups("0::/own\n", V2).group("own/cpu.max", "10000 100000").group("seven/cpu.max", "70000 100000");
    let found = resources::of(&Host::at(tree.root()), Some(7));
    assert_eq!((found.cpus_allowed.as_slice(), found.quota_cpus), ([4, 5].as_slice(), Some(0.7)));
    assert!(found.sources.iter().any(|source| source.path == "/proc/7/status"));
    // A tree with that process's mounts only.
    tree.remove("proc/self/mountinfo").write("proc/7/mountinfo", V2);
    assert_eq!(resources::of(&Host::at(tree.root()), Some(7)).quota_cpus, Some(0.7));
    // A process in a group that is not visible.
    tree.write("proc/7/cgroup", "0::/../../elsewhere");
    let found = resources::of(&Host::at(tree.root()), Some(7));
    assert!(found.ancestors_hidden && found.levels.is_empty() && found.quota_cpus.is_none());
}

#[test]
fn what_is_no_file_is_reported_and_links_do_not_lead_out() {
    let tree = Tree::small();
    tree.groups("0::/a\n", V2).group("a/cpu.max/oops", "");
    let found = tree.resources();
    assert!(noted(&found, &["/sys/fs/cgroup/a/cpu.max cannot be read", "ordinary file"]), "{:?}", found.notes);
    let outside = tempfile::tempdir().unwrap();
    std::fs::write(outside.path().join("cpu.max"), "10000 100000\n").unwrap();
    std::os::unix::fs::symlink(outside.path(), tree.path("sys/fs/cgroup/b")).unwrap();
    tree.groups("0::/b\n", V2);
    assert_eq!(tree.resources().quota_cpus, None);
    // A name with dots in it cannot climb either.
    let way = "../".repeat(40) + outside.path().to_str().unwrap().trim_start_matches('/');
    tree.groups(&format!("0::/x/{way}\n"), V2);
    assert_eq!(tree.resources().quota_cpus, None);
}

#[test]
fn garbage_everywhere_gives_notes_and_no_figures() {
    let tree = with_caches();
    tree.groups("0::/a\n", V2)
        .group("a/cpu.max", "1 1")
        .group("a/memory.max", "1")
        .group("a/cpu.stat", "nr_throttled 1");
    let mut files = vec![tree.root().to_owned()];
    let garbage = ["\u{1}\u{2}\u{3}", "-", "0-4294967295,", "9".repeat(400).as_str(), ""].map(str::to_owned);
    let mut turn = 0;
    while let Some(path) = files.pop() {
        if path.is_dir() {
            files.extend(std::fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
        } else {
            std::fs::write(&path, &garbage[turn % garbage.len()]).unwrap();
            turn += 1;
        }
    }
    let found = tree.resources();
    assert_eq!(found.quota_cpus, None);
    assert!(!found.notes.is_empty() && found.notes.len() < 100);
    assert_eq!(found.cores as usize, found.siblings.len());
}

#[test]
fn keys_keep_their_names_and_figures_have_sources() {
    let tree = with_caches();
    tree.groups("0::/a\n", V2).group("a/cpu.max", "250000 100000").group("a/memory.max", "1073741824");
    tree.group("a/cpu.stat", "usage_usec 1\nnr_periods 20\nnr_throttled 3\nthrottled_usec 9");
    let found = tree.resources();
    let value = serde_json::to_value(&found).unwrap();
    for key in ["cpus_allowed", "cores", "siblings", "packages", "numa_nodes", "quota_cpus", "quota_path"] {
        assert!(!value[key].is_null(), "{key}");
    }
    assert_eq!(value["ancestors_hidden"], false);
    assert_eq!(value["memory_limit_bytes"], 1 << 30);
    assert_eq!(value["caches"][3]["type"], "Unified");
    assert_eq!(value["caches"][3]["size_bytes"], 16 << 20);
    assert_eq!(value["caches"][3]["share_bytes"], 2 << 20);
    assert_eq!(value["levels"][0]["throttled_periods"], 3);
    for what in ["cpus_allowed", "siblings of cpu6", "package of cpu0", "quota of /a", "memory limit of /a"] {
        let (path, text) = source(&found, what).unwrap_or_else(|| panic!("{what} has no source"));
        assert!(path.starts_with('/') && !path.contains(tree.root().to_str().unwrap()) && !text.is_empty());
    }
    assert_eq!(list(&found.cpus_allowed), "0,1,2,3,4,5,6,7");
}
