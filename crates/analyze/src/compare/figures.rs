//! The figures that are compared: which they are, their paths in `report --json`, and the smallest change of each
//! that a person can feel.
//!
//! Owns the list and the zone of indifference: a change of less than a twentieth does not matter, and neither does
//! one below the floor of its kind. Refuses to draw or to decide.

use super::blocks::{self, Blocks, MemoryCurve, Others, PausePart, Quarter};
use crate::results::{Distribution, MemoryLevel, Results};
use serde::Serialize;

rtscope_model::listed! {
    /// Which statistic of a part.
    #[derive(Copy, Clone, Eq, PartialEq, Debug)]
    pub enum Measure: key {
        /// Its sum, per second of the run.
        Sum = "sum",
        Mean = "mean",
        P50 = "p50",
        P90 = "p90",
        P99 = "p99",
    }
}

/// A figure that is judged.
#[derive(Copy, Clone, Eq, PartialEq, Debug, Default)]
pub enum Figure {
    /// A part of all pauses.
    Of(PausePart, Measure),
    #[default]
    PausesPerSecond,
    /// Mean of a memory line over time.
    Memory(MemoryCurve),
}

/// What a figure counts.
#[derive(Copy, Clone, Eq, PartialEq, Debug, Default, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Unit {
    /// Nanoseconds in each second of the run.
    NsPerSecond,
    /// Nanoseconds per pause.
    Ns,
    /// A count per second.
    #[default]
    PerSecond,
    /// Bytes of memory.
    Bytes,
}

/// Every figure, in the order in which a reader wants them.
pub fn all() -> impl Iterator<Item = Figure> {
    let parts = PausePart::ALL.into_iter().flat_map(|part| Measure::ALL.map(|measure| Figure::Of(part, measure)));
    parts.chain([Figure::PausesPerSecond]).chain(MemoryCurve::ALL.map(Figure::Memory))
}

impl Figure {
    /// Path of keys in `report --json`.
    pub fn path(self) -> String {
        match self {
            Figure::Of(PausePart::Whole, Measure::Sum) => "pauses.total_ns".into(),
            Figure::Of(part, measure) => format!("pauses.{}.{}", part.key(), measure.key()),
            Figure::PausesPerSecond => "pauses.per_second".into(),
            Figure::Memory(line) => format!("memory.{}_bytes.mean", line.name()),
        }
    }

    /// Its unit here. Sums and counts are taken per second, so that runs of different lengths can be compared.
    pub fn unit(self) -> Unit {
        match self {
            Figure::Of(_, Measure::Sum) => Unit::NsPerSecond,
            Figure::Of(..) => Unit::Ns,
            Figure::PausesPerSecond => Unit::PerSecond,
            Figure::Memory(_) => Unit::Bytes,
        }
    }

    /// The smallest change that a person can feel; `None`: such a change is never felt by itself. A hundredth of the
    /// wall clock; a pause longer by a millisecond; 16 MiB.
    pub fn floor(self) -> Option<f64> {
        match self.unit() {
            Unit::NsPerSecond => Some(1e7),
            Unit::Ns => Some(1e6),
            Unit::PerSecond => None,
            Unit::Bytes => Some(f64::from(16 << 20)),
        }
    }

    /// The figure as a report gives it; `None` where it is not known.
    pub fn value(self, results: &Results) -> Option<f64> {
        let pauses = &results.pauses;
        if !matches!(self, Figure::Memory(_)) {
            results.runtime.family.as_ref()?;
        }
        let per_second = |ns: u64| (results.span_ns > 0).then(|| ns as f64 / (results.span_ns as f64 / 1e9));
        let of = |part: PausePart| -> &Distribution {
            match part {
                PausePart::Stop => &pauses.time_to_stop_ns,
                PausePart::Collect => &pauses.collect_ns,
                PausePart::Release => &pauses.release_ns,
                PausePart::Whole => &pauses.pause_ns,
            }
        };
        let mean = |level: Option<MemoryLevel>| level.map(|level| level.mean);
        match self {
            Figure::Of(PausePart::Whole, Measure::Sum) => per_second(pauses.total_ns),
            // A run without pauses waited 0; a run that posts no requests is unknown.
            Figure::Of(_, Measure::Sum) if pauses.count == 0 => Some(0.0),
            Figure::Of(part, Measure::Sum) => of(part).sum.filter(|_| of(part).count > 0).and_then(per_second),
            Figure::Of(part, Measure::Mean) => of(part).mean,
            Figure::Of(part, Measure::P50) => of(part).p50.map(|ns| ns as f64),
            Figure::Of(part, Measure::P90) => of(part).p90.map(|ns| ns as f64),
            Figure::Of(part, Measure::P99) => of(part).p99.map(|ns| ns as f64),
            Figure::PausesPerSecond => Some(pauses.per_second),
            Figure::Memory(MemoryCurve::Rss) => mean(results.memory.rss_bytes),
            Figure::Memory(MemoryCurve::Heap) => mean(results.memory.heap_bytes),
            Figure::Memory(MemoryCurve::Live) => mean(results.memory.live_bytes),
        }
    }

    /// Pauses that a run needs for this figure to be judged, so that a quarter of them still holds some beyond
    /// a quantile.
    pub fn pauses_needed(self) -> u64 {
        match self {
            Figure::Of(_, Measure::P99) => 400,
            Figure::Of(_, Measure::P90) => 80,
            Figure::Of(_, Measure::Mean | Measure::P50) => 20,
            _ => 0,
        }
    }

    /// The value in each of `quarters`; empty if one of them has none.
    pub fn drawn(self, run: &Blocks<'_>, results: &Results, others: Others, quarters: &[Quarter]) -> Vec<f64> {
        let of_blocks = |values: [Option<f64>; blocks::BLOCKS]| -> Vec<f64> {
            quarters.iter().filter_map(|quarter| blocks::mean(&values, quarter)).collect()
        };
        match self {
            Figure::Of(part, Measure::Sum) => of_blocks(run.per_second(part, others)),
            Figure::Of(part, Measure::Mean) => {
                let sorted = run.sorted(part, others);
                quarters.iter().filter_map(|quarter| blocks::mean_length(&sorted, quarter)).collect()
            }
            Figure::Of(part, Measure::P50) => quantile(run, part, others, quarters, 0.5),
            Figure::Of(part, Measure::P90) => quantile(run, part, others, quarters, 0.9),
            Figure::Of(part, Measure::P99) => quantile(run, part, others, quarters, 0.99),
            Figure::PausesPerSecond => of_blocks(run.pauses_per_second()),
            Figure::Memory(line) => of_blocks(run.level(results, line)),
        }
    }
}

fn quantile(run: &Blocks<'_>, part: PausePart, others: Others, quarters: &[Quarter], at: f64) -> Vec<f64> {
    let sorted = run.sorted(part, others);
    let one = |quarter: &Quarter| blocks::quantile(&sorted, quarter, at);
    quarters.iter().filter_map(one).collect()
}
