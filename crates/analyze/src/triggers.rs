//! Why collections were asked for: what had been allocated since the last one, whether
//! the program was idle, and with what period the unexplained ones came.

use crate::results::BlamedPause;
use rtscope_model::Event;

/// The fold.
#[derive(Default)]
pub struct Triggers {}

impl Triggers {
    /// Takes one event of the runtime.
    pub fn push(&mut self, _event: &Event) {}

    /// Adds one pause; all events of it were pushed before.
    pub fn add(&mut self, _blamed: &BlamedPause) {}
}
