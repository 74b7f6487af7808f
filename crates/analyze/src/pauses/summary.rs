//! Pauses summed up: distributions, by generation, the union on the wall,
//! stragglers, causes. Partial pauses are counted and lie in the union; they
//! stay out of distributions, stragglers and causes.

use crate::code::called;
use crate::dist::Dist;
use crate::mmu::Utilisation;
use crate::results::{BlamedPause, CauseSum, Column, Generation, Mmu, Pauses, Straggler};
use crate::spectrum::Spectrum;
use crate::union::Union;
use rtscope_model::{Cause, CausePiece, Confidence, NameId, Names, PauseQuality, SymbolId, Symbols, Time};
use std::collections::BTreeMap;

/// Generations told apart; more is not a GHC heap.
const GENERATIONS_MAX: usize = 32;
/// Cause and name pairs told apart.
const CAUSES_MAX: usize = 1_024;
/// Places in the code told apart for one cause.
const CODES_MAX: usize = 256;

/// One cause summed up, with its longest piece.
#[derive(Clone, Debug)]
pub struct CauseTotal {
    /// Nanoseconds.
    pub ns: u64,
    /// Pieces.
    pub count: u64,
    /// The longest.
    pub longest: CausePiece,
    /// Lowest confidence among pieces that make up the sum.
    pub confidence: Confidence,
    /// Where the code was, nanoseconds of the pieces of which that is known.
    pub codes: BTreeMap<SymbolId, u64>,
}

impl CauseTotal {
    /// The place that the code was in most.
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

/// The fold.
#[derive(Default)]
pub struct Summary {
    count: u64,
    partial: u64,
    stop: Dist,
    collect: Dist,
    release: Dist,
    whole: Dist,
    spectrum: Spectrum,
    generations: BTreeMap<u16, OneGeneration>,
    union: Union,
    mmu: Utilisation,
    stragglers: BTreeMap<u16, (u64, u64)>,
    causes: BTreeMap<(Cause, Option<NameId>), CauseTotal>,
    waited_ns: u64,
    collect_sum_ns: u64,
}

impl Summary {
    /// The recording starts.
    pub fn start(&mut self, at: Time) {
        self.mmu.start(at);
    }

    /// Adds one pause.
    pub fn add(&mut self, blamed: &BlamedPause) {
        let pause = &blamed.pause;
        self.count += 1;
        self.collect_sum_ns += pause.collect_ns();
        if let Some((from, to)) = self.union.add(pause.begin(), pause.released) {
            self.mmu.add(from, to);
        }
        if pause.quality == PauseQuality::Partial {
            self.partial += 1;
            return;
        }
        if let Some(ns) = pause.time_to_stop_ns() {
            self.stop.add(ns);
        }
        self.collect.add(pause.collect_ns());
        self.release.add(pause.release_ns());
        let whole_ns = pause.released.since(pause.begin());
        self.whole.add(whole_ns);
        self.spectrum.add(whole_ns);
        if let Some(number) = pause.generation
            && (self.generations.len() < GENERATIONS_MAX || self.generations.contains_key(&number))
        {
            let generation = self.generations.entry(number).or_default();
            generation.count += 1;
            generation.collect.add(pause.collect_ns());
            generation.copied_bytes = generation.copied_bytes.saturating_add(pause.copied_bytes.unwrap_or(0));
        }
        self.waited_for(blamed);
        blamed.causes.iter().for_each(|piece| self.cause(piece));
    }

    /// Who was last of those that were asked, and for whom the world waited until
    /// it had stopped: behind the last of them it may be the one that had asked.
    fn waited_for(&mut self, blamed: &BlamedPause) {
        let pause = &blamed.pause;
        // Where nobody's arrival is known the wait lies on the leader only for want of another.
        let (Some(last), Some(_)) = (pause.straggler, pause.requested) else { return };
        self.stragglers.entry(last.0).or_default().0 += 1;
        for piece in blamed.causes.iter().filter(|piece| piece.to <= pause.stopped) {
            if let Some(lane) = piece.lane {
                self.stragglers.entry(lane.0).or_default().1 += piece.ns();
            }
        }
    }

    fn cause(&mut self, piece: &CausePiece) {
        self.waited_ns += piece.ns();
        let mut key = (piece.cause, piece.who);
        if self.causes.len() >= CAUSES_MAX && !self.causes.contains_key(&key) {
            key.1 = None;
        }
        let total = self.causes.entry(key).or_insert(CauseTotal {
            ns: 0,
            count: 0,
            longest: *piece,
            confidence: piece.confidence,
            codes: BTreeMap::new(),
        });
        total.add_codes(&piece.code.map(|code| (code, piece.ns())).into_iter().collect());
        total.ns += piece.ns();
        total.count += 1;
        total.confidence = total.confidence.min(piece.confidence);
        if total.longest.ns() < piece.ns() {
            total.longest = *piece;
        }
    }

    /// The kernel's causes turned out not to hold: all become unknown.
    pub fn void_causes(&mut self) {
        let causes = std::mem::take(&mut self.causes);
        for (_, total) in causes {
            let key = (Cause::Unknown, None);
            let mut longest = total.longest;
            (longest.cause, longest.who, longest.confidence) = (Cause::Unknown, None, Confidence::Low);
            longest.code = None;
            let none = CauseTotal { ns: 0, count: 0, longest, confidence: Confidence::Low, codes: BTreeMap::new() };
            let sum = self.causes.entry(key).or_insert(none);
            sum.ns += total.ns;
            sum.count += total.count;
        }
    }

    /// Sum over one cause, all names.
    pub fn cause_total(&self, cause: Cause) -> Option<CauseTotal> {
        let of = self.causes.iter().filter(|(key, _)| key.0 == cause).map(|(_, total)| total);
        of.cloned().reduce(|mut sum, next| {
            sum.ns += next.ns;
            sum.count += next.count;
            sum.confidence = sum.confidence.min(next.confidence);
            if sum.longest.ns() < next.longest.ns() {
                sum.longest = next.longest;
            }
            sum.add_codes(&next.codes);
            sum
        })
    }

    /// Sum of collect phases over all pauses, nanoseconds.
    pub fn collect_sum_ns(&self) -> u64 {
        self.collect_sum_ns
    }

    /// Sum of times to stop over all pauses, nanoseconds.
    pub fn stop_sum_ns(&self) -> u64 {
        self.stop.sum_ns()
    }

    /// Everything that was waited for, nanoseconds.
    pub fn waited_ns(&self) -> u64 {
        self.waited_ns
    }

    /// Pauses so far.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Causes, most costly first.
    pub fn causes(&self, names: &Names, symbols: &Symbols) -> Vec<CauseSum> {
        let share = |ns: u64| if self.waited_ns > 0 { ns as f64 / self.waited_ns as f64 } else { 0.0 };
        let sum = |((cause, who), total): (&(Cause, Option<NameId>), &CauseTotal)| CauseSum {
            cause: *cause,
            who: who.map(|who| names.get(who).to_owned()),
            code: total.code().map(|code| called(symbols.get(code)).to_owned()),
            sum_ns: total.ns,
            share: share(total.ns),
        };
        let mut causes: Vec<CauseSum> = self.causes.iter().map(sum).collect();
        causes.sort_by_key(|cause| std::cmp::Reverse(cause.sum_ns));
        causes
    }

    /// Stragglers, worst first.
    pub fn stragglers(&self) -> Vec<Straggler> {
        let one =
            |(lane, (count, sum_ns)): (&u16, &(u64, u64))| Straggler { lane: *lane, count: *count, sum_ns: *sum_ns };
        let mut stragglers: Vec<Straggler> = self.stragglers.iter().map(one).collect();
        stragglers.sort_by_key(|straggler| std::cmp::Reverse(straggler.sum_ns));
        stragglers
    }

    /// Durations of whole pauses as columns.
    pub fn spectrum(&self) -> Vec<Column> {
        self.spectrum.columns()
    }

    /// The sums, and utilisation, at the end of a recording of `span_ns`.
    pub fn finish(mut self, span_ns: u64, end: Time) -> (Pauses, Vec<Mmu>) {
        let by_generation = self.generations.iter().map(|(number, generation)| Generation {
            generation: *number,
            count: generation.count,
            collect_ns: generation.collect.values(),
            copied_bytes: generation.copied_bytes,
        });
        let pauses = Pauses {
            count: self.count,
            partial: self.partial,
            per_second: if span_ns > 0 { self.count as f64 / (span_ns as f64 / 1e9) } else { 0.0 },
            total_ns: self.union.ns(),
            time_to_stop_ns: self.stop.values(),
            collect_ns: self.collect.values(),
            release_ns: self.release.values(),
            pause_ns: self.whole.values(),
            by_generation: by_generation.collect(),
        };
        while let Some((from, to)) = self.union.finalise() {
            self.mmu.add(from, to);
        }
        (pauses, self.mmu.finish(end))
    }
}
