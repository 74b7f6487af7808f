//! Live: what `rtscope heap` says of processes that it cannot read, may not read, or that change while it
//! reads; and of core files, whole and damaged.

use testkit::executable;
use testkit::heaps;
use testkit::output::stderr;

use heaps::{CHURN, Ground, PINNED, Running, document, figure, rtscope};
use serde_json::Value;
use std::fs::OpenOptions;
use std::os::unix::fs::FileExt;
use std::process::{Command, Output};
use std::time::Duration;
use xtask::missing;
use xtask::toolchain::is_root;

fn refused(output: &Output, why: &str) {
    assert_eq!(output.status.code(), Some(1), "{}", stderr(output));
    assert!(output.stdout.is_empty() && stderr(output).contains(why), "{}", stderr(output));
}

/// A program that waits at its last stop.
fn standing(ground: &Ground, flags: &[&str]) -> Running {
    let program = ground.build("pinned", PINNED, flags);
    let mut running = ground.start(&program, &["strip", "50000"]);
    for name in ["start", "all", "some"] {
        assert_eq!(running.line(), name);
        if name != "some" {
            running.go_on();
        }
    }
    running
}

#[test]
fn live_what_is_no_haskell_program_is_refused() {
    let other = Running::of(Command::new("sleep").arg("60"));
    refused(&rtscope(&["heap", &other.pid()]), "is not a Haskell program");
    refused(&rtscope(&["heap", "4000000"]), "there is no process 4000000");
}

#[test]
fn live_a_program_that_ends_meanwhile_is_gone() {
    let Some(ground) = Ground::of("ghc-9.0") else { return };
    let program = ground.build("churn", CHURN, &["-threaded"]);
    let mut gone = 0;
    for turn in 0..20_u64 {
        let mut running = ground.start(&program, &["1", "200000", "900000000", "100000"]);
        assert_eq!(running.line(), "ready");
        let mut command = Command::new(testkit::rtscope());
        let reader = Running::of(command.args(["heap", "--json", &running.pid()]).stderr(std::process::Stdio::piped()));
        std::thread::sleep(Duration::from_millis(4 * turn));
        running.child.kill().unwrap();
        running.child.wait().unwrap();
        let output = reader.output();
        match output.status.code() {
            Some(0 | 3) => {}
            _ => {
                refused(&output, "there is no process");
                gone += 1;
            }
        }
    }
    assert!(gone > 0);
}

#[test]
fn live_another_users_process_is_refused_with_the_line_that_helps() {
    if !is_root() {
        return missing("root, to become another user");
    }
    let Some(ground) = Ground::of("ghc-9.0") else { return };
    let running = standing(&ground, &[]);
    // The unprivileged user has no access to the folders of this test.
    let place = std::env::temp_dir().join(format!("rtscope-heap-{}", std::process::id()));
    executable::copy(testkit::rtscope(), &place);
    let mut command = Command::new("setpriv");
    command.args(["--reuid=65534", "--regid=65534", "--clear-groups"]).arg(&place).args(["heap", &running.pid()]);
    let output = command.output();
    std::fs::remove_file(&place).unwrap();
    let Ok(output) = output else { return missing("setpriv (package util-linux)") };
    refused(&output, "may not be read");
    assert!(stderr(&output).contains(&format!("sudo rtscope heap {}", running.pid())), "{}", stderr(&output));
}

#[test]
fn live_a_process_in_other_namespaces_is_read_by_its_own_files() {
    if !is_root() {
        return missing("root, to make namespaces");
    }
    let Some(ground) = Ground::of("ghc-9.0") else { return };
    let program = ground.build("pinned", PINNED, &[]);
    let folder = ground.folder.path().to_str().unwrap();
    // Only the process itself finds its program at this path.
    let script = "mount -t tmpfs none /mnt && cp \"$1\" /mnt/own && exec /mnt/own strip 1000";
    let mut command = Command::new("unshare");
    command.args(["--pid", "--fork", "--mount", "sh", "-c", script, folder]).arg(&program);
    let mut outside = Running::of(&mut command);
    assert_eq!(outside.line(), "start");
    let children = format!("/proc/{0}/task/{0}/children", outside.pid());
    let child = std::fs::read_to_string(children).unwrap().trim().to_owned();
    let heap = document(&rtscope(&["heap", "--json", &child]), &[0]);
    let names = |key: &str| heap[key].as_array().unwrap().iter().map(|one| one["name"].to_string()).collect::<String>();
    assert!(names("census").contains("GHC.") && figure(&heap, "/pinned/live_objects") > 0.0);
    for moment in ["all", "some"] {
        outside.go_on();
        assert_eq!(outside.line(), moment);
    }
    outside.go_on();
    outside.ends("800");
}

const COLLECTING: &str = testkit::source!("haskell/always-collecting/Main.hs");

#[test]
fn live_a_heap_that_is_being_collected_is_read_or_reported_as_such() {
    let Some(ground) = Ground::of("ghc-9.0") else { return };
    let program = ground.build("collecting", COLLECTING, &[]);
    let mut running = ground.start(&program, &[]);
    assert_eq!(running.line(), "4096000");
    for options in [&[][..], &["--blocks"], &["--stop", "--max-stop", "5s"]].iter().cycle().take(9) {
        let output = rtscope(&[&["heap", "--json", &running.pid()], *options].concat());
        let heap = document(&output, &[0, 3]);
        let doubts = heap["doubts"].as_array().unwrap();
        assert_eq!(output.status.code() == Some(3), !doubts.is_empty(), "{doubts:?}");
    }
}

#[test]
fn live_a_stripped_program_is_read_and_says_what_is_not_known() {
    let Some(ground) = Ground::of("ghc-9.0") else { return };
    let running = standing(&ground, &["-optl-s"]);
    let heap = running.heap(&[], &[0]);
    assert_eq!(heap["collections_meanwhile"], Value::Null);
    assert!(heap["doubts"][0].as_str().unwrap().contains("has no symbols"), "{}", heap["doubts"]);
    let live = figure(&heap, "/pinned/live_objects");
    assert!((5000.0..5100.0).contains(&live), "{live}");
    let names: Vec<&str> = heap["holders"].as_array().unwrap().iter().filter_map(|one| one["name"].as_str()).collect();
    // Constructors carry their names; everything else is identified by its location.
    assert!(names.iter().take(2).any(|name| *name == "Data.ByteString.Internal.PS"), "{names:?}");
    let census = heap["census"].as_array().unwrap();
    assert!(census.iter().any(|entry| entry["name"].as_str().unwrap().starts_with("pinned+0x")), "{census:?}");
    assert!(figure(&heap, "/unexplained_bytes").abs() <= 0.03 * figure(&heap, "/rss_bytes"));
}

#[test]
fn live_a_core_file_says_what_the_process_did() {
    let Some(ground) = Ground::of("ghc-9.0") else { return };
    let running = standing(&ground, &[]);
    let live = running.heap(&[], &[0]);
    let (path, cut) = (ground.path("core"), ground.path("cut"));
    let parts = heaps::core::write(running.child.id(), &path);
    let of = |path: &std::path::Path, statuses: &[i32]| {
        document(&rtscope(&["heap", "--json", "--core", path.to_str().unwrap()]), statuses)
    };
    let core = of(&path, &[0]);
    for key in ["kinds", "holders", "census", "megablocks", "runtime"] {
        assert_eq!(core[key], live[key], "{key}");
    }
    assert_eq!(
        (core["pinned"]["live_objects"].as_u64(), core["rss_bytes"].as_u64()),
        (live["pinned"]["live_objects"].as_u64(), None)
    );
    // A descriptor that says it belongs elsewhere.
    let heap = parts.iter().find(|part| part.from >= 0x42_0000_0000 && part.from < 0x142_0000_0000).unwrap();
    let megablock = live["megablocks"][0]["address"].as_u64().unwrap();
    let descriptor = heap.offset + (megablock - heap.from) + 64 * 20;
    let file = OpenOptions::new().write(true).open(&path).unwrap();
    file.write_all_at(&[0x11; 8], descriptor).unwrap();
    let spoiled = of(&path, &[3]);
    assert!(figure(&spoiled, "/contradictions") >= 1.0 && spoiled["doubts"].to_string().contains("contradict"));
    // Truncated in the heap: what is there is read.
    let whole = std::fs::read(&path).unwrap();
    let end = (heap.offset + (heap.to - heap.from) / 2) as usize;
    std::fs::write(&cut, &whole[..end]).unwrap();
    let output = rtscope(&["heap", "--json", "--core", cut.to_str().unwrap()]);
    match output.status.code() {
        Some(3) => assert!(document(&output, &[3])["doubts"].to_string().contains("cut short")),
        // What says where the heap is may lie after the cut.
        _ => refused(&output, "core"),
    }
    std::fs::write(&cut, &whole[..100]).unwrap();
    refused(&rtscope(&["heap", "--core", cut.to_str().unwrap()]), "cut off");
}
