//! One way to open what a process names. Owns the order: found without opening it (`O_PATH`), an
//! ordinary file of a real file system, the very one that was mapped, and only then opened, without
//! waiting for anything. Refuses pipes, sockets, devices, folders, files that the kernel makes up,
//! and any path out of the process's own root.

use super::{Process, Root};
use crate::privileges::opener::{self, Ask};
use rustix::fs::{FileType, Mode, OFlags, ResolveFlags};
use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};

/// How often a path is resolved again because folders on it were moved meanwhile.
const TRIES_MAX: usize = 16;
/// File systems whose maps show another device than the file itself.
const OTHER_DEVICE: [u64; 2] = [0x794c_7630 /* overlayfs */, 0x9123_683e /* btrfs */];
/// File systems whose files are no files: reading one asks the kernel, and may change something.
const MADE_UP: [u64; 20] = [
    0x9fa0,      // proc
    0x6265_6572, // sysfs
    0x6462_6720, // debugfs
    0x7472_6163, // tracefs
    0x7363_6673, // securityfs
    0x6265_6570, // configfs
    0x0027_e0eb, // cgroup
    0x6367_7270, // cgroup2
    0xcafe_4a11, // bpf
    0x6e73_6673, // nsfs
    0x6165_676c, // pstore
    0xde5e_81e4, // efivarfs
    0xf97c_ff8c, // selinux
    0x4341_5d53, // smack
    0x5a3c_69f0, // apparmor
    0x4249_4e4d, // binfmt_misc
    0x6573_5543, // fusectl
    0x6e66_7364, // nfsd
    0x0765_5821, // resctrl
    0xabba_1974, // xenfs
];

/// What of a process.
#[derive(Clone, Debug)]
pub enum What<'a> {
    /// The file of the program that it runs.
    Executable,
    /// A file that it has mapped, as a line of `maps` says.
    Mapped {
        /// Where it is mapped.
        range: Range<u64>,
        /// Major and minor number; (0, 0): not known.
        device: (u32, u32),
        /// Of the file.
        inode: u64,
        /// The name that `maps` shows.
        path: &'a str,
    },
    /// What it has open under that number.
    Descriptor(u32),
    /// A file by its name in the root of the process.
    Named(&'a Path),
}

/// Why something is not opened.
#[derive(Debug, thiserror::Error)]
pub enum Refused {
    /// It is a pipe, a socket, a device or a folder.
    #[error("it is no ordinary file")]
    NotOrdinary,
    /// The kernel makes up its contents.
    #[error("it lies on a file system of the kernel's")]
    MadeUp,
    /// It has the name and is another one.
    #[error("it is another file than the one that the program had loaded")]
    Another,
    /// The system does.
    #[error(transparent)]
    System(#[from] io::Error),
}

impl From<Refused> for io::Error {
    fn from(refused: Refused) -> io::Error {
        match refused {
            Refused::System(error) => error,
            other => io::Error::other(other),
        }
    }
}

/// Opens what a process names, to be read.
///
/// # Errors
/// [`Refused`]: nothing was opened then.
pub fn open_target(process: &Process, what: What<'_>) -> Result<File, Refused> {
    match (open_directly(process, what.clone()), process.opener()) {
        (Err(refused), Some(opener)) if is_forbidden(&refused) => opener.open(process, what.into()),
        (opened, _) => opened,
    }
}

/// Whether the recorder itself may not do it.
fn is_forbidden(refused: &Refused) -> bool {
    matches!(refused, Refused::System(error) if error.kind() == io::ErrorKind::PermissionDenied)
}

impl From<What<'_>> for Ask {
    fn from(what: What<'_>) -> Ask {
        match what {
            What::Executable => Ask::Executable,
            What::Mapped { range, device, inode, path } => Ask::Mapped { range, device, inode, path: path.to_owned() },
            What::Descriptor(number) => Ask::Descriptor(number),
            What::Named(path) => Ask::Named(path.to_owned()),
        }
    }
}

fn open_directly(process: &Process, what: What<'_>) -> Result<File, Refused> {
    match what {
        What::Executable => checked(process.find("exe")?, None),
        What::Descriptor(fd) => checked(process.find(&format!("fd/{fd}"))?, None),
        What::Named(path) => process.root()?.open(path, None),
        What::Mapped { range, device, inode, path } => {
            let wanted = Some((device, inode));
            let exact = process.find(&format!("map_files/{:x}-{:x}", range.start, range.end));
            exact.map_err(Refused::from).and_then(|found| checked(found, wanted)).or_else(|first| {
                // Who must not look into `map_files` has the name.
                let mut why = first;
                for name in names(process, path) {
                    match process.root()?.open(&name, wanted) {
                        Err(refused) if !is_absent(&refused) || is_absent(&why) => why = refused,
                        Err(_) => {}
                        Ok(file) => return Ok(file),
                    }
                }
                Err(why)
            })
        }
    }
}

fn is_absent(refused: &Refused) -> bool {
    let absent = [io::ErrorKind::NotFound, io::ErrorKind::PermissionDenied];
    matches!(refused, Refused::System(error) if absent.contains(&error.kind()))
}

/// What a mapped file may be called in the root of its process: `maps` shows names as the
/// reader's root has them, and marks what was removed.
fn names(process: &Process, path: &str) -> Vec<PathBuf> {
    let path = Path::new(path);
    let text = path.to_string_lossy();
    let mut names = vec![path.to_owned()];
    names.extend(text.strip_suffix(" (deleted)").map(PathBuf::from));
    let root = process.link("root").ok().filter(|root| root != Path::new("/"));
    names.extend(root.and_then(|root| Some(path.strip_prefix(root).ok()?.to_owned())));
    names
}

/// Opens a file under a name that the recorder has itself, or that a core file names: an
/// ordinary one, without waiting. With `follow`, a link as the last part of it leads on.
///
/// # Errors
/// [`Refused`].
pub fn open_own(path: &Path, follow: bool) -> Result<File, Refused> {
    if let Some(opener) = opener::inside() {
        return opener.open_own(path);
    }
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    let flags = if follow { flags } else { flags | OFlags::NOFOLLOW };
    checked(rustix::fs::open(path, flags, Mode::empty()).map_err(io::Error::from)?, None)
}

/// Opens a file below a folder, and by no link.
///
/// # Errors
/// [`Refused`].
pub(crate) fn open_below(folder: &OwnedFd, name: &Path) -> Result<File, Refused> {
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
    checked(find(folder, name, OFlags::empty(), resolve).map_err(io::Error::from)?, None)
}

/// What a path leads to, found and not opened.
fn find(folder: &OwnedFd, path: &Path, more: OFlags, resolve: ResolveFlags) -> rustix::io::Result<OwnedFd> {
    let (flags, resolve) = (OFlags::PATH | OFlags::CLOEXEC | more, resolve | ResolveFlags::NO_MAGICLINKS);
    let mut found = Err(rustix::io::Errno::AGAIN);
    for _ in 0..TRIES_MAX {
        found = rustix::fs::openat2(folder, path, flags, Mode::empty(), resolve);
        if !matches!(found, Err(rustix::io::Errno::AGAIN)) {
            break;
        }
    }
    found
}

impl Root {
    /// Opens the file called `path` in this root; with `wanted`, that one alone.
    ///
    /// # Errors
    /// [`Refused`].
    pub fn open(&self, path: &Path, wanted: Option<((u32, u32), u64)>) -> Result<File, Refused> {
        checked(self.find(path, OFlags::empty())?, wanted)
    }

    /// The folder called `path` in this root, held and not opened.
    ///
    /// # Errors
    /// There is none.
    pub fn folder(&self, path: &Path) -> io::Result<OwnedFd> {
        self.find(path, OFlags::DIRECTORY)
    }

    fn find(&self, path: &Path, more: OFlags) -> io::Result<OwnedFd> {
        let mut found = find(&self.folder, path, more, ResolveFlags::IN_ROOT);
        // Before Linux 5.6, or forbidden by an old container runtime: nothing can be resolved inside
        // another root, but the recorder's own root is left by no path.
        let lacks = matches!(found, Err(rustix::io::Errno::NOSYS | rustix::io::Errno::PERM));
        if lacks && Root::of_host(&crate::procfs::Host::default()).is_ok_and(|own| own.is(self)) {
            let flags = OFlags::PATH | OFlags::CLOEXEC | more;
            found = rustix::fs::open(Path::new("/").join(path), flags, Mode::empty());
        }
        Ok(found?)
    }
}

/// Opens what was found, if it is what was wanted.
fn checked(found: OwnedFd, wanted: Option<((u32, u32), u64)>) -> Result<File, Refused> {
    let file = rustix::fs::fstat(&found).map_err(io::Error::from)?;
    if FileType::from_raw_mode(file.st_mode) != FileType::RegularFile {
        return Err(Refused::NotOrdinary);
    }
    let system = u64::from(rustix::fs::fstatfs(&found).map_err(io::Error::from)?.f_type as u32);
    if MADE_UP.contains(&system) {
        return Err(Refused::MadeUp);
    }
    if let Some((device, inode)) = wanted {
        let shown = (rustix::fs::major(file.st_dev), rustix::fs::minor(file.st_dev));
        let same = device == (0, 0) || device == shown || OTHER_DEVICE.contains(&system);
        if file.st_ino != inode || !same {
            return Err(Refused::Another);
        }
    }
    // What is found is a file and stays one. Not to wait is for its leases.
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let path = format!("/proc/self/fd/{}", found.as_raw_fd());
    Ok(rustix::fs::open(path, flags, Mode::empty()).map_err(io::Error::from)?.into())
}
