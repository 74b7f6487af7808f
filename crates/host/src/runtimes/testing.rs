//! Memory made up by tests.

use crate::target::memory::Memory;
use std::collections::BTreeMap;
use std::io;

const PAGE: u64 = 4 << 10;

/// Pages, by number: where one byte is known, the others of its page are zero.
#[derive(Clone, Debug, Default)]
pub struct Image(BTreeMap<u64, Vec<u8>>);

impl Image {
    pub fn words(mut self, address: u64, words: &[u64]) -> Image {
        self.put(address, words);
        self
    }

    pub fn put(&mut self, address: u64, words: &[u64]) {
        for (at, byte) in (address..).zip(words.iter().flat_map(|word| word.to_ne_bytes())) {
            let page = self.0.entry(at / PAGE).or_insert_with(|| vec![0; PAGE as usize]);
            page[(at % PAGE) as usize] = byte;
        }
    }
}

impl Memory for Image {
    fn read(&self, address: u64, buffer: &mut [u8]) -> io::Result<()> {
        for (index, byte) in buffer.iter_mut().enumerate() {
            let at = address.checked_add(index as u64).ok_or(io::ErrorKind::UnexpectedEof)?;
            *byte = self.0.get(&(at / PAGE)).ok_or(io::ErrorKind::UnexpectedEof)?[(at % PAGE) as usize];
        }
        Ok(())
    }
}
