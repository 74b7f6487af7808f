//! Capture folders (see [`rtscope_model::manifest`] for the layout): opens one in whatever state its recorder left
//! it. Owns the manifest, the samples, transaction counts, looks at waiting threads, heap snapshots and blocks that
//! were copied from memory. Refuses to decode logs and kernel records, which it only opens, and to leave its folder.

mod folder;
pub mod heaps;
pub mod journal;
mod lines;
pub mod pack;
pub mod packing;
pub mod samples;
pub mod stm;
mod unflushed;
pub mod waits;

pub use folder::{Folder, IN_FRAMES, content};
pub use samples::SampleStream;
pub use stm::StmStream;
pub use unflushed::UnflushedBlock;
pub use waits::WaitStream;

use crate::FromFront;
use rtscope_model::heap::Heap;
use rtscope_model::manifest::{self, Log, Manifest, Status};
use rtscope_model::{ClockMap, Loss, LossKind};
use serde::Deserialize;
use std::collections::HashSet;
use std::io::{self, BufReader};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// No recorder writes larger manifests; in memory one takes up to eight times as much.
const MANIFEST_MAX: u64 = 16 << 20;
/// A recorder writes its manifest every two seconds; an older one was left by a recorder that was killed.
const ALIVE: Duration = Duration::from_secs(10);

/// Why something cannot be opened as a capture: a text that follows its name.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs)]
pub enum CaptureError {
    #[error(transparent)]
    Unreadable(io::Error),
    #[error(
        "it is no capture: it has no manifest.json, no eventlog and no samples; make one with `rtscope record -- PROGRAM`"
    )]
    NotACapture,
    #[error("it has the format {schema}, which this version does not know; read it with a newer rtscope")]
    UnknownSchema { schema: String },
}

/// The samples of a capture, as they were written.
pub type Samples = SampleStream<BufReader<FromFront>>;
/// The transaction counts of a capture.
pub type Counted = StmStream<BufReader<FromFront>>;
/// The looks of a capture at waiting threads.
pub type Waits = WaitStream<BufReader<FromFront>>;

/// An opened capture.
#[derive(Clone, Debug)]
pub struct Capture {
    path: PathBuf,
    folder: Folder,
    manifest: Manifest,
    losses: Vec<Loss>,
}

impl Capture {
    /// Opens the folder `path`, or the file that it was packed into. A missing or damaged manifest is rebuilt from
    /// the files that are there, with a loss that says so.
    pub fn open(path: &Path) -> Result<Capture, CaptureError> {
        let folder = Folder::open(path).map_err(CaptureError::Unreadable)?;
        let mut losses = Vec::new();
        let manifest = match read_manifest(&folder)? {
            Some(manifest) => manifest,
            None if !has_streams(&folder) => return Err(CaptureError::NotACapture),
            None => {
                let note = "the manifest is missing or damaged: command, machine, clocks and exit status are unknown";
                losses.push(Loss::new("manifest.json", LossKind::SourceMissing, 1, note));
                empty_manifest()
            }
        };
        let mut capture = Capture { path: path.to_owned(), folder, losses, manifest };
        if capture.manifest.status == Status::Recording {
            if let Ok(lines) = capture.folder.start_of(journal::NAME, MANIFEST_MAX) {
                journal::apply(&mut capture.manifest, &lines[..]);
            }
            capture.complete_from_files();
        }
        Ok(capture)
    }

    /// The path for display; files are opened through [`Capture::folder`].
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether a recorder is still writing it.
    pub fn is_written(&self) -> bool {
        let fresh = |at: SystemTime| at.elapsed().is_ok_and(|ago| ago < ALIVE);
        self.manifest.status == Status::Recording && self.folder.modified("manifest.json").is_some_and(fresh)
    }

    /// The folder as it was opened.
    pub fn folder(&self) -> &Folder {
        &self.folder
    }

    /// The manifest, completed from the files where the recorder did not finish.
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// All known losses: the manifest's list and what was found when opening.
    pub fn losses(&self) -> Vec<Loss> {
        self.manifest.losses.iter().chain(&self.losses).cloned().collect()
    }

    /// Blocks that process `pid` had not written when they were copied, by capability and time. They belong to the
    /// process's last log.
    pub fn unflushed(&self, pid: u32) -> Vec<UnflushedBlock> {
        unflushed::blocks(&self.folder, pid)
    }

    /// File names of these blocks, by capability; they change while the recorder runs.
    pub fn unflushed_files(&self, pid: u32) -> Vec<(u16, String)> {
        unflushed::files(&self.folder, pid)
    }

    /// The recorder's samples; `None` where there are none.
    pub fn samples(&self) -> Option<Samples> {
        Some(SampleStream::new(self.lines_of("samples.jsonl")?))
    }

    /// Transaction counts; `None` where none were recorded.
    pub fn transactions(&self) -> Option<Counted> {
        Some(StmStream::new(self.lines_of("stm.jsonl")?))
    }

    /// Looks at waiting threads; `None` where none were recorded.
    pub fn waits(&self) -> Option<Waits> {
        Some(WaitStream::new(self.lines_of("waits.jsonl")?))
    }

    fn lines_of(&self, name: &str) -> Option<BufReader<FromFront>> {
        Some(BufReader::with_capacity(1 << 16, self.folder.written(name).ok()?.into()))
    }

    /// Names of its heap snapshots, such as `heap/0.json`, in numerical order.
    pub fn heap_names(&self) -> Vec<String> {
        stream_names(&self.folder, "heap", ".json")
    }

    /// Reads one heap snapshot.
    ///
    /// # Errors
    /// It cannot be read, or is not a snapshot: a loss that says why.
    pub fn heap(&self, name: &str) -> Result<Heap, Loss> {
        let bytes = self.folder.read(name, heaps::BYTES_MAX);
        let bytes = bytes.map_err(|error| heaps::loss(name, &format!("cannot be read ({error})")))?;
        heaps::parse(name, &bytes)
    }

    /// Adds streams that a killed recorder had no time to list.
    fn complete_from_files(&mut self) {
        let known: HashSet<String> = self.manifest.logs.iter().map(|log| log.path.clone()).collect();
        let claimed: HashSet<u32> = self.manifest.logs.iter().map(|log| log.pid).collect();
        let pids = unflushed::pids(&self.folder);
        let mut unclaimed: Vec<u32> = pids.into_iter().filter(|pid| !claimed.contains(pid)).collect();
        for name in stream_names(&self.folder, "eventlog", ".eventlog") {
            if known.contains(&name) {
                continue;
            }
            let pid = if let [only] = unclaimed[..] { only } else { 0 };
            if pid != 0 {
                unclaimed.clear();
            }
            let (classes, version) = (String::new(), None);
            self.manifest.logs.push(Log { path: name, pid, clock: ClockMap::LOG_OWN, classes, version });
        }
        self.complete_rings();
        for name in stream_names(&self.folder, "sched", ".perf") {
            if !self.manifest.kernel.streams.contains(&name) {
                self.manifest.kernel.streams.push(name);
            }
        }
    }

    /// Adds streams of rings, and reports where a ring file was left over.
    fn complete_rings(&mut self) {
        for name in stream_names(&self.folder, "rings", ".ring") {
            if self.manifest.logs.iter().all(|log| log.path != name) {
                let pid = ring_pid(&self.folder, &name).unwrap_or(0);
                let (classes, version) = (String::new(), None);
                self.manifest.logs.push(Log { path: name, pid, clock: ClockMap::MONOTONIC, classes, version });
            }
        }
        for name in stream_names(&self.folder, "rings/live", ".events") {
            self.manifest.notes.push(format!(
                "the recorder was killed and the ring file {name} is still there: it may hold what came later"
            ));
        }
    }
}

/// The process that wrote a stream of rings, by its own pid.
fn ring_pid(folder: &Folder, name: &str) -> Option<u32> {
    let head = folder.start_of(name, 40).ok()?;
    u32::try_from(u64::from_le_bytes(head.last_chunk::<8>().copied()?)).ok()
}

/// Parses `manifest.json`, or the copy that was about to replace it.
fn read_manifest(folder: &Folder) -> Result<Option<Manifest>, CaptureError> {
    #[derive(Deserialize)]
    struct Named {
        #[serde(default)]
        schema: String,
    }
    for name in ["manifest.json", "manifest.json.new"] {
        let Ok(bytes) = folder.read(name, MANIFEST_MAX) else { continue };
        let Ok(Named { schema }) = serde_json::from_slice(&bytes) else { continue };
        if schema.starts_with("rtscope/capture/") && schema != manifest::SCHEMA {
            return Err(CaptureError::UnknownSchema { schema });
        }
        if let Ok(manifest) = serde_json::from_slice(&bytes) {
            return Ok(Some(manifest));
        }
    }
    Ok(None)
}

fn has_streams(folder: &Folder) -> bool {
    folder.has("samples.jsonl")
        || !stream_names(folder, "eventlog", ".eventlog").is_empty()
        || !stream_names(folder, "rings", ".ring").is_empty()
        || !stream_names(folder, "sched", ".perf").is_empty()
}

/// Non-empty files of `within` with this ending, in frames or not, in numerical order, as `within/name`.
fn stream_names(folder: &Folder, within: &str, ending: &str) -> Vec<String> {
    let numbered = |(name, size): (String, u64)| {
        let number = name.strip_suffix(IN_FRAMES).unwrap_or(&name).strip_suffix(ending)?;
        let number = number.trim_start_matches(|letter: char| !letter.is_ascii_digit());
        (size > 0).then(|| (number.parse().unwrap_or(u64::MAX), format!("{within}/{name}")))
    };
    let mut names: Vec<(u64, String)> = folder.files(within).into_iter().filter_map(numbered).collect();
    names.sort();
    names.into_iter().map(|(_, name)| name).collect()
}

/// An empty manifest.
pub fn empty_manifest() -> Manifest {
    Manifest { schema: manifest::SCHEMA.to_owned(), ..Manifest::default() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn write(folder: &Path, name: &str, bytes: &[u8]) {
        let path = folder.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }

    fn block() -> Vec<u8> {
        [&[0, 18][..], &[0; 22]].concat()
    }

    #[test]
    fn a_manifest_cut_anywhere_is_made_anew_from_the_files() {
        let folder = tempfile::tempdir().unwrap();
        let manifest = Manifest { status: Status::Complete, pid: 7, ..empty_manifest() };
        let whole = serde_json::to_vec(&manifest).unwrap();
        write(folder.path(), "eventlog/10.eventlog", b"x");
        write(folder.path(), "eventlog/2.eventlog", b"x");
        write(folder.path(), "eventlog/11.eventlog", b"");
        write(folder.path(), "sched/cpu1.perf", b"x");
        write(folder.path(), "samples.jsonl", b"{\"t\":1,\"rss\":2}\n{\"t\":");
        for end in (0..whole.len()).step_by(7) {
            write(folder.path(), "manifest.json", &whole[..end]);
            let capture = Capture::open(folder.path()).unwrap();
            let logs: Vec<_> = capture.manifest().logs.iter().map(|log| log.path.as_str()).collect();
            assert_eq!(logs, ["eventlog/2.eventlog", "eventlog/10.eventlog"]);
            assert_eq!(capture.manifest().kernel.streams, ["sched/cpu1.perf"]);
            assert_eq!(capture.losses().len(), 1);
            assert_eq!(capture.samples().unwrap().count(), 1);
        }
        write(folder.path(), "manifest.json", &whole);
        let capture = Capture::open(folder.path()).unwrap();
        assert_eq!(capture.manifest(), &manifest);
        assert!(capture.losses().is_empty());
    }

    /// Such a file costs its owner nothing, and would keep a reader busy for hours.
    #[test]
    fn samples_and_counts_end_at_a_terabyte_of_hole() {
        let folder = tempfile::tempdir().unwrap();
        write(folder.path(), "manifest.json", &serde_json::to_vec(&empty_manifest()).unwrap());
        write(folder.path(), "samples.jsonl", b"{\"t\":1,\"rss\":2}\n");
        write(folder.path(), "stm.jsonl", b"{\"t\":1,\"p\":2,\"a\":3}\n");
        for name in ["samples.jsonl", "stm.jsonl"] {
            fs::File::options().write(true).open(folder.path().join(name)).unwrap().set_len(1 << 40).unwrap();
        }
        let capture = Capture::open(folder.path()).unwrap();
        assert_eq!(capture.samples().unwrap().count(), 1);
        assert_eq!(capture.transactions().unwrap().count(), 1);
    }

    #[test]
    fn a_log_that_a_killed_recorder_did_not_list_gets_the_process_of_its_blocks() {
        let folder = tempfile::tempdir().unwrap();
        write(folder.path(), "manifest.json", &serde_json::to_vec(&empty_manifest()).unwrap());
        write(folder.path(), "eventlog/0.eventlog", b"x");
        write(folder.path(), "unflushed/42-0.0", &block());
        let capture = Capture::open(folder.path()).unwrap();
        assert_eq!(capture.manifest().logs[0].pid, 42);
        assert_eq!(capture.unflushed(42).len(), 1);
        assert!(capture.unflushed(43).is_empty());
    }

    #[test]
    fn rings_that_a_killed_recorder_did_not_list_are_found() {
        let folder = tempfile::tempdir().unwrap();
        let head: Vec<u8> = [u64::from_le_bytes(*b"RTSRING1"), 128, 8, 1, 42, 0, 0, 0]
            .iter()
            .flat_map(|word| word.to_le_bytes())
            .collect();
        write(folder.path(), "rings/0.ring", &head);
        write(folder.path(), "rings/1.ring", &head[..20]);
        write(folder.path(), "rings/live/42.events", b"x");
        let capture = Capture::open(folder.path()).unwrap();
        let logs: Vec<_> = capture.manifest().logs.iter().map(|log| (log.path.as_str(), log.pid)).collect();
        assert_eq!(logs, [("rings/0.ring", 42), ("rings/1.ring", 0)]);
        assert!(capture.manifest().logs.iter().all(|log| log.clock.is_monotonic()));
        assert!(capture.manifest().notes.iter().any(|note| note.contains("rings/live/42.events")));
    }

    #[test]
    fn snapshots_come_by_number_and_unfinished_ones_do_not() {
        let folder = tempfile::tempdir().unwrap();
        write(folder.path(), "manifest.json", &serde_json::to_vec(&empty_manifest()).unwrap());
        for (name, bytes) in [
            ("heap/10.json", &br#"{"schema":"rtscope/heap/1","time":9}"#[..]),
            ("heap/2.json", br#"{"schema":"rtscope/heap/1","time":5}"#),
            ("heap/3.json", b"cut"),
            ("heap/11.json.new", b"{"),
        ] {
            write(folder.path(), name, bytes);
        }
        let capture = Capture::open(folder.path()).unwrap();
        assert_eq!(capture.heap_names(), ["heap/2.json", "heap/3.json", "heap/10.json"]);
        assert_eq!(capture.heap("heap/10.json").unwrap().time, Some(rtscope_model::Time(9)));
        assert_eq!(capture.heap("heap/3.json").unwrap_err().source, "heap/3.json");
        assert!(capture.heap("heap/4.json").unwrap_err().note.contains("cannot be read"));
    }

    #[test]
    fn non_captures_are_distinguished() {
        let folder = tempfile::tempdir().unwrap();
        assert!(matches!(Capture::open(folder.path()), Err(CaptureError::NotACapture)));
        assert!(matches!(Capture::open(&folder.path().join("no")), Err(CaptureError::Unreadable(_))));
        write(folder.path(), "manifest.json", b"{\"schema\":\"rtscope/capture/9\"}");
        assert!(matches!(Capture::open(folder.path()), Err(CaptureError::UnknownSchema { .. })));
    }
}
