//! Numbers as varints: seven bits per byte, lowest first. Owns that encoding and a cursor over bytes of unknown
//! origin; refuses numbers longer than 64 bits.

use crate::LevelsError;

/// Appends `value`, 1 to 10 bytes.
pub fn put(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Size of the buffer that a [`Short`] writes to: a power of two.
pub const ROOM: usize = 64;

/// Writes a few numbers without a capacity check per byte.
pub struct Short<'a> {
    room: &'a mut [u8; ROOM],
    length: usize,
}

impl<'a> Short<'a> {
    /// Starts at the beginning of `room`.
    #[inline]
    pub fn new(room: &'a mut [u8; ROOM]) -> Self {
        Short { room, length: 0 }
    }

    /// Number of bytes written.
    #[inline]
    pub fn length(&self) -> usize {
        self.length
    }

    #[inline]
    pub fn byte(&mut self, byte: u8) {
        debug_assert!(self.length < ROOM);
        // The mask changes nothing, but avoids a bounds check.
        self.room[self.length & (ROOM - 1)] = byte;
        self.length += 1;
    }

    #[inline]
    pub fn number(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.byte(value as u8 | 0x80);
            value >>= 7;
        }
        self.byte(value as u8);
    }

    /// Appends a difference; small ones are short whatever their sign.
    #[inline]
    pub fn signed(&mut self, value: i64) {
        self.number(((value << 1) ^ (value >> 63)) as u64);
    }
}

/// Reads `bytes`, which lie at offset `at` of the file.
pub struct Cursor<'a> {
    bytes: &'a [u8],
    at: u64,
}

impl<'a> Cursor<'a> {
    /// Starts at the beginning of `bytes`.
    pub fn new(bytes: &'a [u8], at: u64) -> Self {
        Cursor { bytes, at }
    }

    /// Whether all bytes were read.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// The error `what` at this position.
    pub fn damaged(&self, what: &'static str) -> LevelsError {
        LevelsError::Damaged { at: self.at, what }
    }

    pub fn byte(&mut self) -> Result<u8, LevelsError> {
        let Some((first, rest)) = self.bytes.split_first() else { return Err(self.damaged("it ends too early")) };
        (self.bytes, self.at) = (rest, self.at + 1);
        Ok(*first)
    }

    pub fn number(&mut self) -> Result<u64, LevelsError> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            if shift == 63 && byte > 1 {
                break;
            }
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(self.damaged("a number is too long"))
    }

    /// Reads the next difference.
    pub fn signed(&mut self) -> Result<i64, LevelsError> {
        let value = self.number()?;
        Ok((value >> 1) as i64 ^ -((value & 1) as i64))
    }

    /// Reads the next number, if it fits the type.
    pub fn small<T: TryFrom<u64>>(&mut self) -> Result<T, LevelsError> {
        let value = self.number()?;
        T::try_from(value).map_err(|_| self.damaged("a number is too large"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_come_back() {
        let (mut bytes, numbers) = (Vec::new(), [0, 1, 127, 128, 300, 1 << 40, u64::MAX]);
        let signed = [0, -1, 63, -64, i64::MIN, i64::MAX];
        numbers.iter().for_each(|number| put(&mut bytes, *number));
        let mut room = [0; ROOM];
        let mut short = Short::new(&mut room);
        signed.iter().for_each(|number| short.signed(*number));
        let length = short.length();
        bytes.extend_from_slice(&room[..length]);
        let mut cursor = Cursor::new(&bytes, 0);
        assert_eq!(numbers.map(|_| cursor.number().unwrap()), numbers);
        assert_eq!(signed.map(|_| cursor.signed().unwrap()), signed);
        assert!(cursor.is_empty());
    }

    #[test]
    fn cut_long_and_large_numbers_are_refused_with_their_place() {
        let at = |bytes: &[u8]| match Cursor::new(bytes, 100).number() {
            Err(LevelsError::Damaged { at, .. }) => at,
            other => panic!("{other:?}"),
        };
        assert_eq!(at(&[0x80, 0x80]), 102);
        assert_eq!(at(&[0xff; 12]), 110);
        assert!(Cursor::new(&[0x80, 0x02], 0).small::<u8>().is_err());
    }
}
