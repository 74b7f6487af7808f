//! The files that contain the program's code, held open while it runs: at the
//! end of a recording its root, its mounts and the files themselves may be gone.
//! Owns finding the very file that was mapped; refuses another one with its name.

use crate::system::procfs::Host;
use crate::target::mappings::Mapping;
use crate::target::{Process, Refused, Root, open_target};
use rtscope_decode::code::Module;
use rtscope_model::Time;
use std::collections::BTreeSet;
use std::fs::{File, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Roots in which files are searched.
const ROOTS_MAX: usize = 16;
/// Descriptors used for this.
const HELD_MAX: usize = 128;
/// A clock tick of file times and the error of the real-time clock's offset.
const SLACK_NS: i64 = 20_000_000;

/// Files that were seen mapped, and the roots in which they were seen.
#[derive(Debug)]
pub struct Files {
    /// The machine that has the files.
    pub(super) host: Host,
    held: Vec<HeldFile>,
    roots: Vec<Root>,
    /// Examined processes, with the program that each ran.
    looked_at: BTreeSet<(u32, PathBuf)>,
}

#[derive(Debug)]
struct HeldFile {
    path: String,
    device: (u32, u32),
    inode: u64,
    file: File,
}

impl Files {
    /// Reads files in the roots of processes of `host`.
    pub fn new(host: Host) -> Files {
        let roots = Root::of_host(&host).into_iter().collect();
        Files { host, held: Vec::new(), roots, looked_at: BTreeSet::new() }
    }

    /// Opens the executable mappings of process `pid`, once per program that it runs.
    pub fn look_at(&mut self, pid: u32) {
        let Ok(process) = Process::open(&self.host, pid) else { return };
        let Ok(program) = process.link("exe") else { return };
        if self.held.len() >= HELD_MAX || !self.looked_at.insert((pid, program)) {
            return;
        }
        if let Ok(root) = process.root()
            && self.roots.len() < ROOTS_MAX
            && !self.roots.iter().any(|known| known.is(root))
        {
            self.roots.push(root.clone());
        }
        let mappings = process.mappings().unwrap_or_default();
        for mapping in mappings.into_iter().filter(|mapping| mapping.executable) {
            let known = |held: &HeldFile| (held.device, held.inode) == (mapping.device, mapping.inode);
            if self.held.len() < HELD_MAX && !self.held.iter().any(known) {
                self.hold(&process, &mapping);
            }
        }
    }

    /// The mappings of process `pid`, as in `/proc/PID/maps`; empty if that cannot be read.
    pub fn mappings_of(&self, pid: u32) -> String {
        Process::open(&self.host, pid).and_then(|process| process.text("maps")).unwrap_or_default()
    }

    fn hold(&mut self, process: &Process, mapping: &Mapping) {
        let file = mapping.file().and_then(|file| open_target(process, file).ok());
        let path = mapping.name.trim_end_matches(" (deleted)").to_owned();
        self.held.extend(file.map(|file| HeldFile { path, device: mapping.device, inode: mapping.inode, file }));
    }

    /// Opens the file of `module`, which was mapped at the moment `mapped` of the
    /// real-time clock. The error says what has happened to it.
    pub fn open(&self, module: &Module, mapped: Option<i64>) -> Result<File, String> {
        let path = module.path.trim_end_matches(" (deleted)");
        // The kernel and `maps` may name a file in another root differently.
        let same = |held: &&HeldFile| match module.device {
            (0, 0) => held.path == path && held.inode == module.inode,
            device => (held.device, held.inode) == (device, module.inode),
        };
        if let Some(held) = self.held.iter().find(same) {
            let changed = held.file.metadata().is_ok_and(|file| since(mapped, modified_ns(&file)));
            return match changed {
                true => Err("was changed after the program had loaded it".to_owned()),
                false => held.file.try_clone().map_err(|error| format!("cannot be read ({error})")),
            };
        }
        let mut why = "is not there any more".to_owned();
        for root in &self.roots {
            match root.open(Path::new(path), Some((module.device, module.inode))) {
                Ok(file) => match file.metadata() {
                    Ok(metadata) if since(mapped, changed_ns(&metadata)) => {
                        why = "was changed after the program had loaded it".to_owned();
                    }
                    _ => return Ok(file),
                },
                Err(Refused::Another) => why = "is another file than the one that the program had loaded".to_owned(),
                Err(Refused::System(error)) if error.kind() == io::ErrorKind::NotFound => {}
                Err(refused) => why = format!("cannot be read ({refused})"),
            }
        }
        Err(why)
    }
}

fn since(mapped: Option<i64>, changed: i64) -> bool {
    mapped.is_some_and(|mapped| changed > mapped.saturating_add(SLACK_NS))
}

/// When the file's contents were last changed, nanoseconds of the real-time clock.
pub fn modified_ns(file: &Metadata) -> i64 {
    file.mtime().saturating_mul(1_000_000_000).saturating_add(file.mtime_nsec())
}

/// When anything of the file was last changed: not even its owner can set that.
fn changed_ns(file: &Metadata) -> i64 {
    file.ctime().saturating_mul(1_000_000_000).saturating_add(file.ctime_nsec())
}

/// Converts a moment to the real-time clock.
pub fn on_the_wall(time: Time, realtime_offset_ns: i64) -> Option<i64> {
    let time = i64::try_from(time.0).ok()?;
    (realtime_offset_ns != 0).then(|| time.saturating_add(realtime_offset_ns))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn module(path: &Path, inode: u64) -> Module {
        Module { path: path.display().to_string(), device: (0, 0), inode }
    }

    #[test]
    fn only_the_file_that_was_mapped_will_do() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("prog");
        fs::write(&path, b"one").unwrap();
        let metadata = fs::metadata(&path).unwrap();
        let now = changed_ns(&metadata);
        let files = Files::new(Host::default());
        let mapped = module(&path, metadata.ino());
        assert!(files.open(&mapped, Some(now + 1)).is_ok());
        assert!(files.open(&mapped, None).is_ok());
        assert!(files.open(&mapped, Some(now - 1_000_000_000)).unwrap_err().contains("changed"));
        assert!(files.open(&module(&path, metadata.ino() + 1), None).unwrap_err().contains("another file"));
        fs::remove_file(&path).unwrap();
        assert!(files.open(&mapped, None).unwrap_err().contains("not there"));
    }

    #[test]
    fn what_was_held_outlives_its_name() {
        let mut files = Files::new(Host::default());
        files.look_at(std::process::id());
        let own = std::env::current_exe().unwrap();
        let held = files.held.iter().find(|held| Path::new(&held.path) == own).unwrap();
        let gone = Module { path: format!("{} (deleted)", held.path), device: (0, 0), inode: held.inode };
        assert!(files.open(&gone, None).is_ok());
    }
}
