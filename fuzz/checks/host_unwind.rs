//! Any bytes as a sample with a copy of the stack, and as the file whose unwind tables say how to go over it: every
//! caller that is found stands in the copy, further up than the one before, there are no more than a walk looks for,
//! and the record that is kept has the length that it says.

use rtscope_host::by_bytes::{self, Unwound};

/// Where the file is mapped.
const BASE: u64 = 0x40_0000;
/// Frames that a walk looks for.
const FRAMES_MAX: usize = 32;
/// Rules that are taken of one file, and what one of its functions may add before that is seen.
const RULES_MAX: usize = 1 << 22;
/// `PERF_RECORD_SAMPLE`.
const SAMPLE: u32 = 9;

/// Two bytes that say how long the record is, the record, the file. Every record is a sample of an event that carries
/// a copy: its kind is made so, and its id is the event's.
pub fn unwound(bytes: &[u8]) -> Option<Unwound> {
    let (size, rest) = bytes.split_first_chunk()?;
    let (record, image) = rest.split_at_checked(usize::from(u16::from_le_bytes(*size)))?;
    let mut record = record.to_vec();
    record.get_mut(..4)?.copy_from_slice(&SAMPLE.to_ne_bytes());
    let id = record.get(8..)?.first_chunk().map(|id| u64::from_ne_bytes(*id))?;
    by_bytes::unwound(image, BASE, &record, id)
}

/// # Panics
/// Where the walk does what it must not.
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
