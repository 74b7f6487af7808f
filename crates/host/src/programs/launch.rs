//! Replaces this process by another program without a trace of this one: with the
//! requested mask, the environment, and the signals and standard streams as they
//! were before Rust's own start-up changed them. Refuses to decide what is set.

use crate::programs::spawn::{Image, SpawnError, exec_error, find_program, is_binary, no_command};
use rustix::process::{Pid, Signal};
use std::ffi::OsString;
use std::io;
use std::sync::atomic::{AtomicU8, Ordering};

/// The state at this process's start, seen before Rust ignored SIGPIPE and opened
/// /dev/null in place of closed standard streams: [`IGNORED`], and a bit for each
/// closed stream.
static BEFORE: AtomicU8 = AtomicU8::new(0);
const IGNORED: u8 = 1 << 7;

#[used]
#[unsafe(link_section = ".init_array")]
static LOOK: extern "C" fn() = look;

extern "C" fn look() {
    // SAFETY: runs once before main in the only thread; sigaction only reads into a
    // structure of this frame, for which zero is valid, and fcntl only queries.
    let seen = unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        let known = libc::sigaction(libc::SIGPIPE, std::ptr::null(), &mut action) == 0;
        let ignored = known && action.sa_sigaction == libc::SIG_IGN;
        let closed = (0..3).filter(|stream| libc::fcntl(*stream, libc::F_GETFD) == -1);
        closed.fold(if ignored { IGNORED } else { 0 }, |seen, stream| seen | 1 << stream)
    };
    BEFORE.store(seen, Ordering::Relaxed);
}

/// Restores what Rust's start-up changed.
fn restore() {
    let before = BEFORE.load(Ordering::Relaxed);
    if before & IGNORED == 0 {
        crate::programs::signals::restore_default(libc::SIGPIPE);
    }
    for stream in (0..3).filter(|stream| before & 1 << stream != 0) {
        // SAFETY: this is the number of a stream which Rust opened at its start and
        // which nothing here owns.
        unsafe { libc::close(stream) };
    }
}

/// A set of CPUs as the kernel takes it.
#[derive(Clone, Debug)]
pub(crate) struct Mask(Vec<u64>);

impl Mask {
    pub(crate) fn of(cpus: &[u32]) -> Mask {
        const BITS: usize = u64::BITS as usize;
        let highest = cpus.iter().copied().max().unwrap_or(0) as usize;
        let mut mask = vec![0_u64; highest / BITS + 1];
        for cpu in cpus {
            if let Some(word) = mask.get_mut(*cpu as usize / BITS) {
                *word |= 1 << (*cpu as usize % BITS);
            }
        }
        Mask(mask)
    }

    /// Confines the calling thread to these CPUs. Async-signal-safe: for use after fork.
    pub(crate) fn apply(&self) -> io::Result<()> {
        // SAFETY: the kernel reads as many bytes as the mask has; its layout is that of
        // cpu_set_t on every 64-bit machine, whatever its length.
        let done = unsafe { libc::sched_setaffinity(0, self.0.len() * 8, self.0.as_ptr().cast()) };
        if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }
}

/// Makes a child die with the thread of `parent` that made it. For use between fork and exec: makes two system calls
/// and does nothing else. Errors: `parent` is already gone.
pub(crate) fn die_with(parent: Pid) -> io::Result<()> {
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?;
    if rustix::process::getppid() == Some(parent) { Ok(()) } else { Err(io::Error::from_raw_os_error(libc::ESRCH)) }
}

/// Confines this process to `cpus`. Errors: none of them is allowed.
pub fn confine(cpus: &[u32]) -> io::Result<()> {
    Mask::of(cpus).apply()
}

/// Whether this process may set a NUMA policy; if not, as in many
/// containers, a program with `--numa` does not start.
pub fn may_use_numa() -> bool {
    let none = std::ptr::null_mut::<libc::c_void>();
    // SAFETY: with null pointers and no flags the call writes nothing.
    unsafe { libc::syscall(libc::SYS_get_mempolicy, none, none, 0, none, 0) == 0 }
}

/// Replaces this process by the program; returns only if that fails.
pub fn become_program(argv: &[OsString], set: &[(&str, String)]) -> SpawnError {
    let Some(first) = argv.first() else {
        return no_command();
    };
    let failed = |error: &io::Error| exec_error(first.to_string_lossy().into_owned(), error);
    let path = find_program(first);
    let Some(image) = Image::new(path.as_deref().unwrap_or(first.as_ref()), argv, set) else {
        return failed(&io::Error::new(io::ErrorKind::InvalidInput, "an argument or a variable holds a NUL"));
    };
    restore();
    // A shell would try to run a binary as a script.
    let error = if path.is_some_and(|path| is_binary(&path)) {
        image.exec().err().unwrap_or_else(|| io::Error::other("exec returned"))
    } else {
        image.exec_like_a_shell()
    };
    // Undoes `restore` as far as the message about a failed exec needs it.
    // SAFETY: signal(2) with SIG_IGN touches no memory of ours.
    unsafe { libc::signal(libc::SIGPIPE, libc::SIG_IGN) };
    failed(&error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_is_confined_and_never_to_nothing() {
        let allowed = crate::machine::resources::of(&crate::system::procfs::Host::default(), None).cpus_allowed;
        let last = *allowed.last().unwrap();
        // The mask belongs to the thread: other tests keep theirs.
        std::thread::spawn(move || {
            confine(&[last]).unwrap();
            let status = std::fs::read_to_string("/proc/thread-self/status").unwrap();
            let list = crate::system::procfs::field(&status, "Cpus_allowed_list").unwrap();
            assert_eq!(list, last.to_string());
            assert!(confine(&[]).is_err());
            assert!(confine(&[4_000_000]).is_err());
        })
        .join()
        .unwrap();
    }

    #[test]
    fn what_cannot_be_started_has_an_exit_status() {
        let status = |words: &[&str]| {
            let words: Vec<OsString> = words.iter().map(Into::into).collect();
            match become_program(&words, &[]) {
                SpawnError::Exec { status, .. } => Some(status),
                SpawnError::Own(_) => None,
            }
        };
        assert_eq!(status(&[]), None);
        assert_eq!(status(&["/no/such/program"]), Some(127));
        assert_eq!(status(&["no-such-program-anywhere"]), Some(127));
        assert_eq!(status(&["/"]), Some(126));
        assert_eq!(status(&["nul\0inside"]), Some(126));
    }
}
