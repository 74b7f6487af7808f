//! Words, bit fields and padded streams, the elements of every record. Owns checking lengths against what is left.

/// Size of a word in bytes.
pub(super) const WORD: usize = 8;

/// `count` bits of `word` from bit `from` on.
pub(super) fn bits(word: u64, from: u32, count: u32) -> u64 {
    (word >> from) & ((1 << count) - 1)
}

/// Like [`bits`], for fields of at most 16 bits.
pub(super) fn small(word: u64, from: u32, count: u32) -> u16 {
    bits(word, from, count) as u16
}

/// Reads a record from its front.
#[derive(Copy, Clone, Debug)]
pub(super) struct Cursor<'a> {
    left: &'a [u8],
}

impl<'a> Cursor<'a> {
    pub fn new(bytes: &'a [u8]) -> Cursor<'a> {
        Cursor { left: bytes }
    }

    /// The unread bytes.
    pub fn rest(&self) -> &'a [u8] {
        self.left
    }

    /// The next word; `None` at the end.
    pub fn word(&mut self) -> Option<u64> {
        let (word, left) = self.left.split_first_chunk::<WORD>()?;
        self.left = left;
        Some(u64::from_le_bytes(*word))
    }

    /// Reads `length` bytes and the padding after them.
    pub fn stream(&mut self, length: usize) -> Option<&'a [u8]> {
        let (padded, left) = self.left.split_at_checked(length.checked_next_multiple_of(WORD)?)?;
        self.left = left;
        padded.get(..length)
    }

    /// A cursor over the next `words` words.
    pub fn part(&mut self, words: usize) -> Option<Cursor<'a>> {
        let (part, left) = self.left.split_at_checked(words.checked_mul(WORD)?)?;
        self.left = left;
        Some(Cursor { left: part })
    }
}
