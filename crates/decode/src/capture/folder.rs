//! The folder of a capture, held by its descriptor, or the file that it was packed into. Owns how anything in it is
//! opened: below the folder, through no link, regular files only, never waiting for another process. A capture may be
//! hostile, so names from its manifest that lead elsewhere are refused.

use super::pack::Pack;
use crate::frames::Frames;
use crate::{ReadAt, Written};
use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, fstat, openat, statat};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Component, Path};
use std::sync::Arc;
use std::time::SystemTime;

/// Suffix of the names of a folder's streams in [frames](crate::frames).
pub const IN_FRAMES: &str = ".zst";

/// Why a file in a capture is not opened.
#[derive(Copy, Clone, Eq, PartialEq, Debug, thiserror::Error)]
pub enum Refused {
    /// Its name is absolute or leaves the folder with `..`.
    #[error("it lies outside the capture, where nothing is read; give the log itself to `rtscope report`")]
    Outside,
    /// A recorder writes regular files; this is a link, a pipe, a device or a folder.
    #[error("it is {0}, not a file; a capture holds files only")]
    NotAFile(&'static str),
    /// Larger than any file that a recorder writes there.
    #[error("it is larger than the {0} bytes that are read of it")]
    TooLarge(u64),
}

impl From<Refused> for io::Error {
    fn from(refused: Refused) -> io::Error {
        io::Error::other(refused)
    }
}

/// A folder that stays the one that was opened, even if its path later leads elsewhere.
#[derive(Clone, Debug)]
pub struct Folder(Backing);

#[derive(Clone, Debug)]
enum Backing {
    Folder(Arc<OwnedFd>),
    Pack(Arc<Pack>),
}

/// The content of the file `name` with the bytes of `source`. Its name says whether it is in frames.
///
/// # Errors
/// Out of memory.
pub fn content(name: &str, source: impl ReadAt + 'static) -> io::Result<Arc<dyn ReadAt>> {
    Ok(if name.ends_with(IN_FRAMES) { Arc::new(Frames::new(Arc::new(source))?) } else { Arc::new(source) })
}

impl Folder {
    /// The folder at `path`, or the file that one was packed into. The user gave this path, so links in
    /// it are followed.
    ///
    /// # Errors
    /// There is nothing at `path`, it cannot be read, or it is a file that holds no capture.
    pub fn open(path: &Path) -> io::Result<Folder> {
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let found = rustix::fs::open(path, flags, Mode::empty())?;
        if FileType::from_raw_mode(fstat(&found)?.st_mode) == FileType::Directory {
            return Ok(Folder(Backing::Folder(Arc::new(found))));
        }
        regular(&found)?;
        Ok(Folder(Backing::Pack(Arc::new(Pack::open(found.into())?))))
    }

    /// A file of the capture, such as `eventlog/0.eventlog`, as far as it has been written sequentially, as logs
    /// and streams are.
    ///
    /// # Errors
    /// It cannot be opened, or is refused because it is not a regular file.
    pub fn written(&self, name: &str) -> io::Result<Arc<dyn ReadAt>> {
        match &self.0 {
            Backing::Folder(folder) => content(name, Written::new(file(folder, name)?)),
            Backing::Pack(pack) => Ok(Arc::new(pack.content(name)?)),
        }
    }

    /// The whole content of a small file of at most `most` bytes.
    ///
    /// # Errors
    /// As [`Folder::written`]; or the file is larger.
    pub fn read(&self, name: &str, most: u64) -> io::Result<Vec<u8>> {
        let content = self.written(name)?;
        if content.size()? > most {
            return Err(Refused::TooLarge(most).into());
        }
        start_of(&*content, most)
    }

    /// The first bytes of a file, at most `most`.
    ///
    /// # Errors
    /// As [`Folder::written`].
    pub fn start_of(&self, name: &str, most: u64) -> io::Result<Vec<u8>> {
        start_of(&*self.written(name)?, most)
    }

    /// When a file was last modified; `None`: there is no such file, or the time is not known.
    pub fn modified(&self, name: &str) -> Option<SystemTime> {
        match &self.0 {
            Backing::Folder(folder) => metadata(folder, name).ok()?.modified().ok(),
            Backing::Pack(_) => None,
        }
    }

    /// Size of a file in bytes; 0 where there is none.
    pub fn size(&self, name: &str) -> u64 {
        match &self.0 {
            Backing::Folder(folder) => metadata(folder, name).map_or(0, |file| file.len()),
            Backing::Pack(pack) => pack.size(name),
        }
    }

    /// Whether `name` is a regular file.
    pub fn has(&self, name: &str) -> bool {
        match &self.0 {
            Backing::Folder(folder) => metadata(folder, name).is_ok(),
            Backing::Pack(pack) => pack.has(name),
        }
    }

    /// Names and sizes of the regular files in the subfolder `name` (empty: in the folder itself); none where it
    /// cannot be read.
    pub fn files(&self, name: &str) -> Vec<(String, u64)> {
        match &self.0 {
            Backing::Folder(folder) => files(folder, name).unwrap_or_default(),
            Backing::Pack(pack) => pack.files(name),
        }
    }
}

fn start_of(content: &dyn ReadAt, most: u64) -> io::Result<Vec<u8>> {
    // A file that grows meanwhile is read up to its size at this point.
    let mut bytes = vec![0; usize::try_from(content.size()?.min(most)).unwrap_or(0)];
    let count = content.read_full(&mut bytes, 0)?;
    bytes.truncate(count);
    Ok(bytes)
}

/// The regular file `name` below `folder`.
fn file(folder: &OwnedFd, name: &str) -> io::Result<File> {
    // Look first: opening a device may already have an effect.
    regular(&below(folder, name, OFlags::PATH)?)?;
    let file = below(folder, name, OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY)?;
    regular(&file)?;
    Ok(file.into())
}

/// Size and times of a regular file, without opening it.
fn metadata(folder: &OwnedFd, name: &str) -> io::Result<std::fs::Metadata> {
    let file = below(folder, name, OFlags::PATH)?;
    regular(&file)?;
    File::from(file).metadata()
}

fn files(folder: &OwnedFd, name: &str) -> io::Result<Vec<(String, u64)>> {
    let how = OFlags::RDONLY | OFlags::DIRECTORY;
    let folder = if name.is_empty() {
        openat(folder, ".", how | OFlags::CLOEXEC, Mode::empty())?
    } else {
        below(folder, name, how)?
    };
    let sized = |entry: rustix::fs::DirEntry| {
        let stat = statat(&folder, entry.file_name(), AtFlags::SYMLINK_NOFOLLOW).ok()?;
        let regular = FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile;
        let name = entry.file_name().to_str().ok().filter(|_| regular)?;
        Some((name.to_owned(), u64::try_from(stat.st_size).unwrap_or(0)))
    };
    Ok(Dir::read_from(&folder)?.filter_map(|entry| sized(entry.ok()?)).collect())
}

/// Opens component after component, each relative to the one before and none of them a link: like `openat2` with
/// `RESOLVE_BENEATH` and `RESOLVE_NO_SYMLINKS`, but on every kernel.
fn below(folder: &OwnedFd, name: &str, how: OFlags) -> io::Result<OwnedFd> {
    let mut parts = Path::new(name).components().peekable();
    let mut above: Option<OwnedFd> = None;
    while let Some(part) = parts.next() {
        let Component::Normal(part) = part else { return Err(Refused::Outside.into()) };
        let how = if parts.peek().is_some() { OFlags::PATH | OFlags::DIRECTORY } else { how };
        let at: BorrowedFd<'_> = above.as_ref().map_or(folder.as_fd(), AsFd::as_fd);
        above = Some(openat(at, part, how | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty())?);
    }
    above.ok_or_else(|| Refused::Outside.into())
}

fn regular(file: &OwnedFd) -> io::Result<()> {
    let what = match FileType::from_raw_mode(fstat(file)?.st_mode) {
        FileType::RegularFile => return Ok(()),
        FileType::Symlink => "a link",
        FileType::Fifo => "a pipe",
        FileType::Socket => "a socket",
        FileType::Directory => "a folder",
        _ => "a device",
    };
    Err(Refused::NotAFile(what).into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::net::UnixListener;

    #[test]
    fn only_regular_files_below_the_folder_are_opened() {
        let ground = tempfile::tempdir().unwrap();
        let path = ground.path().join("c");
        fs::create_dir_all(path.join("sub")).unwrap();
        fs::write(ground.path().join("secret"), "secret").unwrap();
        fs::write(path.join("sub/a"), "inside").unwrap();
        std::os::unix::fs::symlink("../secret", path.join("link")).unwrap();
        std::os::unix::fs::symlink("..", path.join("up")).unwrap();
        std::os::unix::fs::symlink("sub", path.join("same")).unwrap();
        rustix::fs::mkfifoat(rustix::fs::CWD, path.join("pipe"), Mode::RUSR | Mode::WUSR).unwrap();
        let _socket = UnixListener::bind(path.join("socket")).unwrap();
        let folder = Folder::open(&path).unwrap();
        assert_eq!(folder.read("sub/a", 6).unwrap(), b"inside");
        assert_eq!(folder.read("sub//./a", 6).unwrap(), b"inside");
        assert!(folder.read("sub/a", 5).unwrap_err().to_string().contains("larger"));
        let outside = path.join("sub/a").display().to_string();
        for (name, reason) in [
            ("link", "a link"),
            ("up/secret", "Not a directory"),
            ("same/a", "Not a directory"),
            ("pipe", "a pipe"),
            ("socket", "a socket"),
            ("sub", "a folder"),
            ("../secret", "outside"),
            ("sub/../../secret", "outside"),
            (&outside, "give the log itself"),
            ("", "outside"),
            ("nothing", "No such file"),
        ] {
            let why = folder.read(name, 9).unwrap_err().to_string();
            assert!(why.contains(reason), "{name}: {why}");
            assert!(!folder.has(name) && folder.size(name) == 0 && folder.modified(name).is_none(), "{name}");
        }
        assert_eq!(folder.files("sub"), [("a".to_owned(), 6)]);
        assert!(folder.files("same").is_empty() && folder.files("..").is_empty());
    }

    #[test]
    fn a_folder_stays_the_one_that_was_opened() {
        let ground = tempfile::tempdir().unwrap();
        let (path, moved) = (ground.path().join("c"), ground.path().join("d"));
        fs::create_dir(&path).unwrap();
        fs::write(path.join("a"), "first").unwrap();
        let folder = Folder::open(&path).unwrap();
        fs::rename(&path, moved).unwrap();
        fs::create_dir(&path).unwrap();
        fs::write(path.join("a"), "second").unwrap();
        assert_eq!(folder.read("a", 9).unwrap(), b"first");
    }
}
