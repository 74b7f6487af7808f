//! Traces in the Fuchsia trace format (FXT): those of eio-trace, olly and magic-trace, and those of `rtscope export`.
//!
//! Owns the format's records ([`FxtReader`], [`Record`]), their conversion to [`rtscope_model::Event`] ([`Fxt`]), and
//! the table of how events are carried ([`carried`]), which the writer in `rtscope-encode` uses too. Refuses to
//! analyse. `docs/formats/fxt.md` lists what is read and written.

#[cfg(any(test, feature = "testing"))]
pub mod builder;
pub mod carried;
mod error;
mod file;
mod import;
mod lanes;
mod log;
mod reader;
mod record;
mod runtimes;
pub mod shape;
mod survey;
mod tables;
#[cfg(test)]
mod tests;
mod words;

pub use error::FxtError;
pub use file::{Fxt, FxtStream};
pub use log::FxtFormat;
pub use reader::{FxtReader, MAGIC};
pub use record::{Args, EventKind, EventRecord, OBJECT_PROCESS, OBJECT_THREAD, Record, SwitchRecord, Value, kind};
pub use survey::{FACTS, LOSSES, SYMBOLS};
pub use tables::Thread;
