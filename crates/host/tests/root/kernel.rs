//! Records this very kernel in each tier, and decodes the result. A tier that this
//! machine refuses is reported with the reason, not tested; to root, none may be refused.

use rtscope_decode::ReadAt;
use rtscope_decode::frames::Frames;
use rtscope_decode::sched::SchedStream;
use rtscope_host::folder::Folder;
use rtscope_host::kernel::{KernelOptions, KernelRecorder, KernelTarget};
use rtscope_model::manifest::{Kernel, Tier};
use rtscope_model::{Body, Cpu, Loss, LossKind, OffState, Pid, Sched, Tid};
use rustix::thread::{CpuSet, sched_setaffinity};
use std::collections::HashMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, mpsc};
use std::time::{Duration, Instant};
use testkit::executable;

/// Recordings of whole CPUs would see each other's load.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

fn alone() -> MutexGuard<'static, ()> {
    ONE_AT_A_TIME.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

struct Decoded {
    events: Vec<(u64, Sched)>,
    names: HashMap<Tid, String>,
    losses: Vec<Loss>,
    next_names: HashMap<Tid, String>,
}

/// Decodes the recording in `folder`, which is a capture's `sched/`.
fn decode(folder: &Path, kernel: &Kernel) -> Decoded {
    let below = |path: &str| folder.join(path.strip_prefix("sched/").unwrap());
    let open = |path: &String| -> Arc<dyn ReadAt> {
        assert!(path.ends_with(".perf.zst"), "{path}");
        Arc::new(Frames::new(Arc::new(File::open(below(path)).unwrap())).unwrap())
    };
    let sources = kernel.streams.iter().map(open).collect();
    let formats = kernel
        .tracepoints
        .iter()
        .map(|point| (point.name.clone(), fs::read_to_string(below(&point.format)).unwrap()))
        .collect();
    let threads = fs::read(folder.join("threads.json")).unwrap();
    let mut stream = SchedStream::open(kernel, sources, &formats, Some(&threads)).unwrap();
    let mut events = Vec::new();
    for event in stream.by_ref() {
        let Body::Sched(sched) = event.body else { panic!("{event:?}") };
        events.push((event.time.0, sched));
    }
    let (mut names, mut next_names) = (HashMap::new(), HashMap::new());
    for (_, sched) in &events {
        match *sched {
            Sched::Named { tid, name } => _ = names.insert(tid, stream.names().get(name).to_owned()),
            Sched::Switch { next, next_name, .. } => {
                _ = next_names.insert(next, stream.names().get(next_name).to_owned());
            }
            _ => {}
        }
    }
    assert!(events.is_sorted_by_key(|(time, _)| *time));
    Decoded { events, names, losses: stream.losses(), next_names }
}

/// Whether `kernel` has the wanted tier; if not, prints why.
fn got(kernel: &Kernel, wanted: Tier) -> bool {
    if kernel.tier != wanted {
        eprintln!("not run: this machine refuses {wanted:?}: {:?}", kernel.missing);
        assert!(!rustix::process::getuid().is_root(), "root should get every tier");
    }
    kernel.tier == wanted
}

fn start(folder: &Path, target: KernelTarget, tier: Tier) -> KernelRecorder {
    let options = KernelOptions { target, force_tier: Some(tier), redactor: None };
    KernelRecorder::start(&Folder::open(folder).unwrap(), options)
}

fn own_pid() -> Pid {
    Pid(std::process::id())
}

fn own_tid() -> Tid {
    Tid(rustix::thread::gettid().as_raw_nonzero().get() as u32)
}

fn pin(pid: Option<rustix::process::Pid>, cpu: Cpu) {
    let mut cpus = CpuSet::new();
    cpus.set(usize::from(cpu.0));
    sched_setaffinity(pid, &cpus).unwrap();
}

/// A process that uses as much of one CPU as it can; killed when dropped.
struct Neighbour(Child);

impl Neighbour {
    fn on(cpu: Cpu) -> Neighbour {
        let child = Command::new("/bin/sh").args(["-c", "while :; do :; done"]).spawn().unwrap();
        pin(rustix::process::Pid::from_raw(child.id() as i32), cpu);
        Neighbour(child)
    }

    fn tid(&self) -> Tid {
        Tid(self.0.id())
    }
}

impl Drop for Neighbour {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn named<T: Send + 'static>(name: &str, body: impl FnOnce() -> T + Send + 'static) -> std::thread::JoinHandle<T> {
    std::thread::Builder::new().name(name.to_owned()).spawn(body).unwrap()
}

/// A thread that is preempted by a neighbour, and one that wakes another.
/// Returns victim, waker, sleeper and neighbour.
fn contend(cpu: Cpu) -> [Tid; 4] {
    let neighbour = Neighbour::on(cpu);
    let victim = named("victim", move || {
        pin(None, cpu);
        let end = Instant::now() + Duration::from_millis(800);
        while Instant::now() < end {
            std::hint::spin_loop();
        }
        own_tid()
    });
    let (send, receive) = mpsc::channel::<()>();
    let sleeper = named("sleeper", move || {
        while receive.recv().is_ok() {}
        own_tid()
    });
    let waker = named("waker", move || {
        for _ in 0..40 {
            std::thread::sleep(Duration::from_millis(10));
            send.send(()).unwrap();
        }
        own_tid()
    });
    [victim.join().unwrap(), waker.join().unwrap(), sleeper.join().unwrap(), neighbour.tid()]
}

/// Nothing was lost, except switches between threads that the kernel does not
/// trace: on some machines a virtual machine's own agent is such a thread.
fn assert_whole(kernel: &Kernel, decoded: &Decoded) {
    assert_eq!(kernel.lost, 0);
    let losses = decoded.losses.iter().filter(|loss| loss.source != "kernel").count();
    assert_eq!(losses, 0, "{:?}", decoded.losses);
    let switches = decoded.events.iter().filter(|(_, sched)| matches!(sched, Sched::Switch { .. })).count();
    let unseen: u64 = decoded.losses.iter().map(|loss| loss.count).sum();
    assert!(unseen as usize <= 5 + switches / 50, "{unseen} of {switches}: {:?}", decoded.losses);
}

/// Records a contended CPU in `tier`. On a machine that is so busy with other
/// work that the ring overflows it tries again. `None`: refused.
fn record_contention(tier: Tier) -> Option<(Kernel, Decoded, [Tid; 4])> {
    let mut attempts = (0..3).map(|_| {
        let folder = tempfile::tempdir().unwrap();
        let recorder = start(folder.path(), KernelTarget::Attached(own_pid()), tier);
        if !got(&recorder.status(), tier) {
            return None;
        }
        let threads = contend(Cpu(0));
        let kernel = recorder.finish();
        let decoded = decode(folder.path(), &kernel);
        Some((kernel, decoded, threads))
    });
    let mut last = attempts.next()?;
    for attempt in attempts {
        if last.as_ref().is_none_or(|(kernel, ..)| kernel.lost == 0) {
            break;
        }
        last = attempt;
    }
    last
}

/// On each CPU, the thread that leaves is the one that came last, except for losses.
fn assert_switches_chain(decoded: &Decoded) {
    let mut current: HashMap<Cpu, Tid> = HashMap::new();
    let mut breaks = 0;
    for (_, sched) in &decoded.events {
        if let Sched::Switch { cpu, prev, next, .. } = sched {
            breaks += u64::from(current.insert(*cpu, *next).is_some_and(|current| current != *prev));
        }
    }
    assert!(!current.is_empty());
    assert_eq!(breaks, decoded.losses.iter().map(|loss| loss.count).sum::<u64>(), "{:?}", decoded.losses);
}

#[test]
fn tracepoints_show_preemptions_and_wakers() {
    let _alone = alone();
    let Some((kernel, decoded, [victim, waker, sleeper, neighbour])) = record_contention(Tier::Tracepoints) else {
        return;
    };
    assert_whole(&kernel, &decoded);
    assert!(kernel.system_wide && kernel.missing.is_empty(), "{:?}", kernel.missing);
    assert_switches_chain(&decoded);
    let count = |wanted: &dyn Fn(&Sched) -> bool| decoded.events.iter().filter(|(_, sched)| wanted(sched)).count();
    let preempted = count(&|sched| {
        matches!(sched, Sched::Switch { cpu: on, prev, prev_pid, prev_state: OffState::Runnable, next, .. }
            if (*on, *prev, *prev_pid, *next) == (Cpu(0), victim, own_pid(), neighbour))
    });
    // Others may run there too.
    assert!(preempted >= 2, "{preempted} preemptions by the neighbour");
    let woken =
        count(&|sched| matches!(sched, Sched::Waking { waker: by, target, .. } if (*by, *target) == (waker, sleeper)));
    assert!(woken >= 30, "{woken} wake-ups of 40");
    let asleep =
        count(&|sched| matches!(sched, Sched::Switch { prev, prev_state: OffState::Sleeping, .. } if *prev == sleeper));
    assert!(asleep >= 30, "{asleep} sleeps");
    let fork = |tid: Tid, pid: Pid| {
        count(&|sched| matches!(sched, Sched::Fork { child, child_pid, .. } if (*child, *child_pid) == (tid, pid)))
    };
    assert_eq!((fork(victim, own_pid()), fork(neighbour, Pid(neighbour.0))), (1, 1), "threads and processes differ");
    assert_eq!(count(&|sched| matches!(sched, Sched::Exit { tid } if *tid == victim)), 1);
    for (tid, name) in [(victim, "victim"), (waker, "waker"), (neighbour, "sh")] {
        assert_eq!(decoded.names.get(&tid).map(String::as_str), Some(name));
        assert_eq!(decoded.next_names.get(&tid).map(String::as_str), Some(name));
    }
    assert!(decoded.names.contains_key(&own_tid()), "threads that existed before are named");
}

#[test]
fn switches_of_whole_cpus_show_preemptions() {
    let _alone = alone();
    let Some((kernel, decoded, [victim, _, sleeper, neighbour])) = record_contention(Tier::CpuWideSwitches) else {
        return;
    };
    assert_whole(&kernel, &decoded);
    assert_switches_chain(&decoded);
    let count = |wanted: &dyn Fn(&Sched) -> bool| decoded.events.iter().filter(|(_, sched)| wanted(sched)).count();
    let preempted = count(&|sched| {
        matches!(sched, Sched::Switch { prev, prev_state: OffState::Runnable, next, .. }
            if (*prev, *next) == (victim, neighbour))
    });
    // Others may run there too.
    assert!(preempted >= 2, "{preempted} preemptions by the neighbour");
    assert!(count(&|sched| matches!(sched, Sched::Switch { next, .. } if *next == sleeper)) >= 30);
    assert_eq!(decoded.next_names.get(&neighbour).map(String::as_str), Some("sh"));
    assert_eq!(kernel.missing.len(), 1, "{:?}", kernel.missing);
}

#[test]
fn attaching_covers_old_and_new_threads_once() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let (send, receive) = mpsc::channel::<()>();
    let (send_tid, receive_tid) = mpsc::channel();
    let old = named("old", move || {
        send_tid.send(own_tid()).unwrap();
        while receive.recv().is_ok() {}
    });
    let old_tid = receive_tid.recv().unwrap();
    let recorder = start(folder.path(), KernelTarget::Attached(own_pid()), Tier::OwnSwitches);
    if !got(&recorder.status(), Tier::OwnSwitches) {
        return;
    }
    let new = named("new", move || {
        for _ in 0..20 {
            std::thread::sleep(Duration::from_millis(5));
            send.send(()).unwrap();
        }
        own_tid()
    });
    let new_tid = new.join().unwrap();
    old.join().unwrap();
    let kernel = recorder.finish();
    let decoded = decode(folder.path(), &kernel);
    assert_whole(&kernel, &decoded);
    for tid in [old_tid, new_tid] {
        assert!(alternations(&decoded.events, tid) >= 20, "thread {tid}");
    }
    assert_eq!(decoded.names.get(&new_tid).map(String::as_str), Some("new"));
}

/// Times that `tid` came on a CPU; checks that it left in between.
fn alternations(events: &[(u64, Sched)], tid: Tid) -> usize {
    let mut on = None;
    let mut count = 0;
    for (_, sched) in events {
        let now = match sched {
            Sched::SwitchIn { tid: tid_in, .. } if *tid_in == tid => true,
            Sched::SwitchOut { tid: left, .. } if *left == tid => false,
            _ => continue,
        };
        assert_ne!(on, Some(now), "thread {tid} comes and goes in turn");
        on = Some(now);
        count += usize::from(now);
    }
    count
}

/// The example that records a program, in a place where every user may run it.
fn recording_program(folder: &Path) -> PathBuf {
    let built = std::env::current_exe().unwrap().parent().unwrap().parent().unwrap().join("examples/sched_record");
    assert!(built.exists(), "`cargo test -p rtscope-host` builds {}", built.display());
    let copy = folder.join("sched_record");
    executable::copy(built, &copy);
    copy
}

fn open_to_all(folder: &Path) {
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(folder, fs::Permissions::from_mode(0o777)).unwrap();
}

#[test]
fn without_privilege_the_own_switches_are_left() {
    let _alone = alone();
    if !rustix::process::getuid().is_root() || !Path::new("/usr/bin/setpriv").exists() {
        eprintln!("not run: needs root and setpriv to become another user");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    open_to_all(folder.path());
    let program = recording_program(folder.path());
    let out = folder.path().join("sched");
    let status = Command::new("/usr/bin/setpriv")
        .args(["--reuid=65534", "--regid=65534", "--clear-groups"])
        .args([program.as_os_str(), out.as_os_str()])
        .args(["tracepoints", "/bin/sh", "-c", "i=0; while [ $i -lt 20 ]; do sleep 0.005; i=$((i+1)); done; exit 7"])
        .status()
        .unwrap();
    assert_eq!(status.code(), Some(7));
    let kernel: Kernel = serde_json::from_slice(&fs::read(out.join("kernel.json")).unwrap()).unwrap();
    if kernel.tier != Tier::OwnSwitches {
        let paranoid = fs::read_to_string("/proc/sys/kernel/perf_event_paranoid").unwrap();
        assert!(paranoid.trim().parse::<i32>().unwrap() > 2, "{:?}", kernel.missing);
        eprintln!("not run: kernel.perf_event_paranoid is {paranoid}");
        return;
    }
    assert_eq!(kernel.missing.len(), 2, "{:?}", kernel.missing);
    let decoded = decode(&out, &kernel);
    assert_whole(&kernel, &decoded);
    assert!(!kernel.system_wide);
    let children: Vec<Tid> = decoded
        .events
        .iter()
        .filter_map(|(_, sched)| match sched {
            Sched::Fork { child, child_pid, .. } if child.0 == child_pid.0 => Some(*child),
            _ => None,
        })
        .collect();
    assert_eq!(children.len(), 20);
    for child in children {
        assert_eq!(decoded.names.get(&child).map(String::as_str), Some("sleep"));
        assert!(alternations(&decoded.events, child) >= 2);
    }
}

#[test]
fn polling_opens_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let kernel = start(folder.path(), KernelTarget::Attached(own_pid()), Tier::Polling).finish();
    assert_eq!((kernel.tier, kernel.streams.len(), kernel.missing.len()), (Tier::Polling, 0, 3));
    let threads = rtscope_decode::sched::thread_names(&fs::read(folder.path().join("threads.json")).unwrap()).unwrap();
    assert!(threads.iter().any(|thread| thread.pid == own_pid().0));
}

#[test]
fn a_folder_that_cannot_be_written_is_reported_not_fatal() {
    let folder = tempfile::tempdir().unwrap();
    let absent = folder.path().join("absent");
    fs::create_dir(&absent).unwrap();
    let held = Folder::open(&absent).unwrap();
    fs::remove_dir(&absent).unwrap();
    let target = KernelTarget::Attached(own_pid());
    let options = KernelOptions { target, force_tier: Some(Tier::Tracepoints), redactor: None };
    let kernel = KernelRecorder::start(&held, options).finish();
    assert_eq!((kernel.tier, kernel.streams.len()), (Tier::Polling, 0));
    assert!(kernel.missing.iter().any(|missing| missing.contains("could not be written")), "{:?}", kernel.missing);
}

#[test]
fn a_killed_recorder_leaves_a_readable_recording_and_a_running_program() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let program = recording_program(folder.path());
    for round in 0..5u64 {
        let out = folder.path().join(format!("sched{round}"));
        let mut recorder = Command::new(&program)
            .arg(&out)
            .args(["tracepoints", "/bin/sh", "-c", "echo $$; while sleep 0.002; do :; done"])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        std::io::BufRead::read_line(&mut std::io::BufReader::new(recorder.stdout.take().unwrap()), &mut line).unwrap();
        let pid = rustix::process::Pid::from_raw(line.trim().parse().unwrap()).unwrap();
        std::thread::sleep(Duration::from_millis(700 + 37 * round));
        recorder.kill().unwrap();
        recorder.wait().unwrap();
        std::thread::sleep(Duration::from_millis(20));
        assert!(rustix::process::test_kill_process(pid).is_ok(), "the program runs on");
        rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
        let kernel: Kernel = serde_json::from_slice(&fs::read(out.join("kernel.json")).unwrap()).unwrap();
        let decoded = decode(&out, &kernel);
        assert!(decoded.events.len() > 50, "{} events", decoded.events.len());
        let damaged = decoded.losses.iter().filter(|loss| loss.kind == LossKind::Damaged).count();
        assert_eq!(damaged, 0, "{:?}", decoded.losses);
    }
}
