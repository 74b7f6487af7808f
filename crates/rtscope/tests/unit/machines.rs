//! The machines of `fixtures/machines`: what `rtscope machine` and `rtscope plan` report of each is what
//! `expected.toml` states, and hwloc counts the same.

use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};
use xtask::fixtures::{self, Expected};
use xtask::missing;

/// Each available machine, unpacked, with what is true of it.
fn each(mut check: impl FnMut(&str, &Path, &Expected)) {
    let expected = fixtures::expected().unwrap();
    assert!(expected.keys().eq(fixtures::names().unwrap().iter()), "every machine has its truth and no truth is alone");
    for (name, expected) in &expected {
        let root = tempfile::tempdir().unwrap();
        fixtures::unpack(name, root.path()).unwrap();
        check(name, root.path(), expected);
    }
}

fn rtscope(arguments: &[&str]) -> Output {
    Command::new(testkit::rtscope()).args(arguments).env("NO_COLOR", "1").output().unwrap()
}

fn json(arguments: &[&str]) -> Value {
    let done = rtscope(arguments);
    assert!(done.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&done.stderr));
    serde_json::from_slice(&done.stdout).unwrap()
}

/// The words of a text on one line, as sources are shown.
fn plain(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// `0-2,4` as numbers.
fn cpus(list: &str) -> Vec<u64> {
    let range = |part: &str| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        first.parse().unwrap()..=last.parse().unwrap()
    };
    list.split(',').flat_map(range).collect()
}

#[test]
fn what_a_process_may_use_is_what_is_true() {
    each(|name, root, expected| {
        let found = json(&["machine", "--json", "--root", root.to_str().unwrap()]);
        assert_eq!(found["cpus_allowed"], serde_json::json!(cpus(&expected.cpus_allowed)), "{name}");
        let siblings: Vec<_> = expected.siblings.iter().map(|list| cpus(list)).collect();
        assert_eq!(found["siblings"], serde_json::json!(siblings), "{name}");
        assert_eq!(found["cores"], siblings.len(), "{name}");
        assert_eq!(found["packages"], expected.packages, "{name}");
        assert_eq!(found["numa_nodes"], expected.numa_nodes, "{name}");
        assert_eq!(found["quota_cpus"].as_f64(), expected.quota_cpus, "{name}");
        assert_eq!(found["quota_path"].is_string(), expected.quota_cpus.is_some(), "{name}");
        assert_eq!(found["ancestors_hidden"], expected.ancestors_hidden, "{name}");
        assert_eq!(found["memory_limit_bytes"], expected.memory_limit_bytes, "{name}");
        assert_eq!(found["memory_limited"], expected.memory_limited, "{name}");
        for source in found["sources"].as_array().unwrap() {
            let path = root.join(source["path"].as_str().unwrap().trim_start_matches('/'));
            let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{name}: {}: {error}", path.display()));
            let said = plain(source["text"].as_str().unwrap().trim_end_matches('…'));
            assert!(plain(&text).contains(&said), "{name}: {source}");
        }
    });
}

#[test]
fn plans_follow_from_what_a_process_may_use() {
    each(|name, root, expected| {
        for (goal, flags) in
            [("latency", &expected.latency), ("throughput", &expected.throughput), ("memory", &expected.memory)]
        {
            for (runtime, variable, wanted) in [("ghc", "GHCRTS", &flags.ghc), ("ocaml", "OCAMLRUNPARAM", &flags.ocaml)]
            {
                let plan =
                    json(&["plan", "--json", "--root", root.to_str().unwrap(), "--goal", goal, "--runtime", runtime]);
                let words = plan["env"][variable].as_str().unwrap_or("");
                assert_eq!(words, wanted, "{name}, {runtime}, {goal}: {plan}");
                for flag in plan["flags"].as_array().unwrap() {
                    assert_ne!(flag["flag"], "-qa");
                    let reason = flag["reason"].as_str().unwrap();
                    assert!(reason.len() > 20 && !flag["source"].is_null(), "{name}: {flag}");
                }
            }
        }
    });
}

/// What hwloc can read of a tree: it knows neither process masks nor quotas.
#[test]
fn hwloc_counts_the_same() {
    let lstopo = |root: &Path, arguments: &[&str]| {
        Command::new("lstopo-no-graphics").args(arguments).env("HWLOC_FSROOT", root).output()
    };
    if lstopo(Path::new("/"), &["--version"]).is_err() {
        return missing("lstopo-no-graphics (package hwloc-nox)");
    }
    let mut compared = 0;
    each(|name, root, _| {
        // Everything that is online, as hwloc sees it.
        let status = root.join("proc/self/status");
        let online = fs::read_to_string(root.join("sys/devices/system/cpu/online")).unwrap();
        fs::write(&status, format!("Pid:\t4242\nCpus_allowed_list:\t{online}")).unwrap();
        let count = |kind: &str| {
            let done = lstopo(root, &["--only", kind, "--whole-system", "--of", "console"]).unwrap();
            let text = String::from_utf8_lossy(&done.stdout).into_owned();
            done.status.success().then(|| text.lines().filter(|line| !line.trim().is_empty()).count())
        };
        let threads = count("pu").filter(|_| count("core") > Some(0));
        let Some(threads) = threads else { return eprintln!("{name}: hwloc finds no cores in it") };
        let found = json(&["machine", "--json", "--root", root.to_str().unwrap()]);
        let cpus = found["cpus_allowed"].as_array().unwrap().len();
        if threads != cpus {
            return eprintln!("{name}: hwloc sees {threads} of {cpus} processors, so it does not read this tree");
        }
        for (kind, key) in [("core", "cores"), ("package", "packages"), ("numanode", "numa_nodes")] {
            assert_eq!(found[key], count(kind).unwrap(), "{name}: {kind}");
        }
        for cache in found["caches"].as_array().unwrap() {
            let letter = match cache["type"].as_str().unwrap() {
                "Instruction" => "i",
                "Data" => "d",
                _ => "",
            };
            let kind = format!("l{}{letter}cache", cache["level"]);
            assert_eq!(cache["count"], count(&kind).unwrap(), "{name}: {kind}");
        }
        compared += 1;
    });
    assert!(compared >= 9, "hwloc read {compared} machines only");
}
