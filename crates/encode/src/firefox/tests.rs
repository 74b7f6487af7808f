//! Profiles of small recordings, read with a JSON parser.

use super::*;
use crate::testing::{facts, kernel, pause, rt, switch, tables, write};
use rtscope_model::{Counter as Figure, GreenThread, NameId, OffState, Runtime, StopReason, UserEvent};
use serde_json::{Value, json};
use std::io::Cursor;

fn written(events: &[Event], pauses: bool) -> Value {
    let mut writer = FirefoxWriter::new(Vec::new(), Cursor::new(Vec::new()), &facts("ghc"));
    tables(|tables| {
        let blamed = pauses.then(|| pause(0, 1_000_100, 1_000_150, 1_000_260, 1_000_270));
        write(&mut writer, "ghc", events, blamed, tables).unwrap();
    });
    writer.finish(&[]).unwrap();
    serde_json::from_slice(&writer.into_inner()).unwrap()
}

fn recording() -> Value {
    let mib = 1 << 20;
    written(
        &[
            kernel(1_000_000, switch(1, 0, OffState::Runnable, 11, 1)),
            rt(1_000_010, 0, Runtime::ThreadRun(GreenThread(3))),
            rt(1_000_090, 0, Runtime::ThreadStop(GreenThread(3), StopReason::Yielded)),
            rt(1_000_100, 0, Runtime::StopRequested { parallel: true }),
            rt(1_000_155, 0, Runtime::Stopped),
            rt(1_000_200, 0, Runtime::User(NameId(1), UserEvent::Mark)),
            rt(1_000_201, 0, Runtime::Count(Figure::HeapBytes, 3 * mib)),
            rt(1_000_202, 0, Runtime::Count(Figure::HeapBytes, 2 * mib)),
            rt(1_000_260, 0, Runtime::Resumed),
            kernel(2_000_000, switch(1, 11, OffState::Sleeping, 0, 0)),
        ],
        true,
    )
}

/// Samples of a thread: stack (innermost first), time, weight.
fn samples(profile: &Value, thread: &str) -> Vec<String> {
    let threads = profile["threads"].as_array().unwrap();
    let thread = threads.iter().find(|one| one["name"] == thread).unwrap();
    let number = |value: &Value| value.as_u64().map(|number| number as usize);
    let name = |stack: usize| {
        let frame = number(&thread["stackTable"]["frame"][stack]).unwrap();
        let function = number(&thread["frameTable"]["func"][frame]).unwrap();
        let name = number(&thread["funcTable"]["name"][function]).unwrap();
        thread["stringArray"][name].as_str().unwrap().to_owned()
    };
    let mut lines = Vec::new();
    let samples = &thread["samples"];
    for at in 0..number(&samples["length"]).unwrap() {
        let mut stack = number(&samples["stack"][at]);
        let mut names = Vec::new();
        while let Some(inner) = stack {
            names.push(name(inner));
            stack = number(&thread["stackTable"]["prefix"][inner]);
        }
        lines.push(format!("{} at {} for {}", names.join(" < "), samples["time"][at], samples["weight"][at]));
    }
    lines
}

#[test]
fn samples_weigh_what_they_lasted() {
    let profile = recording();
    let expected = [
        "program at 0.00001 for 0.00008",
        " at 0.00009 for 0.00001",
        "collection, leading at 0.0001 for 0.00016",
        " at 0.00026 for 0.99974",
    ];
    assert_eq!(samples(&profile, "capability 0"), expected);
    assert_eq!(samples(&profile, "CPU 1"), ["worker at 0.0 for 1.0"]);
    let pauses = samples(&profile, "pauses");
    assert_eq!(pauses[0], "preempted by thief \"7\" < time to stop < minor pause at 0.0001 for 0.00005");
}

#[test]
fn columns_are_of_one_length_and_refer_to_what_is_there() {
    let profile = recording();
    for thread in profile["threads"].as_array().unwrap() {
        for table in ["samples", "markers", "stackTable", "frameTable", "funcTable", "resourceTable", "nativeSymbols"] {
            let length = thread[table]["length"].as_u64().unwrap();
            for (key, column) in thread[table].as_object().unwrap() {
                let whole = column.as_array().is_none_or(|column| column.len() as u64 == length);
                assert!(whole, "{}: {table}.{key} has not {length}", thread["name"]);
            }
        }
    }
    let mains = profile["threads"].as_array().unwrap().iter().filter(|thread| thread["isMainThread"] == true);
    assert_eq!(mains.map(|thread| thread["name"].clone()).collect::<Vec<_>>(), ["capability 0"]);
    let counter = &profile["counters"][0];
    assert_eq!((&counter["name"], &counter["samples"]["count"]), (&json!("heap"), &json!([3 << 20, -(1 << 20)])));
}

#[test]
fn one_lane_is_there_once_more_for_speedscope() {
    let profile = recording();
    assert_eq!(profile["systemHost"]["name"], "Firefox");
    let thread = &profile["profile"]["threads"][0];
    assert_eq!(profile["profile"]["threads"].as_array().unwrap().len(), 1);
    assert_eq!(thread["stringTable"][0], "program (capability 0)");
    let rows = thread["samples"]["data"].as_array().unwrap();
    assert_eq!((rows.len(), &rows[0], &rows[4]), (5, &json!([0, 0.00001]), &json!([null, 1.0])));
}

#[test]
fn an_empty_recording_is_whole_json() {
    let profile = written(&[], false);
    assert_eq!((&profile["threads"], &profile["profile"]["threads"][0]["samples"]["data"]), (&json!([]), &json!([])));
    assert_eq!(profile["meta"]["preprocessedProfileVersion"], 48);
}

#[test]
fn categories_are_the_roles_of_states() {
    let names: Vec<&str> = CATEGORIES.iter().map(|category| category.0).collect();
    assert_eq!(names[1..names.len() - 1], crate::timeline::state::ROLES);
}
