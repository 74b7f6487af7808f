//! Which processes have a ring mapped. The file stays mapped as long as its process
//! lives, whatever its name in any namespace.

use crate::capture::folder::Folder;
use crate::system::procfs::Host;
use crate::target::mappings::{self, Mapping};
use crate::target::{Process, open_target};
use std::fs::File;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

pub const ENDING: &str = ".events";

/// A ring file that a process has mapped.
#[derive(Clone, Debug)]
pub struct Mapped {
    pub process: Process,
    /// The file's path, as mappings show it.
    pub path: PathBuf,
    pub inode: u64,
    mapping: Mapping,
}

impl Mapped {
    /// Opens the file, even if it was unlinked or lies in another root. `None` if
    /// that is not permitted.
    pub fn open(&self) -> Option<File> {
        open_target(&self.process, self.mapping.file()?).ok()
    }

    /// The folder of the file, held.
    pub fn folder(&self) -> Option<Folder> {
        let path = self.path.parent()?;
        Some(Folder::held(self.process.folder(path).ok()?, path.to_owned()))
    }
}

/// The ring files that a process has mapped: shared, writable, and with a ring's name.
pub fn mapped_by(host: &Host, pid: u32) -> Vec<Mapped> {
    let Ok(process) = Process::open(host, pid) else { return Vec::new() };
    let text = process.text("maps").unwrap_or_default();
    let mut found: Vec<Mapped> = text
        .lines()
        .filter_map(ring)
        .map(|(path, mapping)| Mapped { process: process.clone(), path, inode: mapping.inode, mapping })
        .collect();
    found.dedup_by_key(|mapped| mapped.inode);
    found
}

/// `7f0000000000-7f0010107000 rw-s 00000000 fe:00 1234   /tmp/42.events (deleted)`
pub(super) fn ring(line: &str) -> Option<(PathBuf, Mapping)> {
    if line.split(' ').nth(1)? != "rw-s" {
        return None;
    }
    let mapping = mappings::parse(line).pop().filter(|mapping| mapping.offset == 0)?;
    let path = Path::new(mapping.name.strip_suffix(" (deleted)").unwrap_or(&mapping.name)).to_owned();
    number(path.file_name()?.to_str()?).map(|_| (path, mapping))
}

/// The number in a name such as `42.events`.
pub fn number(name: &str) -> Option<u32> {
    name.strip_suffix(ENDING)?.parse().ok()
}

/// The process that has `file` mapped under the name `name`: the one with that number,
/// else, if `everywhere`, any.
pub fn writer(host: &Host, file: &File, name: &str, everywhere: bool) -> Option<u32> {
    let inode = file.metadata().ok()?.ino();
    let maps = |pid: &u32| {
        let mapped = mapped_by(host, *pid);
        mapped.iter().any(|mapped| mapped.inode == inode && mapped.path.file_name().is_some_and(|found| found == name))
    };
    let named = number(name).filter(maps);
    named.or_else(|| if everywhere { host.pids().into_iter().find(maps) } else { None })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ring_is_known_by_how_it_is_mapped_and_called() {
        let line = "7f0000000000-7f0010107000 rw-s 00000000 fe:00 1234                     /tmp/a b/42.events";
        let (path, mapping) = ring(line).unwrap();
        assert_eq!((path.to_str(), mapping.inode), (Some("/tmp/a b/42.events"), 1234));
        assert_eq!(mapping.range, 0x7f00_0000_0000..0x7f00_1010_7000);
        assert_eq!(ring(&format!("{line} (deleted)")).unwrap().0, path);
        for other in [
            line.replace("rw-s", "r--s"),
            line.replace("rw-s", "rw-p"),
            line.replace("00000000 fe", "00001000 fe"),
            line.replace("42.events", "my.events"),
            line.replace(".events", ".log"),
            "7f0000000000-7f0010107000 rw-s 00000000 00:01 1 ".to_owned(),
            String::new(),
        ] {
            assert_eq!(ring(&other), None, "{other}");
        }
    }
}
