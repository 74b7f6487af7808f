//! The kernel's descriptions of its tracepoints. Owns finding tracefs (or, for root, mounting
//! it for a moment, without a mount point) and reading ids and formats from it; refuses
//! to interpret a format.

use rustix::fs::{CWD, Mode, OFlags, openat};
use rustix::mount::{FsMountFlags, FsOpenFlags, MountAttrFlags, fsconfig_create, fsmount, fsopen};
use std::fs::{self, File};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};

/// Where tracefs is mounted, below the root.
const PLACES: [&str; 2] = ["sys/kernel/tracing", "sys/kernel/debug/tracing"];

/// A tracepoint as the kernel describes it.
#[derive(Clone, Eq, PartialEq, Debug)]
pub struct Description {
    pub name: String,
    /// The kernel's id, also `common_type` of its records.
    pub id: u64,
    pub format: String,
}

/// Reads the descriptions of `names`, tracepoints of the `sched` system, from the tracefs
/// below `root`; if there is none and the caller may, mounts one without a mount point.
/// Names that this kernel lacks are left out.
pub fn describe(root: &Path, names: &[&str]) -> io::Result<Vec<Description>> {
    // A tracefs that is not mounted or not readable differs here from a tracepoint that this kernel lacks.
    let found = in_places(root, |place| read_all(&open_folder(CWD, place.join("events/sched"))?, names));
    let refusal = match found {
        Err(refusal) if root == Path::new("/") => refusal,
        found => return found,
    };
    match mount() {
        Err(_) if refusal.kind() == io::ErrorKind::PermissionDenied => {
            Err(io::Error::new(refusal.kind(), format!("tracefs cannot be read: {refusal}")))
        }
        Ok(mounted) => read_all(&open_folder(&mounted, "events/sched")?, names),
        Err(_) => Err(refusal),
    }
}

/// The place below `root` where tracefs is mounted and readable.
pub fn readable_place(root: &Path) -> io::Result<PathBuf> {
    in_places(root, |place| fs::read(place.join("events/sched/sched_switch/id")).map(|_| place.to_owned()))
}

/// Reads from the first place that works. Errors: why no place could be read.
fn in_places<T>(root: &Path, read: impl Fn(&Path) -> io::Result<T>) -> io::Result<T> {
    let mut refusal = io::Error::new(io::ErrorKind::NotFound, "tracefs is not mounted");
    for place in PLACES {
        match read(&root.join(place)) {
            Ok(found) => return Ok(found),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => refusal = error,
        }
    }
    Err(refusal)
}

fn read_all(events: &OwnedFd, names: &[&str]) -> io::Result<Vec<Description>> {
    let is_absent = |error: &io::Error| error.kind() == io::ErrorKind::NotFound;
    let read = names.iter().map(|name| read_one(events, name));
    read.filter(|read| !read.as_ref().is_err_and(is_absent)).collect()
}

fn read_one(events: &OwnedFd, name: &str) -> io::Result<Description> {
    let read = |file: &str| {
        let flags = OFlags::RDONLY | OFlags::CLOEXEC;
        io::read_to_string(File::from(openat(events, format!("{name}/{file}"), flags, Mode::empty())?))
    };
    let id = read("id")?;
    let id = id.trim().parse().map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "not a tracepoint id"))?;
    Ok(Description { name: name.to_owned(), id, format: read("format")? })
}

fn open_folder(at: impl AsFd, path: impl rustix::path::Arg) -> io::Result<OwnedFd> {
    Ok(openat(at, path, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?)
}

/// A tracefs without a mount point: only this descriptor refers to it, and it ends with the
/// descriptor, however the recorder ends. Errors: a kernel before 5.2, or not permitted.
fn mount() -> io::Result<OwnedFd> {
    let context = fsopen("tracefs", FsOpenFlags::FSOPEN_CLOEXEC)?;
    fsconfig_create(&context)?;
    let attributes = MountAttrFlags::MOUNT_ATTR_RDONLY
        | MountAttrFlags::MOUNT_ATTR_NOSUID
        | MountAttrFlags::MOUNT_ATTR_NODEV
        | MountAttrFlags::MOUNT_ATTR_NOEXEC;
    Ok(fsmount(&context, FsMountFlags::FSMOUNT_CLOEXEC, attributes)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn root_a_tracefs_of_its_own_leaves_no_mount() {
        if !rustix::process::geteuid().is_root() {
            return eprintln!("not run: needs root, to mount tracefs");
        }
        let mounts = || fs::read_to_string("/proc/self/mounts").unwrap();
        let before = mounts();
        let mounted = mount().unwrap();
        let found = read_all(&open_folder(&mounted, "events/sched").unwrap(), &["sched_switch", "no_such"]).unwrap();
        assert_eq!((found.len(), found[0].name.as_str()), (1, "sched_switch"));
        assert!(found[0].id > 0 && found[0].format.contains("prev_comm"));
        // The recorder may be killed at any moment, such as now.
        assert_eq!(mounts(), before);
    }
}
