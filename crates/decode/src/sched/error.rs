//! Errors of decoding kernel records. Owns their wording; refuses to detect them.

/// Why kernel records cannot be decoded at all.
#[derive(Clone, Eq, PartialEq, Debug, thiserror::Error)]
pub enum SchedError {
    #[error("the manifest names {named} kernel streams, {given} were given")]
    Streams { named: usize, given: usize },
    #[error("kernel stream `{stream}`: its name has no CPU")]
    StreamName { stream: String },
    #[error("kernel records have the layout {sample_type:#x}, which this rtscope does not know; use a newer one")]
    SampleType { sample_type: u64 },
    #[error("the capture has no format of the tracepoint {tracepoint}")]
    NoFormat { tracepoint: String },
    #[error("the format of the tracepoint {tracepoint} has no usable `{field}`")]
    NoField { tracepoint: String, field: String },
    #[error("the tracepoint {tracepoint} has an id over 65535")]
    Id { tracepoint: String },
    #[error("the list of threads is damaged at line {line}, column {column}")]
    Threads { line: usize, column: usize },
}
