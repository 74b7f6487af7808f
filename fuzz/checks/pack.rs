//! Any bytes as a capture that was packed into one file: it opens or says why not, and every file that its index names is
//! read, or refused, without reading much more than there is.

use rtscope_decode::capture::{Capture, Folder};
use std::fs;

/// Of a file, so much is looked at.
const READ_MAX: u64 = 1 << 20;

/// # Panics
/// Where the decoder does what it must not.
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
