//! Import of other tools' traces, each in its writer's style.

use crate::fxt::builder::{At, Text, ThreadRef, TraceBuilder};
use crate::fxt::{Fxt, FxtStream, OBJECT_THREAD, Value};
use rtscope_model::{
    Body, Class, Classes, Counter, Event, LaneId, LossKind, OffState, Phase, Runtime, Sched, Tid, UserEvent,
};
use std::sync::Arc;

fn open(trace: &TraceBuilder) -> Fxt {
    Fxt::open(Arc::new(trace.bytes())).unwrap()
}

fn read(trace: &TraceBuilder) -> (Vec<Event>, FxtStream) {
    let mut stream = open(trace).stream(Classes::ALL);
    (stream.by_ref().collect(), stream)
}

fn runtime(events: &[Event]) -> Vec<(u64, u16, Runtime)> {
    let of = |event: &Event| match event.body {
        Body::Runtime(body) => Some((event.time.0, event.lane.0, body)),
        _ => None,
    };
    events.iter().filter_map(of).collect()
}

/// Writes like eio-trace: everything registered, rings are `ring << 2 | 1`, fibers `id << 2 | 2`.
struct Eio {
    trace: TraceBuilder,
}

impl Eio {
    fn new() -> Eio {
        let mut trace = TraceBuilder::default();
        for (index, text) in
            (1..).zip(["gc", "minor", "stw_leader", "eio.span", "solve", "eio", "ocaml", "major_slice"])
        {
            trace.string(index, text);
        }
        trace.thread(1, 70, 1).thread(2, 70, 5).thread(3, 70, 30 << 2 | 2);
        Eio { trace }
    }

    fn event(&mut self, kind: u8, time: u64, thread: u8, category: u16, name: u16) -> &mut Self {
        let at =
            At { time, thread: ThreadRef::Index(thread), category: Text::Index(category), name: Text::Index(name) };
        self.trace.event(kind, at, &[], None);
        self
    }
}

#[test]
fn eio_traces_give_phases_lives_of_domains_and_spans_of_fibers() {
    let mut eio = Eio::new();
    let spawned =
        At { time: 5, thread: ThreadRef::Index(2), category: Text::Index(7), name: Text::Inline("domain-spawn") };
    eio.trace.event(0, spawned, &[], None);
    eio.event(2, 10, 1, 1, 3).event(2, 11, 1, 1, 2).event(3, 19, 1, 1, 2).event(3, 20, 1, 1, 3).event(2, 30, 2, 1, 8);
    // Ring 1 continues with fiber 30, whose span begins; the end of a span has no name.
    eio.trace.kernel_object(OBJECT_THREAD, 5, Text::Inline("ring1"), &[("process", Value::Id(70))]);
    eio.trace.wakeup(40, 1, 30, &[]);
    eio.event(2, 41, 3, 4, 5).event(3, 45, 3, 4, 0).event(2, 46, 3, 6, 0);
    let (events, stream) = read(&eio.trace);
    let solve = rtscope_model::NameId(1);
    assert_eq!(stream.names().get(solve), "solve");
    assert_eq!(
        runtime(&events)[..9],
        [
            (5, 1, Runtime::LaneCreated),
            (10, 0, Runtime::LaneCreated),
            (10, 0, Runtime::PhaseBegin(Phase::Lead)),
            (11, 0, Runtime::PhaseBegin(Phase::Minor)),
            (19, 0, Runtime::PhaseEnd(Phase::Minor)),
            (20, 0, Runtime::PhaseEnd(Phase::Lead)),
            (30, 1, Runtime::PhaseBegin(Phase::Detail(27))),
            (41, 1, Runtime::User(solve, UserEvent::Begin)),
            (45, 1, Runtime::User(solve, UserEvent::End)),
        ]
    );
    assert!(events.iter().all(|event| !matches!(event.body, Body::Sched(_))), "no wake-up of the kernel's");
    assert_eq!(open(&eio.trace).losses(), []);
}

#[test]
fn unrequested_classes_are_left_out() {
    let mut eio = Eio::new();
    eio.event(2, 10, 1, 1, 2).event(2, 30, 2, 1, 8).event(2, 41, 1, 4, 5);
    let collection = Classes::NONE.with(Class::Collection).with(Class::Figures);
    let found: Vec<Event> = open(&eio.trace).stream(collection).collect();
    assert_eq!(runtime(&found), [(10, 0, Runtime::PhaseBegin(Phase::Minor))]);
}

#[test]
fn olly_traces_give_phases_and_figures_of_rings_that_are_never_registered() {
    let mut trace = TraceBuilder::default();
    trace.init(1_000_000_000);
    let at = |ring: u8, time, name| At {
        time,
        thread: ThreadRef::Index(ring + 1),
        category: Text::Index(0),
        name: Text::Inline(name),
    };
    trace.event(2, at(2, 10, "stw_handler"), &[], None).event(2, at(2, 11, "minor"), &[], None);
    for time in [12, 13] {
        trace.event(1, at(2, time, "minor_promoted"), &[("v", Value::I32(64))], Some(0));
        trace.event(1, at(2, time, "minor_allocated"), &[("v", Value::I32(4096))], Some(0));
    }
    trace.event(1, at(2, 14, "major_heap_pool_words"), &[("v", Value::I64(1 << 40))], Some(0));
    trace.event(1, at(2, 15, "queue"), &[("v", Value::I32(-7))], Some(0)).event(0, at(2, 16, "tick"), &[], None);
    trace.event(3, at(2, 20, "minor"), &[], None).event(2, at(0, 21, "my work"), &[], None);
    let (events, stream) = read(&trace);
    let name = |text: &str| (0..8).map(rtscope_model::NameId).find(|id| stream.names().get(*id) == text).unwrap();
    let count = |time, counter, value| (time, 2, Runtime::Count(counter, value));
    assert_eq!(
        runtime(&events),
        [
            (10, 2, Runtime::PhaseBegin(Phase::Follow)),
            (11, 2, Runtime::PhaseBegin(Phase::Minor)),
            count(12, Counter::PromotedBytes, 64),
            count(12, Counter::YoungBytes, 4096),
            count(12, Counter::AllocatedBytes, 4096),
            count(13, Counter::PromotedBytes, 64),
            count(13, Counter::YoungBytes, 4096),
            count(13, Counter::AllocatedBytes, 8192),
            (15, 2, Runtime::User(name("queue"), UserEvent::Value(-7))),
            (16, 2, Runtime::User(name("tick"), UserEvent::Mark)),
            (20, 2, Runtime::PhaseEnd(Phase::Minor)),
            (21, LaneId::NONE.0, Runtime::User(name("my work"), UserEvent::Begin)),
        ]
    );
}

#[test]
fn traces_of_functions_have_no_lane_and_give_spans() {
    // Like magic-trace: processor ticks, registered threads, spans of functions.
    let mut trace = TraceBuilder::default();
    trace.provider(0, "jane_tracing").section(0).init(2_000_000_000).string(1, "process").thread(1, 4, 5);
    trace.kernel_object(OBJECT_THREAD, 5, Text::Inline("[tid=5] main"), &[("process", Value::Id(4))]);
    let at =
        |time, name| At { time, thread: ThreadRef::Index(1), category: Text::Inline(""), name: Text::Inline(name) };
    trace.event(2, at(100, "caml_main"), &[("address", Value::Pointer(7))], None);
    trace.event(4, at(110, "memcpy"), &[], Some(150)).event(3, at(200, "caml_main"), &[], None);
    let (events, stream) = read(&trace);
    let found: Vec<_> = runtime(&events)
        .into_iter()
        .map(|(time, lane, body)| match body {
            Runtime::User(name, what) => (time, lane, stream.names().get(name).to_string(), what),
            other => panic!("{other:?}"),
        })
        .collect();
    let none = LaneId::NONE.0;
    assert_eq!(
        found,
        [
            (50, none, "caml_main".to_string(), UserEvent::Begin),
            (55, none, "memcpy".to_string(), UserEvent::Begin),
            (75, none, "memcpy".to_string(), UserEvent::End),
            (100, none, "caml_main".to_string(), UserEvent::End),
        ]
    );
    assert_eq!(open(&trace).lanes(), 0);
}

#[test]
fn scheduling_records_are_the_kernels_where_there_are_switches() {
    let mut eio = Eio::new();
    eio.trace.kernel_object(OBJECT_THREAD, 8, Text::Inline("other"), &[]);
    eio.trace.switch(5, 1, 3, (7, 8), &[]).wakeup(6, 1, 7, &[("waker", Value::Id(8))]);
    let (events, stream) = read(&eio.trace);
    let [switch, waking] = events.as_slice() else { panic!("{events:?}") };
    let Body::Sched(Sched::Switch { prev, prev_state, next, next_name, .. }) = switch.body else {
        panic!("{switch:?}")
    };
    assert_eq!((prev, prev_state, next), (Tid(7), OffState::Sleeping, Tid(8)));
    assert_eq!(stream.names().get(next_name), "other");
    let Body::Sched(Sched::Waking { waker, target, .. }) = waking.body else { panic!("{waking:?}") };
    assert_eq!((waker, target), (Tid(8), Tid(7)));
}

#[test]
fn rings_of_a_second_process_are_left_out_and_reported() {
    let mut trace = TraceBuilder::default();
    for (process, time) in [(70, 10), (71, 11)] {
        let at = |time| At {
            time,
            thread: ThreadRef::Inline(process, 1),
            category: Text::Inline("gc"),
            name: Text::Inline("minor"),
        };
        trace.event(2, at(time), &[], None).event(3, at(time + 5), &[], None);
    }
    assert_eq!(runtime(&read(&trace).0).iter().map(|event| event.0).collect::<Vec<_>>(), [10, 10, 15]);
    assert!(open(&trace).losses().iter().any(|loss| loss.kind == LossKind::MixedProcesses && loss.count == 2));
}
