//! Encodes protocol buffers: tags, varints, nested messages. Owns the wire format; refuses to know any message.
//!
//! Custom code, because it is the hot path: a span is two packets of about thirty bytes, which are built in place,
//! without a tree of objects.

/// Messages under construction.
#[derive(Default, Debug)]
pub(super) struct Wire {
    bytes: Vec<u8>,
}

const VARINT: u64 = 0;
const FIXED64: u64 = 1;
const LENGTH: u64 = 2;

/// At most sixteen bytes, lowest first, built in a register. Bytes that are written one by one and then copied as a
/// whole would stall until each of them is in the cache.
#[derive(Copy, Clone, Debug, Default)]
pub(super) struct Short {
    bytes: u128,
    count: usize,
}

impl Short {
    const ROOM: usize = 16;

    /// Copies encoded fields; `None`: they are too long.
    pub fn of(fields: &Wire) -> Option<Short> {
        let mut bytes = [0; Short::ROOM];
        bytes.get_mut(..fields.bytes.len())?.copy_from_slice(&fields.bytes);
        Some(Short { bytes: u128::from_le_bytes(bytes), count: fields.bytes.len() })
    }

    /// Encodes `value` as a varint. Times take eight bytes: all groups are placed at once, since a loop over them
    /// would be mispredicted at its end.
    #[inline(always)]
    fn varint(mut value: u64) -> Short {
        if value >> 56 == 0 {
            let count = (64 - (value | 1).leading_zeros()).div_ceil(7);
            value = value & 0x0000_0000_0fff_ffff | (value & 0x00ff_ffff_f000_0000) << 4;
            value = value & 0x0000_3fff_0000_3fff | (value & 0x0fff_c000_0fff_c000) << 2;
            value = value & 0x007f_007f_007f_007f | (value & 0x3f80_3f80_3f80_3f80) << 1;
            let continuation = 0x8080_8080_8080_8080 & !(u64::MAX << (8 * (count - 1)));
            return Short { bytes: (value | continuation).into(), count: count as usize };
        }
        let mut all = Short::default();
        while value >= 0x80 {
            (all.bytes, all.count) = (all.bytes | u128::from(value as u8 | 0x80) << (8 * all.count), all.count + 1);
            value >>= 7;
        }
        Short { bytes: all.bytes | u128::from(value) << (8 * all.count), count: all.count + 1 }
    }

    /// A field whose tag and value take one byte each.
    const fn small(field: u32, kind: u64, value: u64) -> Short {
        debug_assert!(field < 16 && value < 0x80, "each takes a byte");
        Short { bytes: ((field as u64) << 3 | kind | value << 8) as u128, count: 2 }
    }

    /// An unsigned field with a tag of one or two bytes: at most twelve bytes in all.
    #[inline(always)]
    pub fn field(field: u32, value: u64) -> Short {
        debug_assert!(field < 1 << 11, "its tag takes two bytes");
        let (tag, value) = (Short::varint(u64::from(field) << 3 | VARINT), Short::varint(value));
        Short { bytes: tag.bytes | value.bytes << (8 * tag.count), count: tag.count + value.count }
    }

    /// Appends `next`; `None`: the result is too long.
    #[inline(always)]
    pub fn then(self, next: Short) -> Option<Short> {
        let count = self.count + next.count;
        (count <= Short::ROOM).then(|| Short { bytes: self.bytes | next.bytes << (8 * self.count), count })
    }
}

impl Wire {
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    pub fn clear(&mut self) {
        self.bytes.clear();
    }

    /// Writes encoded fields.
    #[inline(always)]
    pub fn short(&mut self, short: Short) {
        // Copies all sixteen bytes and removes the surplus: a copy of the exact length would be a call.
        let end = self.bytes.len() + short.count;
        self.bytes.extend_from_slice(&short.bytes.to_le_bytes());
        self.bytes.truncate(end);
    }

    #[inline]
    fn varint(&mut self, value: u64) {
        self.short(Short::varint(value));
    }

    #[inline]
    fn tag(&mut self, field: u32, kind: u64) {
        self.varint(u64::from(field) << 3 | kind);
    }

    /// Writes an unsigned field.
    #[inline(always)]
    pub fn number(&mut self, field: u32, value: u64) {
        self.short(Short::field(field, value));
    }

    /// Writes a signed field.
    pub fn signed(&mut self, field: u32, value: i64) {
        self.number(field, value as u64);
    }

    /// Writes a field of eight bytes.
    pub fn fixed(&mut self, field: u32, value: u64) {
        self.tag(field, FIXED64);
        self.bytes.extend_from_slice(&value.to_le_bytes());
    }

    /// Writes a text, or an encoded message.
    pub fn text(&mut self, field: u32, text: impl AsRef<[u8]>) {
        let text = text.as_ref();
        self.tag(field, LENGTH);
        self.varint(text.len() as u64);
        self.bytes.extend_from_slice(text);
    }

    /// Writes encoded fields.
    pub fn append(&mut self, fields: &Wire) {
        self.bytes.extend_from_slice(&fields.bytes);
    }

    /// Writes a message that consists of two parts.
    #[inline(always)]
    pub fn joined(&mut self, field: u32, head: Short, tail: Short) {
        let length = (head.count + tail.count) as u64;
        match Short::small(field, LENGTH, length).then(head) {
            Some(head) => self.short(head),
            None => {
                self.short(Short::small(field, LENGTH, length));
                self.short(head);
            }
        }
        self.short(tail);
    }

    /// Writes a message of two numbers; the first number and its field are small.
    #[inline]
    pub fn two(&mut self, field: u32, (first, small): (u32, u64), (second, value): (u32, u64)) {
        self.joined(field, Short::small(first, VARINT, small), Short::field(second, value));
    }

    /// Writes a message, filled by `fill`. Most lengths take one byte; where more are needed, the message is moved.
    pub fn message(&mut self, field: u32, fill: impl FnOnce(&mut Wire)) {
        self.tag(field, LENGTH);
        let place = self.bytes.len();
        self.bytes.push(0);
        fill(self);
        let length = self.bytes.len() - place - 1;
        if let (true, Some(byte)) = (length < 0x80, self.bytes.get_mut(place)) {
            *byte = length as u8;
            return;
        }
        let Short { bytes: prefix, count } = Short::varint(length as u64);
        self.bytes.resize(place + count + length, 0);
        self.bytes.copy_within(place + 1..place + 1 + length, place + count);
        let prefix = prefix.to_le_bytes();
        self.bytes.iter_mut().skip(place).zip(&prefix).take(count).for_each(|(byte, prefix)| *byte = *prefix);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_as_the_format_has_them() {
        let mut wire = Wire::default();
        wire.number(1, 150);
        wire.signed(2, -2);
        wire.fixed(3, 1);
        wire.text(4, "abc");
        let expected = [
            &[0x08, 0x96, 0x01][..],
            &[0x10, 0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01],
            &[0x19, 1, 0, 0, 0, 0, 0, 0, 0],
            &[0x22, 3, b'a', b'b', b'c'],
        ];
        assert_eq!(wire.bytes(), expected.concat());
    }

    #[test]
    fn numbers_of_any_length_take_seven_bits_a_byte() {
        let edges = (0..64).flat_map(|bit| [1u64 << bit, (1 << bit) - 1, u64::MAX >> bit]);
        for value in edges {
            let mut wire = Wire::default();
            wire.varint(value);
            let (read, shift) = wire
                .bytes()
                .iter()
                .fold((0u64, 0), |(read, shift), byte| (read | u64::from(byte & 0x7f) << shift, shift + 7));
            let last = wire.bytes().iter().position(|byte| *byte < 0x80);
            assert_eq!((read, last), (value, Some(wire.bytes().len() - 1)), "{value:x}");
            assert!(value >> (shift - 7) > 0 || shift == 7, "{value:x} takes {} bytes", wire.bytes().len());
        }
    }

    #[test]
    fn what_is_joined_is_as_if_made_anew() {
        for (value, length) in [(0, 0), (300, 3), (u64::MAX, 2), (u64::MAX, 16)] {
            let mut rest = Wire::default();
            rest.bytes.extend(vec![7; length]);
            let head = Short::field(8, value);
            let (mut joined, mut anew) = (Wire::default(), Wire::default());
            joined.joined(1, head, Short::of(&rest).unwrap());
            anew.message(1, |message| {
                message.number(8, value);
                message.append(&rest);
            });
            assert_eq!(joined.bytes(), anew.bytes(), "{value} {length}");
        }
        for value in [0, 127, 128, u64::MAX] {
            let (mut two, mut anew) = (Wire::default(), Wire::default());
            two.two(4, (1, 5), (3, value));
            anew.message(4, |message| {
                message.number(1, 5);
                message.number(3, value);
            });
            assert_eq!(two.bytes(), anew.bytes(), "{value}");
        }
    }

    #[test]
    fn what_is_short_has_sixteen_bytes() {
        let mut wire = Wire::default();
        wire.bytes.extend([0; 17]);
        assert!(Short::of(&wire).is_none());
        let long = Short::field(16, u64::MAX);
        assert_eq!(long.count, 12);
        assert!(long.then(Short::field(2, 1 << 20)).is_some());
        assert!(long.then(Short::field(2, 1 << 21)).is_none());
    }

    #[test]
    fn a_message_has_its_length_before_it_however_long() {
        for count in [0, 1, 125, 126, 127, 128, 20_000] {
            let mut wire = Wire::default();
            wire.message(1, |inner| inner.message(2, |inner| inner.text(3, vec![7; count])));
            let mut by_hand = Wire::default();
            by_hand.text(3, vec![7; count]);
            for field in [2, 1] {
                let mut outer = Wire::default();
                outer.text(field, by_hand.bytes());
                by_hand = outer;
            }
            assert_eq!(wire.bytes(), by_hand.bytes(), "{count}");
        }
    }
}
