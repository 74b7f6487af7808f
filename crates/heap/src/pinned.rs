//! Which pinned objects are alive, who holds them, and what dead neighbours that keeps.
//! Owns the way from a pointer to the object that it points into. A pinned object is a byte
//! array: it holds nothing itself.
//!
//! An object counts as alive where a word of another object points to it or into it. Right
//! behind a major collection that is what the collector itself found, stacks and the
//! runtime's own tables aside; later it is what may be alive at most.

use crate::bits::Bits;
use crate::blocks::Groups;
use crate::closure::Type;
use crate::descriptor::BLOCK;
use crate::memory::Memory;
use crate::walk::{self, Tables};
use std::collections::HashMap;
use std::io;

/// What is pinned.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pinned {
    /// Block groups, their bytes, and those of them that are used.
    pub groups: u64,
    /// See `groups`.
    pub block_bytes: u64,
    /// See `groups`.
    pub used_bytes: u64,
    /// Objects, dead or alive.
    pub objects: u64,
    /// Those that something points to, and their bytes.
    pub live_objects: u64,
    /// See `live_objects`.
    pub live_bytes: u64,
    /// Who holds them, those that hold most first.
    pub holders: Vec<Holder>,
    /// Block groups that keep most dead bytes.
    pub worst: Vec<Worst>,
    /// What lives in each block group, by address.
    pub lives: Vec<Live>,
}

/// What lives in a block group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Live {
    /// Its address.
    pub address: u64,
    /// Bytes of its blocks.
    pub bytes: u64,
    /// Bytes of objects that something points to.
    pub live_bytes: u64,
}

/// A block group that keeps dead bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Worst {
    /// Its address.
    pub address: u64,
    /// Bytes of objects that something points to.
    pub live_bytes: u64,
    /// Used bytes of it otherwise.
    pub dead_bytes: u64,
    /// The info table whose objects hold most of it.
    pub holder: Option<u64>,
}

/// Objects of one info table that point to pinned ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Holder {
    /// The info table.
    pub info_address: u64,
    /// Pointers to pinned objects.
    pub count: u64,
    /// Bytes of the objects that those point to; one with several pointers counts for each.
    pub live_bytes: u64,
    /// Dead bytes of their blocks, split among the holders of a block as what they hold in it.
    pub kept_dead_bytes: u64,
}

/// Blocks shown as the worst.
const WORST: usize = 10;

/// The search for what is alive.
pub struct Search {
    groups: Groups,
    /// Which words begin an object, and which of those are alive.
    begin: Bits,
    alive: Bits,
    objects: u64,
    /// Bytes held, by info table and group, and pointers by info table.
    held: HashMap<(u64, u32), u64>,
    pointers: HashMap<u64, u64>,
    /// Number of the group of each block, one more; from the first group's address on.
    places: Vec<u32>,
    first: u64,
}

impl Search {
    /// Finds where objects begin in pinned blocks.
    ///
    /// # Errors
    /// A block cannot be read.
    pub fn new<M: Memory>(memory: &M, groups: Groups, tables: &mut Tables<'_, M>) -> io::Result<Search> {
        let (begin, alive) = (Bits::of(&groups), Bits::of(&groups));
        let first = groups.iter().next().map_or(0, |group| group.start);
        let mut search = Search {
            begin,
            alive,
            objects: 0,
            held: HashMap::new(),
            pointers: HashMap::new(),
            places: places(&groups, first),
            first,
            groups,
        };
        let mut bytes = Vec::new();
        for (number, group) in search.groups.iter().enumerate() {
            let words = walk::read(memory, group, &mut bytes)?;
            for at in beginnings(&words, group.start, tables) {
                search.objects += u64::from(search.begin.set(number, at as u64));
            }
        }
        Ok(search)
    }

    /// Takes a word of an object of `info_address`: it may point to a pinned one.
    pub fn word(&mut self, word: u64, info_address: u64) {
        let block = word.wrapping_sub(self.first) / BLOCK;
        let Some(place) = usize::try_from(block).ok().and_then(|block| self.places.get(block)) else { return };
        let Some(number) = place.checked_sub(1) else { return };
        // Behind what is used of the block nothing lies.
        if self.groups.get(number as usize).is_some_and(|group| word < group.free) {
            self.pointer(word, info_address, number);
        }
    }

    fn pointer(&mut self, address: u64, info_address: u64, number: u32) {
        let group = number as usize;
        let Some(start) = self.groups.get(group).map(|group| group.start) else { return };
        let Some(begin) = self.begin.last(group, (address - start) / 8) else { return };
        self.alive.set(group, begin);
        let bytes = self.bytes(group, begin);
        *self.held.entry((info_address, number)).or_default() += bytes;
        *self.pointers.entry(info_address).or_default() += 1;
    }

    /// Bytes from the object that begins at `word` to the next one, or to the end.
    fn bytes(&self, group: usize, word: u64) -> u64 {
        let Some(used) = self.groups.get(group).map(|group| group.used_bytes()) else { return 0 };
        let words = used / 8;
        let next = (word + 1..words).find(|next| self.begin.has(group, *next)).unwrap_or(words);
        8 * (next - word)
    }

    /// What was found.
    pub fn finish(self) -> Pinned {
        let mut pinned = Pinned {
            groups: self.groups.len() as u64,
            block_bytes: self.groups.iter().map(|group| group.used_bytes().next_multiple_of(BLOCK)).sum(),
            used_bytes: self.groups.used_bytes(),
            objects: self.objects,
            ..Pinned::default()
        };
        let mut dead = Vec::with_capacity(self.groups.len());
        for (number, group) in self.groups.iter().enumerate() {
            let mut live_bytes = 0;
            for word in self.alive.words(number, group.used_bytes() / 8) {
                pinned.live_objects += 1;
                live_bytes += self.bytes(number, word);
            }
            pinned.live_bytes += live_bytes;
            let dead_bytes = group.used_bytes().saturating_sub(live_bytes);
            dead.push(dead_bytes);
            let bytes = group.used_bytes().next_multiple_of(BLOCK);
            pinned.lives.push(Live { address: group.start, bytes, live_bytes });
            // A block without a live object is freed by the next collection of its generation.
            if live_bytes > 0 && dead_bytes > 0 {
                pinned.worst.push(Worst { address: group.start, live_bytes, dead_bytes, holder: None });
            }
        }
        pinned.worst.sort_by_key(|worst| (std::cmp::Reverse(worst.dead_bytes), worst.address));
        pinned.worst.truncate(WORST);
        for worst in &mut pinned.worst {
            worst.holder = self.most(worst.address);
        }
        pinned.holders = self.holders(&dead);
        pinned
    }

    /// Who holds most of the group at `address`.
    fn most(&self, address: u64) -> Option<u64> {
        let number = self.groups.iter().position(|group| group.start == address)?;
        let here = self.held.iter().filter(|((_, group), _)| *group as usize == number);
        here.max_by_key(|((info_address, _), bytes)| (**bytes, *info_address))
            .map(|((info_address, _), _)| *info_address)
    }

    fn holders(&self, dead: &[u64]) -> Vec<Holder> {
        let mut in_group = vec![0_u64; dead.len()];
        for ((_, number), bytes) in &self.held {
            if let Some(sum) = in_group.get_mut(*number as usize) {
                *sum += bytes;
            }
        }
        let mut holders: HashMap<u64, Holder> = HashMap::new();
        for ((info_address, number), bytes) in &self.held {
            let place = *number as usize;
            let (dead, all) = (dead.get(place).copied().unwrap_or(0), in_group.get(place).copied().unwrap_or(0));
            let count = self.pointers.get(info_address).copied().unwrap_or(0);
            let fresh = Holder { info_address: *info_address, count, live_bytes: 0, kept_dead_bytes: 0 };
            let holder = holders.entry(*info_address).or_insert(fresh);
            holder.live_bytes += bytes;
            holder.kept_dead_bytes += (u128::from(dead) * u128::from(*bytes) / u128::from(all.max(1))) as u64;
        }
        let mut holders: Vec<Holder> = holders.into_values().collect();
        holders
            .sort_by_key(|holder| (std::cmp::Reverse(holder.live_bytes + holder.kept_dead_bytes), holder.info_address));
        holders
    }
}

/// Places of the words that begin an object. What lies in the gaps between objects may be
/// of earlier ones: their payloads lie at multiples of 16 bytes unless a program asks for
/// less, so where two neighbouring words could begin one, it is the one that gives that.
fn beginnings<M: Memory>(words: &[u64], address: u64, tables: &mut Tables<'_, M>) -> Vec<usize> {
    let mut size = |at: usize| {
        let rest = words.get(at..)?;
        let info = tables.info(*rest.first()?).filter(|info| info.kind == Type::Bytes)?;
        usize::try_from(info.words(rest)?).ok().filter(|size| *size <= rest.len())
    };
    let (mut at, mut found) = (0, Vec::new());
    while at < words.len() {
        let aligned = (address + 8 * at as u64).is_multiple_of(16);
        match size(at) {
            Some(count) if aligned || size(at + 1).is_none() => {
                found.push(at);
                at += count;
            }
            _ => at += 1,
        }
    }
    found
}

/// The group of each block from `first` on, one more than its number; 0: of none.
fn places(groups: &Groups, first: u64) -> Vec<u32> {
    let end = groups.iter().last().map_or(first, |group| group.free);
    let mut places = vec![0; usize::try_from((end - first).div_ceil(BLOCK)).unwrap_or(0)];
    for (number, group) in (1..).zip(groups.iter()) {
        let from = ((group.start - first) / BLOCK) as usize;
        let count = group.used_bytes().div_ceil(BLOCK) as usize;
        places.iter_mut().skip(from).take(count).for_each(|place| *place = number);
    }
    places
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Image, groups};

    const CODE: u64 = 0x40_0000;
    const BLOCK_AT: u64 = 0x42_0010_4000;

    #[test]
    fn objects_that_are_pointed_to_live_and_their_neighbours_are_kept() {
        let bytes = CODE + 32;
        let tables_at = Image::default().words(CODE, &[2, 4, 0, 42]);
        // Three objects of 16 bytes, and one of 8; and a block of one object.
        let words = [bytes, 16, 1, 1, bytes, 16, 2, 2, bytes, 16, 3, 3, bytes, 8, 4];
        let memory = tables_at.words(BLOCK_AT, &words).words(BLOCK_AT + 4096, &[bytes, 8, 5]);
        let mut tables = Tables::new(&memory, vec![CODE..CODE + 0x1000]);
        let groups = groups(&[(BLOCK_AT, 15 * 8), (BLOCK_AT + 4096, 24)]);
        let mut search = Search::new(&memory, groups, &mut tables).unwrap();
        let (slice, owner) = (0x1000, 0x2000);
        // To its header, and into its payload; to no object; elsewhere.
        search.word(BLOCK_AT + 4 * 8, owner);
        search.word(BLOCK_AT + 6 * 8 + 3, slice);
        search.word(BLOCK_AT - 8, owner);
        search.word(BLOCK_AT + 2000, owner);
        search.word(7, owner);
        let pinned = search.finish();
        assert_eq!((pinned.groups, pinned.used_bytes, pinned.objects), (2, 18 * 8, 5));
        assert_eq!((pinned.live_objects, pinned.live_bytes), (1, 32));
        let holder = |info_address| Holder { info_address, count: 1, live_bytes: 32, kept_dead_bytes: 44 };
        assert_eq!(pinned.holders, [holder(slice), holder(owner)]);
        let worst = Worst { address: BLOCK_AT, live_bytes: 32, dead_bytes: 88, holder: Some(owner) };
        assert_eq!(pinned.worst, [worst]);
        assert_eq!(pinned.lives[0], Live { address: BLOCK_AT, bytes: 4096, live_bytes: 32 });
    }

    #[test]
    fn what_lies_in_a_gap_begins_nothing() {
        let bytes = CODE + 32;
        let memory = Image::default().words(CODE, &[2, 4, 0, 42]);
        let mut tables = Tables::new(&memory, vec![CODE..CODE + 0x1000]);
        // One byte, then a gap in which an earlier object's first word is left.
        let words = [bytes, 1, 7, bytes, bytes, 1, 7, 0, bytes, 8, 7];
        assert_eq!(beginnings(&words, BLOCK_AT, &mut tables), [0, 4, 8]);
        // A program that asks for no alignment gets none.
        let words = [bytes, 8, 7, bytes, 8, 7, bytes, 8, 7];
        assert_eq!(beginnings(&words, BLOCK_AT, &mut tables), [0, 3, 6]);
    }
}
