//! One way to open what a process names. Owns the order: found without opening it (`O_PATH`), checked
//! (see `root`), and only then opened, without waiting for anything.

use super::process::Process;
use super::root::checked;
use crate::privileges::opener::{self, Ask, Refused, What};
use rustix::fs::{Mode, OFlags};
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

/// Opens what a process names, to be read.
///
/// # Errors
/// [`Refused`]: nothing was opened then.
pub fn open_target(process: &Process, what: What) -> Result<File, Refused> {
    match (open_directly(process, what.clone()), process.opener()) {
        (Err(refused), Some(opener)) if is_forbidden(&refused) => {
            opener.open(Some(process.identity()), Ask::Target(what))
        }
        (opened, _) => opened,
    }
}

/// Whether the recorder itself may not do it.
fn is_forbidden(refused: &Refused) -> bool {
    matches!(refused, Refused::System(error) if error.kind() == io::ErrorKind::PermissionDenied)
}

fn open_directly(process: &Process, what: What) -> Result<File, Refused> {
    match what {
        What::Executable => checked(process.find("exe")?, None),
        What::Descriptor(fd) => checked(process.find(&format!("fd/{fd}"))?, None),
        What::Named(path) => process.root()?.open(&path, None),
        What::Mapped { range, device, inode, path } => {
            let wanted = Some((device, inode));
            let exact = process.find(&format!("map_files/{:x}-{:x}", range.start, range.end));
            exact.map_err(Refused::from).and_then(|found| checked(found, wanted)).or_else(|first| {
                // Who must not look into `map_files` has the name.
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
pub fn open_own(path: &Path, follow: bool) -> Result<File, Refused> {
    if let Some(opener) = opener::inside() {
        return opener.open(None, Ask::Own(path.to_owned()));
    }
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    let flags = if follow { flags } else { flags | OFlags::NOFOLLOW };
    checked(rustix::fs::open(path, flags, Mode::empty()).map_err(io::Error::from)?, None)
}
