//! Live: OCaml programs of the releases that rtscope is tested with, recorded. Nothing that they write is lost
//! by default, what is lost is counted, and in any case they end as they would have.

use testkit::output::stderr;
use testkit::rings;

use rings::{Ground, RING_START, RING_STOP, Stream, clean, grounds, kill, wait_for};
use rtscope_decode::capture::Capture;
use rtscope_host::binary;
use serde_json::Value;
use std::ffi::OsStr;
use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use xtask::missing;

#[track_caller]
fn is_done(output: &Output) {
    assert_eq!((output.status.code(), &output.stdout[..]), (Some(0), &b"done\n"[..]), "{}", stderr(output));
}

fn logs(manifest: &Value) -> Vec<(String, u64, Option<String>)> {
    let logs = manifest["logs"].as_array().unwrap().iter();
    let text = |value: &Value| value.as_str().map(str::to_owned);
    logs.map(|log| (text(&log["path"]).unwrap(), log["pid"].as_u64().unwrap(), text(&log["version"]))).collect()
}

fn losses<'a>(manifest: &'a Value, source: &str) -> Vec<&'a Value> {
    manifest["losses"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|loss| loss["source"].as_str().unwrap().starts_with(source))
        .collect()
}

#[track_caller]
fn nothing_is_left_of(capture: &Path) {
    assert!(!capture.join("rings/live").exists(), "{:?}", fs::read_dir(capture.join("rings/live")).unwrap().count());
}

#[test]
fn live_a_program_is_recorded_from_its_first_event_to_its_last() {
    for ground in grounds() {
        is_done(&ground.record("c", &[], &["domains", "2", "1.5"]));
        let manifest = ground.manifest("c");
        let [(path, pid, version)] = &logs(&manifest)[..] else { panic!("{}", manifest["logs"]) };
        assert_eq!((path.as_str(), version.as_deref()), ("rings/0.ring", Some(ground.version)));
        assert_eq!(Some(*pid), manifest["pid"].as_u64());
        assert_eq!(manifest["logs"][0]["clock"]["method"], "monotonic");
        assert_eq!(
            (&manifest["binary"]["family"], &manifest["binary"]["version"]),
            (&"ocaml".into(), &ground.version.into())
        );
        let stream = ground.stream("c", path);
        assert_eq!((stream.pid, stream.lost(), stream.ends, stream.slots.len()), (*pid, 0, 1, 2));
        assert!(stream.ring_words >= 1 << 16 && stream.has(RING_START) && stream.has(RING_STOP));
        let stamps = stream.slots.values().flat_map(|slot| slot.events.iter().map(|event| event.3));
        let (started, ended) = (manifest["started"].as_u64().unwrap(), manifest["ended"].as_u64().unwrap());
        assert!(stamps.clone().all(|stamp| (started..=ended).contains(&stamp)));
        assert!(stamps.max().unwrap() - started > 1_400_000_000);
        let size = fs::metadata(ground.path("c").join(path)).unwrap().len();
        assert!(manifest["own_cost"]["written_bytes"].as_u64() > Some(size));
        let words: u64 = stream.slots.values().map(|slot| slot.copied).sum();
        assert!(size < words * 8 / 3, "{words} words in {size} bytes");
        assert!(losses(&manifest, "rings").is_empty(), "{}", manifest["losses"]);
        nothing_is_left_of(&ground.path("c"));
    }
}

#[test]
fn live_every_one_of_many_domains_is_recorded() {
    let Some(ground) = Ground::of("ghc-9.10") else { return };
    is_done(&ground.record("c", &["--no-kernel", "--sample-code", "0"], &["together", "40"]));
    let stream = ground.stream("c", "rings/0.ring");
    assert_eq!((stream.slots.len(), stream.lost(), stream.ends), (40, 0, 1));
    assert!(stream.slots.values().all(|slot| slot.events.len() > 10));
}

/// Head and tail of each ring, by the runtime's own file.
fn tails(file: &Path) -> Vec<u64> {
    let bytes = fs::read(file).unwrap();
    let word = |at: u64| u64::from_le_bytes(bytes[at as usize..][..8].try_into().unwrap());
    (0..word(8)).map(|slot| word(word(40) + slot * word(16) + 8)).collect()
}

#[test]
fn live_what_a_small_ring_loses_is_what_the_stream_lacks() {
    for ground in grounds() {
        let own = ground.path("own");
        fs::create_dir(&own).unwrap();
        let mut recorder = ground.recorder("c", &["--ring-size", "10"], &["collect", "200000"]);
        let set = [("OCAML_RUNTIME_EVENTS_DIR", own.as_os_str()), ("OCAML_RUNTIME_EVENTS_PRESERVE", OsStr::new("1"))];
        let output = recorder.envs(set).output().unwrap();
        is_done(&output);
        assert!(stderr(&output).contains("copied from there"), "{}", stderr(&output));
        let stream = ground.stream("c", "rings/0.ring");
        assert_eq!(stream.ring_words, 1 << 10);
        assert!(stream.lost() > 0);
        let file = fs::read_dir(&own).unwrap().next().unwrap().unwrap().path();
        let tails = tails(&file);
        assert!(tails[0] > 1 << 20);
        for (slot, tail) in tails.iter().enumerate().filter(|(_, tail)| **tail > 0) {
            let slot = &stream.slots[&(slot as u64)];
            assert_eq!((slot.copied + slot.lost, slot.position), (*tail, *tail));
        }
    }
}

#[test]
fn live_children_and_successors_have_streams_of_their_own() {
    for ground in grounds() {
        let output = ground.record("c", &[], &["children"]);
        assert_eq!(
            (output.status.code(), &output.stdout[..]),
            (Some(0), &b"forked\ndone\ndone\n"[..]),
            "{}",
            stderr(&output)
        );
        let manifest = ground.manifest("c");
        let logs = logs(&manifest);
        assert_eq!(logs.len(), 4, "{logs:?}");
        assert!(logs.iter().all(|(_, _, version)| version.as_deref() == Some(ground.version)), "{logs:?}");
        let pids: Vec<u64> = logs.iter().map(|(_, pid, _)| *pid).collect();
        assert!(pids[0] == pids[3] && pids[1] != pids[0] && pids[2] != pids[1], "{pids:?}");
        for (index, (path, pid, _)) in logs.iter().enumerate() {
            let stream = ground.stream("c", path);
            // The first one ended by exec, without an end event.
            assert_eq!((stream.pid, stream.lost(), stream.ends), (*pid, 0, u32::from(index > 0)), "{path}");
            assert_eq!(stream.slots[&0].copied, stream.slots[&0].position);
            assert_eq!(stream.has(RING_STOP), index > 0);
        }
        let lost = losses(&manifest, "rings");
        assert_eq!(lost.len(), 1, "{lost:?}");
        assert!(lost[0]["source"] == "rings/0.ring" && lost[0]["note"].as_str().unwrap().contains("exec"));
        nothing_is_left_of(&ground.path("c"));
    }
}

#[test]
fn live_a_killed_program_leaves_its_events_and_no_file() {
    let Some(ground) = Ground::of("ghc-9.6") else { return };
    let mut recording = ground.recorder("c", &["-q"], &["domains", "2", "60"]).spawn().unwrap();
    let stream = ground.path("c").join("rings/0.ring");
    wait_for("some events", || fs::metadata(&stream).is_ok_and(|file| file.len() > 100_000));
    kill("-9", ground.manifest("c")["pid"].as_u64().unwrap() as u32);
    assert_eq!(recording.wait().unwrap().code(), Some(137));
    let stream = ground.stream("c", "rings/0.ring");
    assert_eq!((stream.lost(), stream.ends), (0, 0));
    nothing_is_left_of(&ground.path("c"));
}

#[test]
fn live_a_killed_recorder_harms_neither_program_nor_capture() {
    let Some(ground) = Ground::of("ghc-9.10") else { return };
    let mut recorder = ground.recorder("c", &["-q"], &["domains", "2", "4"]);
    let out = ground.path("out");
    let mut recording = recorder.stdout(fs::File::create(&out).unwrap()).spawn().unwrap();
    let stream = ground.path("c").join("rings/0.ring");
    wait_for("some events", || fs::metadata(&stream).is_ok_and(|file| file.len() > 100_000));
    let pid = ground.manifest("c")["pid"].as_u64().unwrap() as u32;
    kill("-9", recording.id());
    recording.wait().unwrap();
    let live = ground.path("c").join(format!("rings/live/{pid}.events"));
    assert!(live.exists());
    let capture = Capture::open(&ground.path("c")).unwrap();
    assert_eq!(capture.manifest().logs.len(), 1);
    assert_eq!(capture.manifest().logs[0].path, "rings/0.ring");
    assert!(capture.manifest().notes.iter().any(|note| note.contains(&format!("rings/live/{pid}.events"))));
    assert!(Stream::read(&stream).slots[&0].events.len() > 100);
    wait_for("the program's end", || fs::read(&out).is_ok_and(|text| text == b"done\n"));
    wait_for("its file's end", || !live.exists());
}

#[test]
fn live_a_process_with_rings_is_read_from_its_beginning() {
    let Some(ground) = Ground::of("ghc-9.10") else { return };
    let line = ground.line(&["domains", "2", "15"]);
    let mut command = clean(&line[0]);
    let folder = ground.path("");
    // Rings that hold everything until a reader comes.
    let set = [
        ("OCAML_RUNTIME_EVENTS_START", "1".as_ref()),
        ("OCAML_RUNTIME_EVENTS_DIR", folder.as_os_str()),
        ("OCAMLRUNPARAM", "e=20,s=2M".as_ref()),
    ];
    let mut program = command.args(&line[1..]).current_dir(&folder).envs(set).stdout(Stdio::null()).spawn().unwrap();
    let file = ground.path(&format!("{}.events", program.id()));
    wait_for("the ring", || file.exists());
    std::thread::sleep(std::time::Duration::from_millis(700));
    let record = |name: &str, pid: u32| {
        let mut rtscope = clean(testkit::rtscope().as_ref());
        rtscope
            .args(["record", "--for", "1s", "--pid", &pid.to_string(), "-o"])
            .arg(ground.path(name))
            .output()
            .unwrap()
    };
    let output = record("c", program.id());
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(file.exists(), "the user's file is gone");
    assert!(program.wait().unwrap().success());
    let [(path, pid, version)] = &logs(&ground.manifest("c"))[..] else { panic!("{}", stderr(&output)) };
    assert_eq!((*pid, version.as_deref()), (u64::from(program.id()), Some(ground.version)));
    let stream = ground.stream("c", path);
    assert_eq!((stream.lost(), stream.ends), (0, 0));
    assert!(stream.has(RING_START));
    // A program that writes none.
    let mut program = clean(&line[0]).args(&line[1..]).current_dir(&folder).stdout(Stdio::null()).spawn().unwrap();
    let exe = format!("/proc/{}/exe", program.id());
    wait_for("the program", || fs::read_link(&exe).is_ok_and(|exe| exe.ends_with("program")));
    let output = record("none", program.id());
    assert!(stderr(&output).contains("writes no runtime events") && output.status.success(), "{}", stderr(&output));
    kill("-9", program.id());
    program.wait().unwrap();
}

#[test]
fn live_settings_that_would_kill_the_program_are_not_left_to() {
    for ground in grounds() {
        for (value, word) in [("e=22", "e=20"), ("e=0", "e=8"), ("d=256,e=20,v=0", "e=19")] {
            let name = value.replace(['=', ','], "");
            let mut recorder = ground.recorder(&name, &["--no-kernel", "--sample-code", "0"], &["collect", "100"]);
            let output = recorder.env("OCAMLRUNPARAM", value).output().unwrap();
            is_done(&output);
            assert!(stderr(&output).contains(&format!("was started with {word}")), "{value}: {}", stderr(&output));
        }
        let mut recorder = ground.recorder("nowhere", &[], &["collect", "100"]);
        let output = recorder.env("OCAML_RUNTIME_EVENTS_DIR", "/no/such/folder").output().unwrap();
        is_done(&output);
        assert!(stderr(&output).contains("cannot be written to"), "{}", stderr(&output));
        is_done(&ground.record("off", &["--no-eventlog"], &["collect", "100"]));
        assert_eq!(logs(&ground.manifest("off")), []);
    }
}

/// Records on a disk of that size, in a mount namespace of its own.
fn on_a_small_disk(ground: &Ground, size: &str) -> Option<(Output, Value)> {
    let disk = ground.path("disk");
    fs::create_dir_all(&disk).unwrap();
    let script = r#"
        mount -t tmpfs -o size="$1" tmpfs "$2" || exit 99
        capture=$2/c kept=$3 rtscope=$4; shift 4
        # Another process fills it while the program runs.
        (sleep 1; dd if=/dev/zero of="${capture%/c}/full" bs=64k) 2> /dev/null &
        "$rtscope" record --flush-every 100ms -o "$capture" -- "$@"
        status=$?
        rm -rf "$kept"; cp -r "$capture" "$kept"
        exit $status
    "#;
    let mut command = clean("unshare".as_ref());
    command.args(["--mount", "--propagation", "private", "sh", "-c", script, "sh", size]);
    command.args([disk.as_os_str(), ground.path("kept").as_os_str(), testkit::rtscope().as_ref()]);
    command.current_dir(ground.path(""));
    let output = command.args(ground.line(&["domains", "2", "4"])).output().unwrap();
    if output.status.code() == Some(99) {
        missing("permission to mount a small disk");
        return None;
    }
    let manifest = ground.manifest("kept");
    Some((output, manifest))
}

#[test]
fn live_a_full_disk_ends_the_recording_not_the_program() {
    let Some(ground) = Ground::of("ghc-9.10") else { return };
    let Some((output, manifest)) = on_a_small_disk(&ground, "32m") else { return };
    is_done(&output);
    let full: Vec<_> = losses(&manifest, "rings/0.ring");
    assert!(full.iter().any(|loss| loss["kind"] == "disk-full"), "{}", manifest["losses"]);
    assert!(!ground.stream("kept", "rings/0.ring").slots[&0].events.is_empty());
    let Some((output, manifest)) = on_a_small_disk(&ground, "2m") else { return };
    is_done(&output);
    assert!(stderr(&output).contains("there is no room for the rings"), "{}", stderr(&output));
    assert_eq!(logs(&manifest), []);
}

#[test]
fn live_a_release_is_recognised_from_every_kind_of_program() {
    for ground in grounds() {
        let inspected = |name: &str| binary::inspect(&ground.path(name)).binary;
        ground.build("ocamlopt", &["-ccopt", "-static"], "static");
        ground.build("ocamlc", &["-custom"], "custom");
        for name in ["program", "static", "custom"] {
            let stripped = format!("{name}-stripped");
            // What `strip` removes from a bytecode program with its own runtime is the program.
            if name != "custom" {
                ground.run("strip", &["-o", &stripped, name]);
                assert!(!inspected(&stripped).symbols);
                assert_eq!(inspected(&stripped).version.as_deref(), Some(ground.version), "{stripped}");
            }
            assert_eq!(inspected(name).version.as_deref(), Some(ground.version), "{name}");
            assert_eq!(inspected(name).family.as_deref(), Some("ocaml"));
        }
    }
}

#[test]
fn live_bytecode_is_recorded_like_native_code() {
    for ground in grounds() {
        ground.build("ocamlc", &["-output-complete-exe"], "program");
        is_done(&ground.record("c", &[], &["domains", "2", "0.5"]));
        let logs = logs(&ground.manifest("c"));
        assert_eq!(logs[0].2.as_deref(), Some(ground.version), "{logs:?}");
        assert_eq!(ground.stream("c", "rings/0.ring").ends, 1);
    }
}

#[test]
fn live_a_program_that_is_no_ocaml_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let capture = folder.path().join("c");
    let mut command: Command = clean(testkit::rtscope().as_ref());
    let output = command.args(["record", "-o"]).arg(&capture).args(["--", "sh", "-c", "echo done"]).output().unwrap();
    is_done(&output);
    assert!(stderr(&output).contains("no OCaml 5 program wrote runtime events"), "{}", stderr(&output));
    assert!(!capture.join("rings").exists());
}
