//! Statistics of GHC's runtime made of any bytes: no panic, no endless list.

pub use rtscope_decode::ghc_statistics::Statistics;

/// # Panics
/// Where the decoder does what it must not.
pub fn check(data: &[u8]) {
    let Ok(read) = Statistics::of_bytes(data) else { return };
    // A list that is read stands at the end: with more behind it, it is none.
    assert!(Statistics::of_bytes(&[data, b"more"].concat()).is_err());
    assert!(read.generations.len() <= 256);
}
