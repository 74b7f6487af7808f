//! As root: `rtscope machine` in control groups that the test creates, with a quota on a level above the
//! process's own, and in a cgroup namespace. Whatever it creates is removed, even if it fails.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use xtask::missing;
use xtask::toolchain::is_root;

/// A group with a quota of half a CPU, and an unlimited one in it.
struct Groups {
    outer: PathBuf,
    version: u8,
}

impl Groups {
    fn new() -> Option<Groups> {
        let v1 = Path::new("/sys/fs/cgroup/cpu");
        let (root, version) = if v1.is_dir() { (v1, 1) } else { (Path::new("/sys/fs/cgroup"), 2) };
        let groups = Groups { outer: root.join(format!("rtscope-machine-{}", std::process::id())), version };
        fs::create_dir(&groups.outer).ok()?;
        if version == 1 {
            fs::write(groups.outer.join("cpu.cfs_quota_us"), "50000").ok()?;
        } else {
            fs::write(groups.outer.join("cgroup.subtree_control"), "+cpu").ok()?;
            fs::write(groups.outer.join("cpu.max"), "50000 100000").ok()?;
        }
        fs::create_dir(groups.inner()).ok()?;
        Some(groups)
    }

    fn inner(&self) -> PathBuf {
        self.outer.join("inner")
    }

    /// `rtscope machine --json` in the inner group, started by `before`.
    fn machine(&self, before: &str) -> serde_json::Value {
        let line = format!(
            "echo $$ > {}/cgroup.procs && exec {before} {} machine --json",
            self.inner().display(),
            testkit::rtscope()
        );
        let done = Command::new("sh").args(["-c", &line]).output().expect("running sh");
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        serde_json::from_slice(&done.stdout).expect("a JSON document")
    }
}

impl Drop for Groups {
    fn drop(&mut self) {
        for group in [self.inner(), self.outer.clone()] {
            for _ in 0..50 {
                if !group.exists() || fs::remove_dir(&group).is_ok() {
                    break;
                }
                std::thread::sleep(std::time::Duration::from_millis(20));
            }
        }
    }
}

#[test]
fn root_a_quota_above_is_found_also_from_inside_a_namespace() {
    let groups = if is_root() { Groups::new() } else { None };
    let Some(groups) = groups else { return missing("root and a cpu control group") };
    let file = if groups.version == 1 { "cpu.cfs_quota_us" } else { "cpu.max" };
    let path = groups.outer.join(file).display().to_string();
    let plain = groups.machine("");
    assert_eq!((&plain["quota_cpus"], &plain["quota_path"]), (&0.5.into(), &path.clone().into()));
    assert_eq!(plain["levels"][0]["path"].as_str().unwrap().rsplit('/').next(), Some("inner"));
    assert_eq!(plain["ancestors_hidden"], false, "{}", plain["notes"]);

    // The names of groups are hidden; the process is found by its number.
    let hidden = groups.machine("unshare --cgroup");
    assert_eq!((&hidden["quota_cpus"], &hidden["quota_path"]), (&0.5.into(), &path.into()));
    assert_eq!(hidden["ancestors_hidden"], false, "{}", hidden["notes"]);

    // Mounted anew inside, as in a container: now what lies above is hidden.
    let kind = if groups.version == 1 { "-t cgroup -o cpu" } else { "-t cgroup2" };
    let root = groups.outer.parent().expect("where groups are mounted").display().to_string();
    let script = format!("umount -l {root} && mount {kind} none {root} && exec \"$0\" \"$@\"");
    let inside = groups.machine(&format!("unshare --cgroup --mount sh -c '{script}'"));
    assert_eq!(inside["quota_cpus"], serde_json::Value::Null);
    assert_eq!(inside["ancestors_hidden"], true);
    assert!(inside["notes"].to_string().contains("are hidden"), "{}", inside["notes"]);
}
