//! Slow: guests booted under emulation. What rtscope reads in a live one is what it reads from the files that
//! were taken from it, and both are what was set up.

use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::Command;
use xtask::guest::harvest::{self, SHAPES};
use xtask::toolchain::is_root;
use xtask::{fixtures, missing};

const RTSCOPE: &str = env!("CARGO_BIN_EXE_rtscope");

/// Everything except what changes while it is read: counters, and the sources that hold them.
fn lasting(mut document: Value) -> Value {
    let fields = document.as_object_mut().unwrap();
    fields.remove("sources");
    for level in fields["levels"].as_array_mut().unwrap() {
        for key in ["throttled_periods", "periods"] {
            level.as_object_mut().unwrap().remove(key);
        }
    }
    document
}

fn booted(name: &str) -> Option<(Value, Value)> {
    if !is_root() {
        missing("root, to install the emulator");
        return None;
    }
    let shape = SHAPES.iter().find(|shape| shape.name == name).unwrap();
    let scratch = tempfile::tempdir().unwrap();
    let more = "rtscope machine --json > live.json";
    let (tree, results) = harvest::boot(shape, scratch.path(), &[Path::new(RTSCOPE)], more).unwrap();
    let live = fs::read_to_string(results.join("live.json")).unwrap();
    let said = fs::read_to_string(results.join("said")).unwrap_or_default();
    let live = serde_json::from_str(&live).unwrap_or_else(|error| panic!("{error}: {live} {said}"));
    let root = tempfile::tempdir().unwrap();
    fixtures::unpack_text(&tree, root.path()).unwrap();
    let done = Command::new(RTSCOPE).args(["machine", "--json", "--root"]).arg(root.path()).output().unwrap();
    Some((lasting(live), lasting(serde_json::from_slice(&done.stdout).unwrap())))
}

#[test]
fn slow_a_live_guest_reads_as_the_files_taken_from_it() {
    let Some((live, taken)) = booted("nested-limits") else { return };
    assert_eq!(live, taken);
    assert_eq!(live["quota_cpus"], 0.5);
    assert_eq!((&live["cores"], &live["packages"]), (&4.into(), &1.into()));
    assert_eq!(live["memory_limit_bytes"], 268_435_456);
}

#[test]
fn slow_a_live_guest_with_an_offline_processor_and_two_sockets() {
    let Some((live, taken)) = booted("sockets-2-nodes-2") else { return };
    assert_eq!(live, taken);
    assert_eq!((&live["numa_nodes"], &live["packages"], &live["cores"]), (&2.into(), &2.into(), &4.into()));
    let Some((live, taken)) = booted("cpu-offline") else { return };
    assert_eq!(live["cores"], taken["cores"]);
    assert_eq!(live["cpus_allowed"], taken["cpus_allowed"]);
}
