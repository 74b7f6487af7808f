//! Workloads with known truth: `workloads/haskell/NAME/workload.toml` says how one
//! is built and run and which finding is true of it. Owns that file's shape and
//! the build; running is `runner`'s.

use crate::toolchain::Toolchain;
use anyhow::{Context, Result, ensure};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// `expect` of a workload of which nothing is to be found.
pub const NOTHING: &str = "nothing";

/// `workload.toml`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Workload {
    /// Folder name.
    #[serde(skip)]
    pub name: String,
    /// One sentence: what it does and why the truth is the truth.
    pub about: String,
    /// Folder whose `Main.hs` it runs, where that is not its own.
    pub program: Option<String>,
    /// Linked with `-threaded`.
    #[serde(default = "yes")]
    pub threaded: bool,
    /// The program's own arguments.
    #[serde(default)]
    pub args: Vec<String>,
    /// Runtime flags.
    pub rts: Vec<String>,
    /// What starts the program: a command with its arguments.
    #[serde(skip)]
    pub launcher: Vec<String>,
    /// Eventlog classes, where the log is made without a recorder.
    pub classes: Option<String>,
    /// Pinned to so many CPUs, from 0; absent: all.
    pub cpus: Option<usize>,
    /// Quota of its control group, in CPUs.
    pub quota_cpus: Option<f64>,
    /// Runs in a virtual machine whose host gives CPUs that it has not got.
    pub host: Option<SharedHost>,
    /// Spinning processes outside its group, pinned to each of its CPUs.
    #[serde(default)]
    pub neighbours_per_cpu: usize,
    /// About how long it runs.
    pub seconds: f64,
    /// Id of the finding that has to be first, or [`NOTHING`].
    pub expect: String,
    /// Ids of findings that are true as well: no false alarms behind the first.
    #[serde(default)]
    pub also: Vec<String>,
    /// The workload of which this is the healthy twin.
    pub twin_of: Option<String>,
    /// Options for `rtscope record`: `--detail full`.
    #[serde(default)]
    pub record: Vec<String>,
    /// Environment of the program.
    #[serde(default)]
    pub environment: BTreeMap<String, String>,
    /// Text that the first finding's claim or evidence has to hold: a symbol.
    pub names: Option<String>,
    /// The finding's remedy as it is applied here.
    pub remedy: Option<Applied>,
    /// Whether the truth suite runs it (the churner only measures).
    #[serde(default = "yes")]
    pub judged: bool,
}

/// A host and the virtual machine on it.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SharedHost {
    /// CPUs that the host has.
    pub cpus: usize,
    /// CPUs that the virtual machine has.
    pub virtual_cpus: usize,
}

/// What changes when a remedy is applied. What is absent stays as it is.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Applied {
    /// Which of the finding's remedies, from 0: its `metric` is what has to improve.
    #[serde(default)]
    pub number: usize,
    /// The program's own arguments.
    pub args: Option<Vec<String>>,
    /// Runtime flags.
    pub rts: Option<Vec<String>>,
    /// Quota, in CPUs; 0: none.
    pub quota_cpus: Option<f64>,
    /// Neighbours.
    pub neighbours_per_cpu: Option<usize>,
    /// CPUs that it is pinned to.
    pub cpus: Option<usize>,
    /// Another host.
    pub host: Option<SharedHost>,
    /// Options for `rtscope record`.
    pub record: Option<Vec<String>>,
    /// The folder whose `Main.hs` is run instead: a change of code.
    pub program: Option<String>,
}

fn yes() -> bool {
    true
}

/// The folder `workloads/haskell` of this repository.
pub fn folder() -> PathBuf {
    repository().join("workloads/haskell")
}

/// The root of this repository.
pub fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().map_or_else(|| ".".into(), Path::to_owned)
}

/// Every workload, by name.
pub fn all() -> Result<Vec<Workload>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(folder())? {
        let path = entry?.path();
        if path.join("workload.toml").exists() {
            names.extend(path.file_name().map(|name| name.to_string_lossy().into_owned()));
        }
    }
    names.sort();
    names.iter().map(|name| load(name)).collect()
}

/// The workload called `name`.
pub fn load(name: &str) -> Result<Workload> {
    let path = folder().join(name).join("workload.toml");
    let text = fs::read_to_string(&path).with_context(|| format!("no workload {name}: {}", path.display()))?;
    let mut workload: Workload = toml::from_str(&text).with_context(|| path.display().to_string())?;
    name.clone_into(&mut workload.name);
    let program = workload.program.as_deref().unwrap_or(name);
    let changed = workload.remedy.as_ref().and_then(|remedy| remedy.program.as_deref());
    for program in [Some(program), changed].into_iter().flatten() {
        ensure!(folder().join(program).join("Main.hs").exists(), "{name}: {program} has no Main.hs");
    }
    let alone = workload.cpus.is_none() && workload.quota_cpus.is_none() && workload.neighbours_per_cpu == 0;
    ensure!(
        workload.host.is_none() || alone && workload.environment.is_empty(),
        "{name}: [host] leaves no place for cpus, quota_cpus, neighbours_per_cpu and environment: the guest would ignore them"
    );
    Ok(workload)
}

impl Workload {
    /// Compiles it below `into` unless that is newer than its sources; gives the binary.
    pub fn build(&self, toolchain: &Toolchain, into: &Path) -> Result<PathBuf> {
        let program = self.program.as_deref().unwrap_or(&self.name);
        let way = if self.threaded { "threaded" } else { "plain" };
        let output = into.join(toolchain.name).join(way).join(program);
        let (own, common) = (folder().join(program), folder().join("common"));
        let built = modified(&output);
        if built.is_none() || built < newest(&own).max(newest(&common)) {
            let flags: &[&str] = if self.threaded { &["-threaded"] } else { &[] };
            toolchain.compile(&[&own, &common], flags, &output)?;
        }
        Ok(output)
    }

    /// The same with a remedy applied: what `change` leaves open stays.
    pub fn with(&self, change: &Applied) -> Workload {
        let own = self.program.clone().unwrap_or_else(|| self.name.clone());
        Workload {
            name: format!("{}-remedied", self.name),
            program: Some(change.program.clone().unwrap_or(own)),
            args: change.args.clone().unwrap_or_else(|| self.args.clone()),
            rts: change.rts.clone().unwrap_or_else(|| self.rts.clone()),
            record: change.record.clone().unwrap_or_else(|| self.record.clone()),
            quota_cpus: change.quota_cpus.map_or(self.quota_cpus, |quota| (quota > 0.0).then_some(quota)),
            cpus: change.cpus.or(self.cpus),
            host: change.host.or(self.host),
            neighbours_per_cpu: change.neighbours_per_cpu.unwrap_or(self.neighbours_per_cpu),
            ..self.clone()
        }
    }
}

fn modified(path: &Path) -> Option<SystemTime> {
    fs::metadata(path).ok()?.modified().ok()
}

fn newest(folder: &Path) -> Option<SystemTime> {
    let files = fs::read_dir(folder).ok()?.flatten().map(|entry| entry.path());
    let source =
        |path: &PathBuf| path.extension().is_some_and(|ending| ["hs", "c", "h"].iter().any(|of| ending == *of));
    files.filter(source).filter_map(|path| modified(&path)).max()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_workload_of_the_repository_reads() {
        let all = all().unwrap();
        let truths: Vec<_> = all.iter().map(|workload| workload.expect.as_str()).collect();
        for id in ["cpu-throttled", "preempted", "oversubscribed", NOTHING] {
            assert!(truths.contains(&id), "no workload for {id}");
        }
        assert!(all.iter().all(|workload| workload.seconds > 0.0 && !workload.about.is_empty()));
        for workload in &all {
            let twin_of = workload.twin_of.as_deref();
            assert!(
                twin_of.is_none_or(|of| all.iter().any(|other| other.name == of)),
                "{}: {twin_of:?}",
                workload.name
            );
            assert!(twin_of.is_none() || workload.expect == NOTHING, "{} is no healthy twin", workload.name);
            assert!(workload.remedy.is_none() || workload.expect != NOTHING, "{}: a remedy of nothing", workload.name);
        }
    }

    #[test]
    fn a_remedy_changes_what_it_names() {
        let ill = Workload { quota_cpus: Some(0.5), cpus: Some(2), ..load("neighbour").unwrap() };
        let healed = ill.with(&Applied {
            quota_cpus: Some(0.0),
            neighbours_per_cpu: Some(0),
            args: Some(vec!["7".into()]),
            ..Applied::default()
        });
        assert_eq!((healed.quota_cpus, healed.neighbours_per_cpu, healed.cpus), (None, 0, Some(2)));
        assert_eq!((healed.program.as_deref(), healed.rts), (Some("throttled"), ill.rts.clone()));
        assert_eq!((healed.args, healed.name), (vec!["7".to_owned()], "neighbour-remedied".to_owned()));
        let own = Workload { program: None, ..ill };
        assert_eq!(own.with(&Applied::default()).program.as_deref(), Some("neighbour"));
    }
}
