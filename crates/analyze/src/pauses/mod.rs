//! Pauses: what a recogniser of a runtime's events produces, and the sums over it. A recogniser itself lives in the
//! folder of its runtime; no runtime is known here.

pub(crate) mod held_up;
pub(crate) mod mmu;
pub(crate) mod spectrum;
pub(crate) mod still;
pub mod summary;
pub(crate) mod sums;
pub(crate) mod unfinished;
pub(crate) mod work;

use crate::kernel::lane_thread::LaneMarks;
use rtscope_model::{Event, Loss, Pause, Time};

/// What turns one runtime's events into pauses.
pub trait Recognise {
    /// Takes one event; finished pauses are appended to `out`.
    fn push(&mut self, event: &Event, out: &mut Vec<Recognised>);

    /// Ends the stream at `end`. Returns the loss of pauses that had only been requested.
    fn finish(&mut self, end: Time, out: &mut Vec<Recognised>) -> Option<Loss>;

    /// First moment that an unfinished pause can still affect.
    fn oldest(&self) -> Option<Time>;

    /// Lanes seen and not switched off.
    fn lanes_on(&self) -> usize;

    /// Lanes that the program ran with at the end, before its shutdown.
    fn lanes_in_the_end(&self) -> usize;
}

/// Recognises nothing: the recogniser of an unknown runtime.
pub(crate) struct Nothing;

impl Recognise for Nothing {
    fn push(&mut self, _: &Event, _: &mut Vec<Recognised>) {}

    fn finish(&mut self, _: Time, _: &mut Vec<Recognised>) -> Option<Loss> {
        None
    }

    fn oldest(&self) -> Option<Time> {
        None
    }

    fn lanes_on(&self) -> usize {
        0
    }

    fn lanes_in_the_end(&self) -> usize {
        0
    }
}

/// A pause as a recogniser produces it, with what blame needs in addition.
#[derive(Clone, Debug)]
pub struct Recognised {
    /// The pause; no lane has a thread yet.
    pub pause: Pause,
    /// For each lane the moments at which its own thread posted an event of this pause and so was on a CPU.
    pub marks: Vec<LaneMarks>,
}
