//! A capture folder made of any bytes: its manifest, its samples and a block copied from memory,
//! separated by zero bytes. It opens or reports why not, and every line and block is read to its end.

use rtscope_decode::capture::Capture;
use std::fs;
use std::path::PathBuf;

/// # Panics
/// If a check fails.
pub fn check(bytes: &[u8]) {
    let mut parts = bytes.splitn(3, |byte| *byte == 0);
    let [manifest, samples, block] = [(); 3].map(|()| parts.next().unwrap_or_default());
    let folder = folder();
    let unflushed = folder.join("unflushed");
    fs::create_dir_all(&unflushed).expect("a folder for the capture");
    for (path, bytes) in [("manifest.json", manifest), ("samples.jsonl", samples), ("unflushed/1-0.0", block)] {
        fs::write(folder.join(path), bytes).expect("writing the capture");
    }
    let Ok(capture) = Capture::open(&folder) else { return };
    let lines = samples.split(|byte| *byte == b'\n').count();
    let mut stream = capture.samples().expect("the file is there");
    assert!(stream.by_ref().count() <= lines);
    assert!(stream.losses().iter().all(|loss| loss.count as usize <= lines + samples.len() / 4096));
    let read: usize = capture.unflushed(1).iter().map(|copied| copied.bytes.len()).sum();
    assert!(read == 0 || read == block.len());
    assert!(capture.losses().len() <= 1 + capture.manifest().losses.len());
}

/// One folder per process: a fuzzer runs its inputs one after the other.
fn folder() -> PathBuf {
    std::env::temp_dir().join(format!("rtscope-fuzz-{}", std::process::id()))
}
