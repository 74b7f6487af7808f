//! A whole trace: the result of its first pass, and its events in time order. Owns the losses; refuses to sort
//! further than the first pass measured.

use super::error::FxtError;
use super::import::Importer;
use super::lanes::Lanes;
use super::reader::FxtReader;
use super::survey::{CHUNK, Damage, FACTS, LABELS, LOSSES, SYMBOLS, Survey};
use crate::log::Counted;
use crate::source::ReadAt;
use rtscope_model::exported::SCHEMA;
use rtscope_model::{Classes, Event, Exported, Loss, LossKind, Names, Symbol, Symbols, Time, TypeCount};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Limit of events that wait for earlier ones.
const WAITING_MAX: usize = 1 << 20;

/// An opened trace.
pub struct Fxt {
    name: String,
    source: Arc<dyn ReadAt>,
    survey: Survey,
    lanes: Lanes,
    facts: Option<Exported>,
    symbols: Symbols,
    ended_with: Vec<Loss>,
    broken: Vec<String>,
}

impl Fxt {
    /// Opens a trace: reads it once from end to end. A truncated or damaged one opens as far as it can be read.
    ///
    /// # Errors
    /// [`FxtError`]: it is not a trace, or cannot be read at all.
    pub fn open(source: Arc<dyn ReadAt>) -> Result<Fxt, FxtError> {
        let mut survey = Survey::of(source.as_ref())?;
        let mut broken = Vec::new();
        let facts = blob(&mut survey, FACTS, &mut broken).filter(|facts: &Exported| facts.schema == SCHEMA);
        let ended_with = blob(&mut survey, LOSSES, &mut broken).unwrap_or_default();
        let mut symbols = Symbols::default();
        let list: Vec<Symbol> = blob(&mut survey, SYMBOLS, &mut broken).unwrap_or_default();
        list.into_iter().skip(1).for_each(|symbol| {
            symbols.add(symbol);
        });
        let lanes = survey.threads.lanes();
        Ok(Fxt { name: "trace".into(), source, survey, lanes, facts, symbols, ended_with, broken })
    }

    /// Sets the name that appears in its losses.
    pub fn named(mut self, name: impl Into<String>) -> Fxt {
        self.name = name.into();
        self
    }

    /// The facts that rtscope wrote about the recording; `None`: another tool wrote the trace.
    pub fn exported(&self) -> Option<&Exported> {
        self.facts.as_ref()
    }

    /// Names of the code that samples point to.
    pub fn symbols(&self) -> &Symbols {
        &self.symbols
    }

    /// The number of lanes found, that is threads that post phases of a runtime.
    pub fn lanes(&self) -> usize {
        self.lanes.len()
    }

    /// First and last time stamp.
    pub fn span(&self) -> Option<(Time, Time)> {
        self.survey.times()
    }

    /// Records by kind.
    pub fn records(&self) -> Vec<TypeCount> {
        let counted = (0u16..).zip(LABELS).zip(self.survey.records).filter(|(_, count)| *count > 0);
        counted.map(|((tag, name), count)| TypeCount { tag, name: name.to_string(), count }).collect()
    }

    /// Damage of the trace itself.
    pub fn losses(&self) -> Vec<Loss> {
        let damage = |damage: &Damage| {
            let note = format!("byte {}: {}", damage.position, damage.loss.note);
            Loss { note, ..damage.loss.named(&self.name, Time) }
        };
        let mut losses: Vec<Loss> = self.survey.damages.iter().map(damage).collect();
        let rivals = self.lanes.rivals.len() as u64;
        if rivals > 0 {
            let note = "several processes post the same rings: only the first one is read; trace one program";
            losses.push(Loss::new(&self.name, LossKind::MixedProcesses, rivals + 1, note));
        }
        losses.extend(self.broken.iter().map(|note| Loss::new(&self.name, LossKind::SourceMissing, 1, note)));
        losses
    }

    /// Losses of the recording that were known only at its end, as rtscope wrote them.
    pub fn ended_with(&self) -> &[Loss] {
        &self.ended_with
    }

    /// The events of `classes` in time order, including kernel events and samples.
    pub fn stream(&self, classes: Classes) -> FxtStream {
        FxtStream {
            name: self.name.clone(),
            whole: Counted { bytes: self.survey.bytes, by_type: self.records(), losses: self.ended_with.clone() },
            source: Arc::clone(&self.source),
            reader: FxtReader::default(),
            importer: Importer::new(classes, self.lanes.clone(), self.facts.is_some(), self.survey.switches),
            chunk: vec![0; CHUNK],
            offset: 0,
            late_ns: self.survey.late_ns,
            waiting: BTreeMap::new(),
            sequence: 0,
            seen: 0,
            given: 0,
            over: false,
            disordered: None,
        }
    }
}

fn blob<T: serde::de::DeserializeOwned>(
    survey: &mut Survey,
    name: &'static str,
    broken: &mut Vec<String>,
) -> Option<T> {
    let bytes = survey.blobs.remove(name)?;
    serde_json::from_slice(&bytes)
        .map_err(|error| broken.push(format!("{name} of the trace cannot be read ({error}): export it again")))
        .ok()
}

/// Events of a trace in time order.
pub struct FxtStream {
    name: String,
    /// Counted when the trace was opened.
    pub(super) whole: Counted,
    source: Arc<dyn ReadAt>,
    reader: FxtReader,
    importer: Importer,
    chunk: Vec<u8>,
    offset: u64,
    late_ns: u64,
    /// By time and order in the file.
    waiting: BTreeMap<(u64, u64), Event>,
    sequence: u64,
    /// Latest stamp read.
    seen: u64,
    /// Latest stamp delivered.
    given: u64,
    over: bool,
    /// Events dropped because later ones were already delivered: count, from, to.
    disordered: Option<(u64, u64, u64)>,
}

impl FxtStream {
    /// Names of threads and of the program's own events.
    pub fn names(&self) -> &Names {
        &self.importer.names
    }

    /// Events that could not be put in order; complete once the stream has ended.
    pub fn losses(&self) -> Vec<Loss> {
        let lost = self.disordered.map(|(count, from, to)| {
            let note = "events too far out of order were left out";
            let loss = Loss::new(&self.name, LossKind::OutOfOrder, count, note);
            Loss { from: Some(Time(from)), to: Some(Time(to)), ..loss }
        });
        lost.into_iter().collect()
    }

    /// Reads one more record; `false`: there is none.
    fn fill(&mut self) -> bool {
        loop {
            match self.reader.next_record() {
                Ok(Some(record)) => {
                    let found = self.importer.take(&record);
                    if let Some(first) = &found[0] {
                        // For a span in a single record, the end is ahead of its time.
                        self.seen = self.seen.max(first.time.0);
                    }
                    found.into_iter().flatten().for_each(|event| self.keep(event));
                    return true;
                }
                Ok(None) => {}
                Err(_) => return false,
            }
            // Read errors were reported when the trace was opened.
            let count = self.source.read_at(&mut self.chunk, self.offset).unwrap_or(0);
            if count == 0 {
                return false;
            }
            self.reader.push(self.chunk.get(..count).unwrap_or_default());
            self.offset += count as u64;
        }
    }

    fn keep(&mut self, event: Event) {
        let time = event.time.0;
        if time < self.given {
            let (count, from, to) = self.disordered.unwrap_or((0, time, self.given));
            self.disordered = Some((count + 1, from.min(time), to.max(self.given)));
            return;
        }
        self.sequence += 1;
        self.waiting.insert((time, self.sequence), event);
    }

    /// Whether nothing can come before the first waiting event.
    fn is_due(&self) -> bool {
        let Some((&(time, _), _)) = self.waiting.first_key_value() else { return false };
        self.over || self.waiting.len() >= WAITING_MAX || time.saturating_add(self.late_ns) <= self.seen
    }
}

impl Iterator for FxtStream {
    type Item = Event;

    fn next(&mut self) -> Option<Event> {
        while !self.is_due() {
            if self.over {
                return None;
            }
            self.over = !self.fill();
        }
        let ((time, _), event) = self.waiting.pop_first()?;
        self.given = time;
        Some(event)
    }
}
