//! A root folder inside which paths are resolved, never outside, and the check of what was found before
//! it is opened: an ordinary file of a real file system, the very one that was wanted. Refuses pipes,
//! sockets, devices, folders, kernel-generated files, and any path out of the root.

use crate::capture::folder::{is_regular, reopen};
use crate::privileges::opener::Refused;
use crate::system::procfs::Host;
use rustix::fs::{Mode, OFlags, ResolveFlags};
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Retries of resolving a path whose folders were moved meanwhile.
const TRIES_MAX: usize = 16;
/// File systems whose maps show another device than the file itself.
const OTHER_DEVICE: [u64; 2] = [0x794c_7630 /* overlayfs */, 0x9123_683e /* btrfs */];
/// File systems without real files: reading one is a request to the kernel, and may change something.
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

/// A root folder inside which paths are resolved, never outside.
#[derive(Clone, Debug)]
pub struct Root {
    folder: Arc<OwnedFd>,
    /// Device and inode of the folder, and its mount namespace.
    id: (u64, u64, Option<PathBuf>),
}

impl Root {
    pub(super) fn new(folder: OwnedFd, namespace: Option<PathBuf>) -> io::Result<Root> {
        let found = rustix::fs::fstat(&folder)?;
        Ok(Root { folder: Arc::new(folder), id: (found.st_dev, found.st_ino, namespace) })
    }

    /// The root of the machine, or of a tree.
    pub fn of_host(host: &Host) -> io::Result<Root> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let folder = rustix::fs::open(host.path("/"), flags, Mode::empty())?;
        Root::new(folder, std::fs::read_link("/proc/self/ns/mnt").ok())
    }

    /// Whether paths lead to the same files in both.
    pub fn is(&self, other: &Root) -> bool {
        self.id == other.id
    }
}

/// Opens a file below a folder, without following links.
pub(crate) fn open_below(folder: &OwnedFd, name: &Path) -> Result<File, Refused> {
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
    checked(find(folder, name, OFlags::empty(), resolve).map_err(io::Error::from)?, None)
}

/// The target of a path, found but not opened.
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
    /// Opens the file `path` in this root; with `wanted`, only that file.
    pub fn open(&self, path: &Path, wanted: Option<((u32, u32), u64)>) -> Result<File, Refused> {
        checked(self.find(path, OFlags::empty())?, wanted)
    }

    /// The folder `path` in this root, held but not opened.
    pub fn folder(&self, path: &Path) -> io::Result<OwnedFd> {
        self.find(path, OFlags::DIRECTORY)
    }

    fn find(&self, path: &Path, more: OFlags) -> io::Result<OwnedFd> {
        let mut found = find(&self.folder, path, more, ResolveFlags::IN_ROOT);
        // Before Linux 5.6, or forbidden by an old container runtime: nothing can be resolved inside
        // another root, but no path leaves the recorder's own root.
        let lacks = matches!(found, Err(rustix::io::Errno::NOSYS | rustix::io::Errno::PERM));
        if lacks && Root::of_host(&Host::default()).is_ok_and(|own| own.is(self)) {
            let flags = OFlags::PATH | OFlags::CLOEXEC | more;
            found = rustix::fs::open(Path::new("/").join(path), flags, Mode::empty());
        }
        Ok(found?)
    }
}

/// Opens what was found, if it is what was wanted.
pub(super) fn checked(found: OwnedFd, wanted: Option<((u32, u32), u64)>) -> Result<File, Refused> {
    let file = rustix::fs::fstat(&found).map_err(io::Error::from)?;
    if !is_regular(&file) {
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
    // It is a regular file and stays one. Non-blocking because of leases.
    Ok(reopen(&found, OFlags::RDONLY)?)
}
