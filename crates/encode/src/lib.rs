//! Events and pauses to the formats of other tools.
//!
//! Owns one module for each format, all behind [`Export`]. Refuses to read recordings and
//! to open files: events come one by one, bytes go to a writer.
#![forbid(unsafe_code)]

pub mod fxt;

pub use fxt::FxtWriter;

use rtscope_model::{CausePiece, Event, Loss, Names, Pause, Symbols};
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
