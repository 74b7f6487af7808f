//! Kernel scheduling records → events.

use serde::{Deserialize, Serialize};

/// One thread in `sched/threads.json`.
#[derive(Clone, Eq, PartialEq, Debug, Serialize, Deserialize)]
pub struct ThreadName {
    /// The thread, in the recorder's pid namespace.
    pub tid: u32,
    /// Its process.
    pub pid: u32,
    /// Its name.
    pub comm: String,
}
