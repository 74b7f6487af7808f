//! Eventlogs as one of the log formats.

use super::growing::Growing;
use super::stream::Stream;
use super::{Eventlog, UnflushedBlock, tags};
use crate::code::Ipe;
use crate::log::{BATCH, Counted, Events, GrowingLog, Log, LogError, LogFacts, LogFormat, Opening};
use crate::source::ReadAt;
use rtscope_model::{Classes, ClockMap, Event, LogTime, Names, TypeCount};
use std::sync::Arc;

/// A log on its own is read with every run of its green threads up to this size: most of such a log consists of them,
/// and processing each costs ten times as much as skipping it.
const GREEN_BYTES_MAX: u64 = 64 << 20;

/// The format of GHC eventlogs.
pub struct EventlogFormat;

impl LogFormat for EventlogFormat {
    fn recognises(&self, head: &[u8]) -> bool {
        head.starts_with(b"hdrb")
    }

    fn open(&self, log: Opening<'_>) -> Result<Box<dyn Log>, LogError> {
        let unflushed = log.unflushed.into_iter().map(|block| UnflushedBlock {
            cap: block.capability,
            time: block.opened.0,
            bytes: Arc::new(block.bytes) as Arc<dyn ReadAt>,
        });
        Ok(Box::new(Eventlog::open(log.source, unflushed.collect())?.named(log.name)))
    }

    fn follow(&self, log: Opening<'_>, from_start: bool) -> Result<Box<dyn GrowingLog>, LogError> {
        let open = if from_start { Growing::from_start } else { Growing::open };
        Ok(Box::new(open(log.source, log.name)?))
    }
}

impl Log for Eventlog {
    fn kind(&self) -> &'static str {
        "eventlog"
    }

    fn facts(&self) -> LogFacts {
        let bytes: u64 = self.blocks().iter().map(|block| u64::from(block.len)).sum();
        LogFacts { every_green_event: bytes <= GREEN_BYTES_MAX, ..self.info().facts() }
    }

    fn realtime(&self) -> Option<(LogTime, u64)> {
        self.info().wall_clock.map(|pair| (pair.log, pair.realtime_ns))
    }

    fn code_names(&self, ranges: &[(u64, u64)]) -> Vec<Ipe> {
        self.ipe(ranges)
    }

    fn events(&self, classes: Classes, clock: ClockMap, threads: usize) -> Box<dyn Events> {
        Box::new(self.stream(classes, clock, threads))
    }
}

impl Events for Stream {
    fn fill(&mut self, batch: &mut Vec<Event>) {
        self.deliver(batch, BATCH);
    }

    fn names(&self) -> &Names {
        Stream::names(self)
    }

    fn counted(&self) -> Counted {
        let tally = self.tally();
        let name = |tag: u16| {
            let known = tags::info(tag).map(|info| info.name.to_owned());
            let declared = || self.header.declared(tag).map(|event| event.description.clone());
            known.or_else(declared).unwrap_or_else(|| format!("tag {tag}"))
        };
        let by_type = tally.by_tag.iter().map(|&(tag, count)| TypeCount { tag, name: name(tag), count }).collect();
        Counted { bytes: tally.bytes + self.header.data_offset(), by_type, losses: tally.losses }
    }
}
