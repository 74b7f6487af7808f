//! All pauses of a recording: their sums, the distribution of their lengths, and the time left for the program in
//! any window.

use super::sums::PauseSums;
use crate::pauses::mmu::Utilisation;
use crate::pauses::spectrum::Spectrum;
use crate::results::dist::Quantiles;
use crate::results::{BlamedPause, Column, Mmu, Pauses};
use rtscope_model::{PauseQuality, Time};

/// The fold over pauses.
pub struct Summary {
    /// The sums over all pauses.
    pub sums: PauseSums,
    spread: Option<Spread>,
}

/// What needs each pause's position in the run and its length.
#[derive(Default)]
struct Spread {
    spectrum: Spectrum,
    mmu: Utilisation,
}

impl Default for Summary {
    fn default() -> Self {
        Summary { sums: PauseSums::default(), spread: Some(Spread::default()) }
    }
}

impl Summary {
    /// Keeps sums only: lengths and utilisation stay unknown.
    pub fn only_sums() -> Summary {
        Summary { sums: PauseSums::with(Quantiles::Unknown), spread: None }
    }

    /// The recording starts.
    pub fn start(&mut self, at: Time) {
        if let Some(spread) = &mut self.spread {
            spread.mmu.start(at);
        }
    }

    /// Adds one pause with its causes.
    pub fn add(&mut self, blamed: &BlamedPause) {
        let pause = &blamed.pause;
        let stopped = self.sums.add(blamed);
        let Some(spread) = &mut self.spread else { return };
        if let Some((from, to)) = stopped {
            spread.mmu.add(from, to);
        }
        if pause.quality != PauseQuality::Partial {
            spread.spectrum.add(pause.released.since(pause.begin()));
        }
    }

    /// Durations of whole pauses in columns.
    pub fn spectrum(&self) -> Vec<Column> {
        self.spread.as_ref().map_or_else(Vec::new, |spread| spread.spectrum.columns())
    }

    /// The sums, and utilisation, at the end of a recording of `span_ns`.
    pub fn finish(mut self, span_ns: u64, end: Time) -> (Pauses, Vec<Mmu>) {
        let pauses = self.sums.pauses(span_ns, self.sums.stopped_ns());
        let Some(Spread { mut mmu, .. }) = self.spread else { return (pauses, Vec::new()) };
        while let Some((from, to)) = self.sums.union.finalise() {
            mmu.add(from, to);
        }
        (pauses, mmu.finish(end))
    }
}
