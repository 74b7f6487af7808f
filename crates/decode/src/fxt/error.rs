//! What makes a trace unreadable as a whole, or from a place on.

use std::io;
use thiserror::Error;

/// Why a trace cannot be read. Positions are bytes from its start.
#[derive(Debug, Error)]
pub enum FxtError {
    /// No bytes at all.
    #[error("the trace is empty: nothing was written yet, or its writer was killed")]
    Empty,
    /// The first bytes are not the format's.
    #[error("not a Fuchsia trace (its first eight bytes are not the format's magic number)")]
    NotATrace,
    /// Written by a machine of the other byte order.
    #[error("the trace was written on a big-endian machine, which this version does not read")]
    BigEndian,
    /// A record of no size: there is no telling where the next one begins.
    #[error("the trace is damaged at byte {position}: a record without a size, behind which nothing can be found")]
    Stuck {
        /// Where.
        position: u64,
    },
    /// The operating system refused.
    #[error("cannot read the trace at byte {position}: {source}")]
    Io {
        /// Where.
        position: u64,
        /// Why.
        source: io::Error,
    },
}
