//! Keeps the data that a page is drawn from, so that a recording is read once: in the user's cache, else in a folder
//! that is removed with the process. Owns these folders and the key that says what they were made from; a folder
//! whose key differs in anything is made again. Refuses to write into a recording, which may belong to another user,
//! and into a cache that another user could control.

use super::api::View;
use super::args::ViewArgs;
use super::pauses::{Book, BookWriter};
use super::session::{SCHEMA, Session};
use rtscope_levels::Reader;
use std::fs::{self, File};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::UNIX_EPOCH;

/// Version of the drawing: grows when the same recording is drawn differently.
const DRAWN: u32 = 6;
/// Maximum files of a capture that its key covers; a capture with more is drawn each time.
const FILES_MAX: usize = 10_000;
/// Number of recordings whose levels are kept in the cache.
const KEPT: usize = 16;
/// Their place in the cache.
const WITHIN: [&str; 2] = ["rtscope", "levels"];

const LEVELS: &str = "levels.bin";
const LINES: &str = "pauses.jsonl";
const INDEX: &str = "pauses.index";
const REPORT: &str = "report.json";
const KEY: &str = "key";

/// The folder for one recording, and the key of what it has to be made from.
#[derive(Clone, Eq, PartialEq, Debug)]
pub struct Keep {
    cache: PathBuf,
    folder: PathBuf,
    key: String,
}

impl Keep {
    /// Where the data made from this recording may be kept; `None`: nowhere. `var` reads the environment.
    pub fn of(args: &ViewArgs, var: &dyn Fn(&str) -> Option<PathBuf>) -> Option<Keep> {
        let file = args.recording.path().ok()?.canonicalize().ok()?;
        let capture = file.is_dir();
        let mut key = format!("{} {SCHEMA} {DRAWN}\n", env!("CARGO_PKG_VERSION"));
        key += &format!("{} {:?} {:?}\n", file.display(), args.log, args.version.wrote);
        if capture {
            prints(&file, &file, &mut key, &mut 0)?;
        } else {
            key += &print(&file)?;
        }
        if let Some(requests) = &args.requests {
            key += &format!("{} {}", requests.display(), print(requests)?);
        }
        let cache = var("XDG_CACHE_HOME").filter(|path| path.is_absolute());
        let cache = cache.or_else(|| var("HOME").map(|home| home.join(".cache")))?;
        let mut hasher = DefaultHasher::new();
        file.hash(&mut hasher);
        let folder = WITHIN.iter().fold(cache.clone(), |path, name| path.join(name));
        Some(Keep { cache, folder: folder.join(format!("{:016x}", hasher.finish())), key })
    }

    /// Checks that no other user can change what is kept.
    ///
    /// # Errors
    /// Another user could change it, or the folder cannot be made: the reason in words.
    pub fn is_safe(&self) -> Result<(), String> {
        make_safe(&self.cache)
    }

    /// The data that is kept, if it was made from exactly this recording and can be read.
    pub fn load(&self) -> Option<View> {
        self.is_safe().ok()?;
        let key = fs::read_to_string(self.folder.join(KEY)).ok()?;
        (key == self.key).then(|| load(&self.folder).ok()).flatten()
    }
}

/// Files that are being written.
pub struct Making {
    /// Where they are moved in the end.
    to: Option<Keep>,
    folder: tempfile::TempDir,
}

impl Making {
    /// Begins in a folder next to the one of `keep`, else in one for temporary files.
    ///
    /// # Errors
    /// There is no place to write to.
    pub fn begin(keep: Option<Keep>) -> io::Result<Making> {
        let next_to_cache = |keep: &Keep| {
            let parent = keep.folder.parent()?;
            keep.is_safe().ok()?;
            tempfile::Builder::new().prefix(".levels-").tempdir_in(parent).ok()
        };
        match keep.as_ref().and_then(next_to_cache) {
            Some(folder) => Ok(Making { to: keep, folder }),
            None => Ok(Making { to: None, folder: tempfile::tempdir()? }),
        }
    }

    fn file(&self, name: &str) -> io::Result<File> {
        File::options().read(true).write(true).create_new(true).open(self.folder.path().join(name))
    }

    /// The file for levels of detail. Errors: it cannot be made, or was asked for before.
    pub fn levels(&self) -> io::Result<File> {
        self.file(LEVELS)
    }

    /// The files for pauses. Errors: as for [`Making::levels`].
    pub fn book(&self) -> io::Result<BookWriter> {
        Ok(BookWriter::new(self.file(LINES)?, self.file(INDEX)?))
    }

    /// Ends writing and replaces what was kept before. `report` is what `report --json` prints.
    ///
    /// # Errors
    /// What was written cannot be read again.
    pub fn finish(self, report: &[u8]) -> io::Result<View> {
        fs::write(self.folder.path().join(REPORT), report)?;
        let kept = self.to.and_then(|keep| {
            fs::write(self.folder.path().join(KEY), &keep.key).ok()?;
            if keep.folder.exists() {
                fs::remove_dir_all(&keep.folder).ok()?;
            }
            fs::rename(self.folder.path(), &keep.folder).ok()?;
            forget_old(&keep.folder);
            Some(keep.folder)
        });
        match kept {
            Some(folder) => load(&folder),
            // Open files stay readable when their folder is removed.
            None => load(self.folder.path()),
        }
    }
}

fn load(folder: &Path) -> io::Result<View> {
    let open = |name: &str| File::open(folder.join(name));
    let file = open(LEVELS)?;
    let length = file.metadata()?.len();
    let levels = Reader::open(Arc::new(file), length).map_err(io::Error::other)?;
    let session: Session = serde_json::from_slice(levels.meta())?;
    let book = Book::open(open(LINES)?, open(INDEX)?)?;
    Ok(View::new(session, fs::read(folder.join(REPORT))?, levels, book))
}

/// Size and modification time of a file.
fn print(file: &Path) -> Option<String> {
    let metadata = fs::symlink_metadata(file).ok()?;
    let changed = metadata.modified().ok()?.duration_since(UNIX_EPOCH).ok()?;
    Some(format!("{} {}\n", metadata.len(), changed.as_nanos()))
}

/// Adds size and modification time of all files below `folder`.
fn prints(root: &Path, folder: &Path, key: &mut String, count: &mut usize) -> Option<()> {
    let mut entries: Vec<PathBuf> = fs::read_dir(folder).ok()?.flatten().map(|entry| entry.path()).collect();
    entries.sort();
    for entry in entries {
        let name = entry.strip_prefix(root).ok()?;
        *count += 1;
        if *count > FILES_MAX {
            return None;
        }
        if fs::symlink_metadata(&entry).ok()?.is_dir() {
            prints(root, &entry, key, count)?;
        } else {
            *key += &format!("{} {}", name.display(), print(&entry).unwrap_or_default());
        }
    }
    Some(())
}

/// Ensures that what is written below `cache` stays there: every folder on the path belongs to this user or root, and
/// other users cannot rename what is in it; the cache and the folders below it belong to this user, and are no links.
fn make_safe(cache: &Path) -> Result<(), String> {
    let own = rustix::process::geteuid().as_raw();
    let levels = WITHIN.iter().fold(cache.to_owned(), |path, name| path.join(name));
    let mut way: Vec<&Path> = levels.ancestors().collect();
    way.reverse();
    for path in way {
        let cannot = |why: &dyn std::fmt::Display| format!("{}: {why}", path.display());
        let seen = match fs::symlink_metadata(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                fs::DirBuilder::new().mode(0o700).create(path).and_then(|()| fs::symlink_metadata(path))
            }
            seen => seen,
        };
        let seen = seen.map_err(|error| cannot(&error))?;
        let (written, sticky) = (seen.mode() & 0o022 != 0, seen.mode() & 0o1000 != 0);
        let safe = if path.starts_with(cache) {
            seen.is_dir() && seen.uid() == own && !written
        } else {
            (seen.uid() == own || seen.uid() == 0) && (seen.is_symlink() || !written || sticky)
        };
        if !safe {
            return Err(cannot(&"other users can change it, or it is a link"));
        }
        if path != cache && path.starts_with(cache) && seen.mode() & 0o077 != 0 {
            fs::set_permissions(path, fs::Permissions::from_mode(0o700)).map_err(|error| cannot(&error))?;
        }
    }
    Ok(())
}

/// Removes all levels from the cache but the newest.
fn forget_old(newest: &Path) {
    let Some(cache) = newest.parent() else { return };
    let Ok(entries) = fs::read_dir(cache) else { return };
    let changed = |path: &PathBuf| fs::metadata(path).and_then(|metadata| metadata.modified()).ok();
    let mut folders: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).filter(|path| path != newest).collect();
    folders.sort_by_key(|path| std::cmp::Reverse(changed(path)));
    for old in folders.iter().skip(KEPT - 1) {
        // Another process may have been faster.
        let _ = fs::remove_dir_all(old);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rtscope_levels::{Span, Writer};
    use std::io::Write;

    fn args(file: &Path) -> ViewArgs {
        let recording = file.to_path_buf().into();
        ViewArgs { recording, port: 0, no_open: true, log: None, version: Default::default(), requests: None }
    }

    fn keep(file: &Path, cache: &Path) -> Option<Keep> {
        Keep::of(&args(file), &|name| (name == "XDG_CACHE_HOME").then(|| cache.to_path_buf()))
    }

    fn make(keep: Option<Keep>, title: &str) -> View {
        let making = Making::begin(keep).unwrap();
        let mut writer = Writer::new(making.levels().unwrap()).unwrap();
        writer.spans(3, Span { from: 0, to: 9, kind: 1, detail: 0 }).unwrap();
        let session = Session { title: title.into(), ..Session::default() };
        writer.finish(&serde_json::to_vec(&session).unwrap()).unwrap().flush().unwrap();
        making.book().unwrap().finish().unwrap();
        making.finish(b"{}").unwrap()
    }

    #[test]
    fn what_was_made_is_found_until_the_log_changes() {
        let folder = tempfile::tempdir().unwrap();
        let (log, cache) = (folder.path().join("a.eventlog"), folder.path().join("cache"));
        fs::write(&log, "one").unwrap();
        assert!(keep(&log, &cache).unwrap().load().is_none());
        assert_eq!(make(keep(&log, &cache), "first").session().title, "first");
        assert_eq!(keep(&log, &cache).unwrap().load().unwrap().session().title, "first");
        let other = Keep::of(&ViewArgs { log: Some(2), ..args(&log) }, &|_| Some(cache.clone())).unwrap();
        assert!(other.load().is_none(), "another log of it is another picture");
        fs::write(&log, "longer").unwrap();
        assert!(keep(&log, &cache).unwrap().load().is_none());
        make(keep(&log, &cache), "second");
        assert_eq!(keep(&log, &cache).unwrap().load().unwrap().session().title, "second");
        assert_eq!(fs::read_dir(cache.join("rtscope/levels")).unwrap().count(), 1, "nothing half made is left");
    }

    #[test]
    fn nothing_is_written_into_a_capture() {
        let ground = tempfile::tempdir().unwrap();
        let (capture, cache) = (ground.path().join("c"), ground.path().join("cache"));
        fs::create_dir_all(capture.join("eventlog")).unwrap();
        fs::write(capture.join("manifest.json"), "{}").unwrap();
        fs::write(capture.join("eventlog/0.eventlog"), "log").unwrap();
        let here = || keep(&capture, &cache).unwrap();
        make(Some(here()), "kept");
        let mut there: Vec<_> = fs::read_dir(&capture).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        there.sort();
        assert_eq!(there, ["eventlog", "manifest.json"]);
        assert_eq!(here().load().unwrap().session().title, "kept");
        // A capture that is being written differs at each look.
        fs::write(capture.join("eventlog/0.eventlog"), "log and more").unwrap();
        assert!(here().load().is_none());
    }

    #[test]
    fn a_cache_that_others_could_steer_is_left_alone() {
        let ground = tempfile::tempdir().unwrap();
        let at = |name: &str| ground.path().join(name);
        let mode = |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
        for name in ["open/cache", "wide", "real", "linked/rtscope"] {
            fs::create_dir_all(at(name)).unwrap();
        }
        mode(&at("open"), 0o777);
        mode(&at("wide"), 0o777);
        std::os::unix::fs::symlink(at("real"), at("link")).unwrap();
        std::os::unix::fs::symlink(at("real"), at("linked/rtscope/levels")).unwrap();
        let log = at("a.eventlog");
        fs::write(&log, "one").unwrap();
        for name in ["open/cache", "wide", "link", "linked"] {
            let here = || keep(&log, &at(name)).unwrap();
            assert!(here().is_safe().unwrap_err().contains("other users"), "{name}");
            assert_eq!(make(Some(here()), "loose").session().title, "loose");
            assert!(here().load().is_none(), "{name}");
        }
        assert_eq!(fs::read_dir(at("real")).unwrap().count(), 0);
        // An existing folder is closed to other users.
        fs::create_dir_all(at("old/rtscope/levels")).unwrap();
        mode(&at("old/rtscope/levels"), 0o755);
        make(keep(&log, &at("old")), "kept");
        for name in ["old/rtscope", "old/rtscope/levels"] {
            assert_eq!(fs::metadata(at(name)).unwrap().mode() & 0o777, 0o700, "{name}");
        }
        make(keep(&log, &at("new/er")), "kept");
        assert_eq!(fs::metadata(at("new/er/rtscope/levels")).unwrap().mode() & 0o777, 0o700);
    }

    /// Another user's cache, as `sudo` with that user's HOME has it, and that user's link to a folder of root.
    #[test]
    fn root_another_users_cache_is_left_alone() {
        if !rustix::process::geteuid().is_root() {
            return;
        }
        let ground = tempfile::tempdir().unwrap();
        let (home, secret) = (ground.path().join("home"), ground.path().join("secret"));
        [&home, &secret].into_iter().for_each(|folder| fs::create_dir(folder).unwrap());
        std::os::unix::fs::symlink(&secret, home.join("link")).unwrap();
        std::os::unix::fs::chown(&home, Some(65_534), None).unwrap();
        let log = ground.path().join("a.eventlog");
        fs::write(&log, "one").unwrap();
        for name in ["cache", "link"] {
            make(keep(&log, &home.join(name)), "loose");
        }
        assert_eq!(fs::read_dir(&home).unwrap().count(), 1, "only the link");
        assert_eq!(fs::read_dir(&secret).unwrap().count(), 0);
    }

    #[test]
    fn without_a_place_it_is_made_all_the_same() {
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("a.eventlog");
        fs::write(&log, "one").unwrap();
        assert_eq!(Keep::of(&args(&log), &|_| None), None);
        assert_eq!(Keep::of(&args(Path::new("-")), &|_| Some("/tmp".into())), None);
        assert_eq!(make(None, "loose").session().title, "loose");
        let file_in_the_way = keep(&log, &log).unwrap();
        assert_eq!(make(Some(file_in_the_way), "loose").session().title, "loose");
    }

    #[test]
    fn damaged_files_are_made_again() {
        let folder = tempfile::tempdir().unwrap();
        let (log, cache) = (folder.path().join("a.eventlog"), folder.path().join("cache"));
        fs::write(&log, "one").unwrap();
        let here = || keep(&log, &cache).unwrap();
        for name in [LEVELS, REPORT, INDEX, KEY] {
            make(Some(here()), "whole");
            let path = here().folder.join(name);
            if name == LEVELS {
                fs::write(path, "damage").unwrap()
            } else {
                fs::remove_file(path).unwrap()
            }
            assert!(here().load().is_none(), "{name}");
        }
    }

    #[test]
    fn old_levels_of_logs_are_forgotten() {
        let folder = tempfile::tempdir().unwrap();
        let cache = folder.path().join("cache");
        for number in 0..KEPT + 5 {
            let log = folder.path().join(format!("{number}.eventlog"));
            fs::write(&log, "log").unwrap();
            make(keep(&log, &cache), "one");
        }
        assert_eq!(fs::read_dir(cache.join("rtscope/levels")).unwrap().count(), KEPT);
    }
}
