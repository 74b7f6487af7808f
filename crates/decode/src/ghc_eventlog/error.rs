//! Errors that make an eventlog unreadable as a whole. Damage inside the data section is not an error: it becomes a
//! [`rtscope_model::Loss`] and reading continues.

use std::io;
use thiserror::Error;

/// Why a log cannot be opened. Positions are bytes from the start of the log.
#[derive(Debug, Error)]
pub enum EventlogError {
    #[error(
        "the log is empty: the program has not started, could not write, or its runtime cannot log; \
         check that it was started with +RTS -l (up to GHC 9.2 also linked with -eventlog)"
    )]
    Empty,
    #[error(
        "not a GHC eventlog, nor anything else that rtscope reads; \
         give a capture of `rtscope record`, or a file that a GHC program wrote with +RTS -l"
    )]
    NotAnEventlog,
    #[error(
        "the log ends at byte {position}, inside its header: the program died while starting, or the copy is incomplete; \
         copy it again or record again"
    )]
    HeaderCut { position: u64 },
    #[error(
        "the log's header is damaged at byte {position} ({expected} belongs there): without it no event can be sized; \
         copy the log again from where it was written, or record again"
    )]
    HeaderDamaged { position: u64, expected: &'static str },
    #[error(
        "the log ends with its header at byte {position}, without one event: the runtime writes its buffers when they are \
         full or at a normal exit, so the program was killed early or still runs; wait for its end, end it with SIGINT, \
         or record it with `rtscope record`, which saves the buffers of a killed program"
    )]
    HeaderOnly { position: u64 },
    #[error("cannot read the log at byte {position}: {source}")]
    Io { position: u64, source: io::Error },
}
