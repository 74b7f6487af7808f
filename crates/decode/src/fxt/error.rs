//! Errors that make a trace unreadable as a whole, or from some position on.

use std::io;
use thiserror::Error;

/// Why a trace cannot be read. Positions are bytes from its start.
#[derive(Debug, Error)]
#[allow(missing_docs)]
pub enum FxtError {
    #[error("the trace is empty: nothing was written yet, or its writer was killed")]
    Empty,
    #[error("not a Fuchsia trace (its first eight bytes are not the format's magic number)")]
    NotATrace,
    #[error("the trace was written on a big-endian machine, which this version does not read")]
    BigEndian,
    #[error("the trace is damaged at byte {position}: a record without a size; nothing after it can be found")]
    Stuck { position: u64 },
    #[error("cannot read the trace at byte {position}: {source}")]
    Io { position: u64, source: io::Error },
}
