//! The one way to open what a process refers to. Owns the order: found without opening it (`O_PATH`), checked
//! (see `root`), and only then opened, without blocking.

use super::process::Process;
use super::root::checked;
use crate::privileges::opener::{self, Ask, ProcessFile, Refused};
use rustix::fs::{Mode, OFlags};
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

/// Opens what a process refers to, for reading.
///
/// # Errors
/// [`Refused`]: then nothing was opened.
pub fn open_target(process: &Process, what: ProcessFile) -> Result<File, Refused> {
    match (open_directly(process, what.clone()), process.opener()) {
        (Err(refused), Some(opener)) if is_forbidden(&refused) => {
            opener.open(Some(process.identity()), Ask::Target(what))
        }
        (opened, _) => opened,
    }
}

/// Whether it failed because the recorder itself may not do it.
fn is_forbidden(refused: &Refused) -> bool {
    matches!(refused, Refused::System(error) if error.kind() == io::ErrorKind::PermissionDenied)
}

fn open_directly(process: &Process, what: ProcessFile) -> Result<File, Refused> {
    match what {
        ProcessFile::Executable => checked(process.find("exe")?, None),
        ProcessFile::Descriptor(fd) => checked(process.find(&format!("fd/{fd}"))?, None),
        ProcessFile::Named(path) => process.root()?.open(&path, None),
        ProcessFile::Mapped { range, device, inode, path } => {
            let wanted = Some((device, inode));
            let exact = process.find(&format!("map_files/{:x}-{:x}", range.start, range.end));
            exact.map_err(Refused::from).and_then(|found| checked(found, wanted)).or_else(|first| {
                // A process that may not read `map_files` still has the name.
                let mut why = first;
                for name in names(process, &path) {
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

/// Possible names of a mapped file in the root of its process: `maps` shows names relative to the
/// reader's root, and marks removed files.
fn names(process: &Process, path: &str) -> Vec<PathBuf> {
    let path = Path::new(path);
    let text = path.to_string_lossy();
    let mut names = vec![path.to_owned()];
    names.extend(text.strip_suffix(" (deleted)").map(PathBuf::from));
    let root = process.link("root").ok().filter(|root| root != Path::new("/"));
    names.extend(root.and_then(|root| Some(path.strip_prefix(root).ok()?.to_owned())));
    names
}

/// Opens an ordinary file by a name in the recorder's own root, or in a core file,
/// without blocking. With `follow`, a link as its last component is followed.
pub fn open_own(path: &Path, follow: bool) -> Result<File, Refused> {
    if let Some(opener) = opener::inside() {
        return opener.open(None, Ask::Own(path.to_owned()));
    }
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    let flags = if follow { flags } else { flags | OFlags::NOFOLLOW };
    checked(rustix::fs::open(path, flags, Mode::empty()).map_err(io::Error::from)?, None)
}
