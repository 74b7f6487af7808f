//! Live data as streams that the pipeline merges: a runtime's log, the kernel's records, samples and transaction
//! counts, each as far as it was read. Owns what a running process and a growing capture have in common; refuses
//! to wait.

use super::transactions::Transactions;
use rtscope_analyze::Context;
use rtscope_decode::ReadAt;
use rtscope_decode::capture::SampleStream;
use rtscope_decode::formats::{GrowingLog, LogFacts};
use rtscope_decode::sched::SchedStream;
use rtscope_model::manifest::Kernel;
use rtscope_model::{Body, Class, Classes, ClockMap, Counter, Event, Loss, LossKind, Names, Runtime, Time, runtime};
use rtscope_read::pipeline::Streams;
use rtscope_read::sources::describe;
use std::collections::HashMap;
use std::os::fd::BorrowedFd;
use std::sync::Arc;

/// Event classes taken from a runtime's log: pauses, lanes and memory, no user events.
const CLASSES: Classes = Classes::NONE
    .with(Class::Collection)
    .with(Class::Figures)
    .with(Class::Heap)
    .with(Class::Lanes)
    .with(Class::GreenEdges)
    .with(Class::Concurrent);

/// An event less late than this still gets its place, or nearly.
const LATE_NS: u64 = 100_000_000;
/// Maximum bytes of one stream taken at a look; a part of a stream that grows faster is left out.
pub(super) const MOST: usize = 64 << 20;

/// The result of a look.
#[derive(Copy, Clone, Debug)]
pub(super) struct Looked {
    /// Every event before this was delivered.
    pub until: Time,
    /// When the next look should come at the latest, nanoseconds from now.
    pub due_ns: u64,
}

/// Where live data comes from.
pub(super) trait Source {
    /// Hands the data since the last look to the streams.
    fn look(&mut self, now: Time, live: &mut Live) -> Looked;

    /// What is known of the program.
    fn context(&self, live: &Live) -> Context;

    /// What cannot be shown now and why, in addition to [`Live::notes`].
    fn notes(&self, _live: &Live) -> Vec<String> {
        Vec::new()
    }

    /// Why the source has ended; `None` while it goes on.
    fn over(&mut self) -> Option<String>;

    /// Becomes readable when the source has ended.
    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        None
    }
}

/// The streams of live data.
pub(super) struct Live {
    /// The log of a runtime, if there is a readable one, and its clock.
    pub log: Option<(Box<dyn GrowingLog>, ClockMap)>,
    sched: Option<SchedStream>,
    samples: Vec<u8>,
    pub transactions: Transactions,
    /// What cannot be shown and why, a sentence each.
    pub notes: Vec<String>,
    losses: Vec<Loss>,
    /// Start of the display: earlier events are dropped, except those that still hold.
    pub started: Time,
    pub looked: Time,
    /// Every event before this was delivered.
    pub given: Time,
    /// Events that arrived after later ones had been delivered.
    pub late: u64,
}

impl Live {
    /// Streams for a display from `started` on; the kernel's are all empty so far.
    pub(super) fn new(
        started: Time,
        (kernel, formats, threads): (&Kernel, &HashMap<String, String>, Option<&[u8]>),
        transactions: Transactions,
    ) -> Live {
        let mut notes = kernel.missing.clone();
        let empty = kernel.streams.iter().map(|_| Arc::new(Vec::new()) as Arc<dyn ReadAt>).collect();
        let open = || SchedStream::open(kernel, empty, formats, threads);
        let sched = (!kernel.streams.is_empty()).then(open).transpose().unwrap_or_else(|error| {
            notes.push(error.to_string());
            None
        });
        let (log, samples, losses, none) = (None, Vec::new(), Vec::new(), Time(0));
        Live { log, sched, samples, transactions, notes, losses, started, looked: none, given: started, late: 0 }
    }

    /// Adds whole records of each CPU, and whole lines of samples and of transaction counts.
    pub(super) fn add(&mut self, records: Vec<Vec<u8>>, samples: &[u8], transactions: &[u8]) {
        if let Some(sched) = &mut self.sched {
            sched.resume_with(records.into_iter().map(|bytes| Arc::new(bytes) as Arc<dyn ReadAt>));
        }
        self.samples.extend_from_slice(samples);
        self.transactions.add(transactions);
    }

    /// Notes that a part of a stream was left out because it grew faster than it is read.
    pub(super) fn left_out(&mut self, source: &str, kind: LossKind, now: Time) {
        let note = "it grew faster than it is read here: a part of it was left out".to_owned();
        let (from, count) = (self.looked, now.since(self.looked));
        self.losses.push(Loss { source: source.to_owned(), kind, count, from: Some(from), to: Some(now), note });
    }

    /// Notes that a part of the log was left out.
    pub(super) fn log_left_out(&mut self, now: Time) {
        self.left_out(runtime::find(self.facts().family.as_deref()).log, LossKind::Unwritten, now);
    }

    fn facts(&self) -> LogFacts {
        self.log.as_ref().map_or_else(LogFacts::default, |(log, _)| log.facts())
    }

    /// Adds what the log says of the program.
    pub(super) fn describe(&self, context: &mut Context) {
        if let Some((_, clock)) = &self.log {
            describe(context, self.facts());
            context.clock = *clock;
        }
    }

    /// Whether the log has named its writer.
    pub(super) fn names_writer(&self) -> bool {
        self.log.as_ref().is_some_and(|(log, _)| log.identifies_runtime())
    }

    /// Why the log cannot be read; `None` while it can.
    pub(super) fn failed(&self) -> Option<String> {
        let why = self.log.as_ref()?.0.failed()?;
        Some(format!("Its log cannot be read: {why}."))
    }

    /// What was lost since the last call.
    pub(super) fn take_losses(&mut self) -> Vec<Loss> {
        let mut losses = std::mem::take(&mut self.losses);
        losses.extend(self.log.iter_mut().flat_map(|(log, clock)| log.take_losses(*clock)));
        losses.extend(self.sched.iter_mut().flat_map(SchedStream::take_losses));
        losses
    }
}

impl Streams for Live {
    fn fill(&mut self, index: usize, batch: &mut Vec<Event>) -> bool {
        let before = batch.len();
        match index {
            0 => batch.extend(SampleStream::new(std::mem::take(&mut self.samples).as_slice())),
            1 => batch.extend(self.sched.iter_mut().flatten()),
            // Code is not sampled.
            2 => {}
            _ => self.log.iter_mut().for_each(|(log, clock)| batch.extend(log.events(CLASSES, *clock))),
        }
        let since = self.started;
        batch.retain_mut(|event| {
            let kept = event.time >= since || still_holds(&event.body);
            if !matches!(event.body, Body::Runtime(Runtime::Count(..))) {
                event.time = event.time.max(since);
            }
            kept
        });
        let late = |event: &&Event| event.time.plus(LATE_NS) < self.given && !still_holds(&event.body);
        self.late += batch.iter().skip(before).filter(late).count() as u64;
        false
    }

    fn names<'a>(&'a self, none: &'a Names) -> (&'a Names, &'a Names) {
        (self.sched.as_ref().map_or(none, SchedStream::names), none)
    }
}

/// Whether an old event still describes the present state.
fn still_holds(body: &Body) -> bool {
    let Body::Runtime(what) = body else { return false };
    matches!(
        what,
        Runtime::LaneCreated
            | Runtime::LaneDeleted
            | Runtime::LaneDisabled
            | Runtime::LaneEnabled
            | Runtime::TaskCreated(_)
            | Runtime::Count(Counter::HeapBytes | Counter::LiveBytes, _)
    )
}
