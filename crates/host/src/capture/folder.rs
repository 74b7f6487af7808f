//! A folder held by descriptor: files are made, replaced and removed in this very folder, whatever happens to the
//! names that led to it. Owns that a file is created exclusively, never through a link and with mode 0600 whatever
//! the umask, and that only regular files are opened. Refuses names that lead elsewhere: each is one component.

use rustix::fs::{self as sys, AtFlags, CWD, Dir, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

const PRIVATE: Mode = Mode::RUSR.union(Mode::WUSR);
/// Folders between the root and a capture.
const ANCESTORS_MAX: u32 = 4096;

/// A folder; clones share its descriptor.
#[derive(Clone, Debug)]
pub struct Folder {
    held: Arc<OwnedFd>,
    path: PathBuf,
}

impl Folder {
    /// Opens the folder that `path` leads to now. Errors: it is not a folder, or cannot be read.
    pub fn open(path: &Path) -> io::Result<Folder> {
        Folder::hold(path, OFlags::RDONLY)
    }

    /// Opens the folder that `path` leads to, to make something in it: it need not be readable.
    pub(crate) fn reach(path: &Path) -> io::Result<Folder> {
        Folder::hold(path, OFlags::PATH)
    }

    fn hold(path: &Path, access: OFlags) -> io::Result<Folder> {
        let held = sys::openat(CWD, path, access | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
        let named = std::fs::read_link(format!("/proc/self/fd/{}", held.as_raw_fd()));
        let path = named.or_else(|_| path.canonicalize())?;
        Ok(Folder { held: Arc::new(held), path })
    }

    /// A folder that is already open; messages call it `path`.
    pub(crate) fn held(folder: OwnedFd, path: PathBuf) -> Folder {
        Folder { held: Arc::new(folder), path }
    }

    /// Its path when it was opened: for messages, and for programs that take a path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The descriptor that holds the folder.
    pub fn descriptor(&self) -> BorrowedFd<'_> {
        self.held.as_fd()
    }

    /// A path to this very folder, for calls of this process that accept only a path.
    pub fn own_path(&self) -> PathBuf {
        format!("/proc/self/fd/{}", self.held.as_raw_fd()).into()
    }

    /// Creates the file `name` for writing. Errors: the name exists.
    pub fn create(&self, name: &str) -> io::Result<File> {
        self.make(name, OFlags::empty())
    }

    /// Creates the file `name` for appending. Errors: as for [`Folder::create`].
    pub fn create_to_append(&self, name: &str) -> io::Result<File> {
        self.make(name, OFlags::APPEND)
    }

    /// Creates the file `name`, replacing an earlier one.
    pub fn create_anew(&self, name: &str) -> io::Result<File> {
        match self.remove(name) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => self.create(name),
        }
    }

    fn make(&self, name: &str, more: OFlags) -> io::Result<File> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC | more;
        let file = sys::openat(&self.held, component(name)?, flags, PRIVATE)?;
        // Restores the bits that the umask removed.
        sys::fchmod(&file, PRIVATE)?;
        Ok(file.into())
    }

    /// Creates the file `name` with these bytes.
    pub fn write(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        self.create(name)?.write_all(bytes)
    }

    /// Replaces `name` atomically by a file with these bytes; `durable` waits for the disk.
    pub fn replace(&self, name: &str, bytes: &[u8], durable: bool) -> io::Result<()> {
        let fresh = format!("{name}.new");
        let mut file = self.create_anew(&fresh)?;
        let written = file.write_all(bytes).and_then(|()| if durable { file.sync_data() } else { Ok(()) });
        written.and_then(|()| self.rename(&fresh, name)).inspect_err(|_| _ = self.remove(&fresh))?;
        if durable {
            sys::fsync(&self.held)?;
        }
        Ok(())
    }

    /// Opens the regular file `name` for reading, without blocking. Errors: it is not a regular file.
    pub fn read(&self, name: &str) -> io::Result<File> {
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let found = sys::openat(&self.held, component(name)?, flags, Mode::empty())?;
        if !is_regular(&sys::fstat(&found)?) {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is no regular file"));
        }
        reopen(&found, OFlags::RDONLY)
    }

    /// Opens the regular file `name` for writing. Errors: it is not one, or has another hard link.
    pub(crate) fn open_to_write(&self, name: &str) -> io::Result<File> {
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let found = sys::openat(&self.held, component(name)?, flags, Mode::empty())?;
        let file = sys::fstat(&found)?;
        if !is_regular(&file) || file.st_nlink != 1 || file.st_uid != own_user() {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is no regular file of this user"));
        }
        reopen(&found, OFlags::RDWR)
    }

    /// Status of the entry `name`; of a link itself, not of its target.
    pub fn look_at(&self, name: impl AsRef<OsStr>) -> io::Result<Stat> {
        Ok(sys::statat(&self.held, component(&name)?, AtFlags::SYMLINK_NOFOLLOW)?)
    }

    /// Renames a file within the folder, replacing the entry `to`.
    pub fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        Ok(sys::renameat(&self.held, component(from)?, &self.held, component(to)?)?)
    }

    /// Makes a second hard link to a file. Errors: the name exists.
    pub fn link(&self, from: &str, to: &str) -> io::Result<()> {
        Ok(sys::linkat(&self.held, component(from)?, &self.held, component(to)?, AtFlags::empty())?)
    }

    /// Removes a file or a link.
    pub fn remove(&self, name: &str) -> io::Result<()> {
        Ok(sys::unlinkat(&self.held, component(name)?, AtFlags::empty())?)
    }

    /// Removes an empty folder.
    pub fn remove_folder(&self, name: impl AsRef<OsStr>) -> io::Result<()> {
        Ok(sys::unlinkat(&self.held, component(&name)?, AtFlags::REMOVEDIR)?)
    }

    /// Removes everything in the folder, at most `depth` folders deep.
    pub fn clear(&self, depth: u32) {
        for name in self.names().unwrap_or_default() {
            let Err(error) = sys::unlinkat(&self.held, &*name, AtFlags::empty()) else { continue };
            if let (Errno::ISDIR | Errno::PERM, Some(depth)) = (error, depth.checked_sub(1)) {
                self.folder(&name).iter().for_each(|folder| folder.clear(depth));
                let _ = self.remove_folder(name);
            }
        }
    }

    /// Opens the sub-folder `name`; never follows a link.
    pub fn folder(&self, name: impl AsRef<OsStr>) -> io::Result<Folder> {
        let name = component(&name)?;
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let held = sys::openat(&self.held, name, flags, Mode::empty())?;
        Ok(Folder { held: Arc::new(held), path: self.path.join(name) })
    }

    /// The parent folder.
    pub fn parent(&self) -> io::Result<Folder> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let held = sys::openat(&self.held, "..", flags, Mode::empty())?;
        let path = self.path.parent().unwrap_or(&self.path).to_owned();
        Ok(Folder { held: Arc::new(held), path })
    }

    /// Makes the folder `name` with this mode whatever the umask. Errors: the name exists, or a
    /// moment later leads to another folder than the one that was made.
    pub fn make_folder(&self, name: impl AsRef<OsStr>, mode: u32) -> io::Result<Folder> {
        sys::mkdirat(&self.held, component(&name)?, Mode::RWXU)?;
        let made = self.folder(name)?;
        let found = made.metadata()?;
        let private = sys::Mode::from_raw_mode(found.st_mode) & (Mode::RWXG | Mode::RWXO) == Mode::empty();
        if found.st_uid != own_user() || !private || !made.names()?.is_empty() {
            let text = format!("{} was replaced by another folder while it was made", made.path.display());
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, text));
        }
        made.set_mode(mode)?;
        Ok(made)
    }

    /// Sets the folder's mode bits.
    pub fn set_mode(&self, mode: u32) -> io::Result<()> {
        Ok(sys::fchmod(&self.held, Mode::from_raw_mode(mode))?)
    }

    /// Owner, mode, device and inode.
    pub fn metadata(&self) -> io::Result<Stat> {
        Ok(sys::fstat(&self.held)?)
    }

    /// Names of the entries, in no particular order.
    pub fn names(&self) -> io::Result<Vec<OsString>> {
        let names = Dir::read_from(&self.held)?.map(|entry| Ok(entry?.file_name().to_bytes().to_vec()));
        let mut names = names.map(|name| name.map(OsString::from_vec)).collect::<io::Result<Vec<OsString>>>()?;
        names.retain(|name| name != "." && name != "..");
        Ok(names)
    }

    /// Size of the file system and bytes still free on it.
    pub(crate) fn disk(&self) -> Option<(u64, u64)> {
        let disk = sys::fstatvfs(&self.held).ok()?;
        Some((disk.f_blocks.saturating_mul(disk.f_frsize), disk.f_bavail.saturating_mul(disk.f_frsize)))
    }

    /// Bytes still free on the folder's file system.
    pub fn free_bytes(&self) -> Option<u64> {
        self.disk().map(|(_, free)| free)
    }

    /// Whether only root and this user can replace it by another folder. Walks up by descriptor, so that
    /// it checks the folders that really lead here. A group's write permission counts unless the group is
    /// this process's own, as a user's private group is.
    pub fn stays_in_place(&self) -> bool {
        let up = |at: &Folder| {
            let parent = at.parent()?;
            let found = parent.metadata()?;
            Ok::<_, io::Error>((parent, found))
        };
        let Ok(mut below) = self.metadata() else { return false };
        let mut at = self.clone();
        for _ in 0..ANCESTORS_MAX {
            let Ok((parent, found)) = up(&at) else { return false };
            if (found.st_dev, found.st_ino) == (below.st_dev, below.st_ino) {
                return true;
            }
            if !is_trusted(&found) {
                return false;
            }
            (at, below) = (parent, found);
        }
        false
    }
}

/// Whether only root and this user can rename entries of this folder that are theirs.
fn is_trusted(folder: &Stat) -> bool {
    let mode = Mode::from_raw_mode(folder.st_mode);
    let own_group = folder.st_gid == rustix::process::getegid().as_raw();
    let shared = mode.contains(Mode::WOTH) || (mode.contains(Mode::WGRP) && !own_group);
    (folder.st_uid == 0 || folder.st_uid == own_user()) && (!shared || mode.contains(Mode::SVTX))
}

/// The effective user.
pub(crate) fn own_user() -> u32 {
    rustix::process::geteuid().as_raw()
}

pub(crate) fn is_regular(found: &Stat) -> bool {
    FileType::from_raw_mode(found.st_mode) == FileType::RegularFile
}

/// Reopens the file of a descriptor, without waiting for its owner to give up a lease.
pub(crate) fn reopen(file: impl AsFd, access: OFlags) -> io::Result<File> {
    let path = format!("/proc/self/fd/{}", file.as_fd().as_raw_fd());
    let flags = access | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    Ok(sys::openat(CWD, path, flags, Mode::empty())?.into())
}

/// Checks that a name cannot lead out of its folder.
fn component(name: &(impl AsRef<OsStr> + ?Sized)) -> io::Result<&OsStr> {
    let name = name.as_ref();
    let mut parts = Path::new(name).components();
    match (parts.next(), parts.next()) {
        (Some(Component::Normal(part)), None) if part == name => Ok(name),
        _ => Err(io::Error::new(io::ErrorKind::InvalidInput, format!("{name:?} is no name of a file"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

    fn scratch() -> (tempfile::TempDir, Folder) {
        let scratch = tempfile::tempdir().unwrap();
        let folder = Folder::open(scratch.path()).unwrap();
        (scratch, folder)
    }

    fn names(folder: &Folder) -> Vec<String> {
        let mut names: Vec<_> = folder.names().unwrap().into_iter().map(|name| name.into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn files_are_made_privately_and_never_through_a_link() {
        let (scratch, folder) = scratch();
        let (inside, outside) = (scratch.path().join("inside"), scratch.path().join("outside"));
        std::fs::create_dir(&inside).unwrap();
        std::fs::write(&outside, "kept").unwrap();
        for name in ["a", "m", "m.new", "f"] {
            symlink(&outside, inside.join(name)).unwrap();
        }
        let inside = folder.folder("inside").unwrap();
        assert_eq!(inside.create("a").unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        assert!(inside.write("a", b"x").is_err() && inside.read("a").is_err() && inside.folder("f").is_err());
        inside.replace("m", b"manifest", true).unwrap();
        inside.create_anew("a").unwrap();
        assert_eq!(std::fs::read(&outside).unwrap(), b"kept");
        assert_eq!(std::fs::metadata(&outside).unwrap().permissions().mode() & 0o777, 0o644);
        let made = std::fs::symlink_metadata(inside.path().join("m")).unwrap();
        assert_eq!((made.len(), made.mode() & 0o777, made.is_file()), (8, 0o600, true));
        assert_eq!(names(&inside), ["a", "f", "m"]);
    }

    #[test]
    fn a_folder_that_was_renamed_stays_the_one_that_is_written_to() {
        let (scratch, folder) = scratch();
        let held = folder.make_folder("capture", 0o711).unwrap();
        assert_eq!(held.metadata().unwrap().st_mode & 0o7777, 0o711);
        std::fs::rename(scratch.path().join("capture"), scratch.path().join("moved")).unwrap();
        std::fs::create_dir(scratch.path().join("capture")).unwrap();
        held.replace("manifest.json", b"{}", false).unwrap();
        held.make_folder("sub", 0o700).unwrap().write("x", b"x").unwrap();
        assert_eq!(std::fs::read_dir(scratch.path().join("capture")).unwrap().count(), 0);
        assert_eq!(std::fs::read(scratch.path().join("moved/sub/x")).unwrap(), b"x");
        held.clear(1);
        assert_eq!(names(&held), [""; 0]);
    }

    #[test]
    fn names_lead_nowhere_else_and_only_files_are_opened() {
        let (_scratch, folder) = scratch();
        for name in ["", ".", "..", "/etc/passwd", "../x", "a/b", "a/"] {
            assert_eq!(folder.create(name).unwrap_err().kind(), io::ErrorKind::InvalidInput, "{name:?}");
        }
        folder.make_folder("sub", 0o700).unwrap();
        rustix::fs::mknodat(folder.descriptor(), "fifo", FileType::Fifo, PRIVATE, 0).unwrap();
        assert!(folder.read("fifo").is_err() && folder.read("sub").is_err());
        folder.write("file", b"text").unwrap();
        assert_eq!(io::read_to_string(folder.read("file").unwrap()).unwrap(), "text");
        assert!(folder.make_folder("file", 0o700).is_err());
    }

    #[test]
    fn a_folder_below_one_that_others_can_write_to_does_not_stay() {
        let (scratch, folder) = scratch();
        let inner = folder.make_folder("shared", 0o755).unwrap().make_folder("capture", 0o700).unwrap();
        assert!(inner.stays_in_place());
        for (mode, stays) in [(0o777, false), (0o1777, true), (0o702, false), (0o755, true)] {
            folder.folder("shared").unwrap().set_mode(mode).unwrap();
            assert_eq!(inner.stays_in_place(), stays, "{mode:o}");
        }
        drop(scratch);
    }

    #[test]
    fn root_a_folder_below_another_user_s_does_not_stay() {
        if !rustix::process::geteuid().is_root() {
            return eprintln!("not run: needs root, to give a folder away");
        }
        let (scratch, folder) = scratch();
        let inner = folder.make_folder("bob", 0o755).unwrap().make_folder("capture", 0o700).unwrap();
        std::os::unix::fs::chown(scratch.path().join("bob"), Some(65534), None).unwrap();
        assert!(!inner.stays_in_place());
    }
}
