//! Exports events and pauses to the formats of other tools.
//!
//! Owns one module per format, which all implement [`Export`]. Refuses to read recordings and to open files: events
//! come one by one, bytes go to a writer.
#![forbid(unsafe_code)]

mod chrome;
mod firefox;
mod fxt;
pub mod parquet;
mod perfetto;
#[cfg(test)]
mod testing;
mod timeline;

pub use self::parquet::ParquetWriter;
pub use chrome::ChromeWriter;
pub use firefox::FirefoxWriter;
pub use fxt::FxtWriter;
pub use perfetto::PerfettoWriter;
pub use timeline::draws;

use rtscope_analyze::basis::compose::Segment;
use rtscope_analyze::lanes::timeline::Doing;
use rtscope_model::text::word;
use rtscope_model::{CausePiece, Event, LaneId, Loss, Names, Pause, Symbols};
use std::io;

/// Tables that events and causes refer to.
#[derive(Copy, Clone, Debug)]
pub struct Tables<'a> {
    /// Names of threads.
    pub kernel: &'a Names,
    /// Names that the program itself posts.
    pub user: &'a Names,
    /// Places in code.
    pub symbols: &'a Symbols,
}

/// An export in progress. Its memory is bounded, independent of the number of events.
pub trait Export {
    /// Adds the next event; events come in time order.
    ///
    /// # Errors
    /// An error from the output.
    fn event(&mut self, event: &Event, tables: Tables<'_>) -> io::Result<()>;

    /// Adds a segment of a lane, before the event that completed it.
    ///
    /// # Errors
    /// An error from the output.
    fn segment(&mut self, _lane: LaneId, _piece: &Segment<Doing>, _tables: Tables<'_>) -> io::Result<()> {
        Ok(())
    }

    /// Adds a finished pause, with the causes of its waits.
    ///
    /// # Errors
    /// An error from the output.
    fn pause(&mut self, pause: &Pause, causes: &[CausePiece], tables: Tables<'_>) -> io::Result<()>;

    /// Finishes the export with the losses that were only known at the end.
    ///
    /// # Errors
    /// An error from the output.
    fn finish(&mut self, losses: &[Loss]) -> io::Result<()>;
}

/// The process of the events and its name; 1 where it is not known.
fn program(facts: &rtscope_model::Exported) -> (u32, &str) {
    let manifest = facts.manifest.as_ref();
    let pid = facts.program_pid.or_else(|| manifest.map(|manifest| manifest.pid)).filter(|pid| *pid != 0);
    let program = manifest.and_then(|manifest| manifest.command.first()).or(facts.args.first());
    (pid.unwrap_or(1), program.and_then(|program| program.rsplit('/').next()).unwrap_or("program"))
}
