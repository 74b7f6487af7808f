//! What was read of programs' files, so that one that is started again and again is read once.
//! Owns that memory and its bound.

use super::Refused;
use crate::binary::{self, Inspected};
use std::collections::HashMap;
use std::fs::File;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Files that are remembered.
const PROGRAMS_MAX: usize = 64;

/// See the module.
#[derive(Debug, Default)]
pub struct Programs {
    /// By device, inode, size and time of change.
    known: HashMap<(u64, u64, u64, i64, i64), Inspected>,
}

impl Programs {
    /// [`binary::inspect_opened`].
    pub fn inspect(
        &mut self,
        file: Result<File, Refused>,
        path: &Path,
        runtime: impl FnOnce(&Path) -> Option<File>,
    ) -> Inspected {
        let found = file.as_ref().ok().and_then(|file| file.metadata().ok());
        let Some(found) = found else { return binary::inspect_opened(file, path, runtime) };
        let key = (found.dev(), found.ino(), found.size(), found.mtime(), found.mtime_nsec());
        if self.known.len() >= PROGRAMS_MAX {
            self.known.clear();
        }
        self.known.entry(key).or_insert_with(|| binary::inspect_opened(file, path, runtime)).clone()
    }
}
