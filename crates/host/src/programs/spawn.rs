//! Starts the program so that nothing of it is missed: it is forked, held
//! before exec until every source is attached, then released. Owns the messages
//! for a failed exec. The program keeps the recorder's standard streams, gets
//! no parent-death signal, no tracer, no pipe: when the recorder dies it runs on.

use rustix::process::{Resource, setrlimit};
use rustix::thread::{CapabilitySet, CapabilitySets};
use std::ffi::{CString, OsStr, OsString};
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::thread::JoinHandle;

/// Why the program did not start.
#[derive(Debug, thiserror::Error)]
pub enum SpawnError {
    /// exec failed.
    #[error("{program} did not start: {reason}")]
    Exec {
        /// The command's first word.
        program: String,
        /// The errno in words, with what to do.
        reason: String,
        /// Exit status that a shell would give: 127 not found, 126 otherwise.
        status: u8,
    },
    /// The recorder itself failed before that.
    #[error("no process could be started: {0}")]
    Own(#[from] io::Error),
}

/// What to start.
#[derive(Clone, Debug)]
pub struct Start {
    /// Program and arguments.
    pub argv: Vec<OsString>,
    /// The program's path, if it was found.
    pub path: Option<PathBuf>,
    /// Variables to set; they replace inherited ones of these names.
    pub set: Vec<(&'static str, OsString)>,
    /// Descriptors that the program inherits.
    pub inherit: Vec<RawFd>,
    /// Signals to reset to their default in the program.
    pub default_signals: Vec<i32>,
    /// Whether exec happens without capabilities, for a recorder that has become another user.
    pub bare: bool,
}

/// A forked child that waits before exec.
#[derive(Debug)]
pub struct HeldChild {
    /// Its process id.
    pub pid: u32,
    program: String,
    go: OwnedFd,
    spawner: JoinHandle<io::Result<Child>>,
}

const NO_CAPABILITIES: CapabilitySets = CapabilitySets {
    effective: CapabilitySet::empty(),
    permitted: CapabilitySet::empty(),
    inheritable: CapabilitySet::empty(),
};

/// Forks; the child waits until [`HeldChild::release`], or continues at once if the
/// recorder dies.
pub fn hold(start: Start) -> Result<HeldChild, SpawnError> {
    let (program, arguments) = start.argv.split_first().ok_or_else(no_command)?;
    let (mut pid_read, mut pid_write) = io::pipe()?;
    let (mut go_read, go_write) = io::pipe()?;
    let mut command = Command::new(program);
    command.args(arguments);
    command.envs(start.set.iter().map(|(name, value)| (name, value)));
    let image = start.path.as_deref().filter(|path| is_binary(path));
    let image = image.and_then(|path| Image::new(path, &start.argv, &start.set));
    let go_number = go_write.as_raw_fd();
    let (inherit, signals, bare) = (start.inherit.clone(), start.default_signals.clone(), start.bare);
    let files = crate::system::open_files::original();
    let before_exec = move || {
        for signal in &signals {
            crate::programs::signals::restore_default(*signal);
        }
        // SAFETY: plain system calls on descriptors that are open in this forked
        // child; closing its copy of the other pipe end here cannot touch the
        // parent's, and nothing in the child uses that number again.
        unsafe {
            libc::close(go_number);
            for descriptor in &inherit {
                libc::fcntl(*descriptor, libc::F_SETFD, 0);
            }
        }
        if let Some(files) = files {
            // Fails only if the limit already has this value.
            let _ = setrlimit(Resource::Nofile, files);
        }
        pid_write.write_all(&std::process::id().to_ne_bytes())?;
        let mut go = [0];
        // The recorder's death closes the pipe: then continue without it.
        let _ = go_read.read(&mut go);
        if bare {
            rustix::thread::set_capabilities(None, NO_CAPABILITIES)?;
        }
        image.as_ref().map_or(Ok(()), Image::exec)
    };
    // SAFETY: between fork and exec only async-signal-safe calls are made (signal,
    // close, fcntl, setrlimit, capset, getpid, read, write, execve); nothing is allocated or locked.
    unsafe {
        command.pre_exec(before_exec);
    }
    let spawner = std::thread::Builder::new().name("spawn".into()).spawn(move || command.spawn())?;
    let program = program.to_string_lossy().into_owned();
    let mut pid = [0; 4];
    match pid_read.read_exact(&mut pid) {
        Ok(()) => Ok(HeldChild { pid: u32::from_ne_bytes(pid), program, go: go_write.into(), spawner }),
        Err(error) => match joined(spawner) {
            Err(error) => Err(exec_error(program, &error)),
            Ok(_) => Err(SpawnError::Own(error)),
        },
    }
}

/// A program by path, or by name through PATH.
pub fn find_program(name: &OsStr) -> Option<PathBuf> {
    if name.as_bytes().contains(&b'/') {
        return Some(name.into());
    }
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(name)).find(|candidate| {
        std::fs::metadata(candidate).is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0)
    })
}

/// Whether a file is not a script. Otherwise a file that the kernel cannot run is given
/// to a shell, which would run a binary for another machine as a script.
pub(crate) fn is_binary(path: &Path) -> bool {
    let mut head = [0; 256];
    let count = File::open(path).and_then(|mut file| file.read(&mut head)).unwrap_or(0);
    let line = head.get(..count).unwrap_or_default().split(|byte| *byte == b'\n').next().unwrap_or_default();
    line.iter().any(|byte| byte.is_ascii_control() && !byte.is_ascii_whitespace())
}

/// The arguments of `execve`, made before the fork.
pub(crate) struct Image {
    path: CString,
    /// Keeps the targets of the pointers alive.
    _words: Vec<CString>,
    argv: Vec<*const libc::c_char>,
    envp: Vec<*const libc::c_char>,
}

// SAFETY: the pointers lead to heap memory of `_words`, which moves along and is
// never changed.
unsafe impl Send for Image {}
// SAFETY: as above; shared use only reads.
unsafe impl Sync for Image {}

impl Image {
    /// Own environment, with the variables of `set` replacing those of these names.
    /// `None` if a word contains a NUL: then the usual way gives the error.
    pub(crate) fn new(path: &Path, argv: &[OsString], set: &[(&str, impl AsRef<OsStr>)]) -> Option<Image> {
        let text = |word: &OsStr| CString::new(word.as_bytes()).ok();
        let arguments = argv.iter().map(|word| text(word)).collect::<Option<Vec<_>>>()?;
        let own = std::env::vars_os().filter(|(name, _)| !set.iter().any(|(new, _)| name == new));
        let added = set.iter().map(|(name, value)| (name.into(), value.as_ref().to_owned()));
        let pair =
            |(name, value): (OsString, OsString)| CString::new([name.as_bytes(), b"=", value.as_bytes()].concat()).ok();
        let variables = own.chain(added).map(pair).collect::<Option<Vec<_>>>()?;
        let pointers = |words: &[CString]| words.iter().map(|word| word.as_ptr()).chain([std::ptr::null()]).collect();
        let (argv, envp) = (pointers(&arguments), pointers(&variables));
        let words = arguments.into_iter().chain(variables).collect();
        Some(Image { path: text(path.as_os_str())?, _words: words, argv, envp })
    }

    /// Becomes the program, or returns the error.
    pub(crate) fn exec(&self) -> io::Result<()> {
        // SAFETY: the path is a C string, both lists end with a null pointer and
        // all their words live in `self`.
        unsafe { libc::execve(self.path.as_ptr(), self.argv.as_ptr(), self.envp.as_ptr()) };
        Err(io::Error::last_os_error())
    }

    /// Like [`Image::exec`], but through PATH, and with a shell for a file that the kernel cannot
    /// run: what shells and `env` do.
    pub(crate) fn exec_like_a_shell(&self) -> io::Error {
        // SAFETY: as above.
        unsafe { libc::execvpe(self.path.as_ptr(), self.argv.as_ptr(), self.envp.as_ptr()) };
        io::Error::last_os_error()
    }
}

impl HeldChild {
    /// Lets the child exec. Errors: exec failed (the child is gone then).
    pub fn release(self) -> Result<Child, SpawnError> {
        rustix::io::write(&self.go, b"g").map_err(io::Error::from)?;
        joined(self.spawner).map_err(|error| exec_error(self.program, &error))
    }
}

fn joined(spawner: JoinHandle<io::Result<Child>>) -> io::Result<Child> {
    spawner.join().unwrap_or_else(|_| Err(io::Error::other("the starting thread failed")))
}

pub(crate) fn no_command() -> SpawnError {
    SpawnError::Own(io::Error::new(io::ErrorKind::InvalidInput, "no command was given"))
}

pub(crate) fn exec_error(program: String, error: &io::Error) -> SpawnError {
    let (status, reason) = match error.raw_os_error() {
        Some(libc::ENOENT) => (
            127,
            "not found (or the interpreter that it names is missing); check the spelling, the path and PATH".into(),
        ),
        Some(libc::EACCES) => (126, "permission denied; is it an executable file? (`chmod +x`)".into()),
        Some(libc::ENOEXEC) => {
            (126, "it has no format that this machine can run (wrong architecture, or a script without `#!`)".into())
        }
        Some(libc::ENOTDIR) => (127, "a part of its path is not a folder".into()),
        Some(libc::E2BIG) => (126, "its arguments and environment are too long".into()),
        _ => (126, error.to_string()),
    };
    SpawnError::Exec { program, reason, status }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::process::ExitStatusExt;

    fn start(argv: &[&str]) -> Start {
        let argv: Vec<OsString> = argv.iter().map(Into::into).collect();
        let path = argv.first().map(PathBuf::from).filter(|path| path.is_absolute());
        Start {
            argv,
            path,
            set: vec![("GHCRTS", "-l".into())],
            inherit: Vec::new(),
            default_signals: vec![libc::SIGINT],
            bare: false,
        }
    }

    #[test]
    fn the_child_waits_and_then_gets_its_environment() {
        let held = hold(start(&["sh", "-c", "exit ${#GHCRTS}"])).unwrap();
        let link = std::fs::read_link(format!("/proc/{}/exe", held.pid)).unwrap();
        assert_eq!(link, std::env::current_exe().unwrap());
        assert_eq!(held.release().unwrap().wait().unwrap().code(), Some(2));
    }

    #[test]
    fn failures_have_words_and_the_status_of_a_shell() {
        let folder = tempfile::tempdir().unwrap();
        let plain = folder.path().join("plain");
        std::fs::write(&plain, "no program").unwrap();
        let noise = folder.path().join("noise");
        testkit::executable::write(&noise, b"\x7fELF for another machine");
        let (plain, noise) = (plain.to_str().unwrap(), noise.to_str().unwrap());
        for (program, wanted) in [("/no/such/thing", 127), (plain, 126), (noise, 126), ("/", 126)] {
            let Err(SpawnError::Exec { status, reason, .. }) = hold(start(&[program])).unwrap().release() else {
                panic!("{program} started");
            };
            assert_eq!(status, wanted, "{program}: {reason}");
            assert!(!reason.is_empty());
        }
    }

    #[test]
    fn a_signal_that_ends_it_is_seen() {
        let mut child = hold(start(&["sh", "-c", "kill -9 $$"])).unwrap().release().unwrap();
        assert_eq!(child.wait().unwrap().signal(), Some(9));
    }

    #[test]
    fn no_command_is_an_error_of_ones_own() {
        assert!(matches!(hold(start(&[])), Err(SpawnError::Own(_))));
    }
}
