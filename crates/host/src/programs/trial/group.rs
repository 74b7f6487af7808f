//! A trial's own control group: it counts the memory and CPU time of everything that the
//! program starts, and nothing leaves it. Owns where it is made and its removal with everything
//! that still runs in it; an empty one that a killed rtscope left is removed by the next.
//!
//! It lies inside the group of this process, so that its limits apply to the trial too. Under
//! v2 a group with processes gives its children no memory counter (except the root): then the
//! trial's group becomes a sibling, if nothing limits the group itself.

use crate::machine::cgroup;
use crate::system::procfs::{self, Host};
use rustix::process::{Pid, Signal, kill_process};
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

const PREFIX: &str = "rtscope-trial-";

/// Longest wait for killed processes to end, and for an empty group to become removable.
const GONE: Duration = Duration::from_secs(5);
const LOOK: Duration = Duration::from_millis(5);

/// Files of a v2 group with their contents if nothing limits it.
const UNLIMITED_V2: [(&str, &str); 4] =
    [("cpu.max", "max"), ("memory.max", "max"), ("memory.high", "max"), ("cpuset.cpus", "")];

/// The group, in one hierarchy or in two of v1. Dropping it kills what runs in it and
/// removes it.
#[derive(Debug)]
pub(super) struct TrialGroup {
    folders: Vec<PathBuf>,
    peak: Option<PathBuf>,
    cpu: Option<PathBuf>,
    oom: Option<PathBuf>,
}

impl TrialGroup {
    /// Makes a group. The error says in words why that is not possible.
    pub(super) fn make(host: &Host) -> Result<TrialGroup, String> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("{PREFIX}{}-{number}", std::process::id());
        let mut group = TrialGroup { folders: Vec::new(), peak: None, cpu: None, oom: None };
        let memory = cgroup::own_folder(host, "memory");
        let cpu = cgroup::own_folder(host, "cpuacct").filter(|cpu| Some(cpu) != memory.as_ref());
        if memory.is_none() && cpu.is_none() {
            return Err("no control groups are to be seen".to_owned());
        }
        let mut why = None;
        for (version, own) in memory.into_iter().chain(cpu) {
            let parent = if version == 2 { parent_v2(&own) } else { own };
            sweep(&parent);
            match fs::create_dir(parent.join(&name)) {
                Ok(()) => group.add(version, parent.join(&name)),
                Err(error) => why = Some(format!("{} takes no group: {error}", parent.display())),
            }
        }
        if group.folders.is_empty() { Err(why.unwrap_or_default()) } else { Ok(group) }
    }

    fn add(&mut self, version: u8, folder: PathBuf) {
        let (peak, cpu, oom) = match version {
            1 => ("memory.max_usage_in_bytes", "cpuacct.usage", "memory.oom_control"),
            _ => ("memory.peak", "cpu.stat", "memory.events"),
        };
        let existing = |file: &str| Some(folder.join(file)).filter(|path| path.exists());
        self.peak = self.peak.take().or(existing(peak));
        self.cpu = self.cpu.take().or(existing(cpu));
        self.oom = self.oom.take().or(existing(oom));
        self.folders.push(folder);
    }

    /// Files into which a process writes `0` to enter. Errors: one cannot be opened.
    pub(super) fn doors(&self) -> io::Result<Vec<File>> {
        self.folders.iter().map(|folder| File::options().write(true).open(folder.join("cgroup.procs"))).collect()
    }

    /// The peak of memory charged to it, in bytes; `None`: not counted here.
    pub(super) fn memory_peak(&self) -> Option<u64> {
        fs::read_to_string(self.peak.as_ref()?).ok()?.trim().parse().ok()
    }

    /// CPU time of everything that was in it, nanoseconds; `None`: not counted here.
    pub(super) fn cpu_ns(&self) -> Option<u64> {
        let text = fs::read_to_string(self.cpu.as_ref()?).ok()?;
        // `cpuacct.usage` is one number, `cpu.stat` has microseconds in a line.
        text.trim().parse().ok().or_else(|| procfs::number(&text, "usage_usec")?.checked_mul(1000))
    }

    /// Its processes that the kernel killed for lack of memory.
    pub(super) fn oom_kills(&self) -> u64 {
        let text = self.oom.as_ref().and_then(|path| fs::read_to_string(path).ok());
        text.and_then(|text| procfs::number(&text, "oom_kill")).unwrap_or(0)
    }

    /// Kills everything in it; true when nothing is left.
    pub(super) fn kill(&self) -> bool {
        let deadline = Instant::now() + GONE;
        loop {
            let left: Vec<Pid> = self.folders.iter().flat_map(|folder| processes(folder)).collect();
            if left.is_empty() {
                return true;
            }
            for folder in &self.folders {
                // v2 from Linux 5.14; else, and on v1, one after the other until none is left.
                if fs::write(folder.join("cgroup.kill"), "1").is_err() {
                    processes(folder).into_iter().for_each(|pid| _ = kill_process(pid, Signal::KILL));
                }
            }
            if Instant::now() >= deadline {
                return false;
            }
            std::thread::sleep(LOOK);
        }
    }
}

impl Drop for TrialGroup {
    fn drop(&mut self) {
        self.kill();
        let deadline = Instant::now() + GONE;
        for folder in &self.folders {
            // A process that was just reaped may hold it for a moment.
            while fs::remove_dir(folder).is_err_and(|error| error.kind() != io::ErrorKind::NotFound) {
                if Instant::now() >= deadline {
                    break;
                }
                std::thread::sleep(LOOK);
            }
        }
    }
}

fn processes(folder: &Path) -> Vec<Pid> {
    let text = fs::read_to_string(folder.join("cgroup.procs")).unwrap_or_default();
    // 0 is a process of another pid namespace: not ours.
    text.lines().filter_map(|line| Pid::from_raw(line.trim().parse().ok().filter(|pid| *pid > 1)?)).collect()
}

/// The folder below v2 in which a new group counts memory; else the own group, in which it
/// counts CPU time.
fn parent_v2(own: &Path) -> PathBuf {
    let counts = |folder: &Path| {
        let given = || fs::read_to_string(folder.join("cgroup.subtree_control")).unwrap_or_default();
        let has = || given().split_ascii_whitespace().any(|name| name == "memory");
        // Refused if the group has processes or lacks the controller.
        has() || (fs::write(folder.join("cgroup.subtree_control"), "+memory").is_ok() && has())
    };
    let unlimited = UNLIMITED_V2.iter().all(|(file, none)| {
        fs::read_to_string(own.join(file))
            .map_or(true, |text| text.split_ascii_whitespace().next().unwrap_or("") == *none)
    });
    let sibling = own.parent().filter(|_| unlimited && own.join("cgroup.type").exists());
    let found = [Some(own), sibling].into_iter().flatten().find(|folder| counts(folder));
    found.unwrap_or(own).to_owned()
}

/// Removes empty groups of processes that are gone.
fn sweep(parent: &Path) {
    for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let pid = name.strip_prefix(PREFIX).and_then(|rest| rest.split('-').next());
        if pid.is_some_and(|pid| !Path::new("/proc").join(pid).exists()) {
            // The kernel refuses while a process runs in it.
            let _ = fs::remove_dir(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(groups: &[(&str, &[(&str, &str)])]) -> tempfile::TempDir {
        let tree = tempfile::tempdir().unwrap();
        for (group, files) in groups {
            fs::create_dir_all(tree.path().join(group)).unwrap();
            for (file, text) in *files {
                fs::write(tree.path().join(group).join(file), text).unwrap();
            }
        }
        tree
    }

    #[test]
    fn a_v2_group_is_made_where_memory_is_counted_and_limits_hold() {
        let counts = ("cgroup.subtree_control", "cpu memory\n");
        let not = ("cgroup.subtree_control", "cpu\n");
        let below = ("cgroup.type", "domain\n");
        let free: [(&str, &str); 3] = [("cpu.max", "max 100000\n"), ("memory.max", "max\n"), ("cpuset.cpus", "\n")];
        let limited = [below, ("memory.max", "1048576\n")];
        let found = |slice: &[(&str, &str)], own: &[(&str, &str)]| {
            let tree = tree(&[("slice", slice), ("slice/own", own)]);
            // Ordinary files accept "+memory" and do not turn it into "memory": in effect a refusal.
            parent_v2(&tree.path().join("slice/own")).strip_prefix(tree.path()).unwrap().display().to_string()
        };
        assert_eq!(found(&[counts], &[below, counts]), "slice/own");
        assert_eq!(found(&[counts], &[&[below, not][..], &free].concat()), "slice");
        assert_eq!(found(&[counts], &limited), "slice/own", "its limit has to hold");
        assert_eq!(found(&[not], &[below, not]), "slice/own", "no group counts");
        assert_eq!(found(&[counts], &[not]), "slice/own", "what is above a root is no group");
    }

    #[test]
    fn only_groups_of_the_dead_are_swept() {
        let own = format!("{PREFIX}{}-0", std::process::id());
        let dead = format!("{PREFIX}4000000000-3");
        let tree = tree(&[(&own, &[]), (&dead, &[]), ("other", &[])]);
        sweep(tree.path());
        let left = |name: &str| tree.path().join(name).exists();
        assert!(left(&own) && left("other") && !left(&dead));
    }

    #[test]
    fn root_a_group_counts_and_goes_with_what_is_in_it() {
        let Ok(group) = TrialGroup::make(&Host::default()) else {
            assert!(!rustix::process::geteuid().is_root() || !Path::new("/sys/fs/cgroup").exists());
            return;
        };
        let mut child = std::process::Command::new("sleep").arg("1000").spawn().unwrap();
        for folder in &group.folders {
            fs::write(folder.join("cgroup.procs"), child.id().to_string()).unwrap();
        }
        assert!(group.cpu_ns().is_some());
        let folders = group.folders.clone();
        drop(group);
        assert!(folders.iter().all(|folder| !folder.exists()));
        use std::os::unix::process::ExitStatusExt;
        assert_eq!(child.wait().unwrap().signal(), Some(9));
    }
}
