//! Where the program's code was: samples of its threads, kept as far back as open pauses need, and summed over
//! the recording. Owns the history, the sums, and whose code a sample counts for; `blame` decides what that means
//! for a wait.
//!
//! A sample stands for a fixed amount of CPU time. Samples miss most shorter waits, but hit many such waits in
//! proportion: the shares of [`SampledWaits`] hold for all of them together, and say nothing about a single wait.

use super::purposes::{Purposes, spent};
use crate::basis::lately;
use crate::basis::sum::Sum;
use crate::results::{BlamedPause, Code, CodePlace};
use rtscope_model::code::INTERRUPT;
use rtscope_model::{Cause, CausePiece, CodeKind, CodeSample, Found, Pause, Symbol, SymbolId, Symbols, Tid, Time};
use std::collections::{BTreeMap, HashMap, VecDeque};

/// Maximum number of samples kept per thread.
const HISTORY_MAX: usize = 16_384;
const THREADS_MAX: usize = 4_096;
/// Maximum number of symbols summed separately; the rest counts as the unknown symbol.
const SYMBOLS_MAX: usize = 65_536;
/// Maximum number of places in the results.
const TOP_MAX: usize = 50;
/// Two records of one switch are closer together than this.
const SAME_SWITCH_NS: u64 = 100_000;
/// A wait in which a lane has a CPU for less than this is not held against its code: code that allocates reaches a
/// safepoint within microseconds, but a lane that resumes just then misses the request, and GHC asks again only after
/// a millisecond.
pub const LATE_MIN_NS: u64 = 1_500_000;

/// The place that samples found most often.
#[derive(Copy, Clone, Eq, PartialEq, Debug)]
pub struct Majority {
    /// The owner of the code.
    pub kind: CodeKind,
    /// The place found most often.
    pub symbol: SymbolId,
}

/// CPU time of one kind of wait, and where samples found the code meanwhile.
#[derive(Clone, Debug, Default)]
pub struct SampledWaits {
    /// Their pieces, exactly.
    pub lengths: Sum,
    /// CPU time that samples stand for, by owner and place of the code, nanoseconds.
    pub places: BTreeMap<(CodeKind, SymbolId), u64>,
    pub samples: u64,
}

impl SampledWaits {
    fn add(&mut self, kind: CodeKind, symbol: SymbolId, ns: u64) {
        let full = self.places.len() >= SYMBOLS_MAX && !self.places.contains_key(&(kind, symbol));
        let at = if full { SymbolId::default() } else { symbol };
        *self.places.entry((kind, at)).or_default() += ns;
        self.samples += 1;
    }

    fn piece(&mut self, piece: &CausePiece) {
        self.lengths.add((piece.from, piece.to), piece.ns());
    }

    /// Sampled CPU time in code of `kind`, nanoseconds.
    pub fn sampled_ns(&self, kind: CodeKind) -> u64 {
        self.places.iter().filter(|(key, _)| key.0 == kind).map(|(_, ns)| *ns).sum()
    }

    /// Share of `kind` among all samples, 0 to 1; 0 without samples.
    pub fn share(&self, kind: CodeKind) -> f64 {
        let all: u64 = self.places.values().sum();
        if all > 0 { self.sampled_ns(kind) as f64 / all as f64 } else { 0.0 }
    }

    /// The part of these waits that was in code of `kind`, by its share of the samples, nanoseconds.
    pub fn part_ns(&self, kind: CodeKind) -> u64 {
        (self.lengths.ns as f64 * self.share(kind)) as u64
    }

    /// Sampled CPU time in places that `is` accepts, nanoseconds.
    pub fn found_ns(&self, is: impl Fn(SymbolId) -> bool) -> u64 {
        self.places.iter().filter(|(key, _)| is(key.1)).map(|(_, ns)| *ns).sum()
    }

    /// Places of `kind`, most CPU time first.
    pub fn top(&self, kind: CodeKind) -> Vec<(SymbolId, u64)> {
        let of = self.places.iter().filter(|(key, _)| key.0 == kind);
        let mut top: Vec<_> = of.map(|(key, ns)| (key.1, *ns)).collect();
        top.sort_by_key(|place| (std::cmp::Reverse(place.1), place.0));
        top
    }
}

#[derive(Copy, Clone, Default)]
struct SymbolSum {
    running_ns: u64,
    waited_ns: u64,
}

#[derive(Default)]
pub struct CodeSamples {
    threads: BTreeMap<Tid, VecDeque<(Time, CodeSample)>>,
    sums: HashMap<SymbolId, SymbolSum>,
    seen: bool,
    samples: u64,
    /// CPU time that one sample stands for, nanoseconds; 0: none was seen.
    pub period_ns: u64,
    /// Time on a CPU while the world waited for a lane to stop, in waits where that took at least [`LATE_MIN_NS`].
    pub stops: SampledWaits,
    /// Time asleep in a foreign call while the world waited for its lane to stop: places are the kernel's, with the
    /// time slept there.
    pub asleep: SampledWaits,
    /// The work of collections: pieces are the collections, samples are of every thread of the program.
    pub collects: SampledWaits,
    /// All samples of running threads by what the CPU did.
    pub purposes: Purposes,
}

impl CodeSamples {
    /// Takes one sample, which refers to `symbols`.
    pub fn take(&mut self, time: Time, sample: &CodeSample, symbols: &Symbols) {
        if let Found::Running { ns } = sample.what {
            self.purposes.add(spent(sample, symbols), ns);
        }
        self.push(time, sample);
    }

    /// Like [`CodeSamples::take`], but without the sums of what the CPU did.
    pub fn push(&mut self, time: Time, sample: &CodeSample) {
        self.seen = true;
        if let Found::Running { ns } = sample.what {
            self.samples += 1;
            self.period_ns = ns;
            let sum = self.sum(sample.leaf);
            sum.running_ns = sum.running_ns.saturating_add(ns);
        }
        if self.threads.len() >= THREADS_MAX && !self.threads.contains_key(&sample.tid) {
            return;
        }
        let history = self.threads.entry(sample.tid).or_default();
        // Merged streams of several CPUs are slightly out of order; this evens it out.
        let time = history.back().map_or(time, |last| time.max(last.0));
        lately::push(history, (time, *sample), HISTORY_MAX);
    }

    fn sum(&mut self, symbol: SymbolId) -> &mut SymbolSum {
        let known = self.sums.len() < SYMBOLS_MAX || self.sums.contains_key(&symbol);
        self.sums.entry(if known { symbol } else { SymbolId::default() }).or_default()
    }

    /// Samples of `tid` on a CPU in `[from, to]`, each with the CPU time it stands for.
    fn running(&self, tid: Tid, from: Time, to: Time) -> impl Iterator<Item = (&CodeSample, u64)> {
        let history = self.threads.get(&tid);
        let first = history.map_or(0, |history| history.partition_point(|sample| sample.0 < from));
        let inside = history.into_iter().flat_map(move |history| history.iter().skip(first));
        inside.take_while(move |sample| sample.0 <= to).filter_map(|(_, sample)| match sample.what {
            Found::Running { ns } => Some((sample, ns)),
            Found::Waits => None,
        })
    }

    /// Samples of every thread from `from` until before `to`, thread by thread.
    pub fn between(&self, from: Time, to: Time) -> impl Iterator<Item = (Time, &CodeSample)> {
        self.threads.values().flat_map(move |history| {
            let first = history.partition_point(|sample| sample.0 < from);
            history.iter().skip(first).take_while(move |sample| sample.0 < to).map(|(at, sample)| (*at, sample))
        })
    }

    /// The owner of the code in which `tid` was found most often in `[from, to]`, and the place; `None` without
    /// a sample.
    pub fn majority(&self, tid: Tid, from: Time, to: Time, symbols: &Symbols) -> Option<Majority> {
        let mut waits = SampledWaits::default();
        for (sample, ns) in self.running(tid, from, to) {
            let (kind, symbol) = keeps(sample, symbols);
            waits.add(kind, symbol, ns);
        }
        let kinds = waits.places.keys().map(|key| key.0);
        let kind = kinds.max_by_key(|kind| (waits.sampled_ns(*kind), std::cmp::Reverse(*kind)))?;
        let (symbol, _) = *waits.top(kind).first()?;
        Some(Majority { kind, symbol })
    }

    /// Where in the kernel `tid` waits since it left its CPU at `since`, if that was seen.
    pub fn waits(&self, tid: Tid, since: Time) -> Option<&CodeSample> {
        let history = self.threads.get(&tid)?;
        let first = history.partition_point(|sample| sample.0 < since.minus(SAME_SWITCH_NS));
        let near = history.iter().skip(first).take_while(|sample| sample.0 <= since.plus(SAME_SWITCH_NS));
        let waits = near.filter(|(_, sample)| sample.what == Found::Waits);
        waits.min_by_key(|(at, _)| at.since(since).max(since.since(*at))).map(|(_, sample)| sample)
    }

    /// A pause has its causes: sums up where the code was meanwhile. A lane's last steps before it stops belong to
    /// the program, the leader's to the runtime.
    pub fn pause(&mut self, blamed: &BlamedPause, symbols: &Symbols) {
        let pause = &blamed.pause;
        let stops_late = |piece: &&CausePiece| piece.cause.on_a_cpu() && stopping(pause, piece);
        let late_wait = blamed.causes.iter().filter(stops_late).map(CausePiece::ns).sum::<u64>() >= LATE_MIN_NS;
        for piece in blamed.causes.iter().filter(|piece| piece.cause.on_a_cpu()) {
            let Some(tid) = piece.tid else { continue };
            let stops = stopping(pause, piece);
            let late = late_wait && stops;
            let found: Vec<(CodeSample, u64)> =
                self.running(tid, piece.from, piece.to).map(|(sample, ns)| (*sample, ns)).collect();
            match (piece.cause, piece.code) {
                // On a CPU the place is in foreign code; asleep it is in the kernel, and no sleep is too short to count:
                // whatever slept had not given its lane up.
                (Cause::ForeignCall, Some(code)) if stops && symbols.get(code).kind == CodeKind::Kernel => {
                    self.asleep.piece(piece);
                    self.asleep.add(CodeKind::Foreign, code, piece.ns());
                }
                _ if late => self.stops.piece(piece),
                _ => {}
            }
            for (sample, ns) in found {
                let sum = self.sum(sample.leaf);
                sum.waited_ns = sum.waited_ns.saturating_add(ns);
                if late {
                    let (kind, symbol) = keeps(&sample, symbols);
                    self.stops.add(kind, symbol, ns);
                }
            }
        }
        self.collect(pause, symbols);
    }

    fn collect(&mut self, pause: &Pause, symbols: &Symbols) {
        let mut found = Vec::new();
        let mut inside = Vec::new();
        for tid in self.threads.keys() {
            let from = self.purposes.from(pause);
            inside.extend(self.running(*tid, from, pause.collected).map(|(sample, ns)| (spent(sample, symbols), ns)));
            let samples = self.running(*tid, pause.stopped, pause.collected);
            let samples = samples.filter(|(sample, _)| !waits_for_others(sample, symbols));
            found.extend(samples.map(|(sample, ns)| (works_for(sample, symbols), ns)));
        }
        self.purposes.collect(pause, inside);
        self.collects.lengths.add((pause.stopped, pause.collected), pause.collect_ns());
        found.into_iter().for_each(|((kind, symbol), ns)| self.collects.add(kind, symbol, ns));
    }

    /// CPU time found in places that `is` accepts, over the whole recording, nanoseconds.
    pub fn running_ns(&self, symbols: &Symbols, is: impl Fn(&Symbol) -> bool) -> u64 {
        self.sums.iter().filter(|(id, _)| is(symbols.get(**id))).map(|(_, sum)| sum.running_ns).sum()
    }

    /// Forgets what no open pause needs, except the last sample of a thread that `lives`, which may still show where
    /// it waits.
    pub fn prune(&mut self, before: Time, lives: impl Fn(Tid) -> bool) {
        let full = self.threads.len() >= THREADS_MAX;
        self.threads.retain(|tid, history| {
            lately::prune(history, |sample| sample.0, before);
            let waits = |last: &CodeSample| last.what == Found::Waits && !full && lives(*tid);
            history.back().is_some_and(|(at, last)| *at >= before || waits(last))
        });
    }

    /// The sums; `None` where nothing was sampled.
    pub fn values(&self, symbols: &Symbols) -> Option<Code> {
        let place = |(id, sum): (&SymbolId, &SymbolSum)| {
            let symbol = symbols.get(*id);
            CodePlace {
                symbol: called(symbol).to_owned(),
                module: symbol.module.clone(),
                kind: symbol.kind,
                source: symbol.source.clone(),
                running_ns: sum.running_ns,
                waited_ns: sum.waited_ns,
            }
        };
        let mut top: Vec<CodePlace> = self.sums.iter().filter(|(_, sum)| sum.running_ns > 0).map(place).collect();
        // Places with the same name are distinguished by everything else that is shown of them.
        let named =
            |place: &CodePlace| (place.symbol.clone(), place.module.clone(), place.source.clone(), place.waited_ns);
        top.sort_by_cached_key(|place| (std::cmp::Reverse(place.running_ns), named(place)));
        top.truncate(TOP_MAX);
        let purposes = self.purposes.list();
        self.seen.then_some(Code { period_ns: self.period_ns, samples: self.samples, top, purposes })
    }
}

/// The name of a symbol, or a phrase for an unnamed one.
pub fn called(symbol: &Symbol) -> &str {
    if symbol.name.is_empty() { "unknown code" } else { &symbol.name }
}

/// A collector thread without work yields its CPU repeatedly, or sleeps until it is woken (GHC 9.6): it waits for the
/// others, not for the kernel.
fn waits_for_others(sample: &CodeSample, symbols: &Symbols) -> bool {
    let user = sample.user.map(|user| symbols.get(user).name.as_str());
    let entry = symbols.get(sample.leaf).source.as_deref();
    user.is_some_and(|name| name.contains("yield")) || matches!(entry, Some("sched_yield" | "futex"))
}

/// [`code_owner`] of a lane that has to stop: a primitive of the runtime is like a call into another language, which
/// cannot be stopped before it returns.
fn keeps(sample: &CodeSample, symbols: &Symbols) -> (CodeKind, SymbolId) {
    match (code_owner(sample, symbols), sample.purpose) {
        ((CodeKind::Runtime, symbol), Some(purpose)) if purpose.get().primitive => (CodeKind::Foreign, symbol),
        (owner, _) => owner,
    }
}

/// [`code_owner`] inside a collection: the kernel's work for the runtime's own bookkeeping (GHC 9.6 asks for CPU time
/// often) counts as the runtime's.
fn works_for(sample: &CodeSample, symbols: &Symbols) -> (CodeKind, SymbolId) {
    match (code_owner(sample, symbols), symbols.get(sample.leaf).source.as_deref()) {
        ((CodeKind::Kernel, leaf), Some("clock_gettime" | "getrusage")) => (CodeKind::Runtime, leaf),
        (other, _) => other,
    }
}

/// Whether a piece waits for a lane that has to stop, and not for the leader.
fn stopping(pause: &Pause, piece: &CausePiece) -> bool {
    piece.to <= pause.stopped && (piece.lane.is_none() || piece.lane != pause.leader)
}

/// Whose code a sample counts for, and its name. The kernel works for its caller: below another language's code it is
/// that code's time. The C library is an exception, because the runtime itself calls the kernel through it. An
/// interrupt comes at any moment: its time is that of the code that it interrupts, which did not ask for it.
pub fn code_owner(sample: &CodeSample, symbols: &Symbols) -> (CodeKind, SymbolId) {
    let leaf = symbols.get(sample.leaf);
    let caller = sample.user.map(|user| (user, symbols.get(user)));
    match caller {
        Some((user, symbol)) if leaf.kind == CodeKind::Kernel && is_foreign(symbol) => (CodeKind::Foreign, user),
        Some((user, symbol)) if leaf.source.as_deref() == Some(INTERRUPT) => (symbol.kind, user),
        _ => (leaf.kind, sample.leaf),
    }
}

fn is_foreign(symbol: &Symbol) -> bool {
    let c_library = ["libc.", "libc-", "libpthread", "ld-linux", "[vdso]"];
    symbol.kind == CodeKind::Foreign && !c_library.iter().any(|name| symbol.module.starts_with(name))
}

#[cfg(test)]
#[path = "code_tests.rs"]
mod tests;
