//! The capture folder: made once, private, its manifest always whole. Owns the
//! folder's layout on disk and the owner it must have; nothing of its contents.
//! Refuses a folder that another user owns or can write to: a recorder that runs
//! as root would write where that user decides.

use crate::capture::folder::{Folder, own_user};
use rtscope_model::manifest::Manifest;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

/// Why no capture folder could be made.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    #[error("{0} exists already and is not empty; remove it or name another folder with -o")]
    Occupied(PathBuf),
    #[error("the capture folder {0} could not be made: {1}; name another place with -o")]
    Unusable(PathBuf, io::Error),
    #[error(
        "{0} belongs to {1}, who could change what is recorded into it and where it is written; name a folder \
         that does not exist yet with -o"
    )]
    Foreign(PathBuf, String),
    #[error(
        "{0} can be written to by other users (mode {1:04o}); run `chmod go-w` on it, name a folder that does \
         not exist yet with -o, or let --force make it private"
    )]
    Shared(PathBuf, u32),
}

const FOLDERS: [&str; 6] = ["eventlog", "rings", "unflushed", "sched", "code", "heap"];
const MANIFEST: &str = "manifest.json";
/// Mode bits that let other users write.
const OTHERS_WRITE: u32 = 0o022;
/// Depth of nested folders: `rings/live`.
const DEPTH: u32 = 3;

#[derive(Clone, Debug)]
pub struct Store {
    /// The parent folder and the name, if this store made the folder; `None` if it already existed.
    made_in: Option<(Folder, OsString)>,
    folder: Folder,
}

impl Store {
    /// Makes the folder (mode 0700) with its sub-folders. An existing folder is accepted
    /// only if it is empty and belongs to this user; one that others may write to, only
    /// with `force`.
    pub fn create(path: &Path, force: bool) -> Result<Store, StoreError> {
        let unusable = |error| StoreError::Unusable(path.to_owned(), error);
        if let Some(made) = Store::create_new(path)? {
            return Ok(made);
        }
        let folder = match (parent(path), path.file_name()) {
            (parent, Some(name)) => {
                parent.and_then(|parent| parent.folder(name)).map_err(|error| unusable(no_folder(error)))?
            }
            (_, None) => Folder::open(path).map_err(unusable)?,
        };
        Store::take(path, folder, force)?.laid_out(path)
    }

    /// Makes the folder if its name is free; `None`: the name exists.
    pub fn create_new(path: &Path) -> Result<Option<Store>, StoreError> {
        let unusable = |error| StoreError::Unusable(path.to_owned(), error);
        let Some(name) = path.file_name() else { return Ok(None) };
        let parent = parent(path).map_err(unusable)?;
        match parent.make_folder(name, 0o700) {
            Ok(folder) => Store { made_in: Some((parent, name.to_owned())), folder }.laid_out(path).map(Some),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(None),
            Err(error) => Err(unusable(error)),
        }
    }

    fn laid_out(self, path: &Path) -> Result<Store, StoreError> {
        for folder in FOLDERS {
            let made = self.folder.make_folder(folder, 0o700);
            made.map_err(|error| StoreError::Unusable(path.to_owned(), error))?;
        }
        Ok(self)
    }

    /// Uses an existing folder.
    fn take(path: &Path, folder: Folder, force: bool) -> Result<Store, StoreError> {
        let unusable = |error| StoreError::Unusable(path.to_owned(), error);
        let found = folder.metadata().map_err(unusable)?;
        if found.st_uid != own_user() {
            return Err(StoreError::Foreign(path.to_owned(), user_name(found.st_uid)));
        }
        if !folder.names().map_err(unusable)?.is_empty() {
            return Err(StoreError::Occupied(path.to_owned()));
        }
        let mode = found.st_mode & 0o7777;
        if mode & OTHERS_WRITE != 0 && !force {
            return Err(StoreError::Shared(path.to_owned(), mode));
        }
        folder.set_mode(0o700).map_err(unusable)?;
        // Entries that were made before the mode changed.
        if !folder.names().map_err(unusable)?.is_empty() {
            return Err(StoreError::Occupied(path.to_owned()));
        }
        Ok(Store { made_in: None, folder })
    }

    pub fn folder(&self) -> &Folder {
        &self.folder
    }

    /// Absolute path of the folder when it was made.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Replaces the manifest in one step; `durable` waits for the disk. Returns
    /// the bytes written.
    pub fn write_manifest(&self, manifest: &Manifest, durable: bool) -> io::Result<u64> {
        let text = serde_json::to_vec_pretty(manifest)?;
        self.folder.replace(MANIFEST, &text, durable)?;
        Ok(text.len() as u64)
    }

    /// Removes the contents, and the folder if it was made here: nothing was recorded.
    pub fn remove(&self) {
        self.folder.clear(DEPTH);
        if let Some((parent, name)) = &self.made_in {
            let _ = parent.remove_folder(name);
        }
    }

    /// Removes sub-folders in which nothing was stored.
    pub fn remove_empty_folders(&self) {
        for folder in FOLDERS {
            let _ = self.folder.remove_folder(folder);
        }
    }
}

/// The parent folder of `path`.
fn parent(path: &Path) -> io::Result<Folder> {
    Folder::reach(path.parent().filter(|parent| *parent != Path::new("")).unwrap_or(Path::new(".")))
}

/// The error for a name that does not lead to a folder.
fn no_folder(error: io::Error) -> io::Error {
    match error.raw_os_error() {
        Some(libc::ELOOP | libc::ENOTDIR) => io::Error::new(error.kind(), "something that is no folder has that name"),
        _ => error,
    }
}

/// A user by name and number.
fn user_name(user: u32) -> String {
    let table = std::fs::read_to_string("/etc/passwd").unwrap_or_default();
    let named = table.lines().find_map(|line| {
        let mut fields = line.split(':');
        let name = fields.next()?;
        (fields.nth(1)?.parse() == Ok(user)).then(|| name.to_owned())
    });
    named.map_or_else(|| format!("user {user}"), |name| format!("{name} (user {user})"))
}

/// Whether an error says that the disk (or a quota on it) is full.
pub fn is_disk_full(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, chown, symlink};

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o7777
    }

    #[test]
    fn the_folder_is_private_and_never_taken_from_another_user() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a b.rtscope");
        let store = Store::create(&path, false).unwrap();
        assert_eq!(mode(&path), 0o700);
        assert!(store.folder().free_bytes().unwrap() > 0);
        assert!(matches!(Store::create(&path, true), Err(StoreError::Occupied(_))));
        store.remove();
        assert!(!path.exists());
        let empty = folder.path().join("empty");
        fs::create_dir(&empty).unwrap();
        Store::create(&empty, false).unwrap().remove();
        assert!(empty.exists() && mode(&empty) == 0o700);
        let message = Store::create(&folder.path().join("no/such"), false).unwrap_err().to_string();
        assert!(message.contains("-o"), "{message}");
    }

    #[test]
    fn a_folder_that_others_can_write_to_is_taken_by_force_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("shared");
        fs::create_dir(&path).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o1777)).unwrap();
        let message = Store::create(&path, false).unwrap_err().to_string();
        assert!(message.contains("mode 1777") && message.contains("--force"), "{message}");
        assert_eq!((mode(&path), fs::read_dir(&path).unwrap().count()), (0o1777, 0));
        Store::create(&path, true).unwrap();
        assert_eq!(mode(&path), 0o700);
    }

    #[test]
    fn a_link_to_a_folder_is_none() {
        let folder = tempfile::tempdir().unwrap();
        let (path, empty) = (folder.path().join("link"), folder.path().join("empty"));
        fs::create_dir(&empty).unwrap();
        symlink(&empty, &path).unwrap();
        let message = Store::create(&path, true).unwrap_err().to_string();
        assert!(message.contains("no folder has that name"), "{message}");
        assert_eq!(fs::read_dir(&empty).unwrap().count(), 0);
    }

    #[test]
    fn root_a_folder_of_another_user_is_never_taken() {
        if !rustix::process::geteuid().is_root() {
            return eprintln!("not run: needs root, to give a folder away");
        }
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("bob");
        fs::create_dir(&path).unwrap();
        chown(&path, Some(65534), None).unwrap();
        let before = mode(&path);
        for force in [false, true] {
            let message = Store::create(&path, force).unwrap_err().to_string();
            assert!(message.contains("(user 65534)") && message.contains("-o"), "{message}");
        }
        assert_eq!((mode(&path), fs::read_dir(&path).unwrap().count()), (before, 0));
        // Its owner moves the capture in it: writes follow the capture.
        let store = Store::create(&path.join("c"), false).unwrap();
        fs::rename(path.join("c"), path.join("moved")).unwrap();
        fs::write(folder.path().join("secret"), "root's").unwrap();
        fs::create_dir(path.join("c")).unwrap();
        for name in ["manifest.json", "manifest.json.new"] {
            symlink(folder.path().join("secret"), path.join("c").join(name)).unwrap();
        }
        store.write_manifest(&rtscope_decode::capture::empty_manifest(), true).unwrap();
        assert_eq!(fs::read(folder.path().join("secret")).unwrap(), b"root's");
        assert!(fs::read(path.join("moved/manifest.json")).unwrap().starts_with(b"{"));
        assert_eq!(mode(&path.join("moved/manifest.json")), 0o600);
        store.remove();
        assert!(path.join("c/manifest.json").is_symlink());
    }
}
