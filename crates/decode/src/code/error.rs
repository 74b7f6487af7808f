//! Errors of decoding code samples. Owns their wording; refuses to detect them.

/// Why samples of code cannot be decoded at all.
#[derive(Clone, Eq, PartialEq, Debug, thiserror::Error)]
pub enum CodeError {
    #[error("the manifest names {named} streams of code samples, {given} were given")]
    Streams { named: usize, given: usize },
    #[error("stream `{stream}`: its name has no CPU")]
    StreamName { stream: String },
    #[error("code samples have the layout {sample_type:#x}, which this rtscope does not know; use a newer one")]
    SampleType { sample_type: u64 },
    #[error("the names of code are damaged at line {line}, column {column}")]
    Names { line: usize, column: usize },
    #[error("the names of code have the format {schema}, which this rtscope does not know; use a newer one")]
    NamesSchema { schema: String },
}
