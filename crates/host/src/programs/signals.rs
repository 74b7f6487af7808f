//! The recorder's own signals. It must outlive the terminal's SIGINT and
//! SIGQUIT (the terminal sends them to the program as well) and pass on
//! SIGTERM and SIGHUP. It installs handlers instead of ignoring signals: an
//! ignored signal would stay ignored in the program after exec. A signal that
//! was ignored when the recorder started stays so (`nohup`).

use crate::system::procfs::Host;
use crate::target::Process;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicI32, Ordering};

/// The write end that the handler writes to; -1 before [`Signals::install`].
static WAKE: AtomicI32 = AtomicI32::new(-1);

const CAUGHT: [i32; 4] = [libc::SIGINT, libc::SIGQUIT, libc::SIGTERM, libc::SIGHUP];

/// Installed handlers; dropping them restores the previous ones.
#[derive(Debug)]
pub struct Signals {
    read: OwnedFd,
    _write: OwnedFd,
    /// Signals that a forked child has to reset before exec.
    pub installed: Vec<i32>,
}

extern "C" fn on_signal(signal: libc::c_int) {
    let byte = signal as u8;
    // SAFETY: only async-signal-safe calls: an atomic load, write(2) of one byte
    // of this stack frame, and saving errno around it. The descriptor is
    // non-blocking; a full pipe only drops a repeated signal.
    unsafe {
        let errno = libc::__errno_location();
        let saved = *errno;
        libc::write(WAKE.load(Ordering::Relaxed), std::ptr::from_ref(&byte).cast(), 1);
        *errno = saved;
    }
}

impl Signals {
    /// Installs the handlers. Errors: no pipe could be made.
    pub fn install() -> io::Result<Signals> {
        use rustix::pipe::{PipeFlags, pipe_with};
        let (read, write) = pipe_with(PipeFlags::CLOEXEC | PipeFlags::NONBLOCK)?;
        WAKE.store(write.as_raw_fd(), Ordering::Relaxed);
        let installed = CAUGHT.into_iter().filter(|signal| catch(*signal)).collect();
        Ok(Signals { read, _write: write, installed })
    }

    /// Becomes readable when a signal has arrived.
    pub fn descriptor(&self) -> BorrowedFd<'_> {
        self.read.as_fd()
    }

    /// Whether a signal is waiting to be taken.
    pub fn arrived(&self) -> bool {
        crate::system::ready::is_ready(&self.read)
    }

    /// Signals that arrived since the last call.
    pub fn take(&self) -> Vec<i32> {
        let mut buffer = [0; 64];
        match rustix::io::read(&self.read, &mut buffer) {
            Ok(count) => buffer.iter().take(count).map(|byte| i32::from(*byte)).collect(),
            Err(_) => Vec::new(),
        }
    }
}

impl Drop for Signals {
    fn drop(&mut self) {
        for signal in &self.installed {
            restore_default(*signal);
        }
        WAKE.store(-1, Ordering::Relaxed);
    }
}

fn catch(signal: i32) -> bool {
    // SAFETY: `sigaction` structures are plain data for which zero is valid; the
    // handler is an `extern "C"` function that only makes async-signal-safe calls.
    unsafe {
        let mut before: libc::sigaction = std::mem::zeroed();
        if libc::sigaction(signal, std::ptr::null(), &mut before) != 0 || before.sa_sigaction == libc::SIG_IGN {
            return false;
        }
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = on_signal as extern "C" fn(libc::c_int) as libc::sighandler_t;
        action.sa_flags = libc::SA_RESTART;
        libc::sigaction(signal, &action, std::ptr::null_mut()) == 0
    }
}

/// Passes a signal on to a started program, if the terminal does not send it there itself.
pub fn pass_on(host: &Host, pid: u32, signal: i32) {
    use rustix::process::{Pid, Signal, kill_process};
    if !matches!(signal, libc::SIGTERM | libc::SIGHUP) {
        return;
    }
    let sent = Process::open(host, pid).and_then(|process| process.signal(signal));
    // Before Linux 5.3 by its number alone.
    if sent.is_err_and(|error| error.kind() == io::ErrorKind::Unsupported)
        && let (Some(pid), Some(signal)) =
            (i32::try_from(pid).ok().and_then(Pid::from_raw), Signal::from_named_raw(signal))
    {
        let _ = kill_process(pid, signal);
    }
}

/// Resets a signal to its default. Async-signal-safe: for use after fork.
pub fn restore_default(signal: i32) {
    // SAFETY: signal(2) with SIG_DFL touches no memory of ours.
    unsafe {
        libc::signal(signal, libc::SIG_DFL);
    }
}
