//! From an opened input to results: puts runtime, kernel and samples on one clock, merges them and feeds the
//! analysis. Owns the wiring; `decode` and `analyze` decide what events mean.

use crate::input::Input;
use crate::observer::{Observer, OnPause, Pauses};
use crate::sources::{choose_log, clock_of, describe, of_manifest, open_log, open_sched, stream_bytes, waits};
use crate::{heaps, requests, transactions};
use rtscope_analyze::lanes::timeline::LaneDetail;
use rtscope_analyze::results::{BlamedPause, LanesOverTime, Results, Source};
use rtscope_analyze::{Analysis, Context, Tail};
use rtscope_decode::capture::{Capture, Samples};
use rtscope_decode::code::CodeStream;
use rtscope_decode::formats::{BATCH, Events, Log};
use rtscope_decode::sched::SchedStream;
use rtscope_encode::Tables;
use rtscope_model::manifest::Manifest;
use rtscope_model::{Account, Classes, Event, Loss, LossKind, Names, Pid, Symbols, Time};
use rtscope_terminal::user_error::UserError;
use std::path::{Path, PathBuf};

/// What the caller wants from a run.
pub struct Options {
    /// Path as given, for the report.
    pub path: String,
    /// Number of the log, if a capture has several.
    pub log: Option<usize>,
    /// Decoding threads.
    pub threads: usize,
    /// Version of the runtime that wrote the log, if the user says so.
    pub version: Option<String>,
    /// Requests of a load, to be joined with a capture.
    pub requests: Option<PathBuf>,
    /// Ids of rules that are left out.
    pub without: Vec<String>,
}

impl Options {
    /// For the recording at `path`, with as many threads as help decoding.
    pub fn new(path: &Path) -> Options {
        Options {
            path: path.display().to_string(),
            log: None,
            threads: std::thread::available_parallelism().map_or(1, usize::from).min(8),
            version: None,
            requests: None,
            without: Vec::new(),
        }
    }
}

/// Runs the analysis over `input`.
pub fn analyse(input: &Input, options: &Options, on_pause: OnPause<'_>) -> Result<(Results, Names), UserError> {
    watch(input, options, &mut Pauses { on_pause, lanes: None })
}

/// Like [`analyse`], but for a page, which also draws what lanes did.
pub fn analyse_for_page(
    input: &Input,
    options: &Options,
    on_pause: OnPause<'_>,
) -> Result<(Results, Names), UserError> {
    let mut page = Pauses { on_pause, lanes: Some(LanesOverTime::default()) };
    let (mut results, names) = watch(input, options, &mut page)?;
    if results.account.as_ref().is_some_and(Account::lacks_kernel) {
        page.lanes.iter_mut().for_each(LanesOverTime::without_kernel);
    }
    results.drawing.lanes = page.lanes.filter(|found| !found.lanes.is_empty());
    Ok((results, names))
}

/// Runs the analysis over `input` for an observer.
pub fn watch(input: &Input, options: &Options, observer: &mut dyn Observer) -> Result<(Results, Names), UserError> {
    let opened = open(input, options, observer.classes())?;
    observer.start(&opened.context, opened.manifest.as_ref());
    Ok(run(opened, observer))
}

/// An input that is ready to be read: what is known of it, and its streams.
pub struct Opened {
    /// What is known before the first event.
    pub context: Context,
    /// The manifest of a capture, or of an export that carries one.
    pub manifest: Option<Manifest>,
    /// Its streams.
    pub files: Files,
    /// Bytes of streams other than the log.
    other_bytes: u64,
}

/// Opens the streams of `input`: of a log, the events that the analysis wants and those of `more`.
pub fn open(input: &Input, options: &Options, more: Classes) -> Result<Opened, UserError> {
    let mut opened = match input {
        Input::Log(_) if options.requests.is_some() => {
            let why = "requests can only be joined with a capture, which says on which clock it was made";
            return Err(UserError::new(why).next("record with `rtscope record -- PROGRAM`"));
        }
        Input::Log(log) => {
            let facts = log.facts();
            let source = Source { kind: log.kind(), path: options.path.clone(), ..Source::default() };
            let mut context = Context { source, clock: facts.clock, ..Context::default() };
            let (manifest, every_green_event) = (facts.manifest.clone(), facts.every_green_event);
            describe(&mut context, facts);
            context.every_green_event = every_green_event;
            context.symbols = log.symbols();
            let log = Some(events(log.as_ref(), &context, more, options.threads));
            let files = Files { log, sched: None, code: None, samples: None };
            Opened { context, manifest, files, other_bytes: 0 }
        }
        Input::Capture(capture) => open_capture(capture, options, more)?,
    };
    opened.context.rules_off.clone_from(&options.without);
    Ok(opened)
}

fn open_capture(capture: &Capture, options: &Options, more: Classes) -> Result<Opened, UserError> {
    let manifest = capture.manifest();
    let source = Source { kind: "capture", path: options.path.clone(), ..Source::default() };
    let mut context = Context { source, losses: capture.losses(), ..of_manifest(manifest) };
    let chosen = choose_log(capture, options.log)?;
    let log = chosen.and_then(|entry| open_log(capture, entry, options.version.as_deref(), &mut context.losses));
    context.source.log = chosen.map(|entry| entry.path.clone());
    context.source.logs = manifest.logs.len() as u64;
    if let (Some(log), Some(entry)) = (&log, chosen) {
        let facts = log.facts();
        context.clock = clock_of(facts.clock, log.realtime(), manifest, entry);
        describe(&mut context, facts);
        if entry.pid != 0 {
            context.program_pid = Some(Pid(entry.pid));
        }
    }
    let pid = context.program_pid.filter(|_| chosen.is_some());
    let kept = heaps::load(capture, pid.map(|pid| pid.0));
    (context.heaps, context.heaps_left_out) = (kept.heaps, kept.left_out);
    context.losses.extend(kept.losses);
    context.stm = transactions::load(capture, pid, context.started, &mut context.losses);
    context.waits = waits(capture, pid, &mut context.losses);
    let sched = open_sched(capture, &mut context.losses);
    let code = crate::code::open(capture, log.as_deref(), &mut context.losses);
    if let Some(code) = &code {
        context.symbols = code.symbols().clone();
    }
    if let (Some(kernel), Some(code)) = (&mut context.kernel, &manifest.code) {
        // One list of everything that could not be seen.
        kernel.missing.extend(code.missing.iter().cloned());
    }
    if let Some(file) = &options.requests {
        context.requests = Some(requests::load(file, &context, manifest)?);
    }
    // A recording contains the events of green threads if they were requested.
    context.every_green_event = log.is_some();
    let log = log.map(|log| events(log.as_ref(), &context, more, options.threads));
    let files = Files { log, sched, code, samples: capture.samples() };
    Ok(Opened { context, manifest: Some(manifest.clone()), files, other_bytes: stream_bytes(capture) })
}

/// The events of `log`: as many as the analysis wants, and `more`.
fn events(log: &dyn Log, context: &Context, more: Classes, threads: usize) -> Box<dyn Events> {
    let classes = if context.every_green_event { Analysis::CLASSES_GREEN } else { Analysis::CLASSES };
    log.events(classes.union(more), context.clock, threads)
}

/// Merges the streams into the analysis and closes it.
fn run(opened: Opened, observer: &mut dyn Observer) -> (Results, Names) {
    let Opened { mut context, mut files, other_bytes, .. } = opened;
    let mut source = context.source.clone();
    let (without_start, losses) = std::mem::take(&mut context.losses).into_iter().partition(lacks_start);
    context.losses = losses;
    let ended = context.ended;
    let mut run = match observer.figures() {
        true => Run::new(context, observer.lanes()),
        false => Run::of(context, |context| Analysis::without_figures(context, observer.lanes())),
    };
    if observer.wants_parts() {
        run.analysis.keep_parts();
    }
    run.until(None, &mut files, observer);
    let mut tail = Tail::default();
    source.bytes = other_bytes;
    if let Some(events) = &files.log {
        let counted = events.counted();
        source.events = counted.by_type.iter().map(|kind| kind.count).sum();
        source.bytes += counted.bytes;
        source.events_by_type = counted.by_type;
        tail.losses.extend(without_end(counted.losses, ended));
        tail.user_names = events.names().clone();
    }
    // The observer has had these from the start.
    let last = run.analysis.log_until();
    let (before, known): (usize, Vec<Loss>) = (tail.losses.len(), from_last(without_start, last).collect());
    tail.losses.extend(files.samples.as_ref().map_or(Vec::new(), Samples::losses));
    tail.losses.extend(files.sched.as_ref().map_or(Vec::new(), SchedStream::losses));
    tail.losses.extend(files.code.as_ref().map_or(Vec::new(), CodeStream::losses));
    let losses = tail.losses.clone();
    tail.losses.splice(before..before, known);
    tail.source = Some(source);
    let Run { mut analysis, symbols, none, .. } = run;
    let (names, user) = files.names(&none);
    let tables = Tables { kernel: names, user, symbols: &symbols };
    let mut rest = Vec::new();
    analysis.end(&mut |lane, piece| rest.push((lane, *piece)));
    analysis.settle_all(names, &mut |pause| observer.pause(pause, tables));
    analysis.parts(&mut |lane, piece| observer.part(lane, piece, tables));
    let results = analysis.finish(names, tail, &mut |pause| observer.pause(pause, tables));
    rest.iter().for_each(|(lane, piece)| observer.segment(*lane, piece, tables));
    observer.end(&losses);
    (results, names.clone())
}

/// An analysis and the merge that feeds it: of an input to its end, or of an ongoing one as far as it is known.
pub struct Run {
    /// The analysis, up to the last event that was fed.
    pub analysis: Analysis,
    merge: Merge,
    symbols: Symbols,
    none: Names,
}

impl Run {
    /// An analysis with lanes in this detail, fed with nothing yet.
    pub fn new(context: Context, detail: LaneDetail) -> Run {
        Run::of(context, |context| Analysis::with_lanes(context, detail))
    }

    fn of(context: Context, analysis: impl FnOnce(Context) -> Analysis) -> Run {
        let (merge, symbols, none) = (Merge::default(), context.symbols.clone(), Names::default());
        Run { analysis: analysis(context), merge, symbols, none }
    }

    /// Feeds what comes before `until`; `None`: everything.
    pub fn until(&mut self, until: Option<Time>, streams: &mut dyn Streams, observer: &mut dyn Observer) {
        let analysis = &mut self.analysis;
        self.merge.until = until.map_or(NEVER, |until| (until, 0));
        while self.merge.fill(streams) {
            let (names, user) = streams.names(&self.none);
            let tables = Tables { kernel: names, user, symbols: &self.symbols };
            while let Some(event) = self.merge.front() {
                analysis.take(event, &mut |lane, piece| observer.segment(lane, piece, tables));
                observer.event(event, tables);
                analysis.resolve(names, &mut |pause: &BlamedPause| observer.pause(pause, tables));
                analysis.parts(&mut |lane, piece| observer.part(lane, piece, tables));
                self.merge.advance();
            }
        }
    }

    /// Time of the next event; `None`: there are no more.
    pub fn next(&mut self, streams: &mut dyn Streams) -> Option<Time> {
        self.merge.until = NEVER;
        self.merge.fill(streams);
        Some(self.merge.when(self.merge.first?).0)
    }

    /// Sorts what ongoing streams hold now into what is pending. Gives the last time of all.
    pub fn take_in(&mut self, streams: &mut dyn Streams) -> Option<Time> {
        self.merge.over = [true; 4];
        let batches = self.merge.batches.iter_mut().enumerate().filter_map(|(index, (batch, at))| {
            batch.drain(..std::mem::take(at));
            streams.fill(index, batch);
            batch.sort_by_key(|event| event.time);
            batch.last().map(|event| event.time)
        });
        batches.max()
    }

    /// Names of threads, as far as the events taken in so far give them.
    pub fn names<'a>(&'a self, streams: &'a dyn Streams) -> &'a Names {
        streams.names(&self.none).0
    }

    /// Nothing comes after what was fed: see [`Analysis::resolve_all`].
    pub fn resolve_all(&mut self, streams: &dyn Streams, observer: &mut dyn Observer) {
        let (names, user) = streams.names(&self.none);
        let tables = Tables { kernel: names, user, symbols: &self.symbols };
        self.analysis.resolve_all(names, &mut |pause| observer.pause(pause, tables));
    }

    /// Takes over what is pending from an analysis that knew less of the same input.
    pub fn instead_of(&mut self, before: &mut Run) {
        std::mem::swap(&mut self.merge, &mut before.merge);
    }
}

/// Buffers that were never written, and the recorder does not know since when: only the log says so, at its
/// end. Until then they cast doubt on no pause.
fn lacks_start(loss: &Loss) -> bool {
    loss.kind == LossKind::Unwritten && loss.from.is_none()
}

/// Makes the losses begin after the last event that was seen.
fn from_last(losses: Vec<Loss>, last: Option<Time>) -> impl Iterator<Item = Loss> {
    losses.into_iter().map(move |mut loss| {
        if let (Some(last), Some(to)) = (last, loss.to) {
            loss.from = Some(last.min(to));
            loss.count = to.since(last);
        }
        loss
    })
}

/// A log without an end mark is missing nothing after the end of the recording.
fn without_end(losses: Vec<Loss>, ended: Option<Time>) -> impl Iterator<Item = Loss> {
    losses.into_iter().map(move |mut loss| {
        if loss.kind == LossKind::Truncated && loss.to.is_none() {
            loss.to = ended.map(|ended| ended.max(loss.from.unwrap_or(ended)));
        }
        loss
    })
}

/// Streams of events, each in time order, identified by position: samples and kernel events come first at equal
/// times, as a pause is judged when its last event arrives.
pub trait Streams {
    /// Fetches the next events of a stream. Gives whether more may follow.
    fn fill(&mut self, index: usize, batch: &mut Vec<Event>) -> bool;

    /// Names of threads, and of what the program itself posts.
    fn names<'a>(&'a self, none: &'a Names) -> (&'a Names, &'a Names);
}

/// The streams of one input.
pub struct Files {
    log: Option<Box<dyn Events>>,
    sched: Option<SchedStream>,
    code: Option<CodeStream>,
    samples: Option<Samples>,
}

impl Streams for Files {
    fn fill(&mut self, index: usize, batch: &mut Vec<Event>) -> bool {
        fn of(stream: Option<&mut impl Iterator<Item = Event>>, batch: &mut Vec<Event>) -> bool {
            batch.extend(stream.into_iter().flat_map(|stream| stream.take(BATCH)));
            batch.len() == BATCH
        }
        match index {
            0 => of(self.samples.as_mut(), batch),
            1 => of(self.sched.as_mut(), batch),
            2 => of(self.code.as_mut(), batch),
            _ => {
                self.log.iter_mut().for_each(|log| log.fill(batch));
                !batch.is_empty()
            }
        }
    }

    fn names<'a>(&'a self, none: &'a Names) -> (&'a Names, &'a Names) {
        let kernel = self.sched.as_ref().map(SchedStream::names);
        let log = self.log.as_deref();
        (kernel.or_else(|| log?.kernel_names()).unwrap_or(none), log.map_or(none, Events::names))
    }
}

/// Streams merged by time, one batch of each at a time: names are added and dynamic calls made only when a
/// batch is filled.
#[derive(Default)]
struct Merge {
    /// The next events of each, and how many of them were consumed.
    batches: [(Vec<Event>, usize); 4],
    over: [bool; 4],
    /// Which comes next; `None` if a batch has to be filled first.
    first: Option<usize>,
    /// Time and stream of the event after it.
    second: (Time, usize),
    /// Nothing is given from here on.
    until: (Time, usize),
}

impl Merge {
    /// Fills empty batches; false if there is nothing to give.
    fn fill(&mut self, streams: &mut dyn Streams) -> bool {
        for index in 0..self.batches.len() {
            let (batch, at) = &mut self.batches[index];
            if *at == batch.len() && !self.over[index] {
                (*at, _) = (0, batch.clear());
                self.over[index] = !streams.fill(index, batch);
            }
        }
        self.choose();
        self.first.is_some()
    }

    /// The next event. It stays in place: copying what was just written costs more than most folds.
    #[inline]
    fn front(&self) -> Option<&Event> {
        let (batch, at) = self.batches.get(self.first?)?;
        batch.get(*at)
    }

    /// Moves on to the next event.
    #[inline]
    fn advance(&mut self) {
        let Some(first) = self.first else { return };
        let (batch, at) = &mut self.batches[first];
        *at += 1;
        if *at == batch.len() {
            self.first = None;
        } else if self.when(first) >= self.second {
            self.choose();
        }
    }

    /// Time of a stream's next event.
    #[inline]
    fn when(&self, index: usize) -> (Time, usize) {
        let (batch, at) = &self.batches[index];
        batch.get(*at).map_or(NEVER, |event| (event.time, index))
    }

    fn choose(&mut self) {
        let mut order: [(Time, usize); 4] = std::array::from_fn(|index| self.when(index));
        order.sort_unstable();
        self.first = Some(order[0].1).filter(|_| order[0] < self.until);
        self.second = order[1].min(self.until);
    }
}

/// Time of a stream that is over; its number stands for none.
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
    fn what_a_killed_program_never_wrote_begins_after_its_last_event() {
        let unwritten = loss(LossKind::Unwritten, None, Some(900));
        assert!(lacks_start(&unwritten) && !lacks_start(&loss(LossKind::Unwritten, Some(1), Some(900))));
        let narrowed: Vec<Loss> = from_last(vec![unwritten.clone()], Some(Time(650))).collect();
        assert_eq!(narrowed.iter().map(|loss| (loss.from, loss.count)).collect::<Vec<_>>(), [(Some(Time(650)), 250)]);
        let nothing_seen: Vec<Loss> = from_last(vec![unwritten.clone()], None).collect();
        assert_eq!(nothing_seen, [unwritten]);
    }

    #[test]
    fn a_log_without_an_end_lacks_nothing_after_the_recording() {
        let bounded: Vec<Loss> = without_end(vec![loss(LossKind::Truncated, Some(10), None)], Some(Time(90))).collect();
        assert_eq!(bounded.first().and_then(|loss| loss.to), Some(Time(90)));
        let open: Vec<Loss> = without_end(vec![loss(LossKind::Truncated, Some(10), None)], None).collect();
        assert_eq!(open.first().and_then(|loss| loss.to), None);
    }
}
