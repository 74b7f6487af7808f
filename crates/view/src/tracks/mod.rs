//! A recording as tracks: observes its analysis and writes what each lane, each kernel thread and each figure did
//! into levels of detail.
//!
//! Owns which events become which track, and the names of tracks. The states themselves come from
//! `rtscope_analyze::lanes::timeline`. Memory is bounded for any recording; the session says what is left out
//! for that.

mod details;
mod layout;
mod pen;
mod sheet;

pub use crate::session::SessionParts;
use rtscope_report::kinds::{SpanKind, of_cause};

use details::{Details, NameSource};
use pen::Pen;
use rtscope_analyze::basis::compose::{Composer, Segment};
use rtscope_analyze::blame::CpuHolder;
use rtscope_analyze::blame::threads::{ThreadState, ThreadStates};
use rtscope_analyze::kernel::called;
use rtscope_analyze::lanes::timeline::{Doing, LaneDetail, OwnSpans};
use rtscope_analyze::results::BlamedPause;
use rtscope_analyze::{AccountPart, Context};
use rtscope_encode::Tables;
use rtscope_levels::{OTHER, Writer};
use rtscope_model::manifest::{Group, Manifest};
use rtscope_model::runtime::{self, RuntimeInfo};
use rtscope_model::{
    Body, Class, Classes, Counter, Event, LaneId, NameId, Names, PauseKind, PauseMode, Runtime, Sample, Sched, Tid,
    Time, UserEvent,
};
use rtscope_read::observer::Observer;
use sheet::{CounterKey, Key, Sheet};
use std::collections::{BTreeMap, HashMap};
use std::io::{self, Write};

/// Maximum threads whose names and lanes are remembered.
const THREADS_MAX: usize = 1 << 14;
/// Maximum values of the program with a track of their own.
const OWN_VALUES_MAX: usize = 64;
/// Maximum parts of the account that are distinguished: each process that took a CPU is one.
const PARTS_MAX: u16 = 4_096;

/// Writes the tracks of a recording.
pub struct Tracks<W> {
    sheet: Sheet<W>,
    details: Details,
    /// Whether there is a runtime, and so lanes.
    lanes: bool,
    /// Whether runs of green threads were seen.
    runs: bool,
    threads: Option<ThreadStates>,
    own: OwnSpans,
    concurrent: Composer<u16>,
    own_values: BTreeMap<NameId, String>,
    /// Names of threads as last seen.
    names: HashMap<Tid, (NameId, String)>,
    /// How often a thread served a lane in a pause.
    served: HashMap<Tid, BTreeMap<LaneId, u64>>,
    groups: Vec<Group>,
    runtime: &'static RuntimeInfo,
    /// Whether kernel events and samples are on the runtime's clock.
    joined: bool,
    /// Whether there were some that are not, and so are not shown.
    not_shown: bool,
    /// For lines drawn as differences: the first sample, and the time of the last one.
    counted: BTreeMap<CounterKey, (i64, Time)>,
    /// The numbers of parts of the account, in the order in which they came.
    parts: BTreeMap<AccountPart, u16>,
}

impl<W: Write + Send + 'static> Tracks<W> {
    /// Writes tracks into `writer`, which is new.
    ///
    /// # Errors
    /// The thread that writes them cannot be started.
    pub fn new(writer: Writer<W>) -> io::Result<Self> {
        Ok(Tracks {
            sheet: Sheet::new(Pen::new(writer)?),
            details: Details::default(),
            lanes: false,
            runs: false,
            threads: None,
            own: OwnSpans::default(),
            concurrent: Composer::default(),
            own_values: BTreeMap::new(),
            names: HashMap::new(),
            served: HashMap::new(),
            groups: Vec::new(),
            runtime: &runtime::UNKNOWN,
            joined: false,
            not_shown: false,
            counted: BTreeMap::new(),
            parts: BTreeMap::new(),
        })
    }

    fn runtime(&mut self, event: &Event, body: Runtime, tables: Tables<'_>) {
        let Tracks { sheet, details, .. } = self;
        match body {
            Runtime::ThreadRun(_) => return self.runs = true,
            Runtime::ThreadStop(..) => return,
            Runtime::Count(counter, value) => {
                if let Some(line) = line_of(counter) {
                    sheet.value(Key::Line(line), event.time, i64::try_from(value).unwrap_or(i64::MAX));
                }
                return;
            }
            Runtime::TaskCreated(tid) => {
                if let Some(threads) = &mut self.threads {
                    threads.adopt(tid);
                }
                if event.lane.is_some() {
                    self.serves(tid, event.lane);
                }
                return;
            }
            Runtime::ConcurrentMarkBegin => self.concurrent(event.time, Some(SpanKind::ConcurrentMark.id())),
            Runtime::ConcurrentSyncBegin => self.concurrent(event.time, Some(SpanKind::ConcurrentSync.id())),
            Runtime::ConcurrentSweepBegin => self.concurrent(event.time, Some(SpanKind::ConcurrentSweep.id())),
            Runtime::ConcurrentMarkEnd | Runtime::ConcurrentSyncEnd | Runtime::ConcurrentSweepEnd => {
                self.concurrent(event.time, None);
            }
            Runtime::User(name, UserEvent::Mark) => {
                let detail = details.name(NameSource::User, name, || tables.user.get(name));
                sheet.mark(Key::Marks(event.lane), event.time, SpanKind::Mark.id(), detail);
                return;
            }
            Runtime::User(name, UserEvent::Value(value)) => {
                if self.own_values.len() < OWN_VALUES_MAX || self.own_values.contains_key(&name) {
                    self.own_values.entry(name).or_insert_with(|| tables.user.get(name).to_owned());
                    sheet.value(Key::OwnValue(name), event.time, value);
                }
                return;
            }
            _ => {}
        }
        let Tracks { sheet, details, .. } = self;
        self.own.push(event, &mut |lane, line| {
            let detail = details.name(NameSource::User, line.state, || tables.user.get(line.state));
            sheet.span(Key::OwnSpans(lane), line.from, line.to, SpanKind::Own.id(), detail);
        });
        if let Runtime::User(name, UserEvent::Begin) = body {
            details.name(NameSource::User, name, || tables.user.get(name));
        }
    }

    fn concurrent(&mut self, time: Time, kind: Option<u16>) {
        let sheet = &mut self.sheet;
        self.concurrent.enter(time, kind);
        self.concurrent.flush(time.plus(1), &mut |line| sheet.span(Key::Concurrent, line.from, line.to, line.state, 0));
    }

    fn kernel(&mut self, event: &Event, tables: Tables<'_>) {
        let Tracks { sheet, details, .. } = self;
        if let Some(threads) = &mut self.threads {
            threads.push(event, &mut |tid, line| draw_thread(sheet, details, tables.kernel, tid, &line));
        }
        match event.body {
            Body::Sched(Sched::Switch { next, next_name, .. }) => self.called(next, next_name, tables.kernel),
            Body::Sched(Sched::Named { tid, name }) => self.called(tid, name, tables.kernel),
            Body::Sample(sample) => self.sample(event.time, &sample),
            _ => {}
        }
    }

    fn sample(&mut self, time: Time, sample: &Sample) {
        let bytes = |bytes: u64| i64::try_from(bytes).unwrap_or(i64::MAX);
        let (line, value) = match *sample {
            Sample::Rss { bytes: resident } => (CounterKey::Resident, bytes(resident)),
            Sample::GroupMemory { group, bytes: charged } => (CounterKey::GroupMemory(group), bytes(charged)),
            Sample::Quota { group, throttled_ns, .. } => (CounterKey::Throttled(group), bytes(throttled_ns)),
            Sample::CpuStolen { cpu, steal_ns, .. } => (CounterKey::Stolen(cpu), bytes(steal_ns)),
            _ => return,
        };
        match line {
            // Counters that began before the recording; one that never moves is not worth a line.
            CounterKey::Throttled(_) | CounterKey::Stolen(_) => {
                let (first, before) = self.counted.entry(line).or_insert((value, time));
                if value > *first {
                    let since = std::mem::replace(before, time);
                    let from = value.saturating_sub(*first);
                    if self.sheet.is_new(Key::Line(line)) {
                        self.sheet.value(Key::Line(line), since, 0);
                    }
                    self.sheet.value(Key::Line(line), time, from);
                } else {
                    *before = time;
                }
            }
            _ => self.sheet.value(Key::Line(line), time, value),
        }
    }

    /// Notes the name of a thread.
    fn called(&mut self, tid: Tid, name: NameId, names: &Names) {
        if tid == Tid::IDLE || name == NameId::default() {
            return;
        }
        let room = self.names.len() < THREADS_MAX;
        match self.names.get_mut(&tid) {
            Some(known) if known.0 == name => {}
            Some(known) => *known = (name, names.get(name).to_owned()),
            None if room && self.threads.as_ref().is_some_and(|threads| threads.is_own(tid)) => {
                self.names.insert(tid, (name, names.get(name).to_owned()));
            }
            None => {}
        }
    }

    fn serves(&mut self, tid: Tid, lane: LaneId) {
        if self.served.len() < THREADS_MAX || self.served.contains_key(&tid) {
            *self.served.entry(tid).or_default().entry(lane).or_default() += 1;
        }
    }
}

impl<W: Write + Send + 'static> Observer for Tracks<W> {
    fn classes(&self) -> Classes {
        Classes::NONE.with(Class::Green).with(Class::User)
    }

    fn start(&mut self, context: &Context, _manifest: Option<&Manifest>) {
        let runtime = context.runtime.family.is_some();
        // Without a log there is only the kernel's clock.
        self.joined = context.clock.is_monotonic() || !runtime;
        if let Some(started) = context.started.filter(|_| self.joined) {
            self.sheet.start(started);
        }
        self.lanes = runtime;
        self.threads = self.joined.then(|| ThreadStates::new(context));
        self.groups = context.groups.clone();
        self.runtime = context.runtime.info();
    }

    fn lanes(&self) -> LaneDetail {
        LaneDetail::States
    }

    fn segment(&mut self, lane: LaneId, piece: &Segment<Doing>, _tables: Tables<'_>) {
        self.sheet.lane(lane, piece.from, piece.to, piece.state.state.number());
    }

    fn wants_parts(&self) -> bool {
        true
    }

    fn part(&mut self, lane: LaneId, piece: &Segment<AccountPart>, _tables: Tables<'_>) {
        let next = u16::try_from(self.parts.len()).map_or(PARTS_MAX, |next| next.min(PARTS_MAX));
        let number = match self.parts.get(&piece.state) {
            Some(number) => *number,
            None if next < PARTS_MAX => *self.parts.entry(piece.state).or_insert(next),
            None => OTHER,
        };
        self.sheet.part((lane, piece.state.top()), piece.from, piece.to, number);
    }

    fn event(&mut self, event: &Event, tables: Tables<'_>) {
        match event.body {
            Body::Runtime(body) => {
                self.sheet.start(event.time);
                self.runtime(event, body, tables);
            }
            Body::Sched(_) | Body::Sample(_) if self.joined => {
                if !self.lanes {
                    self.sheet.start(event.time);
                }
                self.kernel(event, tables);
            }
            Body::Sched(_) | Body::Sample(_) => self.not_shown = true,
            Body::Code(_) => {}
        }
    }

    fn pause(&mut self, blamed: &BlamedPause, tables: Tables<'_>) {
        let pause = &blamed.pause;
        let sheet = &mut self.sheet;
        if let (Some(requested), false) = (pause.requested, pause.mode == PauseMode::NonThreaded) {
            let waiting = SpanKind::WaitingToStop.id();
            sheet.span(Key::Pauses, requested, pause.stopped, waiting, 0);
        }
        sheet.span(Key::Pauses, pause.stopped, pause.collected, of_work(pause.kind), 0);
        let release = SpanKind::Release.id();
        sheet.span(Key::Pauses, pause.collected, pause.released, release, 0);
        if let Some(bytes) = pause.copied_bytes {
            let bytes = i64::try_from(bytes).unwrap_or(i64::MAX);
            sheet.value(Key::Line(CounterKey::Copied), pause.collected, bytes);
        }
        for piece in &blamed.causes {
            let thread = piece.who.map(|name| self.details.name(NameSource::Kernel, name, || tables.kernel.get(name)));
            let code = || piece.code.map_or(0, |code| self.details.of(called(tables.symbols.get(code))));
            let detail = thread.unwrap_or_else(code);
            sheet.span(Key::Causes, piece.from, piece.to, of_cause(piece.cause), detail);
        }
        for part in &pause.lanes {
            if let Some(tid) = part.tid {
                self.serves(tid, part.lane);
            }
        }
    }
}

/// The line for a counter of the runtime, if it has one.
fn line_of(counter: Counter) -> Option<CounterKey> {
    match counter {
        Counter::HeapBytes => Some(CounterKey::Heap),
        Counter::BlocksBytes => Some(CounterKey::Blocks),
        Counter::LiveBytes => Some(CounterKey::Live),
        Counter::LargeBytes => Some(CounterKey::Large),
        _ => None,
    }
}

/// Draws a thread's state, with the CPU that it runs on or the thread that has the CPU it waits for.
fn draw_thread<W: Write + Send + 'static>(
    sheet: &mut Sheet<W>,
    details: &mut Details,
    names: &Names,
    tid: Tid,
    line: &Segment<ThreadState>,
) {
    let mut of_name = |tid: Tid, name: NameId| match details.name(NameSource::Kernel, name, || names.get(name)) {
        0 => details.of(&format!("thread {tid}")),
        number => number,
    };
    let detail = match line.state {
        ThreadState::Running(Some(cpu)) => details.of(&format!("CPU {cpu}")),
        ThreadState::WaitsFor(CpuHolder::Foreign { tid, name }) => of_name(tid, name),
        ThreadState::WaitsFor(CpuHolder::Quota { neighbour: Some((tid, name)) }) => of_name(tid, name),
        ThreadState::WaitsFor(CpuHolder::Sibling { tid }) => details.of(&format!("thread {tid}")),
        _ => 0,
    };
    sheet.span(Key::Thread(tid), line.from, line.to, of_thread(line.state), detail);
}

/// The kind of span for a kernel thread's state.
fn of_thread(state: ThreadState) -> u16 {
    match state {
        ThreadState::Running(_) => SpanKind::Running.id(),
        ThreadState::WaitsFor(CpuHolder::Quota { .. }) => SpanKind::Throttled.id(),
        ThreadState::WaitsFor(CpuHolder::Foreign { .. }) => SpanKind::WaitsForCpu.id(),
        ThreadState::WaitsFor(CpuHolder::Sibling { .. }) => SpanKind::Queued.id(),
        ThreadState::WaitsFor(CpuHolder::IdleCpu) => SpanKind::IdleCpu.id(),
        ThreadState::WaitsFor(CpuHolder::Unknown) => SpanKind::NotScheduled.id(),
        ThreadState::Asleep => SpanKind::Asleep.id(),
        ThreadState::Blocked => SpanKind::Blocked.id(),
    }
}

/// The kind of span for the work of a pause.
fn of_work(kind: PauseKind) -> u16 {
    match kind {
        PauseKind::Minor => SpanKind::Collecting.id(),
        PauseKind::Major => SpanKind::CollectingMajor.id(),
        PauseKind::ConcurrentSync => SpanKind::ConcurrentSync.id(),
        PauseKind::Compaction | PauseKind::Layout | PauseKind::Unknown => SpanKind::OtherWork.id(),
    }
}
