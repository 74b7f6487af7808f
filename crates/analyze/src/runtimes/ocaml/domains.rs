//! Which threads serve an OCaml domain: its own thread for life, a backup thread while that one waits, and the
//! threads that the program created there, one at a time.
//!
//! Owns that map. Three kinds of evidence, strongest first: the domain's own report (a library posts the thread's
//! id); birth (a new domain's thread has just created its backup thread and is on a CPU when it posts the domain's
//! start); and co-occurrence (which threads were on a CPU at each of the domain's events), which also gives every
//! answer a score. The process's first thread serves the first domain. Which of a domain's threads served it is
//! decided for each section. Refuses to guess: if two threads fit equally well, the thread is unknown.

use crate::basis::thinned::Thinned;
use crate::kernel::lane_thread::{LaneMarks, LaneThreads, Votes, settle};
use crate::kernel::sched::Tracks;
use crate::results::LaneThread;
use rtscope_model::{LaneId, Tid, Time};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Moments kept per domain, each with the threads that were on a CPU.
const SIGHTINGS_MAX: usize = 128;
/// Lives that are kept for one slot: a section is judged shortly after its end.
const LIVES_MAX: usize = 4;
/// Threads whose children are remembered.
const PARENTS_MAX: usize = 16_384;
/// An ended thread counts as its domain's for at least this long: a section is judged once counters cover it, at most
/// a fifth of a second after it ended.
const ENDED_NS: u64 = 250_000_000;
/// Threads that ended earlier but are still listed, at least.
const ENDED_MIN: usize = 256;
/// A domain's threads are on a CPU at nearly all of its events.
const SCORE_MIN: f64 = 0.9;
/// Another domain's threads are on a CPU at clearly fewer.
const LEAD_MIN: f64 = 0.1;
/// Sightings needed before co-occurrence alone decides.
const SIGHTINGS_MIN: usize = 8;

rtscope_model::listed! {
    /// How a domain's own thread was found.
    #[derive(Copy, Clone, Eq, PartialEq, Debug)]
    pub enum FoundBy: word {
        Reported = "told",
        /// By what it did when it began; for the first domain, by the process.
        Birth = "birth",
        /// By the threads on a CPU at its events.
        Seen = "seen",
    }
}

/// One life of a slot.
struct Life {
    from: Time,
    to: Option<Time>,
    own: Option<(Tid, FoundBy)>,
    /// Threads that may be its own; empty: any.
    candidates: Vec<Tid>,
    /// The threads that were on a CPU at some of its events.
    sightings: Thinned<Box<[Tid]>, SIGHTINGS_MAX>,
}

impl Life {
    fn new(from: Time) -> Self {
        Life { from, to: None, own: None, candidates: Vec::new(), sightings: Thinned::default() }
    }

    /// The threads that were on a CPU at any of them.
    fn seen(&self) -> Vec<Tid> {
        let seen: BTreeSet<Tid> = self.sightings.kept().iter().flat_map(|on| on.iter().copied()).collect();
        seen.into_iter().collect()
    }

    /// Share of the sightings in which one of `threads` was on a CPU.
    fn score(&self, threads: &[Tid]) -> Option<f64> {
        let hits = self.sightings.kept().iter().filter(|on| threads.iter().any(|tid| on.contains(tid))).count();
        (!self.sightings.kept().is_empty()).then(|| hits as f64 / self.sightings.kept().len() as f64)
    }
}

/// A domain's threads, for a report.
#[derive(Clone, PartialEq, Debug)]
pub struct Threads {
    pub own: Tid,
    /// Threads that it created and that serve the domain in turn: its backup thread and the program's.
    pub others: Vec<Tid>,
    pub found: FoundBy,
    /// Share of the domain's events at which one of these was on a CPU.
    pub score: Option<f64>,
}

impl Threads {
    /// One entry for each thread.
    pub fn listed(&self) -> Vec<LaneThread> {
        let found = self.found.word();
        let one = |tid: Tid, role| LaneThread { tid: tid.0, role, found, score: self.score };
        std::iter::once(one(self.own, "own")).chain(self.others.iter().map(|tid| one(*tid, "other"))).collect()
    }
}

pub struct Domains {
    /// The process's first thread.
    first: Option<Tid>,
    children: BTreeMap<Tid, Vec<(Time, Tid)>>,
    /// Threads that ended recently.
    ended: VecDeque<(Time, Tid)>,
    /// Whether the creation of any thread was seen: parents are known.
    births: bool,
    lives: BTreeMap<LaneId, Vec<Life>>,
}

impl Domains {
    /// A map of the program whose first thread is `first`.
    pub fn new(first: Option<Tid>) -> Self {
        Domains { first, children: BTreeMap::new(), ended: VecDeque::new(), births: false, lives: BTreeMap::new() }
    }

    fn child(&mut self, time: Time, parent: Tid, child: Tid) {
        if self.children.len() < PARENTS_MAX || self.children.contains_key(&parent) {
            self.children.entry(parent).or_default().push((time, child));
        }
    }

    fn begin(&mut self, lane: LaneId, life: Life) {
        let lives = self.lives.entry(lane).or_default();
        if let Some(last) = lives.last_mut().filter(|last| last.to.is_none()) {
            last.to = Some(life.from);
        }
        if lives.len() >= LIVES_MAX {
            lives.remove(0);
        }
        lives.push(life);
    }

    /// Own threads of domains that are alive.
    fn owners(&self) -> Vec<Tid> {
        let own = |life: &Life| life.own.filter(|_| life.to.is_none()).map(|(own, _)| own);
        self.lives.values().filter_map(|lives| lives.last().and_then(own)).collect()
    }

    fn life(&mut self, lane: LaneId, at: Time) -> &mut Life {
        let first = self.first.filter(|_| lane == LaneId(0));
        let lives = self.lives.entry(lane).or_default();
        if lives.is_empty() {
            // The stream does not show when it began.
            let mut life = Life::new(Time(0));
            life.own = first.map(|first| (first, FoundBy::Birth));
            lives.push(life);
        }
        let covering = lives.iter().rposition(|life| life.from <= at).unwrap_or(0);
        &mut lives[covering]
    }

    /// The threads of `own`'s domain: itself and all that it created, except own threads of other domains.
    fn group(&self, own: Tid, owners: &[Tid]) -> Vec<Tid> {
        let mut group = vec![own];
        let mut next = 0;
        while let Some(parent) = group.get(next).copied() {
            next += 1;
            for (_, child) in self.children.get(&parent).into_iter().flatten() {
                // A thread that created another one before it served anything is a domain's own.
                if !owners.contains(child) && !group.contains(child) && !self.children.contains_key(child) {
                    group.push(*child);
                }
            }
        }
        group
    }

    /// The domain's own thread, if known, else by co-occurrence.
    fn own(&mut self, lane: LaneId, at: Time, owners: &[Tid]) -> Option<(Tid, FoundBy)> {
        if let Some(own) = self.life(lane, at).own {
            return Some(own);
        }
        let lives = self.lives.get(&lane)?;
        let life = lives.iter().rfind(|life| life.from <= at)?;
        if life.sightings.kept().len() < SIGHTINGS_MIN {
            return None;
        }
        let mut candidates = life.candidates.clone();
        if candidates.is_empty() {
            candidates = life.seen();
        }
        candidates.retain(|tid| !owners.contains(tid));
        let scored = candidates.iter().filter_map(|tid| Some((life.score(&self.group(*tid, owners))?, *tid)));
        let mut scored: Vec<(f64, Tid)> = scored.collect();
        scored.sort_by(|a, b| b.0.total_cmp(&a.0));
        let (mut best, own) = *scored.first()?;
        let partner = self.partner(life, own, owners).filter(|_| best < SCORE_MIN);
        if let Some((with, _)) = partner {
            best = with;
        }
        let second = scored.get(1).map_or(0.0, |second| second.0);
        if best < SCORE_MIN || best - second < LEAD_MIN {
            return None;
        }
        if let Some((_, partner)) = partner {
            self.child(Time(0), own, partner);
        }
        self.life(lane, at).own = Some((own, FoundBy::Seen));
        Some((own, FoundBy::Seen))
    }

    /// If no creation of threads was seen: the thread that best complements `own`, and the score of the two.
    fn partner(&self, life: &Life, own: Tid, owners: &[Tid]) -> Option<(f64, Tid)> {
        if self.births {
            return None;
        }
        let others = life.seen().into_iter().filter(|tid| *tid != own && !owners.contains(tid));
        let scored = others.filter_map(|tid| Some((life.score(&[own, tid])?, tid)));
        scored.max_by(|a, b| a.0.total_cmp(&b.0))
    }

    /// The threads of the last domain in slot `lane`.
    pub fn threads(&self, lane: LaneId) -> Option<Threads> {
        let life = self.lives.get(&lane)?.last()?;
        let (own, found) = life.own?;
        let owners: Vec<Tid> = self.lives.values().flatten().filter_map(|life| Some(life.own?.0)).collect();
        let group = self.group(own, &owners);
        let score = life.score(&group);
        Some(Threads { own, others: group.into_iter().filter(|tid| *tid != own).collect(), found, score })
    }
}

impl LaneThreads for Domains {
    fn votes(&mut self, marks: &[LaneMarks], tracks: &Tracks, error_ns: u64) -> Votes {
        let window = |at: &Time| (at.minus(error_ns), at.plus(error_ns));
        for lane in marks {
            let Some(at) = lane.collection.first() else { continue };
            let (from, to) = window(at);
            self.life(lane.lane, *at).sightings.offer(|| tracks.on_cpu(from, to, false).into());
        }
        let owners = self.owners();
        let mut candidates = BTreeMap::new();
        for lane in marks {
            let Some(at) = lane.collection.first().copied() else { continue };
            let threads = match self.own(lane.lane, at, &owners) {
                Some((own, _)) => self.group(own, &owners),
                None => tracks.own().filter(|tid| !owners.contains(tid)).collect(),
            };
            let on = |tid: &Tid| lane.collection.iter().map(window).all(|(from, to)| tracks.was_on_cpu(*tid, from, to));
            candidates.insert(lane.lane, threads.into_iter().filter(on).collect());
        }
        settle(candidates)
    }

    fn forked(&mut self, time: Time, parent: Tid, child: Tid) {
        self.births = true;
        self.child(time, parent, child);
    }

    fn ended(&mut self, time: Time, tid: Tid) {
        self.ended.push_back((time, tid));
        while self.ended.len() > ENDED_MIN
            && let Some((_, gone)) = self.ended.front().copied().filter(|(ended, _)| ended.plus(ENDED_NS) < time)
        {
            self.ended.pop_front();
            self.children.remove(&gone);
            self.children.values_mut().for_each(|made| made.retain(|(_, child)| *child != gone));
        }
    }

    fn created(&mut self, lane: LaneId, time: Time, tracks: &Tracks, error_ns: u64) {
        let mut life = Life::new(time);
        if lane == LaneId(0) {
            life.own = self.first.map(|first| (first, FoundBy::Birth));
        } else {
            let on = tracks.on_cpu(time.minus(error_ns), time.plus(error_ns), false);
            let taken = self.owners();
            let made = |tid: &Tid| self.children.get(tid).is_some_and(|made| made.iter().any(|child| child.0 <= time));
            life.candidates = on.into_iter().filter(|tid| made(tid) && !taken.contains(tid)).collect();
            if let [only] = life.candidates[..] {
                life.own = Some((only, FoundBy::Birth));
            }
        }
        self.begin(lane, life);
    }

    fn deleted(&mut self, lane: LaneId, time: Time) {
        if let Some(life) = self.lives.get_mut(&lane).and_then(|lives| lives.last_mut()) {
            life.to.get_or_insert(time);
        }
    }

    fn reported(&mut self, lane: LaneId, time: Time, tid: Tid) {
        self.life(lane, time).own = Some((tid, FoundBy::Reported));
    }

    fn own_thread(&self, lane: LaneId) -> Option<Tid> {
        self.lives.get(&lane)?.last()?.own.map(|(own, _)| own)
    }

    fn listed(&self, lane: LaneId) -> Vec<LaneThread> {
        self.threads(lane).map_or(Vec::new(), |threads| threads.listed())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Kernel;

    fn marks(lane: u16, at: &[u64]) -> LaneMarks {
        LaneMarks { lane: LaneId(lane), collection: at.iter().map(|at| Time(*at)).collect(), ..LaneMarks::default() }
    }

    /// Threads: 10 first with backup 12, 20 domain with backup 21, 30 domain with backup 31.
    fn born() -> (Domains, Kernel) {
        let mut kernel = Kernel::new(&[10, 12, 20, 21, 30, 31]);
        let mut domains = Domains::new(Some(Tid(10)));
        kernel.on(0, 0, 10);
        domains.created(LaneId(0), Time(1), &kernel.tracks, 0);
        for (at, parent, child) in [(2, 10, 20), (3, 10, 12), (4, 10, 30), (12, 20, 21), (22, 30, 31)] {
            domains.forked(Time(at), Tid(parent), Tid(child));
        }
        (domains, kernel)
    }

    #[test]
    fn a_domain_is_its_new_threads_that_has_just_made_a_backup() {
        let (mut domains, mut kernel) = born();
        kernel.on(10, 1, 20);
        domains.created(LaneId(1), Time(14), &kernel.tracks, 0);
        kernel.off(20, 1, 20).on(20, 1, 30);
        domains.created(LaneId(2), Time(24), &kernel.tracks, 0);
        let of = |domains: &Domains, lane| domains.threads(LaneId(lane)).map(|threads| (threads.own.0, threads.found));
        assert_eq!(of(&domains, 0), Some((10, FoundBy::Birth)));
        assert_eq!(of(&domains, 1), Some((20, FoundBy::Birth)));
        assert_eq!(of(&domains, 2), Some((30, FoundBy::Birth)));
        assert_eq!(domains.threads(LaneId(1)).unwrap().others, [Tid(21)]);
        assert_eq!(domains.threads(LaneId(0)).unwrap().others, [Tid(12)], "not other domains' threads");
        // While the first thread sleeps, its backup serves, in parallel with two busy domains.
        kernel.off(30, 0, 10).on(30, 0, 12);
        let votes = domains.votes(&[marks(0, &[40, 50]), marks(2, &[41, 51])], &kernel.tracks, 0);
        let served: Vec<_> = votes.served.iter().map(|(lane, served)| (lane.0, served.tid.0)).collect();
        assert_eq!(served, [(0, 12), (2, 30)]);
    }

    #[test]
    fn threads_that_ended_long_ago_are_not_walked() {
        let (mut domains, _) = born();
        for tid in 100..1_000 {
            let at = Time(u64::from(tid) * ENDED_NS / 10);
            domains.forked(at, Tid(10), Tid(tid));
            domains.forked(at, Tid(tid), Tid(tid + 10_000));
            domains.ended(at, Tid(tid + 10_000));
            domains.ended(at, Tid(tid));
        }
        assert!(domains.children.len() <= ENDED_MIN, "{}", domains.children.len());
        assert!(domains.children[&Tid(10)].len() <= ENDED_MIN);
        assert_eq!(domains.threads(LaneId(0)).unwrap().others[0], Tid(12), "who lives stays");
    }

    #[test]
    fn two_that_fit_alike_at_birth_are_distinguished_by_the_threads_present() {
        let (mut domains, mut kernel) = born();
        // Both 20 and 30 have a backup and are on a CPU.
        kernel.off(30, 0, 10).on(30, 0, 20).on(30, 1, 30);
        domains.created(LaneId(1), Time(40), &kernel.tracks, 0);
        assert_eq!(domains.threads(LaneId(1)), None);
        kernel.off(50, 1, 30);
        for at in 0..10 {
            domains.votes(&[marks(1, &[60 + at])], &kernel.tracks, 0);
        }
        let found = domains.threads(LaneId(1)).unwrap();
        assert_eq!((found.own, found.found, found.score), (Tid(20), FoundBy::Seen, Some(1.0)));
    }

    #[test]
    fn the_domains_own_report_counts_most_and_ends_with_it() {
        let (mut domains, kernel) = born();
        domains.created(LaneId(1), Time(14), &kernel.tracks, 0);
        domains.reported(LaneId(1), Time(15), Tid(30));
        assert_eq!(domains.threads(LaneId(1)).map(|threads| threads.own), Some(Tid(30)));
        domains.deleted(LaneId(1), Time(20));
        domains.created(LaneId(1), Time(30), &kernel.tracks, 0);
        assert_eq!(domains.threads(LaneId(1)), None);
        assert_eq!(domains.life(LaneId(1), Time(18)).own, Some((Tid(30), FoundBy::Reported)));
    }
}
