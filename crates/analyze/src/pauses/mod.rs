//! Pauses: recognisers that turn a runtime's events into [`Pause`] values (one
//! file per runtime) and the sums over them. Everything behind a recogniser
//! knows no runtime.

pub mod ghc;
pub mod ocaml;
pub mod summary;
pub mod sums;
mod unfinished;
mod work;

use crate::context::Context;
use rtscope_model::{Event, LaneId, Loss, Pause, Time};

/// What turns one runtime's events into pauses.
pub trait Recognise {
    /// Takes one event; finished pauses are appended to `out`.
    fn push(&mut self, event: &Event, out: &mut Vec<Recognised>);

    /// The stream ended at `end`. Returns the loss of pauses that had only been
    /// asked for.
    fn finish(&mut self, end: Time, out: &mut Vec<Recognised>) -> Option<Loss>;

    /// First moment that an unfinished pause can still speak about.
    fn oldest(&self) -> Option<Time>;

    /// Lanes seen and not switched off.
    fn lanes_on(&self) -> usize;

    /// Lanes that the program ran with in the end, its shutdown apart.
    fn lanes_in_the_end(&self) -> usize;
}

/// The recogniser of the runtime that `context` names; GHC's where none is named.
pub fn recogniser(context: &Context) -> Box<dyn Recognise> {
    match context.runtime.family.as_deref() {
        Some("ocaml") => Box::new(ocaml::Recogniser::default()),
        _ => Box::new(ghc::Recogniser::new(context.threaded, context.generations)),
    }
}

/// A pause as a recogniser hands it over, with what blame needs beside it.
#[derive(Clone, Debug)]
pub struct Recognised {
    /// The pause; no lane has a thread yet.
    pub pause: Pause,
    /// For each lane the moments at which its own thread posted something in
    /// this pause, hence was on a CPU.
    pub marks: Vec<LaneMarks>,
}

/// Moments of one lane.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LaneMarks {
    /// Which.
    pub lane: LaneId,
    /// Events of the collection that the lane's own thread posted.
    pub collection: Vec<Time>,
    /// When its green thread stopped before the collection, if logged.
    pub stopped_green: Option<Time>,
    /// When it first ran a green thread again, if logged.
    pub ran_green: Option<Time>,
    /// The lane was asleep in a wait that the runtime posts when it was asked to stop.
    pub waited: bool,
}
