//! What was read of programs' files, so that one that is started again and again is read once.
//! Owns that memory and its bound.

use super::inspected::Inspected;
use std::collections::HashMap;
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;

/// Files that are remembered.
const PROGRAMS_MAX: usize = 64;

/// See the module.
#[derive(Debug, Default)]
pub struct Programs {
    /// By device, inode, size and time of change.
    known: HashMap<(u64, u64, u64, i64, i64), Inspected>,
}

impl Programs {
    /// What the file `found` says, which `read` finds out.
    pub(super) fn known(&mut self, found: Option<Metadata>, read: impl FnOnce() -> Inspected) -> Inspected {
        let Some(found) = found else { return read() };
        let key = (found.dev(), found.ino(), found.size(), found.mtime(), found.mtime_nsec());
        if self.known.len() >= PROGRAMS_MAX {
            self.known.clear();
        }
        self.known.entry(key).or_insert_with(read).clone()
    }
}
