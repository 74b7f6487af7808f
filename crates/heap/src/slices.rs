//! Large objects that are only seen through slices. Owns what counts as a slice: a constructor with
//! an address inside a large pinned object whose last field is a length that fits there, as in byte
//! strings. Any other pointer into the object counts as seeing all of it.

use crate::blocks::Groups;
use crate::closure::Type;
use crate::descriptor::BLOCK;
use crate::walk::InfoTable;
use rtscope_model::heap::Large;
use std::collections::HashMap;

/// What is seen of one object.
#[derive(Copy, Clone, Default)]
struct SeenObject {
    /// Sum of the bytes that slices show.
    bytes: u64,
    /// The info table of one of these slices.
    holder: u64,
}

/// What is seen of large objects, by group number.
#[derive(Default)]
pub struct Slices {
    seen: HashMap<u32, SeenObject>,
}

impl Slices {
    /// The object `own` points at `offset` into a large object of `bytes` in `group`. Pointers to its
    /// header show nothing of it.
    pub fn add(&mut self, group: u32, (offset, bytes): (u64, u64), table: InfoTable, own: &[u64]) {
        const HEADER: u64 = 16;
        if offset < HEADER {
            return;
        }
        let length = own.last().copied().filter(|length| *length <= bytes.saturating_sub(offset));
        let shown = length.filter(|_| table.info.kind == Type::Constructor).unwrap_or(bytes);
        let seen = self.seen.entry(group).or_default();
        seen.bytes = seen.bytes.saturating_add(shown);
        seen.holder = own.first().copied().unwrap_or(0);
    }

    /// Adds the results of another thread.
    pub fn merge(&mut self, other: Slices) {
        for (group, more) in other.seen {
            let seen = self.seen.entry(group).or_default();
            *seen = SeenObject { bytes: seen.bytes.saturating_add(more.bytes), holder: more.holder };
        }
    }

    /// Sums up; `pinned`: the groups that the numbers refer to; `others`: large objects of any type. Also
    /// returns the info table of most of the slices; the caller looks up its name.
    pub fn finish(&self, pinned: &Groups, others: &Groups) -> (Large, Option<u64>) {
        let mut large = Large { objects: others.len() as u64, bytes: others.used_bytes(), ..Large::default() };
        let mut holders: HashMap<u64, u64> = HashMap::new();
        for (number, group) in (0..).zip(pinned.iter()).filter(|(_, group)| is_large(group.used_bytes())) {
            let bytes = group.used_bytes();
            large.objects += 1;
            large.bytes += bytes;
            if let Some(seen) = self.seen.get(&number).filter(|seen| seen.bytes.saturating_mul(2) < bytes) {
                large.sliced += 1;
                large.sliced_bytes += bytes;
                large.shown_bytes += seen.bytes;
                *holders.entry(seen.holder).or_default() += bytes;
            }
        }
        let most = holders.into_iter().max_by_key(|(holder, bytes)| (*bytes, *holder));
        (large, most.map(|(holder, _)| holder))
    }
}

/// Whether it is large: small pinned objects share single blocks.
pub fn is_large(used_bytes: u64) -> bool {
    used_bytes > BLOCK
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::closure::Info;
    use crate::testing::groups;

    #[test]
    fn a_slice_shows_its_length_and_all_else_shows_the_whole() {
        let pinned = groups(&[
            (0x42_0010_4000, 40_000),
            (0x42_0020_4000, 50_000),
            (0x42_0030_4000, 60_000),
            (0x42_0040_4000, 64),
        ]);
        let others = groups(&[(0x42_0050_4000, 9000)]);
        let table = |kind| InfoTable { info: Info { kind, pointers: 1, others: 2 }, number: 0 };
        let (slice, keeper) = (0x1000, 0x2000);
        let constructor = table(Type::Constructor);
        let mut slices = Slices::default();
        slices.add(0, (0, 40_000), constructor, &[keeper, 1]);
        slices.add(0, (116, 40_000), constructor, &[slice, 1, 2, 16]);
        slices.add(1, (16, 50_000), constructor, &[slice, 1, 2, 30_000]);
        slices.add(2, (16, 60_000), constructor, &[slice, 1, 2, 20]);
        let mut more = Slices::default();
        more.add(0, (16, 40_000), constructor, &[slice, 1, 2, 8]);
        more.add(2, (16, 60_000), table(Type::Thunk), &[0x3000, 1, 2, 20]);
        slices.merge(more);
        let (large, holder) = slices.finish(&pinned, &others);
        assert_eq!((large.objects, large.bytes), (4, 159_000));
        assert_eq!((large.sliced, large.sliced_bytes, large.shown_bytes), (1, 40_000, 24));
        assert_eq!(holder, Some(slice));
    }
}
