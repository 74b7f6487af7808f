//! Memory made up by tests.

use crate::target::memory::Memory;
use std::collections::BTreeMap;
use std::io;

/// Bytes at addresses.
#[derive(Clone, Debug, Default)]
pub struct Image(BTreeMap<u64, u8>);

impl Image {
    pub fn words(mut self, address: u64, words: &[u64]) -> Image {
        self.put(address, words);
        self
    }

    pub fn put(&mut self, address: u64, words: &[u64]) {
        let bytes = words.iter().flat_map(|word| word.to_ne_bytes());
        self.0.extend((address..).zip(bytes));
    }
}

impl Memory for Image {
    fn read(&self, address: u64, buffer: &mut [u8]) -> io::Result<()> {
        for (index, byte) in buffer.iter_mut().enumerate() {
            let at = address.checked_add(index as u64).ok_or(io::ErrorKind::UnexpectedEof)?;
            *byte = *self.0.get(&at).ok_or(io::ErrorKind::UnexpectedEof)?;
        }
        Ok(())
    }
}
