//! Packed frames of a captured stream: a ring's words in a fifth of their bytes. An event is a header, of which a
//! program has a few dozen, and a stamp that is close to the previous one. Owns the coding
//! (`docs/formats/ring-stream.md`) in both directions, and the limits of a frame. Refuses to know what an event
//! means: of its header only the length matters, and whether it is padding.

use super::tables::kind;

/// Replaces the number of a header: the header follows.
const ESCAPE: u8 = 255;
/// Limit of the words that a frame stands for.
pub const WORDS_MAX: u64 = 1 << 12;
/// Limit of the words that follow a frame's head: a word takes at most ten bytes.
pub(super) const FOLLOW_MAX: usize = 2 * WORDS_MAX as usize;

/// Slots of remembered headers; two headers that share a slot replace each other.
const PLACES: usize = 1 << 10;

/// Packs frames, one after the other, and remembers headers.
#[derive(Debug)]
pub struct Packer {
    known: Box<[KnownHeader; PLACES]>,
    frame: u64,
}

#[derive(Copy, Clone, Debug, Default)]
struct KnownHeader {
    header: u64,
    number: u8,
    /// The frame in which the header has this number.
    frame: u64,
}

impl Default for Packer {
    fn default() -> Packer {
        Packer { known: Box::new([KnownHeader::default(); PLACES]), frame: 0 }
    }
}

impl Packer {
    /// Packs the events at the start of `words` (in this machine's byte order) into `into`, up to the first that is
    /// incomplete or invalid. Returns how many bytes of `words` were packed.
    pub fn pack(&mut self, words: &[u8], into: &mut Vec<u8>) -> usize {
        self.frame += 1;
        let (mut rest, mut last, mut headers) = (words, 0, 0);
        while let Some(header) = rest.first_chunk().map(|word| u64::from_ne_bytes(*word)) {
            let length = (header >> 54) as usize;
            let Some((event, after)) = rest.split_at_checked(length * 8) else { break };
            if event.is_empty() {
                break;
            }
            let number = self.number(header, &mut headers);
            match number {
                ESCAPE => {
                    into.push(ESCAPE);
                    into.extend(header.to_le_bytes());
                }
                number => into.push(number),
            }
            rest = after;
            if is_padding(header) {
                // It covers what the ring held before.
                continue;
            }
            let mut figures = event.chunks_exact(8).skip(1).filter_map(|word| word.try_into().ok());
            if let Some(stamp) = figures.next().map(u64::from_ne_bytes) {
                number_to(into, stamp.wrapping_sub(last));
                last = stamp;
            }
            figures.for_each(|word| number_to(into, u64::from_ne_bytes(word)));
        }
        words.len() - rest.len()
    }

    /// The number of `header` in this frame; new ones are numbered in order.
    fn number(&mut self, header: u64, headers: &mut u8) -> u8 {
        let place = (header >> 36 ^ header >> 43) as usize % PLACES;
        let Some(known) = self.known.get_mut(place) else { return ESCAPE };
        if known.header == header && known.frame == self.frame {
            return known.number;
        }
        if *headers < ESCAPE {
            *known = KnownHeader { header, number: *headers, frame: self.frame };
            *headers += 1;
        }
        ESCAPE
    }
}

fn is_padding(header: u64) -> bool {
    header >> 49 & 31 == u64::from(kind::INTERNAL)
}

/// Writes seven bits per byte, lowest first; the top bit says that more follow.
fn number_to(into: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        into.push(number as u8 | 0x80);
        number >>= 7;
    }
    into.push(number as u8);
}

/// Appends the words of a packed frame to `into`; `bytes` follow the frame's head. Returns whether they were
/// complete; otherwise the events before the end are added. `None`: not a valid frame.
pub(super) fn unpack(bytes: &[u8], into: &mut Vec<u64>) -> Option<bool> {
    let (count, packed) = bytes.split_first_chunk().map(|(count, rest)| (u64::from_le_bytes(*count), rest))?;
    if count > WORDS_MAX {
        return None;
    }
    let end = into.len() + count as usize;
    let mut rest = Rest { bytes: packed };
    let mut state = UnpackedFrame::default();
    while into.len() < end {
        let begin = into.len();
        if state.event(&mut rest, into, end).is_none() {
            into.truncate(begin);
            return Some(false);
        }
    }
    Some(true)
}

/// The content of this frame so far.
#[derive(Default)]
struct UnpackedFrame {
    headers: Vec<u64>,
    /// The previous stamp.
    last: u64,
}

impl UnpackedFrame {
    /// Reads the next event; `None`: it is incomplete or exceeds `end`.
    fn event(&mut self, rest: &mut Rest<'_>, into: &mut Vec<u64>, end: usize) -> Option<()> {
        let header = match rest.byte()? {
            ESCAPE => {
                let header = rest.word()?;
                if self.headers.len() < usize::from(ESCAPE) {
                    self.headers.push(header);
                }
                header
            }
            number => *self.headers.get(usize::from(number))?,
        };
        let length = (header >> 54) as usize;
        if length == 0 || length > end - into.len() {
            return None;
        }
        into.push(header);
        if is_padding(header) {
            // The covered words become zeros.
            into.resize(into.len() + length - 1, 0);
            return Some(());
        }
        if length > 1 {
            self.last = self.last.wrapping_add(rest.number()?);
            into.push(self.last);
        }
        for _ in 2..length {
            into.push(rest.number()?);
        }
        Some(())
    }
}

struct Rest<'a> {
    bytes: &'a [u8],
}

impl Rest<'_> {
    fn byte(&mut self) -> Option<u8> {
        let (first, rest) = self.bytes.split_first()?;
        self.bytes = rest;
        Some(*first)
    }

    fn word(&mut self) -> Option<u64> {
        let (first, rest) = self.bytes.split_first_chunk()?;
        self.bytes = rest;
        Some(u64::from_le_bytes(*first))
    }

    /// Reads seven bits per byte, lowest first; the top bit says that more follow.
    fn number(&mut self) -> Option<u64> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            number |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Some(number);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(length: u64, code: u64, id: u64) -> u64 {
        length << 54 | code << 49 | id << 36
    }

    fn bytes(words: &[u64]) -> Vec<u8> {
        words.iter().flat_map(|word| word.to_ne_bytes()).collect()
    }

    #[test]
    fn events_are_packed_as_the_format_defines() {
        let (begin, counter) = (header(2, 2, 11), header(3, 4, 7));
        let words = [begin, 300, counter, 301, 5, begin, 300, header(4, 0, 0), 7, 8, 9];
        let mut packed = Vec::new();
        let mut packer = Packer::default();
        assert_eq!(packer.pack(&bytes(&words), &mut packed), 8 * words.len());
        let mut expected = vec![ESCAPE];
        expected.extend(begin.to_le_bytes());
        expected.extend([0xac, 2, ESCAPE]);
        expected.extend(counter.to_le_bytes());
        expected.extend([1, 5, 0]);
        // Time does not run backwards; if it seems to, nothing is lost.
        expected.extend([0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1, ESCAPE]);
        expected.extend(header(4, 0, 0).to_le_bytes());
        assert_eq!(packed, expected);
        let framed = [&[words.len() as u8, 0, 0, 0, 0, 0, 0, 0], &packed[..], &[0; 3]].concat();
        let mut again = vec![77];
        assert_eq!(unpack(&framed, &mut again), Some(true));
        assert_eq!(again[..9], [&[77], &words[..8]].concat());
        assert_eq!(again[9..], [0, 0, 0]);
        // Truncated anywhere, the whole events before are returned.
        for end in 8..8 + packed.len() {
            again.clear();
            assert_eq!(unpack(&framed[..end], &mut again), Some(false));
            assert!(again.len() < 8 && words.starts_with(&again), "{end}");
        }
        // The next frame does not depend on this one.
        packed.clear();
        packer.pack(&bytes(&[begin, 1]), &mut packed);
        assert_eq!(packed.len(), 10);
    }

    #[test]
    fn what_is_not_whole_stays() {
        let mut packed = Vec::new();
        let mut packer = Packer::default();
        let event = [header(2, 2, 11), 300];
        for rest in [&[header(3, 4, 7), 301][..], &[0, 1, 2], &[]] {
            assert_eq!(packer.pack(&bytes(&[&event, rest].concat()), &mut packed), 16);
        }
        packed.clear();
        assert_eq!(packer.pack(&bytes(&[header(3, 4, 7), 301]), &mut packed), 0);
        assert!(packed.is_empty());
    }

    #[test]
    fn what_cannot_be_is_refused() {
        let unpacked = |count: u64, bytes: &[u8]| {
            let mut words = Vec::new();
            let found = unpack(&[&count.to_le_bytes(), bytes].concat(), &mut words);
            (found, words.len())
        };
        let long = header(1023, 0, 0).to_le_bytes();
        let long = [&[ESCAPE], &long[..]].concat();
        assert_eq!(unpacked(1023, &long), (Some(true), 1023));
        assert_eq!(unpacked(1022, &long), (Some(false), 0));
        assert_eq!(unpacked(WORDS_MAX + 1, &long), (None, 0));
        assert_eq!(unpacked(2, &[0, 5]), (Some(false), 0));
        assert_eq!(unpacked(2, &[[ESCAPE; 9], [0; 9]].concat()), (Some(false), 0));
        assert_eq!(unpack(&[1], &mut Vec::new()), None);
    }

    #[test]
    fn more_headers_than_have_numbers() {
        let words: Vec<u64> = (0..600).chain(0..600).flat_map(|id| [header(2, 2, id), id]).collect();
        let mut packed = Vec::new();
        assert_eq!(Packer::default().pack(&bytes(&words), &mut packed), 8 * words.len());
        let framed = [&1200_u64.to_le_bytes()[..], &packed].concat();
        let mut again = Vec::new();
        assert_eq!(unpack(&framed, &mut again), Some(true));
        assert_eq!(again, words[..1200]);
        let known = packed.iter().filter(|byte| **byte == ESCAPE).count();
        assert!((945..1200).contains(&known), "{known}");
    }
}
