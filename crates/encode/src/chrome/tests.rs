//! Objects of small recordings, read with a JSON parser.

use super::*;
use crate::testing::{facts, kernel, pause, rt, switch, tables, write};
use rtscope_model::{Counter, GreenThread, NameId, OffState, Runtime, StopReason, UserEvent};
use serde_json::Value;

fn written(family: &str, events: &[Event]) -> Vec<Value> {
    let mut writer = ChromeWriter::new(Vec::new(), &facts(family)).unwrap();
    tables(|tables| {
        write(&mut writer, family, events, Some(pause(0, 100, 150, 260, 270)), tables).unwrap();
    });
    writer.finish(&[]).unwrap();
    let json: Value = serde_json::from_slice(&writer.into_inner()).unwrap();
    json["traceEvents"].as_array().unwrap().clone()
}

/// Spans of a track as `B|E name`, in file order.
fn spans(objects: &[Value], tid: u64) -> Vec<String> {
    let of = |object: &&Value| object["tid"] == tid && (object["ph"] == "B" || object["ph"] == "E");
    let word = |object: &Value| {
        let text = |key: &str| object[key].as_str().unwrap().to_owned();
        format!("{} {} {}", text("ph"), object["ts"], text("name"))
    };
    objects.iter().filter(of).map(word).collect()
}

#[test]
fn spans_nest_and_ends_have_the_names_of_beginnings() {
    let objects = written(
        "ghc",
        &[
            kernel(50, switch(1, 0, OffState::Runnable, 11, 2)),
            rt(1_010, 0, Runtime::ThreadRun(GreenThread(3))),
            rt(1_090, 0, Runtime::ThreadStop(GreenThread(3), StopReason::Yielded)),
            rt(1_100, 0, Runtime::StopRequested { parallel: true }),
            rt(1_155, 0, Runtime::Stopped),
            rt(1_200, 0, Runtime::User(NameId(1), UserEvent::Begin)),
            rt(1_201, 0, Runtime::Count(Counter::AllocatedBytes, 77)),
            kernel(2_000, switch(1, 11, OffState::Sleeping, 0, 0)),
        ],
    );
    let lane = ["B 1.01 program", "E 1.09 program", "B 1.1 collection, leading", "E 1.201 collection, leading"];
    assert_eq!(spans(&objects, LANES), lane);
    assert_eq!(spans(&objects, USERS), ["B 1.2 solve", "E 1.201 solve"]);
    assert_eq!(spans(&objects, 1)[..2], ["B 0.05 thief \"7\"", "E 2.0 thief \"7\""]);
    let pauses = [
        "B 0.1 minor pause",
        "B 0.1 time to stop",
        "B 0.1 preempted by thief \"7\"",
        "E 0.15 preempted by thief \"7\"",
        "E 0.15 time to stop",
        "B 0.15 collect",
        "E 0.26 collect",
        "B 0.26 release",
        "E 0.27 release",
        "E 0.27 minor pause",
    ];
    assert_eq!(spans(&objects, PAUSES)[2..], pauses);
    let value = objects.iter().find(|object| object["ph"] == "C").unwrap();
    assert_eq!((&value["name"], &value["args"]["bytes"]), (&"allocated, capability 0".into(), &77.into()));
    let arrows: Vec<_> =
        objects.iter().filter(|object| object["id"] == 1).map(|object| object["tid"].clone()).collect();
    assert_eq!(arrows, [LANES, LANES + 1]);
}

#[test]
fn an_empty_recording_is_whole_json() {
    let mut writer = ChromeWriter::new(Vec::new(), &facts("ocaml")).unwrap();
    writer.finish(&[]).unwrap();
    let json: Value = serde_json::from_slice(&writer.into_inner()).unwrap();
    assert_eq!(json["traceEvents"][0]["args"]["name"], "prog");
}
