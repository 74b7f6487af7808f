//! Heaps for tests, built block by block.

use crate::blocks::{BlockGroup, Groups};
use crate::descriptor::{BLOCK, FIRST, MEGABLOCK};
use crate::map::Kind;
use crate::memory::{Memory, Space};
use std::collections::BTreeMap;
use std::io;

/// The descriptors of a megablock under construction.
pub struct Laid {
    address: u64,
    bytes: Vec<u8>,
    next: usize,
}

impl Laid {
    /// Starts at `address`.
    pub fn at(address: u64) -> Laid {
        Laid { address, bytes: vec![0; 16384], next: FIRST }
    }

    /// Appends a group.
    pub fn group(mut self, blocks: u32, generation: u16, flags: u16, used: u64) -> Laid {
        let start = self.address + self.next as u64 * BLOCK;
        self.set(start, start + used, generation, flags, blocks);
        self
    }

    /// Appends a free group.
    pub fn free(mut self, blocks: u32) -> Laid {
        let start = self.address + self.next as u64 * BLOCK;
        self.set(start, u64::MAX, 0, 0, blocks);
        self
    }

    fn set(&mut self, start: u64, free: u64, generation: u16, flags: u16, blocks: u32) {
        let at = self.next * 64;
        self.bytes[at..at + 8].copy_from_slice(&start.to_ne_bytes());
        self.bytes[at + 8..at + 16].copy_from_slice(&free.to_ne_bytes());
        self.bytes[at + 40..at + 42].copy_from_slice(&generation.to_ne_bytes());
        self.bytes[at + 46..at + 48].copy_from_slice(&flags.to_ne_bytes());
        self.bytes[at + 48..at + 52].copy_from_slice(&blocks.to_ne_bytes());
        self.next = (self.next + blocks as usize).min(256);
    }

    /// The descriptors as bytes.
    pub fn descriptors(&self) -> Vec<u8> {
        self.bytes.clone()
    }
}

/// A space of `megablocks` from `address` on.
pub fn space(address: u64, megablocks: u64) -> Space {
    Space { committed: std::iter::once(address..address + megablocks * MEGABLOCK).collect() }
}

/// Pinned groups from pairs of address and used bytes.
pub fn groups(of: &[(u64, u64)]) -> Groups {
    let group = |(start, used): &(u64, u64)| BlockGroup {
        start: *start,
        free: start + used,
        kind: Kind::Pinned,
        generation: 1,
    };
    Groups::made(of.iter().map(group).collect())
}

/// Memory with bytes at some addresses.
#[derive(Default)]
pub struct Image {
    parts: BTreeMap<u64, Vec<u8>>,
}

impl Image {
    /// Puts `bytes` at `address`.
    pub fn put(mut self, address: u64, bytes: impl Into<Vec<u8>>) -> Image {
        self.parts.insert(address, bytes.into());
        self
    }

    /// Puts `words` at `address`.
    pub fn words(self, address: u64, words: &[u64]) -> Image {
        self.put(address, words.iter().flat_map(|word| word.to_ne_bytes()).collect::<Vec<u8>>())
    }
}

impl Memory for Image {
    fn read(&self, address: u64, buffer: &mut [u8]) -> io::Result<()> {
        let missing = || io::Error::from(io::ErrorKind::UnexpectedEof);
        let (start, bytes) = self.parts.range(..=address).next_back().ok_or_else(missing)?;
        let from = (address - start) as usize;
        buffer.copy_from_slice(bytes.get(from..from + buffer.len()).ok_or_else(missing)?);
        Ok(())
    }
}
