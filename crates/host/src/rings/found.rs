//! Which processes have a ring mapped. The file stays mapped as long as its process
//! lives, whatever its name is in whatever namespace.

use crate::procfs::Host;
use std::fs::{self, File};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// What ring files are called.
pub const ENDING: &str = ".events";

/// A ring file that a process has mapped.
#[derive(Clone, Eq, PartialEq, Debug)]
pub struct Mapped {
    /// The process, as the recorder sees it.
    pub pid: u32,
    /// The file, as the process's own root names it.
    pub path: PathBuf,
    /// Its inode.
    pub inode: u64,
    /// Where it is mapped, as `/proc/PID/map_files` names it.
    range: String,
}

impl Mapped {
    /// Opens the file, also one that was unlinked or lies in another root. `None` where
    /// that is not permitted.
    pub fn open(&self, host: &Host) -> Option<File> {
        let exact = host.process(self.pid, "map_files").join(&self.range);
        let named = host.process(self.pid, "root").join(self.path.strip_prefix("/").unwrap_or(&self.path));
        let same = |file: &File| file.metadata().is_ok_and(|found| found.ino() == self.inode);
        [exact, named].iter().find_map(|path| File::open(path).ok().filter(same))
    }
}

/// The ring files that a process has mapped: shared, to be written, and called so.
pub fn mapped_by(host: &Host, pid: u32) -> Vec<Mapped> {
    let Ok(maps) = fs::read(host.process(pid, "maps")) else { return Vec::new() };
    let text = String::from_utf8_lossy(&maps);
    let mut found: Vec<Mapped> = text.lines().filter_map(|line| mapping(pid, line)).collect();
    found.dedup_by_key(|mapped| mapped.inode);
    found
}

/// `7f0000000000-7f0010107000 rw-s 00000000 fe:00 1234   /tmp/42.events (deleted)`
pub(super) fn mapping(pid: u32, line: &str) -> Option<Mapped> {
    let mut fields = line.splitn(6, ' ');
    let range = fields.next()?;
    if fields.next()? != "rw-s" || fields.next()?.chars().any(|digit| digit != '0') {
        return None;
    }
    let inode = fields.nth(1)?.parse().ok()?;
    let path = fields.next()?.trim_start();
    let path = Path::new(path.strip_suffix(" (deleted)").unwrap_or(path));
    is_ring_name(path.file_name()?.to_str()?).then(|| Mapped { pid, path: path.into(), inode, range: range.to_owned() })
}

/// `42.events`: the number in it.
pub fn number(name: &str) -> Option<u32> {
    name.strip_suffix(ENDING)?.parse().ok()
}

fn is_ring_name(name: &str) -> bool {
    number(name).is_some()
}

/// The process that has `file` mapped under the name `name`: the one of that number,
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
        let mapped = mapping(7, line).unwrap();
        assert_eq!((mapped.path.to_str(), mapped.inode), (Some("/tmp/a b/42.events"), 1234));
        assert_eq!(mapped.range, "7f0000000000-7f0010107000");
        let gone = mapping(7, &format!("{line} (deleted)")).unwrap();
        assert_eq!(gone.path, mapped.path);
        for other in [
            line.replace("rw-s", "r--s"),
            line.replace("rw-s", "rw-p"),
            line.replace("00000000 fe", "00001000 fe"),
            line.replace("42.events", "my.events"),
            line.replace(".events", ".log"),
            "7f0000000000-7f0010107000 rw-s 00000000 00:01 1 ".to_owned(),
            String::new(),
        ] {
            assert_eq!(mapping(7, &other), None, "{other}");
        }
    }
}
