//! Layout of a ring file: eight words of metadata, a header for each ring, the
//! rings, a table of names. Owns what those words must satisfy before any of them is
//! used; refuses files that are not ready yet or are something else.

/// Bytes of a word.
pub const WORD: u64 = 8;
/// Bytes of the metadata.
pub const METADATA: usize = 64;
/// Bytes of a ring's header in every release; its first two words are head and tail.
pub const HEADER: u64 = 80;
/// Entries of the table of names, and the size of each in bytes.
pub const NAMES: u64 = 8192;
pub const NAME: u64 = rtscope_decode::ocaml_ring::captured::NAME as u64;

/// More rings than any runtime makes.
const RINGS_MAX: u64 = 4096;
/// The runtime computes the length in a C `int`.
const LENGTH_MAX: u64 = i32::MAX as u64;

/// Bytes of the file that a runtime makes for `rings` rings of `words` words; `None`
/// on overflow.
pub fn file_length(rings: u64, words: u64) -> Option<u64> {
    let data = rings.checked_mul(words)?.checked_mul(WORD)?;
    let headers = rings.checked_mul(HEADER)?;
    data.checked_add(headers)?.checked_add(METADATA as u64)?.checked_add(NAMES * NAME)
}

/// Whether the runtime can compute this length.
pub fn is_safe(length: u64) -> bool {
    length <= LENGTH_MAX
}

/// Sizes and offsets of the parts.
#[derive(Copy, Clone, Eq, PartialEq, Debug)]
pub struct RingLayout {
    pub rings: u64,
    /// Words in each ring, a power of two.
    pub words: u64,
    /// Offset of the first ring's header.
    pub headers: u64,
    /// Distance between two headers.
    pub header_bytes: u64,
    /// Offset of the first ring.
    pub data: u64,
    /// Offset of the table of names, if there is one.
    pub names: Option<u64>,
}

/// The state of a file.
#[derive(Copy, Clone, Eq, PartialEq, Debug)]
pub enum Judged {
    /// Its runtime is still making it.
    NotYet,
    Ready(RingLayout),
    /// It is not a known kind of ring file.
    Foreign,
}

impl RingLayout {
    /// Judges the metadata of a file that is `length` bytes long. Words have this machine's byte order.
    pub fn of(metadata: &[u8; METADATA], length: u64) -> Judged {
        let mut words = [0; METADATA / 8];
        for (word, bytes) in words.iter_mut().zip(metadata.chunks_exact(8)) {
            *word = u64::from_ne_bytes(bytes.try_into().unwrap_or_default());
        }
        let [version, rings, header_bytes, ring_bytes, ring_words, headers, data, names] = words;
        if version == 0 || (version == 1 && words.iter().take(7).any(|word| *word == 0)) {
            return Judged::NotYet;
        }
        let names = (names != 0).then_some(names);
        let layout = RingLayout { rings, words: ring_words, headers, header_bytes, data, names };
        let sane = version == 1
            && (1..=RINGS_MAX).contains(&rings)
            && (16..=4096).contains(&header_bytes)
            && ring_words.is_power_of_two()
            && ring_words.checked_mul(WORD) == Some(ring_bytes)
            && [headers, header_bytes, data, names.unwrap_or(0)].iter().all(|offset| offset % WORD == 0);
        match layout.end() {
            Some(end) if sane && end <= LENGTH_MAX => {
                if end <= length {
                    Judged::Ready(layout)
                } else {
                    Judged::NotYet
                }
            }
            _ => Judged::Foreign,
        }
    }

    /// Offset of the end of the last part.
    pub fn end(&self) -> Option<u64> {
        let headers = self.rings.checked_mul(self.header_bytes)?.checked_add(self.headers)?;
        let data = self.rings.checked_mul(self.words)?.checked_mul(WORD)?.checked_add(self.data)?;
        let names = self.names.map_or(Some(0), |names| names.checked_add(NAMES * NAME))?;
        (headers <= self.data).then(|| data.max(names))
    }

    pub fn header(&self, slot: u64) -> u64 {
        self.headers + slot * self.header_bytes
    }

    /// Offset of the word at `position` of ring `slot`, and how many contiguous words
    /// follow from there.
    pub fn place(&self, slot: u64, position: u64) -> (u64, u64) {
        let index = position & (self.words - 1);
        (self.data + (slot * self.words + index) * WORD, self.words - index)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn metadata(words: [u64; 8]) -> [u8; METADATA] {
        let mut bytes = [0; METADATA];
        for (bytes, word) in bytes.chunks_exact_mut(8).zip(words) {
            bytes.copy_from_slice(&word.to_ne_bytes());
        }
        bytes
    }

    const REAL: [u64; 8] = [1, 128, 80, 8 << 18, 1 << 18, 64, 10_304, 10_304 + 128 * (8 << 18)];

    #[test]
    fn a_real_file_is_ready_when_it_is_as_long_as_its_header_states() {
        let length = file_length(128, 1 << 18).unwrap();
        assert_eq!(length, 269_494_336);
        let Judged::Ready(layout) = RingLayout::of(&metadata(REAL), length) else { panic!("not ready") };
        assert_eq!((layout.rings, layout.words, layout.names), (128, 1 << 18, Some(REAL[7])));
        assert_eq!(layout.header(2), 224);
        assert_eq!(layout.place(1, (1 << 18) + 5), (10_304 + (8 << 18) + 40, (1 << 18) - 5));
        assert_eq!(RingLayout::of(&metadata(REAL), length - 1), Judged::NotYet);
    }

    #[test]
    fn words_that_are_not_written_yet_or_are_impossible_are_not_used() {
        let length = u64::MAX;
        for missing in 0..7 {
            let mut words = REAL;
            words[missing] = 0;
            assert_eq!(RingLayout::of(&metadata(words), length), Judged::NotYet, "{missing}");
        }
        let mut old = REAL;
        old[7] = 0;
        assert!(matches!(RingLayout::of(&metadata(old), length), Judged::Ready(RingLayout { names: None, .. })));
        for (word, value) in [(0, 2), (1, 5000), (1, u64::MAX), (2, 7), (3, 5), (4, 3), (5, u64::MAX), (6, 65), (7, 9)]
        {
            let mut words = REAL;
            words[word] = value;
            assert_eq!(RingLayout::of(&metadata(words), length), Judged::Foreign, "{word}={value}");
        }
    }
}
