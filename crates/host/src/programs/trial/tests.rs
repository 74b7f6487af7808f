//! Trials of small programs of the shell.

use super::*;
use crate::programs::spawn::SpawnError;
use crate::system::procfs::Host;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::time::Duration;

const LONG: Duration = Duration::from_secs(60);

fn job(words: &[&str]) -> Job {
    Job { argv: words.iter().map(OsString::from).collect(), ..Job::default() }
}

fn shell(script: &str) -> Job {
    job(&["sh", "-c", script])
}

fn run(job: &Job) -> Ended {
    let mut running = start(&Host::default(), job).unwrap();
    assert!(running.wait(Instant::now() + LONG, None));
    running.end().unwrap()
}

fn runs(pid: &str) -> bool {
    let stat = std::fs::read_to_string(Path::new("/proc").join(pid.trim()).join("stat"));
    // The process that adopted it may not have reaped it yet.
    stat.is_ok_and(|stat| !stat.contains(") Z "))
}

#[test]
fn it_is_run_as_requested_and_its_end_is_reported() {
    let last = *crate::machine::resources::of(&Host::default(), None).cpus_allowed.last().unwrap();
    let script =
        "grep Cpus_allowed_list /proc/self/status; echo $WORD; cut -d' ' -f41 /proc/self/stat; echo bad >&2; exit 3";
    let set = vec![("WORD".to_owned(), "of mine".into())];
    let done = run(&Job { set, cpus: Some(vec![last]), class: SchedPolicy::Batch, ..shell(script) });
    assert_eq!(done.output.stdout, format!("Cpus_allowed_list:\t{last}\nof mine\n{}\n", libc::SCHED_BATCH));
    assert_eq!((done.output.stderr.as_str(), done.status.code(), done.stopped_by), ("bad\n", Some(3), None));
    assert!(done.wall_ns > 0 && done.memory_peak_bytes > 0 && !done.how.is_empty());
}

#[test]
fn nothing_waits_for_a_full_pipe() {
    let done = run(&shell("yes | head -c 3000000; yes no | head -c 3000000 >&2; echo end"));
    assert!(done.status.success() && done.output.stdout.ends_with("y\nend\n") && done.output.stderr.ends_with("no\n"));
}

#[test]
fn cpu_time_is_of_all_that_it_starts() {
    let spin = "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done";
    let done = run(&shell(&format!("({spin}) & ({spin}) & wait")));
    assert!(done.cpu_ns > 50_000_000, "{done:?}");
}

#[test]
fn one_that_obeys_is_stopped_by_the_first_signal() {
    let mut running =
        start(&Host::default(), &shell("trap 'echo over; exit 0' INT; echo on; while :; do sleep 0.01; done")).unwrap();
    assert!(!running.wait(Instant::now() + Duration::from_millis(300), None));
    let done = running.stop(LONG).unwrap();
    assert_eq!((done.status.code(), done.stopped_by), (Some(0), Some(libc::SIGINT)));
    assert_eq!(done.output.stdout, "on\nover\n");
}

#[test]
fn one_that_obeys_nothing_is_killed_with_its_children() {
    let script = "trap '' INT TERM; sleep 1000 & echo $!; exec sleep 1000";
    let running = start(&Host::default(), &shell(script)).unwrap();
    std::thread::sleep(Duration::from_millis(300));
    let done = running.stop(Duration::from_millis(50)).unwrap();
    assert_eq!((done.status.signal(), done.stopped_by), (Some(libc::SIGKILL), Some(libc::SIGKILL)));
    assert!(!runs(&done.output.stdout), "{}", done.output.stdout);
}

#[test]
fn leftover_processes_end_with_it() {
    let done = run(&shell("sleep 1000 & echo $!"));
    assert!(done.status.success() && !runs(&done.output.stdout));
}

#[test]
fn root_what_leaves_its_process_group_goes_too() {
    let done = run(&shell("setsid sleep 1000 & echo $!; sleep 0.3"));
    let pid = done.output.stdout.trim().to_owned();
    if done.how.contains("of its control group") {
        assert!(!runs(&pid), "{}", done.how);
    } else {
        // Reported, but not done.
        assert!(done.how.contains("its largest process"), "{}", done.how);
        let pid = pid.parse().ok().and_then(rustix::process::Pid::from_raw).unwrap();
        rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
    }
}

/// A place for v2 groups without a memory counter, as a tree that shows nothing else.
fn a_v2_hierarchy() -> Option<tempfile::TempDir> {
    let mounts = std::fs::read_to_string("/proc/self/mounts").ok()?;
    let at = mounts.lines().find_map(|line| line.split(' ').nth(1).filter(|_| line.contains(" cgroup2 ")))?;
    let given = std::fs::read_to_string(Path::new(at).join("cgroup.controllers")).ok()?;
    if given.contains("memory") || !rustix::process::geteuid().is_root() {
        return None;
    }
    let tree = tempfile::tempdir().unwrap();
    for folder in ["proc/self", "sys/fs"] {
        std::fs::create_dir_all(tree.path().join(folder)).unwrap();
    }
    std::os::unix::fs::symlink(at, tree.path().join("sys/fs/cgroup")).unwrap();
    let mount = "30 25 0:26 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw\n";
    std::fs::write(tree.path().join("proc/self/mountinfo"), mount).unwrap();
    std::fs::write(tree.path().join("proc/self/cgroup"), "0::/\n").unwrap();
    Some(tree)
}

#[test]
fn root_a_v2_group_without_a_memory_counter_is_of_use() {
    let Some(tree) = a_v2_hierarchy() else { return };
    let script = "setsid sleep 1000 & echo $!; i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done";
    let mut running = start(&Host::at(tree.path()), &shell(script)).unwrap();
    assert!(running.wait(Instant::now() + LONG, None));
    let done = running.end().unwrap();
    assert!(done.how.starts_with("CPU time of its control group, which counts no memory"), "{}", done.how);
    assert!(done.cpu_ns > 10_000_000 && done.memory_peak_bytes > 0, "{done:?}");
    assert!(!runs(&done.output.stdout));
}

#[test]
fn one_that_is_forgotten_is_gone() {
    let running = start(&Host::default(), &job(&["sleep", "1000"])).unwrap();
    let pid = running.pid().to_string();
    assert!(runs(&pid));
    drop(running);
    assert!(!Path::new("/proc").join(pid).exists());
}

#[test]
fn it_dies_with_the_thread_that_started_it() {
    let start = || start(&Host::default(), &job(&["sleep", "1000"])).unwrap();
    let mut running = std::thread::spawn(start).join().unwrap();
    assert!(running.wait(Instant::now() + LONG, None));
    assert_eq!(running.end().unwrap().status.signal(), Some(libc::SIGKILL));
}

#[test]
fn what_does_not_start_has_an_exit_status() {
    let status = |job: &Job| match start(&Host::default(), job) {
        Err(SpawnError::Exec { status, .. }) => Some(status),
        _ => None,
    };
    assert_eq!(status(&job(&["/no/such/program"])), Some(127));
    assert_eq!(status(&job(&["/"])), Some(126));
    assert_eq!(status(&job(&[])), None);
    assert_eq!(status(&Job { cpus: Some(vec![4_000_000]), ..job(&["true"]) }), Some(126));
}

#[test]
fn waiting_can_be_interrupted() {
    let (read, write) = std::io::pipe().unwrap();
    drop(write);
    use std::os::fd::AsFd;
    let mut running = start(&Host::default(), &job(&["sleep", "1000"])).unwrap();
    assert!(!running.wait(Instant::now() + LONG, Some(read.as_fd())));
    let gate = Gate { quiet: LONG, ..Gate::default() };
    assert_eq!(gate.wait(&Host::default(), None, Some(read.as_fd())), Err(NotQuiet::Interrupted));
}
