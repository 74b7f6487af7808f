//! Green threads: how many, how long they ran, what they waited for, where the log has
//! them (`--detail full`). Owns those sums.

use rtscope_model::Event;

/// The fold.
#[derive(Default)]
pub struct GreenThreads {}

impl GreenThreads {
    /// Takes one event of the runtime.
    pub fn push(&mut self, _event: &Event) {}
}
