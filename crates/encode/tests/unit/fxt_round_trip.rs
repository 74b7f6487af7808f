//! A trace gives back what was put into it: every kind of event with any values, and the facts of the recording. It
//! is read with the decoder, whose own tests lay out records by hand.

use rtscope_decode::fxt::{Fxt, FxtReader, Record};
use rtscope_encode::{Export, FxtWriter, Tables};
use rtscope_model::exported::SCHEMA;
use rtscope_model::*;
use std::sync::Arc;

fn facts() -> Exported {
    Exported {
        schema: SCHEMA.into(),
        family: Some("ocaml".into()),
        version: Some("5.4.1".into()),
        way: None,
        args: vec!["./prog.exe".into(), "8".into()],
        threaded: None,
        generations: None,
        nursery_bytes: Some(2 << 20),
        program_pid: Some(70),
        clock: ClockMap::LOG_OWN,
        every_green_event: true,
        kernel_missing: vec!["nothing of the host".into()],
        losses: vec![loss("rings/0.ring")],
        transactions: Some("{\"a\": 1}".into()),
        waits: Some("{\"b\": 2}".into()),
        manifest: None,
    }
}

fn loss(source: &str) -> Loss {
    let (kind, note) = (LossKind::Damaged, "some words".to_string());
    Loss { source: source.into(), kind, count: 7, from: Some(Time(5)), to: None, note }
}

fn event(time: u64, lane: LaneId, body: Body) -> Event {
    Event { time: Time(time), lane, body }
}

/// Pseudorandom numbers.
struct Chance(u64);

impl Chance {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        // Sometimes the maximum.
        if self.0.is_multiple_of(16) { u64::MAX } else { self.0 >> (self.0 % 60) }
    }

    fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }

    fn one<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len() as u64) as usize]
    }

    fn tid(&mut self) -> Tid {
        Tid(self.next() as u32)
    }

    fn green(&mut self) -> GreenThread {
        GreenThread(self.next() as u32)
    }

    fn name(&mut self, names: &mut Names) -> NameId {
        let text = match self.below(6) {
            0 => String::new(),
            1 => "zwölf Bäume".to_string(),
            2 => "x".repeat(self.below(200) as usize),
            _ => format!("thread {}", self.below(40)),
        };
        names.intern(&text)
    }

    fn profile(&mut self, user: &mut Names) -> HeapProfile {
        let label = Some(self.name(user)).filter(|label| *label != NameId::default());
        let breakdown = self.one(&[Breakdown::ClosureType, Breakdown::InfoTable, Breakdown::Other]);
        let label = HeapProfile::Label { label, bytes: self.next() };
        self.one(&[HeapProfile::By(breakdown), HeapProfile::Begin, label, HeapProfile::End])
    }

    fn runtime(&mut self, user: &mut Names) -> Runtime {
        use Runtime::*;
        let counters = [Counter::Generation, Counter::HeapBytes, Counter::SparksFizzled, Counter::YoungBytes];
        let counters =
            [&counters[..], &[Counter::PromotedBytes, Counter::OldFreeBytes, Counter::AllocatedBytes]].concat();
        let phases = [Phase::Wanted, Phase::Lead, Phase::Follow, Phase::Barrier, Phase::Minor, Phase::LeaveBarrier];
        let more = [Phase::MajorSlice, Phase::CycleEnd, Phase::Compact, Phase::Interrupt, Phase::Condition];
        let rest =
            [Phase::Explicit, Phase::Finalise, Phase::Resize, Phase::Detail(7), Phase::Detail(27), Phase::Detail(999)];
        let phase = self.one(&[&phases[..], &more, &rest].concat());
        let reasons = [StopReason::Yielded, StopReason::Finished, StopReason::ForeignCall, StopReason::Other];
        let on = [BlockedOn::Lock, BlockedOn::BlackHole(None), BlockedOn::BlackHole(Some(self.green()))];
        let on = [&on[..], &[BlockedOn::Transaction, BlockedOn::Io, BlockedOn::Other]].concat();
        let blocked: Vec<StopReason> = on.into_iter().map(StopReason::Blocked).collect();
        let reason = self.one(&[&reasons[..], &blocked].concat());
        let value = self.next();
        let user_event = [UserEvent::Mark, UserEvent::Begin, UserEvent::End, UserEvent::Value(value as i64)];
        let bodies = [
            StopRequested { parallel: value.is_multiple_of(2) },
            Stopped,
            Resumed,
            WorkBegin,
            WorkIdle,
            WorkEnd,
            GlobalSync,
            Count(self.one(&counters), value),
            ThreadRun(self.green()),
            ThreadStop(self.green(), reason),
            ThreadMoved(self.green()),
            ThreadCreated(self.green()),
            ThreadWoken(self.green()),
            LaneCreated,
            LaneDeleted,
            LaneDisabled,
            LaneEnabled,
            TaskCreated(self.tid()),
            ConcurrentMarkBegin,
            ConcurrentMarkEnd,
            ConcurrentSyncBegin,
            ConcurrentSyncEnd,
            ConcurrentSweepBegin,
            ConcurrentSweepEnd,
            TracerWrote { ns: value },
            PhaseBegin(phase),
            PhaseEnd(phase),
            Forked { child: Pid(value as u32) },
            User(self.name(user), self.one(&user_event)),
            HeapProfile(self.profile(user)),
            Gap,
        ];
        self.one(&bodies)
    }

    fn sched(&mut self, kernel: &mut Names) -> Sched {
        use Sched::*;
        let states = [OffState::Runnable, OffState::Sleeping, OffState::Uninterruptible, OffState::Dead];
        let state = self.one(&[&states[..], &[OffState::Other, OffState::Unknown]].concat());
        let (cpu, tid, name) = (Cpu(self.next() as u16), self.tid(), self.name(kernel));
        let (prev, prev_pid) = (self.tid(), Pid(self.next() as u32));
        let bodies = [
            Switch { cpu, prev, prev_pid, prev_state: state, next: tid, next_name: name },
            SwitchIn { cpu, tid },
            SwitchOut { cpu, tid, preempted: self.below(2) == 0 },
            Waking { waker: prev, target: tid, target_cpu: cpu },
            Migrate { tid, to: cpu },
            Fork { parent: prev, child: tid, child_pid: prev_pid },
            Exit { tid },
            Named { tid, name },
        ];
        self.one(&bodies)
    }

    fn other(&mut self) -> Body {
        let (n, tid, cpu) = (self.next(), self.tid(), Cpu(self.next() as u16));
        let group = GroupId(self.next() as u16);
        let what = self.one(&[Found::Running { ns: n }, Found::Waits]);
        let user = self.one(&[None, Some(SymbolId(3))]);
        let purpose = self.one(&[None, PurposeId::of("stacks")]);
        let code = CodeSample { tid, cpu, leaf: SymbolId(n as u32), user, purpose, what };
        let bodies = [
            Body::Sample(Sample::Rss { bytes: n }),
            Body::Sample(Sample::Quota { group, periods: n, throttled: n / 2, throttled_ns: n / 3 }),
            Body::Sample(Sample::Thread {
                tid,
                voluntary: n,
                involuntary: 1,
                minor_faults: 2,
                major_faults: 3,
                cpu_ns: 4,
                wait_ns: u64::MAX,
            }),
            Body::Sample(Sample::CpuStolen { cpu, steal_ns: n, irq_ns: 1 }),
            Body::Sample(Sample::GroupMemory { group, bytes: n }),
            Body::Sample(Sample::Pressure { resource: n as u8, total_us: n }),
            Body::Sample(Sample::Calls { pid: Pid(7), reads: n, read_bytes: 1, writes: 2, written_bytes: u64::MAX }),
            Body::Sample(Sample::Late { ns: n }),
            Body::Code(code),
        ];
        self.one(&bodies)
    }
}

struct Recording {
    events: Vec<Event>,
    kernel: Names,
    user: Names,
    symbols: Symbols,
}

fn recording(seed: u64, count: usize) -> Recording {
    let mut chance = Chance(seed | 1);
    let (mut kernel, mut user, mut time) = (Names::default(), Names::default(), 1_000_000);
    let mut symbols = Symbols::default();
    symbols.add(Symbol { name: "caml_main".into(), module: "prog.exe".into(), ..Symbol::default() });
    let mut events = Vec::new();
    for _ in 0..count {
        time += chance.below(3);
        events.push(match chance.below(3) {
            0 => {
                let lane = chance.one(&[LaneId(0), LaneId(1), LaneId(4095), LaneId::NONE]);
                event(time, lane, Body::Runtime(chance.runtime(&mut user)))
            }
            1 => event(time, LaneId::NONE, Body::Sched(chance.sched(&mut kernel))),
            _ => event(time, LaneId::NONE, chance.other()),
        });
    }
    Recording { events, kernel, user, symbols }
}

fn written(recording: &Recording) -> Vec<u8> {
    let tables = Tables { kernel: &recording.kernel, user: &recording.user, symbols: &recording.symbols };
    let mut writer = FxtWriter::new(Vec::new(), &facts(), &recording.symbols).unwrap();
    for event in &recording.events {
        writer.event(event, tables).unwrap();
    }
    writer.finish(&[loss("kernel")]).unwrap();
    writer.into_inner()
}

/// An event with its names as texts, since tables number them differently.
fn plain(event: &Event, kernel: &Names, user: &Names) -> String {
    let name = match event.body {
        Body::Runtime(Runtime::User(name, _) | Runtime::HeapProfile(HeapProfile::Label { label: Some(name), .. })) => {
            user.get(name)
        }
        Body::Sched(Sched::Switch { next_name: name, .. } | Sched::Named { name, .. }) => kernel.get(name),
        _ => "",
    };
    let mut event = *event;
    match &mut event.body {
        Body::Runtime(Runtime::User(name, _) | Runtime::HeapProfile(HeapProfile::Label { label: Some(name), .. })) => {
            *name = NameId(0)
        }
        Body::Sched(Sched::Switch { next_name: name, .. } | Sched::Named { name, .. }) => *name = NameId(0),
        _ => {}
    }
    format!("{event:?} {name}")
}

fn assert_same(recording: &Recording, bytes: Vec<u8>) {
    let trace = Fxt::open(Arc::new(bytes)).unwrap();
    assert_eq!(trace.losses(), []);
    let mut stream = trace.stream(Classes::ALL);
    let read: Vec<Event> = stream.by_ref().collect();
    assert_eq!(read.len(), recording.events.len());
    for (read, put) in read.iter().zip(&recording.events) {
        let put = plain(put, &recording.kernel, &recording.user);
        assert_eq!(plain(read, stream.names(), stream.names()), put);
    }
    assert_eq!(stream.losses(), []);
    assert_eq!(trace.exported(), Some(&facts()));
    assert_eq!(trace.ended_with(), [loss("kernel")]);
    assert_eq!(trace.symbols().all(), recording.symbols.all());
}

#[test]
fn every_event_comes_back() {
    for seed in 1..4 {
        let recording = recording(0x9e37_79b9_7f4a_7c15 ^ seed << 40, 20_000);
        assert_same(&recording, written(&recording));
    }
}

#[test]
fn more_strings_and_threads_than_the_tables_hold_come_back() {
    let (mut kernel, mut user, mut events) = (Names::default(), Names::default(), Vec::new());
    for round in 0..50_000u32 {
        // Three quarters are new, the rest come from long before.
        let number = if round % 4 == 0 { round / 7 } else { round };
        let name = user.intern(&format!("span {number}"));
        let lane = LaneId((number % 300) as u16);
        events.push(event(u64::from(round), lane, Body::Runtime(Runtime::User(name, UserEvent::Mark))));
        let next_name = kernel.intern(&format!("t{number}"));
        let (cpu, prev, prev_pid) = (Cpu(0), Tid(number), Pid(number / 2));
        let prev_state = OffState::Runnable;
        let switch = Sched::Switch { cpu, prev, prev_pid, prev_state, next: Tid(number + 1), next_name };
        events.push(event(u64::from(round), LaneId::NONE, Body::Sched(switch)));
    }
    let recording = Recording { events, kernel, user, symbols: Symbols::default() };
    assert_same(&recording, written(&recording));
}

#[test]
fn pauses_and_their_causes_are_drawn_and_not_read_back_as_events() {
    let mut kernel = Names::default();
    let who = Some(kernel.intern("stress"));
    let pause = Pause {
        id: 3,
        kind: PauseKind::Minor,
        mode: PauseMode::Parallel,
        generation: Some(0),
        leader: Some(LaneId(1)),
        requested: Some(Time(100)),
        stopped: Time(190),
        collected: Time(250),
        released: Time(260),
        release_basis: ReleaseBasis::BackAtWork,
        straggler: Some(LaneId(0)),
        lanes: Vec::new(),
        copied_bytes: None,
        gc_threads: None,
        quality: PauseQuality::Whole,
    };
    let piece = CausePiece {
        cause: Cause::Preempted,
        lane: Some(LaneId(0)),
        tid: Some(Tid(70)),
        who,
        who_pid: Some(99),
        code: None,
        neighbour: false,
        from: Time(100),
        to: Time(190),
        confidence: Confidence::High,
    };
    let (user, symbols) = (Names::default(), Symbols::default());
    let tables = Tables { kernel: &kernel, user: &user, symbols: &symbols };
    let mut writer = FxtWriter::new(Vec::new(), &facts(), &symbols).unwrap();
    writer.event(&event(300, LaneId(0), Body::Runtime(Runtime::Gap)), tables).unwrap();
    writer.pause(&pause, &[piece], tables).unwrap();
    writer.finish(&[]).unwrap();
    let bytes = writer.into_inner();
    let trace = Fxt::open(Arc::new(bytes.clone())).unwrap();
    assert_eq!(trace.stream(Classes::ALL).count(), 1, "the gap");
    let (mut reader, mut drawn) = (FxtReader::default(), Vec::new());
    reader.push(&bytes);
    while let Some(record) = reader.next_record().unwrap() {
        if let Record::Event(event) = record
            && let rtscope_decode::fxt::EventKind::Complete(end) = event.kind
        {
            let text = |name| event.args.get(name).map(|value| format!("{value:?}"));
            drawn.push((String::from_utf8_lossy(event.name).into_owned(), event.time, end, text("cause"), text("who")));
        }
    }
    let text = |text: &str| Some(format!("{:?}", rtscope_decode::fxt::Value::Text(text.as_bytes())));
    assert_eq!(
        drawn,
        [
            ("minor pause".to_string(), 100, 260, text("preempted"), None),
            ("preempted".to_string(), 100, 190, None, text("stress")),
        ]
    );
}
