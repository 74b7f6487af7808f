//! All pauses of a recording: their sums, how their lengths are spread, and what was left for
//! the program in any window of time.

use super::sums::Sums;
use crate::pauses::mmu::Utilisation;
use crate::pauses::spectrum::Spectrum;
use crate::results::{BlamedPause, Column, Mmu, Pauses};
use rtscope_model::{PauseQuality, Time};

/// The fold.
#[derive(Default)]
pub struct Summary {
    /// What can be summed up.
    pub sums: Sums,
    spectrum: Spectrum,
    mmu: Utilisation,
}

impl Summary {
    /// The recording starts.
    pub fn start(&mut self, at: Time) {
        self.mmu.start(at);
    }

    /// Adds one pause.
    pub fn add(&mut self, blamed: &BlamedPause) {
        let pause = &blamed.pause;
        if let Some((from, to)) = self.sums.add(blamed) {
            self.mmu.add(from, to);
        }
        if pause.quality != PauseQuality::Partial {
            self.spectrum.add(pause.released.since(pause.begin()));
        }
    }

    /// Durations of whole pauses as columns.
    pub fn spectrum(&self) -> Vec<Column> {
        self.spectrum.columns()
    }

    /// The sums, and utilisation, at the end of a recording of `span_ns`.
    pub fn finish(mut self, span_ns: u64, end: Time) -> (Pauses, Vec<Mmu>) {
        let pauses = self.sums.pauses(span_ns, self.sums.stopped_ns());
        while let Some((from, to)) = self.sums.finalise() {
            self.mmu.add(from, to);
        }
        (pauses, self.mmu.finish(end))
    }
}
