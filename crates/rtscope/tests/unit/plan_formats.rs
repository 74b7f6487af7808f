//! Every format of a plan is valid for its reader: Kubernetes' own types, the compose specification's, a shell.
//! Owns no assertion about which flags are planned.

use rtscope_lab::plan::{Planned, docker, env, json, k8s, systemd};
use rtscope_model::resources::Resources;
use rtscope_tune::plan::{Goal, plan};
use rtscope_tune::runtime::{Given, Linked, Program};
use rtscope_tune::runtimes::ghc;
use rtscope_tune::runtimes::ocaml;
use serde_json::Value;
use std::sync::Arc;
use testkit::manifests;

/// Text that takes effect wherever it is not quoted.
const HOSTILE: &str = "-T it's \"$HOME\" $(date) `x` %h ${A} \\ # : {";

fn machine(memory_limited: bool) -> Resources {
    Resources {
        cpus_allowed: (0..8).collect(),
        cores: 4,
        siblings: (0..4).map(|core| vec![core, core + 4]).collect(),
        memory_limit_bytes: Some(2 << 30),
        memory_limit_path: Some("/sys/fs/cgroup/memory.max".into()),
        memory_limited,
        ..Resources::default()
    }
}

type Link = Result<Arc<dyn Linked>, String>;

fn planned(name: Option<&str>, link: Link, ghcrts: Option<&str>, memory_limited: bool) -> Planned {
    let resources = machine(memory_limited);
    let variables = ghcrts.map(|own| ("GHCRTS", own.to_owned())).into_iter().collect();
    let program = Program { name: name.map(Into::into), link, given: Given { variables, arguments: Vec::new() } };
    Planned { plan: plan(&resources, &program, Goal::Latency), resources, about: "a test".into() }
}

/// One plan for each kind of problem.
fn plans() -> Vec<Planned> {
    let open = || -> Link { Ok((ghc::RUNTIME.any)()) };
    let ocaml = Ok((ocaml::RUNTIME.any)());
    vec![
        planned(Some("./mill"), open(), None, false),
        planned(Some("/srv/My Service_1.0"), open(), Some(HOSTILE), true),
        planned(Some("no"), open(), Some("-A8m"), true),
        planned(Some("\u{202e}\n"), ocaml, None, false),
        planned(None, Err("a script: what it starts\nis not known".into()), None, true),
    ]
}

#[test]
fn a_pod_is_one_for_kubernetes() {
    for planned in plans() {
        let text = k8s::render(&planned);
        let pod = manifests::pod(&text);
        let container = &pod.spec.as_ref().unwrap().containers[0];
        let name = pod.metadata.name.as_deref().unwrap();
        let label = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        assert!(name.chars().all(label) && name.starts_with(|c: char| c != '-') && name.len() < 64, "{name}");
        assert_eq!(container.name, name);
        let set = container.env.iter().flatten().map(|set| (set.name.as_str(), set.value.as_deref().unwrap()));
        assert!(set.eq(planned.plan.env.iter().map(|(name, value)| (*name, value.as_str()))));
        let resources = container.resources.as_ref().unwrap();
        let cpus = &resources.requests.as_ref().unwrap()["cpu"].0;
        assert_eq!(*cpus, planned.plan.workers.to_string(), "whole CPUs");
        let guaranteed = resources.limits.is_some() && resources.limits == resources.requests;
        assert_eq!(guaranteed, planned.resources.memory_limited);
    }
}

#[test]
fn a_compose_file_is_one_for_the_specification() {
    for planned in plans() {
        let text = docker::render(&planned);
        let (read, compose) = (manifests::read(&text), manifests::compose(&text));
        let service = compose.services.values().next().unwrap();
        assert_eq!(compose.services.len(), 1);
        assert!(service.extensions.is_empty(), "{:?}", service.extensions);
        let cpus = planned.plan.cpus.as_ref().map(|_| 4);
        assert_eq!(Some(service.cpuset.0.len()).filter(|number| *number > 0), cpus);
        assert_eq!(service.mem_limit.is_some(), planned.resources.memory_limited);
        // Compose expands $NAME; the result is the plan's value.
        let service = read["services"].as_object().unwrap().values().next().unwrap();
        for (name, value) in &planned.plan.env {
            assert_eq!(service["environment"][name].as_str().unwrap().replace("$$", "$"), *value);
        }
    }
}

#[test]
fn a_docker_line_is_one_command() {
    for planned in plans() {
        let text = docker::render(&planned);
        let line = text.lines().next().unwrap().strip_prefix("# docker run ").unwrap();
        let script = format!("printf '%s\\n' {line}");
        let done = std::process::Command::new("sh").args(["-c", &script]).output().unwrap();
        assert!(done.status.success());
        let words = String::from_utf8(done.stdout).unwrap();
        for (name, value) in &planned.plan.env {
            assert!(words.contains(&format!("--env\n{name}={value}\n")), "{words}");
        }
        assert!(words.ends_with("IMAGE\n"), "{words}");
    }
}

#[test]
fn a_shell_reads_the_lines_of_env() {
    for planned in plans() {
        for (name, value) in &planned.plan.env {
            let script = format!("set -a; {}\nprintenv {name}", env::render(&planned));
            let done = std::process::Command::new("sh").args(["-c", &script]).output().unwrap();
            assert_eq!(String::from_utf8(done.stdout).unwrap().trim_end_matches('\n'), value);
        }
    }
}

#[test]
fn a_drop_in_sets_what_the_plan_says() {
    for planned in plans() {
        let text = systemd::render(&planned);
        assert!(text.contains("\n[Service]\n"), "{text}");
        let keys = text.lines().filter(|line| !line.starts_with('#') && !line.starts_with('['));
        for line in keys {
            let (key, _) = line.split_once('=').unwrap();
            assert!(["Environment", "CPUAffinity"].contains(&key), "{line}");
        }
        assert_eq!(text.contains("CPUAffinity=0 1 2 3\n"), planned.plan.cpus.is_some(), "{text}");
    }
}

#[test]
fn a_document_has_the_keys_that_stay() {
    for planned in plans() {
        let document: Value = serde_json::from_str(&json::render(&planned)).unwrap();
        assert_eq!(document["schema"], "rtscope/plan/1");
        for flag in document["flags"].as_array().unwrap() {
            for key in ["flag", "reason", "source", "confidence"] {
                assert!(flag[key].is_string(), "{flag}");
            }
        }
        for refused in document["refused"].as_array().unwrap() {
            assert!(refused["flag"].is_string() && refused["why"].is_string(), "{refused}");
        }
        assert!(document["env"].is_object());
    }
}
