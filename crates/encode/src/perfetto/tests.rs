//! Packets of small recordings, decoded field by field without the code that wrote them.

use super::field::{bundle, defaults, ftrace, switch};
use super::*;
use crate::testing::{facts, kernel, pause, rt, switch as switches, tables, write};
use rtscope_model::{GreenThread, LossKind, OffState, Runtime, Sched, StopReason, Tid};
use std::collections::HashMap;

/// A decoded field value.
#[derive(Clone, Debug, PartialEq)]
enum Value {
    Number(u64),
    Bytes(Vec<u8>),
}

/// The fields of a message.
fn walk(mut bytes: &[u8]) -> Vec<(u32, Value)> {
    fn varint(bytes: &mut &[u8]) -> u64 {
        let (mut value, mut shift) = (0, 0);
        loop {
            let byte = bytes[0];
            *bytes = &bytes[1..];
            value |= u64::from(byte & 0x7f) << shift;
            shift += 7;
            if byte < 0x80 {
                return value;
            }
        }
    }
    let mut fields = Vec::new();
    while !bytes.is_empty() {
        let tag = varint(&mut bytes);
        let value = match tag & 7 {
            0 => Value::Number(varint(&mut bytes)),
            1 => {
                let (number, rest) = bytes.split_at(8);
                bytes = rest;
                Value::Number(u64::from_le_bytes(number.try_into().unwrap()))
            }
            2 => {
                let length = varint(&mut bytes) as usize;
                let (message, rest) = bytes.split_at(length);
                bytes = rest;
                Value::Bytes(message.to_vec())
            }
            kind => panic!("kind {kind}"),
        };
        fields.push(((tag >> 3) as u32, value));
    }
    fields
}

fn all(message: &[u8], field: u32) -> Vec<Value> {
    walk(message).into_iter().filter(|found| found.0 == field).map(|found| found.1).collect()
}

fn bytes(message: &[u8], field: u32) -> Vec<Vec<u8>> {
    let of = |value| if let Value::Bytes(bytes) = value { bytes } else { panic!("a number") };
    all(message, field).into_iter().map(of).collect()
}

fn number(message: &[u8], field: u32) -> Option<u64> {
    all(message, field).first().map(|value| if let Value::Number(number) = value { *number } else { panic!("bytes") })
}

fn text(message: &[u8], field: u32) -> Option<String> {
    bytes(message, field).first().map(|text| String::from_utf8(text.clone()).unwrap())
}

/// State that packets of a sequence refer to.
#[derive(Default)]
struct Known {
    names: HashMap<Option<u64>, String>,
    track: Option<u64>,
    now: u64,
}

impl Known {
    fn learn(&mut self, packet: &[u8]) {
        for interned in bytes(packet, packet::INTERNED_DATA) {
            for name in bytes(&interned, interned::EVENT_NAMES) {
                let before = self.names.insert(number(&name, interned::IID), text(&name, interned::NAME).unwrap());
                assert_eq!(before, None, "a name is written once");
            }
        }
        for given in bytes(packet, packet::DEFAULTS) {
            assert_eq!(number(&given, defaults::TIMESTAMP_CLOCK), Some(clock::OWN));
            self.track = bytes(&given, defaults::TRACK_EVENT).first().and_then(|event| number(event, defaults::TRACK));
        }
        for one in bytes(packet, packet::CLOCK_SNAPSHOT).iter().flat_map(|snapshot| bytes(snapshot, clock::CLOCKS)) {
            if number(&one, clock::ID) == Some(clock::OWN) {
                assert_eq!(number(&one, clock::INCREMENTAL), Some(1));
                self.now = number(&one, clock::TIMESTAMP).unwrap();
            }
        }
    }

    fn time(&mut self, packet: &[u8]) -> u64 {
        let stamp = number(packet, packet::TIMESTAMP).unwrap();
        match number(packet, packet::TIMESTAMP_CLOCK) {
            Some(clock) => assert_eq!(clock, clock::BOOTTIME),
            None => {
                self.now += stamp;
                return self.now;
            }
        }
        stamp
    }
}

/// The content of a trace as lines: events in a reader's order.
fn read(trace: &[u8]) -> Vec<String> {
    let (mut sequences, mut tracks) = (HashMap::<_, Known>::new(), HashMap::new());
    let mut lines: Vec<(u64, String)> = Vec::new();
    for packet in bytes(trace, PACKET) {
        let known = sequences.entry(number(&packet, packet::SEQUENCE).unwrap()).or_default();
        known.learn(&packet);
        for descriptor in bytes(&packet, packet::TRACK_DESCRIPTOR) {
            let name = text(&descriptor, track::NAME).unwrap_or("process".into());
            let parent = number(&descriptor, track::PARENT);
            assert!(parent.is_none() || tracks.contains_key(&parent), "{name} comes before its parent");
            assert_eq!(tracks.insert(number(&descriptor, track::UUID), name), None);
        }
        for event in bytes(&packet, packet::TRACK_EVENT) {
            let name = number(&event, event::NAME_IID).map(|iid| known.names[&Some(iid)].clone());
            let name = name.or(text(&event, event::NAME)).unwrap_or_default();
            let track = &tracks[&number(&event, event::TRACK).or(known.track)];
            let kind = ["", "begin", "end", "mark", "value"][number(&event, event::TYPE).unwrap() as usize];
            let value = number(&event, event::VALUE).map_or(String::new(), |value| format!("= {value}"));
            let flows = |field| all(&event, field).len();
            let arrows = match (flows(event::FLOW), flows(event::FLOW_END)) {
                (0, 0) => String::new(),
                (from, to) => format!("arrows from {from} to {to}"),
            };
            let at = known.time(&packet);
            let words = [kind, &name, &value, &arrows].into_iter().filter(|word| !word.is_empty());
            lines.push((at, format!("{at} {track}: {}", words.collect::<Vec<_>>().join(" "))));
        }
    }
    lines.sort_by_key(|line| line.0);
    lines.into_iter().map(|line| line.1).collect()
}

fn written(events: &[rtscope_model::Event], pauses: bool, losses: &[Loss]) -> Vec<u8> {
    let mut writer = PerfettoWriter::new(Vec::new(), &facts("ghc")).unwrap();
    tables(|tables| {
        let blamed = pauses.then(|| pause(0, 100, 150, 260, 270));
        write(&mut writer, "ghc", events, blamed, tables).unwrap();
    });
    writer.finish(losses).unwrap();
    writer.into_inner()
}

#[test]
fn spans_values_pauses_and_arrows() {
    let events = [
        rt(10, 0, Runtime::ThreadRun(GreenThread(3))),
        rt(90, 0, Runtime::ThreadStop(GreenThread(3), StopReason::Yielded)),
        rt(100, 0, Runtime::StopRequested { parallel: true }),
        rt(150, 1, Runtime::Stopped),
        rt(155, 0, Runtime::Stopped),
        rt(260, 0, Runtime::Resumed),
        rt(261, 0, Runtime::Count(rtscope_model::Counter::HeapBytes, 77)),
        rt(270, 1, Runtime::Resumed),
        rt(280, 1, Runtime::User(rtscope_model::NameId(1), rtscope_model::UserEvent::Mark)),
    ];
    let loss = Loss {
        source: "eventlog".into(),
        kind: LossKind::Damaged,
        count: 2,
        from: Some(Time(300)),
        to: None,
        note: "some".into(),
    };
    let expected = [
        "10 capability 0: begin program",
        "90 capability 0: end",
        "100 pauses: begin minor pause",
        "100 pauses: begin time to stop",
        "100 pauses: begin preempted by thief \"7\"",
        "100 capability 0: mark asks all to stop arrows from 1 to 0",
        "100 capability 0: begin collection, leading",
        "100 capability 1: begin waiting to stop",
        "150 pauses: end",
        "150 pauses: end",
        "150 pauses: begin collect",
        "150 capability 1: mark has stopped arrows from 0 to 1",
        "150 capability 0: begin waiting to stop",
        "150 capability 1: end",
        "150 capability 1: begin collection",
        "155 capability 0: end",
        "260 pauses: end",
        "260 pauses: begin release",
        "260 capability 0: end",
        "260 capability 1: begin release",
        "261 heap: value = 77",
        "270 pauses: end",
        "270 pauses: end",
        "270 capability 1: end",
        "270 capability 1: end",
        "280 program's own events: mark solve",
        "300 losses: mark lost: damaged",
    ];
    assert_eq!(read(&written(&events, true, &[loss])), expected);
}

/// Switches in the trace: CPU, time, outgoing thread and its state, incoming thread.
fn scheduling(trace: &[u8]) -> Vec<(u64, u64, String, u64, String)> {
    let mut found = Vec::new();
    for packet in bytes(trace, PACKET) {
        for bundle in bytes(&packet, packet::FTRACE_EVENTS) {
            let cpu = number(&bundle, bundle::CPU).unwrap();
            for event in bytes(&bundle, bundle::EVENT) {
                let at = number(&event, ftrace::TIMESTAMP).unwrap();
                for fields in bytes(&event, ftrace::SCHED_SWITCH) {
                    let task =
                        |name, pid| format!("{} {}", text(&fields, name).unwrap(), number(&fields, pid).unwrap());
                    let state = number(&fields, switch::PREV_STATE).unwrap();
                    let (prev, next) =
                        (task(switch::PREV_COMM, switch::PREV_PID), task(switch::NEXT_COMM, switch::NEXT_PID));
                    found.push((cpu, at, prev, state, next));
                }
            }
        }
    }
    found
}

#[test]
fn scheduling_is_ftrace_by_cpu() {
    let events = [
        kernel(5, switches(1, 0, OffState::Runnable, 11, 1)),
        kernel(6, Sched::Waking { waker: Tid(11), target: Tid(12), target_cpu: rtscope_model::Cpu(0) }),
        kernel(9, switches(1, 11, OffState::Sleeping, 0, 0)),
        kernel(12, Sched::SwitchOut { cpu: rtscope_model::Cpu(0), tid: Tid(12), preempted: false }),
    ];
    let trace = written(&events, false, &[]);
    let of = |cpu, at, prev: &str, state, next: &str| (cpu, at, prev.to_string(), state, next.to_string());
    let expected = [
        of(0, 12, " 12", 0x7fff, "not recorded 2147483647"),
        of(1, 5, "swapper 0", 0, "worker 11"),
        of(1, 9, "worker 11", 1, "swapper 0"),
    ];
    assert_eq!(scheduling(&trace), expected);
    let threads: Vec<Vec<u8>> = bytes(&trace, PACKET)
        .iter()
        .flat_map(|packet| bytes(packet, packet::PROCESS_TREE))
        .flat_map(|processes| bytes(&processes, tree::THREADS))
        .collect();
    let known = |thread: &Vec<u8>| (number(thread, tree::TID), number(thread, tree::PID), text(thread, tree::NAME));
    let known: Vec<_> = threads.iter().map(known).collect();
    assert_eq!(known, [(Some(11), Some(70), Some("worker".to_string()))]);
}

#[test]
fn bundles_are_bounded() {
    let mut writer = PerfettoWriter::new(Vec::new(), &facts("ghc")).unwrap();
    tables(|tables| {
        for at in 0..100_000u64 {
            let (prev, next) = if at % 2 == 0 { (0, 11) } else { (11, 0) };
            let sched = switches((at % 512 / 2) as u16, prev, OffState::Sleeping, next, 1);
            writer.event(&kernel(at, sched), tables).unwrap();
            assert!(writer.bundles.bytes() < (5 << 20));
        }
    });
    writer.finish(&[]).unwrap();
    assert_eq!(scheduling(&writer.into_inner()).len(), 100_000);
}

#[test]
fn lines_without_end_are_left_out() {
    let mut writer = PerfettoWriter::new(io::sink(), &facts("ghc")).unwrap();
    tables(|tables| {
        for name in 0..LINES_MAX as u32 + 10 {
            let value = rtscope_model::UserEvent::Value(1);
            writer.event(&rt(1, 0, Runtime::User(rtscope_model::NameId(name), value)), tables).unwrap();
        }
    });
    assert_eq!(writer.drawn.lines.len(), LINES_MAX);
}

#[test]
fn samples_of_code_have_places_that_are_written_once() {
    use rtscope_model::{Body, CodeKind, Cpu, LaneId, Symbol};
    let mut symbols = Symbols::default();
    let mut add = |name: &str, module: &str, kind| {
        symbols.add(Symbol { name: name.into(), module: module.into(), kind, ..Symbol::default() })
    };
    let solve = add("Main.solve", "prog", CodeKind::Program);
    let fault = add("handle_mm_fault", "[kernel]", CodeKind::Kernel);
    let names = Names::default();
    let tables = Tables { kernel: &names, user: &names, symbols: &symbols };
    let mut writer = PerfettoWriter::new(Vec::new(), &facts("ghc")).unwrap();
    let mut found = |at, leaf, user, what| {
        let sample = CodeSample { tid: Tid(11), cpu: Cpu(1), leaf, user, purpose: None, what };
        let event = rtscope_model::Event { time: Time(at), lane: LaneId::NONE, body: Body::Code(sample) };
        writer.event(&event, tables).unwrap();
    };
    let running = Found::Running { ns: 100 };
    found(5, solve, None, running);
    found(6, fault, Some(solve), running);
    found(7, fault, Some(solve), Found::Waits);
    found(8, fault, Some(solve), running);
    writer.finish(&[]).unwrap();
    let trace = writer.into_inner();
    let (mut functions, mut stacks, mut samples) = (Vec::new(), Vec::new(), Vec::new());
    for packet in bytes(&trace, PACKET) {
        for names in bytes(&packet, packet::INTERNED_DATA) {
            functions.extend(bytes(&names, interned::FUNCTION_NAMES).iter().map(|name| text(name, interned::NAME)));
            let frames = |stack: &Vec<u8>| all(stack, field::places::FRAMES).len();
            stacks.extend(bytes(&names, interned::CALLSTACKS).iter().map(frames));
        }
        for fields in bytes(&packet, packet::PERF_SAMPLE) {
            let of = |field| number(&fields, field).unwrap();
            let stack = (of(field::sample::CALLSTACK), of(field::sample::MODE));
            samples.push((number(&packet, packet::TIMESTAMP).unwrap(), stack, of(field::sample::COUNT)));
            assert_eq!((of(field::sample::PID), of(field::sample::TID), of(field::sample::CPU)), (70, 11, 1));
        }
    }
    assert_eq!(functions, ["Main.solve", "handle_mm_fault"].map(|name| Some(name.to_string())));
    assert_eq!(stacks, [1, 2]);
    assert_eq!(samples, [(5, (1, 2), 100), (6, (2, 1), 200), (8, (2, 1), 300)]);
}
