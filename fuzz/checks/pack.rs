//! Any bytes as a capture packed into one file: it opens or reports why not, and every file in its index
//! is read or refused, without reading much more than the input.

use rtscope_decode::capture::{Capture, Folder};
use std::fs;

/// How much of each file is read.
const READ_MAX: u64 = 1 << 20;

/// # Panics
/// If a check fails.
pub fn check(bytes: &[u8]) {
    let path = std::env::temp_dir().join(format!("rtscope-fuzz-{}.rtscope.zst", std::process::id()));
    fs::write(&path, bytes).expect("writing the capture");
    if let Ok(capture) = Folder::open(&path) {
        for within in ["", "eventlog", "sched"] {
            for (name, size) in capture.files(within) {
                assert!(size <= bytes.len() as u64);
                let name = if within.is_empty() { name } else { format!("{within}/{name}") };
                let start = capture.start_of(&name, READ_MAX).map_or(0, |start| start.len() as u64);
                assert!(start <= READ_MAX && start <= size * 4096);
            }
        }
    }
    if let Ok(capture) = Capture::open(&path) {
        let _ = capture.samples().map(Iterator::count);
    }
}
