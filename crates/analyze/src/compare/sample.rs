//! What a comparison keeps of a run in addition to its results: a sample of its pauses and sums over slices of time.
//!
//! Owns what is kept and its bounds: [`PAUSES_MAX`] pauses, each equally likely (reservoir sampling, Vitter 1985),
//! and [`SLICES_MAX`] slices, which double their width for longer runs. Pauses that a loss touches are left out, as
//! in distributions. Refuses to judge.

use crate::results::slices::{Join, Slices};
use crate::results::{BlamedPause, Results};
use rtscope_model::chance::Chance;
use rtscope_model::manifest::Manifest;
use rtscope_model::{Cause, PauseQuality, Time};

const PAUSES_MAX: usize = 4_096;
const SLICES_MAX: usize = 1_024;
const WIDTH_NS: u64 = 1_000_000;
const SEED: u64 = 0x005e_ed0f_9a05_e500;

/// One of the runs that are compared.
#[derive(Copy, Clone)]
pub struct Side<'r> {
    /// The results of its report.
    pub results: &'r Results,
    /// The sample of its pauses.
    pub samples: &'r Samples,
    /// Its manifest; `None` for a log on its own.
    pub manifest: Option<&'r Manifest>,
}

/// One pause, with the lengths of its parts.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct PauseSample {
    /// Its first moment.
    pub begin: Time,
    /// Its request was posted, so its time to stop is known.
    pub requested: bool,
    /// The sums of this pause alone.
    pub of: SliceSums,
}

/// Time in which another thread had the awaited CPU, nanoseconds.
#[derive(Copy, Clone, Default, PartialEq, Eq, Debug)]
pub struct Taken {
    /// Taken by another process, or by the host.
    pub by_others_ns: u64,
    /// Taken by another thread of the program.
    pub by_siblings_ns: u64,
}

impl Taken {
    /// What is left of `ns` without it. Pieces do not overlap, but results that contradict themselves must
    /// not underflow.
    pub fn left(self, ns: u64, with_siblings: bool) -> u64 {
        let siblings = if with_siblings { self.by_siblings_ns } else { 0 };
        ns.saturating_sub(self.by_others_ns).saturating_sub(siblings)
    }

    fn add(&mut self, other: Taken) {
        self.by_others_ns = self.by_others_ns.saturating_add(other.by_others_ns);
        self.by_siblings_ns = self.by_siblings_ns.saturating_add(other.by_siblings_ns);
    }
}

/// Sums over one slice of time, to which a pause belongs by its start.
#[derive(Copy, Clone, Default, PartialEq, Eq, Debug)]
pub struct SliceSums {
    /// Number of pauses.
    pub count: u64,
    /// Sum of times to stop, nanoseconds.
    pub stop_ns: u64,
    /// Sum of collect phases, nanoseconds.
    pub collect_ns: u64,
    /// Sum of releases, nanoseconds.
    pub release_ns: u64,
    /// What was taken of the stops.
    pub stop_taken: Taken,
    /// What was taken of the releases.
    pub release_taken: Taken,
}

impl Join for SliceSums {
    fn join(&mut self, other: &SliceSums) {
        self.count += other.count;
        self.stop_ns = self.stop_ns.saturating_add(other.stop_ns);
        self.collect_ns = self.collect_ns.saturating_add(other.collect_ns);
        self.release_ns = self.release_ns.saturating_add(other.release_ns);
        self.stop_taken.add(other.stop_taken);
        self.release_taken.add(other.release_taken);
    }
}

/// The fold: call [`Samples::add`] for each pause, in order.
#[derive(Clone, Debug)]
pub struct Samples {
    /// The pauses that are kept.
    pub pauses: Vec<PauseSample>,
    /// How many pauses there were.
    pub seen: u64,
    chance: Chance,
    origin: Option<Time>,
    slices: Slices<SliceSums, SLICES_MAX, WIDTH_NS>,
}

impl Default for Samples {
    fn default() -> Self {
        let (pauses, chance, slices) = (Vec::new(), Chance::new(SEED), Slices::default());
        Samples { pauses, seen: 0, chance, origin: None, slices }
    }
}

impl Samples {
    /// Adds one pause.
    pub fn add(&mut self, blamed: &BlamedPause) {
        let pause = &blamed.pause;
        if pause.quality == PauseQuality::Partial {
            return;
        }
        self.keep(sample(blamed));
    }

    fn keep(&mut self, sample: PauseSample) {
        self.slice(&sample);
        self.seen += 1;
        if self.pauses.len() < PAUSES_MAX {
            self.pauses.push(sample);
            return;
        }
        let place = self.chance.below(self.seen) as usize;
        if let Some(kept) = self.pauses.get_mut(place) {
            *kept = sample;
        }
    }

    /// The middle of each slice, and its sums.
    pub fn slices(&self) -> impl Iterator<Item = (Time, &SliceSums)> {
        let origin = self.origin.unwrap_or_default();
        let half_ns = self.slices.width_ns / 2;
        self.slices.all().map(move |(from, sums)| (origin.plus(from.saturating_add(half_ns)), sums))
    }

    fn slice(&mut self, sample: &PauseSample) {
        let origin = *self.origin.get_or_insert(sample.begin);
        let Some(sums) = self.slices.until(sample.begin.since(origin)).last_mut() else { return };
        sums.join(&sample.of);
    }
}

fn sample(blamed: &BlamedPause) -> PauseSample {
    let pause = &blamed.pause;
    let of = SliceSums {
        count: 1,
        stop_ns: pause.time_to_stop_ns().unwrap_or(0),
        collect_ns: pause.collect_ns(),
        release_ns: pause.release_ns(),
        stop_taken: taken(blamed, pause.begin(), pause.stopped),
        release_taken: taken(blamed, pause.collected, pause.released),
    };
    PauseSample { begin: pause.begin(), requested: pause.requested.is_some(), of }
}

/// What was taken within an interval.
fn taken(blamed: &BlamedPause, from: Time, to: Time) -> Taken {
    let mut taken = Taken::default();
    for piece in &blamed.causes {
        let ns = piece.to.min(to).since(piece.from.max(from));
        let sum = match piece.cause {
            Cause::Preempted | Cause::HostSteal => &mut taken.by_others_ns,
            Cause::WakeLatency if piece.who.is_some() => &mut taken.by_others_ns,
            Cause::Oversubscribed => &mut taken.by_siblings_ns,
            _ => continue,
        };
        *sum = sum.saturating_add(ns);
    }
    taken
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slices_double_and_lose_nothing() {
        let mut samples = Samples::default();
        for number in 0..10_000u64 {
            let begin = Time(5_000_000_000 + number * 3_000_000);
            let of = SliceSums {
                count: 1,
                stop_ns: 1,
                collect_ns: 2,
                release_ns: 3,
                stop_taken: Taken { by_others_ns: 1, by_siblings_ns: 0 },
                release_taken: Taken::default(),
            };
            let sample = PauseSample { begin, requested: true, of };
            samples.keep(sample);
        }
        let mut all = SliceSums::default();
        samples.slices().for_each(|(_, sums)| all.join(sums));
        assert_eq!((all.count, all.stop_ns, all.collect_ns, all.release_ns), (10_000, 10_000, 20_000, 30_000));
        assert_eq!(all.stop_taken.by_others_ns, 10_000);
        assert!(samples.slices.all().count() <= SLICES_MAX);
        assert_eq!((samples.pauses.len(), samples.seen), (PAUSES_MAX, 10_000));
        // A fair sample of a long run reaches its end.
        let late = samples.pauses.iter().filter(|pause| pause.begin > Time(20_000_000_000)).count();
        assert!(late.abs_diff(PAUSES_MAX / 2) < PAUSES_MAX / 10, "{late}");
    }

    #[test]
    fn what_was_taken_never_leaves_less_than_nothing() {
        let taken = Taken { by_others_ns: 7, by_siblings_ns: 5 };
        assert_eq!((taken.left(20, false), taken.left(20, true), taken.left(3, true)), (13, 8, 0));
    }
}
