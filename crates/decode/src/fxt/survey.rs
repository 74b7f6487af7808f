//! The first pass over a trace: what must be known before its first event. Owns how far a trace is out of order, its
//! lanes, what rtscope itself put into it, and its damage.

use super::carried::DERIVED;
use super::error::FxtError;
use super::import;
use super::lanes::Threads;
use super::reader::FxtReader;
use super::record::{EventKind, OBJECT_THREAD, Record};
use crate::raw_loss::RawLoss;
use crate::source::ReadAt;
use rtscope_model::{LossKind, Time};
use std::collections::BTreeMap;

/// Bytes read at a time.
pub(super) const CHUNK: usize = 256 << 10;
/// Name of the blob with the facts that rtscope writes.
pub const FACTS: &str = "rtscope.facts";
/// Name of the blob with losses known at the end.
pub const LOSSES: &str = "rtscope.losses";
/// Name of the blob with names of the code that samples point to.
pub const SYMBOLS: &str = "rtscope.symbols";
/// Limit of the bytes read from such a blob.
const BLOB_MAX: usize = 64 << 20;
/// Limit of damaged places that are reported individually.
const DAMAGES_MAX: usize = 64;

/// Damage, or truncation.
#[derive(Clone, Debug)]
pub(super) struct Damage {
    pub position: u64,
    pub loss: RawLoss<&'static str>,
}

/// What the first pass found.
#[derive(Clone, Default, Debug)]
pub(super) struct Survey {
    /// Size of the readable part of the trace.
    pub bytes: u64,
    /// Records by [`LABELS`].
    pub records: [u64; LABELS.len()],
    pub threads: Threads,
    /// How far an event's stamp can lie before the latest earlier one, nanoseconds.
    pub late_ns: u64,
    pub span: Option<(u64, u64)>,
    pub switches: bool,
    pub blobs: BTreeMap<&'static str, Vec<u8>>,
    pub damages: Vec<Damage>,
    /// The last stamp read.
    last: Option<u64>,
    /// Damage is waiting for the next stamp.
    open: bool,
}

/// Calls `each` with every record of `source`, and last with the end of what can be read.
pub(super) fn read_all(source: &dyn ReadAt, each: &mut dyn FnMut(Step<'_>)) -> Result<(), FxtError> {
    let (mut reader, mut chunk, mut offset) = (FxtReader::default(), vec![0; CHUNK], 0);
    loop {
        let count = source.read_at(&mut chunk, offset).map_err(|source| FxtError::Io { position: offset, source })?;
        reader.push(chunk.get(..count).unwrap_or_default());
        offset += count as u64;
        loop {
            let position = reader.position();
            match reader.next_record() {
                Ok(Some(record)) => each(Step::Record(&record, position)),
                Ok(None) => break,
                Err(FxtError::Stuck { position }) => {
                    let size = source.size().unwrap_or(offset).max(offset);
                    each(Step::Stuck { position, left: size.saturating_sub(position) });
                    return Ok(());
                }
                Err(error) => return Err(error),
            }
        }
        if count == 0 {
            let (there, missing) = reader.rest();
            each(Step::End { bytes: offset, cut: there > 0 || missing > 0, missing });
            return Ok(());
        }
    }
}

/// What [`read_all`] passes on.
pub(super) enum Step<'a> {
    /// A record, and roughly its offset.
    Record(&'a Record<'a>, u64),
    /// The end of the trace, between records or inside one.
    End { bytes: u64, cut: bool, missing: u64 },
    /// A place after which nothing can be read.
    Stuck { position: u64, left: u64 },
}

impl Survey {
    pub fn of(source: &dyn ReadAt) -> Result<Survey, FxtError> {
        let mut survey = Survey::default();
        read_all(source, &mut |step| survey.step(step))?;
        if survey.bytes == 0 && survey.damages.is_empty() {
            return Err(FxtError::Empty);
        }
        Ok(survey)
    }

    fn step(&mut self, step: Step<'_>) {
        match step {
            Step::Record(record, position) => self.record(record, position),
            Step::End { bytes, cut, missing } => {
                self.bytes = bytes;
                if cut {
                    self.damage(LossKind::Truncated, missing, bytes, "the trace ends inside a record");
                }
            }
            Step::Stuck { position, left } => {
                self.bytes = position;
                let note = "a record without a size: nothing after it can be read";
                self.damage(LossKind::Damaged, left, position, note);
            }
        }
    }

    fn record(&mut self, record: &Record<'_>, position: u64) {
        if let Some(count) = self.records.get_mut(label(record)) {
            *count += 1;
        }
        match record {
            Record::Event(event) => {
                if event.category != DERIVED.as_bytes() {
                    self.at(event.time);
                }
                if let Some(eio) = import::is_phase(event) {
                    self.threads.posts(event.thread, eio);
                }
            }
            Record::Switch(switch) => {
                self.switches = true;
                self.at(switch.time);
            }
            Record::Wakeup { time, .. } => self.at(*time),
            Record::KernelObject { id, kind: OBJECT_THREAD, name, .. } => self.threads.named(*id, name),
            Record::Blob { name, bytes, .. } => self.blob(name, bytes),
            Record::ProviderEvent { event: 0, .. } => {
                self.damage(LossKind::Damaged, 0, position, "the buffer of its writer was full: records were dropped");
            }
            Record::Damaged { .. } => {
                self.damage(LossKind::Damaged, 1, position, "a record that contradicts itself was left out");
            }
            _ => {}
        }
    }

    fn at(&mut self, time: u64) {
        let latest = self.span.map_or(time, |(_, last)| last);
        self.late_ns = self.late_ns.max(latest.saturating_sub(time));
        self.span = Some(self.span.map_or((time, time), |(first, last)| (first.min(time), last.max(time))));
        self.last = Some(time);
        if self.open {
            self.open = false;
            let losses = self.damages.iter_mut().rev().map(|damage| &mut damage.loss);
            losses.take_while(|loss| loss.to.is_none()).for_each(|loss| {
                loss.to = Some(time.max(loss.from.unwrap_or(time)));
            });
        }
    }

    fn blob(&mut self, name: &[u8], bytes: &[u8]) {
        let Some(name) = [FACTS, LOSSES, SYMBOLS].into_iter().find(|known| known.as_bytes() == name) else { return };
        let blob = self.blobs.entry(name).or_default();
        if blob.len() + bytes.len() <= BLOB_MAX {
            blob.extend_from_slice(bytes);
        }
    }

    fn damage(&mut self, kind: LossKind, count: u64, position: u64, note: &'static str) {
        self.open = true;
        let full = self.damages.len() >= DAMAGES_MAX;
        match self.damages.last_mut() {
            // Only damage in between, or no room to report them individually.
            Some(Damage { loss, .. }) if full || loss.note == note && loss.to.is_none() => {
                loss.count += count;
                loss.to = None;
            }
            _ => {
                let loss = RawLoss { kind, count, from: self.last, to: None, note };
                self.damages.push(Damage { position, loss });
            }
        }
    }

    /// First and last time stamp.
    pub fn times(&self) -> Option<(Time, Time)> {
        self.span.map(|(first, last)| (Time(first), Time(last)))
    }
}

/// Names under which records are counted.
pub(super) const LABELS: [&str; 21] = [
    "instant",
    "counter",
    "duration begin",
    "duration end",
    "duration complete",
    "async",
    "flow",
    "event of an unknown kind",
    "context switch",
    "thread wakeup",
    "metadata",
    "initialization",
    "string",
    "thread",
    "blob",
    "userspace object",
    "kernel object",
    "log",
    "large",
    "unknown",
    "damaged",
];

/// The index of a record's name in [`LABELS`].
fn label(record: &Record<'_>) -> usize {
    match record {
        Record::Event(event) => match event.kind {
            EventKind::Instant => 0,
            EventKind::Counter(_) => 1,
            EventKind::Begin => 2,
            EventKind::End => 3,
            EventKind::Complete(_) => 4,
            EventKind::AsyncBegin(_) | EventKind::AsyncInstant(_) | EventKind::AsyncEnd(_) => 5,
            EventKind::FlowBegin(_) | EventKind::FlowStep(_) | EventKind::FlowEnd(_) => 6,
            EventKind::Unknown(_) => 7,
        },
        Record::Switch(_) => 8,
        Record::Wakeup { .. } => 9,
        Record::Magic
        | Record::Provider { .. }
        | Record::Section { .. }
        | Record::ProviderEvent { .. }
        | Record::OtherMetadata { .. } => 10,
        Record::Init { .. } => 11,
        Record::String { .. } => 12,
        Record::Thread { .. } => 13,
        Record::Blob { .. } => 14,
        Record::UserObject { .. } => 15,
        Record::KernelObject { .. } => 16,
        Record::Log { .. } => 17,
        Record::Large { .. } => 18,
        Record::Unknown { .. } => 19,
        Record::Damaged { .. } => 20,
    }
}
