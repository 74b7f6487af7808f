//! The opener, the only part of a recording that keeps the privileges to open files: a small process that is
//! forked before anything hostile is looked at, and passes descriptors that are checked as [`open_target`]
//! checks them, never contents. Owns for which processes it opens files: the recorded program, what that
//! started, and what writes into the capture. Refuses all other files, every write, and to outlive the recorder.

use super::drop::give_up;
use super::opener::{Answer, Ask, Identity, Opener, Question, Refused, Socket};
use crate::sandbox::{self, Limits, messages};
use crate::system::procfs::Host;
use crate::target::stop::Stop;
use crate::target::{Process, open_below, open_own, open_target};
use rustix::thread::CapabilitySet;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd, RawFd};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Longest delay by a file on a server that does not answer.
const ANSWER_MAX: Duration = Duration::from_secs(4);
/// Parents checked on the way up to the program.
const GENERATIONS_MAX: usize = 64;
/// Links of a process in one answer.
const LINKS_MAX: usize = 1000;

/// The kept capabilities: reading processes of other users, their `map_files`, their files; the
/// kernel's events and the names of its functions; passing SIGTERM on to the program.
pub fn kept() -> CapabilitySet {
    CapabilitySet::SYS_PTRACE
        | CapabilitySet::CHECKPOINT_RESTORE
        | CapabilitySet::DAC_READ_SEARCH
        | CapabilitySet::PERFMON
        | CapabilitySet::SYSLOG
        | CapabilitySet::KILL
}

/// Forks the opener. Call this before there are other threads and before anything is looked at.
/// Errors: no process or socket could be made.
pub fn start() -> io::Result<Opener> {
    let (own, its) = messages::pair()?;
    let timeout = Some(ANSWER_MAX);
    rustix::net::sockopt::set_socket_timeout(&own, rustix::net::sockopt::Timeout::Recv, timeout)?;
    let recorder = std::process::id();
    // SAFETY: the child serves in this very call and ends by _exit; it takes no lock of
    // another thread but the allocator's, which glibc makes usable in it.
    let pid = unsafe { libc::fork() };
    if pid == 0 {
        let status = i32::from(serve(&its, recorder).is_err());
        // SAFETY: ends the child without running anything of the recorder's.
        unsafe { libc::_exit(status) }
    }
    if pid < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(Opener::new(Socket::Own(own), Some(pid)))
}

/// Runs `work` in a sandbox that may request files that `process` refers to, and stop it; with
/// `None`, files by name. Descriptors in `keep` stay open.
pub(crate) fn in_sandbox<T: Serialize + DeserializeOwned>(
    limits: &Limits,
    process: Option<&Process>,
    work: impl FnOnce() -> T,
) -> Result<sandbox::Done<T>, sandbox::Died> {
    let keep: Vec<RawFd> = process.map_or(Vec::new(), Process::held_descriptors);
    let known = process.map(|process| (process.pid(), process.clone())).into_iter().collect();
    let mut server = Server { host: Host::default(), allowed: Allowed::One, known, stop: None };
    let mut serve = |question: &[u8]| server.answer(question, None);
    sandbox::run_served(limits, &keep, &mut serve, work)
}

/// The child's loop: answers until the recorder is gone.
fn serve(socket: &OwnedFd, recorder: u32) -> io::Result<()> {
    sandbox::ignore_the_terminals_signals();
    sandbox::close_others(&[socket.as_raw_fd()])?;
    give_up(kept())?;
    let allowed = Allowed::Family { recorder, capture: None };
    let mut server = Server { host: Host::default(), allowed, known: HashMap::new(), stop: None };
    loop {
        let (question, along) = messages::receive(socket.as_fd())?;
        let (answer, descriptor) = server.answer(&question, along);
        messages::send(socket.as_fd(), &answer, descriptor.as_ref().map(AsFd::as_fd))?;
    }
}

/// The processes that may be asked about.
enum Allowed {
    /// Named processes, their descendants, the recorder's descendants, and processes that have
    /// a file of the capture open or mapped; also files of the capture.
    Family { recorder: u32, capture: Option<(OwnedFd, PathBuf)> },
    /// The one known process, which may be stopped; if there is none, files by name.
    One,
}

struct Server {
    host: Host,
    allowed: Allowed,
    /// Accepted processes by number.
    known: HashMap<u32, Process>,
    stop: Option<Stop>,
}

impl Server {
    fn answer(&mut self, question: &[u8], along: Option<OwnedFd>) -> (Vec<u8>, Option<OwnedFd>) {
        let Ok(Question { number, of, ask }) = serde_json::from_slice(question) else {
            return (Vec::new(), None);
        };
        let found = match (of, &ask) {
            (None, Ask::Own(path)) if matches!(self.allowed, Allowed::One) && self.known.is_empty() => {
                open_own(path, true).map(opened)
            }
            (None, ask) => self.open_own(ask, along),
            (Some(of), ask) => self.process(of, ask).and_then(|process| self.open(&process, ask)),
        };
        let (answer, descriptor): (Answer, _) = match found {
            Ok((value, descriptor)) => (Ok(value), descriptor),
            Err(Refused::System(error)) => (Err(errno(error.raw_os_error().unwrap_or(libc::EIO))), None),
            Err(refused) => (Err(refused), None),
        };
        let bytes = serde_json::to_vec(&(number, answer)).ok().filter(|bytes| bytes.len() <= messages::MESSAGE_MAX);
        let too_long = || serde_json::to_vec(&(number, Answer::Err(errno(libc::E2BIG)))).unwrap_or_default();
        (bytes.unwrap_or_else(too_long), descriptor)
    }

    /// The process of a request, if the recorder may ask about it.
    fn process(&mut self, (pid, start_ticks): Identity, ask: &Ask) -> Result<Process, Refused> {
        let gone = || errno(libc::ESRCH);
        if let Some(known) = self.known.get(&pid).filter(|known| known.check().is_ok()) {
            return if known.start_ticks() == start_ticks { Ok(known.clone()) } else { Err(gone()) };
        }
        if matches!(self.allowed, Allowed::One) {
            return Err(forbidden());
        }
        self.known.retain(|_, process| process.check().is_ok());
        let process = Process::open(&self.host, pid)?;
        if process.start_ticks() != start_ticks {
            return Err(gone());
        }
        if !matches!(ask, Ask::Follow) && !self.is_family(pid) && !self.writes_into_capture(&process, ask) {
            return Err(forbidden());
        }
        self.known.insert(pid, process.clone());
        Ok(process)
    }

    /// Whether a process descends from one that is followed, or from the recorder.
    fn is_family(&self, pid: u32) -> bool {
        let Allowed::Family { recorder, .. } = self.allowed else { return false };
        let followed = |pid: u32| self.known.get(&pid).is_some_and(|process| process.check().is_ok());
        self.host.ancestors(pid).take(GENERATIONS_MAX).any(|parent| parent == recorder || followed(parent))
    }

    /// Whether a process has a file of the capture open or mapped: one that left its family, as
    /// daemons do. A request for descriptors comes for every process of the machine, to find those.
    fn writes_into_capture(&self, process: &Process, ask: &Ask) -> bool {
        let Allowed::Family { capture: Some((_, path)), .. } = &self.allowed else { return false };
        let mapped = || {
            let mapped = process.mappings().unwrap_or_default();
            mapped.iter().any(|mapping| Path::new(&mapping.name).starts_with(path))
        };
        process.descriptors().iter().any(|(_, at)| at.starts_with(path))
            || (!matches!(ask, Ask::Descriptors) && mapped())
    }

    /// Opens something that belongs to no process.
    fn open_own(&mut self, ask: &Ask, along: Option<OwnedFd>) -> Result<Given, Refused> {
        let Allowed::Family { capture, .. } = &mut self.allowed else { return Err(forbidden()) };
        match (ask, along, &capture) {
            (Ask::Capture(path), Some(folder), None) => {
                *capture = Some((folder, path.clone()));
                Ok(DONE)
            }
            (Ask::Captured(name), _, Some((folder, _))) => Ok(opened(open_below(folder, name)?)),
            (Ask::KernelNames, _, _) => Ok(opened(File::open("/proc/kallsyms")?)),
            _ => Err(forbidden()),
        }
    }

    fn open(&mut self, process: &Process, ask: &Ask) -> Result<Given, Refused> {
        Ok(match ask {
            Ask::Follow => DONE,
            Ask::File(name) if is_plain(name) => opened(process.open_file(name)?),
            Ask::Link(name) if is_plain(name) => valued(process.link(name)?)?,
            Ask::Calls => valued(process.calls()?)?,
            Ask::IoCounts => valued(process.io_counts()?)?,
            Ask::Descriptors => {
                let mut links = process.descriptors();
                // Sockets and the like have no path.
                links.retain(|(_, path)| path.is_absolute());
                links.truncate(LINKS_MAX);
                valued(links)?
            }
            Ask::Target(what) => opened(open_target(process, what.clone())?),
            Ask::Folder(path) => opened(process.folder(path)?),
            Ask::Signal(signal) if matches!(self.allowed, Allowed::Family { .. }) => {
                process.signal(*signal)?;
                DONE
            }
            Ask::Stop(most) if matches!(self.allowed, Allowed::One) => {
                let stop = Stop::begin(&self.host, process.pid(), *most)?;
                // It was stopped by number: the stopped process must be the right one.
                process.check()?;
                self.stop = Some(stop);
                DONE
            }
            Ask::LetGo => valued(self.stop.take().ok_or_else(forbidden)?.end())?,
            _ => return Err(forbidden()),
        })
    }
}

/// An answer's value, and the descriptor that comes with it.
type Given = (Value, Option<OwnedFd>);

/// Success without a value.
const DONE: Given = (Value::Null, None);

fn opened(descriptor: impl Into<OwnedFd>) -> Given {
    (Value::Null, Some(descriptor.into()))
}

fn valued(value: impl Serialize) -> Result<Given, Refused> {
    serde_json::to_value(value).map(|value| (value, None)).map_err(|_| errno(libc::E2BIG))
}

fn errno(number: i32) -> Refused {
    Refused::System(io::Error::from_raw_os_error(number))
}

fn forbidden() -> Refused {
    errno(libc::EPERM)
}

/// Whether a name is that of a kernel file in `/proc/PID` itself, for reading.
fn is_plain(name: &str) -> bool {
    let path = Path::new(name);
    let below = path.components().all(|part| matches!(part, std::path::Component::Normal(_)));
    let first = name.split('/').next().unwrap_or_default();
    const FILES: [&str; 16] = [
        "maps",
        "smaps",
        "smaps_rollup",
        "pagemap",
        "mem",
        "environ",
        "cmdline",
        "exe",
        "cwd",
        "root",
        "ns",
        "fd",
        "fdinfo",
        "task",
        "stat",
        "status",
    ];
    below && FILES.contains(&first)
}
