//! Any bytes as a program's file: what is read of it is bounded by it, and names that are found
//! are of places that were asked for, in order and apart from each other.

use rtscope_host::by_bytes;

/// Offsets that are asked for.
const ASKED: u64 = 64;

/// # Panics
/// Where the reader does what it must not.
pub fn check(bytes: &[u8]) {
    let (found, _) = by_bytes::inspect(bytes);
    assert!(found.elf || found.binary.note.is_some());
    by_bytes::bytecode_runtime(bytes);
    let step = (bytes.len() as u64 / ASKED).max(1);
    let mut asked: Vec<(u64, u64)> = (0..ASKED).map(|number| (number * step, 0x40_0000 + number * step)).collect();
    asked.push((u64::MAX - 1, u64::MAX));
    let Ok(names) = by_bytes::names(bytes, &asked) else { return };
    assert!(names.len() <= asked.len() && names.iter().all(|named| named.from < named.to));
    let held = |(offset, _): &(u64, u64)| names.iter().any(|named| (named.from..named.to).contains(offset));
    assert!(asked.iter().all(held));
}
