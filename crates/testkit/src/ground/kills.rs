//! Kills recorders at random moments. Owns the checks after each kill: the program's output and status
//! are the same as without a recorder, and whatever was written can be reported.

use super::{Ground, recorder, report, scratch, wait_for};
use std::ffi::OsStr;
use std::fs::{self, File};
use std::hash::{BuildHasher, RandomState};
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

/// Latest time of a kill after the recorder's start, microseconds.
const WITHIN_US: u64 = 1_500_000;
/// The program's run time: some kills come after its end.
const PROGRAM_SECONDS: &str = "0.8";
/// The program's output, with its status as the surrounding shell saw it.
const UNHARMED: &str = "done\nstatus 0\n";

/// How many kills came in which phase.
#[derive(Copy, Clone, Eq, PartialEq, Debug, Default)]
pub struct Kills {
    /// Before a manifest was written: `report` says so or reads the log; the program ran or never started.
    pub before_anything: u32,
    /// During the recording.
    pub in_between: u32,
    /// Kills during the recording whose reports contain pauses.
    pub with_pauses: u32,
    /// After the recording.
    pub after_the_end: u32,
}

/// Kills `count` recorders of a parallel program, one after the other.
pub fn kill_recorders(ground: &Ground, count: u32) -> Kills {
    let mut kills = Kills::default();
    let random = RandomState::new();
    for round in 0..count {
        let folder = scratch();
        kill_one(ground, folder.path(), random.hash_one(round) % WITHIN_US, &mut kills);
    }
    kills
}

fn kill_one(ground: &Ground, folder: &Path, after_us: u64, kills: &mut Kills) {
    let (capture, out) = (folder.join("c"), folder.join("out"));
    let program = ["sh", "-c", "\"$@\"; echo status $?", "sh"].into_iter().map(OsStr::new);
    let program = program.chain([ground.program.as_os_str()]);
    let program = program.chain(["seconds", PROGRAM_SECONDS, "+RTS", "-N2"].into_iter().map(OsStr::new));
    let mut recording = recorder(&capture, &["--flush-every", "100ms"], &program.collect::<Vec<_>>())
        .stdout(File::create(&out).unwrap())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    std::thread::sleep(Duration::from_micros(after_us));
    recording.kill().unwrap();
    let over = recording.wait().unwrap().success();
    let started = capture.join("manifest.json").exists();
    let printed = || fs::read_to_string(&out).unwrap();
    if !started {
        kills.before_anything += 1;
        // Whether it was forked already or not, it runs to its end or not at all.
        std::thread::sleep(Duration::from_secs(3));
        assert!(printed().is_empty() || printed() == UNHARMED, "killed after {after_us} us: {:?}", printed());
        let (status, _, message) = report(&capture);
        // The program may have written its log all the same: that one is reported.
        let named = status == Some(1) && message.contains(capture.to_str().unwrap());
        assert!(named || matches!(status, Some(0 | 3)), "killed after {after_us} us: {status:?}: {message}");
        return;
    }
    // Once while the program still writes its log, and once after everything has ended.
    for _ in 0..2 {
        let (status, report, message) = report(&capture);
        assert!(matches!(status, Some(0 | 3)), "killed after {after_us} us: report ended with {status:?}: {message}");
        assert_eq!(report["source"]["kind"], "capture");
        wait_for("the program's end", || printed().contains("status"));
    }
    assert_eq!(printed(), UNHARMED, "killed after {after_us} us");
    let (_, report, _) = report(&capture);
    if over {
        kills.after_the_end += 1;
        return;
    }
    kills.in_between += 1;
    kills.with_pauses += u32::from(report["pauses"]["count"].as_u64() > Some(0));
}
