//! A request as it is kept while all are read.

use rtscope_model::Time;
use rtscope_model::request::Outcome;

/// A request as it is kept.
#[derive(Copy, Clone, Debug)]
pub struct Owed {
    pub due: Time,
    pub took_us: u32,
    /// `u32::MAX`: never.
    pub sent_us: u32,
    pub outcome: Outcome,
    /// Figures are of it.
    pub counts: bool,
}

impl Owed {
    /// When it was answered.
    pub fn done(&self) -> Time {
        self.due.plus(self.took_ns())
    }

    /// How long that took.
    pub fn took_ns(&self) -> u64 {
        u64::from(self.took_us) * 1_000
    }
}
