//! The C code that the link-in libraries share, compiled with sanitizers and run on trees that are made here:
//! what it reads, plans and reports, and that no file content breaks it.

use testkit::sanitized;

use sanitized::compiled;
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use xtask::missing;

/// The program `show` or `fuzz`; `None`, after reporting it, if nothing compiles it.
fn program(name: &str) -> Option<&'static Path> {
    static MADE: OnceLock<[Option<PathBuf>; 2]> = OnceLock::new();
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../bindings/c");
    let made = MADE.get_or_init(|| {
        let mut library: Vec<PathBuf> = fs::read_dir(&sources).unwrap().map(|entry| entry.unwrap().path()).collect();
        library.retain(|path| path.extension().is_some_and(|ending| ending == "c"));
        assert!(library.len() >= 5, "{library:?}");
        ["show", "fuzz"].map(|name| {
            let main = sources.join("tests").join(name).with_extension("c");
            compiled(name, &[&[main], &library[..]].concat())
        })
    });
    made.iter().flatten().map(PathBuf::as_path).find(|path| path.ends_with(name))
}

fn run(program: &str, words: &[&str]) -> Option<String> {
    let done = Command::new(self::program(program)?).args(words).output().unwrap();
    let said = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "{program} {words:?}: {said}");
    Some(String::from_utf8(done.stdout).unwrap())
}

struct Tree(tempfile::TempDir);

impl Tree {
    fn empty() -> Tree {
        Tree(tempfile::tempdir().unwrap())
    }

    /// A package of `cores` with two threads each, siblings `cores` apart, 16 GiB.
    fn hyper_threaded(cores: u32) -> Tree {
        let tree = Tree::empty();
        let last = 2 * cores - 1;
        tree.write("proc/self/status", &format!("Name:\tx\nPid:\t7\nCpus_allowed_list:\t0-{last}\n"));
        tree.write("proc/meminfo", "MemTotal:       16777216 kB\n");
        tree.write("sys/devices/system/cpu/online", &format!("0-{last}\n"));
        for cpu in 0..=last {
            let core = cpu % cores;
            tree.topology(cpu, "core_cpus_list", &format!("{core},{}", core + cores));
            tree.topology(cpu, "physical_package_id", "0");
            tree.topology(cpu, "core_id", &core.to_string());
        }
        tree
    }

    fn write(&self, path: &str, text: &str) -> &Tree {
        let path = self.0.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
        self
    }

    fn topology(&self, cpu: u32, name: &str, text: &str) -> &Tree {
        self.write(&format!("sys/devices/system/cpu/cpu{cpu}/topology/{name}"), &format!("{text}\n"))
    }

    fn allow(&self, list: &str) -> &Tree {
        self.write("proc/self/status", &format!("Pid:\t7\nCpus_allowed_list:\t{list}\n"))
    }

    /// Puts the process into this group of a v2 hierarchy that is mounted whole.
    fn group(&self, group: &str) -> &Tree {
        self.write("proc/self/cgroup", &format!("0::{group}\n"));
        self.write("proc/self/mountinfo", "30 25 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw\n")
    }

    /// Asserts the figures that `wanted` names.
    fn gives(&self, goal: &str, wanted: Value) -> &Tree {
        let Some(text) = run("show", &[self.0.path().to_str().unwrap(), goal]) else { return self };
        let shown: Value = serde_json::from_str(&text).unwrap();
        for (key, value) in wanted.as_object().unwrap() {
            assert_eq!(&shown[key], value, "{key} for {goal} in {shown}");
        }
        self
    }

    fn says(&self, goal: &str, words: &[&str]) {
        let Some(text) = run("show", &[self.0.path().to_str().unwrap(), goal, "--text"]) else { return };
        for word in words {
            assert!(text.contains(word), "no `{word}` in:\n{text}");
        }
    }
}

#[test]
fn hyper_threads_are_no_cores() {
    let tree = Tree::hyper_threaded(4);
    tree.gives(
        "latency",
        json!({"cpus_allowed": 8, "cores": 4, "packages": 1, "numa_nodes": 1, "quota_cpus": null,
            "ancestors_hidden": false, "memory_limit_bytes": 16u64 << 30, "memory_limited": false, "notes": 8,
            "workers": 4, "gc_threads": 4, "nursery_bytes": 16 << 20,
            "domains": 4, "minor_words": 1 << 20, "space_overhead": 120}),
    );
    tree.gives("throughput", json!({"workers": 8, "gc_threads": 4, "nursery_bytes": 64 << 20, "minor_words": 4 << 20}));
    tree.gives(
        "memory",
        json!({"workers": 4, "nursery_bytes": 4 << 20, "minor_words": 256 << 10, "space_overhead": 80}),
    );
    tree.allow("1,5").gives("latency", json!({"cpus_allowed": 2, "cores": 1, "workers": 1}));
    tree.gives("throughput", json!({"workers": 2, "gc_threads": 1}));
    tree.says("throughput", &["-qg", "2 workers on 1 physical core"]);
}

#[test]
fn the_smallest_quota_of_all_levels_decides_and_is_rounded_last() {
    let tree = Tree::hyper_threaded(4);
    tree.group("/pods/app").write("sys/fs/cgroup/pods/cpu.max", "250000 100000\n");
    tree.write("sys/fs/cgroup/pods/app/cpu.max", "max 100000\n");
    tree.gives("latency", json!({"quota_cpus": 2.5, "workers": 2, "gc_threads": 2, "ancestors_hidden": false}));
    tree.gives("throughput", json!({"workers": 3, "gc_threads": 2, "domains": 3}));
    tree.says("throughput", &["-N3", "-qn2", "quota of 2.5 CPUs", "(/sys/fs/cgroup/pods/cpu.max)", "at most 3 busy"]);
    tree.write("sys/fs/cgroup/cpu.max", "50000 100000\n").gives("latency", json!({"quota_cpus": 0.5, "workers": 1}));
    // A group with such a file is no root: there is a namespace around it.
    tree.gives("latency", json!({"ancestors_hidden": true}));
    tree.says("latency", &["does not feed even one", "cannot know"]);
    let third = Tree::hyper_threaded(4);
    third.group("/a").write("sys/fs/cgroup/a/cpu.max", "100000 300000");
    third.gives("throughput", json!({"quota_cpus": 1.0 / 3.0, "workers": 1})).says("latency", &["0.333 CPUs"]);
}

#[test]
fn version_1_beats_version_2_whatever_the_list_looks_like() {
    for list in ["1:cpu:/", "3:cpu,cpuacct:/", "4:cpuacct,cpu:/"] {
        let tree = Tree::hyper_threaded(4);
        tree.group("/init.scope").write("proc/self/cgroup", &format!("0::/init.scope\n5:memory:/x\n{list}x\n"));
        tree.write(
            "proc/self/mountinfo",
            "30 25 0:26 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n\
             31 25 0:27 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu,cpuacct\n\
             32 25 0:28 / /sys/fs/cgroup/memory\\040x rw - cgroup cgroup rw,memory\n",
        );
        tree.write("sys/fs/cgroup/unified/init.scope/cpu.max", "10000 100000\n");
        tree.write("sys/fs/cgroup/cpu/x/cpu.cfs_quota_us", "150000\n");
        tree.write("sys/fs/cgroup/cpu/x/cpu.cfs_period_us", "100000\n");
        tree.write("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n");
        tree.write("sys/fs/cgroup/memory x/x/memory.limit_in_bytes", "9223372036854771712\n");
        tree.write("sys/fs/cgroup/memory x/x/memory.stat", "cache 1\nhierarchical_memory_limit 134217728\n");
        let memory = json!({"memory_limit_bytes": 128 << 20, "memory_limited": true, "ancestors_hidden": false});
        tree.gives("latency", json!({"quota_cpus": 1.5, "workers": 1})).gives("latency", memory);
        tree.gives("latency", json!({"nursery_bytes": 16 << 20, "minor_words": 1 << 20, "space_overhead": 80}));
        tree.gives("throughput", json!({"workers": 2, "gc_threads": 1, "nursery_bytes": 4 << 20}));
        tree.says("throughput", &["-qg", "2 workers share a quota of 1.5 CPUs"]);
    }
}

#[test]
fn names_are_joined_with_the_roots_of_mounts_and_what_is_hidden_is_reported() {
    let mounted = |root: &str, group: &str| {
        let tree = Tree::hyper_threaded(2);
        tree.write("proc/self/cgroup", &format!("0::{group}\n"));
        tree.write("proc/self/mountinfo", &format!("30 25 0:26 {root} /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"));
        tree.write("sys/fs/cgroup/in/cpu.max", "50000 100000");
        tree
    };
    let hidden = |quota: Value| json!({"quota_cpus": quota, "ancestors_hidden": true});
    mounted("/docker/abc", "/docker/abc/in").gives("latency", hidden(json!(0.5)));
    mounted("/docker/abc", "/docker/abcd/in").gives("latency", hidden(Value::Null));
    mounted("/../..", "/../../in").gives("latency", json!({"quota_cpus": 0.5, "ancestors_hidden": false}));
    // `unshare -C` below a group: only the process's number says where it is.
    let namespace = mounted("/../..", "/");
    namespace.gives("latency", hidden(Value::Null));
    namespace.write("sys/fs/cgroup/other/cgroup.procs", "8\n77\n").write("sys/fs/cgroup/in/x/cgroup.procs", "3\n7\n");
    namespace.gives("latency", json!({"quota_cpus": 0.5, "workers": 1, "ancestors_hidden": false}));
    let unmounted = Tree::hyper_threaded(2);
    unmounted.write("proc/self/cgroup", "0::/\n").gives("latency", hidden(Value::Null));
}

#[test]
fn topology_is_taken_from_the_best_files_that_fit_together() {
    let two_sockets = Tree::empty();
    two_sockets.allow("0-7").write("sys/devices/system/cpu/online", "0-7\n");
    for cpu in 0..8 {
        two_sockets.topology(cpu, "physical_package_id", &(cpu / 4).to_string());
        two_sockets.topology(cpu, "core_id", &(cpu % 4 / 2).to_string());
    }
    two_sockets.write("sys/devices/system/node/node0/cpulist", "0-3\n");
    two_sockets.write("sys/devices/system/node/node1/cpulist", "4-7\n");
    two_sockets.gives("latency", json!({"cores": 4, "packages": 2, "numa_nodes": 2, "workers": 4}));
    two_sockets.allow("0-3").gives("latency", json!({"cores": 2, "packages": 1, "numa_nodes": 1}));
    let tree = Tree::hyper_threaded(2);
    tree.topology(0, "core_cpus_list", "0-1").gives("latency", json!({"cpus_allowed": 4, "cores": 2}));
    for cpu in 0..4 {
        tree.topology(cpu, "thread_siblings_list", &format!("{}-{}", cpu / 2 * 2, cpu / 2 * 2 + 1));
        tree.topology(cpu, "physical_package_id", "-1");
        tree.topology(cpu, "core_id", "-1");
    }
    tree.gives("latency", json!({"cores": 2, "packages": 1, "notes": 8}));
    tree.topology(3, "thread_siblings_list", "2").gives("latency", json!({"cores": 4, "notes": 8 | 4}));
    tree.says("latency", &["no topology that fits together"]);
    let offline = Tree::hyper_threaded(4);
    offline.write("sys/devices/system/cpu/online", "0,2-7\n").topology(5, "core_cpus_list", "5");
    offline.gives("latency", json!({"cpus_allowed": 7, "cores": 4}));
}

#[test]
fn memory_bounds_what_is_given_to_each_worker() {
    let tree = Tree::hyper_threaded(4);
    tree.group("/a").write("sys/fs/cgroup/a/memory.max", "335544320").write("sys/fs/cgroup/a/memory.high", "max");
    tree.gives("latency", json!({"nursery_bytes": 16 << 20, "minor_words": 1 << 20, "memory_limited": true}));
    tree.write("sys/fs/cgroup/a/memory.high", "335544319\n");
    tree.gives("latency", json!({"nursery_bytes": 4 << 20, "minor_words": 256 << 10, "space_overhead": 80}));
    tree.write("sys/fs/cgroup/memory.max", "1048576");
    tree.gives("latency", json!({"nursery_bytes": 1 << 20, "minor_words": 32 << 10}));
    tree.says("latency", &["more than a fifth", "more than a tenth", "1 MiB in /sys/fs/cgroup/memory.max"]);
}

#[test]
fn bad_input_has_a_stated_fallback() {
    Tree::empty().gives("latency", json!({"cpus_allowed": 0, "cores": 0, "workers": 1, "memory_limit_bytes": null}));
    Tree::empty().says("latency", &["one worker is right everywhere", "No CPU is known"]);
    let tree = Tree::hyper_threaded(4);
    for list in ["", "x", "0-", "5-2", "0-4294967295", "1,,2", "0-99999999999999999999", "1 2"] {
        tree.allow(list).gives("latency", json!({"cpus_allowed": 8, "cores": 4, "notes": 8 | 1}));
    }
    tree.write("proc/self/status", "Cpus_allowed:\t00000000,00000022\nCpus_allowed_list:\tbad\n");
    tree.gives("latency", json!({"cpus_allowed": 2, "cores": 1, "notes": 8}));
    let large = Tree::empty();
    large.allow("1023-1026,8190").gives("latency", json!({"cpus_allowed": 5, "cores": 5, "workers": 5}));
    tree.allow("0-7").group("/a");
    for quota in ["0 100000", "100000 0", "99999999999999999999 100000", "-5 100000", "100000", "", "x y", "1 2 3"] {
        tree.write("sys/fs/cgroup/a/cpu.max", quota).gives("latency", json!({"quota_cpus": null, "workers": 4}));
    }
    tree.says("latency", &["that no kernel sets"]);
    tree.write("sys/fs/cgroup/a/cpu.max", "18446744073709551615 1").gives("throughput", json!({"workers": 8}));
    tree.write("sys/fs/cgroup/a/cpu.max", "1 18446744073709551615").gives("throughput", json!({"workers": 1}));
    tree.write("sys/fs/cgroup/a/memory.max", "0").gives("latency", json!({"memory_limited": false}));
    for memory in ["MemTotal: 0 kB", "MemTotal:", "MemTotal: 99999999999999999 GB x", "MemTotal: -1 kB"] {
        tree.write("proc/meminfo", memory);
    }
    tree.gives("latency", json!({"memory_limit_bytes": null, "nursery_bytes": 16 << 20}));
}

#[test]
fn no_content_of_files_breaks_it() {
    for seed in ["1", "20240229", "987654321"] {
        let tree = Tree::empty();
        run("fuzz", &[tree.0.path().to_str().unwrap(), seed, "1000"]);
    }
}

#[test]
fn this_machine_is_read_live() {
    let Some(text) = run("show", &["-", "latency"]) else { return };
    let shown: Value = serde_json::from_str(&text).unwrap();
    let cpus = std::thread::available_parallelism().unwrap().get() as u64;
    assert!(shown["cpus_allowed"].as_u64() >= Some(cpus), "{shown}");
    let mut pinned = Command::new("taskset");
    pinned.args(["-c", "0"]).arg(program("show").unwrap()).args(["-", "latency"]);
    let Ok(done) = pinned.output() else { return missing("taskset (package util-linux)") };
    let shown: Value = serde_json::from_slice(&done.stdout).unwrap();
    assert_eq!((&shown["cpus_allowed"], &shown["workers"]), (&json!(1), &json!(1)));
}
