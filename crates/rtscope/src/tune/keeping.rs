//! The file that a study under way is kept in. Owns that a study ends where a trial cannot be
//! kept: what it would go on with is lost otherwise.

use rtscope_host::clock;
use rtscope_store::{Store, StoreError};
use rtscope_tune::study::{Outcome, Row};
use std::time::{SystemTime, UNIX_EPOCH};

/// A store and what became of it.
#[derive(Debug)]
pub struct Keeping {
    store: Store,
    lost: Option<StoreError>,
}

impl Keeping {
    pub fn new(store: Store) -> Keeping {
        Keeping { store, lost: None }
    }

    /// Keeps a row, unless one could not be kept.
    pub fn row(&mut self, row: &Row) {
        if self.lost.is_none() {
            self.lost = self.store.append(row).err();
        }
    }

    /// The end of a study of which a trial could not be kept.
    pub fn stopped(&self) -> Option<Outcome> {
        self.lost.as_ref().map(|error| Outcome::Stopped(format!("a trial could not be kept: {error}")))
    }

    /// All rows that are kept.
    ///
    /// # Errors
    /// One could not be kept, or they cannot be read.
    pub fn end(self) -> Result<Vec<Row>, StoreError> {
        self.lost.map_or_else(|| self.store.rows(), Err)
    }
}

/// The time now, in nanoseconds since 1970.
pub fn unix_ns() -> u64 {
    clock::ns_of(SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default())
}
