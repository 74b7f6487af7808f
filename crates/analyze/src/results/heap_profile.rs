//! The runtime's own heap profile, as a report gives it. Owns its shape.

use rtscope_model::Time;
use serde::Serialize;

/// The runtime's own heap profile.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Found {
    /// What labels stand for: "closure type", "cost centre", ….
    pub breakdown: &'static str,
    /// Whole samples.
    pub samples: u64,
    /// Samples of which only a part was seen.
    pub cut: u64,
    /// Of the largest sample, in all.
    pub max_bytes: u64,
    /// Of the last sample, in all.
    pub last_bytes: u64,
    /// The labels with the largest maximum, largest first.
    pub bands: Vec<Band>,
    /// All other labels together; null where there is nothing of them.
    pub other: Option<Rest>,
}

/// What has one label.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Band {
    /// The label.
    pub label: String,
    /// In the sample that has most of it.
    pub max_bytes: u64,
    /// In the last sample.
    pub last_bytes: u64,
    /// Samples, thinned: the same moments in every band.
    pub points: Vec<(Time, u64)>,
}

/// What no band is shown for.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Rest {
    /// How many labels that are.
    pub labels: u64,
    /// In the sample, of those shown, that has most of it.
    pub max_bytes: u64,
    /// In the last sample.
    pub last_bytes: u64,
    /// As of a band.
    pub points: Vec<(Time, u64)>,
}
