//! Any bytes as an executable: its size bounds what is read, and names are only found for requested
//! places, sorted and disjoint.

use rtscope_host::by_bytes;

/// Number of offsets to look up.
const ASKED: u64 = 64;

/// # Panics
/// If a check fails.
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
