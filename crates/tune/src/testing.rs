//! Handmade machines and programs for tests.

use crate::plan::Plan;
use crate::runtime::{Given, Program};
use crate::runtimes::ghc::Ghc;
use crate::runtimes::ocaml::Ocaml;
use rtscope_model::Rtsopts;
use rtscope_model::resources::{Resources, Source};
use rtscope_model::runtimes::OcamlRelease;
use std::sync::Arc;

/// A machine of `cores` with `threads` each, numbered core by core; the quota is in a control group.
pub fn machine(cores: u32, threads: u32, quota_cpus: Option<f64>) -> Resources {
    let source = |what: &str, path: &str| Source { what: what.into(), path: path.into(), text: String::new() };
    Resources {
        cpus_allowed: (0..cores * threads).collect(),
        cores,
        siblings: (0..cores).map(|core| (core * threads..(core + 1) * threads).collect()).collect(),
        packages: 1,
        numa_nodes: 1,
        quota_cpus,
        quota_path: quota_cpus.map(|_| "/sys/fs/cgroup/x/cpu.max".into()),
        memory_limit_bytes: Some(16 << 30),
        memory_limit_path: Some("/proc/meminfo".into()),
        sources: vec![
            source("cpus_allowed", "/proc/self/status"),
            source("siblings of cpu0", "/sys/devices/system/cpu/cpu0/topology/core_cpus_list"),
        ],
        ..Resources::default()
    }
}

/// `machine` in a control group with a limit of `bytes`.
pub fn limited(machine: Resources, bytes: u64) -> Resources {
    Resources {
        memory_limit_bytes: Some(bytes),
        memory_limit_path: Some("/sys/fs/cgroup/x/memory.max".into()),
        memory_limited: true,
        ..machine
    }
}

/// A threaded GHC 9.6 program that accepts everything.
pub fn open() -> Ghc {
    Ghc {
        version: Some((9, 6, 6)),
        threaded: Some(true),
        rtsopts: Some(Rtsopts::All),
        numa: Some(true),
        ..Ghc::default()
    }
}

/// A program with this link, called `mill`.
pub fn mill(ghc: Ghc, given: Given) -> Program {
    Program { name: Some("./mill".into()), link: Ok(Arc::new(ghc)), given }
}

/// The options of a GHC program from its environment and on its command line.
pub fn given(ghcrts: &str, arguments: &[&str]) -> Given {
    let arguments = arguments.iter().map(|word| (*word).to_owned()).collect();
    Given { variables: [("GHCRTS", ghcrts.to_owned())].into(), arguments }
}

/// An OCaml program with `own` in its variable.
pub fn churn(release: Option<OcamlRelease>, own: Option<&str>) -> Program {
    let variables = own.iter().map(|own| ("OCAMLRUNPARAM", (*own).to_owned())).collect();
    let given = Given { variables, arguments: Vec::new() };
    Program { name: None, link: Ok(Arc::new(Ocaml { release })), given }
}

/// The plan's flags as the program reads them.
pub fn words(plan: &Plan) -> Vec<String> {
    plan.words().collect()
}
