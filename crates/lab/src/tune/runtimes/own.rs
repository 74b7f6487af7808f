//! What a runtime must provide for figures of its own.

use crate::tune::measure::Figures;
use rtscope_host::trial::Job;
use rtscope_model::RuntimeInfo;
use std::path::Path;

/// Figures that a runtime counts itself.
#[derive(Debug)]
pub struct OwnFigures {
    /// The runtime.
    pub info: &'static RuntimeInfo,
    /// Adds the request for figures, into a file, to a job. Errors: why that is impossible, in words.
    pub ask: fn(&Job, &Path) -> Result<Job, String>,
    /// Reads what the runtime wrote, including `time_ns`, and removes the file. Errors: why there is nothing.
    pub take: fn(&Path) -> Result<Figures, String>,
    /// Its message when it refuses flags, from a program's last output.
    pub refusal: fn(&str) -> Option<&str>,
}
