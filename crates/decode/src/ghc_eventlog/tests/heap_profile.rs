//! Heap profiles: names of labels, and logs that no runtime writes.

use super::super::builder::{BlockBuilder, Field, LogBuilder};
use super::super::heap_profile::LABELS_MAX;
use super::super::index::GLOBAL;
use super::super::tags::*;
use super::open;
use rtscope_model::event::Runtime;
use rtscope_model::{Body, Breakdown, Class, Classes, ClockMap, HeapProfile};
use std::collections::BTreeSet;

/// A log's profile, with labels by name.
#[derive(Debug, PartialEq)]
enum Seen {
    By(Breakdown),
    Begin,
    Of(Option<String>, u64),
    End,
}

fn seen(log: Vec<u8>) -> Vec<Seen> {
    let log = open(log).unwrap();
    let mut stream = log.stream(Classes::NONE.with(Class::HeapProfile), ClockMap::LOG_OWN, 1);
    let mut seen = Vec::new();
    while let Some(event) = stream.next() {
        let Body::Runtime(Runtime::HeapProfile(profile)) = event.body else { panic!("{event:?}") };
        seen.push(match profile {
            HeapProfile::By(breakdown) => Seen::By(breakdown),
            HeapProfile::Begin => Seen::Begin,
            HeapProfile::Label { label, bytes } => {
                Seen::Of(label.map(|label| stream.names().get(label).to_string()), bytes)
            }
            HeapProfile::End => Seen::End,
        });
    }
    assert_eq!(stream.tally().losses, []);
    seen
}

fn of(label: &str, bytes: u64) -> Seen {
    Seen::Of(Some(label.to_string()), bytes)
}

fn begins(block: &mut BlockBuilder, code: u32) {
    let filters = [Field::Text(""); 7];
    let head = [Field::U8(0), Field::U64(100_000_000), Field::U32(code)];
    block.event(20, HEAP_PROF_BEGIN, &[&head[..], &filters[..]].concat());
}

fn sample(block: &mut BlockBuilder, time: u64, fill: impl FnOnce(&mut BlockBuilder)) {
    block.event(time, HEAP_PROF_SAMPLE_BEGIN, &[Field::U64(0)]);
    fill(block);
    block.event(time + 9, HEAP_PROF_SAMPLE_END, &[Field::U64(0)]);
}

fn string(block: &mut BlockBuilder, time: u64, bytes: u64, label: Field<'_>) {
    block.event(time, HEAP_PROF_SAMPLE_STRING, &[Field::U8(0), Field::U64(bytes), label]);
}

fn centre(block: &mut BlockBuilder, time: u64, bytes: u64, stack: &[u32]) {
    let ids = stack.iter().map(|id| Field::U32(*id));
    let head = [Field::U8(0), Field::U64(bytes), Field::U8(stack.len() as u8)];
    block.event(time, HEAP_PROF_SAMPLE_COST_CENTRE, &head.into_iter().chain(ids).collect::<Vec<_>>());
}

fn global(fill: impl FnOnce(&mut BlockBuilder)) -> Vec<u8> {
    LogBuilder::new().block(GLOBAL, 10, 1_000_000, fill).end()
}

#[test]
fn labels_are_texts() {
    let log = global(|block| {
        begins(block, 7);
        sample(block, 30, |block| {
            string(block, 31, 48, Field::Text("ARR_WORDS"));
            string(block, 32, 16, Field::Text("main:Main.Leaf"));
        });
        sample(block, 50, |block| string(block, 51, 64, Field::Text("ARR_WORDS")));
    });
    let expected = [
        Seen::By(Breakdown::ClosureType),
        Seen::Begin,
        of("ARR_WORDS", 48),
        of("main:Main.Leaf", 16),
        Seen::End,
        Seen::Begin,
        of("ARR_WORDS", 64),
        Seen::End,
    ];
    assert_eq!(seen(log), expected);
}

#[test]
fn cost_centres_are_called_by_the_innermost_even_where_that_is_named_later() {
    let named = |block: &mut BlockBuilder, id, label, module| {
        let fields = [Field::U32(id), Field::Text(label), Field::Text(module), Field::Text("a.hs:1"), Field::U8(0)];
        block.event(40, HEAP_PROF_COST_CENTRE, &fields);
    };
    let log = global(|block| {
        begins(block, 1);
        named(block, 5, "build", "Main");
        sample(block, 30, |block| {
            centre(block, 31, 1, &[5, 6]);
            centre(block, 32, 2, &[6]);
            centre(block, 33, 3, &[7, 5]);
            centre(block, 34, 4, &[]);
        });
        named(block, 6, "main", "Main");
        named(block, 8, "never", "Seen");
    });
    let expected = [of("Main.build", 1), of("Main.main", 2), of("cost centre 7", 3), of("(no cost centre)", 4)];
    assert_eq!(seen(log)[2..6], expected);
}

#[test]
fn info_tables_are_called_by_what_the_log_gives_for_them() {
    let origin = |block: &mut BlockBuilder, address, texts: [&str; 6]| {
        let texts = texts.map(Field::Text);
        block.event(15, IPE, &[&[Field::U64(address)], &texts[..]].concat());
    };
    let log = |code| {
        global(|block| {
            origin(block, 0x40b6b8, ["sat_s1_info", "17", "ByteString", "step", "Main", "Grow.hs:15:45-76"]);
            origin(block, 0x40c3b8, ["Leaf_con_info", "6", "", "", "Main", ":"]);
            origin(block, 0x40c3c0, ["f_info", "14", "", "f", "Main", ":"]);
            begins(block, code);
            sample(block, 30, |block| {
                for (label, time) in ["0x40b6b8", "0x40c3b8", "0x40c3c0", "0x6eebe8", "0xq"].into_iter().zip(31..) {
                    string(block, time, 1, Field::Text(label));
                }
            });
        })
    };
    let names =
        ["thunk ByteString, Main.step (Grow.hs:15:45-76)", "Main.Leaf_con", "function Main.f", "0x6eebe8", "0xq"];
    assert_eq!(seen(log(8))[2..7], names.map(|name| of(name, 1)));
    // Labels of another kind of profile may look like addresses.
    assert_eq!(seen(log(5))[2], of("0x40b6b8", 1));
}

#[test]
fn what_no_runtime_writes_is_taken_as_it_is() {
    let long = "x".repeat(1_000);
    let log = global(|block| {
        block.event(12, HEAP_PROF_SAMPLE_END, &[Field::U64(3)]);
        string(block, 13, u64::MAX, Field::Bytes(b"no end"));
        string(block, 14, 1, Field::Text(""));
        string(block, 15, 2, Field::Text(&long));
        string(block, 16, 3, Field::Bytes(b"\xff\xfe"));
        begins(block, 4_000_000_000);
        // Too short for its type.
        block.event(21, HEAP_PROF_SAMPLE_STRING, &[Field::U8(0), Field::U32(1)]);
        block.event(22, HEAP_PROF_SAMPLE_COST_CENTRE, &[Field::U8(0), Field::U64(1), Field::U8(200), Field::U32(1)]);
        // Posted at the end, for a moment before: skipped.
        block.event(23, HEAP_BIO_PROF_SAMPLE_BEGIN, &[Field::U64(1), Field::U64(7)]);
    });
    let expected = [
        Seen::End,
        of("no end", u64::MAX),
        of("(empty)", 1),
        of(&long[..256], 2),
        of("\u{fffd}\u{fffd}", 3),
        Seen::By(Breakdown::Other),
    ];
    assert_eq!(seen(log), expected);
}

#[test]
fn a_label_in_a_buffer_of_a_capability_has_no_name() {
    let log = LogBuilder::new().block(0, 10, 99, |block| string(block, 20, 7, Field::Text("here"))).end();
    assert_eq!(seen(log), [Seen::Of(None, 7)]);
}

#[test]
fn labels_have_a_bound() {
    let labels: Vec<String> = (0..100_000).map(|number| format!("label {number}")).collect();
    let log = labels.chunks(20_000).fold(LogBuilder::new(), |log, labels| {
        log.block(GLOBAL, 10, 99, |block| {
            labels.iter().for_each(|label| string(block, 20, 1, Field::Text(label)));
        })
    });
    let named: Vec<Option<String>> = seen(log.end())
        .into_iter()
        .filter_map(|seen| if let Seen::Of(label, 1) = seen { Some(label) } else { None })
        .collect();
    assert_eq!(named.len(), labels.len());
    let (distinct, rest) = named.split_at(LABELS_MAX);
    assert_eq!(distinct.iter().flatten().collect::<BTreeSet<_>>().len(), LABELS_MAX);
    assert!(rest.iter().all(Option::is_none));
}
