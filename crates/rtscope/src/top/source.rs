//! Where bytes come from while something goes on, and the decoders that make events of them.
//! Owns what a process that runs and a capture that grows have in common; refuses to wait.

use super::transactions::Transactions;
use crate::sources::describe;
use rtscope_analyze::Context;
use rtscope_analyze::recording::stm::StmTotals;
use rtscope_decode::ReadAt;
use rtscope_decode::formats::{GrowingLog, LogFacts};
use rtscope_decode::sched::SchedStream;
use rtscope_model::manifest::Kernel;
use rtscope_model::{Body, Class, Classes, ClockMap, Counter, Event, Loss, LossKind, Names, Runtime, Time, runtime};
use std::collections::HashMap;
use std::os::fd::BorrowedFd;
use std::sync::Arc;

/// What is asked of a runtime's log: pauses, lanes and memory, nothing of the program's own.
pub(super) const CLASSES: Classes = Classes::NONE
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

/// What all that goes on has.
pub(super) struct Common {
    /// The log of a runtime, where there is one that can be read, and its clock.
    pub log: Option<(Box<dyn GrowingLog>, ClockMap)>,
    pub sched: Sched,
    /// Counts of transactions.
    pub transactions: Transactions,
    /// What cannot be shown and why, a sentence each.
    pub notes: Vec<String>,
    /// What was lost and not told yet.
    pub losses: Vec<Loss>,
    /// From when on it is shown.
    pub started: Time,
    /// The last look.
    pub looked: Time,
}

impl Common {
    /// A part of the log or of another stream was left out: it grew faster than it is read.
    pub(super) fn left_out(&mut self, source: &str, kind: LossKind, now: Time) {
        let note = "it grew faster than it is read here: a part of it was left out".to_owned();
        let (from, count) = (self.looked, now.since(self.looked));
        self.losses.push(Loss { source: source.to_owned(), kind, count, from: Some(from), to: Some(now), note });
    }

    /// The log itself was.
    pub(super) fn log_left_out(&mut self, now: Time) {
        let facts = self.facts();
        self.left_out(runtime::find(facts.family.as_deref()).log, LossKind::Unwritten, now);
    }

    fn facts(&self) -> LogFacts {
        self.log.as_ref().map_or_else(LogFacts::default, |(log, _)| log.facts())
    }

    /// Events of what was taken in of the log.
    pub(super) fn log_events(&mut self, into: &mut Vec<Event>) {
        if let Some((log, clock)) = &mut self.log {
            into.extend(log.events(CLASSES, *clock));
        }
    }

    /// What the log says of the program.
    pub(super) fn describe(&self, context: &mut Context) {
        if let Some((_, clock)) = &self.log {
            describe(context, self.facts());
            context.clock = *clock;
        }
    }
}

/// Something that goes on.
pub(super) trait Source {
    /// What it has in common with others.
    fn common(&self) -> &Common;

    /// The same, to be changed.
    fn common_mut(&mut self) -> &mut Common;

    /// Takes in what came since the last look; events are not in the order of time.
    fn look(&mut self, now: Time, into: &mut Vec<Event>) -> Looked;

    /// CPU time in nanoseconds that looking at it has taken.
    fn own_cpu_ns(&self) -> u64;

    /// What is known of it after the first look.
    fn context(&self) -> Context;

    /// Whether a log was found since the last call, and [`Source::context`] says more than before:
    /// what was made of events so far was made without it.
    fn renewed(&mut self) -> bool {
        false
    }

    /// Names that events refer to.
    fn names(&self) -> &Names {
        self.common().sched.names()
    }

    /// What was lost since the last call.
    fn take_losses(&mut self) -> Vec<Loss> {
        let common = self.common_mut();
        let mut losses = std::mem::take(&mut common.losses);
        losses.extend(common.log.iter_mut().flat_map(|(log, clock)| log.take_losses(*clock)));
        losses.extend(common.sched.take_losses());
        losses
    }

    /// Sums of transactions at `time`; `None`: none was seen.
    fn transactions(&mut self, time: Time) -> Option<StmTotals> {
        self.common_mut().transactions.until(time)
    }

    /// What cannot be shown now and why, besides [`Common::notes`].
    fn more_notes(&self) -> Vec<String> {
        Vec::new()
    }

    /// What cannot be shown and why, a sentence each.
    fn notes(&self) -> Vec<String> {
        let common = self.common();
        let failed = common.log.as_ref().and_then(|(log, _)| log.failed());
        let failed = failed.map(|why| format!("Its log cannot be read: {why}."));
        common.notes.iter().cloned().chain(failed).chain(self.more_notes()).collect()
    }

    /// Why it does not go on; `None` while it does.
    fn over(&mut self) -> Option<String>;

    /// Whether it has a log of a runtime.
    fn has_log(&self) -> bool {
        self.common().log.is_some()
    }

    /// Readable when it has ended.
    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        None
    }
}

/// The kernel's side; by default nothing.
#[derive(Default)]
pub(super) struct Sched {
    stream: Option<Box<SchedStream>>,
    none: Names,
}

impl Sched {
    /// Of streams that are all empty as yet. Gives why it cannot be read, if it cannot.
    pub(super) fn open(
        kernel: &Kernel,
        formats: &HashMap<String, String>,
        threads: Option<&[u8]>,
    ) -> (Sched, Option<String>) {
        if kernel.streams.is_empty() {
            return (Sched::default(), None);
        }
        let empty = kernel.streams.iter().map(|_| Arc::new(Vec::new()) as Arc<dyn ReadAt>).collect();
        match SchedStream::open(kernel, empty, formats, threads) {
            Ok(stream) => (Sched { stream: Some(Box::new(stream)), ..Sched::default() }, None),
            Err(error) => (Sched::default(), Some(error.to_string())),
        }
    }

    /// Takes in whole records of each CPU.
    pub(super) fn add(&mut self, records: Vec<Vec<u8>>, into: &mut Vec<Event>) {
        let Some(stream) = &mut self.stream else { return };
        stream.go_on(records.into_iter().map(|bytes| Arc::new(bytes) as Arc<dyn ReadAt>));
        into.extend(stream);
    }

    pub(super) fn names(&self) -> &Names {
        self.stream.as_ref().map_or(&self.none, |stream| stream.names())
    }

    pub(super) fn take_losses(&mut self) -> Vec<Loss> {
        self.stream.as_mut().map_or(Vec::new(), |stream| stream.take_losses())
    }
}

/// Events that wait for those of other streams that may come before them.
#[derive(Default)]
pub(super) struct Waiting {
    pub events: Vec<Event>,
    /// Nothing before this is wanted, but for what is still so.
    since: Time,
    /// All before this was given out.
    given: Time,
    /// Events that came when later ones had been given out.
    pub late: u64,
}

impl Waiting {
    pub(super) fn new(since: Time) -> Waiting {
        Waiting { since, ..Waiting::default() }
    }

    /// The time of the last event that waits.
    pub(super) fn latest(&self) -> Time {
        self.events.iter().map(|event| event.time).max().unwrap_or_default()
    }

    /// What is complete, in the order of time; at equal times in the order in which it came.
    pub(super) fn take(&mut self, until: Time) -> impl Iterator<Item = Event> + '_ {
        let since = self.since;
        self.events.retain_mut(|event| {
            let kept = event.time >= since || still_holds(&event.body);
            if !matches!(event.body, Body::Runtime(Runtime::Count(..))) {
                event.time = event.time.max(since);
            }
            kept
        });
        self.events.sort_by_key(|event| event.time);
        let late = |event: &&Event| event.time.plus(LATE_NS) < self.given && !still_holds(&event.body);
        self.late += self.events.iter().take_while(|event| event.time < self.given).filter(late).count() as u64;
        self.given = self.given.max(until);
        let complete = self.events.partition_point(|event| event.time < until);
        self.events.drain(..complete)
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
