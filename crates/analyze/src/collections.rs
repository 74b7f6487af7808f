//! What collections were like: time, bytes copied, threads that worked, by generation.
//! Owns the sums that rules about the collector's configuration ask for.

use crate::results::BlamedPause;

/// The fold.
#[derive(Default)]
pub struct Collections {}

impl Collections {
    /// Adds one pause.
    pub fn add(&mut self, _blamed: &BlamedPause) {}
}
