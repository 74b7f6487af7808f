//! Little-endian words of 64 bits, read from bytes. Refuses to know what a word means.

use crate::source::ReadAt;
use std::io;

/// Limit of words read at once.
const MOST: usize = 8;

/// The whole words of `bytes`.
pub(super) fn words(bytes: &[u8]) -> impl Iterator<Item = u64> {
    bytes.chunks_exact(8).map(|word| word.try_into().map_or(0, u64::from_le_bytes))
}

/// `N` words at `offset`; `None`: the source is too short.
pub(super) fn words_at<const N: usize>(source: &dyn ReadAt, offset: u64) -> io::Result<Option<[u64; N]>> {
    let mut bytes = [0; 8 * MOST];
    let Some(bytes) = bytes.get_mut(..8 * N) else { return Ok(None) };
    let count = source.read_full(bytes, offset)?;
    Ok((count == 8 * N).then(|| first_words(bytes)))
}

/// The first `N` words of `bytes`; missing ones are 0.
pub(super) fn first_words<const N: usize>(bytes: &[u8]) -> [u64; N] {
    let mut found = [0; N];
    found.iter_mut().zip(words(bytes)).for_each(|(into, word)| *into = word);
    found
}
