//! What goes on, as streams that the pipeline merges: a runtime's log, the kernel's records, samples and
//! counts of transactions, each as far as it was taken in. Owns what a process that runs and a capture that
//! grows have in common; refuses to wait.

use super::transactions::Transactions;
use crate::pipeline::Streams;
use crate::sources::describe;
use rtscope_analyze::Context;
use rtscope_decode::ReadAt;
use rtscope_decode::capture::SampleStream;
use rtscope_decode::formats::{GrowingLog, LogFacts};
use rtscope_decode::sched::SchedStream;
use rtscope_model::manifest::Kernel;
use rtscope_model::{Body, Class, Classes, ClockMap, Counter, Event, Loss, LossKind, Names, Runtime, Time, runtime};
use std::collections::HashMap;
use std::os::fd::BorrowedFd;
use std::sync::Arc;

/// What is asked of a runtime's log: pauses, lanes and memory, nothing of the program's own.
const CLASSES: Classes = Classes::NONE
    .with(Class::Collection)
    .with(Class::Figures)
    .with(Class::Heap)
    .with(Class::Lanes)
    .with(Class::GreenEdges)
    .with(Class::Concurrent);

/// An event that is out of order by less is where it belongs, or nearly.
const LATE_NS: u64 = 100_000_000;
/// Bytes of one stream that are taken at a look; what grows faster is not followed.
pub(super) const MOST: usize = 64 << 20;

/// What a look came to.
#[derive(Copy, Clone, Debug)]
pub(super) struct Looked {
    /// Every event before this was given.
    pub until: Time,
    /// When the next look should come at the latest, nanoseconds from now.
    pub due_ns: u64,
}

/// Where the bytes of something that goes on come from.
pub(super) trait Source {
    /// Hands what came since the last look to the streams.
    fn look(&mut self, now: Time, live: &mut Live) -> Looked;

    /// What is known of it.
    fn context(&self, live: &Live) -> Context;

    /// What cannot be shown now and why, besides [`Live::notes`].
    fn notes(&self, _live: &Live) -> Vec<String> {
        Vec::new()
    }

    /// Why it does not go on; `None` while it does.
    fn over(&mut self) -> Option<String>;

    /// Readable when it has ended.
    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        None
    }
}

/// The streams of something that goes on.
pub(super) struct Live {
    /// The log of a runtime, where there is one that can be read, and its clock.
    pub log: Option<(Box<dyn GrowingLog>, ClockMap)>,
    sched: Option<SchedStream>,
    samples: Vec<u8>,
    pub transactions: Transactions,
    /// What cannot be shown and why, a sentence each.
    pub notes: Vec<String>,
    losses: Vec<Loss>,
    /// From when on it is shown: nothing before is wanted, but for what is still so.
    pub started: Time,
    pub looked: Time,
    /// All before this was given out.
    pub given: Time,
    /// Events that came when later ones had been given out.
    pub late: u64,
}

impl Live {
    /// Of what is shown from `started` on; the kernel's streams are all empty as yet.
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

    /// Takes in whole records of each CPU, and whole lines of samples and of counts of transactions.
    pub(super) fn add(&mut self, records: Vec<Vec<u8>>, samples: &[u8], transactions: &[u8]) {
        if let Some(sched) = &mut self.sched {
            sched.go_on(records.into_iter().map(|bytes| Arc::new(bytes) as Arc<dyn ReadAt>));
        }
        self.samples.extend_from_slice(samples);
        self.transactions.add(transactions);
    }

    /// A part of a stream was left out: it grew faster than it is read.
    pub(super) fn left_out(&mut self, source: &str, kind: LossKind, now: Time) {
        let note = "it grew faster than it is read here: a part of it was left out".to_owned();
        let (from, count) = (self.looked, now.since(self.looked));
        self.losses.push(Loss { source: source.to_owned(), kind, count, from: Some(from), to: Some(now), note });
    }

    /// A part of the log was.
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

    /// Whether the log has said what wrote it.
    pub(super) fn tells(&self) -> bool {
        self.log.as_ref().is_some_and(|(log, _)| log.tells())
    }

    /// Why the log cannot be read, where that turned out.
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

/// Whether something of long ago still says what is.
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
