//! From an opened input to results: lays runtime, kernel and samples on one
//! clock, merges them and feeds the analysis. Owns the wiring; every decision
//! about what events mean lies in `decode` and `analyze`.

use crate::input::Input;
use crate::trouble::Trouble;
use rtscope_analyze::results::{BlamedPause, Program, Results, Runtime, Source, TypeCount};
use rtscope_analyze::{Analysis, Context, Tail};
use rtscope_decode::ReadAt;
use rtscope_decode::capture::{Capture, SampleStream};
use rtscope_decode::code::CodeStream;
use rtscope_decode::ghc_eventlog::{Eventlog, EventlogError, Stream, Tally, UnflushedBlock, tags};
use rtscope_decode::sched::SchedStream;
use rtscope_model::manifest::{Log, Manifest, Tier};
use rtscope_model::{Body, Classes, ClockMap, ClockMethod, Event, Loss, LossKind, Names, Pid, Symbols, Tid, Time};
use std::collections::HashMap;
use std::fs::File;
use std::io::BufReader;
use std::path::Path;
use std::sync::Arc;

/// A log on its own is read with every run of its green threads up to this size: most
/// of such a log is made of them, and taking each costs ten times what skipping does.
const GREEN_BYTES_MAX: u64 = 64 << 20;

/// What the caller wants of a run.
pub struct Options {
    /// Path as given, for the report.
    pub path: String,
    /// Number of the log in a capture with several.
    pub log: Option<usize>,
    /// Decoding threads.
    pub threads: usize,
}

/// Called for each pause, in order, with the names and the symbols that its causes refer to.
pub type OnPause<'a> = &'a mut dyn FnMut(&BlamedPause, &Names, &Symbols);

/// Runs the analysis over `input`.
pub fn analyse(input: &Input, options: &Options, on_pause: OnPause<'_>) -> Result<(Results, Names), Trouble> {
    match input {
        Input::Eventlog(log) => {
            let source = Source { kind: "eventlog", path: options.path.clone(), ..Source::default() };
            let mut context = Context { source, ..Context::default() };
            describe(&mut context, log);
            let clock = ClockMap::LOG_OWN;
            context.every_green_event = log_bytes(log) <= GREEN_BYTES_MAX;
            let stream = log.stream(classes(&context), clock, options.threads);
            let streams = Streams::new(Some(stream), None, None, None);
            Ok(run(context, streams, Some(log), 0, on_pause))
        }
        Input::Capture(capture) => analyse_capture(capture, options, on_pause),
    }
}

fn analyse_capture(capture: &Capture, options: &Options, on_pause: OnPause<'_>) -> Result<(Results, Names), Trouble> {
    let manifest = capture.manifest();
    let mut context = context_of(capture, options);
    let chosen = choose_log(capture, options.log)?;
    let log = match chosen {
        Some(log) => open_log(capture, log, &mut context.losses),
        None => None,
    };
    context.source.log = chosen.map(|entry| entry.path.clone());
    context.source.logs = manifest.logs.len() as u64;
    if let (Some(log), Some(entry)) = (&log, chosen) {
        describe(&mut context, log);
        context.clock = clock_of(manifest, entry, log);
        if entry.pid != 0 {
            context.program_pid = Some(Pid(entry.pid));
        }
    }
    let sched = open_sched(capture, &mut context.losses);
    let code = crate::code::open(capture, log.as_ref(), &mut context.losses);
    if let Some(code) = &code {
        context.symbols = code.symbols().clone();
    }
    if let (Some(kernel), Some(code)) = (&mut context.kernel, &manifest.code) {
        // One list of what could not be seen, whoever looked.
        kernel.missing.extend(code.missing.iter().cloned());
    }
    let bytes = stream_bytes(capture);
    // A recording has the events of green threads where somebody asked for them.
    context.every_green_event = log.is_some();
    let stream = log.as_ref().map(|log| log.stream(classes(&context), context.clock, options.threads));
    let streams = Streams::new(stream, sched, code, capture.samples());
    Ok(run(context, streams, log.as_ref(), bytes, on_pause))
}

fn classes(context: &Context) -> Classes {
    if context.every_green_event { Analysis::CLASSES_GREEN } else { Analysis::CLASSES }
}

fn log_bytes(log: &Eventlog) -> u64 {
    log.blocks().iter().map(|block| u64::from(block.len)).sum()
}

/// Merges the streams into the analysis and closes it.
fn run(
    mut context: Context,
    mut streams: Streams,
    log: Option<&Eventlog>,
    other_bytes: u64,
    on_pause: OnPause<'_>,
) -> (Results, Names) {
    let mut source = context.source.clone();
    let (without_start, losses) = std::mem::take(&mut context.losses).into_iter().partition(lacks_start);
    context.losses = losses;
    let ended = context.ended;
    let symbols = context.symbols.clone();
    let mut last = None;
    let mut analysis = Analysis::new(context);
    let none = Names::default();
    while let Some(event) = streams.next() {
        let names = streams.sched.as_ref().map_or(&none, SchedStream::names);
        if matches!(event.body, Body::Runtime(_)) {
            last = last.max(Some(event.time));
        }
        analysis.push(&event, names, &mut |pause| on_pause(pause, names, &symbols));
    }
    let mut tail = Tail::default();
    if let Some(stream) = &streams.log {
        let tally = stream.tally();
        source.events = tally.events();
        source.bytes = other_bytes + tally.bytes + log.map_or(0, |log| log.header().data_offset());
        source.events_by_type = types(log, &tally);
        tail.losses.extend(without_end(tally.losses, ended));
    } else {
        source.bytes = other_bytes;
    }
    tail.losses.extend(from_last(without_start, last));
    tail.losses.extend(streams.samples.as_ref().map_or(Vec::new(), SampleStream::losses));
    tail.losses.extend(streams.sched.as_ref().map_or(Vec::new(), SchedStream::losses));
    tail.losses.extend(streams.code.as_ref().map_or(Vec::new(), CodeStream::losses));
    tail.source = Some(source);
    let names = streams.sched.as_ref().map_or(none, |sched| sched.names().clone());
    let results = analysis.finish(&names, tail, &mut |pause| on_pause(pause, &names, &symbols));
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

fn types(log: Option<&Eventlog>, tally: &Tally) -> Vec<TypeCount> {
    let name = |tag: u16| {
        let declared = log.and_then(|log| log.header().types().iter().find(|event| event.tag == tag));
        tags::info(tag)
            .map(|info| info.name.to_owned())
            .or_else(|| declared.map(|event| event.description.clone()))
            .unwrap_or_else(|| format!("tag {tag}"))
    };
    tally.by_tag.iter().map(|&(tag, count)| TypeCount { tag, name: name(tag), count }).collect()
}

/// What a log says of the program as a whole.
fn describe(context: &mut Context, log: &Eventlog) {
    let info = log.info();
    context.runtime = Runtime {
        family: Some("ghc".into()),
        version: info.version.clone(),
        way: info.way.clone(),
        args: info.args.clone(),
    };
    context.threaded = info.way.as_ref().map(|way| way.split('_').any(|part| part == "thr"));
    context.generations = info.heap.as_ref().map(|heap| heap.generations);
    context.nursery_bytes = info.heap.as_ref().map(|heap| heap.nursery_bytes);
}

fn context_of(capture: &Capture, options: &Options) -> Context {
    let manifest = capture.manifest();
    Context {
        source: Source { kind: "capture", path: options.path.clone(), ..Source::default() },
        program: Some(program(manifest)),
        program_pid: (manifest.pid != 0).then_some(Pid(manifest.pid)),
        program_tids: (manifest.pid != 0).then_some(Tid(manifest.pid)).into_iter().collect(),
        groups: manifest.groups.clone(),
        cpus_allowed: manifest.machine.cpus_allowed.clone(),
        cpus_online: manifest.machine.cpus_online,
        kernel: Some(manifest.kernel.clone()),
        started: (manifest.started != Time(0)).then_some(manifest.started),
        ended: (manifest.ended != Time(0)).then_some(manifest.ended),
        losses: capture.losses(),
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
fn choose_log(capture: &Capture, number: Option<usize>) -> Result<Option<&Log>, Trouble> {
    let logs = &capture.manifest().logs;
    if let Some(number) = number {
        let ending = format!("{number}.eventlog");
        return logs.iter().find(|log| log.path.rsplit('/').next() == Some(&ending)).map(Some).ok_or_else(|| {
            let there: Vec<&str> = logs.iter().map(|log| log.path.as_str()).collect();
            let trouble = Trouble::new(format!("this capture has no log {number}"));
            match there.as_slice() {
                [] => trouble.because("it has no log at all"),
                there => trouble.because(format!("it has {}", there.join(", "))),
            }
        });
    }
    let size = |log: &&Log| std::fs::metadata(capture.log_path(log)).map_or(0, |file| file.len());
    Ok(logs
        .iter()
        .find(|log| log.pid != 0 && log.pid == capture.manifest().pid)
        .or_else(|| logs.iter().max_by_key(size)))
}

/// Opens a log with the buffers that its program had not written. A log that
/// cannot be read is a loss, not the end: the kernel side is still worth a report.
fn open_log(capture: &Capture, entry: &Log, losses: &mut Vec<Loss>) -> Option<Eventlog> {
    let unflushed = capture.unflushed(entry.pid).into_iter().map(|block| UnflushedBlock {
        cap: block.capability,
        time: block.opened.0,
        bytes: Arc::new(block.bytes) as Arc<dyn ReadAt>,
    });
    let opened = File::open(capture.log_path(entry))
        .map_err(|source| EventlogError::Io { position: 0, source })
        .and_then(|file| Eventlog::open(Arc::new(file), unflushed.collect()));
    match opened {
        Ok(log) => Some(log.named(entry.path.clone())),
        Err(error) => {
            losses.push(missing(&entry.path, error.to_string()));
            None
        }
    }
}

/// The clock of a log: as the recorder read it from the process, else by the
/// log's own pairing with the real-time clock.
fn clock_of(manifest: &Manifest, entry: &Log, log: &Eventlog) -> ClockMap {
    if entry.clock.is_monotonic() {
        return entry.clock;
    }
    let (Some(pair), true) = (log.info().wall_clock, manifest.realtime_offset_ns != 0) else {
        return ClockMap::LOG_OWN;
    };
    let origin = i128::from(pair.realtime_ns) - i128::from(pair.log.0) - i128::from(manifest.realtime_offset_ns);
    // The runtime takes the wall clock in microseconds.
    let error_ns = 1_000 + manifest.realtime_error_ns.unwrap_or(1_000);
    i64::try_from(origin).map_or(ClockMap::LOG_OWN, |offset_ns| ClockMap {
        offset_ns,
        error_ns: Some(error_ns),
        method: ClockMethod::WallClockPair,
    })
}

fn open_sched(capture: &Capture, losses: &mut Vec<Loss>) -> Option<SchedStream> {
    let kernel = &capture.manifest().kernel;
    if kernel.tier == Tier::Polling || kernel.streams.is_empty() {
        return None;
    }
    let open = || -> Result<SchedStream, String> {
        let open_one = |name: &String| {
            let path = capture.below(name);
            let file = File::open(&path).map_err(|error| format!("{}: {error}", path.display()))?;
            Ok::<_, String>(Arc::new(file) as Arc<dyn ReadAt>)
        };
        let sources = kernel.streams.iter().map(open_one).collect::<Result<Vec<_>, _>>()?;
        let format = |point: &rtscope_model::manifest::Tracepoint| {
            let text = std::fs::read_to_string(capture.below(&point.format)).unwrap_or_default();
            (point.name.clone(), text)
        };
        let formats: HashMap<String, String> = kernel.tracepoints.iter().map(format).collect();
        let threads = std::fs::read(capture.below("sched/threads.json")).ok();
        SchedStream::open(kernel, sources, &formats, threads.as_deref()).map_err(|error| error.to_string())
    };
    open().map_err(|error| losses.push(missing("sched", error))).ok()
}

pub(crate) fn missing(source: &str, note: String) -> Loss {
    Loss { source: source.to_owned(), kind: LossKind::SourceMissing, count: 1, from: None, to: None, note }
}

/// Bytes of the capture's streams other than logs.
fn stream_bytes(capture: &Capture) -> u64 {
    let size = |path: &Path| std::fs::metadata(path).map_or(0, |file| file.len());
    let code = capture.manifest().code.iter().flat_map(|code| &code.streams);
    let kernel: u64 = capture.manifest().kernel.streams.iter().chain(code).map(|name| size(&capture.below(name))).sum();
    kernel + size(&capture.below("samples.jsonl"))
}

/// The streams of one input, merged by time.
struct Streams {
    log: Option<Stream>,
    sched: Option<SchedStream>,
    code: Option<CodeStream>,
    samples: Option<SampleStream<BufReader<File>>>,
    /// The next event of each.
    heads: [Option<Event>; 4],
}

impl Streams {
    fn new(
        log: Option<Stream>,
        sched: Option<SchedStream>,
        code: Option<CodeStream>,
        samples: Option<SampleStream<BufReader<File>>>,
    ) -> Streams {
        let mut streams = Streams { log, sched, code, samples, heads: [None; 4] };
        (0..4).for_each(|index| streams.heads[index] = streams.pull(index));
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

    fn next(&mut self) -> Option<Event> {
        let first = (0..4)
            .filter(|index| self.heads[*index].is_some())
            .min_by_key(|index| self.heads[*index].map(|event| event.time))?;
        let event = self.heads[first];
        self.heads[first] = self.pull(first);
        event
    }
}

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
