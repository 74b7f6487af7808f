//! `corpus/`: small logs of each GHC version, each with its content. Owns making them, with
//! `xtask corpus --make`, and the format of an expectation: events by type from `raw_log`, pauses from
//! `raw_pauses`, both independent of rtscope's own decoding.

use crate::raw_log::RawLog;
use crate::raw_pauses::pauses;
use crate::runner::target_folder;
use crate::toolchain::Toolchain;
use crate::workload::{self, repository};
use anyhow::{Context, Result, ensure};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// The content of a log: `NAME.json` next to `NAME.eventlog`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Expectation {
    /// Number of events by type.
    pub events_by_type: BTreeMap<u16, u64>,
    /// Number of complete stop-the-world collections.
    pub pauses: u64,
    /// Number of these with a request.
    pub requested: u64,
    /// Sum of the times from the request until all lanes stopped.
    pub time_to_stop_ns: u64,
    /// Sum of the times from then until the work was done.
    pub collect_ns: u64,
    /// Sum of the times from then until the last lane resumed.
    pub release_ns: u64,
    /// How often each capability was the last to stop.
    pub stragglers: BTreeMap<u16, u64>,
    /// The heap profile, if the program was run with one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub heap_profile: Option<HeapProfile>,
}

/// The samples of a heap profile.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HeapProfile {
    /// Number of samples with a begin and an end.
    pub samples: u64,
    /// Largest sum of a sample, bytes.
    pub max_bytes: u64,
    /// Largest value of each label, bytes.
    pub labels: BTreeMap<String, u64>,
}

impl Expectation {
    /// Computes it from the raw log.
    pub fn of(log: &[u8]) -> Result<Expectation> {
        let log = RawLog::read(log)?;
        let heap_profile = heap_profile(&log);
        let mut expectation = Expectation { events_by_type: log.counts(), heap_profile, ..Expectation::default() };
        for pause in pauses(&log) {
            expectation.pauses += 1;
            if let Some(requested) = pause.requested {
                expectation.requested += 1;
                expectation.time_to_stop_ns += pause.stopped - requested;
            }
            expectation.collect_ns += pause.collected - pause.stopped;
            expectation.release_ns += pause.released - pause.collected;
            if let Some(straggler) = pause.straggler {
                *expectation.stragglers.entry(straggler).or_default() += 1;
            }
        }
        Ok(expectation)
    }
}

/// The samples in `log`, if any; labels are texts.
fn heap_profile(log: &RawLog<'_>) -> Option<HeapProfile> {
    const BEGIN: u16 = 162;
    const LABEL: u16 = 164;
    const END: u16 = 165;
    let mut found = HeapProfile::default();
    let mut sample = BTreeMap::<String, u64>::new();
    for event in &log.events {
        match (event.tag, event.payload) {
            (BEGIN, _) => sample.clear(),
            (LABEL, [_profile, bytes @ .., 0]) if bytes.len() >= 8 => {
                let (bytes, label) = bytes.split_at(8);
                let bytes = bytes.iter().fold(0, |sum, byte| sum << 8 | u64::from(*byte));
                *sample.entry(String::from_utf8_lossy(label).into_owned()).or_default() += bytes;
            }
            (END, _) => {
                found.samples += 1;
                found.max_bytes = found.max_bytes.max(sample.values().sum());
                for (label, bytes) in &sample {
                    let most = found.labels.entry(label.clone()).or_default();
                    *most = (*most).max(*bytes);
                }
            }
            _ => {}
        }
    }
    (found.samples > 0).then_some(found)
}

/// How a log is made.
struct Recipe {
    name: &'static str,
    workload: &'static str,
    args: &'static [&'static str],
    rts: &'static [&'static str],
}

const RECIPES: [Recipe; 6] = [
    Recipe { name: "parallel", workload: "throttled", args: &["90"], rts: &["-N2", "-A1m", "-l-ag"] },
    Recipe { name: "sequential", workload: "throttled", args: &["90"], rts: &["-N2", "-A1m", "-qg", "-lsgu"] },
    Recipe { name: "all-classes", workload: "churner", args: &["60"], rts: &["-N2", "-la"] },
    Recipe { name: "non-threaded", workload: "non-threaded", args: &["12"], rts: &["-lsgu"] },
    Recipe {
        name: "non-moving",
        workload: "non-moving",
        args: &["60"],
        rts: &["-N2", "-A1m", "--nonmoving-gc", "-l-agn"],
    },
    Recipe {
        name: "heap-profile",
        workload: "long-major-gc",
        args: &["20000"],
        rts: &["-N1", "-A64m", "-hT", "-i0.1", "-l-ag"],
    },
];

const MAX_BYTES: u64 = 60 * 1024;

/// The folder of the corpus for one toolchain.
pub fn folder(toolchain: &str) -> PathBuf {
    repository().join("corpus").join(toolchain)
}

/// Remakes every log and expectation of `toolchain`, or only the one called `only`.
pub fn make(toolchain: &Toolchain, only: Option<&str>, print: &mut dyn FnMut(&str)) -> Result<()> {
    let (builds, scratch) = (target_folder().join("workloads"), target_folder().join("corpus"));
    fs::create_dir_all(&builds)?;
    fs::create_dir_all(&scratch)?;
    fs::create_dir_all(folder(toolchain.name))?;
    for recipe in RECIPES.iter().filter(|recipe| only.is_none_or(|only| only == recipe.name)) {
        let program = workload::load(recipe.workload)?.build(toolchain, &builds)?;
        let made = scratch.join("made.eventlog");
        let mut command = toolchain.command(program.as_os_str(), &scratch, &[&scratch, &builds]);
        command.args(recipe.args).arg("+RTS").args(recipe.rts).arg(format!("-ol{}", made.display()));
        let done = command.output()?;
        ensure!(done.status.success(), "{}: {}", recipe.name, String::from_utf8_lossy(&done.stderr));
        let bytes = fs::metadata(&made)?.len();
        ensure!(bytes <= MAX_BYTES, "{} on {} has {bytes} bytes", recipe.name, toolchain.name);
        let log = scrubbed(fs::read(&made)?, &builds, &scratch);
        let expectation = Expectation::of(&log)?;
        let target = folder(toolchain.name).join(recipe.name);
        fs::write(target.with_extension("eventlog"), &log)?;
        fs::write(target.with_extension("json"), serde_json::to_string_pretty(&expectation)? + "\n")?;
        print(&format!("{}/{}: {bytes} bytes, {} pauses", toolchain.name, recipe.name, expectation.pauses));
    }
    Ok(())
}

/// The log contains its program's arguments: replaces this machine's folders by equally many dots.
fn scrubbed(mut log: Vec<u8>, builds: &Path, scratch: &Path) -> Vec<u8> {
    for folder in [builds, scratch] {
        let name = folder.to_string_lossy().into_owned().into_bytes();
        let mut at = 0;
        while at + name.len() <= log.len() {
            if log[at..].starts_with(&name) {
                log[at..at + name.len()].fill(b'.');
            }
            at += 1;
        }
    }
    log
}

/// Every file of the corpus with one of these extensions: `eventlog` for logs, `events` for OCaml's rings.
pub fn logs(endings: &[&str]) -> Result<Vec<PathBuf>> {
    let folders = fs::read_dir(repository().join("corpus"))?.flatten();
    let files = folders.flat_map(|folder| fs::read_dir(folder.path())).flatten().flatten().map(|entry| entry.path());
    let wanted = |path: &PathBuf| path.extension().is_some_and(|ending| endings.iter().any(|one| ending == *one));
    let mut logs: Vec<PathBuf> = files.filter(wanted).collect();
    logs.sort();
    Ok(logs)
}

/// Every such file with its expectation, named like `ghc-9.6/parallel`.
pub fn expected<E: DeserializeOwned>(ending: &str) -> Result<Vec<(String, PathBuf, E)>> {
    let one = |log: PathBuf| {
        let text = fs::read_to_string(log.with_extension("json")).with_context(|| log.display().to_string())?;
        let name = log.strip_prefix(repository().join("corpus"))?.with_extension("").display().to_string();
        Ok((name, log, serde_json::from_str(&text)?))
    };
    logs(&[ending])?.into_iter().map(one).collect()
}

/// Every log of the corpus with its expectation.
pub fn all() -> Result<Vec<(String, PathBuf, Expectation)>> {
    expected("eventlog")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_corpus_matches_its_expectations() {
        let all = all().unwrap();
        assert!(all.len() >= 15, "{} logs", all.len());
        for (name, log, expectation) in all {
            assert_eq!(Expectation::of(&fs::read(log).unwrap()).unwrap(), expectation, "{name}");
            assert!(expectation.pauses > 0, "{name}");
        }
    }
}
