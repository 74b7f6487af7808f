//! Trees of /proc and /sys as one text file each: `== PATH`, then the file's lines. Owns that format; the
//! trees come from `guest::harvest`, or from where the head of the file says.

use crate::workload::repository;
use anyhow::{Context, Result, ensure};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Component, Path, PathBuf};

/// The folder of machine fixtures.
pub fn folder() -> PathBuf {
    repository().join("fixtures/machines")
}

/// Names of all machines, sorted.
pub fn names() -> Result<Vec<String>> {
    let paths = fs::read_dir(folder())?.collect::<Result<Vec<_>, _>>()?.into_iter().map(|entry| entry.path());
    let trees = paths.filter(|path| path.extension().is_some_and(|ending| ending == "tree"));
    let mut names: Vec<_> = trees.filter_map(|path| Some(path.file_stem()?.to_string_lossy().into_owned())).collect();
    names.sort();
    Ok(names)
}

/// The expected values for a machine.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Expected {
    /// The CPU mask: `0-3,5`.
    pub cpus_allowed: String,
    /// Its CPUs by core.
    pub siblings: Vec<String>,
    /// Packages in the mask.
    pub packages: u64,
    /// NUMA nodes in the mask.
    pub numa_nodes: u64,
    /// Smallest CPU quota; absent: none.
    pub quota_cpus: Option<f64>,
    /// Whether cgroup levels above may be hidden.
    pub ancestors_hidden: bool,
    /// Smallest memory limit, or the machine's memory.
    pub memory_limit_bytes: u64,
    /// Whether a control group sets the limit.
    pub memory_limited: bool,
    /// The plan for latency.
    pub latency: Flags,
    /// The plan for throughput.
    pub throughput: Flags,
    /// The plan for memory.
    pub memory: Flags,
}

/// A plan as it appears in the environment.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Flags {
    /// `GHCRTS` of a threaded program of unknown version.
    pub ghc: String,
    /// `OCAMLRUNPARAM`.
    pub ocaml: String,
}

/// The expected values for each machine, by name.
pub fn expected() -> Result<BTreeMap<String, Expected>> {
    let path = folder().join("expected.toml");
    toml::from_str(&fs::read_to_string(&path)?).with_context(|| path.display().to_string())
}

/// Writes the files of machine `name` into the folder `into`.
pub fn unpack(name: &str, into: &Path) -> Result<()> {
    let path = folder().join(format!("{name}.tree"));
    let text = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
    unpack_text(&text, into).with_context(|| path.display().to_string())
}

/// Writes the files of a tree into the folder `into`.
pub fn unpack_text(text: &str, into: &Path) -> Result<()> {
    for (path, content) in files(text) {
        let inside = Path::new(path).components().all(|part| matches!(part, Component::Normal(_)));
        ensure!(inside, "{path} is no path below the root");
        let path = into.join(path);
        fs::create_dir_all(path.parent().context("a file without a folder")?)?;
        fs::write(path, content)?;
    }
    Ok(())
}

/// Parses a tree into paths and contents.
fn files(text: &str) -> Vec<(&str, String)> {
    let mut files: Vec<(&str, String)> = Vec::new();
    for line in text.lines() {
        match (line.strip_prefix("== "), files.last_mut()) {
            (Some(path), _) => files.push((path, String::new())),
            (None, Some((_, content))) => {
                content.push_str(line);
                content.push('\n');
            }
            // The head, which says where the tree comes from.
            (None, None) => {}
        }
    }
    files
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_machine_unpacks_to_what_its_process_may_use() {
        assert!(!names().unwrap().is_empty());
        for name in names().unwrap() {
            let root = tempfile::tempdir().unwrap();
            unpack(&name, root.path()).unwrap();
            let status = fs::read_to_string(root.path().join("proc/self/status")).unwrap();
            assert!(status.contains("Cpus_allowed_list:"), "{name}");
        }
    }

    #[test]
    fn a_head_is_no_file_and_lines_stay() {
        let found = files("# a head\n== a/b\none\n\ntwo\n== empty\n");
        assert_eq!(found, [("a/b", "one\n\ntwo\n".to_owned()), ("empty", String::new())]);
    }
}
