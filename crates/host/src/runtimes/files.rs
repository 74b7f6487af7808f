//! What shows a runtime in a file of a program. Owns what the recorder asks of each runtime about
//! files; refuses to know one.

use crate::binary::{FileSays, Inspected};
use crate::symbols::names::Names;
use rtscope_model::runtime::RuntimeInfo;
use std::fmt;
use std::fs::File;
use std::path::PathBuf;

/// A runtime, as far as files tell it.
pub trait RuntimeFiles: Names + fmt::Debug + Sync {
    fn info(&self) -> &'static RuntimeInfo;

    /// Symbols whose addresses it wants to know, without what compilers add behind a dot: words with a space between.
    fn wanted(&self) -> &'static str;

    /// Whether it is linked into a file; fills what the file says of it.
    fn detect(&self, file: &FileSays<'_, '_>, found: &mut Inspected) -> bool;

    /// The file of the runtime that runs a program of its bytecode.
    fn interpreter(&self, _program: &File) -> Option<PathBuf> {
        None
    }

    /// The version that such a file names.
    fn interpreter_version(&self, _interpreter: File) -> Option<String> {
        None
    }
}
