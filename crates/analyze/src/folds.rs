//! Folds: one per figure. Owns the trait and the list that an analysis holds; an event goes only to the folds that
//! asked for its class. A new figure is a fold, a place in [`Results`], and the code that shows it.
//!
//! Refuses to order folds by need: no fold sees another before the end. There, a result may build on those earlier in
//! the list.

use crate::kernel::code::CodeSamples;
use crate::kernel::lane_thread::{LaneMarks, LaneThreads};
use crate::kernel::sched::Tracks;
use crate::recording::{Context, Tail};
use crate::results::{BlamedPause, Results};
use rtscope_model::{Class, Classes, Event, LaneId, Names, Runtime, Tid, Time};
use std::any::Any;

/// What a fold may look up when an event of the runtime arrives.
pub struct Now<'a> {
    /// What the kernel reported about threads.
    pub tracks: &'a Tracks,
    /// Which threads serve a lane.
    pub threads: &'a dyn LaneThreads,
}

/// What a fold may look up when a pause is over.
pub struct Past<'a> {
    /// See [`Now::tracks`]; `None` where the kernel's events cannot be used.
    pub tracks: Option<&'a Tracks>,
    /// See [`Now`].
    pub now: Now<'a>,
    /// What the pause's lanes posted.
    pub marks: &'a [LaneMarks],
    /// The names that kernel events refer to.
    pub names: &'a Names,
}

/// What is known when the stream is over.
pub struct End<'a> {
    /// What is known of the recording as a whole.
    pub context: &'a Context,
    /// What its reader reported at the end.
    pub tail: &'a Tail,
    /// The last moment of the recording.
    pub end: Time,
    /// Wall-clock time covered, nanoseconds.
    pub span_ns: u64,
    /// Whether any event of the runtime was seen.
    pub logged: bool,
    /// Whether the kernel's events were used.
    pub kernel: bool,
    /// Where the code was; `None`: not sampled.
    pub code: Option<&'a CodeSamples>,
}

/// A wait of a lane that the runtime does not post; a fold found it.
#[derive(Copy, Clone, Eq, PartialEq, Debug)]
pub struct Wait {
    /// The lane that waited.
    pub lane: LaneId,
    /// Start of the wait.
    pub from: Time,
    /// End of the wait.
    pub to: Time,
    /// Inferred, not posted: the lane's line does not show it.
    pub inferred: bool,
}

/// What a lane did outside pauses other than run the program, nanoseconds.
#[derive(Clone, Debug, Default)]
pub struct Outside {
    /// Time that it waited to become leader.
    pub leadership_ns: u64,
    /// The part of it that was spent on a CPU.
    pub leadership_ran_ns: u64,
    /// Whether the wait is inferred.
    pub inferred: bool,
    /// Slices of work on the major heap; `None`: there were none.
    pub slice_ns: Option<u64>,
}

/// A fold over one recording.
pub trait Fold: Any {
    /// Classes of runtime events that it takes.
    fn classes(&self) -> Classes {
        Classes::NONE
    }

    /// Whether it takes the recorder's samples.
    fn samples(&self) -> bool {
        false
    }

    /// The recording begins.
    fn start(&mut self, _at: Time) {}

    /// An event of [`Fold::classes`], or a sample.
    fn event(&mut self, _event: &Event) {}

    /// Whether it also gets events through [`Fold::event_now`].
    fn looks_up(&self) -> bool {
        false
    }

    /// Like [`Fold::event`], for a fold that has to look something up. Returns the wait to lead that the event ends.
    fn event_now(&mut self, _event: &Event, _now: &Now<'_>) -> Option<Wait> {
        None
    }

    /// `by`, a thread of the program, forked the process.
    fn forked(&mut self, _by: Tid, _at: Time) {}

    /// A pause with its causes; every event up to its end was taken before.
    fn pause(&mut self, _pause: &BlamedPause, _past: &Past<'_>) {}

    /// What `lane` did outside pauses, if this fold knows.
    fn outside(&self, _lane: LaneId) -> Option<Outside> {
        None
    }

    /// CPU time outside pauses that lanes spent on waiting to lead, nanoseconds.
    fn led_ns(&self) -> u64 {
        0
    }

    /// Writes its figures into the results.
    fn result(&mut self, _end: &End<'_>, _results: &mut Results) {}
}

/// The folds of one analysis.
pub struct Folds {
    list: Vec<Box<dyn Fold>>,
    /// Indices into the list, by class.
    by_class: [Vec<usize>; Class::ALL.len()],
    samples: Vec<usize>,
    /// Indices of the folds that look something up, by class. The others do not have to answer each event.
    look_up: [Vec<usize>; Class::ALL.len()],
}

impl Folds {
    /// The folds of `list`, in this order.
    pub fn new(list: Vec<Box<dyn Fold>>) -> Folds {
        let of = |takes: &dyn Fn(&dyn Fold) -> bool| {
            (0..).zip(&list).filter(|(_, fold)| takes(fold.as_ref())).map(|(place, _)| place).collect()
        };
        let by_class = Class::ALL.map(|class| of(&|fold| fold.classes().takes(class)));
        let samples = of(&|fold| fold.samples());
        let look_up = Class::ALL.map(|class| of(&|fold| fold.looks_up() && fold.classes().takes(class)));
        Folds { by_class, samples, look_up, list }
    }

    /// Keeps only the folds that find waits of lanes: pauses and lane lines need no others.
    pub fn only_waits(&mut self) {
        self.list.retain(|fold| fold.looks_up());
        *self = Folds::new(std::mem::take(&mut self.list));
    }

    /// The fold of type `T`, if the list has it.
    pub fn get<T: Fold>(&self) -> Option<&T> {
        self.list.iter().find_map(|fold| (fold.as_ref() as &dyn Any).downcast_ref())
    }

    /// Calls `does` with every fold.
    pub fn each(&mut self, mut does: impl FnMut(&mut dyn Fold)) {
        self.list.iter_mut().for_each(|fold| does(fold.as_mut()));
    }

    /// Hands an event of the runtime to the folds that asked for its class.
    #[inline]
    pub fn runtime(&mut self, event: &Event, body: Runtime, now: &Now<'_>) -> Option<Wait> {
        let class = body.class() as usize;
        for place in &self.by_class[class] {
            self.list[*place].event(event);
        }
        self.look_up[class].iter().fold(None, |wait, place| self.list[*place].event_now(event, now).or(wait))
    }

    /// Hands a sample to the folds that take samples.
    pub fn sample(&mut self, event: &Event) {
        for place in &self.samples {
            self.list[*place].event(event);
        }
    }

    /// See [`Fold::outside`].
    pub fn outside(&self, lane: LaneId) -> Outside {
        self.list.iter().find_map(|fold| fold.outside(lane)).unwrap_or_default()
    }

    /// See [`Fold::led_ns`].
    pub fn led_ns(&self) -> u64 {
        self.list.iter().map(|fold| fold.led_ns()).sum()
    }
}
