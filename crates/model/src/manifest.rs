//! The manifest of a capture: everything about a recording that is not a stream. Written by the recorder (first when
//! recording starts, with `status: recording`, and last when it ends), read by everything else.
//!
//! A capture is a folder `NAME.rtscope/`:
//!
//! | path | what | written |
//! |---|---|---|
//! | `manifest.json` | this | replaced atomically: at start, every 2 s (less often where it is large), at the end |
//! | `journal.jsonl` | logs and losses that are not in the manifest yet | appended, removed at the end |
//! | `eventlog/N.eventlog` | a runtime's log as the program wrote it, N from 0, one per process | by the program |
//! | `eventlog/next-X.eventlog` | the log of programs that started after their recorder was killed | by the program |
//! | `rings/N.ring` | words of one process's runtime events rings, N from 0 (`docs/formats/ring-stream.md`) | appended |
//! | `unflushed/P-C.S` | buffer of capability C of process P that the program had not written yet, slot S (0 or 1); `g` is the global buffer | twice a second |
//! | `sched/cpuN.perf.zst` | kernel records of one CPU, in frames of zstd | appended |
//! | `sched/NAME.format` | the kernel's description of each tracepoint used | at start |
//! | `sched/threads.json` | the threads that existed: `[{tid, pid, comm}]` | at start |
//! | `code/cpuN.perf.zst` | perf records of one CPU about the program's threads: timer hits, waits, mappings | appended |
//! | `code/symbols.json` | names of the places in them ([`Code`]) | at the end |
//! | `heap/N.json` | the heap of one process at one moment ([`crate::heap::Heap`]), N from 0 | at once, when it was read |
//! | `samples.jsonl` | the recorder's samples, one JSON object per line | appended |
//! | `waits.jsonl` | what threads of the program waited for, one JSON object per look | appended |
//!
//! Every stream is append-only and may be truncated anywhere; a snapshot is complete or absent.

use crate::loss::Loss;
use crate::time::{ClockMap, Time};
use serde::{Deserialize, Serialize};

/// The schema name that this code writes.
pub const SCHEMA: &str = "rtscope/capture/1";

/// The content of `manifest.json`.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Manifest {
    /// Always [`SCHEMA`].
    pub schema: String,
    /// Version of the rtscope that made the recording.
    pub recorder: String,
    /// How far the recording got.
    pub status: Status,
    /// The command as given (or as found in `/proc` with `--pid`).
    pub command: Vec<String>,
    /// Working directory of the program.
    pub directory: String,
    /// Process id of the program as the recorder sees it.
    pub pid: u32,
    /// Environment of the program, allow-listed names only.
    pub environment: Vec<(String, String)>,
    /// What rtscope added to the program's environment or arguments, as text.
    pub added: Vec<String>,
    /// Start time of the recording.
    pub started: Time,
    /// Last time written so far.
    pub ended: Time,
    /// `CLOCK_REALTIME - CLOCK_MONOTONIC` at the start, nanoseconds.
    pub realtime_offset_ns: i64,
    /// Largest error of `realtime_offset_ns`, nanoseconds; `None`: unknown. A reader places a log with
    /// [`ClockMap::LOG_OWN`] by the log's own pairing with `CLOCK_REALTIME`, minus `realtime_offset_ns`.
    #[serde(default)]
    pub realtime_error_ns: Option<u64>,
    /// How the program ended.
    pub exit: Option<Exit>,
    /// The known facts about the binary.
    pub binary: Binary,
    /// The runtime's logs.
    pub logs: Vec<Log>,
    /// The kernel side of the recording.
    pub kernel: Kernel,
    /// Code samples; `None`: not sampled, for a reason given in `notes`.
    #[serde(default)]
    pub code: Option<Code>,
    /// Control groups that cover the program, leaf first; groups that a wrapper moved it into after the start follow.
    /// [`crate::GroupId`] is an index into this list.
    pub groups: Vec<Group>,
    /// The machine of the recording.
    pub machine: Machine,
    /// Period of the resident memory samples, nanoseconds.
    pub sample_period_ns: u64,
    /// Resources that the recorder itself used.
    pub own_cost: OwnCost,
    /// Losses of the recording.
    pub losses: Vec<Loss>,
    /// Remarks for a reader, one sentence each.
    pub notes: Vec<String>,
}

/// How far a recording got.
#[derive(Copy, Clone, Eq, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Status {
    #[default]
    /// Still recording, or the recorder was killed.
    Recording,
    /// The recording ended normally.
    Complete,
}

/// How the program ended.
#[derive(Copy, Clone, Eq, PartialEq, Debug, Serialize, Deserialize)]
pub struct Exit {
    /// Exit code, if the program exited.
    pub code: Option<i32>,
    /// Signal, if one killed the program.
    pub signal: Option<i32>,
    /// Whether the kernel's out-of-memory killer was active in its group during the recording.
    pub oom_killed: bool,
}

/// The facts about the program's binary that are known without running it.
#[derive(Clone, Eq, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Binary {
    /// Path of the file.
    pub path: String,
    /// The runtime's id; null where none was recognised.
    pub family: Option<String>,
    /// Release of its compiler, where the file names it: "5.4.1". OCaml only.
    #[serde(default)]
    pub version: Option<String>,
    /// Runtime way: "thr", "thr_l", "" for the plain one.
    pub way: Option<String>,
    /// `-with-rtsopts` text.
    pub with_rtsopts: Option<String>,
    /// `-rtsopts` value: none, some, all, ignore, ignoreAll.
    pub rtsopts: Option<String>,
    /// Whether it can write an eventlog; `None`: unknown.
    pub can_log: Option<bool>,
    /// Whether it has a symbol table.
    pub symbols: bool,
    /// One sentence if something is missing, with a way to get it.
    pub note: Option<String>,
}

/// One log of a runtime.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Log {
    /// Path in the capture, or absolute if the log is elsewhere; a log elsewhere is not read with the capture.
    pub path: String,
    /// The process that writes it, as the recorder sees it (0: unknown).
    pub pid: u32,
    /// Offset of its clock.
    pub clock: ClockMap,
    /// Requested classes, in the syntax of the runtime's flag.
    pub classes: String,
    /// Version of the runtime that writes it, if the log itself does not contain it: "5.4.1" for an
    /// OCaml program's rings.
    #[serde(default)]
    pub version: Option<String>,
}

/// The kernel side of a recording.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Kernel {
    /// The tier that was used.
    pub tier: Tier,
    /// What this tier cannot show, and how to get more; empty if nothing is missing.
    pub missing: Vec<String>,
    /// Streams in the capture, one per CPU.
    pub streams: Vec<String>,
    /// Tracepoints: id and format file in the capture.
    pub tracepoints: Vec<Tracepoint>,
    /// Perf `sample_type` of the records.
    pub sample_type: u64,
    /// Number of records written.
    pub records: u64,
    /// Number of records that the kernel dropped, as it reports.
    pub lost: u64,
    /// Whether the streams cover every process (else only the program's).
    pub system_wide: bool,
}

/// Code samples of the program.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Code {
    /// Sampling period in CPU time of a running thread, nanoseconds.
    pub period_ns: u64,
    /// Streams in the capture, one per CPU.
    pub streams: Vec<String>,
    /// Perf `sample_type` of the records; the same in all streams.
    pub sample_type: u64,
    /// The meaning of the ids in the records.
    pub events: Vec<CodeEvent>,
    /// Whether kernel code was sampled too.
    pub kernel: bool,
    /// Table of names in the capture; `None`: not written (the recorder was killed).
    pub symbols: Option<String>,
    /// Number of samples that the kernel dropped, as it reports.
    pub lost: u64,
    /// What is not shown, and how to get more.
    pub missing: Vec<String>,
}

/// One kind of record in the streams of [`Code`].
#[derive(Clone, Eq, PartialEq, Debug, Serialize, Deserialize)]
pub struct CodeEvent {
    /// `PERF_SAMPLE_IDENTIFIER` of its records.
    pub ids: Vec<u64>,
    /// Origin of its records.
    pub what: CodeSource,
}

/// The origin of a record of [`Code`].
#[derive(Copy, Clone, Eq, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CodeSource {
    /// The timer found the thread on a CPU.
    Timer,
    /// The thread left its CPU to wait.
    Waits,
}

/// A source of the kernel's scheduling events.
#[derive(Copy, Clone, Eq, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Tier {
    /// perf tracepoints of every process.
    Tracepoints,
    /// perf context switches of every process, with pids.
    CpuWideSwitches,
    /// perf context switches of the program's threads only.
    OwnSwitches,
    /// Counters of `/proc` only.
    #[default]
    Polling,
}

/// One tracepoint.
#[derive(Clone, Eq, PartialEq, Debug, Serialize, Deserialize)]
pub struct Tracepoint {
    /// Name, such as `sched_switch`.
    pub name: String,
    /// The kernel's id (`common_type` of its records).
    pub id: u64,
    /// Format file in the capture.
    pub format: String,
}

/// One control group.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Group {
    /// Path as the kernel names it, `/` for the root.
    pub path: String,
    /// Version of the hierarchy: 1 or 2.
    pub version: u8,
    /// Quota divided by period, in CPUs; `None`: no quota, or not known.
    pub quota_cpus: Option<f64>,
    /// Period in nanoseconds, if there is a quota.
    pub period_ns: Option<u64>,
    /// File with the quota.
    pub quota_path: Option<String>,
    /// Memory limit in bytes.
    pub memory_limit_bytes: Option<u64>,
}

/// The machine as the program sees it.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Machine {
    /// Kernel release.
    pub kernel: String,
    /// Processor architecture.
    pub architecture: String,
    /// Processor model.
    pub model: String,
    /// Logical processors online.
    pub cpus_online: u32,
    /// Logical processors that the program may use.
    pub cpus_allowed: Vec<u16>,
    /// Smallest quota of the visible groups, in CPUs.
    pub quota_cpus: Option<f64>,
    /// Memory of the machine in bytes.
    pub memory_bytes: u64,
    /// Host name; left out with `--redact`.
    pub host: Option<String>,
}

/// Resources that the recorder itself used.
#[derive(Copy, Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct OwnCost {
    /// CPU time of the recorder, nanoseconds.
    pub cpu_ns: u64,
    /// Bytes written to the capture by the recorder.
    pub written_bytes: u64,
    /// Largest resident set of the recorder, in bytes.
    pub rss_max_bytes: u64,
    /// Number of heap snapshots that were kept.
    #[serde(default)]
    pub heap_snapshots: u64,
    /// The part of `cpu_ns` used while heap snapshots were taken or attempted, nanoseconds.
    #[serde(default)]
    pub heap_cpu_ns: u64,
    /// The part of `cpu_ns` used by looks at waiting threads, nanoseconds.
    #[serde(default)]
    pub waits_cpu_ns: u64,
}
