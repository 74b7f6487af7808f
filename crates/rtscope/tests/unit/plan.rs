//! `rtscope plan` and `rtscope run --print` over trees of /proc and /sys: what a user sees of the rules, and
//! what is reported if there is nothing to plan. Needs no GHC.

use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};
use testkit::executable;

/// Four cores with two threads each, siblings side by side; a process in /a/b.
struct Tree(tempfile::TempDir);

impl Tree {
    fn new(allowed: &str) -> Tree {
        let tree = Tree(tempfile::tempdir().unwrap());
        tree.file("proc/self/status", &format!("Name:\tx\nCpus_allowed_list:\t{allowed}\n"));
        tree.file("proc/7/status", "Name:\tx\nCpus_allowed_list:\t6-7\n");
        tree.file("proc/meminfo", "MemTotal:       16777216 kB\n");
        let mounts = "30 24 0:26 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw\n";
        for pid in ["self", "7"] {
            tree.file(&format!("proc/{pid}/cgroup"), "0::/a/b\n");
            tree.file(&format!("proc/{pid}/mountinfo"), mounts);
        }
        tree.file("sys/devices/system/cpu/online", "0-7\n");
        for cpu in 0..8 {
            let first = cpu / 2 * 2;
            let topology = format!("sys/devices/system/cpu/cpu{cpu}/topology");
            tree.file(&format!("{topology}/core_cpus_list"), &format!("{first}-{}\n", first + 1));
            tree.file(&format!("{topology}/physical_package_id"), "0\n");
        }
        tree.file("sys/fs/cgroup/cgroup.controllers", "cpu memory\n");
        tree.group("a/b", "max 100000", "max");
        tree.group("a", "max 100000", "max");
        tree
    }

    fn file(&self, path: &str, text: &str) {
        let path = self.0.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn group(&self, group: &str, cpu: &str, memory: &str) {
        self.file(&format!("sys/fs/cgroup/{group}/cpu.max"), &format!("{cpu}\n"));
        self.file(&format!("sys/fs/cgroup/{group}/memory.max"), &format!("{memory}\n"));
    }

    fn plan(&self, options: &[&str]) -> Value {
        let root = self.0.path().to_str().unwrap();
        let done = rtscope(&[&["plan", "--json", "--root", root], options].concat());
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        serde_json::from_slice(&done.stdout).unwrap()
    }
}

fn rtscope(words: &[&str]) -> Output {
    let mut command = Command::new(testkit::rtscope());
    command.args(words);
    for name in ["GHCRTS", "OCAMLRUNPARAM", "CAMLRUNPARAM", "NO_COLOR"] {
        command.env_remove(name);
    }
    command.output().unwrap()
}

fn said(done: &Output) -> (Option<i32>, String, String) {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    (done.status.code(), text(&done.stdout), text(&done.stderr))
}

fn env(plan: &Value) -> &str {
    plan["env"]["GHCRTS"].as_str().unwrap()
}

#[test]
fn cores_count_and_not_threads() {
    let tree = Tree::new("0-7");
    let plan = tree.plan(&[]);
    assert_eq!(plan["flags"][0]["flag"], "-N");
    assert_eq!(plan["flags"][0]["value"], "4");
    assert_eq!(plan["cpus"], serde_json::json!([0, 2, 4, 6]));
    assert_eq!(env(&plan), "-N4 -A16m");
    assert_eq!(env(&tree.plan(&["--goal", "throughput"])), "-N8 -qn4 -A64m");
}

#[test]
fn one_pair_of_siblings_is_one_core() {
    assert_eq!(env(&Tree::new("2-3").plan(&[])), "-N1 -A16m");
    let other = Tree::new("0-7").plan(&["--pid", "7", "--runtime", "ghc"]);
    assert_eq!(env(&other), "-N1 -A16m");
    assert_eq!(other["cpus"], serde_json::json!([6]));
}

#[test]
fn the_smallest_quota_of_all_levels_counts() {
    let tree = Tree::new("0-7");
    tree.group("a/b", "250000 100000", "max");
    let latency = tree.plan(&[]);
    assert_eq!(env(&latency), "-N2 -A16m");
    let reason = latency["flags"][0]["reason"].as_str().unwrap();
    assert!(reason.contains("2.5 CPUs in /sys/fs/cgroup/a/b/cpu.max"), "{reason}");
    assert_eq!(env(&tree.plan(&["--goal", "throughput"])), "-N3 -qn2 -A64m");

    tree.group("a/b", "max 100000", "max");
    tree.group("a", "50000 100000", "536870912");
    let parent = tree.plan(&[]);
    assert_eq!(env(&parent), "-N1 -A16m -M435m");
    assert!(parent["flags"][0]["source"].as_str().unwrap().contains("/sys/fs/cgroup/a/cpu.max"), "{parent}");
    assert_eq!(tree.plan(&["--runtime", "ocaml"])["env"]["OCAMLRUNPARAM"], "d=1,s=1M");
}

#[test]
fn pinning_is_never_planned() {
    for goal in ["latency", "throughput", "memory"] {
        for allowed in ["0-7", "0-3", "4-7", "5"] {
            let plan = Tree::new(allowed).plan(&["--goal", goal]);
            assert!(!env(&plan).contains("-qa"));
            let refused = plan["refused"].as_array().unwrap();
            assert!(refused.iter().any(|refused| refused["flag"] == "-qa"));
        }
    }
}

#[test]
fn a_machine_that_says_nothing_gets_one_worker_and_a_word() {
    let tree = Tree(tempfile::tempdir().unwrap());
    let plan = tree.plan(&[]);
    assert_eq!(plan["flags"][0]["value"], "1");
    assert_eq!(plan["flags"][0]["confidence"], "low");
    assert!(!plan["notes"].as_array().unwrap().is_empty());
}

#[test]
fn what_cannot_be_planned_says_why_and_what_next() {
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("script");
    fs::write(&script, "#!/bin/sh\necho\n").unwrap();
    let script = script.to_str().unwrap();
    let (status, out, error) = said(&rtscope(&["plan", script]));
    assert_eq!((status, error.as_str()), (Some(3), ""));
    assert!(out.contains("is a script"), "{out}");
    let (status, out, error) = said(&rtscope(&["plan", script, "--format", "env"]));
    assert_eq!((status, out.as_str()), (Some(3), ""));
    assert!(error.starts_with("rtscope: no flags: ") && error.contains("is a script"), "{error}");
    for (words, wanted) in [
        (vec!["plan", "/no/such/program"], "there is no such file"),
        (vec!["plan", "no-such-program-anywhere"], "not in PATH"),
        (vec!["plan", "--pid", "4000000"], "no process 4000000"),
        (vec!["plan", "--root", "/no/such/tree"], "is no folder"),
    ] {
        let (status, out, error) = said(&rtscope(&words));
        assert_eq!((status, out.as_str()), (Some(1), ""), "{words:?}");
        assert!(error.starts_with("rtscope: ") && error.contains(wanted), "{error}");
        assert_eq!(error.lines().count(), 1, "{error}");
    }
    for words in [vec!["plan", "--goal", "speed"], vec!["plan", "--json", "--format", "env"], vec!["run"]] {
        assert_eq!(rtscope(&words).status.code(), Some(2), "{words:?}");
    }
}

#[test]
fn print_shows_the_start_and_runs_nothing() {
    let tree = Tree::new("0-7");
    let root = tree.0.path().to_str().unwrap();
    let made = tree.0.path().join("made");
    let words = ["run", "--print", "--root", root, "--", "touch", made.to_str().unwrap()];
    let (status, out, error) = said(&rtscope(&words));
    assert_eq!(status, Some(0));
    assert_eq!(out, format!("# CPUs 0,2,4,6 (one of each core)\nexec touch {}\n", made.display()));
    assert!(error.contains("No runtime of GHC or OCaml"), "{error}");
    assert!(!made.exists());
    let (status, ..) = said(&rtscope(&["run", "--print", "--", "no-such-program-anywhere"]));
    assert_eq!(status, Some(127));
    assert_eq!(rtscope(&["run", "--root", root, "--", "true"]).status.code(), Some(2), "--root is for --print");
}

#[test]
fn a_plan_on_a_terminal_reads_from_top_to_bottom() {
    let tree = Tree::new("0-7");
    tree.group("a/b", "250000 100000", "max");
    let (status, out, error) = said(&rtscope(&["plan", "--explain", "--root", tree.0.path().to_str().unwrap()]));
    assert_eq!((status, error.as_str()), (Some(0), ""));
    let first = ["any program of GHC", "8 CPUs allowed, 4 cores, a quota of 2.5 CPUs, 16 GiB of memory; for latency"];
    assert!(out.lines().take(2).eq(first), "{out}");
    for wanted in ["\nset       -N2\n", "\nnot       -qa\n", "\nmeasure   rtscope tune -- PROG\n"] {
        assert!(out.contains(wanted), "{wanted:?} in {out}");
    }
    assert!(out.lines().all(|line| line.chars().count() <= 100), "{out}");
    let (_, short, _) = said(&rtscope(&["plan", "--root", tree.0.path().to_str().unwrap()]));
    let row = |start: &str| short.lines().any(|line| line.starts_with(start) && line.chars().count() <= 100);
    assert!(
        row("set       -N2               4 physical cores among 8 allowed CPUs") && row("not       -qa "),
        "{short}"
    );
    assert!(short.find("\nstart ") < short.find("\nset ") && short.lines().count() < 20, "{short}");
}

/// Rust's start-up ignores SIGPIPE and fills closed streams; the program sees neither.
#[test]
fn nothing_of_rtscope_stays_in_the_program() {
    let binary = testkit::rtscope();
    let look = "grep -E '^(Sig|Shd)[A-Z][a-z]+:|^Cpus_allowed_list' /proc/self/status; ls /proc/self/fd; ulimit -s; umask; env | \
                grep -v '^_=' | sort";
    let seen = |before: &str, start: &str| {
        let script = format!("{before}\nexec {start} sh -c \"$1\" 2>/dev/null 9</dev/null");
        let done = Command::new("sh").args(["-c", &script, "sh", look]).env("GHCRTS", "-A8m").output().unwrap();
        assert!(done.status.success());
        // Signals that arrived meanwhile do not count.
        let text = String::from_utf8(done.stdout).unwrap();
        text.lines()
            .filter(|line| !line.starts_with("SigQ") && !line.starts_with("SigPnd"))
            .collect::<Vec<_>>()
            .join("\n")
    };
    for before in [":", "trap '' PIPE", "trap '' INT QUIT PIPE", "exec 0<&-", "umask 27"] {
        let plain = seen(before, "");
        let run = seen(before, &format!("'{}' run --goal throughput --", Path::new(binary).display()));
        assert_eq!(plain, run, "after {before}");
        assert!(plain.contains("SigIgn") && plain.contains("GHCRTS=-A8m"), "{plain}");
    }
}

#[test]
fn failures_have_the_status_of_a_shell() {
    let folder = tempfile::tempdir().unwrap();
    let plain = folder.path().join("plain");
    fs::write(&plain, "exit 5").unwrap();
    let plain = plain.to_str().unwrap();
    for (words, wanted) in [
        (vec!["/no/such/thing"], 127),
        (vec!["no-such-thing"], 127),
        (vec![plain], 126),
        (vec!["/"], 126),
        (vec!["sh", "-c", "exit 42"], 42),
    ] {
        let (status, _, error) = said(&rtscope(&[&["run", "--"], words.as_slice()].concat()));
        assert_eq!(status, Some(wanted), "{words:?}: {error}");
    }
    executable::write(plain, "exit 5");
    assert_eq!(rtscope(&["run", "--", plain]).status.code(), Some(5), "a script without #! goes to a shell, as ever");
    let done = rtscope(&["run", "--", "sh", "-c", "kill -TERM $$"]);
    assert_eq!(std::os::unix::process::ExitStatusExt::signal(&done.status), Some(15));
}
