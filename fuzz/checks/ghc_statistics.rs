//! Statistics of GHC's runtime made of any bytes: no panic, no endless list.

pub use rtscope_decode::ghc_statistics::Statistics;

/// # Panics
/// If a check fails.
pub fn check(data: &[u8]) {
    let Ok(read) = Statistics::of_bytes(data) else { return };
    // A valid list is at the end of the data: with more bytes after it, it is invalid.
    assert!(Statistics::of_bytes(&[data, b"more"].concat()).is_err());
    assert!(read.generations.len() <= 256);
}
