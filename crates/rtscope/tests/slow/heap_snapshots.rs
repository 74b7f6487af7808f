//! Slow: the heap of a parallel program, read two hundred times at random moments on every
//! GHC, half of them with `--stop`, and `rtscope` killed in a quarter of them.

use testkit::heaps;

use heaps::{CHURN, Ground, Running, churned};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const SNAPSHOTS: u32 = 200;

/// A deterministic generator of random numbers.
struct Chance(u64);

impl Chance {
    fn below(&mut self, most: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % most
    }
}

#[derive(Default, Debug)]
struct Tally {
    taken: u32,
    with_stop: u32,
    killed: u32,
    /// Kills while the process was stopped.
    killed_in_stop: u32,
    programs: u32,
}

/// States of all threads of the process; empty: it has ended.
fn states(pid: &str) -> String {
    let Ok(threads) = std::fs::read_dir(format!("/proc/{pid}/task")) else { return String::new() };
    let stat = |thread: std::fs::DirEntry| std::fs::read_to_string(thread.path().join("stat")).ok();
    let state = |text: String| text.rsplit(") ").next().and_then(|rest| rest.chars().next());
    threads.flatten().filter_map(stat).filter_map(state).collect()
}

/// Whether the program ends soon.
fn ends(running: &mut Running) -> bool {
    let until = Instant::now() + Duration::from_secs(5);
    while Instant::now() < until {
        if running.child.try_wait().unwrap().is_some() {
            return true;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    false
}

fn snapshot(running: &mut Running, tally: &mut Tally, chance: &mut Chance) {
    let pid = running.pid();
    let (stop, kill) = (tally.taken % 2 == 1, tally.taken % 8 == 1 || tally.taken % 8 == 4);
    std::thread::sleep(Duration::from_millis(chance.below(60)));
    let mut command = Command::new(testkit::rtscope());
    command.args(["heap", "--json", &pid]).args(stop.then_some("--stop"));
    let mut reader = command.stdout(Stdio::null()).spawn().unwrap();
    if kill {
        std::thread::sleep(Duration::from_millis(chance.below(60)));
        tally.killed_in_stop += u32::from(states(&pid).contains('t'));
        reader.kill().unwrap();
    }
    let status = reader.wait().unwrap();
    let after = states(&pid);
    assert!(!after.contains(['t', 'T']), "left stopped: {after}, {tally:?}");
    if !kill && !matches!(status.code(), Some(0 | 3)) {
        // Only its end prevents it from being read.
        assert!(ends(running), "{status}, {tally:?}");
        return;
    }
    tally.taken += 1;
    tally.with_stop += u32::from(stop);
    tally.killed += u32::from(kill);
}

fn harms_nothing(name: &str) {
    let Some(ground) = Ground::of(name) else { return };
    let program = ground.build("churn", CHURN, &["-threaded"]);
    let (mut tally, mut chance) = (Tally::default(), Chance(name.len() as u64));
    while tally.taken < SNAPSHOTS {
        let (threads, kept, turns) = (4_u64, 20_000_u64, 10_000_000_u64);
        let numbers = [threads, kept, turns, 1_000_000].map(|number| number.to_string());
        let arguments: Vec<&str> = numbers.iter().map(String::as_str).chain(["+RTS", "-N4"]).collect();
        let mut running = ground.start(&program, &arguments);
        assert_eq!(running.line(), "ready");
        while running.child.try_wait().unwrap().is_none() && tally.taken < SNAPSHOTS {
            snapshot(&mut running, &mut tally, &mut chance);
        }
        running.ends(&churned(threads, kept, turns).to_string());
        tally.programs += 1;
    }
    println!("{name}: {tally:?}");
    assert!(tally.with_stop >= SNAPSHOTS / 2 && tally.killed >= SNAPSHOTS / 4, "{tally:?}");
    assert!(tally.killed_in_stop > 0, "none was killed while it held the process: {tally:?}");
}

#[test]
fn slow_9_0_heap_snapshots_harm_nothing() {
    harms_nothing("ghc-9.0");
}

#[test]
fn slow_9_6_heap_snapshots_harm_nothing() {
    harms_nothing("ghc-9.6");
}

#[test]
fn slow_9_10_heap_snapshots_harm_nothing() {
    harms_nothing("ghc-9.10");
}
