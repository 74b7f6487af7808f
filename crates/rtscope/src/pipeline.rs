//! From an opened input to results: lays runtime, kernel and samples on one
//! clock, merges them and feeds the analysis. Owns the wiring; every decision
//! about what events mean lies in `decode` and `analyze`.

use crate::heap::kept;
use crate::input::Input;
use crate::requests;
use crate::runtime_log::{RuntimeEvents, RuntimeLog};
use crate::stm;
use crate::trouble::Trouble;
use crate::watch::{Page, Pauses, Watch};
use rtscope_analyze::results::{BlamedPause, Program, Results, Source};
use rtscope_analyze::{Analysis, Context, Tail};
use rtscope_decode::ReadAt;
use rtscope_decode::capture::{Capture, Samples};
use rtscope_decode::code::CodeStream;
use rtscope_decode::ocaml_ring::Version;
use rtscope_decode::sched::SchedStream;
use rtscope_encode::Tables;
use rtscope_model::manifest::{Log, Manifest, Tier};
use rtscope_model::{Body, Event, Loss, LossKind, Names, Pid, Symbols, Tid, Time};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A recorder writes one for each CPU, and the kernel knows no more CPUs than that.
const STREAMS_MAX: usize = 1 << 13;
/// A recorder uses a handful of tracepoints, each described on less than a page.
const TRACEPOINTS_MAX: usize = 64;
const FORMAT_MAX: u64 = 64 << 10;
/// Larger lists of threads are not ours: a machine has four million at most, a program thousands.
const THREADS_MAX: u64 = 16 << 20;

/// What the caller wants of a run.
pub struct Options {
    /// Path as given, for the report.
    pub path: String,
    /// Number of the log in a capture with several.
    pub log: Option<usize>,
    /// Decoding threads.
    pub threads: usize,
    /// The user's word on which OCaml wrote the rings.
    pub ocaml_version: Option<Version>,
    /// Requests of a load, to be joined with a capture.
    pub requests: Option<PathBuf>,
}

impl Options {
    /// Of the recording at `path`, with as many threads as help decoding.
    pub fn new(path: &Path) -> Options {
        Options {
            path: path.display().to_string(),
            log: None,
            threads: std::thread::available_parallelism().map_or(1, usize::from).min(8),
            ocaml_version: None,
            requests: None,
        }
    }
}

/// Called for each pause, in order, with the names and the symbols that its causes refer to.
pub type OnPause<'a> = &'a mut dyn FnMut(&BlamedPause, &Names, &Symbols);

/// Runs the analysis over `input`.
pub fn analyse(input: &Input, options: &Options, on_pause: OnPause<'_>) -> Result<(Results, Names), Trouble> {
    watch(input, options, &mut Pauses(on_pause))
}

/// The same for a page, which also draws what lanes did.
pub fn analyse_for_page(input: &Input, options: &Options, on_pause: OnPause<'_>) -> Result<(Results, Names), Trouble> {
    let mut page = Page::new(on_pause);
    let (mut results, names) = watch(input, options, &mut page)?;
    results.drawing.lanes = page.lanes();
    Ok((results, names))
}

/// The same, with somebody who looks on.
pub fn watch(input: &Input, options: &Options, watch: &mut dyn Watch) -> Result<(Results, Names), Trouble> {
    match input {
        Input::Log(_) if options.requests.is_some() => {
            Err(Trouble::new("requests can only be joined with a capture, which says on which clock it was made")
                .next("record with `rtscope record -- PROGRAM`"))
        }
        Input::Log(log) => {
            let source = Source { kind: log.kind(), path: options.path.clone(), ..Source::default() };
            let mut context = Context { source, clock: log.clock(), ..Context::default() };
            log.describe(&mut context);
            context.every_green_event = log.small();
            watch.start(&context, log.manifest());
            let events = log.events(&context, watch.classes(), options.threads);
            let streams = Streams::new(Some(events), None, None, None);
            Ok(run(context, streams, Some(log), 0, watch))
        }
        Input::Capture(capture) => analyse_capture(capture, options, watch),
    }
}

fn analyse_capture(capture: &Capture, options: &Options, watch: &mut dyn Watch) -> Result<(Results, Names), Trouble> {
    let manifest = capture.manifest();
    let mut context = context_of(capture, options);
    let chosen = choose_log(capture, options.log)?;
    let log = match chosen {
        Some(log) => open_log(capture, log, options, &mut context.losses),
        None => None,
    };
    context.source.log = chosen.map(|entry| entry.path.clone());
    context.source.logs = manifest.logs.len() as u64;
    if let (Some(log), Some(entry)) = (&log, chosen) {
        log.describe(&mut context);
        context.clock = log.clock_in(manifest, entry);
        if entry.pid != 0 {
            context.program_pid = Some(Pid(entry.pid));
        }
    }
    let kept = kept::load(capture, context.program_pid.map(|pid| pid.0).filter(|_| chosen.is_some()));
    (context.heaps, context.heaps_left_out) = (kept.heaps, kept.left_out);
    context.losses.extend(kept.losses);
    let transactions = stm::kept::load(capture, context.program_pid.filter(|_| chosen.is_some()), context.started);
    context.stm = transactions.stm;
    context.losses.extend(transactions.losses);
    let sched = open_sched(capture, &mut context.losses);
    let code = crate::code::open(capture, log.as_ref().and_then(RuntimeLog::eventlog), &mut context.losses);
    if let Some(code) = &code {
        context.symbols = code.symbols().clone();
    }
    if let (Some(kernel), Some(code)) = (&mut context.kernel, &manifest.code) {
        // One list of what could not be seen, whoever looked.
        kernel.missing.extend(code.missing.iter().cloned());
    }
    if let Some(file) = &options.requests {
        context.requests = Some(requests::load(file, &context, manifest)?);
    }
    let bytes = stream_bytes(capture);
    // A recording has the events of green threads where somebody asked for them.
    context.every_green_event = log.is_some();
    watch.start(&context, Some(manifest));
    let events = log.as_ref().map(|log| log.events(&context, watch.classes(), options.threads));
    let streams = Streams::new(events, sched, code, capture.samples());
    Ok(run(context, streams, log.as_ref(), bytes, watch))
}

/// Merges the streams into the analysis and closes it.
fn run(
    mut context: Context,
    mut streams: Streams,
    log: Option<&RuntimeLog>,
    other_bytes: u64,
    watch: &mut dyn Watch,
) -> (Results, Names) {
    let mut source = context.source.clone();
    let (without_start, losses) = std::mem::take(&mut context.losses).into_iter().partition(lacks_start);
    context.losses = losses;
    let ended = context.ended;
    let symbols = context.symbols.clone();
    let mut last = None;
    let mut analysis = Analysis::with_lanes(context, watch.lanes());
    let none = Names::default();
    while let Some(event) = streams.front() {
        let (kernel, user) = streams.names();
        let (names, user) = (kernel.unwrap_or(&none), user.unwrap_or(&none));
        let tables = Tables { kernel: names, user, symbols: &symbols };
        if matches!(event.body, Body::Runtime(_)) {
            last = last.max(Some(event.time));
        }
        analysis.take(event, &mut |lane, piece| watch.segment(lane, &piece, tables));
        watch.event(event, tables);
        analysis.resolve(names, &mut |pause: &BlamedPause| watch.pause(pause, tables));
        streams.advance();
    }
    let mut tail = Tail::default();
    source.bytes = other_bytes;
    if let (Some(events), Some(log)) = (&streams.log, log) {
        let read = events.read(log);
        source.events = read.events;
        source.bytes += read.bytes;
        source.events_by_type = read.by_type;
        tail.losses.extend(without_end(read.losses, ended));
        tail.user_names = events.user_names().cloned().unwrap_or_default();
    }
    // Who looks on has these from the start.
    let (before, known): (usize, Vec<Loss>) = (tail.losses.len(), from_last(without_start, last).collect());
    tail.losses.extend(streams.samples.as_ref().map_or(Vec::new(), Samples::losses));
    tail.losses.extend(streams.sched.as_ref().map_or(Vec::new(), SchedStream::losses));
    tail.losses.extend(streams.code.as_ref().map_or(Vec::new(), CodeStream::losses));
    let losses = tail.losses.clone();
    tail.losses.splice(before..before, known);
    tail.source = Some(source);
    let (kernel, user) = streams.names();
    let (names, user) = (kernel.cloned().unwrap_or_default(), user.unwrap_or(&none));
    let tables = Tables { kernel: &names, user, symbols: &symbols };
    let mut rest = Vec::new();
    analysis.end(&mut |lane, piece| rest.push((lane, piece)));
    let results = analysis.finish(&names, tail, &mut |pause| watch.pause(pause, tables));
    rest.iter().for_each(|(lane, piece)| watch.segment(*lane, piece, tables));
    watch.end(&losses);
    (results, names)
}

/// Buffers that were never written, of which the recorder does not know since
/// when: only the log tells, at its end. Until then no pause is doubted for it.
fn lacks_start(loss: &Loss) -> bool {
    loss.kind == LossKind::Unwritten && loss.from.is_none()
}

/// They begin behind the last event that was seen.
fn from_last(losses: Vec<Loss>, last: Option<Time>) -> impl Iterator<Item = Loss> {
    losses.into_iter().map(move |mut loss| {
        if let (Some(last), Some(to)) = (last, loss.to) {
            loss.from = Some(last.min(to));
            loss.count = to.since(last);
        }
        loss
    })
}

/// A log without an end mark lacks nothing behind the end of the recording.
fn without_end(losses: Vec<Loss>, ended: Option<Time>) -> impl Iterator<Item = Loss> {
    losses.into_iter().map(move |mut loss| {
        if loss.kind == LossKind::Truncated && loss.to.is_none() {
            loss.to = ended.map(|ended| ended.max(loss.from.unwrap_or(ended)));
        }
        loss
    })
}

fn context_of(capture: &Capture, options: &Options) -> Context {
    Context {
        source: Source { kind: "capture", path: options.path.clone(), ..Source::default() },
        losses: capture.losses(),
        ..of_manifest(capture.manifest())
    }
}

/// What the manifest of a recording says.
pub(crate) fn of_manifest(manifest: &Manifest) -> Context {
    Context {
        program: Some(program(manifest)),
        program_pid: (manifest.pid != 0).then_some(Pid(manifest.pid)),
        program_tids: (manifest.pid != 0).then_some(Tid(manifest.pid)).into_iter().collect(),
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
    }
}

/// The log that the report is about: the one asked for, else the program's
/// own, else the largest.
pub(crate) fn choose_log(capture: &Capture, number: Option<usize>) -> Result<Option<&Log>, Trouble> {
    let logs = &capture.manifest().logs;
    if let Some(number) = number {
        let endings = ["eventlog", "ring"].map(|kind| format!("{number}.{kind}"));
        let called = |log: &&Log| log.path.rsplit('/').next().is_some_and(|name| endings.iter().any(|end| end == name));
        return logs.iter().find(called).map(Some).ok_or_else(|| {
            let there: Vec<&str> = logs.iter().map(|log| log.path.as_str()).collect();
            let trouble = Trouble::new(format!("this capture has no log {number}"));
            match there.as_slice() {
                [] => trouble.because("it has no log at all"),
                there => trouble.because(format!("it has {}", there.join(", "))),
            }
        });
    }
    let size = |log: &&Log| capture.folder().size(&log.path);
    Ok(logs
        .iter()
        .find(|log| log.pid != 0 && log.pid == capture.manifest().pid)
        .or_else(|| logs.iter().max_by_key(size)))
}

/// Opens a log. One that cannot be read is a loss, not the end: the kernel side is still
/// worth a report.
fn open_log(capture: &Capture, entry: &Log, options: &Options, losses: &mut Vec<Loss>) -> Option<RuntimeLog> {
    let opened = RuntimeLog::of_capture(capture, entry, options.ocaml_version);
    opened.map_err(|error| losses.push(missing(&entry.path, error))).ok()
}

fn open_sched(capture: &Capture, losses: &mut Vec<Loss>) -> Option<SchedStream> {
    let kernel = &capture.manifest().kernel;
    if kernel.tier == Tier::Polling || kernel.streams.is_empty() {
        return None;
    }
    let open = || -> Result<SchedStream, String> {
        let sources = streams(capture, &kernel.streams)?;
        let formats = formats(capture);
        let threads = threads(capture);
        SchedStream::open(kernel, sources, &formats, threads.as_deref()).map_err(|error| error.to_string())
    };
    open().map_err(|error| losses.push(missing("sched", error))).ok()
}

/// Opens the kernel's streams that a manifest names.
pub(crate) fn streams(capture: &Capture, names: &[String]) -> Result<Vec<Arc<dyn ReadAt>>, String> {
    let open = |name: &String| {
        let file = capture.folder().written(name).map_err(|error| format!("{name}: {error}"))?;
        Ok(Arc::new(file) as Arc<dyn ReadAt>)
    };
    names.iter().take(STREAMS_MAX).map(open).collect()
}

/// Texts of the formats of a capture's tracepoints, by name.
pub(crate) fn formats(capture: &Capture) -> HashMap<String, String> {
    let points = capture.manifest().kernel.tracepoints.iter().take(TRACEPOINTS_MAX);
    let text = |format: &str| capture.folder().read(format, FORMAT_MAX).unwrap_or_default();
    points.map(|point| (point.name.clone(), String::from_utf8_lossy(&text(&point.format)).into_owned())).collect()
}

/// What the recorder wrote of threads that were there before it.
pub(crate) fn threads(capture: &Capture) -> Option<Vec<u8>> {
    capture.folder().read("sched/threads.json", THREADS_MAX).ok()
}

pub(crate) fn missing(source: &str, note: String) -> Loss {
    Loss { source: source.to_owned(), kind: LossKind::SourceMissing, count: 1, from: None, to: None, note }
}

/// Bytes of the capture's streams other than logs.
fn stream_bytes(capture: &Capture) -> u64 {
    let size = |name: &str| capture.folder().size(name);
    let code = capture.manifest().code.iter().flat_map(|code| &code.streams);
    let kernel: u64 = capture.manifest().kernel.streams.iter().chain(code).map(|name| size(name)).sum();
    kernel + size("samples.jsonl") + size("stm.jsonl")
}

/// The streams of one input, merged by time.
struct Streams {
    log: Option<RuntimeEvents>,
    sched: Option<SchedStream>,
    code: Option<CodeStream>,
    samples: Option<Samples>,
    /// The next event of each.
    heads: [Option<Event>; 4],
    /// Which comes next, and when and which the one behind it.
    first: usize,
    second: (Time, usize),
}

impl Streams {
    fn new(
        log: Option<RuntimeEvents>,
        sched: Option<SchedStream>,
        code: Option<CodeStream>,
        samples: Option<Samples>,
    ) -> Streams {
        let mut streams = Streams { log, sched, code, samples, heads: [None; 4], first: 0, second: NEVER };
        (0..4).for_each(|index| streams.heads[index] = streams.pull(index));
        streams.choose();
        streams
    }

    fn pull(&mut self, index: usize) -> Option<Event> {
        match index {
            // Samples and kernel events come first at equal times: a pause is
            // judged when its last event comes.
            0 => self.samples.as_mut()?.next(),
            1 => self.sched.as_mut()?.next(),
            2 => self.code.as_mut()?.next(),
            _ => self.log.as_mut()?.next(),
        }
    }

    /// Names of threads, and of what the program itself posts.
    fn names(&self) -> (Option<&Names>, Option<&Names>) {
        let kernel = self.sched.as_ref().map(SchedStream::names);
        let log = self.log.as_ref();
        (kernel.or_else(|| log?.kernel_names()), log.and_then(RuntimeEvents::user_names))
    }

    /// The next event. It stays where it is: a copy of what was just written costs more than most folds.
    #[inline]
    fn front(&self) -> Option<&Event> {
        self.heads.get(self.first)?.as_ref()
    }

    /// Goes on to the one behind it.
    #[inline]
    fn advance(&mut self) {
        self.heads[self.first] = self.pull(self.first);
        if self.when(self.first) > self.second {
            self.choose();
        }
    }

    /// When a stream's next event comes.
    fn when(&self, index: usize) -> (Time, usize) {
        self.heads[index].map_or(NEVER, |event| (event.time, index))
    }

    fn choose(&mut self) {
        let mut order: [(Time, usize); 4] = std::array::from_fn(|index| self.when(index));
        order.sort_unstable();
        self.first = order[0].1;
        self.second = order[1];
    }
}

/// Of a stream that is over; its number stands for none.
const NEVER: (Time, usize) = (Time(u64::MAX), usize::MAX);

#[cfg(test)]
mod tests {
    use super::*;

    fn loss(kind: LossKind, from: Option<u64>, to: Option<u64>) -> Loss {
        Loss {
            source: "eventlog/0.eventlog".into(),
            kind,
            count: 0,
            from: from.map(Time),
            to: to.map(Time),
            note: String::new(),
        }
    }

    #[test]
    fn what_a_killed_program_never_wrote_begins_behind_its_last_event() {
        let unwritten = loss(LossKind::Unwritten, None, Some(900));
        assert!(lacks_start(&unwritten) && !lacks_start(&loss(LossKind::Unwritten, Some(1), Some(900))));
        let narrowed: Vec<Loss> = from_last(vec![unwritten.clone()], Some(Time(650))).collect();
        assert_eq!(narrowed.iter().map(|loss| (loss.from, loss.count)).collect::<Vec<_>>(), [(Some(Time(650)), 250)]);
        let nothing_seen: Vec<Loss> = from_last(vec![unwritten.clone()], None).collect();
        assert_eq!(nothing_seen, [unwritten]);
    }

    #[test]
    fn a_log_without_an_end_lacks_nothing_behind_the_recording() {
        let bounded: Vec<Loss> = without_end(vec![loss(LossKind::Truncated, Some(10), None)], Some(Time(90))).collect();
        assert_eq!(bounded.first().and_then(|loss| loss.to), Some(Time(90)));
        let open: Vec<Loss> = without_end(vec![loss(LossKind::Truncated, Some(10), None)], None).collect();
        assert_eq!(open.first().and_then(|loss| loss.to), None);
    }
}
