//! The files that the program's code comes from, held open while it runs: at the
//! end of a recording its root, its mounts and the files themselves may be gone.
//! Owns finding the very file that was mapped; refuses another one under its name.

use crate::procfs::Host;
use rtscope_decode::code::Module;
use rtscope_model::Time;
use std::collections::BTreeSet;
use std::fs::{self, File, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Descriptors that are spent on this.
const HELD_MAX: usize = 128;
/// A clock tick of file times and the error of the real-time clock's offset.
const SLACK_NS: i64 = 20_000_000;

/// Files that were seen mapped, and roots that they were seen in.
#[derive(Debug)]
pub struct Files {
    host: Host,
    held: Vec<Held>,
    roots: Vec<PathBuf>,
    /// Processes by what they ran when they were looked at.
    looked_at: BTreeSet<(u32, PathBuf)>,
}

#[derive(Debug)]
struct Held {
    path: String,
    inode: u64,
    file: File,
}

impl Files {
    /// None yet.
    pub fn new(host: Host) -> Files {
        let root = host.path("/");
        Files { host, held: Vec::new(), roots: vec![root], looked_at: BTreeSet::new() }
    }

    /// Opens what process `pid` has mapped to execute, once per program that it runs.
    pub fn look_at(&mut self, pid: u32) {
        let Ok(program) = fs::read_link(self.host.process(pid, "exe")) else { return };
        if self.held.len() >= HELD_MAX || !self.looked_at.insert((pid, program)) {
            return;
        }
        if let Ok(root) = fs::read_link(self.host.process(pid, "root"))
            && !self.roots.contains(&root)
        {
            self.roots.push(root);
        }
        let maps = self.host.process_text(pid, "maps").unwrap_or_default();
        for (path, inode) in maps.lines().filter_map(executable) {
            if self.held.len() < HELD_MAX && !self.held.iter().any(|held| held.inode == inode && held.path == path) {
                self.hold(pid, path, inode);
            }
        }
    }

    fn hold(&mut self, pid: u32, path: &str, inode: u64) {
        let below = |root: &Path| root.join(path.trim_start_matches('/'));
        let file = File::open(below(&self.host.process(pid, "root")));
        if let Ok(file) = file
            && file.metadata().is_ok_and(|metadata| metadata.ino() == inode)
        {
            self.held.push(Held { path: path.to_owned(), inode, file });
        }
    }

    /// The file of `module`, which was mapped at the moment `mapped` of the
    /// real-time clock. The error is what has become of it.
    pub fn open(&self, module: &Module, mapped: Option<i64>) -> Result<File, String> {
        let path = module.path.trim_end_matches(" (deleted)");
        if let Some(held) = self.held.iter().find(|held| held.inode == module.inode && held.path == path) {
            let changed = held.file.metadata().is_ok_and(|file| since(mapped, modified_ns(&file)));
            return match changed {
                true => Err("was changed after the program had loaded it".to_owned()),
                false => held.file.try_clone().map_err(|error| format!("cannot be read ({error})")),
            };
        }
        let mut why = "is not there any more".to_owned();
        for root in &self.roots {
            match File::open(root.join(path.trim_start_matches('/'))) {
                Ok(file) => match file.metadata() {
                    Ok(metadata) if metadata.ino() != module.inode => {
                        why = "is another file than the one that the program had loaded".to_owned();
                    }
                    Ok(metadata) if since(mapped, changed_ns(&metadata)) => {
                        why = "was changed after the program had loaded it".to_owned();
                    }
                    _ => return Ok(file),
                },
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => why = format!("cannot be read ({error})"),
            }
        }
        Err(why)
    }
}

/// Path and inode of an executable mapping of a file.
pub(super) fn executable(line: &str) -> Option<(&str, u64)> {
    let mut fields = line.splitn(6, ' ');
    let permissions = fields.nth(1)?;
    let inode: u64 = fields.nth(2)?.parse().ok()?;
    let path = fields.next()?.trim_start();
    let whole = permissions.as_bytes().get(2) == Some(&b'x') && path.starts_with('/') && inode != 0;
    whole.then_some((path, inode))
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

/// A moment on the real-time clock.
pub fn on_the_wall(time: Time, realtime_offset_ns: i64) -> Option<i64> {
    let time = i64::try_from(time.0).ok()?;
    (realtime_offset_ns != 0).then(|| time.saturating_add(realtime_offset_ns))
}

#[cfg(test)]
mod tests {
    use super::*;

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
