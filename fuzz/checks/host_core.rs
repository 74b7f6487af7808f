//! Any bytes as a core file: what it contains lies in the file, and reading anything else is an error.

use rtscope_host::by_bytes;
use rtscope_host::core_file::CoreFile;
use rtscope_host::memory::Memory;
use std::ops::Range;

/// Number of segments that are read.
const READ: usize = 32;

/// # Panics
/// If a check fails.
pub fn check(bytes: &[u8]) {
    let Ok(core) = CoreFile::of_bytes(bytes.to_vec()) else { return };
    assert!(core.mappings().is_sorted_by_key(|mapping| mapping.range.start));
    assert!(core.mappings().iter().all(|mapping| mapping.range.start <= mapping.range.end));
    let mut buffer = [0; 256];
    for mapping in core.mappings().iter().take(READ) {
        let first = mapping.range.start;
        if core.read(first, &mut buffer).is_ok() {
            assert!(buffer.iter().all(|byte| bytes.contains(byte)));
        }
        let last = mapping.range.end.wrapping_sub(8);
        assert!(core.read(u64::MAX - 3, &mut buffer).is_err());
        drop((
            core.read(last, &mut buffer),
            core.read_words(&[Range { start: first, end: first.saturating_add(64) }], &mut [0; 8]),
        ));
    }
    let statics = rtscope_heap::Statics { address_space: Some(buffer.len() as u64), ..Default::default() };
    drop(by_bytes::heap_space(&core, &statics, core.mappings()));
}
