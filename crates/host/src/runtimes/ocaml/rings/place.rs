//! The folder that programs write their rings to, and room for them on its disk. A
//! ring file has the length of all rings together but takes up only what is used of it:
//! on a full disk the first event on a new page kills the program (SIGBUS). So the file
//! is made before the program starts, with all of its room.
//!
//! A program that changes its user makes its file itself, in a folder in which each
//! user can make files but remove and rename only their own (sticky). One variable is
//! set for the program and everything that it starts, whatever their users, so there
//! cannot be a folder for each; and the users are not known in advance. Nothing of the
//! recorder's own lies there: a runtime removes its file when it ends, which only the
//! file's owner may do. Room for such a file is reserved once it is whole, through the
//! descriptor that it is read by, and only if the process really made it.
//!
//! Refuses to write into a file that it has not made: reserving room changes no byte of it.

use super::found::{ENDING, mapped_by, number};
use crate::capture::folder::{Folder, is_regular, reopen};
use crate::machine::cgroup;
use crate::runtimes::route::{Route, inheritable};
use crate::system::procfs::{self, Host};
use rustix::fs::{FallocateFlags, OFlags, fallocate};
use rustix::io::{Errno, retry_on_intr};
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// At most one part in this many of a disk's free room is used.
const DISK_SHARE: u64 = 4;
/// If files lie in memory: the share of the available memory.
const MEMORY_SHARE: u64 = 128;
/// Larger files are not written out in full if the disk cannot reserve room.
const WRITTEN_MAX: u64 = 64 << 20;
/// Allows to make and find names, but not to remove others': the mode of a sticky folder.
const SHARED_MODE: u32 = 0o1733;

/// The folder for the rings of a recording.
#[derive(Debug)]
pub struct RingFolder {
    pub folder: Folder,
    /// Whether the recorder made it, and so cleans up in it.
    pub own: bool,
    /// Programs of other users make their files there.
    shared: bool,
    /// The value of the variable for the program.
    pub variable: PathBuf,
    descriptor: Option<OwnedFd>,
    reserved: Option<Reserved>,
}

/// A file made with all of its room.
#[derive(Debug)]
struct Reserved {
    name: String,
    file: File,
}

impl RingFolder {
    /// Makes `rings/live` of a capture for a route. Errors: it cannot be made.
    pub fn prepare(capture: &Folder, route: &Route) -> io::Result<RingFolder> {
        let shared = *route == Route::Shared;
        let mode = if shared { SHARED_MODE } else { 0o700 };
        let folder = capture.folder("rings")?.make_folder("live", mode)?;
        let mut place = RingFolder::new(folder, true);
        place.shared = shared;
        if matches!(route, Route::Shared | Route::Descriptor) {
            let descriptor = inheritable(&place.folder)?;
            place.variable = format!("/proc/self/fd/{}", descriptor.as_raw_fd()).into();
            place.descriptor = Some(descriptor);
        }
        Ok(place)
    }

    /// Uses a folder that the user chose: its files are read and left alone. Errors: it
    /// cannot be opened.
    pub fn of_user(path: &Path) -> io::Result<RingFolder> {
        Ok(RingFolder::new(Folder::open(path)?, false))
    }

    fn new(folder: Folder, own: bool) -> RingFolder {
        let variable = folder.path().to_owned();
        RingFolder { folder, own, shared: false, variable, descriptor: None, reserved: None }
    }

    /// Whether a program of this user can make files there.
    pub fn is_writable(&self) -> bool {
        use rustix::fs::{Access, access};
        access(self.folder.own_path(), Access::WRITE_OK | Access::EXEC_OK).is_ok()
    }

    /// The descriptor that the program has to inherit, if any.
    pub fn inherited(&self) -> Option<RawFd> {
        self.descriptor.as_ref().map(AsRawFd::as_raw_fd)
    }

    /// Most bytes of one ring file there.
    pub fn room(&self) -> u64 {
        room(&self.folder)
    }

    /// Reserves room for a file of `length` bytes; for a program of another user it only
    /// checks that there is room. Errors: there is none; nothing remains then.
    pub fn reserve(&mut self, length: u64) -> io::Result<()> {
        self.give_back();
        let name = format!(".rtscope-{}{ENDING}", std::process::id());
        let file = self.folder.create(&name)?;
        let kept = reserve(&file, length);
        if kept.is_err() || self.shared {
            let _ = self.folder.remove(&name);
            return kept;
        }
        self.reserved = Some(Reserved { name, file });
        Ok(())
    }

    /// Makes the reserved file that of process `pid`, unless it already has one.
    pub fn assign(&mut self, pid: u32) -> io::Result<()> {
        let Some(Reserved { name: from, file }) = self.reserved.take() else { return Ok(()) };
        let name = format!("{pid}{ENDING}");
        let linked = self.folder.link(&from, &name);
        let _ = self.folder.remove(&from);
        match linked {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Ok(()),
            linked => linked?,
        }
        self.reserved = Some(Reserved { name, file });
        Ok(())
    }

    pub fn give_back(&mut self) {
        if let Some(reserved) = self.reserved.take() {
            remove_if_same(&self.folder, &reserved.name, &reserved.file);
        }
    }

    /// Removes what no process uses any more: the reserved file if no runtime made
    /// rings in it, and in a folder of its own every file and the folder.
    pub fn finish(mut self, host: &Host) {
        if let Some(reserved) = self.reserved.take()
            && is_unused(&reserved.file)
        {
            remove_if_same(&self.folder, &reserved.name, &reserved.file);
        }
        if !self.own {
            return;
        }
        for name in self.folder.names().unwrap_or_default() {
            let Some(name) = name.to_str() else { continue };
            let inode = self.folder.look_at(name).map(|file| file.st_ino).ok();
            let pid = number(name);
            let used = pid.is_some_and(|pid| mapped_by(host, pid).iter().any(|mapped| Some(mapped.inode) == inode));
            if !used {
                let _ = self.folder.remove(name);
            }
        }
        let path = self.folder.path();
        if let (Ok(parent), Some(name)) = (self.folder.parent(), path.file_name()) {
            let _ = parent.remove_folder(name);
        }
    }
}

/// Whether a reserved file is unchanged.
fn is_unused(file: &File) -> bool {
    let mut version = [0; 8];
    let read = reopen(file, OFlags::RDONLY).and_then(|file| file.read_exact_at(&mut version, 0));
    read.is_ok() && version == [0; 8]
}

/// Removes `name` from a folder if it is this file.
pub fn remove_if_same(folder: &Folder, name: &str, file: &File) {
    let same = || -> io::Result<bool> {
        let (named, open) = (folder.look_at(name)?, rustix::fs::fstat(file)?);
        Ok((named.st_dev, named.st_ino) == (open.st_dev, open.st_ino))
    };
    if same().unwrap_or(false) {
        let _ = folder.remove(name);
    }
}

/// Most bytes of one ring file in `folder`.
pub fn room(folder: &Folder) -> u64 {
    let free = folder.free_bytes().unwrap_or(0) / DISK_SHARE;
    if in_memory(folder) { free.min(memory() / MEMORY_SHARE) } else { free }
}

fn in_memory(folder: &Folder) -> bool {
    const TMPFS: u64 = 0x0102_1994;
    const RAMFS: u64 = 0x8584_58f6;
    rustix::fs::fstatfs(folder.descriptor())
        .is_ok_and(|found| matches!(found.f_type as u64 & 0xffff_ffff, TMPFS | RAMFS))
}

/// Available memory, in bytes.
fn memory() -> u64 {
    let host = Host::default();
    let machine = host.text("/proc/meminfo").and_then(|text| procfs::number(&text, "MemAvailable"));
    let groups = cgroup::of_process(&host, std::process::id()).manifest();
    let limits = groups.iter().filter_map(|group| group.memory_limit_bytes);
    limits.fold(machine.unwrap_or(0).saturating_mul(1024), u64::min)
}

/// Reserves room for the whole length of a file that was just made. If the disk cannot
/// reserve room, writes to the file instead.
fn reserve(file: &File, length: u64) -> io::Result<()> {
    match allocate(file, FallocateFlags::empty(), length) {
        Err(Errno::OPNOTSUPP | Errno::NOSYS) if length <= WRITTEN_MAX => {
            io::copy(&mut io::repeat(0).take(length), &mut &*file).map(drop)
        }
        outcome => Ok(outcome?),
    }
}

/// Reserves room for a ring of `length` bytes in `folder` that process `pid` has made, through
/// the descriptor that it is read by: its contents and size stay unchanged, and a file that
/// the process did not make is left alone. False: nothing was reserved.
pub fn take_room(host: &Host, folder: &Folder, ring: &File, length: u64, pid: u32) -> bool {
    let (Ok(found), Ok(around)) = (rustix::fs::fstat(ring), folder.metadata()) else { return false };
    let owner = user_of(host, pid) == Some(found.st_uid);
    // A second hard link is how another user's file gets here.
    if !is_regular(&found) || !owner || found.st_nlink != 1 || found.st_dev != around.st_dev {
        return false;
    }
    let Ok(file) = reopen(ring, OFlags::WRONLY) else { return false };
    allocate(&file, FallocateFlags::KEEP_SIZE, length).is_ok()
}

/// The user that owns files which a process makes.
pub fn user_of(host: &Host, pid: u32) -> Option<u32> {
    let status = host.process_text(pid, "status")?;
    procfs::field(&status, "Uid")?.split_ascii_whitespace().nth(3)?.parse().ok()
}

fn allocate(file: &File, flags: FallocateFlags, length: u64) -> Result<(), Errno> {
    retry_on_intr(|| fallocate(file, flags, 0, length))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::{MetadataExt, PermissionsExt};

    fn capture() -> (tempfile::TempDir, Folder) {
        let scratch = tempfile::tempdir().unwrap();
        let capture = Folder::open(scratch.path()).unwrap();
        capture.make_folder("rings", 0o700).unwrap();
        (scratch, capture)
    }

    #[test]
    fn room_is_reserved_for_a_process_and_given_back() {
        for route in [Route::Path, Route::Descriptor] {
            let (scratch, capture) = capture();
            let mut place = RingFolder::prepare(&capture, &route).unwrap();
            assert!(place.is_writable() && place.room() > 0);
            place.reserve(2 << 20).unwrap();
            place.give_back();
            assert_eq!(place.folder.names().unwrap().len(), 0);
            place.reserve(1 << 20).unwrap();
            place.assign(42).unwrap();
            let found = fs::metadata(place.variable.join("42.events")).unwrap();
            assert_eq!((found.len(), found.mode() & 0o777, found.nlink()), (1 << 20, 0o600, 1));
            assert!(found.blocks() * 512 >= 1 << 20);
            place.finish(&Host::default());
            assert!(!scratch.path().join("rings/live").exists());
        }
    }

    #[test]
    fn what_cannot_be_reserved_is_an_error_and_leaves_no_file() {
        let (_scratch, capture) = capture();
        let mut place = RingFolder::prepare(&capture, &Route::Path).unwrap();
        assert!(place.reserve(1 << 60).is_err());
        assert_eq!(place.folder.names().unwrap().len(), 0);
    }

    #[test]
    fn a_folder_for_other_users_is_sticky_and_holds_nothing_of_ours() {
        let (scratch, capture) = capture();
        let mut place = RingFolder::prepare(&capture, &Route::Shared).unwrap();
        let mode = fs::metadata(scratch.path().join("rings/live")).unwrap().permissions().mode();
        assert_eq!(mode & 0o7777, 0o1733);
        assert!(place.reserve(1 << 60).is_err());
        place.reserve(1 << 20).unwrap();
        place.assign(42).unwrap();
        assert_eq!(place.folder.names().unwrap().len(), 0);
        place.finish(&Host::default());
    }

    #[test]
    fn files_of_the_users_folder_are_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("42.events"), "old").unwrap();
        for pid in [42, 43] {
            let mut place = RingFolder::of_user(folder.path()).unwrap();
            place.reserve(1 << 20).unwrap();
            place.assign(pid).unwrap();
            assert_eq!(folder.path().join("43.events").exists(), pid == 43);
            place.finish(&Host::default());
        }
        let left: Vec<_> = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(left, ["42.events"]);
    }

    #[test]
    fn room_is_taken_in_what_the_process_made_alone() {
        let (scratch, capture) = capture();
        let place = RingFolder::prepare(&capture, &Route::Path).unwrap();
        let folder = &place.folder;
        let own = std::process::id();
        folder.create("1.events").unwrap().set_len(8 << 20).unwrap();
        let take = |name: &str| take_room(&Host::default(), folder, &folder.read(name).unwrap(), 8 << 20, own);
        let blocks = |name: &str| folder.look_at(name).unwrap().st_blocks as u64 * 512;
        assert_eq!(blocks("1.events"), 0);
        assert!(take("1.events") && blocks("1.events") >= 8 << 20);
        // It has another name outside: that is how another user's file would get here.
        fs::write(scratch.path().join("secret"), "0123456789abcdef").unwrap();
        fs::hard_link(scratch.path().join("secret"), scratch.path().join("rings/live/2.events")).unwrap();
        assert!(!take("2.events"));
        std::os::unix::fs::symlink(scratch.path().join("secret"), scratch.path().join("rings/live/3.events")).unwrap();
        assert!(folder.read("3.events").is_err());
        assert_eq!(fs::metadata(scratch.path().join("secret")).unwrap().len(), 16);
        // Truncated meanwhile: it does not grow again.
        folder.create("4.events").unwrap();
        assert!(take("4.events") && folder.look_at("4.events").unwrap().st_size == 0);
    }

    #[test]
    fn root_a_file_of_a_third_user_gets_no_room() {
        if !rustix::process::geteuid().is_root() {
            return eprintln!("not run: needs root, to give a file away");
        }
        let (_scratch, capture) = capture();
        let place = RingFolder::prepare(&capture, &Route::Shared).unwrap();
        let folder = &place.folder;
        folder.create("1.events").unwrap().set_len(1 << 20).unwrap();
        let ring = folder.read("1.events").unwrap();
        rustix::fs::fchown(&ring, Some(rustix::fs::Uid::from_raw(65534)), None).unwrap();
        assert!(!take_room(&Host::default(), folder, &ring, 1 << 20, std::process::id()));
        let mut bob = std::process::Command::new("sleep");
        let mut bob = std::os::unix::process::CommandExt::uid(&mut bob, 65534).arg("60").spawn().unwrap();
        let taken = take_room(&Host::default(), folder, &ring, 1 << 20, bob.id());
        bob.kill().unwrap();
        bob.wait().unwrap();
        assert!(taken);
    }
}
