//! Cache of inspected program files: a recording asks several times what one program accepts, and a program may be
//! restarted again and again. Owns that process-wide cache and its bound.

use super::inspected::Inspected;
use std::collections::BTreeMap;
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Files kept in the cache.
const PROGRAMS_MAX: usize = 64;

/// Device, inode, size and time of status change (`ctime`, which no program can set).
type Identity = (u64, u64, u64, i64, i64);

static KNOWN: Mutex<BTreeMap<Identity, Inspected>> = Mutex::new(BTreeMap::new());

fn all() -> MutexGuard<'static, BTreeMap<Identity, Inspected>> {
    KNOWN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The facts of the file `found`, from the cache or from `read`. Failed reads are not cached.
pub(super) fn known(found: Option<Metadata>, read: impl FnOnce() -> Inspected) -> Inspected {
    let Some(found) = found else { return read() };
    let identity = (found.dev(), found.ino(), found.size(), found.ctime(), found.ctime_nsec());
    if let Some(known) = all().get(&identity) {
        return known.clone();
    }
    // Without the lock: another user's file can take seconds to read, and other threads must not wait for it.
    let inspected = read();
    if inspected.binary.note.is_none() {
        let mut all = all();
        if all.len() >= PROGRAMS_MAX {
            all.clear();
        }
        all.insert(identity, inspected.clone());
    }
    inspected
}
