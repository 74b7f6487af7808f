//! The folder that programs write their rings to, and room for them on its disk. A
//! ring file is made as long as all rings together but takes up what is used of it: on
//! a full disk the first event on a new page kills the program (SIGBUS). So the file is
//! made before the program starts, with all of its room.

use super::found::{ENDING, mapped_by, number};
use crate::cgroup;
use crate::handover::Route;
use crate::procfs::{self, Host};
use crate::target::open_own;
use rustix::fs::{FallocateFlags, fallocate};
use rustix::io::Errno;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// Of the free room of a disk one part in so many is taken at most.
const DISK_SHARE: u64 = 4;
/// Where files lie in memory: of the memory that is to be had.
const MEMORY_SHARE: u64 = 128;
/// Larger files are not written out in full where the disk cannot reserve room.
const WRITTEN_MAX: u64 = 64 << 20;

/// Where the rings of a recording lie.
#[derive(Debug)]
pub struct Place {
    folder: PathBuf,
    own: bool,
    variable: PathBuf,
    descriptor: Option<OwnedFd>,
    file_mode: u32,
    reserved: Option<PathBuf>,
}

impl Place {
    /// Makes `rings/live` of a capture for a route. Errors: it cannot be made.
    pub fn prepare(capture: &Path, route: &Route) -> io::Result<Place> {
        let folder = capture.join("rings").join("live");
        DirBuilder::new().mode(0o700).recursive(true).create(&folder)?;
        let mut place =
            Place { variable: folder.clone(), folder, own: true, descriptor: None, file_mode: 0o600, reserved: None };
        if *route == Route::Descriptor {
            // Another user must be able to make and remove files there; the capture
            // around it stays closed to everybody else.
            fs::set_permissions(&place.folder, fs::Permissions::from_mode(0o733))?;
            let descriptor = crate::handover::inheritable(&place.folder)?;
            place.variable = format!("/proc/self/fd/{}", descriptor.as_raw_fd()).into();
            place.descriptor = Some(descriptor);
            place.file_mode = 0o666;
        }
        Ok(place)
    }

    /// A folder of the user's choice: files are read there and left alone.
    pub fn of_user(folder: PathBuf) -> Place {
        let variable = folder.clone();
        Place { folder, own: false, variable, descriptor: None, file_mode: 0o600, reserved: None }
    }

    /// Whether a program of this user can make files there.
    pub fn is_writable(&self) -> bool {
        use rustix::fs::{Access, access};
        self.folder.is_dir() && access(&self.folder, Access::WRITE_OK | Access::EXEC_OK).is_ok()
    }

    /// What the program is told.
    pub fn variable(&self) -> &Path {
        &self.variable
    }

    /// The folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Whether the recorder made it, and so cleans up in it.
    pub fn is_own(&self) -> bool {
        self.own
    }

    /// The descriptor that the program has to inherit, if any.
    pub fn inherited(&self) -> Option<RawFd> {
        self.descriptor.as_ref().map(AsRawFd::as_raw_fd)
    }

    /// Bytes that one ring file may have there.
    pub fn room(&self) -> u64 {
        room(&self.folder)
    }

    /// Takes room for a file of `length` bytes. Errors: there is no such room; nothing
    /// is left then.
    pub fn reserve(&mut self, length: u64) -> io::Result<()> {
        self.give_back();
        let path = self.folder.join(format!(".rtscope-{}{ENDING}", std::process::id()));
        let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path)?;
        let mode = fs::Permissions::from_mode(self.file_mode);
        if let Err(error) = file.set_permissions(mode).and_then(|()| reserve(&file, length)) {
            let _ = fs::remove_file(&path);
            return Err(error);
        }
        self.reserved = Some(path);
        Ok(())
    }

    /// Makes what was reserved the file of process `pid`, unless it has one already.
    pub fn assign(&mut self, pid: u32) -> io::Result<()> {
        let Some(from) = &self.reserved else { return Ok(()) };
        let path = self.folder.join(format!("{pid}{ENDING}"));
        let linked = fs::hard_link(from, &path);
        let _ = fs::remove_file(from);
        self.reserved = linked.is_ok().then_some(path);
        match linked {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
            _ => Ok(()),
        }
    }

    /// Gives the reserved room back.
    pub fn give_back(&mut self) {
        if let Some(path) = self.reserved.take() {
            let _ = fs::remove_file(path);
        }
    }

    /// Removes what no process uses any more: the reserved file if no runtime made
    /// rings in it, and in a folder of one's own every file and the folder.
    pub fn finish(mut self, host: &Host) {
        if let Some(path) = self.reserved.take()
            && is_unused(&path)
        {
            let _ = fs::remove_file(path);
        }
        if !self.own {
            return;
        }
        for entry in fs::read_dir(&self.folder).into_iter().flatten().flatten() {
            let inode = entry.metadata().map(|file| file.ino()).ok();
            let pid = entry.file_name().to_str().and_then(number);
            let used = pid.is_some_and(|pid| mapped_by(host, pid).iter().any(|mapped| Some(mapped.inode) == inode));
            if !used {
                let _ = fs::remove_file(entry.path());
            }
        }
        let _ = fs::remove_dir(&self.folder);
    }
}

/// Whether a reserved file is as it was made.
fn is_unused(path: &Path) -> bool {
    let mut version = [0; 8];
    let file = open_own(path, false).map_err(std::io::Error::from);
    let read = file.and_then(|file| std::os::unix::fs::FileExt::read_exact_at(&file, &mut version, 0));
    read.is_ok() && version == [0; 8]
}

/// Bytes that one ring file may have in `folder`.
pub fn room(folder: &Path) -> u64 {
    let Ok(disk) = rustix::fs::statvfs(folder) else { return 0 };
    let free = disk.f_bavail.saturating_mul(disk.f_frsize) / DISK_SHARE;
    if in_memory(folder) { free.min(memory() / MEMORY_SHARE) } else { free }
}

/// Whether files of `folder` lie in memory.
fn in_memory(folder: &Path) -> bool {
    const TMPFS: u64 = 0x0102_1994;
    const RAMFS: u64 = 0x8584_58f6;
    rustix::fs::statfs(folder).is_ok_and(|found| matches!(found.f_type as u64 & 0xffff_ffff, TMPFS | RAMFS))
}

/// Memory that is to be had here, in bytes.
fn memory() -> u64 {
    let host = Host::default();
    let machine = host.text("/proc/meminfo").and_then(|text| procfs::number(&text, "MemAvailable"));
    let groups = cgroup::of_process(&host, std::process::id()).manifest();
    let limits = groups.iter().filter_map(|group| group.memory_limit_bytes);
    limits.fold(machine.unwrap_or(0).saturating_mul(1024), u64::min)
}

/// Gives `file` all the room of its length. Where the disk cannot reserve room it is
/// taken by writing.
pub fn reserve(file: &File, length: u64) -> io::Result<()> {
    loop {
        match fallocate(file, FallocateFlags::empty(), 0, length) {
            Ok(()) => return Ok(()),
            Err(Errno::INTR) => {}
            Err(Errno::OPNOTSUPP | Errno::NOSYS) if length <= WRITTEN_MAX => return write_zeros(file, length),
            Err(error) => return Err(error.into()),
        }
    }
}

fn write_zeros(file: &File, length: u64) -> io::Result<()> {
    use std::os::unix::fs::FileExt;
    let zeros = vec![0; 1 << 20];
    let mut at = 0;
    while at < length {
        let count = (length - at).min(zeros.len() as u64);
        file.write_all_at(zeros.get(..usize::try_from(count).unwrap_or(0)).unwrap_or_default(), at)?;
        at += count;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn room_is_reserved_for_a_process_and_given_back() {
        let capture = tempfile::tempdir().unwrap();
        let mut place = Place::prepare(capture.path(), &Route::Path).unwrap();
        assert!(place.is_writable() && place.room() > 0);
        place.reserve(2 << 20).unwrap();
        place.give_back();
        assert_eq!(fs::read_dir(place.folder()).unwrap().count(), 0);
        place.reserve(1 << 20).unwrap();
        place.assign(42).unwrap();
        let found = fs::metadata(place.folder().join("42.events")).unwrap();
        assert_eq!((found.len(), found.mode() & 0o777, found.nlink()), (1 << 20, 0o600, 1));
        assert!(found.blocks() * 512 >= 1 << 20);
        place.finish(&Host::default());
        assert!(!capture.path().join("rings/live").exists());
    }

    #[test]
    fn what_cannot_be_reserved_is_an_error_and_leaves_no_file() {
        let capture = tempfile::tempdir().unwrap();
        let mut place = Place::prepare(capture.path(), &Route::Path).unwrap();
        assert!(place.reserve(1 << 60).is_err());
        assert_eq!(fs::read_dir(place.folder()).unwrap().count(), 0);
    }

    #[test]
    fn files_of_the_users_folder_are_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("42.events"), "old").unwrap();
        for pid in [42, 43] {
            let mut place = Place::of_user(folder.path().into());
            place.reserve(1 << 20).unwrap();
            place.assign(pid).unwrap();
            assert_eq!(folder.path().join("43.events").exists(), pid == 43);
            place.finish(&Host::default());
        }
        let left: Vec<_> = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(left, ["42.events"]);
    }
}
