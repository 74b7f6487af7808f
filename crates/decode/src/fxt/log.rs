//! Fuchsia traces as one of the log formats.

use super::{Fxt, FxtReader, FxtStream};
use crate::log::{BATCH, Counted, Events, Log, LogError, LogFacts, LogFormat, Opening};
use rtscope_model::{Classes, ClockMap, Event, Names, Symbols};

/// The Fuchsia trace format.
pub struct FxtFormat;

impl LogFormat for FxtFormat {
    fn recognises(&self, head: &[u8]) -> bool {
        FxtReader::recognises(head)
    }

    fn is_recorded(&self) -> bool {
        false
    }

    fn open(&self, log: Opening<'_>) -> Result<Box<dyn Log>, LogError> {
        Ok(Box::new(Fxt::open(log.source)?.named(log.name)))
    }
}

impl Log for Fxt {
    fn kind(&self) -> &'static str {
        "fxt"
    }

    /// The facts of its recording, if rtscope wrote it; otherwise only that it has OCaml's phases.
    fn facts(&self) -> LogFacts {
        let mut facts = match self.exported() {
            Some(facts) => facts.clone(),
            None if self.lanes() > 0 => LogFacts {
                family: Some(super::runtimes::OF_OTHERS.id.to_owned()),
                threaded: Some(true),
                generations: Some(2),
                ..LogFacts::default()
            },
            None => LogFacts::default(),
        };
        let recorded = std::mem::replace(&mut facts.losses, self.losses());
        facts.losses.extend(recorded);
        facts
    }

    fn symbols(&self) -> Symbols {
        Fxt::symbols(self).clone()
    }

    fn events(&self, classes: Classes, _clock: ClockMap, _threads: usize) -> Box<dyn Events> {
        Box::new(self.stream(classes))
    }
}

impl Events for FxtStream {
    fn fill(&mut self, batch: &mut Vec<Event>) {
        batch.extend(self.take(BATCH));
    }

    fn names(&self) -> &Names {
        FxtStream::names(self)
    }

    fn kernel_names(&self) -> Option<&Names> {
        Some(FxtStream::names(self))
    }

    fn counted(&self) -> Counted {
        let mut counted = self.whole.clone();
        counted.losses.extend(self.losses());
        counted
    }
}
