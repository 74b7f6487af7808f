//! GHC eventlogs, 7.2 to 9.14, by the sizes that each log's own header declares.
//!
//! Owns the format: header, framing, blocks, records, and the importer that turns records into
//! [`rtscope_model::Event`]. Refuses to analyse: pauses are made elsewhere. Source: the runtime's
//! `rts/eventlog/EventLog.c`, `rts/Trace.c` and `rts/Stats.c`, read at 9.0, 9.6 and 9.10.
//!
//! [`Eventlog::open`] indexes a log. [`Eventlog::stream`] returns its events in time order in bounded memory, and
//! reports what was counted and lost.

#[cfg(any(test, feature = "testing"))]
pub mod builder;
mod error;
mod eventlog;
mod fields;
mod frame;
mod growing;
mod header;
mod heap_profile;
mod import;
mod index;
mod info;
mod log;
mod pool;
mod record;
mod scan;
mod stream;
pub mod tags;
mod tally;
#[cfg(test)]
mod tests;

pub use eventlog::{Eventlog, UnflushedBlock};
pub use growing::Growing;
pub use log::EventlogFormat;
pub use tally::Tally;

#[cfg(test)]
use {
    error::EventlogError,
    frame::{Next, RecordReader},
    header::{Header, Size},
    record::{GcStats, Record},
};
