//! How a program's file shows its runtime. Owns what the recorder asks each runtime about
//! files; refuses to know one.

use crate::binary::{FileContents, Inspected};
use crate::symbols::names::Names;
use rtscope_model::runtime::RuntimeInfo;
use std::fmt;
use std::fs::File;
use std::path::PathBuf;

/// A runtime, as far as files show it.
pub trait RuntimeFiles: Names + fmt::Debug + Sync {
    fn info(&self) -> &'static RuntimeInfo;

    /// Symbols whose addresses it needs, without the suffix that compilers add after a dot: words separated by a space.
    fn wanted(&self) -> &'static str;

    /// Whether it is linked into a file; fills `found` with what the file shows about it.
    fn detect(&self, file: &FileContents<'_, '_>, found: &mut Inspected) -> bool;

    /// The file of the runtime that runs a bytecode program.
    fn interpreter(&self, _program: &File) -> Option<PathBuf> {
        None
    }

    /// The version named in such a file.
    fn interpreter_version(&self, _interpreter: File) -> Option<String> {
        None
    }
}
