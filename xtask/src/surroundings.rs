//! The surroundings of a running workload: a control group with a quota, and neighbours that keep CPUs busy.
//! Owns creating and removing them; the guard removes both when dropped, and the next run removes what a
//! killed run left.

use crate::toolchain::is_root;
use crate::workload::Workload;
use anyhow::{Context, Result, bail};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

const PREFIX: &str = "rtscope-test-";
const PERIOD_US: u64 = 100_000;

/// Process name of a neighbour.
pub const NEIGHBOUR: &str = "noisy-batch";

/// Everything that a workload wants around it.
#[derive(Debug)]
pub struct Surroundings {
    /// Its control group, if it has a quota.
    pub group: Option<QuotaGroup>,
    /// Its neighbours, if any.
    pub neighbours: Neighbours,
}

impl Surroundings {
    /// Creates them; links go into `scratch`.
    pub fn make(workload: &Workload, scratch: &Path) -> Result<Surroundings> {
        let group = workload.quota_cpus.map(QuotaGroup::new).transpose()?;
        let cpus: Vec<usize> = (0..workload.cpus.unwrap_or(0)).collect();
        let neighbours = Neighbours::start(&cpus, workload.neighbours_per_cpu, scratch)?;
        Ok(Surroundings { group, neighbours })
    }

    /// Ends them; returns the periods in which the quota ran out, if there was one.
    pub fn end(self) -> Option<u64> {
        drop(self.neighbours);
        self.group.as_ref().and_then(QuotaGroup::throttled_periods)
    }
}

/// A control group with a CPU quota.
#[derive(Debug)]
pub struct QuotaGroup {
    folder: PathBuf,
}

impl QuotaGroup {
    /// Creates one below the root group of this machine's CPU controller. It has the largest possible weight:
    /// other load cannot take so much CPU from the group that its quota never runs out.
    pub fn new(quota_cpus: f64) -> Result<QuotaGroup> {
        if !is_root() {
            bail!("a control group with a quota takes root");
        }
        let (parent, version) = cpu_controller()?;
        sweep(&parent);
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let folder = parent.join(format!("{PREFIX}{}-{number}", std::process::id()));
        fs::create_dir(&folder).with_context(|| format!("{} cannot be made", folder.display()))?;
        let group = QuotaGroup { folder };
        let quota_us = (quota_cpus * PERIOD_US as f64) as u64;
        let settings = match version {
            1 => [("cpu.shares", "262144".to_owned()), ("cpu.cfs_quota_us", quota_us.to_string())],
            _ => [("cpu.weight", "10000".to_owned()), ("cpu.max", format!("{quota_us} {PERIOD_US}"))],
        };
        for (file, text) in settings {
            fs::write(group.folder.join(file), text)
                .with_context(|| format!("{file} in {}", group.folder.display()))?;
        }
        Ok(group)
    }

    /// The prefix of a command line that runs in the group.
    pub fn enter(&self) -> Vec<String> {
        let script = r#"echo $$ > "$1/cgroup.procs" && shift && exec "$@""#;
        ["sh", "-c", script, "enter"].map(String::from).into_iter().chain([self.folder.display().to_string()]).collect()
    }

    /// Periods in which the quota ran out so far.
    pub fn throttled_periods(&self) -> Option<u64> {
        let text = fs::read_to_string(self.folder.join("cpu.stat")).ok()?;
        text.lines().find_map(|line| line.strip_prefix("nr_throttled ")?.parse().ok())
    }
}

impl Drop for QuotaGroup {
    fn drop(&mut self) {
        // A process that was just reaped may hold the group a moment longer.
        for _ in 0..50 {
            if fs::remove_dir(&self.folder).is_ok() {
                return;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        eprintln!("{} could not be removed", self.folder.display());
    }
}

fn cpu_controller() -> Result<(PathBuf, u8)> {
    let mounts = fs::read_to_string("/proc/self/mounts")?;
    let rows = || mounts.lines().map(|line| line.split(' ').collect::<Vec<_>>());
    for row in rows() {
        if let [_, at, "cgroup", options, ..] = row[..]
            && options.split(',').any(|option| option == "cpu")
        {
            return Ok((at.into(), 1));
        }
    }
    for row in rows() {
        if let [_, at, "cgroup2", ..] = row[..] {
            let parent = PathBuf::from(at);
            let controllers = fs::read_to_string(parent.join("cgroup.controllers")).unwrap_or_default();
            if controllers.split_whitespace().any(|name| name == "cpu") {
                fs::write(parent.join("cgroup.subtree_control"), "+cpu")
                    .with_context(|| format!("the cpu controller cannot be used below {at}"))?;
                return Ok((parent, 2));
            }
        }
    }
    bail!("no CPU controller (control groups v1 `cpu` or v2) is mounted here")
}

/// Removes empty groups of runs that have ended.
fn sweep(parent: &Path) {
    for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let pid = name.strip_prefix(PREFIX).and_then(|rest| rest.split('-').next());
        if pid.is_some_and(|pid| !Path::new("/proc").join(pid).exists()) {
            // If it is not empty, another run uses it: leave it.
            let _ = fs::remove_dir(entry.path());
        }
    }
}

/// Spinning processes, pinned to CPUs.
#[derive(Debug, Default)]
pub struct Neighbours {
    children: Vec<Child>,
    folder: Option<PathBuf>,
}

impl Neighbours {
    /// Starts `per_cpu` processes on each of `cpus`. They end with the guard, or within a second after this
    /// process dies.
    pub fn start(cpus: &[usize], per_cpu: usize, scratch: &Path) -> Result<Neighbours> {
        let mut neighbours = Neighbours::default();
        if per_cpu == 0 {
            return Ok(neighbours);
        }
        // The process name is the last part of the executed path.
        let spinner = scratch.join(NEIGHBOUR);
        if !spinner.exists() {
            symlink("/bin/sh", &spinner)?;
        }
        neighbours.folder = Some(spinner.clone());
        let script = "while kill -0 $1 2>/dev/null; do i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done; done";
        for cpu in cpus {
            for _ in 0..per_cpu {
                let child = Command::new("taskset")
                    .args(["-c", &cpu.to_string()])
                    .arg(&spinner)
                    .args(["-c", script, NEIGHBOUR, &std::process::id().to_string()])
                    .stdin(Stdio::null())
                    .spawn()
                    .context("taskset (package util-linux) cannot be run")?;
                neighbours.children.push(child);
            }
        }
        Ok(neighbours)
    }

    /// The processes' ids.
    pub fn pids(&self) -> Vec<u32> {
        self.children.iter().map(Child::id).collect()
    }
}

impl Drop for Neighbours {
    fn drop(&mut self) {
        for child in &mut self.children {
            let _ = child.kill();
            let _ = child.wait();
        }
        if let Some(spinner) = &self.folder {
            let _ = fs::remove_file(spinner);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_have_their_name_and_end_with_the_guard() {
        let scratch = tempfile::tempdir().unwrap();
        let neighbours = Neighbours::start(&[0], 1, scratch.path()).unwrap();
        let pid = neighbours.children[0].id();
        let comm = || fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
        for _ in 0..100 {
            if comm().trim() == NEIGHBOUR {
                break;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        assert_eq!(comm().trim(), NEIGHBOUR);
        drop(neighbours);
        assert_eq!(comm(), "");
    }

    #[test]
    fn root_a_quota_group_limits_and_is_removed() {
        let group = match QuotaGroup::new(0.25) {
            Ok(group) => group,
            Err(error) => return crate::missing(&format!("a quota group: {error}")),
        };
        let words = group.enter();
        let spin = "i=0; while [ $i -lt 800000 ]; do i=$((i+1)); done";
        let status = Command::new(&words[0]).args(&words[1..]).args(["sh", "-c", spin]).status().unwrap();
        assert!(status.success());
        assert!(group.throttled_periods().unwrap() > 0);
        let folder = group.folder.clone();
        drop(group);
        assert!(!folder.exists());
    }
}
