//! Real rings (`corpus/ocaml-*`), compared with what an independent reader found in them.

use super::super::builder::capture_of;
use super::{all, open, short};
use crate::log::Events as _;
use crate::ocaml_ring::{RingError, Version, tables};
use rtscope_model::{Class, Classes, LossKind, Phase, Runtime, UserEvent};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;

struct Real {
    name: String,
    version: Version,
    bytes: Vec<u8>,
    expected: Value,
}

fn rings() -> Vec<Real> {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus");
    let mut rings = Vec::new();
    for (folder, version) in [("ocaml-5.3", Version::V5_3), ("ocaml-5.4", Version::V5_4)] {
        for name in ["whole", "overwritten"] {
            let path = corpus.join(folder).join(name);
            let bytes = std::fs::read(path.with_extension("events")).expect("a ring");
            let text = std::fs::read_to_string(path.with_extension("json")).expect("its expectation");
            let expected = serde_json::from_str(&text).expect("JSON");
            rings.push(Real { name: format!("{folder}/{name}"), version, bytes, expected });
        }
    }
    rings
}

fn numbers(value: &Value) -> BTreeMap<String, u64> {
    let entries = value.as_object().into_iter().flatten();
    entries.filter_map(|(key, value)| Some((key.clone(), value.as_u64()?))).collect()
}

#[test]
fn every_event_is_counted_under_its_type() {
    for real in rings() {
        let (_, tally) = all(&real.bytes, real.version);
        let user = |name: &str| tables::USER_TYPES.iter().position(|kind| name == format!("user {kind}"));
        let counts = tally.by_type.iter().map(|kind| match user(&kind.name) {
            Some(number) => (format!("user {number}"), kind.count),
            // From 5.3 on, the numbers of phases inside rtscope are the runtime's.
            None => (format!("{}/{}", kind.tag >> 6, kind.tag & 63), kind.count),
        });
        assert_eq!(counts.collect::<BTreeMap<_, _>>(), numbers(&real.expected["events_by_type"]), "{}", real.name);
        assert_eq!(Some(tally.bytes / 8), real.expected["words"].as_u64(), "{}", real.name);
        let times = (tally.first.map(|time| time.0), tally.last.map(|time| time.0));
        assert_eq!(times, (real.expected["first"].as_u64(), real.expected["last"].as_u64()), "{}", real.name);
        let lost: u64 = numbers(&real.expected["lost_words"]).values().sum();
        assert_eq!(tally.losses.iter().map(|loss| loss.count).sum::<u64>(), lost, "{}", real.name);
        assert!(tally.losses.iter().all(|loss| loss.kind == LossKind::RingWords && loss.from.is_none()));
        assert!(tally.ended, "{}", real.name);
    }
}

#[test]
fn phases_last_as_long_as_in_another_reader() {
    let number = |phase: Phase| match phase {
        Phase::Wanted => Some(tables::EMPTY_MINOR),
        Phase::Lead => Some(tables::STW_LEADER),
        Phase::Follow => Some(tables::STW_HANDLER),
        Phase::Barrier => Some(tables::STW_API_BARRIER),
        Phase::Minor => Some(tables::MINOR),
        Phase::LeaveBarrier => Some(tables::MINOR_LEAVE_BARRIER),
        Phase::CycleEnd => Some(tables::MAJOR_GC_STW),
        Phase::Compact => Some(tables::COMPACT),
        Phase::Interrupt => Some(tables::INTERRUPT_REMOTE),
        Phase::Condition => Some(tables::DOMAIN_CONDITION_WAIT),
        Phase::Detail(id) => Some(id),
        // This phase stands for several of OCaml's.
        _ => None,
    };
    for real in rings() {
        let (events, _) = all(&real.bytes, real.version);
        let mut open: BTreeMap<(u16, u16), Vec<u64>> = BTreeMap::new();
        let mut sums: BTreeMap<String, u64> = BTreeMap::new();
        let mut unmatched = 0;
        for (time, lane, what) in short(&events) {
            match what {
                Runtime::PhaseBegin(phase) => {
                    number(phase).into_iter().for_each(|id| open.entry((lane, id)).or_default().push(time));
                }
                Runtime::PhaseEnd(phase) => {
                    let Some(id) = number(phase) else { continue };
                    match open.get_mut(&(lane, id)).and_then(Vec::pop) {
                        Some(begin) => *sums.entry(id.to_string()).or_default() += time - begin,
                        None => unmatched += 1,
                    }
                }
                _ => {}
            }
        }
        let expected = numbers(&real.expected["phase_ns"]);
        for (id, ns) in &sums {
            assert_eq!(expected.get(id), Some(ns), "{}, phase {id}", real.name);
        }
        assert!(sums.len() > 20 && sums.contains_key("11"), "{}", real.name);
        if real.name.ends_with("whole") {
            assert_eq!(unmatched, 0, "{}", real.name);
            // The process ends inside the last section that it leads.
            let left: Vec<_> = open.iter().filter(|(_, begins)| !begins.is_empty()).map(|(of, _)| *of).collect();
            assert_eq!(left, [(0, tables::STW_LEADER)], "{}", real.name);
        }
    }
}

#[test]
fn real_rings_show_their_version_and_no_label_but_theirs_is_taken() {
    for real in rings() {
        for bytes in [&real.bytes, &capture_of(&real.bytes, 300)] {
            let found = open(bytes, None).expect("a version").version();
            assert_eq!(found.oldest, real.version, "{}", real.name);
            for label in Version::ALL {
                let alike = label == real.version || (real.version, label) == (Version::V5_4, Version::V5_5);
                match open(bytes, Some(label)) {
                    Ok(rings) => assert!(alike && rings.version().newest == label, "{} as {label}", real.name),
                    Err(RingError::OtherVersion { .. }) => assert!(!alike, "{} as {label}", real.name),
                    Err(error) => panic!("{} as {label}: {error}", real.name),
                }
            }
        }
    }
}

#[test]
fn a_captured_stream_of_a_real_ring_gives_the_same_events() {
    for real in rings() {
        let (events, tally) = all(&real.bytes, real.version);
        for frame_words in [1, 100, 5_000, 1 << 20] {
            let (again, captured) = all(&capture_of(&real.bytes, frame_words), real.version);
            assert_eq!(short(&again), short(&events), "{}", real.name);
            assert_eq!(captured, tally, "{}", real.name);
        }
    }
}

#[test]
fn the_programs_own_events_come_with_their_names() {
    for real in rings().iter().filter(|real| real.name.ends_with("whole")) {
        let rings = open(&real.bytes, None).expect("opens");
        let mut stream = rings.stream(Classes::NONE.with(Class::User));
        let events: Vec<_> = stream.by_ref().collect();
        let mut counts: BTreeMap<String, usize> = BTreeMap::new();
        for (_, _, what) in short(&events) {
            let Runtime::User(name, posted) = what else { panic!("{what:?}") };
            let kind = match posted {
                UserEvent::Value(value) => format!("{value}"),
                other => format!("{other:?}"),
            };
            *counts.entry(format!("{} {kind}", stream.names().get(name))).or_default() += 1;
        }
        let mut expected = BTreeMap::from([("corpus.mark Mark".to_owned(), 1)]);
        expected.extend(["Begin", "End"].map(|edge| (format!("corpus.span {edge}"), 120)));
        expected.extend([-40, -30, -20, -10, 0, 10].map(|value| (format!("corpus.step {value}"), 2)));
        assert_eq!(counts, expected, "{}", real.name);
    }
}
