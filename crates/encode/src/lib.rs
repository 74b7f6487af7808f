//! Events and pauses to the formats of other tools.
//!
//! Owns one module for each format, all behind [`Export`]. Refuses to read recordings and
//! to open files: events come one by one, bytes go to a writer.
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

/// What events and causes refer to.
#[derive(Copy, Clone, Debug)]
pub struct Tables<'a> {
    /// Names of threads.
    pub kernel: &'a Names,
    /// Names of what the program itself posts.
    pub user: &'a Names,
    /// Places in code.
    pub symbols: &'a Symbols,
}

/// An export that is being written. Memory stays bounded whatever the number of events.
pub trait Export {
    /// Takes the next event; they come in time order.
    ///
    /// # Errors
    /// What writing gives.
    fn event(&mut self, event: &Event, tables: Tables<'_>) -> io::Result<()>;

    /// Takes what became known of a lane, before the event with which it did.
    ///
    /// # Errors
    /// What writing gives.
    fn segment(&mut self, _lane: LaneId, _piece: &Segment<Doing>, _tables: Tables<'_>) -> io::Result<()> {
        Ok(())
    }

    /// Takes a pause that is over, with the causes of its waits.
    ///
    /// # Errors
    /// What writing gives.
    fn pause(&mut self, pause: &Pause, causes: &[CausePiece], tables: Tables<'_>) -> io::Result<()>;

    /// Ends it with the losses that were known at the end only.
    ///
    /// # Errors
    /// What writing gives.
    fn finish(&mut self, losses: &[Loss]) -> io::Result<()>;
}

/// The process that the events are of, 1 where it is not known, and its name.
fn program(facts: &rtscope_model::Exported) -> (u32, &str) {
    let manifest = facts.manifest.as_ref();
    let pid = facts.program_pid.or_else(|| manifest.map(|manifest| manifest.pid)).filter(|pid| *pid != 0);
    let program = manifest.and_then(|manifest| manifest.command.first()).or(facts.args.first());
    (pid.unwrap_or(1), program.and_then(|program| program.rsplit('/').next()).unwrap_or("program"))
}
