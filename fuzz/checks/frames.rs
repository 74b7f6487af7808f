//! Any bytes as a stream in frames: read to its end, it is as long as it says and no longer than a
//! stream of this size can be; reading in one go and in pieces gives the same. Packed data comes back.

use rtscope_decode::ReadAt;
use rtscope_decode::frames::{Frames, Packer};
use std::sync::Arc;

/// # Panics
/// If a check fails.
pub fn check(bytes: &[u8]) {
    let stream = content(bytes.to_vec());
    assert!(stream.len() as u64 <= bytes.len() as u64 * 4096);
    let packed = Packer::new(1).and_then(|mut packer| Ok(packer.pack(bytes)?.to_vec())).expect("memory");
    assert_eq!(content(packed), bytes);
}

/// The content of a stream, read twice.
fn content(stream: Vec<u8>) -> Vec<u8> {
    let length = stream.len() as u64;
    let frames = Frames::new(Arc::new(stream)).expect("memory");
    let size = frames.size().expect("bytes can be read");
    assert!(frames.left_over().expect("bytes can be read") <= length);
    let mut whole = vec![1; usize::try_from(size.min(8 << 20)).expect("small")];
    assert_eq!(frames.read_full(&mut whole, 0).expect("bytes can be read"), whole.len());
    let mut piece = [1; 100];
    for offset in (0..whole.len()).rev().step_by(whole.len() / 16 + 1) {
        let count = frames.read_full(&mut piece, offset as u64).expect("bytes can be read");
        let seen = whole.len().min(offset + count);
        assert_eq!(piece[..seen - offset], whole[offset..seen]);
    }
    assert_eq!(frames.read_at(&mut piece, size).expect("bytes can be read"), 0);
    whole
}
