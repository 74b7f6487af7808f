//! Output of `rtscope machine` on trees that the tests make. `RTSCOPE_BLESS=1` rewrites the golden files.
//! Refuses to test the rules: they are the host's.

use testkit::blessed;
use testkit::tree;

use rtscope::machine::{inspect, json, svg, text};
use rtscope_terminal::style::Style;
use std::process::{Command, Output};
use tree::{Tree, V2, list};

/// Siblings 0-4, 1-5, …, of which a pod under two quotas may use three.
fn pod() -> Tree {
    let tree = Tree::of(&[(0, 0, &[0, 4]), (0, 1, &[1, 5]), (0, 2, &[2, 6]), (0, 3, &[3, 7])]);
    for cpu in 0..8 {
        let pair = list(&[cpu % 4, cpu % 4 + 4]);
        tree.cache(cpu, 0, (1, "Data", "48K", &pair)).cache(cpu, 1, (2, "Unified", "2048K", &pair));
        tree.cache(cpu, 2, (3, "Unified", "32768K", "0-7"));
    }
    tree.write("sys/devices/system/node/node0/cpulist", "0-7");
    tree.allow("0-1,4,64");
    tree.groups("0::/pods/app\n", V2)
        .group("cgroup.procs", "1")
        .group("pods/cpu.max", "250000 100000")
        .group("pods/cpu.stat", "usage_usec 9\nnr_periods 2100\nnr_throttled 320\nthrottled_usec 8")
        .group("pods/memory.max", "1073741824")
        .group("pods/app/cpu.max", "400000 100000")
        .group("pods/app/memory.max", "max");
    tree
}

/// Two sockets, two nodes in each, 128 cores with two threads each.
fn large() -> Tree {
    let cores: Vec<(u32, u32, [u32; 2])> = (0..128).map(|core| (core / 64, core % 64, [core, core + 128])).collect();
    let cores: Vec<_> = cores.iter().map(|(package, core, cpus)| (*package, *core, cpus.as_slice())).collect();
    let tree = Tree::of(&cores);
    for node in 0..4 {
        let (first, second) = (node * 32, node * 32 + 128);
        let cpus = format!("{first}-{},{second}-{}", first + 31, second + 31);
        tree.write(&format!("sys/devices/system/node/node{node}/cpulist"), &cpus);
    }
    for cpu in 0..256 {
        let eight = cpu % 128 / 8 * 8;
        let shared = format!("{eight}-{},{}-{}", eight + 7, eight + 128, eight + 135);
        tree.cache(cpu, 0, (3, "Unified", "32768K", &shared));
    }
    tree.allow("0-200");
    tree
}

fn program(arguments: &[&str]) -> Output {
    let mut command = Command::new(testkit::rtscope());
    command.arg("machine").args(arguments).env("LANG", "C.UTF-8").output().expect("running rtscope")
}

#[test]
fn text_reads_as_agreed() {
    let found = inspect(pod().root(), None).unwrap();
    blessed::check("machine.txt", &text(&found, &Style::plain(80)));
    let unicode = Style { unicode: true, ..Style::plain(80) };
    assert!(text(&found, &unicode).contains("│ 0  4    │ │ 1 (5)   │"));
}

#[test]
fn json_is_one_document_with_its_schema_first() {
    let mut out = Vec::new();
    json(&inspect(pod().root(), None).unwrap(), &mut out).unwrap();
    let value: serde_json::Value = serde_json::from_slice(&out).unwrap();
    blessed::check("machine.json", &format!("{}\n", serde_json::to_string_pretty(&shortened(value.clone())).unwrap()));
    assert_eq!(value.as_object().unwrap().keys().next().unwrap(), "schema");
    assert_eq!(value["schema"], "rtscope/machine/1");
    assert_eq!((&value["cores"], &value["quota_cpus"]), (&2.into(), &2.5.into()));
    assert_eq!(value["siblings"], serde_json::json!([[0, 4], [1]]));
}

/// Without most of what repeats, so that a person can read the golden file.
fn shortened(mut value: serde_json::Value) -> serde_json::Value {
    for (key, length) in [("sources", 4), ("caches", 1), ("cpus", 2)] {
        value[key].as_array_mut().unwrap().truncate(length);
    }
    value
}

#[test]
fn a_large_machine_fits_the_terminal() {
    let found = inspect(large().root(), None).unwrap();
    for width in [60, 80, 100] {
        for unicode in [false, true] {
            let shown = text(&found, &Style { unicode, ..Style::plain(width) });
            // A path to copy is never wrapped.
            let long: Vec<&str> = shown.lines().filter(|line| line.chars().count() > width).collect();
            assert!(long.iter().all(|line| line.trim().starts_with("/sys/")), "{long:?}");
            assert!(shown.lines().count() < 140, "{}", shown.lines().count());
        }
    }
    let shown = text(&found, &Style::plain(80));
    assert!(shown.contains("[  72  200 ] [  73 (201)]"), "{shown}");
    assert!(shown.contains("\n  NUMA node 3\n    L3 32 MiB\n"));
}

#[test]
fn thousands_of_cores_are_summarised_in_words() {
    let cores: Vec<(u32, u32, [u32; 1])> = (0..1500).map(|cpu| (0, cpu, [cpu])).collect();
    let cores: Vec<_> = cores.iter().map(|(package, core, cpus)| (*package, *core, cpus.as_slice())).collect();
    let tree = Tree::of(&cores);
    tree.allow("0-99");
    let shown = text(&inspect(tree.root(), None).unwrap(), &Style::plain(80));
    assert!(shown.contains("1500 cores with CPUs 0-1499, allowed: 0-99"), "{shown}");
}

#[test]
fn kinds_and_their_caches_are_drawn_apart() {
    let tree = Tree::of(&[(0, 0, &[0, 1]), (0, 8, &[2]), (0, 9, &[3])]);
    tree.write("sys/devices/cpu_core/cpus", "0-1").write("sys/devices/cpu_atom/cpus", "2-3");
    for (cpu, size, shared) in [(0, "1280K", "0-1"), (1, "1280K", "0-1"), (2, "2048K", "2-3"), (3, "2048K", "2-3")] {
        tree.cache(cpu, 0, (2, "Unified", size, shared));
    }
    let found = inspect(tree.root(), None).unwrap();
    let shown = text(&found, &Style::plain(80));
    for line in
        ["  + core 0 P -+", "  L2 2.0 MiB", "    + core 1 E -+ + core 2 E -+", "performance: 0-1; efficient: 2-3"]
    {
        assert!(shown.contains(line), "{line} in {shown}");
    }
    assert!(shown.contains("1.2 MiB to 2.0 MiB"), "{shown}");
    assert!(svg(&found).contains(">L2 1.2 MiB<") && svg(&found).contains(">L2 2.0 MiB<"));
}

#[test]
fn what_is_hidden_is_reported_wherever_a_figure_could_be_smaller() {
    let tree = Tree::small();
    tree.groups("0::/\n", V2).group("cgroup.events", "").group("cpu.max", "max 100000");
    let found = inspect(tree.root(), None).unwrap();
    let shown = text(&found, &Style::plain(100));
    assert!(shown.contains("Quota         none that is visible; levels above are hidden and may have one"), "{shown}");
    assert!(shown.contains("Memory        8.0 GiB, all that the machine has; levels above are hidden"));
    assert!(svg(&found).contains("control groups above are hidden"));
}

#[test]
fn names_of_groups_cannot_act() {
    let tree = Tree::small();
    tree.groups("0::/a\u{1b}[2J<b>\n", V2).group("a\u{1b}[2J<b>/cpu.max", "1000 100000\u{1b}]0;x\u{7}");
    tree.group("a\u{1b}[2J<b>/memory.max", "4096");
    let found = inspect(tree.root(), None).unwrap();
    assert_eq!(found.memory_limit_bytes, Some(4096));
    assert!(!text(&found, &Style::plain(80)).contains('\u{1b}'));
    assert!(!svg(&found).contains('\u{1b}') && !svg(&found).contains("<b>"));
}

#[test]
fn the_drawing_is_a_document_of_its_own() {
    for tree in [pod(), large()] {
        let found = inspect(tree.root(), None).unwrap();
        let drawn = svg(&found);
        assert!(drawn.starts_with("<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 "));
        assert!(drawn.ends_with("</svg>\n"));
        assert_eq!(drawn.matches("<text").count(), drawn.matches("</text>").count());
        // One box for each CPU, and the one of the legend.
        assert_eq!(drawn.matches("class=\"use\"").count(), found.cpus_allowed.len() + 1);
        assert_eq!(drawn.matches("class=\"off\"").count(), found.cpus.len() - found.cpus_allowed.len() + 1);
        assert!(!drawn.contains("NaN") && !drawn.contains("http://www.w3.org/1999"));
    }
}

#[test]
fn the_program_prints_and_draws() {
    let tree = pod();
    let root = tree.root().to_str().unwrap();
    let out = tree.path("drawing.svg");
    let done = program(&["--root", root, "--json", "--svg", out.to_str().unwrap()]);
    assert_eq!(done.status.code(), Some(0), "{}", String::from_utf8_lossy(&done.stderr));
    let value: serde_json::Value = serde_json::from_slice(&done.stdout).unwrap();
    assert_eq!(value["memory_limit_bytes"], 1 << 30);
    assert!(std::fs::read_to_string(&out).unwrap().contains("3 CPUs on 2 cores, a quota of 2.5 CPUs"));
    // On the machine that the test runs on, which has at least one CPU.
    let done = program(&["--json"]);
    let value: serde_json::Value = serde_json::from_slice(&done.stdout).unwrap();
    assert!(value["cores"].as_u64().unwrap() > 0 && !value["sources"].as_array().unwrap().is_empty());
    let own = std::process::id().to_string();
    assert_eq!(program(&["--pid", &own]).status.code(), Some(0));
}

#[test]
fn a_narrowed_mask_is_what_counts() {
    let all: serde_json::Value = serde_json::from_slice(&program(&["--json"]).stdout).unwrap();
    let last = all["cpus_allowed"].as_array().unwrap().last().unwrap().clone();
    let mut command = Command::new("taskset");
    command.args(["-c", &last.to_string(), testkit::rtscope(), "machine", "--json"]);
    let done = command.output().expect("taskset of util-linux");
    let one: serde_json::Value = serde_json::from_slice(&done.stdout).unwrap();
    assert_eq!((&one["cpus_allowed"], &one["cores"]), (&serde_json::json!([last]), &1.into()));
    assert_eq!(one["siblings"], serde_json::json!([[last]]));
    assert_eq!(one["cpus"].as_array().unwrap().len(), all["cpus"].as_array().unwrap().len());
}

#[test]
fn failures_say_what_to_do() {
    let tree = pod();
    let root = tree.root().to_str().unwrap();
    let file = tree.path("proc/meminfo");
    let empty = tempfile::tempdir().unwrap();
    let bare = tempfile::tempdir().unwrap();
    std::fs::create_dir(bare.path().join("proc")).unwrap();
    let cases: [(&[&str], &str); 6] = [
        (&["--root", root, "--pid", "4711"], "there is no process 4711 below"),
        (&["--root", file.to_str().unwrap()], "it is no folder"),
        (&["--root", "/nowhere/at/all"], "there is nothing of that name"),
        (&["--root", empty.path().to_str().unwrap()], "it has neither proc nor sys"),
        (&["--root", bare.path().to_str().unwrap()], "no CPU is known"),
        (&["--root", root, "--svg", "/nowhere/at/all.svg"], "cannot write /nowhere/at/all.svg"),
    ];
    for (arguments, words) in cases {
        let done = program(arguments);
        let said = String::from_utf8_lossy(&done.stderr).into_owned();
        assert_eq!(done.status.code(), Some(1), "{arguments:?}");
        assert!(said.contains(words) && said.starts_with("rtscope: ") && said.lines().count() == 1, "{said}");
    }
    assert_eq!(program(&["--pid", "x"]).status.code(), Some(2));
}
