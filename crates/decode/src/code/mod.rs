//! From samples of the program's code to events.
//!
//! Owns the streams `code/cpuN.perf.zst` of a capture (perf records: timer hits, waits, mappings) merged in time
//! order, what was mapped where in which process, and `code/symbols.json`, which names the places. Refuses to open an
//! executable: the names are made in the crate that may read files.

#[cfg(any(test, feature = "testing"))]
pub mod builder;
mod error;
mod interpret;
mod kernel_names;
mod mappings;
mod maps;
mod names;
mod samples;
#[cfg(test)]
mod tests;

pub use mappings::Mappings;
pub use maps::{Module, Origin, Place};
pub use names::{Ipe, ModuleNames, Named, NamedRole, Names, SPINNING, STUB};
pub use samples::Samples;

use crate::ReadAt;
use error::CodeError;
use names::SymbolTable;
use rtscope_model::manifest::{Code, CodeSource};
use rtscope_model::{Body, CodeSample, Event, Found, LaneId, Loss, Symbols};
use std::sync::Arc;

/// Where the program's code was, in time order.
pub struct CodeStream {
    samples: Samples,
    table: SymbolTable,
    period_ns: u64,
}

impl CodeStream {
    /// Opens the streams of `code`: `sources` in the order of `code.streams`, `names` of the places, `ipe` the names
    /// that the program's own log gives its code.
    pub fn open(
        code: &Code,
        sources: Vec<Arc<dyn ReadAt>>,
        names: &Names,
        ipe: &[Ipe],
    ) -> Result<CodeStream, CodeError> {
        let samples = Samples::open(code, sources)?;
        Ok(CodeStream { samples, table: SymbolTable::new(names, ipe), period_ns: code.period_ns })
    }

    /// All names that events refer to; complete from the start.
    pub fn symbols(&self) -> &Symbols {
        &self.table.symbols
    }

    /// Losses of the streams read so far. Complete once the events are exhausted.
    pub fn losses(&self) -> Vec<Loss> {
        self.samples.losses()
    }
}

impl Iterator for CodeStream {
    type Item = Event;

    fn next(&mut self) -> Option<Event> {
        let sample = self.samples.next()?;
        let modules = self.samples.modules();
        let waits = sample.source == CodeSource::Waits;
        let leaf = match sample.leaf {
            Place::Kernel(_) => self.table.kernel(&sample.chain, waits),
            place => self.table.place(place, modules),
        };
        let user = sample.user.map(|place| self.table.place(place, modules));
        let purpose = self.table.purpose(user.unwrap_or(leaf), &sample.callers, modules);
        let what = if waits { Found::Waits } else { Found::Running { ns: self.period_ns } };
        let body = Body::Code(CodeSample { tid: sample.tid, cpu: sample.cpu, leaf, user, purpose, what });
        Some(Event { time: sample.time, lane: LaneId::NONE, body })
    }
}
