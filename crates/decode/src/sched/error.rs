//! Why kernel records cannot be decoded. Owns the words for it; refuses to find out.

/// Why kernel records cannot be decoded at all.
#[derive(Clone, Eq, PartialEq, Debug, thiserror::Error)]
pub enum SchedError {
    /// The manifest and the folder disagree.
    #[error("the manifest names {named} kernel streams, {given} were given")]
    Streams {
        /// In the manifest.
        named: usize,
        /// Given by the caller.
        given: usize,
    },
    /// Not a stream of ours.
    #[error("kernel stream `{stream}`: the name tells no CPU")]
    StreamName {
        /// As the manifest has it.
        stream: String,
    },
    /// A layout that no recorder of ours writes.
    #[error("kernel records have the layout {sample_type:#x}, which this rtscope does not know; use a newer one")]
    SampleType {
        /// `sample_type` of the manifest.
        sample_type: u64,
    },
    /// The copy of a format is missing.
    #[error("the capture has no format of the tracepoint {tracepoint}")]
    NoFormat {
        /// Its name.
        tracepoint: String,
    },
    /// A format without a field that is needed.
    #[error("the format of the tracepoint {tracepoint} has no usable `{field}`")]
    NoField {
        /// Which tracepoint.
        tracepoint: String,
        /// Which field.
        field: String,
    },
    /// An id that no kernel has.
    #[error("the tracepoint {tracepoint} has an id over 65535")]
    Id {
        /// Its name.
        tracepoint: String,
    },
    /// `threads.json` cannot be read.
    #[error("the list of threads is damaged at line {line}, column {column}")]
    Threads {
        /// Line, from 1.
        line: usize,
        /// Column, from 1.
        column: usize,
    },
}
