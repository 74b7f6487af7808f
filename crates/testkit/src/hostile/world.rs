//! The folder of one draw: what only root may access, what the other user owns, where rtscope may
//! write. Owns the comparison before and after; every difference is a fault.

use rustix::fs::OFlags;
use std::fs::{self, DirBuilder, File, FileTimes, Permissions};
use std::io::Read;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt, chown, lchown};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, SystemTime};
use tempfile::TempDir;

/// The user whose files and processes are hostile.
pub const OTHER: u32 = 65534;
/// This text is in everything that only root may read, and nowhere else.
pub const SECRET: &str = "Kanarienvogel";
/// The part of it that fits into a name of eight bytes.
pub const SECRET_BEGINS: &str = "Kanarie";
/// Only this much of a file is searched for the secret.
const SEARCHED_MAX: u64 = 64 << 20;
/// Last access and modification time of root's files: long ago, so that a read also shows where access
/// times are only updated now and then.
const WRITTEN: Duration = Duration::from_secs(1_600_000_000);
const READ: Duration = Duration::from_secs(1_500_000_000);

/// Folders of one draw.
pub struct World {
    folder: TempDir,
}

/// The state of a file, without following links.
type FileState = (PathBuf, (u32, u32, u64, i64, i64), Option<Vec<u8>>);

impl World {
    /// Creates root's `secret` and `secret/canary.folder`, the other user's `other`, and `out` and `home` for rtscope.
    pub fn made() -> World {
        let world = World { folder: tempfile::tempdir().unwrap() };
        fs::set_permissions(world.folder.path(), Permissions::from_mode(0o755)).unwrap();
        for (name, mode) in [("secret", 0o711), ("other", 0o755), ("out", 0o700), ("home", 0o700), ("home/tmp", 0o700)]
        {
            DirBuilder::new().mode(mode).create(world.path(name)).unwrap();
        }
        give(&world.path("other"));
        DirBuilder::new().mode(0o700).create(world.path("secret/canary.folder")).unwrap();
        // A file that begins like a log is taken for one.
        let text = format!("hdrb {SECRET} ").repeat(300);
        for name in ["secret/canary", "secret/canary.folder/kept"] {
            world.keep_secret(&world.path(name), text.as_bytes());
        }
        world
    }

    /// A path in it.
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Writes a file that only root may read.
    pub fn keep_secret(&self, path: &Path, bytes: &[u8]) {
        fs::write(path, bytes).unwrap();
        fs::set_permissions(path, Permissions::from_mode(0o600)).unwrap();
        untouched(path);
    }

    /// The state of root's files. Resets their access times.
    pub fn look(&self) -> Vec<FileState> {
        let mut looks = Vec::new();
        for path in all_below(&self.path("secret")) {
            let found = fs::symlink_metadata(&path).unwrap();
            let what = (found.mode(), found.uid(), found.ino(), found.mtime(), found.mtime_nsec());
            let bytes = found.is_file().then(|| fs::read(&path).unwrap());
            if found.is_file() {
                untouched(&path);
            }
            looks.push((path, what, bytes));
        }
        looks
    }

    /// What differs from `before`, was read, or was created where rtscope must not write.
    pub fn faults(&self, before: &[FileState], outputs: &[PathBuf]) -> Vec<String> {
        let mut faults = self.changed(before);
        let may = |path: &Path| outputs.iter().any(|output| path.starts_with(output));
        for path in all_below(self.folder.path()) {
            let Ok(found) = fs::symlink_metadata(&path) else { continue };
            let below = |name: &str| path.starts_with(self.path(name));
            if below("secret") || below("home") || below("root") || path == self.folder.path() {
                continue;
            }
            let (others, own) = (below("other"), found.uid() == 0);
            let stray = if others { own } else { path != self.path("out") };
            if stray && !may(&path) {
                faults.push(format!("made {}", path.strip_prefix(self.folder.path()).unwrap().display()));
            }
            if let Some(name) = path.file_name().filter(|name| own && unclean(name.as_encoded_bytes()).is_some()) {
                faults.push(format!("made a file called {name:?}"));
            }
            if (own || below("out")) && found.is_file() && holds_secret(&path) {
                faults.push(format!("{} holds what only root may read", path.display()));
            }
        }
        faults
    }

    fn changed(&self, before: &[FileState]) -> Vec<String> {
        let mut faults = Vec::new();
        for (path, _, bytes) in before.iter().filter(|(_, _, bytes)| bytes.is_some() && reads_show()) {
            if read_at(path) != Some(SystemTime::UNIX_EPOCH + READ) && path.exists() {
                faults.push(format!("read {} ({} bytes)", path.display(), bytes.as_ref().map_or(0, Vec::len)));
            }
        }
        let after = self.look();
        for look in before {
            match after.iter().find(|after| after.0 == look.0) {
                None => faults.push(format!("removed {}", look.0.display())),
                Some(after) if after.1 != look.1 || after.2 != look.2 => {
                    let lengths = [look, after].map(|look| look.2.as_ref().map_or(0, Vec::len));
                    faults.push(format!("changed {}: {:?} to {:?}, {lengths:?}", look.0.display(), look.1, after.1));
                }
                Some(_) => {}
            }
        }
        let new = after.iter().filter(|after| before.iter().all(|look| look.0 != after.0));
        faults.extend(new.map(|look| format!("made {}", look.0.display())));
        faults
    }

    /// Ends the processes that still run in it.
    pub fn end_all(&self) {
        for entry in fs::read_dir("/proc").unwrap().flatten() {
            let Ok(pid) = entry.file_name().to_string_lossy().parse::<u32>() else { continue };
            if fs::read_link(entry.path().join("cwd")).is_ok_and(|folder| folder.starts_with(self.folder.path())) {
                let _ = Command::new("kill").args(["-KILL", &pid.to_string()]).output();
            }
        }
    }
}

impl Drop for World {
    fn drop(&mut self) {
        self.end_all();
        // A process that is ending may still write.
        for _ in 0..50 {
            if fs::remove_dir_all(self.folder.path()).is_ok() || !self.folder.path().exists() {
                return;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

/// Everything below a folder, without following links.
pub fn all_below(folder: &Path) -> Vec<PathBuf> {
    let mut all = vec![folder.to_owned()];
    let mut next = 0;
    while let Some(path) = all.get(next).cloned() {
        next += 1;
        if fs::symlink_metadata(&path).is_ok_and(|found| found.is_dir()) {
            all.extend(fs::read_dir(&path).into_iter().flatten().flatten().map(|entry| entry.path()));
        }
    }
    all
}

/// Gives a file, or everything below a folder, to the other user.
pub fn give(path: &Path) {
    chown(path, Some(OTHER), Some(OTHER)).unwrap();
    for path in all_below(path) {
        lchown(path, Some(OTHER), Some(OTHER)).unwrap();
    }
}

/// Resets the times of one of root's files.
pub fn untouched(path: &Path) {
    let at = |age| SystemTime::UNIX_EPOCH + age;
    let times = FileTimes::new().set_accessed(at(READ)).set_modified(at(WRITTEN));
    File::open(path).unwrap().set_times(times).unwrap();
}

/// When a file was last read.
pub fn read_at(path: &Path) -> Option<SystemTime> {
    fs::metadata(path).ok()?.accessed().ok()
}

fn holds_secret(path: &Path) -> bool {
    // A target that still runs may replace a file by a pipe.
    let flags = OFlags::NONBLOCK | OFlags::NOFOLLOW;
    let Ok(mut file) = File::options().read(true).custom_flags(flags.bits() as i32).open(path) else { return false };
    let found = file.metadata().is_ok_and(|found| found.is_file() && found.len() <= SEARCHED_MAX);
    let mut bytes = Vec::new();
    found && file.read_to_end(&mut bytes).is_ok() && has_secret(&bytes)
}

/// Whether these bytes contain the secret.
pub fn has_secret(bytes: &[u8]) -> bool {
    let secret = SECRET_BEGINS.as_bytes();
    bytes.windows(secret.len()).any(|window| window == secret)
}

/// The first character that could control a terminal.
pub fn unclean(bytes: &[u8]) -> Option<char> {
    String::from_utf8_lossy(bytes).chars().find(|letter| letter.is_control() && !matches!(letter, '\n' | '\t'))
}

/// Whether this machine records access times, so that the test can see reads.
fn reads_show() -> bool {
    static SHOW: std::sync::OnceLock<bool> = std::sync::OnceLock::new();
    *SHOW.get_or_init(|| {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("x");
        std::fs::write(&file, "x").unwrap();
        untouched(&file);
        let before = read_at(&file);
        std::fs::read(&file).unwrap();
        before != read_at(&file)
    })
}
