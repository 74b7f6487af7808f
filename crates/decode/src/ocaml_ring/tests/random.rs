//! Random damage: no panic, no endless loop, events in time order, and never more of them than the bytes allow.

use super::super::builder::{RingBuilder, capture_of};
use super::open;
use crate::ocaml_ring::{PACKED_WORDS_MAX, Version};
use rtscope_model::{Classes, Time};

/// Pseudorandom numbers (xorshift).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, end: usize) -> usize {
        (self.next() % end.max(1) as u64) as usize
    }
}

fn read_to_the_end(bytes: &[u8]) {
    for version in [None, Some(Version::V5_3), Some(Version::V5_4), Some(Version::V5_1)] {
        let Ok(rings) = open(bytes, version) else { continue };
        let mut stream = rings.stream(Classes::ALL);
        let (mut last, mut events) = (Time(0), 0);
        for event in stream.by_ref() {
            assert!(event.time >= last);
            last = event.time;
            events += 1;
        }
        let tally = stream.tally();
        // A packed event has at least two bytes, and padding stands for any number of words.
        assert!(events <= 2 * bytes.len(), "{events} events of {} bytes", bytes.len());
        let most = (1 + bytes.len() as u64 / 40) * 8 * PACKED_WORDS_MAX;
        assert!(tally.losses.len() < 4 * 512 && tally.bytes <= most, "{}", tally.bytes);
    }
}

fn rings() -> RingBuilder {
    let rings = (0..30).fold(RingBuilder::new(Version::V5_4, 3, 1 << 8), |rings, round| {
        rings.minor(100 * round + 100, (round % 3) as u16, &[((round + 1) % 3) as u16])
    });
    rings.name(1, "x").slot(0, |ring| {
        ring.user_int(9_000, 1, 5).heap(9_001, 5, 4, 3).life(9_002, "ring_resume", 0).life(9_003, "ring_stop", 0);
    })
}

#[test]
fn damaged_rings_are_read_to_their_end() {
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let file = rings().file();
    let short = file[..64 + 240 + 3 * 2048].to_vec();
    for whole in [short, rings().captured(4), capture_of(&file, 40)] {
        for _ in 0..400 {
            let mut bytes = whole.clone();
            for _ in 0..=random.below(6) {
                let at = random.below(bytes.len());
                match random.below(4) {
                    0 => bytes[at] ^= 1 << random.below(8),
                    1 => bytes[at] = random.next() as u8,
                    2 => {
                        let at = at / 8 * 8;
                        let word = random.next().to_le_bytes();
                        bytes[at..].iter_mut().zip(word).for_each(|(byte, new)| *byte = new);
                    }
                    _ => bytes.truncate(at.max(64)),
                }
            }
            read_to_the_end(&bytes);
        }
    }
}

#[test]
fn noise_after_a_good_head_is_read_to_its_end() {
    let mut random = Random(0x1234_5678_9abc_def1);
    for _ in 0..200 {
        let mut bytes = RingBuilder::new(Version::V5_4, 3, 1 << 8).captured(1);
        (0..random.below(600)).for_each(|_| {
            let small = random.below(3) > 0;
            let word = if small { random.next() % 9 } else { random.next() >> random.below(64) };
            bytes.extend(word.to_le_bytes());
        });
        read_to_the_end(&bytes);
    }
}
