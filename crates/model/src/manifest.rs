//! The manifest of a capture: everything about a recording that is not a
//! stream. Written by the recorder (first when recording starts, with
//! `status: recording`, and last when it ends), read by everything else.
//!
//! A capture is a folder `NAME.rtscope/`:
//!
//! | path | what | written |
//! |---|---|---|
//! | `manifest.json` | this | replaced atomically: at start, every 2 s (less often where it is large), at the end |
//! | `journal.jsonl` | logs and losses that the manifest does not say yet | appended, removed at the end |
//! | `eventlog/N.eventlog` | a runtime's log as the program wrote it, N from 0, one per process | by the program |
//! | `eventlog/next-X.eventlog` | the log of programs that started after their recorder was killed | by the program |
//! | `rings/N.ring` | words of one process's runtime events rings, N from 0 (`docs/formats/ring-stream.md`) | appended |
//! | `unflushed/P-C.S` | buffer of capability C of process P that the program had not written yet, slot S (0 or 1); `g` is the global buffer | twice a second |
//! | `sched/cpuN.perf.zst` | kernel records of one CPU, in frames of zstd | appended |
//! | `sched/NAME.format` | the kernel's description of each tracepoint used | at start |
//! | `sched/threads.json` | the threads that were there: `[{tid, pid, comm}]` | at start |
//! | `code/cpuN.perf.zst` | perf records of one CPU about the program's threads: timer hits, waits, mappings | appended |
//! | `code/symbols.json` | names of the places in them ([`Code`]) | at the end |
//! | `heap/N.json` | the heap of one process at one moment ([`crate::heap::Heap`]), N from 0 | whole, when it was read |
//! | `samples.jsonl` | the recorder's samples, one JSON object a line | appended |
//! | `waits.jsonl` | what threads of the program waited for, one JSON object a look | appended |
//!
//! Every stream is append-only and may be cut anywhere; a snapshot is there whole or not at all.

use crate::loss::Loss;
use crate::time::{ClockMap, Time};
use serde::{Deserialize, Serialize};

/// The schema name that this code writes.
pub const SCHEMA: &str = "rtscope/capture/1";

/// `manifest.json`.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Manifest {
    /// [`SCHEMA`].
    pub schema: String,
    /// Version of the rtscope that recorded.
    pub recorder: String,
    /// How far it got.
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
    /// First moment of the recording.
    pub started: Time,
    /// Last moment written so far.
    pub ended: Time,
    /// `CLOCK_REALTIME - CLOCK_MONOTONIC` at the start, nanoseconds.
    pub realtime_offset_ns: i64,
    /// Largest error of `realtime_offset_ns`, nanoseconds; `None` where unknown.
    /// A log with [`ClockMap::LOG_OWN`] is placed by the reader: its own pairing
    /// with `CLOCK_REALTIME`, minus `realtime_offset_ns`.
    #[serde(default)]
    pub realtime_error_ns: Option<u64>,
    /// How the program ended.
    pub exit: Option<Exit>,
    /// What is known of the binary.
    pub binary: Binary,
    /// The runtime's logs.
    pub logs: Vec<Log>,
    /// The kernel side.
    pub kernel: Kernel,
    /// Where the program's code was; `None`: not sampled, and why is in `notes`.
    #[serde(default)]
    pub code: Option<Code>,
    /// Control groups that cover the program, leaf first; groups that a wrapper
    /// moved it into after the start follow. [`crate::GroupId`] is an index into
    /// this.
    pub groups: Vec<Group>,
    /// The machine.
    pub machine: Machine,
    /// Sampling period of the memory line, nanoseconds.
    pub sample_period_ns: u64,
    /// What the recorder itself used.
    pub own_cost: OwnCost,
    /// What was lost.
    pub losses: Vec<Loss>,
    /// Things that a reader should know, one sentence each.
    pub notes: Vec<String>,
}

/// How far a recording got.
#[derive(Copy, Clone, Eq, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Status {
    #[default]
    /// Still going on, or the recorder was killed.
    Recording,
    /// Ended in good order.
    Complete,
}

/// How the program ended.
#[derive(Copy, Clone, Eq, PartialEq, Debug, Serialize, Deserialize)]
pub struct Exit {
    /// Exit code, if it exited.
    pub code: Option<i32>,
    /// Signal, if one killed it.
    pub signal: Option<i32>,
    /// The kernel's out-of-memory killer was at work in its group meanwhile.
    pub oom_killed: bool,
}

/// What is known of the program's binary without running it.
#[derive(Clone, Eq, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Binary {
    /// Its path.
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
    /// none, some, all, ignore, ignoreAll.
    pub rtsopts: Option<String>,
    /// Whether it can write an eventlog; `None` where that cannot be told.
    pub can_log: Option<bool>,
    /// Whether it has a symbol table.
    pub symbols: bool,
    /// One sentence where something is missing, with how to get it.
    pub note: Option<String>,
}

/// One log of a runtime.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Log {
    /// Path: below the capture, or absolute where the log stayed elsewhere; such a one is not read with it.
    pub path: String,
    /// The process that writes it, as the recorder sees it (0: unknown).
    pub pid: u32,
    /// Offset of its clock.
    pub clock: ClockMap,
    /// Classes asked for, as the runtime's flag spells them.
    pub classes: String,
    /// The runtime that writes it, where the log does not say so itself: "5.4.1" of an
    /// OCaml program's rings.
    #[serde(default)]
    pub version: Option<String>,
}

/// The kernel side of a recording.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Kernel {
    /// Which way was used.
    pub tier: Tier,
    /// What this way cannot show, and how to get more; empty where nothing is missing.
    pub missing: Vec<String>,
    /// Streams below the capture, one per CPU.
    pub streams: Vec<String>,
    /// Tracepoints: id and format file below the capture.
    pub tracepoints: Vec<Tracepoint>,
    /// `sample_type` of the records.
    pub sample_type: u64,
    /// Records written.
    pub records: u64,
    /// Records that the kernel says it dropped.
    pub lost: u64,
    /// Whether the streams of all CPUs cover every process (else only the program's).
    pub system_wide: bool,
}

/// Sampling of the program's code.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Code {
    /// A running thread is looked at once in so much of its CPU time, nanoseconds.
    pub period_ns: u64,
    /// Streams below the capture, one per CPU.
    pub streams: Vec<String>,
    /// `sample_type` of the records; the same in all streams.
    pub sample_type: u64,
    /// What the ids in the records stand for.
    pub events: Vec<CodeEvent>,
    /// Whether the kernel's own code was seen.
    pub kernel: bool,
    /// Table of names below the capture; `None`: not written (the recorder was killed).
    pub symbols: Option<String>,
    /// Samples that the kernel says it dropped.
    pub lost: u64,
    /// What it cannot show, and how to get more.
    pub missing: Vec<String>,
}

/// One kind of record in the streams of [`Code`].
#[derive(Clone, Eq, PartialEq, Debug, Serialize, Deserialize)]
pub struct CodeEvent {
    /// `PERF_SAMPLE_IDENTIFIER` of its records.
    pub ids: Vec<u64>,
    /// What it is.
    pub what: CodeSource,
}

/// Where a record of [`Code`] comes from.
#[derive(Copy, Clone, Eq, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CodeSource {
    /// The timer found the thread on a CPU.
    Timer,
    /// The thread left its CPU to wait.
    Waits,
}

/// A way to see the kernel's scheduling.
#[derive(Copy, Clone, Eq, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Tier {
    /// perf tracepoints, every process.
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
    /// `sched_switch`, …
    pub name: String,
    /// The kernel's id (`common_type` of its records).
    pub id: u64,
    /// Format file below the capture.
    pub format: String,
}

/// One control group.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Group {
    /// Path as the kernel names it, `/` for the root.
    pub path: String,
    /// 1 or 2.
    pub version: u8,
    /// Quota divided by period, in CPUs; `None`: unlimited or not known.
    pub quota_cpus: Option<f64>,
    /// Period in nanoseconds, where there is a quota.
    pub period_ns: Option<u64>,
    /// File that the quota came from.
    pub quota_path: Option<String>,
    /// Memory limit in bytes.
    pub memory_limit_bytes: Option<u64>,
}

/// The machine, as the program sees it.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Machine {
    /// Kernel release.
    pub kernel: String,
    /// Architecture.
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

/// What the recorder itself used.
#[derive(Copy, Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct OwnCost {
    /// CPU time of the recorder, nanoseconds.
    pub cpu_ns: u64,
    /// Bytes written to the capture by the recorder.
    pub written_bytes: u64,
    /// Its largest resident set, bytes.
    pub rss_max_bytes: u64,
    /// Heap snapshots that were kept.
    #[serde(default)]
    pub heap_snapshots: u64,
    /// The part of `cpu_ns` that was used while they were taken or tried, nanoseconds.
    #[serde(default)]
    pub heap_cpu_ns: u64,
    /// The part of `cpu_ns` that looks at what threads wait for took, nanoseconds.
    #[serde(default)]
    pub waits_cpu_ns: u64,
}
