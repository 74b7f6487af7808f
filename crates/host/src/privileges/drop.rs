//! Drops capabilities in all threads together. Capabilities belong to threads, so each thread has
//! to drop its own: a signal makes every one of them do so, as the C library does for user
//! ids. Owns that no thread keeps more than the rest; refuses to say when.

use rustix::io::Errno;
use rustix::process::Resource;
use rustix::thread::{CapabilitiesSecureBits, CapabilitySet, CapabilitySets};
use std::io;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Rounds of asking threads, since they may make new ones meanwhile.
const ROUNDS_MAX: usize = 16;
/// A thread that has not answered by then is in a system call that no signal ends.
const ANSWER: Duration = Duration::from_secs(2);
const CAPABILITY_MAX: u32 = 63;
/// What the recorder's scheduled threads ask for later.
const NICE_LIMIT: u64 = 30;
const REALTIME_LIMIT: u64 = 1;

/// Capabilities that threads keep while they answer, and how many have answered.
static KEEP: AtomicU64 = AtomicU64::new(0);
static ANSWERED: AtomicU32 = AtomicU32::new(0);
static GIVING_UP: Mutex<()> = Mutex::new(());

/// Whether there is anything to drop.
pub fn any() -> bool {
    rustix::thread::capabilities(None).is_ok_and(|sets| !(sets.permitted | sets.inheritable).is_empty())
}

/// Drops all capabilities but those of `keep` in every thread of this process, for good: no
/// program that it starts gets them back. Those that allow changes to threads' scheduling are
/// kept if the limits for it cannot be raised instead (root without `CAP_SYS_RESOURCE`).
///
/// # Errors
/// A thread kept more: the recorder must not continue as planned.
pub fn give_up(keep: CapabilitySet) -> io::Result<()> {
    let _one = GIVING_UP.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    // Threads that copy data before it is overwritten must still be able to run before others.
    let mine = |limit| rustix::process::Rlimit { current: Some(limit), maximum: Some(limit) };
    let limits = [(Resource::Nice, NICE_LIMIT), (Resource::Rtprio, REALTIME_LIMIT)];
    let may = limits.map(|(what, limit)| rustix::process::setrlimit(what, mine(limit)).is_ok());
    let keep = if may == [true; 2] { keep } else { keep | CapabilitySet::SYS_NICE };
    KEEP.store(keep.bits(), Ordering::SeqCst);
    let signal = libc::SIGRTMAX() - 1;
    let handler = Handler::install(signal)?;
    give_up_here(keep.bits());
    for _ in 0..ROUNDS_MAX {
        let others = threads_with_more(keep)?;
        if others.is_empty() {
            drop(handler);
            return Ok(());
        }
        ask(&others, signal);
    }
    Err(io::Error::new(io::ErrorKind::PermissionDenied, "a thread of the recorder could not give up its privileges"))
}

/// Threads that have a capability which is not to be kept.
fn threads_with_more(keep: CapabilitySet) -> io::Result<Vec<libc::pid_t>> {
    let mut more = Vec::new();
    for entry in std::fs::read_dir("/proc/self/task")?.flatten() {
        let Some(tid) = entry.file_name().to_str().and_then(|name| name.parse::<libc::pid_t>().ok()) else { continue };
        // A thread that has ended meanwhile has none.
        let Ok(status) = std::fs::read_to_string(entry.path().join("status")) else { continue };
        let has = ["CapPrm:", "CapEff:", "CapInh:", "CapAmb:"].iter().any(|set| {
            let line = status.lines().find_map(|line| line.strip_prefix(set));
            line.and_then(|set| u64::from_str_radix(set.trim(), 16).ok()).is_none_or(|set| set & !keep.bits() != 0)
        });
        more.extend(has.then_some(tid));
    }
    Ok(more)
}

fn ask(tids: &[libc::pid_t], signal: libc::c_int) {
    let before = ANSWERED.load(Ordering::SeqCst);
    let mut asked = 0;
    for tid in tids {
        // SAFETY: a signal to a thread of this process whose handler is installed; a thread
        // that has ended gets none.
        asked += u32::from(unsafe { libc::syscall(libc::SYS_tgkill, libc::getpid(), *tid, signal) } == 0);
    }
    let until = Instant::now() + ANSWER;
    while ANSWERED.load(Ordering::SeqCst).wrapping_sub(before) < asked && Instant::now() < until {
        std::thread::sleep(Duration::from_micros(200));
    }
}

/// The signal handler, installed while threads are asked.
struct Handler {
    signal: libc::c_int,
    before: libc::sigaction,
}

impl Handler {
    fn install(signal: libc::c_int) -> io::Result<Handler> {
        // SAFETY: `sigaction` is plain data for which zeros are valid; the handler makes
        // system calls and touches atomics only.
        unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = on_signal as extern "C" fn(libc::c_int) as libc::sighandler_t;
            action.sa_flags = libc::SA_RESTART;
            let mut before: libc::sigaction = std::mem::zeroed();
            match libc::sigaction(signal, &raw const action, &raw mut before) {
                0 => Ok(Handler { signal, before }),
                _ => Err(io::Error::last_os_error()),
            }
        }
    }
}

impl Drop for Handler {
    fn drop(&mut self) {
        // SAFETY: restores the previous handler.
        unsafe { libc::sigaction(self.signal, &raw const self.before, std::ptr::null_mut()) };
    }
}

extern "C" fn on_signal(_signal: libc::c_int) {
    // SAFETY: errno is this thread's own.
    let errno = unsafe { *libc::__errno_location() };
    give_up_here(KEEP.load(Ordering::SeqCst));
    ANSWERED.fetch_add(1, Ordering::SeqCst);
    // SAFETY: as above.
    unsafe { *libc::__errno_location() = errno };
}

/// Drops the capabilities of one thread, by system calls about itself only. A refused call means
/// that there was nothing to drop; [`threads_with_more`] checks the result.
pub fn give_up_here(keep: u64) {
    let keep = CapabilitySet::from_bits_retain(keep);
    for capability in 0..=CAPABILITY_MAX {
        let one = CapabilitySet::from_bits_retain(1 << capability);
        if keep.contains(one) {
            continue;
        }
        // Past the last one that the kernel knows.
        if rustix::thread::remove_capability_from_bounding_set(one) == Err(Errno::INVAL) {
            break;
        }
    }
    let bits = CapabilitiesSecureBits::NO_ROOT
        | CapabilitiesSecureBits::NO_ROOT_LOCKED
        | CapabilitiesSecureBits::NO_CAP_AMBIENT_RAISE
        | CapabilitiesSecureBits::NO_CAP_AMBIENT_RAISE_LOCKED;
    let _ = rustix::thread::set_capabilities_secure_bits(bits);
    let _ = rustix::thread::clear_ambient_capability_set();
    let _ = rustix::thread::set_no_new_privs(true);
    let now = rustix::thread::capabilities(None).map_or(CapabilitySet::empty(), |sets| sets.permitted);
    let kept = keep & now;
    let sets = CapabilitySets { effective: kept, permitted: kept, inheritable: CapabilitySet::empty() };
    let _ = rustix::thread::set_capabilities(None, sets);
}
