//! The fold over one time-ordered stream: hands each event to the folds that
//! ask for it, holds a pause back until the kernel events and counters behind
//! it are there, and puts the results together.
//!
//! Owns the order in which folds speak. Memory is bounded whatever the length
//! of the stream: histories reach back as far as open pauses can ask, and each
//! has a bound of its own.

use crate::blame::held::Held;
use crate::blame::{Holder, Judge};
use crate::collector::allocation::Allocation;
use crate::collector::collections::Collections;
use crate::collector::concurrent::Phases;
use crate::context::{Context, Tail, loss_of_log};
use crate::findings::{self, Facts};
use crate::kernel::code::CodeSamples;
use crate::kernel::samples::Counters;
use crate::kernel::sched::Tracks;
use crate::lanes::lane_thread::{LaneThreads, Votes};
use crate::lanes::still::Still;
use crate::lanes::times::{Beside, LaneTimes};
use crate::lanes::tracer::Disturbance;
use crate::memory::counters::Rates;
use crate::memory::heap_profile::HeapProfiles;
use crate::memory::ledger::Ledger;
use crate::memory::lines::Lines;
use crate::pauses::drawing::{OverTime, Worst};
use crate::pauses::summary::Summary;
use crate::pauses::{Recognise, Recognised};
use crate::program::green::GreenThreads;
use crate::program::requests::Join;
use crate::program::user::User;
use crate::results::{BlamedPause, Drawing, KernelView, Lane, Results, SCHEMA};
use crate::runtimes::ghc::sparks::Sparks;
use crate::runtimes::ghc::triggers::Triggers;
use crate::runtimes::ocaml::answers::Answers;
use crate::runtimes::ocaml::domains::Domains;
use crate::runtimes::ocaml::leadership::Leadership;
use crate::runtimes::ocaml::slices::Slices;
use crate::runtimes::recogniser;
use crate::window::{HeldSums, Standing};
use rtscope_model::manifest::Tier;
use rtscope_model::runtime;
use rtscope_model::{
    Body, Class, Classes, ClockMethod, Event, LaneId, Loss, Names, PauseQuality, Runtime, Sched, Tid, Time,
};
use std::collections::{BTreeMap, VecDeque};

/// How long a pause waits for the counters behind it, nanoseconds.
const COUNTERS_WAIT_NS: u64 = 200_000_000;
/// Pauses that may wait at a time.
const PENDING_MAX: usize = 4_096;
/// Scheduling events between two prunings of the history.
const PRUNE_EVERY: u32 = 4_096;
/// History kept before the oldest question, nanoseconds: a wait begins before
/// the request that asks about it.
const SLACK_NS: u64 = 200_000_000;
/// How long, and how many at most, losses are remembered that came while the stream goes
/// on, nanoseconds.
const LOSSES_KEPT_NS: u64 = 60_000_000_000;
const LOSSES_MAX: usize = 1_024;
/// Threads whose last lane is remembered.
const LAST_LANES_MAX: usize = 4_096;

/// How many arrivals fell while a thread of the program was on a CPU.
#[derive(Copy, Clone, Default)]
struct Sanity {
    arrivals: u64,
    missed: u64,
}

impl Sanity {
    /// At least 99 %; a single miss among few arrivals is forgiven.
    fn holds(self) -> bool {
        self.missed.saturating_mul(100) <= self.arrivals.max(100)
    }

    fn share(self) -> Option<f64> {
        (self.arrivals > 0).then(|| 1.0 - self.missed as f64 / self.arrivals as f64)
    }
}

/// The analysis.
pub struct Analysis {
    context: Context,
    recogniser: Box<dyn Recognise>,
    tracks: Tracks,
    threads: LaneThreads,
    leadership: Leadership,
    slices: Slices,
    answers: Answers,
    counters: Counters,
    held: Held,
    summary: Summary,
    lanes: LaneTimes,
    lines: Lines,
    ledger: Ledger,
    rates: Rates,
    user: User,
    heap_profiles: HeapProfiles,
    disturbance: Disturbance,
    allocation: Allocation,
    phases: Phases,
    sparks: Sparks,
    code: CodeSamples,
    collections: Collections,
    triggers: Triggers,
    green: GreenThreads,
    requests: Option<Join>,
    over_time: OverTime,
    worst: Worst,
    pending: VecDeque<Recognised>,
    finished: Vec<Recognised>,
    last_lane: BTreeMap<Tid, LaneId>,
    sanity: Sanity,
    now: Time,
    /// The moment of the last [`Analysis::standing`].
    stood: Time,
    /// First and last event of the runtime.
    runtime_span: Option<(Time, Time)>,
    pauses_until: Time,
    since_prune: u32,
}

impl Analysis {
    /// The classes of runtime events that it wants.
    pub const CLASSES: Classes = Classes::NONE
        .with(Class::Collection)
        .with(Class::Heap)
        .with(Class::Lanes)
        .with(Class::GreenEdges)
        .with(Class::Concurrent)
        .with(Class::Tracer)
        .with(Class::Sparks)
        .with(Class::User)
        .with(Class::HeapProfile);
    /// The same with every run and stop of green threads, for
    /// [`Context::every_green_event`].
    pub const CLASSES_GREEN: Classes = Analysis::CLASSES.with(Class::Green);

    /// An analysis of the recording that `context` describes.
    pub fn new(mut context: Context) -> Self {
        let mut analysis = Analysis {
            recogniser: recogniser(&context),
            tracks: Tracks::new(context.program_pid, &context.program_tids),
            threads: lane_threads(&context),
            leadership: Leadership::default(),
            slices: Slices::default(),
            answers: Answers::default(),
            counters: Counters::new(context.sample_period_ns),
            held: Held::default(),
            summary: Summary::default(),
            lanes: LaneTimes::default(),
            lines: Lines::default(),
            ledger: Ledger::default(),
            rates: Rates::default(),
            user: User::default(),
            heap_profiles: HeapProfiles::default(),
            disturbance: Disturbance::default(),
            allocation: Allocation::default(),
            phases: Phases::default(),
            sparks: Sparks::default(),
            code: CodeSamples::default(),
            collections: Collections::default(),
            triggers: Triggers::new(&context),
            green: GreenThreads::new(&context),
            requests: context.requests.take(),
            over_time: OverTime::default(),
            worst: Worst::default(),
            pending: VecDeque::new(),
            finished: Vec::new(),
            last_lane: BTreeMap::new(),
            sanity: Sanity::default(),
            now: Time::default(),
            stood: Time::default(),
            runtime_span: None,
            pauses_until: Time::default(),
            since_prune: 0,
            context,
        };
        if let Some(started) = analysis.context.started {
            analysis.start(started);
        }
        analysis
    }

    fn start(&mut self, at: Time) {
        self.summary.start(at);
        self.over_time.start(at);
        self.rates.start(at);
    }

    /// Takes one event; finished pauses are handed to `on_pause`, nearly in
    /// the order of their stops.
    pub fn push(&mut self, event: &Event, names: &Names, on_pause: &mut dyn FnMut(&BlamedPause)) {
        self.now = self.now.max(event.time);
        match event.body {
            Body::Runtime(body) => self.runtime(event, body),
            Body::Sched(sched) => {
                if let Some(wait) = self.tracks.push(event.time, &sched) {
                    self.held.push(wait);
                }
                self.threads.kernel(event.time, &sched, &self.tracks);
                if let Sched::Fork { parent, child, child_pid } = sched
                    && child_pid.0 == child.0
                    && self.tracks.is_own(parent)
                {
                    self.answers.forked_by(parent, event.time);
                }
                self.since_prune += 1;
            }
            Body::Code(sample) => {
                self.code.push(event.time, &sample);
                self.since_prune += 1;
            }
            Body::Sample(sample) => {
                self.counters.push(event.time, &sample);
                self.lines.push(event);
                self.ledger.push(event);
                self.since_prune += 1;
            }
        }
        if !self.pending.is_empty() {
            self.resolve(self.now, names, on_pause);
        }
        if self.since_prune >= PRUNE_EVERY {
            self.prune();
        }
    }

    fn runtime(&mut self, event: &Event, body: Runtime) {
        match &mut self.runtime_span {
            Some(span) => span.1 = span.1.max(event.time),
            None => {
                self.runtime_span = Some((event.time, event.time));
                self.start(self.context.started.unwrap_or(event.time));
            }
        }
        self.ledger.push(event);
        match body {
            Runtime::Count(..) => self.lines.push(event),
            // Nobody else has a use for it.
            Runtime::HeapProfile(_) => return self.heap_profiles.push(event),
            Runtime::TracerWrote { ns } => self.disturbance.wrote(event.time, ns),
            Runtime::TaskCreated(tid) => {
                self.tracks.adopt(tid);
                if event.lane.is_some() {
                    self.lanes.task(event.lane, tid);
                }
                if let Some(domains) = self.threads.domains() {
                    domains.told(event.lane, event.time, tid);
                }
            }
            Runtime::LaneCreated if event.lane.is_some() => {
                self.lanes.seen(event.lane, event.time);
                let error_ns = self.context.clock_error_ns();
                if let Some(domains) = self.threads.domains() {
                    domains.created(event.lane, event.time, &self.tracks, error_ns);
                }
            }
            Runtime::LaneDeleted => {
                self.lanes.ended(event.lane, event.time);
                if let Some(domains) = self.threads.domains() {
                    domains.deleted(event.lane, event.time);
                }
            }
            _ => {}
        }
        if let Some(wait) = self.leadership.push(event)
            && let Some(own) = self.threads.domains().and_then(|domains| domains.own_thread(wait.lane))
        {
            self.leadership.ran(wait.lane, self.tracks.ran_ns(own, wait.from, wait.to));
        }
        self.slices.push(event);
        self.answers.push(event);
        self.collections.push(event);
        self.triggers.push(event);
        self.green.push(event);
        self.allocation.push(event);
        self.rates.push(event);
        self.user.push(event);
        self.phases.push(event);
        self.sparks.push(event);
        self.recogniser.push(event, &mut self.finished);
        // Of most events nothing comes.
        if !self.finished.is_empty() {
            self.pending.extend(self.finished.drain(..));
        }
    }

    fn kernel_usable(&self) -> bool {
        self.context.clock.is_monotonic() && self.tracks.seen() && self.sanity.holds()
    }

    /// Until when kernel events and counters are complete.
    fn ready(&self, now: Time) -> Time {
        let kernel = if self.tracks.seen() { now.minus(self.context.clock_error_ns().saturating_mul(2)) } else { now };
        if !self.counters.seen() {
            return kernel;
        }
        kernel.min(self.counters.covered().max(now.minus(COUNTERS_WAIT_NS)))
    }

    fn resolve(&mut self, now: Time, names: &Names, on_pause: &mut dyn FnMut(&BlamedPause)) {
        let ready = self.ready(now);
        while let Some(next) = self.pending.front() {
            if next.pause.released > ready && self.pending.len() <= PENDING_MAX {
                return;
            }
            if let Some(recognised) = self.pending.pop_front() {
                self.resolve_one(recognised, names, on_pause);
            }
        }
    }

    fn resolve_one(&mut self, mut recognised: Recognised, names: &Names, on_pause: &mut dyn FnMut(&BlamedPause)) {
        let (begin, end) = (recognised.pause.begin(), recognised.pause.released);
        if self.context.losses.iter().any(|loss| loss_of_log(loss, begin, end)) {
            recognised.pause.quality = PauseQuality::Partial;
        }
        self.check_sanity(&recognised);
        let kernel = self.kernel_usable();
        let votes = match kernel {
            true => self.threads.votes(&recognised.marks, &self.tracks, self.context.clock_error_ns()),
            false => Votes::default(),
        };
        let judge = judge(&self.context, &self.tracks, &self.counters, &self.code, &self.last_lane, kernel);
        let causes = judge.blame(&mut recognised, votes);
        let still = Still::of(&recognised, self.recogniser.lanes_on());
        let mut kept_ns = None;
        if kernel {
            // While the last lane is on its way back the others work: what counts
            // as inside ends with the work. A pause may begin inside the one
            // before (concurrent collectors).
            let end = recognised.pause.collected;
            let from = begin.max(self.pauses_until);
            let lanes = &mut self.lanes;
            let each = |tid, ran, waited| lanes.in_pause(tid, ran, waited);
            kept_ns = Some(self.held.pause(&judge, (from, end.max(from)), &still, each));
            self.pauses_until = self.pauses_until.max(end);
        }
        for part in &recognised.pause.lanes {
            if let Some(tid) = part.tid {
                if self.last_lane.len() >= LAST_LANES_MAX {
                    self.last_lane.clear();
                }
                self.last_lane.insert(tid, part.lane);
            }
        }
        let blamed = BlamedPause { pause: recognised.pause, causes, kept_ns };
        if let LaneThreads::Own(domains) = &self.threads {
            let own = |lane| domains.own_thread(lane);
            let ran = |tid, at| self.tracks.was_on_cpu(tid, at, at);
            self.answers.add(&blamed, &recognised.marks, own, ran, &self.leadership);
        }
        self.summary.add(&blamed);
        self.code.pause(&blamed, &self.context.symbols);
        self.collections.add(&blamed);
        self.triggers.add(&blamed, kernel.then_some(&self.tracks));
        self.phases.pause(&blamed.pause);
        self.over_time.add(&blamed.pause);
        if let Some(requests) = &mut self.requests {
            requests.pause(blamed.pause.begin(), blamed.pause.released);
        }
        self.lanes.pause(&blamed.pause, &still);
        if blamed.pause.quality == PauseQuality::Whole {
            self.worst.offer(&blamed, kernel.then_some(&self.tracks), names);
        }
        on_pause(&blamed);
    }

    /// Every arrival was posted by a thread of the program that ran.
    fn check_sanity(&mut self, recognised: &Recognised) {
        if !self.context.clock.is_monotonic() || !self.tracks.seen() {
            return;
        }
        let judge = judge(&self.context, &self.tracks, &self.counters, &self.code, &self.last_lane, true);
        let arrivals = recognised.pause.lanes.iter().filter_map(|lane| lane.arrived);
        for at in arrivals.chain(recognised.pause.leader.map(|_| recognised.pause.stopped)) {
            if let Some(seen) = judge.arrival_seen(at) {
                self.sanity.arrivals += 1;
                self.sanity.missed += u64::from(!seen);
            }
        }
    }

    fn prune(&mut self) {
        self.since_prune = 0;
        self.settle(self.ready(self.now));
        let pending = self.pending.front().map(|next| next.pause.begin());
        let asked = [self.recogniser.oldest(), pending, self.held.oldest()];
        let oldest = asked.into_iter().flatten().min().unwrap_or(self.now);
        let before = oldest.min(self.now).minus(SLACK_NS);
        self.tracks.prune(before);
        self.counters.prune(before);
        self.code.prune(before);
    }

    fn settle(&mut self, ready: Time) {
        let judge = judge(&self.context, &self.tracks, &self.counters, &self.code, &self.last_lane, true);
        let requests = &mut self.requests;
        self.held.settle(&judge, ready, &mut |holder, from, to| {
            if let Some(requests) = requests {
                requests.waited(from, to, matches!(holder, Holder::Quota { .. }));
            }
        });
    }

    /// Something was lost while the stream goes on: pauses that it touches are partial.
    pub fn lose(&mut self, loss: Loss) {
        let before = self.now.minus(LOSSES_KEPT_NS);
        self.context.losses.retain(|known| known.to.is_none_or(|to| to >= before));
        if self.context.losses.len() < LOSSES_MAX {
            self.context.losses.push(loss);
        }
    }

    /// Nothing comes behind what was taken in: pauses that wait for kernel events and counters
    /// are judged by what there is.
    pub fn resolve_all(&mut self, names: &Names, on_pause: &mut dyn FnMut(&BlamedPause)) {
        while let Some(recognised) = self.pending.pop_front() {
            self.resolve_one(recognised, names, on_pause);
        }
    }

    /// Sums from the start to `at`, a moment up to which events were taken in. Two of them
    /// make a window.
    pub fn standing(&mut self, at: Time) -> Standing {
        self.settle(self.ready(self.now));
        let used = self.kernel_usable();
        let tracks = used.then_some(&self.tracks);
        let noun = self.context.runtime.info().lane.0;
        let span_ns = at.since(self.context.started.unwrap_or(at));
        let beside = |lane| beside(&self.threads, &self.leadership, &self.slices, lane);
        let mut lanes = self.lanes.lanes(tracks, at, span_ns, self.summary.sums.stopped_ns(), noun, beside);
        // A program that makes domains all the time leaves those that have ended behind.
        let before = std::mem::replace(&mut self.stood, at);
        lanes.retain(|lane| self.lanes.lives_at(LaneId(lane.id), before));
        let other_ns = spent_ns(&lanes, &self.leadership);
        let spent = tracks.map(|tracks| self.lanes.spent(tracks, at, other_ns));
        let by_name = self.held.by_name.iter().map(|(name, (part, _))| (*name, part.ns())).collect();
        let all = self.context.kernel.as_ref().is_some_and(|kernel| kernel.system_wide);
        let held = tracks.filter(|_| all).map(|_| HeldSums {
            quota_ns: self.held.quota.ns(),
            foreign_ns: self.held.foreign.ns(),
            sibling_ns: self.held.sibling.ns(),
            by_name,
        });
        Standing { at, spent, collect_ns: self.summary.sums.collect_sum_ns(), lanes, held, stm: None }
    }

    /// The stream is over: what is left is resolved, and the results are put
    /// together.
    pub fn finish(mut self, names: &Names, tail: Tail, on_pause: &mut dyn FnMut(&BlamedPause)) -> Results {
        let (first, last) = self.runtime_span.unwrap_or((self.now, self.now));
        let started = self.context.started.unwrap_or(first);
        let end = self.context.ended.unwrap_or(last).max(last).max(started);
        let dropped = self.recogniser.finish(last, &mut self.finished);
        self.pending.extend(self.finished.drain(..));
        self.resolve_all(names, on_pause);
        self.settle(Time(u64::MAX));
        let used = self.kernel_usable();
        if self.tracks.seen() && self.context.clock.is_monotonic() && !used {
            self.summary.sums.void_causes();
        }
        let mut losses = std::mem::take(&mut self.context.losses);
        losses.extend(tail.losses.iter().cloned());
        losses.extend(dropped);
        if let Some(runtime) = tail.runtime.clone() {
            self.context.runtime = runtime;
        }
        let span_ns = end.since(started);
        self.results(names, tail, losses, started, end, span_ns, used)
    }

    #[allow(clippy::too_many_arguments)]
    fn results(
        self,
        names: &Names,
        tail: Tail,
        losses: Vec<Loss>,
        started: Time,
        end: Time,
        span_ns: u64,
        used: bool,
    ) -> Results {
        let tracks = used.then_some(&self.tracks);
        let code = self.code.values(&self.context.symbols);
        let transactions = self.context.stm.as_ref().and_then(|stm| stm.values(Some(end)));
        let facts = Facts {
            context: &self.context,
            names,
            span_ns,
            started,
            end,
            lanes: self.recogniser.lanes_in_the_end(),
            runtime: self.context.runtime.info(),
            leadership: &self.leadership,
            answers: &self.answers,
            sums: &self.summary.sums,
            held: tracks.map(|_| &self.held),
            recorder: self.held.recorder(names, |tid| self.tracks.pid(tid)),
            names_next: self.tracks.names_next(),
            symbols: &self.context.symbols,
            code: code.is_some().then_some(&self.code),
            counters: &self.counters,
            disturbance: &self.disturbance,
            lines: &self.lines,
            allocation: &self.allocation,
            collections: &self.collections,
            triggers: &self.triggers,
            green: &self.green,
            transactions: transactions.as_ref(),
            lane_cpu: if transactions.is_some() { self.lanes.ran_ns(tracks, end) } else { BTreeMap::new() },
            heaps: &self.context.heaps,
            quotas: self.counters.quota_totals().collect(),
        };
        let findings = findings::run(&facts);
        let recorder_held_ns = findings::recorder_held_ns(&facts);
        let others_held_ns = findings::others_held_ns(&facts);
        let forks = findings::forks(&facts);
        let checked = findings::checked(&facts, &findings);
        let causes = self.summary.sums.causes(names, &self.context.symbols);
        let stragglers = self.summary.sums.stragglers();
        let collect_sum_ns = self.summary.sums.collect_sum_ns();
        let spectrum = self.summary.spectrum();
        let (pauses, mmu) = self.summary.finish(span_ns, end);
        let posts_writes = self.context.runtime.info().posts.writes;
        let noun = self.context.runtime.info().lane.0;
        let beside = |lane| beside(&self.threads, &self.leadership, &self.slices, lane);
        let mut lanes = self.lanes.lanes(tracks, end, span_ns, pauses.total_ns, noun, beside);
        let spent_ns = spent_ns(&lanes, &self.leadership);
        self.allocation.fill(&mut lanes, span_ns);
        let nursery = self.allocation.nursery(&self.context.runtime.args);
        let memory_lines = self.lines.drawn();
        Results {
            schema: SCHEMA,
            productivity: self.lanes.productivity(tracks, end, collect_sum_ns, span_ns, spent_ns),
            kernel: KernelView { others_held_ns, ..kernel_view(&self.context, &self.tracks, self.sanity, used) },
            source: tail.source.unwrap_or(self.context.source),
            program: self.context.program,
            runtime: self.context.runtime,
            span_ns,
            started,
            lanes,
            pauses,
            spectrum,
            mmu,
            memory: self.lines.levels(end),
            heap_profile: self.heap_profiles.values(&tail.user_names),
            ledger: self.ledger.lines(&self.context.heaps).unwrap_or_default(),
            heaps: self.context.heaps,
            heaps_left_out: self.context.heaps_left_out,
            allocation_bytes_per_second: self.allocation.per_second(span_ns),
            promotion: self.rates.promotion(),
            counters: self.rates.lines(&memory_lines, end),
            nursery,
            concurrent: self.phases.values(),
            slices: self.slices.values(),
            sparks: self.sparks.values(),
            stragglers,
            causes,
            findings,
            checked,
            losses,
            code,
            green_threads: self.green.values(span_ns),
            user: self.user.values(&tail.user_names),
            transactions,
            requests: self.requests.map(|requests| requests.finish(used)),
            forks,
            tracer: self.disturbance.values(
                self.runtime_span.is_some() && posts_writes,
                self.context.own_cost.as_ref(),
                recorder_held_ns,
            ),
            drawing: Drawing {
                over_time: self.over_time.slices(),
                worst: self.worst.pauses(),
                memory: memory_lines,
                symbols: self.context.symbols,
                lanes: None,
            },
        }
    }
}

/// What a lane that has threads of its own did beside pauses.
fn beside(threads: &LaneThreads, leadership: &Leadership, slices: &Slices, lane: LaneId) -> Option<Beside> {
    let LaneThreads::Own(domains) = threads else { return None };
    let waited = leadership.of(lane);
    let threads = domains.threads(lane).map_or(Vec::new(), |threads| threads.listed());
    Some(Beside {
        leadership_ns: waited.map_or(0, |waited| waited.ns),
        leadership_ran_ns: waited.map_or(0, |waited| waited.ran_ns),
        inferred: leadership.inferred(),
        slice_ns: slices.of(lane),
        threads,
    })
}

/// What threads spent on a CPU outside pauses for other things than the program.
fn spent_ns(lanes: &[Lane], leadership: &Leadership) -> u64 {
    let slices: u64 = lanes.iter().filter_map(|lane| lane.slice_ns).sum();
    leadership.lanes().map(|(_, waited)| waited.ran_ns).sum::<u64>().saturating_add(slices)
}

fn lane_threads(context: &Context) -> LaneThreads {
    match context.runtime.info().lane_threads {
        runtime::LaneThreads::Fixed => LaneThreads::Own(Domains::new(context.program_pid.map(|pid| Tid(pid.0)))),
        runtime::LaneThreads::PerPause => LaneThreads::Anew,
    }
}

fn judge<'a>(
    context: &'a Context,
    tracks: &'a Tracks,
    counters: &'a Counters,
    code: &'a CodeSamples,
    last_lane: &'a BTreeMap<Tid, LaneId>,
    kernel: bool,
) -> Judge<'a> {
    let error_ns = context.clock_error_ns();
    let (symbols, losses) = (&context.symbols, &context.losses[..]);
    let own_threads = context.runtime.info().lane_threads == runtime::LaneThreads::Fixed;
    Judge { tracks, counters, code, symbols, error_ns, kernel, losses, last_lane, own_threads }
}

fn kernel_view(context: &Context, tracks: &Tracks, sanity: Sanity, used: bool) -> KernelView {
    let mut notes = context.kernel.as_ref().map(|kernel| kernel.missing.clone()).unwrap_or_default();
    if context.kernel.is_some() && !used {
        notes.push(if !context.runtime.info().is_known() {
            "Kernel events were not used for causes: there is no log of a runtime to join them with.".into()
        } else if !context.clock.is_monotonic() {
            "Kernel events were not used: the clock of the log could not be joined to the kernel's.".into()
        } else if !tracks.seen() {
            "No scheduling events of the kernel were recorded: causes come from counters, with low confidence.".into()
        } else {
            let share = sanity.share().unwrap_or(0.0) * 100.0;
            format!(
                "Kernel events were not used: only {share:.1} % of {} arrivals fall while a thread of the program is on a CPU \
                 (99 % are needed), so the clocks or the thread ids do not fit.",
                sanity.arrivals
            )
        });
    }
    if tracks.unreported() > 0 {
        notes.push(format!(
            "{} missing from the kernel's records, as later ones show; where that hides when a thread came \
             back, its lane is not told.",
            if tracks.unreported() == 1 {
                "1 switch is".to_owned()
            } else {
                format!("{} switches are", tracks.unreported())
            }
        ));
    }
    if tracks.forgotten() > 0 {
        notes.push(format!(
            "{} scheduling states were dropped because a history was full; waits that reach back to them have an unknown cause.",
            tracks.forgotten()
        ));
    }
    let tier = context.kernel.as_ref().map(|kernel| match kernel.tier {
        Tier::Tracepoints => "tracepoints",
        Tier::CpuWideSwitches => "cpu-wide-switches",
        Tier::OwnSwitches => "own-switches",
        Tier::Polling => "polling",
    });
    let method = match context.clock.method {
        ClockMethod::RuntimeStatic => "runtime-static",
        ClockMethod::WallClockPair => "wall-clock-pair",
        ClockMethod::Monotonic => "monotonic",
        ClockMethod::LogOwn => "log-own",
    };
    KernelView {
        tier: tier.map(str::to_owned),
        used,
        notes,
        sanity: sanity.share(),
        others_held_ns: None,
        clock_method: Some(method.to_owned()),
        clock_error_ns: context.clock.error_ns,
    }
}

#[cfg(test)]
#[path = "findings/code_tests.rs"]
mod code_findings;
#[cfg(test)]
#[path = "analysis_tests.rs"]
mod tests;
