//! Any bytes as a sample with a stack copy, and as the file whose unwind tables describe the frames:
//! every caller found lies in the copy, above the previous one, there are no more than a walk looks
//! for, and the resulting record has the length that it states.

use rtscope_host::by_bytes::{self, Unwound};

/// Address at which the file is mapped.
const BASE: u64 = 0x40_0000;
/// Frames that a walk looks for.
const FRAMES_MAX: usize = 32;
/// Most rules taken from one file, plus what one function may add before the limit is noticed.
const RULES_MAX: usize = 1 << 22;
/// `PERF_RECORD_SAMPLE`.
const SAMPLE: u32 = 9;

/// Two bytes with the record's length, the record, the file. Every record is turned into a sample of an
/// event with stack copies: its kind and its id are set accordingly.
pub fn unwound(bytes: &[u8]) -> Option<Unwound> {
    let (size, rest) = bytes.split_first_chunk()?;
    let (record, image) = rest.split_at_checked(usize::from(u16::from_le_bytes(*size)))?;
    let mut record = record.to_vec();
    record.get_mut(..4)?.copy_from_slice(&SAMPLE.to_ne_bytes());
    let id = record.get(8..)?.first_chunk().map(|id| u64::from_ne_bytes(*id))?;
    by_bytes::unwound(image, BASE, &record, id)
}

/// # Panics
/// If a check fails.
pub fn check(bytes: &[u8]) {
    let Some(unwound) = unwound(bytes) else { return };
    assert!(unwound.rules <= RULES_MAX && unwound.callers.len() <= FRAMES_MAX);
    let mut rest = &unwound.stack[..];
    for caller in &unwound.callers {
        let at = rest.windows(8).position(|word| word == caller.to_ne_bytes());
        let at = at.expect("a caller that stands nowhere above the one before");
        rest = &rest[at + 1..];
    }
    let length = |kept: &[u8]| usize::from(u16::from_ne_bytes([kept[6], kept[7]]));
    assert!(unwound.kept.is_empty() || length(&unwound.kept) == unwound.kept.len());
}
