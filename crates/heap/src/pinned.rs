//! Which pinned objects are alive, what holds them, and which dead neighbours they keep. Owns finding
//! the object that a pointer points into. A pinned object is a byte array: it has no pointers itself.
//!
//! An object counts as alive if a word of another object, or of the program's own data, points to it
//! or into it. Right after a major collection these are the objects that the collector found alive;
//! later the count is an upper bound.

use crate::bits::Bits;
use crate::blocks::{BlockGroup, Groups};
use crate::closure::Type;
use crate::descriptor::{BLOCK, BLOCKS, MEGABLOCK};
use crate::held::Held;
use crate::memory::Memory;
use crate::slices::is_large;
use crate::walk::Tables;
use std::collections::HashMap;

/// What was found of the pinned objects.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pinned {
    /// Block groups with pinned objects.
    pub groups: u64,
    pub block_bytes: u64,
    pub used_bytes: u64,
    /// Objects, dead or alive.
    pub objects: u64,
    /// Objects that something points to, and their bytes.
    pub live_objects: u64,
    pub live_bytes: u64,
    /// What holds them, largest holders first.
    pub holders: Vec<Holder>,
    /// The block groups that keep most dead bytes.
    pub worst: Vec<Worst>,
    /// What is alive in each block group, by address.
    pub lives: Vec<Live>,
}

/// What is alive in a block group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Live {
    pub address: u64,
    /// Bytes of its blocks.
    pub bytes: u64,
    /// Bytes of objects that something points to.
    pub live_bytes: u64,
}

/// A block group that keeps dead bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Worst {
    pub address: u64,
    /// Bytes of objects that something points to.
    pub live_bytes: u64,
    /// The group's other used bytes.
    pub dead_bytes: u64,
    /// The info table whose objects hold most of the group.
    pub holder: Option<u64>,
}

/// The objects of one info table that point to pinned objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Holder {
    /// Address of the info table, or of the pointer if that lies in the program's own data.
    pub info_address: u64,
    /// Pointers to pinned objects.
    pub count: u64,
    /// Bytes of the objects pointed to; an object with several pointers to it counts once for each.
    pub live_bytes: u64,
    /// Dead bytes of their blocks, split among a block's holders in proportion to what each holds there.
    pub kept_dead_bytes: u64,
}

/// Number of worst block groups that are shown.
const WORST: usize = 10;
/// Words of a block within which its only object begins, whatever the alignment.
const ALIGNED_WITHIN: usize = 64;

/// The search for live objects; several threads may search at once.
pub struct Search {
    pub groups: Groups,
    /// Which words begin an object, and which of those objects are alive.
    begin: Bits,
    alive: Bits,
    places: GroupIndex,
}

impl Search {
    /// Starts a search in `groups`; where objects begin is not known yet.
    pub fn over(groups: Groups) -> Search {
        Search { begin: Bits::of(&groups), alive: Bits::of(&groups), places: GroupIndex::of(&groups), groups }
    }

    /// Finds where objects begin in group `number`, which holds `words`. For a group of several blocks,
    /// which holds a single object, `words` is the content of its first block.
    pub fn begin<M: Memory>(&self, number: usize, words: &[u64], tables: &mut Tables<'_, M>) {
        let Some(group) = self.groups.get(number) else { return };
        if is_large(group.used_bytes()) {
            let is_object = |word: &u64| tables.find(*word).is_some_and(|table| table.info.kind == Type::Bytes);
            let at = words.iter().take(ALIGNED_WITHIN).position(is_object).unwrap_or(0);
            self.begin.set(number, at as u64);
            return;
        }
        beginnings(words, group.start, tables, |at| {
            self.begin.set(number, at as u64);
        });
    }

    /// Checks a word of an object: a pinned object that it points to or into is alive. Returns the
    /// object's group number and bytes.
    #[inline]
    pub fn word(&self, word: u64) -> Option<(u32, u64)> {
        self.pointer(word, self.places.group(word)?)
    }

    fn pointer(&self, address: u64, number: u32) -> Option<(u32, u64)> {
        let group = number as usize;
        // Nothing lies above the used part of the block.
        let found = self.groups.get(group).filter(|group| address < group.free)?;
        let begin = self.begin.last(group, (address - found.start) / 8)?;
        self.alive.set(group, begin);
        Some((number, self.bytes(group, begin)))
    }

    /// Offset of `address` in the large object of group `number`; `None`: the group holds small objects.
    #[inline]
    pub fn in_large(&self, address: u64, number: u32) -> Option<u64> {
        let group = self.groups.get(number as usize).filter(|group| is_large(group.used_bytes()))?;
        let begin = group.start + 8 * self.begin.next(number as usize, 0).unwrap_or(0);
        Some(address.saturating_sub(begin))
    }

    /// Bytes from the object that begins at `word` to the next one, or to the end.
    fn bytes(&self, group: usize, word: u64) -> u64 {
        let Some(used) = self.groups.get(group).map(BlockGroup::used_bytes) else { return 0 };
        let next = self.begin.next(group, word + 1).unwrap_or(used / 8);
        8 * next.saturating_sub(word)
    }

    /// Sums up; `young`: all objects of generation 0 count as alive.
    pub fn finish(&self, held: &Held, young: bool) -> Pinned {
        let mut pinned = Pinned {
            groups: self.groups.len() as u64,
            block_bytes: self.groups.iter().map(|group| group.used_bytes().next_multiple_of(BLOCK)).sum(),
            used_bytes: self.groups.used_bytes(),
            ..Pinned::default()
        };
        let mut dead = Vec::with_capacity(self.groups.len());
        for (number, group) in self.groups.iter().enumerate() {
            let mut live_bytes = 0;
            pinned.objects += self.begin.words(number).count() as u64;
            let alive = if young && group.generation == 0 { &self.begin } else { &self.alive };
            for word in alive.words(number) {
                pinned.live_objects += 1;
                live_bytes += self.bytes(number, word);
            }
            pinned.live_bytes += live_bytes;
            let dead_bytes = group.used_bytes().saturating_sub(live_bytes);
            dead.push(dead_bytes);
            let bytes = group.used_bytes().next_multiple_of(BLOCK);
            pinned.lives.push(Live { address: group.start, bytes, live_bytes });
            // The next collection of its generation frees a block that has no live object.
            if live_bytes > 0 && dead_bytes > 0 {
                pinned.worst.push(Worst { address: group.start, live_bytes, dead_bytes, holder: None });
            }
        }
        pinned.worst.sort_by_key(|worst| (std::cmp::Reverse(worst.dead_bytes), worst.address));
        pinned.worst.truncate(WORST);
        let most = self.most(&pinned.worst, held);
        for (worst, holder) in pinned.worst.iter_mut().zip(most) {
            worst.holder = holder;
        }
        pinned.holders = holders(&dead, held);
        pinned
    }

    /// For each group, the info table that holds most of it.
    fn most(&self, worst: &[Worst], held: &Held) -> Vec<Option<u64>> {
        let mut most: Vec<Option<(u64, u64)>> = vec![None; worst.len()];
        for ((holder, number), bytes) in &held.bytes {
            let address = self.groups.get(*number as usize).map(|group| group.start);
            let place = worst.iter().position(|worst| Some(worst.address) == address);
            if let Some(most) = place.and_then(|place| most.get_mut(place)) {
                *most = (*most).max(Some((*bytes, *holder)));
            }
        }
        most.into_iter().map(|most| most.map(|(_, holder)| holder)).collect()
    }
}

fn holders(dead: &[u64], held: &Held) -> Vec<Holder> {
    let mut in_group = vec![0_u64; dead.len()];
    for ((_, number), bytes) in &held.bytes {
        if let Some(sum) = in_group.get_mut(*number as usize) {
            *sum += bytes;
        }
    }
    let mut holders: HashMap<u64, Holder> = HashMap::new();
    for ((holder, number), bytes) in &held.bytes {
        let place = *number as usize;
        let (dead, all) = (dead.get(place).copied().unwrap_or(0), in_group.get(place).copied().unwrap_or(0));
        let fresh = || {
            let count = held.pointers.get(holder).copied().unwrap_or(0);
            Holder { info_address: *holder, count, live_bytes: 0, kept_dead_bytes: 0 }
        };
        let holder = holders.entry(*holder).or_insert_with(fresh);
        holder.live_bytes += bytes;
        holder.kept_dead_bytes += (u128::from(dead) * u128::from(*bytes) / u128::from(all.max(1))) as u64;
    }
    let mut holders: Vec<Holder> = holders.into_values().collect();
    holders.sort_by_key(|holder| (std::cmp::Reverse(holder.live_bytes + holder.kept_dead_bytes), holder.info_address));
    holders
}

/// Indices of the words that begin an object. Gaps between objects may hold words of earlier ones.
/// Payloads lie at multiples of 16 bytes unless a program asks for less, so of two adjacent
/// candidates, take the one whose payload is aligned like that.
fn beginnings<M: Memory>(words: &[u64], address: u64, tables: &mut Tables<'_, M>, mut found: impl FnMut(usize)) {
    let mut size = |at: usize| {
        let rest = words.get(at..)?;
        let info = tables.find(*rest.first()?).map(|table| table.info).filter(|info| info.kind == Type::Bytes)?;
        usize::try_from(info.words(rest)?).ok().filter(|size| *size <= rest.len())
    };
    let mut at = 0;
    while at < words.len() {
        let aligned = (address + 8 * at as u64).is_multiple_of(16);
        match size(at) {
            Some(count) if aligned || size(at + 1).is_none() => {
                found(at);
                at += count;
            }
            _ => at += 1,
        }
    }
}

/// The group of each block. A heap may have holes of any size, so empty megablocks take no space here.
struct GroupIndex {
    /// Address of the first megablock.
    first: u64,
    /// By megablock, one more than the index in `groups` of its blocks; 0: it has none.
    megablocks: Vec<u32>,
    /// By block, one more than the number of its group; 0: none.
    groups: Vec<[u32; BLOCKS]>,
}

impl GroupIndex {
    fn of(groups: &Groups) -> GroupIndex {
        let first = groups.iter().next().map_or(0, |group| group.start & !(MEGABLOCK - 1));
        let end = groups.iter().map(|group| group.free).max().unwrap_or(first);
        let count = usize::try_from((end - first).div_ceil(MEGABLOCK)).unwrap_or(0);
        let mut places = GroupIndex { first, megablocks: vec![0; count], groups: Vec::new() };
        for (number, group) in (1..).zip(groups.iter()) {
            let blocks = (group.start - first) / BLOCK..(group.free - first).div_ceil(BLOCK);
            blocks.for_each(|block| places.put(block as usize, number));
        }
        places
    }

    fn put(&mut self, block: usize, number: u32) {
        let Some(place) = self.megablocks.get_mut(block / BLOCKS) else { return };
        if *place == 0 {
            self.groups.push([0; BLOCKS]);
            *place = self.groups.len() as u32;
        }
        let groups = self.groups.get_mut(*place as usize - 1);
        if let Some(group) = groups.and_then(|groups| groups.get_mut(block % BLOCKS)) {
            *group = number;
        }
    }

    /// Number of the group that `address` may lie in.
    #[inline]
    fn group(&self, address: u64) -> Option<u32> {
        let from = address.wrapping_sub(self.first);
        let place = self.megablocks.get(usize::try_from(from / MEGABLOCK).ok()?)?;
        let groups = self.groups.get(place.checked_sub(1)? as usize)?;
        groups.get((from % MEGABLOCK / BLOCK) as usize)?.checked_sub(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::held::Holding;
    use crate::testing::{Image, groups};
    use std::ops::Range;

    const CODE: u64 = 0x40_0000;
    const BLOCK_AT: u64 = 0x42_0010_4000;

    fn code() -> Vec<Range<u64>> {
        std::iter::once(CODE..CODE + 0x1000).collect()
    }

    #[test]
    fn objects_that_are_pointed_to_live_and_their_neighbours_are_kept() {
        let bytes = CODE + 32;
        // Three objects of 16 bytes and one of 8; then a block with one object.
        let words = [bytes, 16, 1, 1, bytes, 16, 2, 2, bytes, 16, 3, 3, bytes, 8, 4];
        let memory = Image::default().words(CODE, &[2, 4, 0, 42]);
        let mut tables = Tables::new(&memory, code());
        let search = Search::over(groups(&[(BLOCK_AT, 15 * 8), (BLOCK_AT + 4096, 24)]));
        search.begin(0, &words, &mut tables);
        search.begin(1, &[bytes, 8, 5], &mut tables);
        let mut holding = Holding::default();
        let mut word = |word, holder| {
            let found = search.word(word);
            if let Some((group, bytes)) = found {
                holding.add(holder, group, bytes);
            }
            found
        };
        let (slice, owner) = (0x1000, 0x2000);
        // Pointers to the header, into the payload, to no object, and elsewhere.
        assert_eq!(word(BLOCK_AT + 4 * 8, owner), Some((0, 32)));
        assert_eq!(word(BLOCK_AT + 6 * 8 + 3, slice), Some((0, 32)));
        assert!([BLOCK_AT - 8, BLOCK_AT + 2000, 7].into_iter().all(|address| word(address, owner).is_none()));
        let pinned = search.finish(&holding.finish(), false);
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
        let mut tables = Tables::new(&memory, code());
        let mut beginnings = |words: &[u64]| {
            let mut all = Vec::new();
            beginnings(words, BLOCK_AT, &mut tables, |at| all.push(at));
            all
        };
        // One byte, then a gap that still holds the first word of an earlier object.
        let words = [bytes, 1, 7, bytes, bytes, 1, 7, 0, bytes, 8, 7];
        assert_eq!(beginnings(&words), [0, 4, 8]);
        // A program that asks for no alignment has none.
        let words = [bytes, 8, 7, bytes, 8, 7, bytes, 8, 7];
        assert_eq!(beginnings(&words), [0, 3, 6]);
    }
}
