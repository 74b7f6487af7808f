//! Work on hostile bytes in a child process that can do nothing else: no capability, no file
//! but those it is given, no system call beyond memory, reading and its one answer, limited
//! memory and time. Owns the child from its fork to its end; its death is a value here,
//! never the end of the recorder. Refuses to know what the work is.
//!
//! The child is a fork, so that the work is a closure over what is already open. glibc keeps
//! its allocator usable in the fork of a process with threads; nothing else of the other
//! threads is touched.

pub(crate) mod error;
mod filter;
pub(crate) mod messages;

pub(crate) use filter::PAGEMAP_SCAN;

use crate::privileges::opener;
use crate::system::clock;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, Resource, Rlimit, Signal, kill_process, setrlimit};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, AsRawFd, OwnedFd, RawFd};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Limits of the child.
#[derive(Copy, Clone, Debug)]
pub struct Limits {
    /// Memory in addition to the recorder's at the fork, bytes.
    pub memory_bytes: u64,
    /// CPU time, seconds: the cost of the work, however busy the CPUs are meanwhile.
    pub cpu_seconds: u64,
    /// Longest time by the wall clock.
    pub deadline: Duration,
}

/// Limits for reading one file: on a busy machine it takes longer, not more CPU time.
pub(crate) const ONE_FILE: Limits =
    Limits { memory_bytes: 192 << 20, cpu_seconds: 2, deadline: Duration::from_secs(4) };

/// The result of the work.
#[derive(Clone, PartialEq, Debug)]
pub struct Done<T> {
    pub value: T,
    /// CPU time of the child, nanoseconds.
    pub cpu_ns: u64,
}

/// Why there is no result.
#[derive(Debug, thiserror::Error)]
pub enum Died {
    /// No process or pipe could be made.
    #[error("no sandbox could be made: {0}")]
    NotStarted(io::Error),
    /// It was killed at its deadline, or had used up its CPU time.
    #[error("reading it took more than {} s", .0.as_secs())]
    Late(Duration),
    #[error("reading it takes more than {} MiB of memory", .0 >> 20)]
    Memory(u64),
    #[error("reading it ended by signal {0}")]
    Signal(i32),
    /// It ended without a readable answer.
    #[error("reading it failed (status {0})")]
    Failed(i32),
}

const ANSWER_BYTES_MAX: u64 = 256 << 20;
/// Open descriptors allowed.
const FILES_MAX: u64 = 1024;
/// Exit statuses of the child.
const PANICKED: i32 = 3;
const UNSENT: i32 = 4;
const NOT_CLOSED: i32 = 5;

/// Answers the child's requests while it works, in the recorder: bytes, and a descriptor.
pub(crate) type Serve<'a> = &'a mut dyn FnMut(&[u8]) -> (Vec<u8>, Option<OwnedFd>);

/// Whether this process is such a child.
static INSIDE: AtomicBool = AtomicBool::new(false);

static SPENT_NS: AtomicU64 = AtomicU64::new(0);

/// Total CPU time of this process's ended sandboxes, in nanoseconds.
pub(crate) fn spent_ns() -> u64 {
    SPENT_NS.load(Ordering::Relaxed)
}

/// Runs `work` in a child of its own that keeps only the descriptors `keep`, which `work` reads.
/// Inside such a child it just runs the work.
pub fn run<T: Serialize + DeserializeOwned>(
    limits: &Limits,
    keep: &[RawFd],
    work: impl FnOnce() -> T,
) -> Result<Done<T>, Died> {
    if INSIDE.load(Ordering::Relaxed) {
        return Ok(Done { value: work(), cpu_ns: 0 });
    }
    start(limits, keep, None, work)
}

/// Like [`run`]; `serve` answers the child's requests.
pub(crate) fn run_served<T: Serialize + DeserializeOwned>(
    limits: &Limits,
    keep: &[RawFd],
    serve: Serve<'_>,
    work: impl FnOnce() -> T,
) -> Result<Done<T>, Died> {
    let (own, its) = messages::pair().map_err(Died::NotStarted)?;
    let keep = [keep, &[its.as_raw_fd()]].concat();
    start(limits, &keep, Some((own, its, serve)), work)
}

fn start<T: Serialize + DeserializeOwned>(
    limits: &Limits,
    keep: &[RawFd],
    served: Option<(OwnedFd, OwnedFd, Serve<'_>)>,
    work: impl FnOnce() -> T,
) -> Result<Done<T>, Died> {
    let (answer, mut pen) = io::pipe().map_err(Died::NotStarted)?;
    let socket = served.as_ref().map_or(-1, |(_, its, _)| its.as_raw_fd());
    let plan = ChildPlan::new(limits, keep, (pen.as_raw_fd(), socket)).map_err(Died::NotStarted)?;
    // SAFETY: the child runs `work` and ends by _exit below, in this very call; it shares no
    // memory with the recorder, and takes no lock that another thread may have held, but the
    // allocator's, which glibc makes usable in the child.
    let pid = unsafe { libc::fork() };
    if pid == 0 {
        let status = plan.enter().map_or_else(|status| status, |()| answer_with(work, &mut pen));
        // SAFETY: ends the child without running anything of the recorder's.
        unsafe { libc::_exit(status) }
    }
    if pid < 0 {
        return Err(Died::NotStarted(io::Error::last_os_error()));
    }
    drop(pen);
    let served = served.map(|(own, _, serve)| (own, serve));
    let bytes = read_until(File::from(OwnedFd::from(answer)), served, Instant::now() + limits.deadline);
    if bytes.is_none() {
        // A child that has not been waited for keeps its number.
        let _ = Pid::from_raw(pid).map(|pid| kill_process(pid, Signal::KILL));
    }
    let (status, cpu_ns, _) = clock::reap(pid).unwrap_or((libc::W_EXITCODE(UNSENT, 0), 0, 0));
    SPENT_NS.fetch_add(cpu_ns, Ordering::Relaxed);
    match (bytes, libc::WIFSIGNALED(status)) {
        (None, _) => Err(Died::Late(limits.deadline)),
        // A failed allocation aborts.
        (Some(_), true) if libc::WTERMSIG(status) == libc::SIGABRT => Err(Died::Memory(limits.memory_bytes)),
        (Some(_), true) if libc::WTERMSIG(status) == libc::SIGXCPU => {
            Err(Died::Late(Duration::from_secs(limits.cpu_seconds)))
        }
        (Some(_), true) => Err(Died::Signal(libc::WTERMSIG(status))),
        (Some(bytes), false) => match (libc::WEXITSTATUS(status), serde_json::from_slice(&bytes)) {
            (0, Ok(value)) => Ok(Done { value, cpu_ns }),
            (status, _) => Err(Died::Failed(status)),
        },
    }
}

fn answer_with<T: Serialize>(work: impl FnOnce() -> T, pen: &mut io::PipeWriter) -> i32 {
    // A panic's message went to standard error, which is closed.
    let Ok(value) = catch_unwind(AssertUnwindSafe(work)) else { return PANICKED };
    let mut pen = io::BufWriter::with_capacity(64 << 10, pen);
    let sent = serde_json::to_writer(&mut pen, &value).map_err(io::Error::from).and_then(|()| pen.flush());
    // The value is not dropped: the process ends.
    std::mem::forget(value);
    if sent.is_ok() { 0 } else { UNSENT }
}

/// What the child does before the work, prepared while it may still allocate memory.
struct ChildPlan {
    filters: filter::Filters,
    /// Descriptors to keep, ascending.
    keep: Vec<RawFd>,
    /// The descriptor for its requests, or -1.
    socket: RawFd,
    data_bytes: u64,
    cpu_seconds: u64,
    parent: u32,
}

impl ChildPlan {
    fn new(limits: &Limits, keep: &[RawFd], (pen, socket): (RawFd, RawFd)) -> io::Result<ChildPlan> {
        let mut keep: Vec<RawFd> = keep.iter().copied().chain([pen]).collect();
        keep.sort_unstable();
        keep.dedup();
        let filters = filter::Filters::new(pen, socket)?;
        let data_bytes = own_data_bytes()?.saturating_add(limits.memory_bytes);
        let parent = std::process::id();
        Ok(ChildPlan { filters, keep, socket, data_bytes, cpu_seconds: limits.cpu_seconds, parent })
    }

    /// Drops all privileges. Errors: the exit status.
    fn enter(&self) -> Result<(), i32> {
        // Its parent's death ends it.
        let _ = rustix::process::set_parent_process_death_signal(Some(Signal::KILL));
        if std::os::unix::process::parent_id() != self.parent {
            return Err(NOT_CLOSED);
        }
        ignore_the_terminals_signals();
        INSIDE.store(true, Ordering::Relaxed);
        opener::set_questions(self.socket);
        close_others(&self.keep).map_err(|_| NOT_CLOSED)?;
        self.limit();
        // The child has one thread.
        crate::privileges::drop::give_up_here(0);
        self.filters.apply().map_err(|_| NOT_CLOSED)
    }

    fn limit(&self) {
        let limit = |what, most: u64| {
            let hard = if what == Resource::Cpu { most.saturating_add(1) } else { most };
            // Lowering a limit is always permitted.
            let _ = setrlimit(what, Rlimit { current: Some(most), maximum: Some(hard) });
        };
        limit(Resource::Data, self.data_bytes);
        limit(Resource::Cpu, self.cpu_seconds);
        limit(Resource::Core, 0);
        limit(Resource::Fsize, 0);
        limit(Resource::Nofile, FILES_MAX);
    }
}

/// For a child of the recorder: the recorder itself handles signals that end a foreground job.
pub(crate) fn ignore_the_terminals_signals() {
    for signal in [libc::SIGINT, libc::SIGQUIT, libc::SIGTERM, libc::SIGHUP] {
        // SAFETY: sets how signals of this process are handled, to nothing.
        unsafe { libc::signal(signal, libc::SIG_IGN) };
    }
}

/// Closes all descriptors but those of `keep`, which ascend: for a forked child that
/// never uses the others again.
pub(crate) fn close_others(keep: &[RawFd]) -> io::Result<()> {
    let mut from = 0;
    for kept in keep.iter().chain([&RawFd::MAX]) {
        if from < *kept {
            close_range(from, *kept - 1)?;
        }
        from = kept.saturating_add(1);
    }
    Ok(())
}

fn close_range(first: RawFd, last: RawFd) -> io::Result<()> {
    // SAFETY: closes descriptors of the child only, which never uses them.
    if unsafe { libc::syscall(libc::SYS_close_range, first, last, 0) } == 0 {
        return Ok(());
    }
    // Linux before 5.9: one by one, as far as numbers are in use.
    let open = std::fs::read_dir("/proc/self/fd")?;
    let numbers: Vec<RawFd> = open.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect();
    for number in numbers.into_iter().filter(|number| (first..=last).contains(number)) {
        // SAFETY: as above.
        unsafe { libc::close(number) };
    }
    Ok(())
}

/// Writable private memory of the recorder now, bytes: what `RLIMIT_DATA` counts.
fn own_data_bytes() -> io::Result<u64> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let kib = crate::system::procfs::number(&status, "VmData").ok_or(io::ErrorKind::InvalidData)?;
    Ok(kib.saturating_mul(1024))
}

/// Reads to the end, and answers requests meanwhile; `None` if the end does not come in time.
fn read_until(mut answer: File, mut served: Option<(OwnedFd, Serve<'_>)>, until: Instant) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    let mut piece = vec![0; 64 << 10];
    loop {
        let left = until.checked_duration_since(Instant::now())?;
        let timeout = Timespec::try_from(left.max(Duration::from_millis(1))).ok()?;
        let socket = served.as_ref().map(|(socket, _)| PollFd::new(socket, PollFlags::IN));
        let mut fds: Vec<PollFd<'_>> = [PollFd::new(&answer, PollFlags::IN)].into_iter().chain(socket).collect();
        match poll(&mut fds, Some(&timeout)) {
            Ok(0) | Err(rustix::io::Errno::INTR) => continue,
            Ok(_) => {}
            Err(_) => return None,
        }
        let is_asked = fds.get(1).is_some_and(|fd| fd.revents().contains(PollFlags::IN));
        let is_answered = fds.first().is_some_and(|fd| !fd.revents().is_empty());
        drop(fds);
        if let Some((socket, serve)) = served.as_mut().filter(|_| is_asked) {
            let question = messages::receive(socket.as_fd());
            // A child that is gone sends no more requests.
            let sent = question.and_then(|(question, _)| {
                let (bytes, descriptor) = serve(&question);
                messages::send(socket.as_fd(), &bytes, descriptor.as_ref().map(AsFd::as_fd))
            });
            if sent.is_err() {
                served = None;
            }
        }
        if !is_answered {
            continue;
        }
        match answer.read(&mut piece) {
            Ok(0) => return Some(bytes),
            Ok(count) if (bytes.len() + count) as u64 <= ANSWER_BYTES_MAX => {
                bytes.extend_from_slice(piece.get(..count).unwrap_or_default());
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            _ => return None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::FileExt;

    const LIMITS: Limits = Limits { memory_bytes: 64 << 20, cpu_seconds: 5, deadline: Duration::from_secs(5) };

    #[test]
    fn what_is_worked_out_comes_back_with_its_cost() {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(b"hostile bytes").unwrap();
        let read = || {
            let mut bytes = [0; 7];
            file.read_exact_at(&mut bytes, 0).unwrap();
            let sum = (0..5_000_000_u64).fold(0, |sum, number| std::hint::black_box(sum ^ number));
            (String::from_utf8(bytes.to_vec()).unwrap(), sum)
        };
        let done = run(&LIMITS, &[file.as_raw_fd()], read).unwrap();
        assert_eq!(done.value.0, "hostile");
        assert!(done.cpu_ns > 0);
        // Threads of the work.
        let two = || std::thread::scope(|scope| [1, 2].map(|n| scope.spawn(move || n * 2)).map(|t| t.join().unwrap()));
        assert_eq!(run(&LIMITS, &[], two).unwrap().value, [2, 4]);
        // An answer longer than a pipe holds.
        assert_eq!(run(&LIMITS, &[], || vec![7_u8; 3 << 20]).unwrap().value.len(), 3 << 20);
    }

    #[test]
    fn nothing_else_can_be_opened_run_or_reached() {
        let file = tempfile::tempfile().unwrap();
        let worked = |attempt: &dyn Fn() -> bool| run(&LIMITS, &[file.as_raw_fd()], attempt).unwrap().value;
        assert!(!worked(&|| File::open("/dev/null").is_ok()));
        assert!(!worked(&|| std::process::Command::new("true").status().is_ok()));
        assert!(!worked(&|| std::net::TcpListener::bind("127.0.0.1:0").is_ok()));
        assert!(!worked(&|| (&file).write_all(b"x").is_ok()));
        // SAFETY: signal 0 to the parent changes nothing.
        assert!(!worked(&|| unsafe { libc::kill(libc::getppid(), 0) } == 0));
        assert!(!worked(&|| rustix::thread::capabilities(None).is_ok()));
        // Inside a sandbox there is no second one.
        let nested = || run(&LIMITS, &[], std::process::id).is_ok_and(|done| done.value == std::process::id());
        assert!(run(&LIMITS, &[], nested).unwrap().value);
        // A descriptor that was not passed is closed.
        assert!(run(&LIMITS, &[], || file.metadata().is_err()).unwrap().value);
    }

    #[test]
    fn requested_files_are_passed_to_it() {
        let mut asked = Vec::new();
        let mut serve = |question: &[u8]| {
            asked.push(question.to_vec());
            let mut file = tempfile::tempfile().unwrap();
            file.write_all(b"given").unwrap();
            (b"here".to_vec(), Some(OwnedFd::from(file)))
        };
        let work = || {
            let socket = opener::questions().unwrap();
            messages::send(socket, b"please", None).unwrap();
            let (words, file) = messages::receive(socket).unwrap();
            let mut bytes = [0; 5];
            File::from(file.unwrap()).read_exact_at(&mut bytes, 0).unwrap();
            (words, bytes)
        };
        assert_eq!(run_served(&LIMITS, &[], &mut serve, work).unwrap().value, (b"here".to_vec(), *b"given"));
        assert_eq!(asked, [b"please"]);
        assert!(opener::questions().is_none());
    }

    #[test]
    fn its_death_is_a_value() {
        let much = || vec![1_u8; 200 << 20].iter().map(|byte| u64::from(*byte)).sum::<u64>();
        let died = run(&LIMITS, &[], much);
        assert!(matches!(died, Err(Died::Memory(bytes)) if bytes == 64 << 20), "{died:?}");
        let panics = || -> u8 { panic!("on purpose") };
        assert!(matches!(run(&LIMITS, &[], panics), Err(Died::Failed(PANICKED))));
        let short = Limits { deadline: Duration::from_millis(200), ..LIMITS };
        let started = Instant::now();
        let late = run(
            &short,
            &[],
            || loop {
                std::hint::spin_loop()
            } as u8,
        );
        assert!(matches!(late, Err(Died::Late(_))), "{late:?}");
        assert!(started.elapsed() < Duration::from_secs(2));
        let busy = Limits { cpu_seconds: 1, ..LIMITS };
        let worked = run(
            &busy,
            &[],
            || loop {
                std::hint::spin_loop()
            } as u8,
        );
        assert!(matches!(worked, Err(Died::Late(most)) if most.as_secs() == 1), "{worked:?}");
        // A read that waits for ever.
        let (waits, _pen) = io::pipe().unwrap();
        let blocked = run(&short, &[waits.as_raw_fd()], || (&waits).read(&mut [0]).unwrap_or(0));
        assert!(matches!(blocked, Err(Died::Late(_))), "{blocked:?}");
    }
}
