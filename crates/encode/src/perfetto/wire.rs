//! Protocol buffers as bytes: tags, varints, messages inside messages. Owns the wire
//! format; refuses to know any message.
//!
//! Own code, because it is the hot path: a span is two packets of some thirty bytes, and
//! they are made in place, without a tree of objects first.

/// Bytes of messages that are being made.
#[derive(Default, Debug)]
pub(super) struct Wire {
    bytes: Vec<u8>,
}

const VARINT: u64 = 0;
const FIXED64: u64 = 1;
const LENGTH: u64 = 2;

/// `value` in groups of seven bits, and how many bytes that takes. Times take eight: all groups are put in their
/// places at once, since a loop over them is mispredicted where it ends.
#[inline(always)]
fn varint(mut value: u64) -> ([u8; 10], usize) {
    let mut bytes = [0; 10];
    if value >> 56 == 0 {
        let count = (64 - (value | 1).leading_zeros()).div_ceil(7);
        value = value & 0x0000_0000_0fff_ffff | (value & 0x00ff_ffff_f000_0000) << 4;
        value = value & 0x0000_3fff_0000_3fff | (value & 0x0fff_c000_0fff_c000) << 2;
        value = value & 0x007f_007f_007f_007f | (value & 0x3f80_3f80_3f80_3f80) << 1;
        let go_on = 0x8080_8080_8080_8080 & !(u64::MAX << (8 * (count - 1)));
        bytes[..8].copy_from_slice(&(value | go_on).to_le_bytes());
        return (bytes, count as usize);
    }
    let mut last = 0;
    while value >= 0x80 {
        bytes[last] = value as u8 | 0x80;
        value >>= 7;
        last += 1;
    }
    bytes[last] = value as u8;
    (bytes, last + 1)
}

/// A few numbers at the beginning of a message, with room for that message's own tag and length before them. They are
/// made on the stack: each of them would else ask whether there is room for it.
pub(super) struct Head {
    bytes: [u8; Head::ROOM],
    length: usize,
}

/// The rest of a short message, that comes often: it is copied whole, since a copy of so many bytes as there are is
/// a call.
#[derive(Copy, Clone, Debug)]
pub(super) struct Tail {
    bytes: [u8; Tail::ROOM],
    length: usize,
}

impl Tail {
    const ROOM: usize = 16;

    /// Of fields that are made already; `None`: they are too many.
    pub fn of(fields: &Wire) -> Option<Tail> {
        let mut bytes = [0; Tail::ROOM];
        bytes.get_mut(..fields.bytes.len())?.copy_from_slice(&fields.bytes);
        Some(Tail { bytes, length: fields.bytes.len() })
    }
}

impl Default for Head {
    fn default() -> Self {
        Head { bytes: [0; Head::ROOM], length: Head::FIRST }
    }
}

impl Head {
    const FIRST: usize = 2;
    /// Of three numbers that take ten bytes each, with tags of two; and what is written and counts for nothing.
    const ROOM: usize = Head::FIRST + 3 * (2 + 10) + Tail::ROOM;

    /// An unsigned field. What there is no room for is left out.
    #[inline]
    pub fn number(&mut self, field: u32, value: u64) {
        self.varint(u64::from(field) << 3 | VARINT);
        self.varint(value);
    }

    #[inline]
    fn varint(&mut self, value: u64) {
        if value < 0x80 {
            if let Some(place) = self.bytes.get_mut(self.length) {
                *place = value as u8;
                self.length += 1;
            }
            return;
        }
        let (bytes, count) = varint(value);
        if let Some(place) = self.bytes.get_mut(self.length..self.length + bytes.len()) {
            place.copy_from_slice(&bytes);
            self.length += count;
        }
    }
}

impl Wire {
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    pub fn clear(&mut self) {
        self.bytes.clear();
    }

    #[inline]
    fn varint(&mut self, value: u64) {
        if value < 0x80 {
            return self.bytes.push(value as u8);
        }
        // All ten bytes, and the surplus off again: a check of the room for each byte costs more.
        let (bytes, count) = varint(value);
        let end = self.bytes.len() + count;
        self.bytes.extend_from_slice(&bytes);
        self.bytes.truncate(end);
    }

    #[inline]
    fn tag(&mut self, field: u32, kind: u64) {
        self.varint(u64::from(field) << 3 | kind);
    }

    /// An unsigned field.
    #[inline]
    pub fn number(&mut self, field: u32, value: u64) {
        if field < 16 && value < 0x80 {
            return self.bytes.extend_from_slice(&[(field << 3) as u8, value as u8]);
        }
        self.tag(field, VARINT);
        self.varint(value);
    }

    /// A signed field.
    pub fn signed(&mut self, field: u32, value: i64) {
        self.number(field, value as u64);
    }

    /// A field of eight bytes.
    pub fn fixed(&mut self, field: u32, value: u64) {
        self.tag(field, FIXED64);
        self.bytes.extend_from_slice(&value.to_le_bytes());
    }

    /// A text, or a message that is made already.
    pub fn text(&mut self, field: u32, text: impl AsRef<[u8]>) {
        let text = text.as_ref();
        self.tag(field, LENGTH);
        self.varint(text.len() as u64);
        self.bytes.extend_from_slice(text);
    }

    /// Fields that are made already.
    pub fn append(&mut self, fields: &Wire) {
        self.bytes.extend_from_slice(&fields.bytes);
    }

    /// A message of two parts of which the second comes often.
    #[inline]
    pub fn often(&mut self, field: u32, mut head: Head, tail: &Tail) {
        let length = head.length - Head::FIRST + tail.length;
        let place = head.bytes.get_mut(head.length..head.length + Tail::ROOM);
        let (true, Some(place)) = (field < 16 && length < 0x80, place) else {
            return self.joined(field, head, tail.bytes.get(..tail.length).unwrap_or_default());
        };
        place.copy_from_slice(&tail.bytes);
        (head.bytes[0], head.bytes[1]) = ((u64::from(field) << 3 | LENGTH) as u8, length as u8);
        let end = self.bytes.len() + Head::FIRST + length;
        self.bytes.extend_from_slice(&head.bytes);
        self.bytes.truncate(end);
    }

    /// A message of two numbers, of which the first is small, as are all three fields.
    #[inline]
    pub fn two(&mut self, field: u32, (first, small): (u32, u64), (second, value): (u32, u64)) {
        debug_assert!(small < 0x80 && field < 16 && first < 16 && second < 16, "each takes a byte");
        let (number, count) = varint(value);
        let tag = |field: u32, kind| (u64::from(field) << 3 | kind) as u8;
        let mut bytes = [0; 5 + 10];
        let begin = [tag(field, LENGTH), (3 + count) as u8, tag(first, VARINT), small as u8, tag(second, VARINT)];
        bytes[..5].copy_from_slice(&begin);
        bytes[5..].copy_from_slice(&number);
        let end = self.bytes.len() + 5 + count;
        self.bytes.extend_from_slice(&bytes);
        self.bytes.truncate(end);
    }

    /// A message of two parts that are made already.
    #[inline]
    pub fn joined(&mut self, field: u32, mut head: Head, tail: &[u8]) {
        let length = head.length - Head::FIRST + tail.len();
        let mut from = Head::FIRST;
        if field < 16 && length < 0x80 {
            (head.bytes[0], head.bytes[1]) = ((u64::from(field) << 3 | LENGTH) as u8, length as u8);
            from = 0;
        } else {
            self.tag(field, LENGTH);
            self.varint(length as u64);
        }
        self.bytes.extend_from_slice(&head.bytes[from..head.length]);
        self.bytes.extend_from_slice(tail);
    }

    /// A message, made by `fill`. Its length takes one byte in most: where it takes more,
    /// the message is moved.
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
        let (prefix, count) = varint(length as u64);
        self.bytes.resize(place + count + length, 0);
        self.bytes.copy_within(place + 1..place + 1 + length, place + count);
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
    fn a_head_and_a_tail_are_one_message_however_long() {
        for (field, length) in [(1, 0), (1, 100), (1, 121), (1, 122), (1, 5_000), (16, 3)] {
            let mut head = Head::default();
            head.number(8, 300);
            head.number(58, u64::MAX);
            let mut by_hand = Wire::default();
            by_hand.number(8, 300);
            by_hand.number(58, u64::MAX);
            by_hand.bytes.extend(vec![7; length]);
            let (mut joined, mut expected) = (Wire::default(), Wire::default());
            joined.joined(field, head, &vec![7; length]);
            expected.text(field, by_hand.bytes());
            assert_eq!(joined.bytes(), expected.bytes(), "{field} {length}");
        }
    }

    #[test]
    fn what_comes_often_is_as_if_made_anew() {
        for (field, at, length) in [(1, 300, 0), (1, u64::MAX, 16), (16, 3, 3)] {
            let mut rest = Wire::default();
            rest.bytes.extend(vec![7; length]);
            let tail = Tail::of(&rest).unwrap();
            let head = || {
                let mut head = Head::default();
                [8, 10, 58].iter().for_each(|field| head.number(*field, at));
                head
            };
            let (mut often, mut joined) = (Wire::default(), Wire::default());
            often.often(field, head(), &tail);
            joined.joined(field, head(), rest.bytes());
            assert_eq!(often.bytes(), joined.bytes(), "{field} {at} {length}");
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
        let mut long = Wire::default();
        long.bytes.extend([0; 17]);
        assert!(Tail::of(&long).is_none());
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
