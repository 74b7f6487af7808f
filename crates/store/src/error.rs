//! Why a study cannot be stored or read. Owns the meaning of SQLite's codes here; the caller adds the path.

use rusqlite::ErrorCode;
use thiserror::Error;

/// The reason, without the path.
#[derive(Clone, Eq, PartialEq, Debug, Error)]
pub enum StoreError {
    /// The file does not exist.
    #[error("there is no such file")]
    Missing,
    /// The file already holds a study.
    #[error("it holds a study already")]
    Taken,
    /// The file holds something else.
    #[error("it is no study of rtscope")]
    NotAStudy,
    /// Made by a later version of rtscope.
    #[error("it is of version {0} of the format, this rtscope knows version {known}", known = crate::VERSION)]
    Newer(i64),
    /// Another process has it open.
    #[error("another process has it open")]
    InUse,
    /// It cannot be written.
    #[error("it cannot be written: the file, its folder or the file system is read-only")]
    ReadOnly,
    /// The disk is full.
    #[error("the disk is full; every trial before this one is kept")]
    Full,
    /// Its content is not valid.
    #[error("it is damaged: {0}")]
    Damaged(String),
    /// It is a study of something else.
    #[error("it holds another study: not the same {0}")]
    Differs(&'static str),
    /// Any other error.
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
            // SQLite cannot create a journal next to the file; the folder is needed for nothing else.
            Some(ErrorCode::CannotOpen) => StoreError::Other("it cannot be opened".to_owned()),
            Some(_) => StoreError::Other(error.to_string()),
            // Errors without a SQLite code are values of the wrong type.
            None => StoreError::Damaged(error.to_string()),
        }
    }
}

impl From<serde_json::Error> for StoreError {
    fn from(error: serde_json::Error) -> StoreError {
        StoreError::Damaged(error.to_string())
    }
}
