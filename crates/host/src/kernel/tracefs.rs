//! Where the kernel describes its tracepoints. Owns finding (or, for root,
//! mounting for a moment) tracefs and reading ids and formats from it; refuses
//! to interpret a format.

use std::ffi::CString;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Where tracefs is mounted, below the root.
const PLACES: [&str; 2] = ["sys/kernel/tracing", "sys/kernel/debug/tracing"];

/// A tracepoint as the kernel describes it.
#[derive(Clone, Eq, PartialEq, Debug)]
pub struct Description {
    /// `sched_switch`, …
    pub name: String,
    /// The kernel's id, also `common_type` of its records.
    pub id: u64,
    /// The text of its `format` file.
    pub format: String,
}

/// Reads the descriptions of `names`, tracepoints of the `sched` system, from
/// the tracefs below `root`; mounts one privately if there is none and the
/// caller may. Names that this kernel does not have are left out.
pub fn describe(root: &Path, names: &[&str]) -> io::Result<Vec<Description>> {
    let mut refusal = io::Error::new(io::ErrorKind::NotFound, "tracefs is not mounted");
    for place in PLACES {
        let events = root.join(place).join("events/sched");
        match read_all(&events, names) {
            Ok(found) => return Ok(found),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => refusal = error,
        }
    }
    if root != Path::new("/") {
        return Err(refusal);
    }
    match Mounted::new() {
        Err(_) if refusal.kind() == io::ErrorKind::PermissionDenied => {
            Err(io::Error::new(refusal.kind(), format!("tracefs cannot be read: {refusal}")))
        }
        Ok(mounted) => read_all(&mounted.path.join("events/sched"), names),
        Err(_) => Err(refusal),
    }
}

/// Below `root`: the place where tracefs is mounted and readable.
pub fn readable_place(root: &Path) -> io::Result<PathBuf> {
    let mut refusal = io::Error::new(io::ErrorKind::NotFound, "tracefs is not mounted");
    for place in PLACES {
        let path = root.join(place);
        match fs::read(path.join("events/sched/sched_switch/id")) {
            Ok(_) => return Ok(path),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => refusal = error,
        }
    }
    Err(refusal)
}

fn read_all(events: &Path, names: &[&str]) -> io::Result<Vec<Description>> {
    // An unreadable or unmounted tracefs must be told from a tracepoint that
    // this kernel lacks.
    fs::read_dir(events)?;
    let mut found = Vec::new();
    for name in names {
        match read_one(&events.join(name), name) {
            Ok(description) => found.push(description),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    Ok(found)
}

fn read_one(folder: &Path, name: &str) -> io::Result<Description> {
    let id = fs::read_to_string(folder.join("id"))?;
    let id = id.trim().parse().map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "not a tracepoint id"))?;
    Ok(Description { name: name.to_owned(), id, format: fs::read_to_string(folder.join("format"))? })
}

/// A tracefs mounted by us; unmounted with the value.
struct Mounted {
    path: PathBuf,
}

impl Mounted {
    fn new() -> io::Result<Mounted> {
        let path = std::env::temp_dir().join(format!("rtscope-tracefs-{}", std::process::id()));
        fs::create_dir(&path)?;
        let mounted = Mounted { path };
        let target = CString::new(mounted.path.as_os_str().as_bytes())?;
        let flags = libc::MS_RDONLY | libc::MS_NOSUID | libc::MS_NODEV | libc::MS_NOEXEC;
        // SAFETY: all strings are NUL-terminated and live across the call; the
        // data pointer may be null for tracefs.
        let outcome =
            unsafe { libc::mount(c"nodev".as_ptr(), target.as_ptr(), c"tracefs".as_ptr(), flags, std::ptr::null()) };
        if outcome == 0 { Ok(mounted) } else { Err(io::Error::last_os_error()) }
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        if let Ok(target) = CString::new(self.path.as_os_str().as_bytes()) {
            // SAFETY: a NUL-terminated string that lives across the call. Where
            // the mount had failed this refuses, which is harmless.
            unsafe { libc::umount2(target.as_ptr(), libc::MNT_DETACH) };
        }
        let _ = fs::remove_dir(&self.path);
    }
}
