//! Reads `/proc`: what a process is, which threads and files it has. The
//! root is a parameter so that tests use a tree. Refuses interpretation beyond
//! one file; a file that is gone is `None`, never an error, because processes
//! end while they are read.

use crate::privileges::opener::Opener;
use std::fmt;
use std::fs;
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Most bytes read of one file: more than any file that is read whole has, and a bound for
/// made-up trees.
const TEXT_BYTES_MAX: u64 = 64 << 20;

/// Most kernel files are shorter: these are read at once.
const TEXT_BYTES_USUAL: usize = 16 << 10;

/// Most bytes of a command line: the kernel's usual limit.
const COMMAND_BYTES_MAX: u64 = 2 << 20;

/// The machine's file system as seen from `root`.
#[derive(Clone, Debug)]
pub struct Host {
    root: PathBuf,
    /// Opens what this process may not.
    opener: Option<Arc<Opener>>,
}

/// A process as `/proc` names it.
#[derive(Copy, Clone, Eq, PartialEq, Debug)]
pub enum ProcName {
    /// `self`: the reading process; in a made-up tree, the process that it was made for.
    Own,
    /// By its number.
    Pid(u32),
}

impl fmt::Display for ProcName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ProcName::Own => f.write_str("self"),
            ProcName::Pid(pid) => pid.fmt(f),
        }
    }
}

impl Default for Host {
    fn default() -> Self {
        Host::at("/")
    }
}

impl Host {
    /// A machine whose `/proc` and `/sys` lie below `root`.
    pub fn at(root: impl Into<PathBuf>) -> Self {
        Host { root: root.into(), opener: None }
    }

    /// This machine; `opener` opens what the recorder itself may not (any more).
    pub(crate) fn with(opener: Opener) -> Host {
        Host { opener: Some(Arc::new(opener)), ..Host::default() }
    }

    /// The opener, for what is refused here.
    pub(crate) fn opener(&self) -> Option<&Opener> {
        self.opener.as_deref()
    }

    /// An absolute path of the machine, below the root.
    pub fn path(&self, absolute: impl AsRef<Path>) -> PathBuf {
        let absolute = absolute.as_ref();
        self.root.join(absolute.strip_prefix("/").unwrap_or(absolute))
    }

    /// Whether this is the machine itself and not a tree below another root.
    pub fn is_live(&self) -> bool {
        self.root == Path::new("/")
    }

    /// The path below the root, or why it must not be read: a link in a tree can
    /// lead out of it, to the machine that reads it.
    pub(crate) fn inside(&self, absolute: &Path) -> io::Result<PathBuf> {
        let path = self.path(absolute);
        if !self.is_live() && !fs::canonicalize(&path)?.starts_with(fs::canonicalize(&self.root)?) {
            return Err(io::Error::other("it leads out of the tree"));
        }
        Ok(path)
    }

    /// Text of an absolute path of the machine.
    pub fn read(&self, absolute: impl AsRef<Path>) -> io::Result<String> {
        let path = self.inside(absolute.as_ref())?;
        // Opening a pipe in a made-up tree would wait for its other end.
        if !self.is_live() && !fs::metadata(&path)?.is_file() {
            return Err(io::Error::other("it is no ordinary file"));
        }
        read_text(fs::File::open(path)?)
    }

    /// Whether an absolute path of the machine is an ordinary file.
    pub fn is_file(&self, absolute: impl AsRef<Path>) -> bool {
        self.inside(absolute.as_ref()).is_ok_and(|path| path.is_file())
    }

    /// Whether an absolute path of the machine is a folder.
    pub fn is_dir(&self, absolute: impl AsRef<Path>) -> bool {
        self.inside(absolute.as_ref()).is_ok_and(|path| path.is_dir())
    }

    /// Sub-folders of a folder, links not followed, sorted by name.
    pub fn folders(&self, absolute: impl AsRef<Path>) -> Vec<String> {
        let Ok(entries) = self.inside(absolute.as_ref()).and_then(fs::read_dir) else { return Vec::new() };
        let folder = |entry: fs::DirEntry| {
            entry.file_type().is_ok_and(|kind| kind.is_dir()).then(|| entry.file_name().into_string().ok())?
        };
        let mut names: Vec<String> = entries.flatten().filter_map(folder).collect();
        names.sort_unstable();
        names
    }

    /// Numbers N of the folders (or links to folders) named `PREFIXN`, ascending.
    pub fn numbered(&self, absolute: impl AsRef<Path>, prefix: &str) -> Vec<u32> {
        let Ok(entries) = self.inside(absolute.as_ref()).and_then(fs::read_dir) else { return Vec::new() };
        let number = |entry: fs::DirEntry| entry.file_name().to_str()?.strip_prefix(prefix)?.parse().ok();
        let mut numbers: Vec<u32> = entries.flatten().filter_map(number).collect();
        numbers.sort_unstable();
        numbers
    }

    /// `/proc/PID/NAME`.
    pub fn process(&self, pid: u32, name: &str) -> PathBuf {
        self.path(format!("/proc/{pid}/{name}"))
    }

    /// Text of an absolute path of the machine.
    pub fn text(&self, absolute: impl AsRef<Path>) -> Option<String> {
        self.read(absolute).ok()
    }

    /// Text of `/proc/PID/NAME`.
    pub fn process_text(&self, pid: u32, name: &str) -> Option<String> {
        self.text(format!("/proc/{pid}/{name}"))
    }

    /// Every process, in no particular order.
    pub fn pids(&self) -> Vec<u32> {
        numeric_entries(&self.path("/proc"))
    }

    /// The threads of a process.
    pub fn tids(&self, pid: u32) -> Vec<u32> {
        numeric_entries(&self.process(pid, "task"))
    }

    /// Children, their children and so on: everything below `pid`, itself
    /// not included. One pass over `/proc`.
    pub fn descendants(&self, pid: u32) -> Vec<u32> {
        let parents: Vec<(u32, u32)> =
            self.pids().into_iter().filter_map(|child| Some((child, self.stat(child)?.parent))).collect();
        let mut found = vec![pid];
        let mut next = 0;
        while let Some(parent) = found.get(next).copied() {
            let children = parents.iter().filter(|(child, of)| *of == parent && !found.contains(child));
            let children: Vec<u32> = children.map(|(child, _)| *child).collect();
            found.extend(children);
            next += 1;
        }
        found.remove(0);
        found
    }

    /// The parent of a process, its parent, and so on up to the first process.
    pub fn ancestors(&self, pid: u32) -> impl Iterator<Item = u32> {
        let parent = |pid: &u32| self.stat(*pid).map(|stat| stat.parent);
        std::iter::successors(parent(&pid), move |pid| Some(pid).filter(|pid| **pid > 1).and_then(parent))
    }

    /// The processes that `pid` started, from its threads' lists of children;
    /// none if the kernel keeps no such lists.
    pub fn children(&self, pid: u32) -> Vec<u32> {
        let lists =
            self.tids(pid).into_iter().filter_map(|tid| self.process_text(pid, &format!("task/{tid}/children")));
        lists
            .flat_map(|list| list.split(' ').filter_map(|child| child.trim().parse().ok()).collect::<Vec<_>>())
            .collect()
    }

    /// Whether the process exists and is not a zombie.
    pub fn runs(&self, pid: u32) -> bool {
        self.stat(pid).is_some_and(|stat| !matches!(stat.state, 'Z' | 'X'))
    }

    /// `/proc/PID/stat`.
    pub fn stat(&self, pid: u32) -> Option<Stat> {
        Stat::parse(&self.process_text(pid, "stat")?)
    }

    /// Command line, one entry per argument.
    pub fn command(&self, pid: u32) -> Option<Vec<String>> {
        let mut bytes = Vec::new();
        // A process can point the kernel at any memory as its arguments, of any length.
        fs::File::open(self.process(pid, "cmdline")).ok()?.take(COMMAND_BYTES_MAX).read_to_end(&mut bytes).ok()?;
        let text = bytes.strip_suffix(&[0]).unwrap_or(&bytes);
        if text.is_empty() {
            return Some(Vec::new());
        }
        Some(text.split(|byte| *byte == 0).map(|part| String::from_utf8_lossy(part).into_owned()).collect())
    }
}

/// The text of a file, up to the limit.
pub(crate) fn read_text(file: fs::File) -> io::Result<String> {
    let mut bytes = Vec::with_capacity(TEXT_BYTES_USUAL);
    file.take(TEXT_BYTES_MAX).read_to_end(&mut bytes)?;
    Ok(String::from_utf8(bytes).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned()))
}

/// Device and inode of a file.
pub(crate) fn identity(file: &fs::Metadata) -> (u64, u64) {
    (file.dev(), file.ino())
}

fn numeric_entries(folder: &Path) -> Vec<u32> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

/// The fields of `/proc/PID/stat` (or a thread's).
#[derive(Copy, Clone, Eq, PartialEq, Debug)]
pub struct Stat {
    /// State letter: `R`, `S`, `Z`, …
    pub state: char,
    /// Parent process.
    pub parent: u32,
    /// It is exiting: its memory may be gone while it is not a zombie yet.
    pub exiting: bool,
    /// Minor page faults.
    pub minor_faults: u64,
    /// Major page faults.
    pub major_faults: u64,
    /// User plus system time in clock ticks.
    pub cpu_ticks: u64,
    /// Start in clock ticks since boot.
    pub start_ticks: u64,
}

/// Bit in the kernel's flags of a task.
const PF_EXITING: u64 = 4;

impl Stat {
    /// Parses the line; the name between the parentheses may contain anything.
    pub fn parse(text: &str) -> Option<Stat> {
        let fields: Vec<&str> = text.get(text.rfind(')')? + 1..)?.split_ascii_whitespace().collect();
        let number = |index: usize| fields.get(index)?.parse::<u64>().ok();
        Some(Stat {
            state: fields.first()?.chars().next()?,
            parent: fields.get(1)?.parse().ok()?,
            exiting: number(6)? & PF_EXITING != 0,
            minor_faults: number(7)?,
            major_faults: number(9)?,
            cpu_ticks: number(11)?.saturating_add(number(12)?),
            start_ticks: number(19)?,
        })
    }
}

/// Value of `KEY: value` or `KEY value` in a file of such lines.
pub fn field<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    text.lines().find_map(|line| {
        let rest = line.strip_prefix(key)?;
        let rest = rest.strip_prefix(':').or_else(|| rest.strip_prefix(' '))?;
        Some(rest.trim())
    })
}

/// First number of a value, as in `VmRSS:   123 kB`.
pub fn number(text: &str, key: &str) -> Option<u64> {
    field(text, key)?.split_ascii_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_parentheses_and_spaces_does_not_shift_the_fields() {
        let line = "42 (a b) c) R 7 1 1 0 -1 4194304 11 0 22 0 3 4 0 0 20 0 1 0 12345 1 2 3";
        let stat = Stat::parse(line).unwrap();
        assert_eq!(stat.state, 'R');
        assert_eq!(stat.parent, 7);
        assert_eq!((stat.minor_faults, stat.major_faults), (11, 22));
        assert_eq!(stat.cpu_ticks, 7);
        assert_eq!(stat.start_ticks, 12345);
        assert_eq!(Stat::parse("42 (cut"), None);
    }

    #[test]
    fn a_tree_is_never_left() {
        let outside = tempfile::tempdir().unwrap();
        fs::write(outside.path().join("secret"), "1").unwrap();
        let root = tempfile::tempdir().unwrap();
        let link = |to: &Path, name: &str| std::os::unix::fs::symlink(to, root.path().join(name)).unwrap();
        link(outside.path(), "away");
        fs::create_dir(root.path().join("real")).unwrap();
        fs::write(root.path().join("real/file"), "2").unwrap();
        link(Path::new("real"), "here");
        let host = Host::at(root.path());
        assert!(host.read("/away/secret").unwrap_err().to_string().contains("out of the tree"));
        assert!(!host.is_dir("/away") && !host.is_file("/away/secret"));
        assert_eq!(host.text("/../../../../../../etc/passwd"), None);
        assert_eq!(host.text("/here/file").unwrap(), "2");
        assert_eq!(host.folders("/"), ["real"]);
        rustix::fs::mkfifoat(rustix::fs::CWD, root.path().join("pipe"), rustix::fs::Mode::RUSR).unwrap();
        assert!(host.read("/pipe").unwrap_err().to_string().contains("ordinary"));
    }

    #[test]
    fn descendants_are_found_through_their_parents() {
        let root = tempfile::tempdir().unwrap();
        for (pid, parent) in [(10, 1), (11, 10), (12, 11), (13, 1)] {
            let folder = root.path().join(format!("proc/{pid}"));
            fs::create_dir_all(&folder).unwrap();
            let line = format!("{pid} (x) S {parent} 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 5 1");
            fs::write(folder.join("stat"), line).unwrap();
        }
        let mut found = Host::at(root.path()).descendants(10);
        found.sort_unstable();
        assert_eq!(found, [11, 12]);
    }
}
