//! One of the two runs that are compared.

use super::sample::Samples;
use crate::results::Results;
use rtscope_model::manifest::Manifest;

/// One run.
#[derive(Copy, Clone)]
pub struct Side<'r> {
    /// What its report says.
    pub results: &'r Results,
    /// Its pauses.
    pub samples: &'r Samples,
    /// Its manifest; `None` for a log on its own.
    pub manifest: Option<&'r Manifest>,
}
