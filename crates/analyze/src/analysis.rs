//! The fold over one time-ordered stream: hands each event to the folds that need it, holds a pause back until the
//! kernel events and counters after it have arrived, and assembles the results.
//!
//! Owns the order in which folds run. Memory is bounded whatever the length of the stream: histories reach back only
//! as far as open pauses need, and each has its own bound.

use crate::account::{By, OnPart, Sweep, Together, Words, account, given_back};
use crate::basis::compose::Segment;
use crate::blame::CpuHolder;
use crate::blame::evidence::Evidence;
use crate::blame::held::Held;
use crate::collector::allocation::Allocation;
use crate::collector::collections::Collections;
use crate::collector::concurrent::Phases;
use crate::collector::drawing::{OverTime, WorstPauses};
use crate::collector::tracer::Disturbance;
use crate::findings::{self, Facts};
use crate::folds::{End, Fold, Folds, Now, Past};
use crate::kernel::lane_thread::{LaneThreads, Votes};
use crate::lanes::timeline::{Doing, LaneDetail, Timeline};
use crate::lanes::times::LaneTimes;
use crate::memory::counters::Rates;
use crate::memory::heap_profile::HeapProfiles;
use crate::memory::ledger::Ledger;
use crate::memory::lines::Lines;
use crate::pauses::Recognised;
use crate::pauses::still::StoppedIntervals;
use crate::pauses::summary::Summary;
use crate::program::forks::Forks;
use crate::program::green::GreenThreads;
use crate::program::user::User;
use crate::recording::requests::Join;
use crate::recording::{Context, Tail, loss_of_log};
use crate::results::{BlamedPause, KernelView, Lane, Productivity, Results, SCHEMA, SlowestPauses};
use crate::runtimes;
use crate::window::{HeldSums, Totals};
use rtscope_model::code::{FIRST_TOUCH, PAGE_FAULT};
use rtscope_model::runtime::LaneThreads as Serving;
use rtscope_model::{
    Account, Body, Class, Classes, Event, LaneId, Loss, Names, Node, PauseQuality, Runtime, Sched, Symbol, Time,
};
use std::collections::{BTreeMap, VecDeque};

/// Pauses that may wait at a time.
const PENDING_MAX: usize = 4_096;
/// Scheduling events between two prunings of the history.
const PRUNE_EVERY: u32 = 4_096;
/// How long losses reported during the stream are remembered, nanoseconds, and how many at most.
const LOSSES_KEPT_NS: u64 = 60_000_000_000;
const LOSSES_MAX: usize = 1_024;

/// Receives segments of lane lines.
type OnSegment<'a> = &'a mut dyn FnMut(LaneId, &Segment<Doing>);
/// Receives pauses with their causes.
type OnPause<'a> = &'a mut dyn FnMut(&BlamedPause);

#[derive(Default)]
struct Moments {
    /// The latest event.
    now: Time,
    /// The last call of [`Analysis::standing`].
    last_standing: Time,
    /// First and last event of the runtime.
    runtime: Option<(Time, Time)>,
    /// The end of the last pause's work.
    pauses_until: Time,
    since_prune: u32,
}

/// The analysis of one stream.
pub struct Analysis {
    context: Context,
    /// Where lane time went; `None`: only pauses and lane lines are wanted.
    account: Option<Sweep>,
    folds: Folds,
    timeline: Timeline,
    threads: Box<dyn LaneThreads>,
    evidence: Evidence,
    held: Held,
    lanes: LaneTimes,
    summary: Summary,
    requests: Option<Join>,
    /// Pauses that wait for kernel events and counters.
    pending: VecDeque<Recognised>,
    at: Moments,
}

impl Analysis {
    /// The classes of runtime events that the analysis needs.
    pub const CLASSES: Classes = Classes::NONE
        .with(Class::Collection)
        .with(Class::Figures)
        .with(Class::Heap)
        .with(Class::Lanes)
        .with(Class::GreenEdges)
        .with(Class::Concurrent)
        .with(Class::Tracer)
        .with(Class::Sparks)
        .with(Class::User)
        .with(Class::HeapProfile);
    /// [`Analysis::CLASSES`] with every run and stop of green threads, for [`Context::every_green_event`].
    pub const CLASSES_GREEN: Classes = Analysis::CLASSES.with(Class::Green);

    /// An analysis of the recording that `context` describes, without lane lines.
    pub fn new(context: Context) -> Self {
        Analysis::with_lanes(context, LaneDetail::Pauses)
    }

    /// Like [`Analysis::new`], but [`Analysis::take`] reports what lanes did in this detail.
    pub fn with_lanes(context: Context, detail: LaneDetail) -> Self {
        // The account needs them in any case.
        let detail = if detail == LaneDetail::Pauses { LaneDetail::Summed } else { detail };
        let every_run = context.every_green_event || !context.runtime.info().posts.runs;
        Analysis { account: Some(Sweep::new(every_run)), ..Analysis::made(context, detail) }
    }

    /// For callers that need only pauses and lanes. The only figures are the sums of pauses and of their causes, so
    /// findings mean nothing.
    pub fn without_figures(context: Context, detail: LaneDetail) -> Self {
        let mut analysis = Analysis::made(context, detail);
        analysis.summary = Summary::only_sums();
        analysis.folds.only_waits();
        analysis
    }

    fn made(mut context: Context, detail: LaneDetail) -> Self {
        let support = runtimes::of(&context);
        let mut analysis = Analysis {
            account: None,
            folds: Folds::new(folds(&context)),
            timeline: Timeline::new(support.recogniser(&context), detail),
            threads: support.lane_threads(&context),
            evidence: Evidence::new(&context),
            held: Held::default(),
            lanes: LaneTimes::default(),
            summary: Summary::default(),
            requests: context.requests.take(),
            pending: VecDeque::new(),
            at: Moments::default(),
            context,
        };
        if let Some(started) = analysis.context.started {
            analysis.start(started);
        }
        analysis
    }

    fn start(&mut self, at: Time) {
        self.summary.start(at);
        self.folds.each(|fold| fold.start(at));
    }

    /// Takes one event. Finished pauses go to `on_pause`, nearly in the order of their stops.
    pub fn push(&mut self, event: &Event, names: &Names, on_pause: OnPause<'_>) {
        self.take(event, &mut |_, _| {});
        self.resolve(names, on_pause);
    }

    /// Takes one event; what it reveals about lanes goes to `on_segment`. Call [`Analysis::resolve`] next.
    pub fn take(&mut self, event: &Event, on_segment: OnSegment<'_>) {
        self.at.now = self.at.now.max(event.time);
        match event.body {
            Body::Runtime(body) => return self.runtime(event, body, on_segment),
            Body::Sched(sched) => self.sched(event.time, sched),
            Body::Code(sample) => self.evidence.code.take(event.time, &sample, &self.context.symbols),
            Body::Sample(sample) => {
                self.evidence.counters.push(event.time, &sample);
                self.folds.sample(event);
            }
        }
        self.at.since_prune += 1;
    }

    fn sched(&mut self, time: Time, sched: Sched) {
        let tracks = &mut self.evidence.tracks;
        if let Some(wait) = tracks.push(time, &sched) {
            self.held.push(wait);
        }
        match sched {
            Sched::Fork { parent, child, child_pid } => {
                if tracks.is_own(child) {
                    self.threads.forked(time, parent, child);
                }
                if child_pid.0 == child.0 && tracks.is_own(parent) {
                    self.folds.each(|fold| fold.forked(parent, time));
                }
            }
            Sched::Exit { tid } if tracks.is_own(tid) => self.threads.ended(time, tid),
            _ => {}
        }
    }

    fn runtime(&mut self, event: &Event, body: Runtime, on_segment: OnSegment<'_>) {
        match &mut self.at.runtime {
            Some(span) => span.1 = span.1.max(event.time),
            None => {
                self.at.runtime = Some((event.time, event.time));
                self.start(self.context.started.unwrap_or(event.time));
            }
        }
        if body.class() == Class::Lanes {
            self.lane(event, body);
        }
        let now = Now { tracks: &self.evidence.tracks, threads: self.threads.as_ref() };
        let wait = self.folds.runtime(event, body, &now);
        let Analysis { timeline, account, context, .. } = self;
        match account {
            Some(account) => {
                account.runs_posted |= context.every_green_event && matches!(body, Runtime::ThreadRun(_));
                timeline.push(event, body, wait, &mut |lane, piece| {
                    account.segment(lane, piece);
                    on_segment(lane, piece);
                })
            }
            None => timeline.push(event, body, wait, on_segment),
        }
        // Most events yield no pause.
        if self.timeline.any() {
            self.pending.extend(self.timeline.pauses());
        }
    }

    /// Handles lanes that begin and end, and the threads that serve them.
    fn lane(&mut self, event: &Event, body: Runtime) {
        let tracks = &mut self.evidence.tracks;
        match body {
            Runtime::TaskCreated(tid) => {
                tracks.adopt(tid);
                if event.lane.is_some() {
                    self.lanes.task(event.lane, tid);
                }
                self.threads.reported(event.lane, event.time, tid);
            }
            Runtime::LaneCreated if event.lane.is_some() => {
                self.lanes.seen(event.lane, event.time);
                self.threads.created(event.lane, event.time, tracks, self.context.clock_error_ns());
            }
            Runtime::LaneDeleted => {
                self.lanes.ended(event.lane, event.time);
                self.threads.deleted(event.lane, event.time);
            }
            _ => {}
        }
    }

    /// Hands pauses to `on_pause` once all their evidence has arrived.
    #[inline]
    pub fn resolve(&mut self, names: &Names, on_pause: OnPause<'_>) {
        if !self.pending.is_empty() {
            self.resolve_pending(names, on_pause);
        }
        if self.at.since_prune >= PRUNE_EVERY || self.account.as_ref().is_some_and(Sweep::is_due) {
            self.prune();
        }
    }

    fn resolve_pending(&mut self, names: &Names, on_pause: OnPause<'_>) {
        let ready = self.evidence.ready(&self.context, self.at.now);
        while let Some(next) = self.pending.front() {
            if next.pause.released > ready && self.pending.len() <= PENDING_MAX {
                break;
            }
            if let Some(recognised) = self.pending.pop_front() {
                self.resolve_one(recognised, names, on_pause);
            }
        }
    }

    fn resolve_one(&mut self, mut recognised: Recognised, names: &Names, on_pause: OnPause<'_>) {
        let (begin, end) = (recognised.pause.begin(), recognised.pause.released);
        if self.context.losses.iter().any(|loss| loss_of_log(loss, begin, end)) {
            recognised.pause.quality = PauseQuality::Partial;
        }
        self.evidence.check(&self.context, &recognised);
        let kernel = self.evidence.usable(&self.context);
        let votes = match kernel {
            true => self.threads.votes(&recognised.marks, &self.evidence.tracks, self.context.clock_error_ns()),
            false => Votes::default(),
        };
        let judge = self.evidence.judge(&self.context, kernel);
        let causes = judge.blame(&mut recognised, votes);
        let still = StoppedIntervals::of(&recognised, self.timeline.recogniser().lanes_on());
        let mut kept_ns = None;
        if kernel {
            // While the last lane resumes, the others already work: what counts as inside ends with the work. A pause
            // may begin inside the one before (concurrent collectors).
            let end = recognised.pause.collected;
            let from = begin.max(self.at.pauses_until);
            let lanes = &mut self.lanes;
            let each = |tid, ran, waited| lanes.in_pause(tid, ran, waited);
            kept_ns = Some(self.held.pause(&judge, (from, end.max(from)), &still, each));
            self.at.pauses_until = self.at.pauses_until.max(end);
        }
        self.evidence.served(&recognised.pause);
        let blamed = BlamedPause { pause: recognised.pause, causes, kept_ns };
        self.summary.add(&blamed);
        if let Some(account) = &mut self.account {
            account.pause(&blamed);
            self.evidence.code.pause(&blamed, &self.context.symbols);
            self.lanes.pause(&blamed.pause, &still);
        }
        let tracks = &self.evidence.tracks;
        let now = Now { tracks, threads: self.threads.as_ref() };
        let past = Past { tracks: kernel.then_some(tracks), now, marks: &recognised.marks, names };
        self.folds.each(|fold| fold.pause(&blamed, &past));
        if let Some(requests) = &mut self.requests {
            requests.pause(blamed.pause.begin(), blamed.pause.released);
        }
        on_pause(&blamed);
    }

    fn prune(&mut self) {
        self.at.since_prune = 0;
        self.settle(self.evidence.ready(&self.context, self.at.now));
        let pending = self.pending.iter().map(|next| next.pause.begin()).min();
        self.divide(pending);
        let divided = self.account.as_ref().map(|account| account.done);
        let oldest = [self.timeline.oldest(), pending, self.held.oldest(), divided];
        let oldest = oldest.into_iter().flatten().min().unwrap_or(self.at.now);
        self.evidence.prune(oldest.min(self.at.now));
    }

    /// Counts the lane time that can no longer change.
    fn divide(&mut self, pending: Option<Time>) {
        let used = self.evidence.usable(&self.context);
        let until = self.evidence.ready(&self.context, self.at.now);
        let until = [self.timeline.oldest(), pending].into_iter().flatten().fold(until, Time::min);
        let Some(account) = &mut self.account else { return };
        let judge = self.evidence.judge(&self.context, used);
        let by = By { judge: &judge, threads: self.threads.as_ref(), kernel: used };
        account.settle(&by, &self.timeline.open(until), until);
    }

    fn settle(&mut self, ready: Time) {
        let judge = self.evidence.judge(&self.context, true);
        let requests = &mut self.requests;
        self.held.settle(&judge, ready, &mut |holder, from, to| {
            if let Some(requests) = requests {
                requests.waited(from, to, matches!(holder, CpuHolder::Quota { .. }));
            }
        });
    }

    /// Events were lost while the stream goes on: the pauses concerned are partial.
    pub fn lose(&mut self, loss: Loss) {
        let before = self.at.now.minus(LOSSES_KEPT_NS);
        self.context.losses.retain(|known| known.to.is_none_or(|to| to >= before));
        if self.context.losses.len() < LOSSES_MAX {
            self.context.losses.push(loss);
        }
    }

    /// No more events follow: judges the pauses that wait for kernel events and counters by what there is.
    pub fn resolve_all(&mut self, names: &Names, on_pause: OnPause<'_>) {
        while let Some(recognised) = self.pending.pop_front() {
            self.resolve_one(recognised, names, on_pause);
        }
    }

    /// From now on what lane time counts as is kept for [`Analysis::parts`].
    pub fn keep_parts(&mut self) {
        if let Some(account) = &mut self.account {
            account.keep_pieces();
        }
    }

    /// Hands out what each lane's time counts as, as far as that was settled since the last call.
    pub fn parts(&mut self, on_part: OnPart<'_>) {
        if let Some(account) = &mut self.account {
            account.pieces(on_part);
        }
    }

    /// No more events follow: settles what is left. [`Analysis::finish`] does so, too.
    pub fn settle_all(&mut self, names: &Names, on_pause: OnPause<'_>) {
        self.resolve_all(names, on_pause);
        self.settle(Time(u64::MAX));
        let used = self.evidence.usable(&self.context);
        if self.evidence.seen(&self.context) && !used {
            self.summary.sums.void_causes();
        }
        self.divide_rest(used);
    }

    /// Sums from the start to `at`, a moment up to which events were taken in. The difference of two makes a window.
    pub fn standing(&mut self, at: Time) -> Totals {
        self.settle(self.evidence.ready(&self.context, self.at.now));
        self.divide(self.pending.iter().map(|next| next.pause.begin()).min());
        let parts = self.account.as_ref().map(Sweep::parts).unwrap_or_default();
        let used = self.evidence.usable(&self.context);
        let span_ns = at.since(self.context.started.unwrap_or(at));
        let mut lanes = self.lanes(used, at, span_ns, self.summary.sums.stopped_ns());
        // A program that creates domains all the time accumulates lanes that have ended.
        let before = std::mem::replace(&mut self.at.last_standing, at);
        lanes.retain(|lane| self.lanes.lives_at(LaneId(lane.id), before));
        let tracks = used.then_some(&self.evidence.tracks);
        let spent = tracks.map(|tracks| self.lanes.spent(tracks, at, self.spent_ns(&lanes)));
        let by_name = self.held.by_name.iter().map(|(name, (part, _))| (*name, part.ns())).collect();
        let all = self.context.kernel.as_ref().is_some_and(|kernel| kernel.system_wide);
        let held = tracks.filter(|_| all).map(|_| HeldSums {
            quota_ns: self.held.quota.ns(),
            foreign_ns: self.held.foreign.ns(),
            sibling_ns: self.held.sibling.ns(),
            by_name,
        });
        let quotas = self.evidence.counters.quotas_set().collect();
        Totals { at, spent, collect_ns: self.summary.sums.collect_sum_ns, lanes, parts, held, quotas, stm: None }
    }

    /// The lanes at `end`; `used`: the kernel's events are used.
    fn lanes(&self, used: bool, end: Time, span_ns: u64, pauses_ns: u64) -> Vec<Lane> {
        let tracks = used.then_some(&self.evidence.tracks);
        let info = self.context.runtime.info();
        let fixed = info.lane_threads == Serving::Fixed;
        let outside = |lane| fixed.then(|| self.folds.outside(lane));
        self.lanes.lanes(tracks, end, (span_ns, pauses_ns), info.lane.0, outside, self.threads.as_ref())
    }

    /// CPU time outside pauses that threads spent on other things than the program.
    fn spent_ns(&self, lanes: &[Lane]) -> u64 {
        let slices: u64 = lanes.iter().filter_map(|lane| lane.slice_ns).sum();
        self.folds.led_ns().saturating_add(slices)
    }

    /// First and last moment of the recording.
    fn span(&self) -> (Time, Time) {
        let (first, last) = self.at.runtime.unwrap_or((self.at.now, self.at.now));
        let started = self.context.started.unwrap_or(first);
        (started, self.context.ended.unwrap_or(last).max(last).max(started))
    }

    /// The latest event.
    pub fn now(&self) -> Time {
        self.at.now
    }

    /// The latest event of the log; `None`: none came.
    pub fn log_until(&self) -> Option<Time> {
        self.at.runtime.map(|span| span.1)
    }

    /// No more events follow: hands out what lanes did until the end. Returns the loss of pauses that had only
    /// been requested.
    pub fn end(&mut self, on_segment: OnSegment<'_>) -> Option<Loss> {
        let last = self.log_until().unwrap_or(self.at.now);
        let end = self.span().1;
        let Analysis { timeline, account, .. } = self;
        let dropped = timeline.finish(last, end, &mut |lane, piece| {
            if let Some(account) = account {
                account.segment(lane, piece);
            }
            on_segment(lane, piece);
        });
        self.pending.extend(self.timeline.pauses());
        dropped
    }

    /// Ends the stream: resolves what is left and assembles the results.
    pub fn finish(mut self, names: &Names, tail: Tail, on_pause: OnPause<'_>) -> Results {
        let dropped = self.end(&mut |_, _| {});
        self.settle_all(names, on_pause);
        let used = self.evidence.usable(&self.context);
        let mut losses = std::mem::take(&mut self.context.losses);
        losses.extend(tail.losses.iter().cloned());
        losses.extend(dropped);
        if let Some(runtime) = tail.runtime.clone() {
            self.context.runtime = runtime;
        }
        Results { losses, ..self.results(names, tail, used) }
    }

    fn divide_rest(&mut self, used: bool) {
        let last = self.log_until().unwrap_or(self.at.now);
        let Some(account) = &mut self.account else { return };
        let judge = self.evidence.judge(&self.context, used);
        account.finish(&By { judge: &judge, threads: self.threads.as_ref(), kernel: used }, last);
        if self.evidence.seen(&self.context) && !used {
            account.without_kernel();
        }
    }

    fn results(mut self, names: &Names, tail: Tail, used: bool) -> Results {
        let (started, end) = self.span();
        let span_ns = end.since(started);
        let mut results = Results { schema: SCHEMA, started, span_ns, ..Results::default() };
        results.code = self.evidence.code.values(&self.context.symbols);
        results.waits.clone_from(&self.context.waits);
        results.transactions = self.context.stm.as_ref().and_then(|stm| stm.values(Some(end)));
        (results.account, results.slowest_pauses) = self.accounts(names, end);
        self.judged(names, used, end, &mut results);
        results.spectrum = self.summary.spectrum();
        let collect_sum_ns = self.summary.sums.collect_sum_ns;
        (results.pauses, results.mmu) = std::mem::take(&mut self.summary).finish(span_ns, end);
        results.lanes = self.lanes(used, end, span_ns, results.pauses.total_ns);
        let tracks = used.then_some(&self.evidence.tracks);
        let spent_ns = self.spent_ns(&results.lanes);
        results.productivity = self.lanes.productivity(tracks, end, collect_sum_ns, span_ns, spent_ns);
        let recorder_held_ns = results.tracer.recorder_held_ns;
        let logged = self.at.runtime.is_some();
        let code = results.code.is_some().then_some(&self.evidence.code);
        let end = End { context: &self.context, tail: &tail, end, span_ns, logged, kernel: used, code };
        self.folds.each(|fold| fold.result(&end, &mut results));
        results.tracer.recorder_held_ns = recorder_held_ns;
        if used && let Some(account) = &results.account {
            fill_from_account(account, &mut results.lanes, &mut results.productivity);
        }
        results.requests = self.requests.map(|requests| requests.finish(used));
        results.source = tail.source.unwrap_or(self.context.source);
        results.program = self.context.program;
        results.runtime = self.context.runtime;
        results.heaps = self.context.heaps;
        results.heaps_left_out = self.context.heaps_left_out;
        results.drawing.symbols = self.context.symbols;
        results
    }

    /// The accounts of the whole recording and of the slowest pauses.
    fn accounts(&mut self, names: &Names, end: Time) -> (Option<Account>, Option<SlowestPauses>) {
        let given_back = self.given_back(end).unwrap_or(0.0);
        let Some((sums, slowest)) = self.account.take().map(Sweep::counted) else { return (None, None) };
        let words = Words { names, symbols: &self.context.symbols, waits: self.context.waits.as_ref(), given_back };
        let whole = account(&sums, &words);
        // Looks happen between pauses, so waits say nothing about them.
        let words = Words { waits: None, ..words };
        let slowest = slowest.map(|Together { pauses, least_ns, sums }| SlowestPauses {
            count: pauses,
            least_ns,
            account: account(&sums, &words),
        });
        (Some(whole), slowest)
    }

    /// Of page faults that touched memory first, the share on memory that had been given back; `None` where page
    /// faults or resident memory were not counted.
    fn given_back(&self, end: Time) -> Option<f64> {
        let resident = self.folds.get::<Lines>().and_then(|lines| lines.levels(end).rss_bytes)?;
        let (minor, _) = self.evidence.counters.faults()?;
        let symbols = &self.context.symbols;
        let known = |symbol: &Symbol| symbol.is_fault() && symbol.source.as_deref() != Some(PAGE_FAULT);
        let first = |symbol: &Symbol| symbol.source.as_deref() == Some(FIRST_TOUCH);
        let [known, first] =
            [self.evidence.code.running_ns(symbols, known), self.evidence.code.running_ns(symbols, first)];
        Some(if known > 0 { given_back(minor, first as f64 / known as f64, resident.max) } else { 0.0 })
    }

    /// What follows from all evidence together: findings, causes, the state of the kernel side.
    fn judged(&self, names: &Names, used: bool, end: Time, results: &mut Results) {
        let (tracks, sums) = (used.then_some(&self.evidence.tracks), &self.summary.sums);
        let general: General = Default::default();
        let facts = Facts {
            context: &self.context,
            names,
            span_ns: results.span_ns,
            started: results.started,
            end,
            lanes: self.timeline.recogniser().lanes_in_the_end(),
            runtime: self.context.runtime.info(),
            sums,
            held: tracks.map(|_| &self.held),
            wakes: tracks.map(|tracks| tracks.wakes),
            recorder: self.held.recorder(names, |tid| self.evidence.tracks.pid(tid)),
            names_next: self.evidence.tracks.names_next,
            symbols: &self.context.symbols,
            code: results.code.is_some().then_some(&self.evidence.code),
            counters: &self.evidence.counters,
            given_back: self.given_back(end),
            disturbance: self.folds.get().unwrap_or(&general.0),
            lines: self.folds.get().unwrap_or(&general.1),
            allocation: self.folds.get().unwrap_or(&general.2),
            collections: self.folds.get().unwrap_or(&general.3),
            account: results.account.as_ref(),
            green: self.folds.get().unwrap_or(&general.4),
            transactions: results.transactions.as_ref(),
            lane_cpu: match results.transactions {
                Some(_) => self.lanes.ran_ns(tracks, end),
                None => BTreeMap::new(),
            },
            heaps: &self.context.heaps,
            folds: &self.folds,
            quotas: self.evidence.counters.quota_totals().collect(),
        };
        let mut rules = runtimes::rules_of(facts.runtime);
        rules.retain(|rule| !self.context.rules_off.iter().any(|id| id == rule.id));
        results.findings = findings::run(&rules, &facts);
        results.checked = findings::checked(&rules, &facts, &results.findings);
        results.tracer.recorder_held_ns = findings::recorder_held_ns(&facts);
        let others_held_ns = findings::others_held_ns(&facts);
        results.kernel = KernelView { others_held_ns, ..self.evidence.view(&self.context, used) };
        results.causes = sums.causes(names, &self.context.symbols);
        results.stragglers = sums.stragglers();
        results.held_up = sums.held_up();
    }
}

/// Fills in from the account what a lane's own threads do not show: program and idle time, and so productivity.
fn fill_from_account(account: &Account, lanes: &mut [Lane], productivity: &mut Productivity) {
    let ns = |parts: &[Node], id: &str| parts.iter().find(|part| part.id == id).map_or(0, |part| part.ns);
    for lane in lanes {
        let Some(of) = account.lanes.iter().find(|of| of.lane.0 == lane.id) else { continue };
        lane.mutator_ns = lane.mutator_ns.or(Some(ns(&of.parts, "program")));
        lane.idle_ns = lane.idle_ns.or(Some(ns(&of.parts, "idle")));
    }
    let busy = account.lanes_ns - ns(&account.parts, "idle") - ns(&account.parts, "not-known");
    let share = (busy > 0).then(|| ns(&account.parts, "program") as f64 / busy as f64);
    productivity.wall = productivity.wall.or(share);
}

/// Folds that rules query; a missing one counts as having seen nothing.
type General = (Disturbance, Lines, Allocation, Collections, GreenThreads);

/// Every fold, in the order of their results: [`Rates`] come after the memory lines that they are drawn over.
fn folds(context: &Context) -> Vec<Box<dyn Fold>> {
    let mut list: Vec<Box<dyn Fold>> = vec![
        Box::<Lines>::default(),
        Box::<Ledger>::default(),
        Box::<Rates>::default(),
        Box::<Allocation>::default(),
        Box::<Collections>::default(),
        Box::<Phases>::default(),
        Box::<Disturbance>::default(),
        Box::<Forks>::default(),
        Box::new(GreenThreads::new(context)),
        Box::<HeapProfiles>::default(),
        Box::<User>::default(),
        Box::<OverTime>::default(),
        Box::<WorstPauses>::default(),
    ];
    list.extend(runtimes::of(context).folds(context));
    list
}

#[cfg(test)]
#[path = "findings/code_tests.rs"]
mod code_findings;
#[cfg(test)]
#[path = "analysis_tests.rs"]
mod tests;
