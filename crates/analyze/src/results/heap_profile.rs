//! The runtime's own heap profile, as a report shows it. Owns its shape.

use rtscope_model::Time;
use serde::Serialize;

/// The runtime's own heap profile.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ProfileSummary {
    /// What labels stand for: "closure type", "cost centre", ….
    pub breakdown: &'static str,
    /// Number of whole samples.
    pub samples: u64,
    /// Number of samples that were only partly seen.
    pub cut: u64,
    /// Total of the largest sample, bytes.
    pub max_bytes: u64,
    /// Total of the last sample, bytes.
    pub last_bytes: u64,
    /// The labels with the largest maximum, largest first.
    pub bands: Vec<Band>,
    /// All other labels together; null if there are none.
    pub other: Option<Rest>,
}

/// The bytes of one label.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Band {
    /// Name of the label.
    pub label: String,
    /// Bytes in the sample with the most of it.
    pub max_bytes: u64,
    /// Bytes in the last sample.
    pub last_bytes: u64,
    /// Bytes at samples, thinned: at the same moments in every band.
    pub points: Vec<(Time, u64)>,
}

/// Everything without a band.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Rest {
    /// Number of labels.
    pub labels: u64,
    /// Bytes in the sample with the most of it, among those shown.
    pub max_bytes: u64,
    /// Bytes in the last sample.
    pub last_bytes: u64,
    /// Points as in a band.
    pub points: Vec<(Time, u64)>,
}
