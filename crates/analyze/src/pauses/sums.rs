//! Sums over pauses that can be merged: those of a second, of a window, of a whole recording. Partial pauses are
//! counted and are part of the union; they stay out of distributions, generations, stragglers and causes. Bounded:
//! see the constants.

use crate::basis::union::Union;
use crate::kernel::code::called;
use crate::results::dist::{Dist, Quantiles};
use crate::results::{BlamedPause, CauseSum, Generation, HeldUpSum, Pauses, Straggler};
use rtscope_model::{Cause, CausePiece, Confidence, NameId, Names, PauseQuality, SymbolId, Symbols, Time};
use std::collections::BTreeMap;

/// Generations that are distinguished; more is not a GHC heap.
const GENERATIONS_MAX: usize = 32;
/// Pairs of cause and name that are distinguished; the second bound applies where there are many sums.
const CAUSES_MAX: usize = 1_024;
const CAUSES_MAX_COARSE: usize = 256;
/// Places in the code that are distinguished for one cause.
const CODES_MAX: usize = 256;

/// A cause, and the process that took the CPU.
type Key = (Cause, Option<NameId>);

/// One cause summed up, with its longest piece.
#[derive(Clone, Debug)]
pub struct CauseTotal {
    pub ns: u64,
    pub count: u64,
    pub longest: CausePiece,
    /// Lowest confidence among the pieces of the sum.
    pub confidence: Confidence,
    /// Where the code was, nanoseconds of the pieces for which that is known.
    pub codes: BTreeMap<SymbolId, u64>,
}

impl CauseTotal {
    fn of(piece: &CausePiece) -> CauseTotal {
        let codes = piece.code.map(|code| (code, piece.ns())).into_iter().collect();
        CauseTotal { ns: piece.ns(), count: 1, longest: *piece, confidence: piece.confidence, codes }
    }

    /// Adds the sums of another total; of two equally long pieces the first one stays.
    fn merge(&mut self, other: &CauseTotal) {
        self.ns += other.ns;
        self.count += other.count;
        self.confidence = self.confidence.min(other.confidence);
        if self.longest.ns() < other.longest.ns() {
            self.longest = other.longest;
        }
        self.add_codes(&other.codes);
    }

    /// The place at which the code was longest.
    pub fn code(&self) -> Option<SymbolId> {
        self.codes.iter().max_by_key(|(id, ns)| (**ns, std::cmp::Reverse(**id))).map(|(id, _)| *id)
    }

    fn add_codes(&mut self, codes: &BTreeMap<SymbolId, u64>) {
        for (code, ns) in codes {
            if self.codes.len() < CODES_MAX || self.codes.contains_key(code) {
                *self.codes.entry(*code).or_default() += ns;
            }
        }
    }
}

#[derive(Default)]
struct OneGeneration {
    count: u64,
    collect: Dist,
    copied_bytes: u64,
}

impl OneGeneration {
    fn merge(&mut self, other: &OneGeneration) {
        self.count += other.count;
        self.collect.merge(&other.collect);
        self.copied_bytes = self.copied_bytes.saturating_add(other.copied_bytes);
    }
}

#[derive(Default)]
pub struct PauseSums {
    quantiles: Quantiles,
    /// Number of pauses so far.
    pub count: u64,
    partial: u64,
    stop: Dist,
    collect: Dist,
    release: Dist,
    whole: Dist,
    generations: BTreeMap<u16, OneGeneration>,
    pub union: Union,
    /// Lanes that stopped last: how often, and how long the world waited for them.
    stragglers: BTreeMap<u16, (u64, u64)>,
    /// Lanes that held pauses up: how many pauses, and for how long.
    held_up: BTreeMap<u16, (u64, u64)>,
    causes: BTreeMap<Key, CauseTotal>,
    /// Sum of all waits for lanes, to stop and to resume, nanoseconds.
    pub waited_ns: u64,
    /// Sum of collect phases over all pauses, nanoseconds.
    pub collect_sum_ns: u64,
}

impl PauseSums {
    /// Sums with quantiles of this precision. `Coarse` ones may be many, so each holds fewer causes; `Unknown` ones
    /// hold no figures of single lanes and generations either.
    pub fn with(quantiles: Quantiles) -> PauseSums {
        let dist = || Dist::with(quantiles);
        PauseSums { quantiles, stop: dist(), collect: dist(), release: dist(), whole: dist(), ..PauseSums::default() }
    }

    /// Adds one pause; returns a span of the union that has become final.
    pub fn add(&mut self, blamed: &BlamedPause) -> Option<(Time, Time)> {
        let pause = &blamed.pause;
        self.count += 1;
        self.collect_sum_ns += pause.collect_ns();
        let last = self.union.add(pause.begin(), pause.released);
        if pause.quality == PauseQuality::Partial {
            self.partial += 1;
            return last;
        }
        if let Some(ns) = pause.time_to_stop_ns() {
            self.stop.add(ns);
        }
        self.collect.add(pause.collect_ns());
        self.release.add(pause.release_ns());
        self.whole.add(pause.released.since(pause.begin()));
        for piece in &blamed.causes {
            self.waited_ns += piece.ns();
            self.cause((piece.cause, piece.who), &CauseTotal::of(piece));
        }
        if self.quantiles == Quantiles::Unknown {
            return last;
        }
        if let Some(generation) = pause.generation.and_then(|number| self.generation(number)) {
            generation.count += 1;
            generation.collect.add(pause.collect_ns());
            generation.copied_bytes = generation.copied_bytes.saturating_add(pause.copied_bytes.unwrap_or(0));
        }
        self.waited_for(blamed);
        if let Some(held) = blamed.held_up_by()
            && let Some(lane) = held.lane
        {
            let sum = self.held_up.entry(lane.0).or_default();
            *sum = (sum.0 + 1, sum.1 + held.ns);
        }
        last
    }

    /// Adds other sums. Their unions are not merged: see [`PauseSums::stopped_ns`].
    pub fn merge(&mut self, other: &PauseSums) {
        self.count += other.count;
        self.partial += other.partial;
        self.collect_sum_ns += other.collect_sum_ns;
        self.stop.merge(&other.stop);
        self.collect.merge(&other.collect);
        self.release.merge(&other.release);
        self.whole.merge(&other.whole);
        for (number, more) in &other.generations {
            let _ = self.generation(*number).map(|generation| generation.merge(more));
        }
        for (lane, (count, ns)) in &other.stragglers {
            let sum = self.stragglers.entry(*lane).or_default();
            *sum = (sum.0 + count, sum.1 + ns);
        }
        for (lane, (count, ns)) in &other.held_up {
            let sum = self.held_up.entry(*lane).or_default();
            *sum = (sum.0 + count, sum.1 + ns);
        }
        self.waited_ns += other.waited_ns;
        other.causes.iter().for_each(|(key, more)| self.cause(*key, more));
    }

    fn generation(&mut self, number: u16) -> Option<&mut OneGeneration> {
        let known = self.generations.len() < GENERATIONS_MAX || self.generations.contains_key(&number);
        let quantiles = self.quantiles;
        let new = || OneGeneration { collect: Dist::with(quantiles), ..OneGeneration::default() };
        known.then(|| self.generations.entry(number).or_insert_with(new))
    }

    /// Counts the last lane among those that were asked to stop, and the lane that the world waited for until it had
    /// stopped: after the last of the others that may be the leader.
    fn waited_for(&mut self, blamed: &BlamedPause) {
        let pause = &blamed.pause;
        // If no arrival is known, the wait is attributed to the leader only for lack of another lane.
        let (Some(last), Some(_)) = (pause.straggler, pause.requested) else { return };
        self.stragglers.entry(last.0).or_default().0 += 1;
        for piece in blamed.causes.iter().filter(|piece| piece.to <= pause.stopped) {
            if let Some(lane) = piece.lane {
                self.stragglers.entry(lane.0).or_default().1 += piece.ns();
            }
        }
    }

    fn cause(&mut self, mut key: Key, more: &CauseTotal) {
        let most = if self.quantiles == Quantiles::Coarse { CAUSES_MAX_COARSE } else { CAUSES_MAX };
        if self.causes.len() >= most && !self.causes.contains_key(&key) {
            key.1 = None;
        }
        match self.causes.get_mut(&key) {
            Some(total) => total.merge(more),
            None => _ = self.causes.insert(key, more.clone()),
        }
    }

    /// The kernel's causes turned out to be invalid: all become unknown.
    pub fn void_causes(&mut self) {
        for (_, mut total) in std::mem::take(&mut self.causes) {
            (total.longest.cause, total.longest.who, total.longest.code) = (Cause::Unknown, None, None);
            (total.longest.confidence, total.confidence) = (Confidence::Low, Confidence::Low);
            total.codes.clear();
            self.cause((Cause::Unknown, None), &total);
        }
    }

    /// Sum over one cause and all its names.
    pub fn cause_total(&self, cause: Cause) -> Option<CauseTotal> {
        let of = self.causes.iter().filter(|(key, _)| key.0 == cause).map(|(_, total)| total);
        of.cloned().reduce(|mut sum, next| {
            sum.merge(&next);
            sum
        })
    }

    /// The cause and name with the longest waits, and their sum.
    pub fn worst_cause(&self) -> Option<(Key, &CauseTotal)> {
        self.causes.iter().map(|(key, total)| (*key, total)).max_by_key(|(_, total)| total.ns)
    }

    /// Wall-clock time in the pauses that were added one by one, nanoseconds.
    pub fn stopped_ns(&self) -> u64 {
        self.union.ns()
    }

    /// Sum of times to stop over all pauses, nanoseconds.
    pub fn stop_sum_ns(&self) -> u64 {
        self.stop.sum
    }

    /// The share of `total` in all waits.
    pub fn share(&self, total: &CauseTotal) -> f64 {
        if self.waited_ns > 0 { total.ns as f64 / self.waited_ns as f64 } else { 0.0 }
    }

    /// Causes, most costly first.
    pub fn causes(&self, names: &Names, symbols: &Symbols) -> Vec<CauseSum> {
        let sum = |((cause, who), total): (&Key, &CauseTotal)| CauseSum {
            cause: *cause,
            who: who.map(|who| names.get(who).to_owned()),
            code: total.code().map(|code| called(symbols.get(code)).to_owned()),
            sum_ns: total.ns,
            share: self.share(total),
        };
        let mut causes: Vec<CauseSum> = self.causes.iter().map(sum).collect();
        causes.sort_by_key(|cause| std::cmp::Reverse(cause.sum_ns));
        causes
    }

    /// Number of pauses in which `lane` stopped last.
    pub fn was_last(&self, lane: u16) -> u64 {
        self.stragglers.get(&lane).map_or(0, |(count, _)| *count)
    }

    /// Stragglers, worst first.
    pub fn stragglers(&self) -> Vec<Straggler> {
        let one =
            |(lane, (count, sum_ns)): (&u16, &(u64, u64))| Straggler { lane: *lane, count: *count, sum_ns: *sum_ns };
        let mut stragglers: Vec<Straggler> = self.stragglers.iter().map(one).collect();
        stragglers.sort_by_key(|straggler| std::cmp::Reverse(straggler.sum_ns));
        stragglers
    }

    /// Lanes that held pauses up, worst first.
    pub fn held_up(&self) -> Vec<HeldUpSum> {
        let one = |(lane, sum): (&u16, &(u64, u64))| HeldUpSum { lane: *lane, count: sum.0, sum_ns: sum.1 };
        let mut lanes: Vec<HeldUpSum> = self.held_up.iter().map(one).collect();
        lanes.sort_by_key(|sum| std::cmp::Reverse(sum.sum_ns));
        lanes
    }

    /// The sums as a report shows them, for a span of which `total_ns` were pauses.
    pub fn pauses(&self, span_ns: u64, total_ns: u64) -> Pauses {
        let by_generation = self.generations.iter().map(|(number, generation)| Generation {
            generation: *number,
            count: generation.count,
            collect_ns: generation.collect.values(),
            copied_bytes: generation.copied_bytes,
        });
        Pauses {
            count: self.count,
            partial: self.partial,
            per_second: if span_ns > 0 { self.count as f64 / (span_ns as f64 / 1e9) } else { 0.0 },
            total_ns,
            time_to_stop_ns: self.stop.values(),
            collect_ns: self.collect.values(),
            release_ns: self.release.values(),
            pause_ns: self.whole.values(),
            by_generation: by_generation.collect(),
        }
    }
}
