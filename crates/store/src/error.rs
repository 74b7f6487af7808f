//! Why a study cannot be kept or read. Owns what SQLite's codes mean here; the path is the
//! caller's to say.

use rusqlite::ErrorCode;
use thiserror::Error;

/// Why not, without the path.
#[derive(Clone, Eq, PartialEq, Debug, Error)]
pub enum StoreError {
    /// Nothing is there.
    #[error("there is no such file")]
    Missing,
    /// A study is there already.
    #[error("it holds a study already")]
    Taken,
    /// Something else is there.
    #[error("it is no study of rtscope")]
    NotAStudy,
    /// Made by a later rtscope.
    #[error("it is of version {0} of the format, this rtscope knows version {known}", known = crate::VERSION)]
    Newer(i64),
    /// Another process writes it.
    #[error("another process has it open")]
    InUse,
    /// It may not be written.
    #[error("it cannot be written: the file, its folder or the file system is read-only")]
    ReadOnly,
    /// No room.
    #[error("the disk is full; every trial before this one is kept")]
    Full,
    /// Read, but not as it was written.
    #[error("it is damaged: {0}")]
    Damaged(String),
    /// A study of something else.
    #[error("it holds another study: not the same {0}")]
    Differs(&'static str),
    /// Anything else.
    #[error("{0}")]
    Other(String),
}

impl From<rusqlite::Error> for StoreError {
    fn from(error: rusqlite::Error) -> StoreError {
        match error.sqlite_error_code() {
            Some(ErrorCode::NotADatabase) => StoreError::NotAStudy,
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => StoreError::InUse,
            Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied) => StoreError::ReadOnly,
            Some(ErrorCode::DiskFull) => StoreError::Full,
            Some(ErrorCode::DatabaseCorrupt) => StoreError::Damaged(error.to_string()),
            // A journal beside it cannot be made: all that is needed of a folder.
            Some(ErrorCode::CannotOpen) => StoreError::Other("it cannot be opened".to_owned()),
            Some(_) => StoreError::Other(error.to_string()),
            // What SQLite has no code for is a value that is not what it should be.
            None => StoreError::Damaged(error.to_string()),
        }
    }
}

impl From<serde_json::Error> for StoreError {
    fn from(error: serde_json::Error) -> StoreError {
        StoreError::Damaged(error.to_string())
    }
}
