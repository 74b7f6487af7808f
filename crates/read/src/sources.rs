//! What a capture holds, opened: its manifest as the context of an analysis, the log that a report is about,
//! the kernel's streams. Owns what of it is a loss, not a failure; refuses to merge and to analyse.

use rtscope_analyze::Context;
use rtscope_analyze::recording::start::Start;
use rtscope_analyze::recording::stm::Stm;
use rtscope_analyze::recording::waits::WaitLooks;
use rtscope_analyze::results::waits::Waits;
use rtscope_analyze::results::{Program, ProgramRuntime};
use rtscope_decode::ReadAt;
use rtscope_decode::capture::Capture;
use rtscope_decode::formats::{self, Log, LogError, LogFacts, LogFormat, Opening};
use rtscope_decode::sched::SchedStream;
use rtscope_model::manifest::{self, Manifest, Tier};
use rtscope_model::{ClockMap, ClockMethod, LogTime, Loss, LossKind, Pid, Tid, Time};
use rtscope_terminal::user_error::UserError;
use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::sync::Arc;

/// A recorder writes one per CPU, and no kernel supports more CPUs than that.
const STREAMS_MAX: usize = 1 << 13;
const CUT: &str = "The stream ends inside a frame: the recorder was ended while it wrote.";
/// A recorder uses a handful of tracepoints, each with a description of less than a page.
const TRACEPOINTS_MAX: usize = 64;
const FORMAT_MAX: u64 = 64 << 10;
/// No recorder writes larger lists of threads: a machine has four million at most, a program thousands.
const THREADS_MAX: u64 = 16 << 20;

/// The context that the manifest of a recording describes.
pub fn of_manifest(manifest: &Manifest) -> Context {
    Context {
        program: Some(program(manifest)),
        program_pid: (manifest.pid != 0).then_some(Pid(manifest.pid)),
        program_tids: (manifest.pid != 0).then_some(Tid(manifest.pid)).into_iter().collect(),
        start: Start::of(manifest),
        groups: manifest.groups.clone(),
        cpus_allowed: manifest.machine.cpus_allowed.clone(),
        cpus_online: manifest.machine.cpus_online,
        kernel: Some(manifest.kernel.clone()),
        started: (manifest.started != Time(0)).then_some(manifest.started),
        ended: (manifest.ended != Time(0)).then_some(manifest.ended),
        sample_period_ns: (manifest.sample_period_ns > 0).then_some(manifest.sample_period_ns),
        own_cost: Some(manifest.own_cost),
        ..Context::default()
    }
}

fn program(manifest: &Manifest) -> Program {
    Program {
        command: manifest.command.clone(),
        exit_code: manifest.exit.and_then(|exit| exit.code),
        signal: manifest.exit.and_then(|exit| exit.signal),
        oom_killed: manifest.exit.is_some_and(|exit| exit.oom_killed),
        notes: manifest.binary.note.iter().chain(&manifest.notes).cloned().collect(),
    }
}

/// Adds what a log says of its program.
pub fn describe(context: &mut Context, facts: LogFacts) {
    if let Some(manifest) = &facts.manifest {
        let (source, clock, losses) = (context.source.clone(), context.clock, std::mem::take(&mut context.losses));
        *context = Context { source, clock, losses, program_pid: None, ..of_manifest(manifest) };
        // The export knew more.
        if let Some(kernel) = &mut context.kernel {
            kernel.missing = facts.kernel_missing;
        }
    }
    context.runtime = ProgramRuntime { family: facts.family, version: facts.version, way: facts.way, args: facts.args };
    context.threaded = facts.threaded;
    context.generations = facts.generations;
    context.nursery_bytes = facts.nursery_bytes;
    context.program_pid = facts.program_pid.map(Pid).or(context.program_pid);
    let transactions = facts.transactions.as_deref().and_then(|text| serde_json::from_str(text).ok());
    context.stm = transactions.filter(Stm::is_sound);
    let waits = facts.waits.as_deref().and_then(|text| serde_json::from_str(text).ok());
    context.waits = waits.filter(Waits::is_sound);
    context.losses.extend(facts.losses);
}

/// The log that the report is about: the requested one, otherwise the program's own, otherwise the largest.
pub fn choose_log(capture: &Capture, number: Option<usize>) -> Result<Option<&manifest::Log>, UserError> {
    let logs = &capture.manifest().logs;
    if let Some(number) = number {
        let stem = number.to_string();
        let called = |log: &&manifest::Log| Path::new(&log.path).file_stem().is_some_and(|name| name == stem.as_str());
        return logs.iter().find(called).map(Some).ok_or_else(|| {
            let there: Vec<&str> = logs.iter().map(|log| log.path.as_str()).collect();
            let error = UserError::new(format!("this capture has no log {number}"));
            match there.as_slice() {
                [] => error.because("it has no log at all"),
                there => error.because(format!("it has {}", there.join(", "))),
            }
        });
    }
    let size = |log: &&manifest::Log| capture.folder().size(&log.path);
    Ok(logs
        .iter()
        .find(|log| log.pid != 0 && log.pid == capture.manifest().pid)
        .or_else(|| logs.iter().max_by_key(size)))
}

/// Opens a log of a capture, with what its program had not written. One that cannot be read is a loss, not a
/// failure: the kernel side is still worth a report.
pub fn open_log(
    capture: &Capture,
    entry: &manifest::Log,
    version: Option<&str>,
    losses: &mut Vec<Loss>,
) -> Option<Box<dyn Log>> {
    let open = || -> Result<Box<dyn Log>, LogError> {
        let (format, opening) = opening(capture, entry, version)?;
        format.open(Opening { unflushed: capture.unflushed(entry.pid), ..opening })
    };
    open().map_err(|error| losses.push(missing(&entry.path, error.to_string()))).ok()
}

/// The file of a capture's log, its format, and what is known of it.
pub fn opening<'a>(
    capture: &Capture,
    entry: &'a manifest::Log,
    version: Option<&'a str>,
) -> std::io::Result<(&'static dyn LogFormat, Opening<'a>)> {
    let file = capture.folder().written(&entry.path)?;
    let format = formats::find(&formats::head(&*file)).filter(|format| format.is_recorded());
    let version = version.or(entry.version.as_deref());
    Ok((format.unwrap_or(formats::first()), Opening { version, ..Opening::new(file, &entry.path) }))
}

/// The clock of a capture's log: the log's own if that is the machine's, otherwise as the recorder read it from
/// the process, otherwise by the log's pairing with the real-time clock.
pub fn clock_of(own: ClockMap, pair: Option<(LogTime, u64)>, manifest: &Manifest, entry: &manifest::Log) -> ClockMap {
    if let Some(clock) = [own, entry.clock].into_iter().find(ClockMap::is_monotonic) {
        return clock;
    }
    let (Some((log, realtime_ns)), true) = (pair, manifest.realtime_offset_ns != 0) else {
        return ClockMap::LOG_OWN;
    };
    let origin = i128::from(realtime_ns) - i128::from(log.0) - i128::from(manifest.realtime_offset_ns);
    // The runtime reads the wall clock in microseconds.
    let error_ns = 1_000 + manifest.realtime_error_ns.unwrap_or(1_000);
    i64::try_from(origin).map_or(ClockMap::LOG_OWN, |offset_ns| ClockMap {
        offset_ns,
        error_ns: Some(error_ns),
        method: ClockMethod::WallClockPair,
    })
}

/// Opens the kernel's records of scheduling, if there are any.
pub fn open_sched(capture: &Capture, losses: &mut Vec<Loss>) -> Option<SchedStream> {
    let kernel = &capture.manifest().kernel;
    if kernel.tier == Tier::Polling || kernel.streams.is_empty() {
        return None;
    }
    let mut cut = Vec::new();
    let mut open = || -> Result<SchedStream, String> {
        let sources = streams(capture, &kernel.streams, &mut cut)?;
        let formats = formats(capture);
        let threads = threads(capture);
        SchedStream::open(kernel, sources, &formats, threads.as_deref()).map_err(|error| error.to_string())
    };
    let opened = open();
    losses.extend(cut);
    opened.map_err(|error| losses.push(missing("sched", error))).ok()
}

/// Opens the kernel's streams that a manifest names.
pub fn streams(capture: &Capture, names: &[String], losses: &mut Vec<Loss>) -> Result<Vec<Arc<dyn ReadAt>>, String> {
    let open = |name: &String| {
        let stored = capture.folder().written(name).map_err(|error| format!("{name}: {error}"))?;
        let cut = stored.left_over().unwrap_or(0);
        if cut > 0 {
            losses.push(Loss::new(name, LossKind::Truncated, cut, CUT));
        }
        Ok(stored)
    };
    names.iter().take(STREAMS_MAX).map(open).collect()
}

/// Format descriptions of a capture's tracepoints, by name.
pub fn formats(capture: &Capture) -> HashMap<String, String> {
    let points = capture.manifest().kernel.tracepoints.iter().take(TRACEPOINTS_MAX);
    let text = |format: &str| capture.folder().read(format, FORMAT_MAX).unwrap_or_default();
    points.map(|point| (point.name.clone(), String::from_utf8_lossy(&text(&point.format)).into_owned())).collect()
}

/// What the recorder wrote about threads that existed before it.
pub fn threads(capture: &Capture) -> Option<Vec<u8>> {
    capture.folder().read("sched/threads.json", THREADS_MAX).ok()
}

/// The loss of a whole source.
pub fn missing(source: &str, note: String) -> Loss {
    Loss { source: source.to_owned(), kind: LossKind::SourceMissing, count: 1, from: None, to: None, note }
}

/// Bytes of the capture's streams other than logs.
pub fn stream_bytes(capture: &Capture) -> u64 {
    let size = |name: &str| capture.folder().size(name);
    let code = capture.manifest().code.iter().flat_map(|code| &code.streams);
    let kernel: u64 = capture.manifest().kernel.streams.iter().chain(code).map(|name| size(name)).sum();
    kernel + size("samples.jsonl") + size("stm.jsonl") + size("waits.jsonl")
}
/// Most processes of a capture whose looks are kept separately.
const LOOKED_AT_MAX: usize = 64;

/// Looks at what the threads of process `pid` wait for; without one, of the process that was looked at most.
pub fn waits(capture: &Capture, pid: Option<Pid>, losses: &mut Vec<Loss>) -> Option<Waits> {
    let mut lines = capture.waits()?;
    let mut processes: BTreeMap<u32, WaitLooks> = BTreeMap::new();
    for line in lines.by_ref().filter(|line| pid.is_none_or(|pid| pid.0 == line.pid)) {
        if processes.len() < LOOKED_AT_MAX || processes.contains_key(&line.pid) {
            processes.entry(line.pid).or_default().push(line.time, line.seen);
        }
    }
    losses.extend(lines.losses());
    processes.into_values().max_by_key(WaitLooks::looks).map(|waits| waits.values())
}
