//! The folder of a capture, held by its descriptor. Owns how anything in it is opened: below the folder, through
//! no link, regular files only, never waiting for another process. Whoever made the capture may be hostile, so
//! names out of its manifest are refused where they lead elsewhere.

use crate::Written;
use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, fstat, openat, statat};
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Component, Path};
use std::sync::Arc;

/// Why something in a capture is not opened.
#[derive(Copy, Clone, Eq, PartialEq, Debug, thiserror::Error)]
pub enum Refused {
    /// Its name is absolute or goes up.
    #[error("it lies outside the capture, where nothing is read; give the log itself to `rtscope report`")]
    Outside,
    /// A recorder writes files; this is a link, a pipe, a device or a folder.
    #[error("it is {0}, not a file; a capture holds files only")]
    NotAFile(&'static str),
    /// Larger than whatever a recorder writes there.
    #[error("it is larger than the {0} bytes that are read of it")]
    TooLarge(u64),
}

impl From<Refused> for io::Error {
    fn from(refused: Refused) -> io::Error {
        io::Error::other(refused)
    }
}

/// A folder that stays the one that was opened, whatever its path leads to later.
#[derive(Clone, Debug)]
pub struct Folder(Arc<OwnedFd>);

impl Folder {
    /// The folder at `path`, which the user gave: links in it are followed.
    ///
    /// # Errors
    /// There is none, or it cannot be read.
    pub fn open(path: &Path) -> io::Result<Folder> {
        let folder = rustix::fs::open(path, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
        Ok(Folder(Arc::new(folder)))
    }

    /// The regular file `name` below it, `eventlog/0.eventlog`.
    ///
    /// # Errors
    /// It cannot be opened, or is refused: no regular file.
    pub fn file(&self, name: &str) -> io::Result<File> {
        // A look first: opening a device may already do something.
        regular(&self.below(name, OFlags::PATH)?)?;
        let file = self.below(name, OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY)?;
        regular(&file)?;
        Ok(file.into())
    }

    /// What is written of a file that was written from its front on, as logs and streams are.
    ///
    /// # Errors
    /// As [`Folder::file`].
    pub fn written(&self, name: &str) -> io::Result<Written> {
        Ok(Written::new(self.file(name)?))
    }

    /// All of a small file, of at most `most` bytes.
    ///
    /// # Errors
    /// As [`Folder::file`]; or it is larger.
    pub fn read(&self, name: &str, most: u64) -> io::Result<Vec<u8>> {
        let file = self.file(name)?;
        let size = file.metadata()?.len();
        if size > most {
            return Err(Refused::TooLarge(most).into());
        }
        let mut bytes = Vec::with_capacity(usize::try_from(size).unwrap_or(0));
        // One that grows meanwhile is taken as it was.
        file.take(size).read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    /// Size and times of a regular file, which is not opened for that.
    ///
    /// # Errors
    /// As [`Folder::file`].
    pub fn metadata(&self, name: &str) -> io::Result<std::fs::Metadata> {
        let file = self.below(name, OFlags::PATH)?;
        regular(&file)?;
        File::from(file).metadata()
    }

    /// Size of a file; 0 where there is none.
    pub fn size(&self, name: &str) -> u64 {
        self.metadata(name).map_or(0, |file| file.len())
    }

    /// Names and sizes of the regular files in the folder `name` below it; none where that cannot be read.
    pub fn files(&self, name: &str) -> Vec<(String, u64)> {
        let listed = || -> io::Result<Vec<(String, u64)>> {
            let folder = self.below(name, OFlags::RDONLY | OFlags::DIRECTORY)?;
            let sized = |entry: rustix::fs::DirEntry| {
                let stat = statat(&folder, entry.file_name(), AtFlags::SYMLINK_NOFOLLOW).ok()?;
                let regular = FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile;
                let name = entry.file_name().to_str().ok().filter(|_| regular)?;
                Some((name.to_owned(), u64::try_from(stat.st_size).unwrap_or(0)))
            };
            Ok(Dir::read_from(&folder)?.filter_map(|entry| sized(entry.ok()?)).collect())
        };
        listed().unwrap_or_default()
    }

    /// Opens component after component, each in the one before and none of them a link: as `openat2` with
    /// `RESOLVE_BENEATH` and `RESOLVE_NO_SYMLINKS`, on every kernel.
    fn below(&self, name: &str, how: OFlags) -> io::Result<OwnedFd> {
        let mut parts = Path::new(name).components().peekable();
        let mut above: Option<OwnedFd> = None;
        while let Some(part) = parts.next() {
            let Component::Normal(part) = part else { return Err(Refused::Outside.into()) };
            let how = if parts.peek().is_some() { OFlags::PATH | OFlags::DIRECTORY } else { how };
            let at: BorrowedFd<'_> = above.as_ref().map_or(self.0.as_fd(), AsFd::as_fd);
            above = Some(openat(at, part, how | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty())?);
        }
        above.ok_or_else(|| Refused::Outside.into())
    }
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
        for (name, says) in [
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
            let why = folder.file(name).unwrap_err().to_string();
            assert!(why.contains(says), "{name}: {why}");
            assert!(folder.metadata(name).is_err() && folder.size(name) == 0, "{name}");
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
