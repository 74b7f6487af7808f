//! Why samples of code cannot be decoded. Owns the words for it; refuses to find out.

/// Why samples of code cannot be decoded at all.
#[derive(Clone, Eq, PartialEq, Debug, thiserror::Error)]
pub enum CodeError {
    /// The manifest and the folder disagree.
    #[error("the manifest names {named} streams of code samples, {given} were given")]
    Streams {
        /// In the manifest.
        named: usize,
        /// Given by the caller.
        given: usize,
    },
    /// Not a stream of ours.
    #[error("stream `{stream}`: the name tells no CPU")]
    StreamName {
        /// As the manifest has it.
        stream: String,
    },
    /// A layout that no recorder of ours writes.
    #[error("code samples have the layout {sample_type:#x}, which this rtscope does not know; use a newer one")]
    SampleType {
        /// `sample_type` of the manifest.
        sample_type: u64,
    },
    /// `symbols.json` cannot be read.
    #[error("the names of code are damaged at line {line}, column {column}")]
    Names {
        /// Line, from 1.
        line: usize,
        /// Column, from 1.
        column: usize,
    },
    /// `symbols.json` is of a later version.
    #[error("the names of code have the format {schema}, which this rtscope does not know; use a newer one")]
    NamesSchema {
        /// As the file names it.
        schema: String,
    },
}
