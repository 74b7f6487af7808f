//! A runtime's own log, whichever runtime wrote it: a GHC eventlog, the rings of an OCaml
//! program, or a trace that was made of one. Owns what differs between them outside `decode`: how one is opened, what it
//! says of the program, on which clock it is. Refuses to analyse.

use crate::pipeline;
use crate::trouble::Trouble;
use rtscope_analyze::recording::stm::Stm;
use rtscope_analyze::results::{Runtime, TypeCount};
use rtscope_analyze::{Analysis, Context};
use rtscope_decode::ReadAt;
use rtscope_decode::capture::Capture;
use rtscope_decode::fxt::{Fxt, FxtStream};
use rtscope_decode::ghc_eventlog::{Eventlog, EventlogError, Info, Stream, Tally, UnflushedBlock, tags};
use rtscope_decode::ocaml_ring::{RingError, RingStream, Rings, Version};
use rtscope_model::manifest::{Log, Manifest};
use rtscope_model::{Classes, ClockMap, ClockMethod, Event, Loss, Names, Pid};
use std::sync::Arc;

/// A log on its own is read with every run of its green threads up to this size: most
/// of such a log is made of them, and taking each costs ten times what skipping does.
const GREEN_BYTES_MAX: u64 = 64 << 20;

/// An opened log.
pub enum RuntimeLog {
    /// GHC's.
    Eventlog(Box<Eventlog>),
    /// OCaml's.
    Rings(Box<Rings>),
    /// A Fuchsia trace, with the kernel's events where it has any.
    Trace(Box<Fxt>),
}

impl RuntimeLog {
    /// Opens the rings in `file`, which is called `name`. `version` is the user's word.
    pub fn rings(file: Arc<dyn ReadAt>, name: &str, version: Option<Version>) -> Result<RuntimeLog, RingError> {
        Ok(RuntimeLog::Rings(Box::new(Rings::open(file, version)?.named(name))))
    }

    /// Opens a log of a capture, with what its program had not written.
    pub fn of_capture(capture: &Capture, entry: &Log, version: Option<Version>) -> Result<RuntimeLog, String> {
        let file = capture.folder().written(&entry.path).map_err(|error| error.to_string())?;
        if is_rings(&file) {
            let known = || entry.version.as_deref().and_then(|text| Version::parse(text).ok());
            let version = version.or_else(known);
            return RuntimeLog::rings(Arc::new(file), &entry.path, version).map_err(|error| error.to_string());
        }
        let unflushed = capture.unflushed(entry.pid).into_iter().map(|block| UnflushedBlock {
            cap: block.capability,
            time: block.opened.0,
            bytes: Arc::new(block.bytes) as Arc<dyn ReadAt>,
        });
        let log = Eventlog::open(Arc::new(file), unflushed.collect());
        let log = log.map_err(|error: EventlogError| error.to_string())?;
        Ok(RuntimeLog::Eventlog(Box::new(log.named(entry.path.clone()))))
    }

    /// What the log says of the program as a whole.
    pub fn describe(&self, context: &mut Context) {
        match self {
            RuntimeLog::Eventlog(log) => describe_ghc(log.info(), context),
            RuntimeLog::Rings(rings) => describe_ocaml(Some(rings.version().to_string()), context),
            RuntimeLog::Trace(trace) => of_trace(trace, context),
        }
    }

    /// The clock of a capture's log: as the recorder read it from the process, else by the
    /// log's own pairing with the real-time clock.
    pub fn clock_in(&self, manifest: &Manifest, entry: &Log) -> ClockMap {
        match self {
            RuntimeLog::Rings(_) | RuntimeLog::Trace(_) => self.clock(),
            RuntimeLog::Eventlog(log) => clock_of(log.info(), manifest, entry),
        }
    }

    /// The clock of a log on its own.
    pub fn clock(&self) -> ClockMap {
        match self {
            RuntimeLog::Eventlog(_) => ClockMap::LOG_OWN,
            RuntimeLog::Rings(_) => ClockMap::MONOTONIC,
            RuntimeLog::Trace(trace) => trace.facts().map_or(ClockMap::LOG_OWN, |facts| facts.clock),
        }
    }

    /// Whether a log on its own is small enough to look at every green thread.
    pub fn small(&self) -> bool {
        match self {
            RuntimeLog::Eventlog(log) => {
                log.blocks().iter().map(|block| u64::from(block.len)).sum::<u64>() <= GREEN_BYTES_MAX
            }
            RuntimeLog::Rings(_) => false,
            // It holds what its export took in.
            RuntimeLog::Trace(trace) => trace.facts().is_some_and(|facts| facts.every_green_event),
        }
    }

    /// The eventlog that it is.
    pub fn eventlog(&self) -> Option<&Eventlog> {
        match self {
            RuntimeLog::Eventlog(log) => Some(log),
            RuntimeLog::Rings(_) | RuntimeLog::Trace(_) => None,
        }
    }

    /// What it is, in the word of a report.
    pub fn kind(&self) -> &'static str {
        match self {
            RuntimeLog::Eventlog(_) => "eventlog",
            RuntimeLog::Rings(_) => "ring",
            RuntimeLog::Trace(_) => "fxt",
        }
    }

    /// The manifest of the capture that a trace was made of.
    pub fn manifest(&self) -> Option<&Manifest> {
        match self {
            RuntimeLog::Trace(trace) => trace.facts()?.manifest.as_ref(),
            _ => None,
        }
    }

    /// Its events on the clock of `context`: as many as the analysis wants, and `more`.
    pub fn events(&self, context: &Context, more: Classes, threads: usize) -> RuntimeEvents {
        let classes = if context.every_green_event { Analysis::CLASSES_GREEN } else { Analysis::CLASSES };
        let classes = classes.union(more);
        match self {
            RuntimeLog::Eventlog(log) => RuntimeEvents::Eventlog(Box::new(log.stream(classes, context.clock, threads))),
            RuntimeLog::Rings(rings) => RuntimeEvents::Rings(Box::new(rings.stream(classes))),
            RuntimeLog::Trace(trace) => RuntimeEvents::Trace(Box::new(trace.stream(classes))),
        }
    }
}

/// Events of a log, in time order.
pub enum RuntimeEvents {
    /// Of an eventlog.
    Eventlog(Box<Stream>),
    /// Of rings.
    Rings(Box<RingStream>),
    /// Of a trace.
    Trace(Box<FxtStream>),
}

impl Iterator for RuntimeEvents {
    type Item = Event;

    fn next(&mut self) -> Option<Event> {
        match self {
            RuntimeEvents::Eventlog(stream) => stream.next(),
            RuntimeEvents::Rings(stream) => stream.next(),
            RuntimeEvents::Trace(stream) => stream.next(),
        }
    }
}

/// What a pass over a log came to.
pub struct Read {
    /// Events of every type.
    pub events: u64,
    /// Bytes read.
    pub bytes: u64,
    /// Events by type.
    pub by_type: Vec<TypeCount>,
    /// What was not seen.
    pub losses: Vec<Loss>,
}

impl RuntimeEvents {
    /// Counts, once it has given its last event; `log` is the one that it is of.
    pub fn read(&self, log: &RuntimeLog) -> Read {
        match (self, log) {
            (RuntimeEvents::Eventlog(stream), RuntimeLog::Eventlog(log)) => {
                let tally = stream.tally();
                let bytes = tally.bytes + log.header().data_offset();
                Read { events: tally.events(), bytes, by_type: types(log, &tally), losses: tally.losses }
            }
            (RuntimeEvents::Rings(stream), _) => {
                let tally = stream.tally();
                let count = |kind: &rtscope_decode::ocaml_ring::TypeCount| TypeCount {
                    tag: kind.tag,
                    name: kind.name.clone(),
                    count: kind.count,
                };
                let by_type = tally.by_type.iter().map(count).collect();
                Read { events: tally.events(), bytes: tally.bytes, by_type, losses: tally.losses }
            }
            (RuntimeEvents::Trace(stream), RuntimeLog::Trace(trace)) => {
                let by_type = trace.records().into_iter();
                let by_type: Vec<TypeCount> =
                    by_type.map(|(tag, name, count)| TypeCount { tag, name: name.to_string(), count }).collect();
                let losses = trace.ended_with().iter().cloned().chain(stream.losses()).collect();
                Read { events: by_type.iter().map(|kind| kind.count).sum(), bytes: trace.bytes(), by_type, losses }
            }
            (RuntimeEvents::Eventlog(_) | RuntimeEvents::Trace(_), _) => {
                Read { events: 0, bytes: 0, by_type: Vec::new(), losses: Vec::new() }
            }
        }
    }

    /// Names of what the program itself posted, and of labels of heap profiles.
    pub fn user_names(&self) -> Option<&Names> {
        match self {
            RuntimeEvents::Eventlog(stream) => Some(stream.names()),
            RuntimeEvents::Rings(stream) => Some(stream.user_names()),
            RuntimeEvents::Trace(stream) => Some(stream.names()),
        }
    }

    /// Names of threads, where the log has those too.
    pub fn kernel_names(&self) -> Option<&Names> {
        match self {
            RuntimeEvents::Trace(stream) => Some(stream.names()),
            _ => None,
        }
    }
}

/// The clock of an eventlog in a capture.
pub(crate) fn clock_of(info: &Info, manifest: &Manifest, entry: &Log) -> ClockMap {
    if entry.clock.is_monotonic() {
        return entry.clock;
    }
    let (Some(pair), true) = (info.wall_clock, manifest.realtime_offset_ns != 0) else {
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

/// What an eventlog says of its program.
pub(crate) fn describe_ghc(info: &Info, context: &mut Context) {
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

/// What is known of a program that writes rings.
pub(crate) fn describe_ocaml(version: Option<String>, context: &mut Context) {
    context.runtime = Runtime { family: Some("ocaml".into()), version, way: None, args: Vec::new() };
    context.threaded = Some(true);
    context.generations = Some(2);
}

/// What a trace says: what its recording said, where rtscope made it, else that OCaml's
/// phases are in it.
fn of_trace(trace: &Fxt, context: &mut Context) {
    context.losses.extend(trace.losses());
    let Some(facts) = trace.facts() else {
        if trace.lanes() > 0 {
            context.runtime.family = Some("ocaml".into());
            context.threaded = Some(true);
            context.generations = Some(2);
        }
        return;
    };
    if let Some(manifest) = &facts.manifest {
        let (source, clock, losses) = (context.source.clone(), context.clock, std::mem::take(&mut context.losses));
        *context = Context { source, clock, losses, ..pipeline::of_manifest(manifest) };
    }
    if let Some(kernel) = &mut context.kernel {
        kernel.missing.clone_from(&facts.kernel_missing);
    }
    context.runtime = Runtime {
        family: facts.family.clone(),
        version: facts.version.clone(),
        way: facts.way.clone(),
        args: facts.args.clone(),
    };
    context.threaded = facts.threaded;
    context.generations = facts.generations;
    context.nursery_bytes = facts.nursery_bytes;
    context.program_pid = facts.program_pid.map(Pid);
    let transactions = facts.transactions.as_deref().and_then(|text| serde_json::from_str(text).ok());
    context.stm = transactions.filter(Stm::is_sound);
    context.symbols = trace.symbols().clone();
    context.losses.extend(facts.losses.iter().cloned());
}

/// Whether what `file` begins with is a ring file or a stream of one.
pub fn is_rings(file: &dyn ReadAt) -> bool {
    let mut head = [0; 64];
    let count = file.read_at(&mut head, 0).unwrap_or(0);
    Rings::recognise(head.get(..count).unwrap_or_default())
}

/// The user's `--ocaml-version`.
pub fn version(text: &str) -> Result<Version, Trouble> {
    Version::parse(text).map_err(|error| Trouble::new("wrong --ocaml-version").because(error))
}

fn types(log: &Eventlog, tally: &Tally) -> Vec<TypeCount> {
    let name = |tag: u16| {
        let declared = log.header().types().iter().find(|event| event.tag == tag);
        tags::info(tag)
            .map(|info| info.name.to_owned())
            .or_else(|| declared.map(|event| event.description.clone()))
            .unwrap_or_else(|| format!("tag {tag}"))
    };
    tally.by_tag.iter().map(|&(tag, count)| TypeCount { tag, name: name(tag), count }).collect()
}
