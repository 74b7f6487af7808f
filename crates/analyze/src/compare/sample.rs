//! What a comparison keeps of a run beside its results: a sample of its pauses
//! and sums over slices of time.
//!
//! Owns what is kept and its bounds: [`PAUSES_MAX`] pauses, each as likely as any
//! other (reservoir sampling, Vitter 1985), and [`SLICES_MAX`] slices, which
//! double their width when the run is longer. Pauses that a loss touches are left
//! out, as they are of distributions. Refuses to judge.

use super::chance::Chance;
use crate::results::BlamedPause;
use rtscope_model::{Cause, CausePiece, Pause, PauseQuality, Time};

/// Pauses kept.
const PAUSES_MAX: usize = 4_096;
/// Slices of time, at most.
const SLICES_MAX: usize = 1_024;
/// First width of a slice, nanoseconds.
const WIDTH_NS: u64 = 1_000_000;
const SEED: u64 = 0x005e_ed0f_9a05_e500;

/// One pause, as long as its parts were.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct PauseSample {
    /// First moment.
    pub begin: Time,
    /// Request to last lane stopped; `None` where no request was posted.
    pub stop_ns: Option<u64>,
    /// All stopped to work done.
    pub collect_ns: u64,
    /// Work done to last lane back.
    pub release_ns: u64,
    /// Of the stop, while another process or the host had the CPU that was waited for.
    pub stop_by_others_ns: u64,
    /// The same of the release.
    pub release_by_others_ns: u64,
}

/// Sums over one slice of time, by the begin of a pause.
#[derive(Copy, Clone, Default, PartialEq, Eq, Debug)]
pub struct Sums {
    /// Pauses.
    pub count: u64,
    /// Sum of times to stop.
    pub stop_ns: u64,
    /// Sum of collecting.
    pub collect_ns: u64,
    /// Sum of releases.
    pub release_ns: u64,
    /// Of the stops, while others had the CPU.
    pub stop_by_others_ns: u64,
    /// The same of the releases.
    pub release_by_others_ns: u64,
}

impl Sums {
    /// Adds another slice.
    pub fn add(&mut self, other: &Sums) {
        self.count += other.count;
        self.stop_ns = self.stop_ns.saturating_add(other.stop_ns);
        self.collect_ns = self.collect_ns.saturating_add(other.collect_ns);
        self.release_ns = self.release_ns.saturating_add(other.release_ns);
        self.stop_by_others_ns = self.stop_by_others_ns.saturating_add(other.stop_by_others_ns);
        self.release_by_others_ns = self.release_by_others_ns.saturating_add(other.release_by_others_ns);
    }
}

/// The fold: call [`Samples::add`] for each pause, in order.
#[derive(Clone, Debug)]
pub struct Samples {
    pauses: Vec<PauseSample>,
    seen: u64,
    chance: Chance,
    origin: Option<Time>,
    width_ns: u64,
    slices: Vec<Sums>,
}

impl Default for Samples {
    fn default() -> Self {
        Samples {
            pauses: Vec::new(),
            seen: 0,
            chance: Chance::new(SEED),
            origin: None,
            width_ns: WIDTH_NS,
            slices: Vec::new(),
        }
    }
}

impl Samples {
    /// Adds one pause.
    pub fn add(&mut self, blamed: &BlamedPause) {
        let pause = &blamed.pause;
        if pause.quality == PauseQuality::Partial {
            return;
        }
        let sample = sample(blamed);
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

    /// The pauses that were kept, in no order.
    pub fn pauses(&self) -> &[PauseSample] {
        &self.pauses
    }

    /// Pauses seen whole.
    pub fn seen(&self) -> u64 {
        self.seen
    }

    /// The middle of each slice, and its sums.
    pub fn slices(&self) -> impl Iterator<Item = (Time, &Sums)> {
        let origin = self.origin.unwrap_or_default();
        let middle = move |index: usize| origin.plus(self.width_ns.saturating_mul(index as u64).saturating_add(self.width_ns / 2));
        self.slices.iter().enumerate().map(move |(index, sums)| (middle(index), sums))
    }

    fn slice(&mut self, sample: &PauseSample) {
        let origin = *self.origin.get_or_insert(sample.begin);
        let since = sample.begin.since(origin);
        while since / self.width_ns >= SLICES_MAX as u64 {
            self.double();
        }
        let index = (since / self.width_ns) as usize;
        if self.slices.len() <= index {
            self.slices.resize(index + 1, Sums::default());
        }
        let Some(sums) = self.slices.get_mut(index) else { return };
        sums.add(&Sums {
            count: 1,
            stop_ns: sample.stop_ns.unwrap_or(0),
            collect_ns: sample.collect_ns,
            release_ns: sample.release_ns,
            stop_by_others_ns: sample.stop_by_others_ns,
            release_by_others_ns: sample.release_by_others_ns,
        });
    }

    fn double(&mut self) {
        self.width_ns = self.width_ns.saturating_mul(2);
        let join = |pair: &[Sums]| {
            pair.iter().fold(Sums::default(), |mut joined, sums| {
                joined.add(sums);
                joined
            })
        };
        self.slices = self.slices.chunks(2).map(join).collect();
    }
}

fn sample(blamed: &BlamedPause) -> PauseSample {
    let pause = &blamed.pause;
    let by_others = blamed.causes.iter().filter(|piece| others(piece));
    let (mut stop_by_others_ns, mut release_by_others_ns) = (0, 0);
    for piece in by_others {
        stop_by_others_ns += within(piece, pause.begin(), pause.stopped);
        release_by_others_ns += within(piece, pause.collected, pause.released);
    }
    let stop_ns = pause.time_to_stop_ns();
    PauseSample {
        begin: pause.begin(),
        stop_ns,
        collect_ns: pause.collect_ns(),
        release_ns: pause.release_ns(),
        // Pieces do not overlap, but a result that contradicts itself must not underflow.
        stop_by_others_ns: stop_by_others_ns.min(stop_ns.unwrap_or(0)),
        release_by_others_ns: release_by_others_ns.min(Pause::release_ns(pause)),
    }
}

/// Whether another process, or the host, had the CPU that was waited for.
fn others(piece: &CausePiece) -> bool {
    match piece.cause {
        Cause::Preempted | Cause::HostSteal => true,
        Cause::WakeLatency => piece.who.is_some(),
        _ => false,
    }
}

fn within(piece: &CausePiece, from: Time, to: Time) -> u64 {
    piece.to.min(to).since(piece.from.max(from))
}
