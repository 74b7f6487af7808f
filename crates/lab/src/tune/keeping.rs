//! The file in which a study under way is stored. Owns that a study ends if a trial cannot be stored: its
//! continuation would lack that trial.

use rtscope_host::clock;
use rtscope_store::{Store, StoreError};
use rtscope_tune::study::{Outcome, Row};
use std::time::{SystemTime, UNIX_EPOCH};

/// A store, and the error that ended its use.
#[derive(Debug)]
pub struct Keeping {
    store: Store,
    lost: Option<StoreError>,
}

impl Keeping {
    pub fn new(store: Store) -> Keeping {
        Keeping { store, lost: None }
    }

    /// Stores a row, unless an earlier one could not be stored.
    pub fn row(&mut self, row: &Row) {
        if self.lost.is_none() {
            self.lost = self.store.append(row).err();
        }
    }

    /// The end of a study of which a trial could not be stored.
    pub fn stopped(&self) -> Option<Outcome> {
        self.lost.as_ref().map(|error| Outcome::Stopped(format!("a trial could not be kept: {error}")))
    }

    /// All stored rows.
    ///
    /// # Errors
    /// A row could not be stored, or they cannot be read.
    pub fn end(self) -> Result<Vec<Row>, StoreError> {
        self.lost.map_or_else(|| self.store.rows(), Err)
    }
}

/// The time now, in nanoseconds since 1970.
pub fn unix_ns() -> u64 {
    clock::ns_of(SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default())
}
