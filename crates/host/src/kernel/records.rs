//! Splits perf records and reads their words. Refuses to know what the words mean.

/// `PERF_RECORD_EXIT`: a thread ended.
pub const EXIT: u32 = 4;
/// `PERF_RECORD_FORK`: a thread began.
pub const FORK: u32 = 7;
/// `PERF_RECORD_SAMPLE`: the kind that several readers look for.
pub const SAMPLE: u32 = 9;

/// The record that `bytes` begin with, if it is whole, and the bytes after it.
pub fn split(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (_, size) = header(bytes)?;
    bytes.split_at_checked(size)
}

/// Kind and size in the header that `bytes` begin with, if it can be a record's.
pub fn header(bytes: &[u8]) -> Option<(u32, usize)> {
    let size = usize::from(u16::from_ne_bytes(*bytes.get(6..)?.first_chunk()?));
    (size >= 8).then_some((word(bytes, 0)?, size))
}

/// The 32-bit word at an offset in a record.
pub fn word(record: &[u8], offset: usize) -> Option<u32> {
    record.get(offset..)?.first_chunk().map(|bytes| u32::from_ne_bytes(*bytes))
}

/// The 64-bit word at an offset in a record.
pub fn long(record: &[u8], offset: usize) -> Option<u64> {
    record.get(offset..)?.first_chunk().map(|bytes| u64::from_ne_bytes(*bytes))
}
