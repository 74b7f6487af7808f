//! Trials on a machine that is never quiet. They run alone: others' CPU time is what neither this process nor
//! any child that it waited for used, so children of another test would count as the trial's own.

use rtscope_host::trial::{Gate, Job};
use rtscope_lab::tune::live::{Live, Tried, Way};
use std::ffi::OsString;
use std::time::Duration;
use testkit::ground::scratch;
use xtask::surroundings::Neighbours;

#[test]
fn live_a_machine_that_is_never_quiet_says_so() {
    let cpus = std::thread::available_parallelism().unwrap().get();
    let folder = scratch();
    let neighbours = Neighbours::start(&(0..cpus).collect::<Vec<_>>(), 2, folder.path()).unwrap();
    let mut live = Live::new(Way::Batch { timeout: Duration::from_secs(120) }, None, folder.path().into(), None);
    live.gate.patience = Duration::from_millis(400);
    let spin = "i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done";
    let job = Job { argv: ["sh", "-c", spin].map(OsString::from).into(), ..Job::default() };
    let tried = live.run(&job, &mut |why, _| panic!("dirty: {why}"));
    let Tried::Stopped(why) = tried else { panic!("{tried:?}") };
    assert!(why.starts_with("the machine is never quiet: in 0 s its CPUs were never idle for 100 ms"), "{why}");
    // Started anyway, it does not count.
    live.gate = Gate { quiet: Duration::ZERO, patience: Duration::ZERO, ..live.gate };
    live.tries = 2;
    let mut dirty = Vec::new();
    let tried = live.run(&job, &mut |why, figures| dirty.push((why.to_owned(), figures["foreign"])));
    let Tried::Stopped(why) = tried else { panic!("{tried:?}") };
    assert!(why.starts_with("the machine is never quiet: ") && why.contains("after 2 tries; --noisy "), "{why}");
    assert!(dirty.len() == 2 && dirty.iter().all(|(why, foreign)| why.contains("of its CPUs") && *foreign > 0.12));
    drop(neighbours);
}
