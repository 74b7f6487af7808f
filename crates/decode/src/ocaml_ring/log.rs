//! Rings as one of the log formats.

use super::growing::GrowingRings;
use super::rings::facts;
use super::{RingStream, Rings, Version, captured};
use crate::log::{BATCH, Counted, Events, GrowingLog, Log, LogError, LogFacts, LogFormat, Opening};
use rtscope_model::{Classes, ClockMap, Event, Names};

/// The format of OCaml's runtime events rings.
pub struct RingFormat;

impl LogFormat for RingFormat {
    fn recognises(&self, head: &[u8]) -> bool {
        Rings::recognise(head)
    }

    /// A program writes its rings in any order, a recorder writes its stream sequentially.
    fn has_holes(&self, head: &[u8]) -> bool {
        head.first_chunk() != Some(&captured::MAGIC.to_le_bytes())
    }

    fn check_version(&self, version: &str) -> Result<(), LogError> {
        Ok(Version::parse(version).map(drop)?)
    }

    fn open(&self, log: Opening<'_>) -> Result<Box<dyn Log>, LogError> {
        let version = known(&log);
        Ok(Box::new(Rings::open(log.source, version)?.named(log.name)))
    }

    fn follow(&self, log: Opening<'_>, from_start: bool) -> Result<Box<dyn GrowingLog>, LogError> {
        Ok(Box::new(GrowingRings::of_file(log.source.as_ref(), known(&log), from_start)?))
    }
}

/// The version of `log`; `None` for an unknown one: the events can show it too.
fn known(log: &Opening<'_>) -> Option<Version> {
    log.version.and_then(|text| Version::parse(text).ok())
}

impl Log for Rings {
    fn kind(&self) -> &'static str {
        "ring"
    }

    fn facts(&self) -> LogFacts {
        facts(Some(self.version().to_string()))
    }

    fn events(&self, classes: Classes, _clock: ClockMap, _threads: usize) -> Box<dyn Events> {
        Box::new(self.stream(classes))
    }
}

impl Events for RingStream {
    fn fill(&mut self, batch: &mut Vec<Event>) {
        batch.extend(self.take(BATCH));
    }

    fn names(&self) -> &Names {
        &self.importer.names.names
    }

    fn counted(&self) -> Counted {
        let tally = self.tally();
        Counted { bytes: tally.bytes, by_type: tally.by_type, losses: tally.losses }
    }
}
