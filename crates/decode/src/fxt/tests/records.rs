//! Every kind of record and argument, fed at once and in pieces.

use crate::fxt::builder::{At, Text, ThreadRef, TraceBuilder};
use crate::fxt::{Args, EventKind, FxtError, FxtReader, OBJECT_THREAD, Record, Thread, Value};

const INLINE: ThreadRef = ThreadRef::Inline(70, 71);
const KNOWN: Thread = Thread::Known { process: 70, thread: 71 };

fn at<'a>(time: u64, name: &'a str) -> At<'a> {
    At { time, thread: INLINE, category: Text::Inline("cat"), name: Text::Inline(name) }
}

/// The result of the closure for each record, with `piece` bytes fed at a time.
fn parsed<T>(bytes: &[u8], piece: usize, of: impl Fn(&Record<'_>) -> T) -> Vec<T> {
    let (mut reader, mut found) = (FxtReader::default(), Vec::new());
    for piece in bytes.chunks(piece) {
        reader.push(piece);
        while let Some(record) = reader.next_record().unwrap() {
            found.push(of(&record));
        }
    }
    assert_eq!(reader.rest(), (0, 0));
    found
}

fn debug(record: &Record<'_>) -> String {
    format!("{record:?}")
}

/// Calls the closure with the record after the magic number.
fn second(trace: &TraceBuilder, check: impl Fn(&Record<'_>)) {
    parsed(&trace.bytes(), 1 << 20, |record| {
        if *record != Record::Magic {
            check(record)
        }
    });
}

#[test]
fn every_kind_of_event_is_read() {
    let kinds = [
        (0, None, EventKind::Instant),
        (1, Some(9), EventKind::Counter(9)),
        (2, None, EventKind::Begin),
        (3, None, EventKind::End),
        (4, Some(8), EventKind::Complete(8)),
        (5, Some(7), EventKind::AsyncBegin(7)),
        (6, Some(7), EventKind::AsyncInstant(7)),
        (7, Some(7), EventKind::AsyncEnd(7)),
        (8, Some(6), EventKind::FlowBegin(6)),
        (9, Some(6), EventKind::FlowStep(6)),
        (10, Some(6), EventKind::FlowEnd(6)),
        (13, None, EventKind::Unknown(13)),
    ];
    for (number, more, kind) in kinds {
        let mut trace = TraceBuilder::default();
        trace.event(number, at(5, "name"), &[("a", Value::I32(-3))], more);
        second(&trace, |record| {
            let Record::Event(event) = record else { panic!("{record:?}") };
            assert_eq!((event.time, event.kind, event.thread), (5, kind, KNOWN));
            assert_eq!((event.category, event.name), (&b"cat"[..], &b"name"[..]));
            assert_eq!(event.args.get("a"), Some(Value::I32(-3)));
        });
    }
}

#[test]
fn every_type_of_argument_is_read() {
    let values = [
        ("null", Value::Null),
        ("i32", Value::I32(i32::MIN)),
        ("u32", Value::U32(u32::MAX)),
        ("i64", Value::I64(i64::MIN)),
        ("u64", Value::U64(u64::MAX)),
        ("f64", Value::F64(2.5)),
        ("text", Value::Text(b"more than eight bytes")),
        ("none", Value::Text(b"")),
        ("pointer", Value::Pointer(0xdead)),
        ("id", Value::Id(42)),
        ("yes", Value::Bool(true)),
        ("no", Value::Bool(false)),
        ("later", Value::Unknown(12)),
    ];
    let mut trace = TraceBuilder::default();
    trace.event(0, at(1, "x"), &values, None);
    second(&trace, |record| {
        let Record::Event(event) = record else { panic!("{record:?}") };
        let read: Vec<_> = event.args.iter().collect();
        let expected: Vec<_> = values.iter().map(|(name, value)| (name.as_bytes(), *value)).collect();
        assert_eq!(read, expected);
        assert_eq!(
            (event.args.number("id"), event.args.number("i64"), event.args.number("text")),
            (Some(42), None, None)
        );
        assert_eq!(event.args.get("i64").and_then(Value::signed), Some(i64::MIN));
        assert_eq!(event.args.get("nothing"), None);
    });
}

#[test]
fn references_are_those_registered_last() {
    let mut trace = TraceBuilder::default();
    let by = |thread| At { time: 1, thread, category: Text::Index(0), name: Text::Index(0x7fff) };
    trace.string(0x7fff, "first").string(0, "never").thread(9, 1, 2).event(0, by(ThreadRef::Index(9)), &[], None);
    trace.string(0x7fff, "second").thread(9, 3, 4).event(0, by(ThreadRef::Index(9)), &[], None);
    trace.event(0, by(ThreadRef::Index(10)), &[], None);
    let events = parsed(&trace.bytes(), 1 << 20, |record| match record {
        Record::Event(event) => {
            Some((String::from_utf8(event.name.to_vec()).unwrap(), event.category.len(), event.thread))
        }
        _ => None,
    });
    let known = |process, thread| Thread::Known { process, thread };
    let expected = [
        ("first".to_string(), 0, known(1, 2)),
        ("second".to_string(), 0, known(3, 4)),
        ("second".to_string(), 0, Thread::Numbered(10)),
    ];
    assert_eq!(events.into_iter().flatten().collect::<Vec<_>>(), expected);
}

#[test]
fn each_provider_has_tables_of_its_own() {
    let mut trace = TraceBuilder::default();
    let named = At { time: 10, thread: INLINE, category: Text::Index(0), name: Text::Index(1) };
    trace.provider(5, "one").init(1_000).string(1, "a").provider(6, "two").init(1_000_000_000).string(1, "b");
    trace.section(5).event(0, named, &[], None).section(6).event(0, named, &[], None);
    let events = parsed(&trace.bytes(), 1 << 20, |record| match record {
        Record::Event(event) => Some((event.name.to_vec(), event.time)),
        _ => None,
    });
    let expected = [(b"a".to_vec(), 10_000_000), (b"b".to_vec(), 10)];
    assert_eq!(events.into_iter().flatten().collect::<Vec<_>>(), expected, "ticks are nanoseconds by now");
}

fn everything() -> TraceBuilder {
    let mut trace = TraceBuilder::default();
    trace.provider(1, "a provider").section(1).init(1_000_000_000);
    trace.string(1, "name").thread(2, 3, 4).event(2, at(1, "inline"), &[("x", Value::U64(1))], None);
    trace.kernel_object(OBJECT_THREAD, 4, Text::Index(1), &[("process", Value::Id(3))]);
    trace.user_object(77, ThreadRef::Index(2), Text::Inline("object")).blob(Text::Inline("bytes"), b"abc");
    trace.switch(5, 300, 3, (4, 0), &[("w", Value::I32(1))]).wakeup(6, 1, 4, &[("waker", Value::Id(9))]);
    // The older context switch, with threads by index and inline.
    trace.record(8 | 7 << 16 | 5 << 24 | 2 << 28, &[7u64, 8, 9].map(u64::to_le_bytes).concat());
    trace
        .record(8 | 3 << 60, &[0; 8])
        .record(10, &[0; 24])
        .record(4 << 16 | 1 << 20, &[])
        .record(3 << 16 | 1 << 20, &[]);
    trace.log(9, ThreadRef::Index(2), "message").large(300_000).event(3, at(10, "end"), &[], None);
    trace
}

#[test]
fn records_are_the_same_however_they_arrive() {
    let bytes = everything().bytes();
    let whole = parsed(&bytes, bytes.len(), debug);
    assert_eq!(whole.len(), 20, "{whole:#?}");
    for piece in [1, 7, 8, 4096] {
        assert_eq!(parsed(&bytes, piece, debug), whole, "{piece} bytes at a time");
    }
}

#[test]
fn records_other_than_events_are_read() {
    let bytes = everything().bytes();
    let found: Vec<bool> = parsed(&bytes, bytes.len(), |record| match record {
        Record::Provider { id: 1, name: b"a provider" } | Record::Section { id: 1 } => true,
        Record::KernelObject { id: 4, kind: OBJECT_THREAD, name: b"name", args } => args.number("process") == Some(3),
        Record::UserObject { pointer: 77, name: b"object", thread: Thread::Known { process: 3, .. }, .. } => true,
        Record::Blob { name: b"bytes", kind: 1, bytes: b"abc" } => true,
        Record::Switch(switch) if switch.time == 5 => {
            (switch.cpu, switch.state, switch.outgoing, switch.incoming) == (300, 3, 4, 0)
                && switch.args.number("w") == Some(1)
        }
        Record::Switch(switch) => {
            (switch.time, switch.cpu, switch.state, switch.outgoing, switch.incoming) == (7, 7, 5, 4, 9)
                && switch.args == Args::NONE
        }
        Record::Wakeup { time: 6, cpu: 1, thread: 4, args } => args.number("waker") == Some(9),
        Record::Log { time: 9, message: b"message", .. } => true,
        Record::Large { kind: 0, bytes: 300_008 } => true,
        Record::Unknown { kind: 8 | 10 } | Record::OtherMetadata { kind: 4 } => true,
        Record::ProviderEvent { id: 1, event: 0 } => true,
        _ => false,
    });
    assert_eq!(found.iter().filter(|found| **found).count(), 13 + 1, "{:#?}", parsed(&bytes, bytes.len(), debug));
}

#[test]
fn a_user_object_is_read_with_one_word_for_its_process_or_two() {
    let mut trace = TraceBuilder::default();
    trace.user_object(1, ThreadRef::Inline(70, 71), Text::Inline("two"));
    // One word for the process: header, pointer, process, name.
    let one = [1u64.to_le_bytes(), 70u64.to_le_bytes(), *b"one\0\0\0\0\0"].concat();
    trace.record(6 | 0x8003 << 24, &one);
    let names = parsed(&trace.bytes(), 1 << 20, |record| match record {
        Record::UserObject { name, thread: Thread::Known { process, .. }, .. } => Some((name.to_vec(), *process)),
        _ => None,
    });
    assert_eq!(names.into_iter().flatten().collect::<Vec<_>>(), [(b"two".to_vec(), 70), (b"one".to_vec(), 70)]);
}

#[test]
fn non_traces_are_distinguished() {
    let refused = |bytes: &[u8]| {
        let mut reader = FxtReader::default();
        reader.push(bytes);
        reader.next_record().map(|record| record.is_some()).unwrap_err()
    };
    assert!(matches!(refused(b"not a trace"), FxtError::NotATrace));
    assert!(matches!(refused(&crate::fxt::MAGIC.to_be_bytes()), FxtError::BigEndian));
    assert!(
        FxtReader::recognises(&TraceBuilder::default().bytes())
            && FxtReader::recognises(&crate::fxt::MAGIC.to_be_bytes())
    );
    assert!(!FxtReader::recognises(b"hdrb\0\0\0\0") && !FxtReader::recognises(b""));
}
