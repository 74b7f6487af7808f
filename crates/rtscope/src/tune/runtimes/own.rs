//! What a runtime has to say for figures of its own.

use crate::tune::measure::Figures;
use rtscope_host::trial::Job;
use rtscope_model::RuntimeInfo;
use std::path::Path;

/// Figures that a runtime counts itself.
#[derive(Debug)]
pub struct OwnFigures {
    /// The runtime.
    pub info: &'static RuntimeInfo,
    /// The job with the figures asked for, into a file. Errors: why they are not, in words.
    pub ask: fn(&Job, &Path) -> Result<Job, String>,
    /// What the runtime wrote, `time_ns` among it; the file is removed. Errors: why there is nothing.
    pub take: fn(&Path) -> Result<Figures, String>,
    /// What it says when it refuses flags, from what a program said at last.
    pub refusal: fn(&str) -> Option<&str>,
}
