//! The capture folder: made once, private, its manifest always whole. Owns the
//! folder's layout on disk and nothing of its contents.

use rtscope_model::manifest::Manifest;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// Why no capture folder could be made.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// Something is there already.
    #[error("{0} exists already and is not empty; remove it or name another folder with -o")]
    Occupied(PathBuf),
    /// It could not be made.
    #[error("the capture folder {path} could not be made: {error}; name another place with -o")]
    Unusable {
        /// Which folder.
        path: PathBuf,
        /// What the system said.
        error: io::Error,
    },
}

const FOLDERS: [&str; 6] = ["eventlog", "rings", "unflushed", "sched", "code", "heap"];

/// A capture folder.
#[derive(Clone, Debug)]
pub struct Store {
    path: PathBuf,
}

impl Store {
    /// Makes the folder (mode 0700) with its sub-folders. An existing folder is
    /// taken only when it is empty.
    pub fn create(path: &Path) -> Result<Store, StoreError> {
        let unusable = |error| StoreError::Unusable { path: path.to_owned(), error };
        match DirBuilder::new().mode(0o700).recursive(false).create(path) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                let empty = fs::read_dir(path).map_err(unusable)?.next().is_none();
                if !empty {
                    return Err(StoreError::Occupied(path.to_owned()));
                }
                fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(0o700)).map_err(unusable)?;
            }
            Err(error) => return Err(unusable(error)),
        }
        let path = fs::canonicalize(path).map_err(unusable)?;
        for folder in FOLDERS {
            DirBuilder::new().mode(0o700).create(path.join(folder)).map_err(unusable)?;
        }
        Ok(Store { path })
    }

    /// Absolute path of the folder.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// A path below it.
    pub fn below(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// Replaces the manifest in one step; `durable` waits for the disk. Returns
    /// the bytes written.
    pub fn write_manifest(&self, manifest: &Manifest, durable: bool) -> io::Result<u64> {
        let text = serde_json::to_vec_pretty(manifest)?;
        let fresh = self.below("manifest.json.new");
        let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&fresh)?;
        let written = file.write_all(&text).and_then(|()| if durable { file.sync_data() } else { Ok(()) });
        if let Err(error) = written {
            let _ = fs::remove_file(&fresh);
            return Err(error);
        }
        fs::rename(&fresh, self.below("manifest.json"))?;
        if durable {
            File::open(&self.path)?.sync_all()?;
        }
        Ok(text.len() as u64)
    }

    /// Bytes that can still be written to its disk.
    pub fn free_bytes(&self) -> Option<u64> {
        let disk = rustix::fs::statvfs(&self.path).ok()?;
        Some(disk.f_bavail.saturating_mul(disk.f_frsize))
    }

    /// Removes the whole folder: nothing was recorded.
    pub fn remove(&self) {
        let _ = fs::remove_dir_all(&self.path);
    }

    /// Removes sub-folders in which nothing was stored.
    pub fn remove_empty_folders(&self) {
        for folder in FOLDERS {
            let _ = fs::remove_dir(self.below(folder));
        }
    }
}

/// Whether an error says that the disk (or a quota on it) is full.
pub fn is_disk_full(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn the_folder_is_private_and_never_taken_from_somebody() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a b.rtscope");
        let store = Store::create(&path).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o700);
        assert!(store.free_bytes().unwrap() > 0);
        assert!(matches!(Store::create(&path), Err(StoreError::Occupied(_))));
        let empty = folder.path().join("empty");
        fs::create_dir(&empty).unwrap();
        assert!(Store::create(&empty).is_ok());
        let message = Store::create(&folder.path().join("no/such")).unwrap_err().to_string();
        assert!(message.contains("-o"), "{message}");
    }
}
