//! A heap at one moment: where the memory of a process is. The document that `rtscope heap --json` prints, and
//! that a capture contains as `heap/N.json`. Owns its keys, which are stable, and the marks of the map. Unknown
//! values are null.

use super::GHC;
use crate::time::Time;
use serde::{Deserialize, Serialize};

/// The schema name that this code writes.
pub const SCHEMA: &str = "rtscope/heap/1";
/// Name of the entry that [`Heap::shorten`] makes of the rest.
pub const OTHERS: &str = "others";
/// Name of the runtime of the heap.
pub const RUNTIME: &str = GHC.name;
/// Blocks of a megablock; each has a mark.
pub const MARKS: usize = 256;

/// A heap at one moment. Sizes are in bytes; `_ns` are nanoseconds.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Heap {
    /// Always [`SCHEMA`].
    pub schema: String,
    /// Origin of the heap: `process 12`, or the name of a core file.
    pub of: String,
    /// Version of the compiler, if its files show it: `9.6.6`.
    #[serde(rename = "ghc")]
    pub compiler: Option<String>,
    /// When it was read, on the clock of captures; `None`: a core file.
    pub time: Option<Time>,
    /// Resident memory as reported by the system; `None`: a core file does not show it.
    pub rss_bytes: Option<u64>,
    /// Size of the runtime's megablocks in bytes.
    pub heap_bytes: u64,
    /// How long the process was stopped; 0: it was not.
    pub stop_ns: u64,
    /// Duration of reading the blocks.
    pub read_ns: u64,
    /// Duration of reading the objects.
    pub scan_ns: u64,
    /// Number of times that the blocks were read.
    pub looks: u32,
    /// Number of megablocks that changed between these reads.
    pub unsettled_megablocks: u64,
    /// Collections while the blocks were read; `None`: not counted.
    pub collections_meanwhile: Option<u64>,
    /// Block descriptors that contradict others.
    pub contradictions: u64,
    /// Whether the old generation was being collected: then the content of its blocks is not known.
    pub in_collection: bool,
    /// Uncertainties, one sentence each; empty: there are none.
    pub doubts: Vec<String>,
    /// Blocks by kind and generation.
    pub kinds: Vec<BlockKind>,
    /// The resident memory by use, in lines that do not overlap.
    pub ledger: Vec<HeapLine>,
    /// `rss_bytes` minus all lines.
    pub unexplained_bytes: Option<i64>,
    /// The three levels of fragmentation.
    pub fragmentation: Fragmentation,
    /// Objects that must not be moved.
    pub pinned: Pinned,
    /// The objects that point to pinned ones; those that hold and retain most come first.
    pub holders: Vec<PinHolder>,
    /// Objects too large to share a block.
    pub large: Large,
    /// Objects by type, the most bytes first.
    pub census: Vec<Entry>,
    /// How far objects were read; `None`: they were not.
    pub scan: Option<Scan>,
    /// Figures of the runtime itself.
    pub runtime: RuntimeFigures,
    /// The map: megablocks that were not given back, by address.
    pub megablocks: Vec<Megablock>,
}

/// Limit of the megablocks in a stored map: 64 GiB.
const KEPT_MEGABLOCKS: usize = 1 << 16;

impl Heap {
    /// The compiler of its program, if known: "GHC 9.6.6".
    pub fn built_by(&self) -> Option<String> {
        Some(format!("{GHC} {}", self.compiler.as_ref()?))
    }

    /// Keeps the first `most` entries of census and holders and sums the rest up in one entry `others`. A map of more
    /// than 64 GiB is dropped, with a doubt. This bounds a snapshot that is stored, however large the heap is.
    pub fn shorten(&mut self, most: usize) {
        let others = |name: &mut String| OTHERS.clone_into(name);
        if self.census.len() > most {
            let mut rest = Entry::default();
            others(&mut rest.name);
            for entry in self.census.drain(most..) {
                rest.count = rest.count.saturating_add(entry.count);
                rest.bytes = rest.bytes.saturating_add(entry.bytes);
            }
            self.census.push(rest);
        }
        if self.holders.len() > most {
            let mut rest = PinHolder::default();
            others(&mut rest.name);
            for holder in self.holders.drain(most..) {
                rest.count = rest.count.saturating_add(holder.count);
                rest.live_bytes = rest.live_bytes.saturating_add(holder.live_bytes);
                rest.kept_dead_bytes = rest.kept_dead_bytes.saturating_add(holder.kept_dead_bytes);
            }
            self.holders.push(rest);
        }
        if self.megablocks.len() > KEPT_MEGABLOCKS {
            self.megablocks = Vec::new();
            self.doubts.push("The map is left out: the heap is larger than 64 GiB.".into());
        }
    }

    /// Bytes of the ledger in `part`.
    pub fn part_bytes(&self, part: Part) -> u64 {
        let lines = self.ledger.iter().filter(|line| line.part == part);
        lines.fold(0, |sum, line| sum.saturating_add(line.bytes))
    }
}

/// Blocks of one kind and generation.
#[derive(Clone, Eq, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct BlockKind {
    /// Name of the kind: `nursery`, `small`, `large`, `pinned`, `compact`, `non-moving`, `executable`, `other`,
    /// `descriptors`, `free`, `free megablock`, `returned`.
    pub kind: String,
    /// Generation, if the kind has one.
    pub generation: Option<u8>,
    /// Number of blocks.
    pub blocks: u64,
    /// Size of the blocks in bytes.
    pub block_bytes: u64,
    /// Used part of `block_bytes`; `None`: not known for this kind.
    pub used_bytes: Option<u64>,
}

/// A line of the ledger.
#[derive(Clone, Eq, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct HeapLine {
    /// Description of the line.
    pub line: String,
    /// Part of the memory that it belongs to.
    pub part: Part,
    /// Resident bytes.
    pub bytes: u64,
    /// How they were determined.
    pub how: String,
}

crate::listed! {
    /// The parts that resident memory falls into.
    #[derive(Copy, Clone, Eq, PartialEq, Ord, PartialOrd, Debug, Default, Serialize, Deserialize)]
    #[serde(rename_all = "kebab-case")]
    pub enum Part: key {
        /// Objects of the oldest generation, and pinned ones that something points to.
        Live = "live",
        /// Dead objects that cannot be freed because of a neighbour.
        ObjectFragmentation = "object-fragmentation",
        /// Ends of blocks that are unused.
        Slop = "slop",
        /// Nurseries and generations that are not the oldest.
        OtherGenerations = "other-generations",
        /// Free memory that the next major collection copies into.
        CopyReserve = "copy-reserve",
        /// Free blocks in excess of that, in megablocks that are in use.
        BlockFragmentation = "block-fragmentation",
        /// Megablocks that are empty, or that the system has not reclaimed yet.
        FreeMegablocks = "free-megablocks",
        /// Descriptors and lists of the runtime itself.
        Runtime = "runtime",
        /// Code and other mapped files: the system can evict them.
        MappedFiles = "mapped-files",
        /// Stacks, memory from `malloc`, other mappings.
        #[default]
        NotHeap = "not-heap",
    }
}

impl Part {
    /// Short description of the part.
    pub fn words(self) -> &'static str {
        match self {
            Part::Live => "alive",
            Part::ObjectFragmentation => "dead between pinned objects",
            Part::Slop => "unused ends of blocks",
            Part::OtherGenerations => "nurseries, young generations",
            Part::CopyReserve => "free, to copy into",
            Part::BlockFragmentation => "free blocks",
            Part::FreeMegablocks => "free megablocks",
            Part::Runtime => "the runtime's own",
            Part::MappedFiles => "program and mapped files",
            Part::NotHeap => "outside the heap",
        }
    }
}

/// The three levels of fragmentation.
#[derive(Clone, Eq, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Fragmentation {
    /// Dead bytes between live pinned objects; `None`: objects were not read.
    pub object_bytes: Option<u64>,
    /// Unused bytes at the ends of blocks.
    pub slop_bytes: u64,
    /// Free blocks in megablocks that are in use, in bytes.
    pub block_bytes: u64,
    /// Number of megablocks that are in use.
    pub megablocks: u64,
    /// Number of megablocks that would suffice for their content.
    pub megablocks_needed: u64,
    /// Number of megablocks that are retained by a single group of blocks.
    pub kept_by_one: u64,
    /// Free bytes in these megablocks.
    pub kept_by_one_bytes: u64,
    /// Free megablocks that the runtime keeps, in bytes.
    pub free_megablock_bytes: u64,
    /// Returned memory that the system has not reclaimed yet.
    pub returned_resident_bytes: u64,
    /// Address space between megablocks, in bytes: it costs no memory.
    pub gap_bytes: u64,
}

/// Objects that must not be moved.
#[derive(Clone, Eq, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Pinned {
    /// Number of their blocks.
    pub blocks: u64,
    /// Size of these blocks in bytes.
    pub block_bytes: u64,
    /// Used part of these blocks in bytes.
    pub used_bytes: u64,
    /// Number of objects, dead or alive; `None` here and below: they were not read.
    pub objects: Option<u64>,
    /// Size of the objects that something points to, in bytes.
    pub live_bytes: Option<u64>,
    /// Number of these objects.
    pub live_objects: Option<u64>,
    /// Groups of blocks that retain the most dead bytes, at most ten.
    pub worst: Vec<WorstGroup>,
}

/// A group of blocks that retains dead bytes.
#[derive(Clone, Eq, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct WorstGroup {
    /// Address of the group.
    pub address: u64,
    /// Live bytes in it.
    pub live_bytes: u64,
    /// Dead bytes in it.
    pub dead_bytes: u64,
    /// The holder of most of its live bytes.
    pub holder: Option<String>,
}

/// Objects of one info table that point to pinned ones.
#[derive(Clone, Eq, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct PinHolder {
    /// Name of its constructor or closure; its address in a program without symbols.
    pub name: String,
    /// Number of pointers to pinned objects.
    pub count: u64,
    /// Bytes of the objects that these point to; an object with several pointers counts for each.
    pub live_bytes: u64,
    /// Dead bytes of their blocks, split among the holders of a block in proportion to what they hold in it.
    pub kept_dead_bytes: u64,
}

/// Objects too large to share a block, pinned or not. A slice is an object with a length and an address inside
/// a large object.
#[derive(Clone, Eq, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Large {
    /// Number of these objects.
    pub objects: u64,
    /// Their size in bytes.
    pub bytes: u64,
    /// Number of these objects of which slices show less than half.
    pub sliced: u64,
    /// Their size in bytes.
    pub sliced_bytes: u64,
    /// The part of them that the slices show, in bytes.
    pub shown_bytes: u64,
    /// Name of most of these slices.
    pub holder: Option<String>,
}

/// Objects of one info table.
#[derive(Clone, Eq, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Entry {
    /// Name of its constructor or closure, as in [`PinHolder`].
    pub name: String,
    /// Type in the terms of the runtime's own heap profiles: `CONSTR`.
    #[serde(rename = "type")]
    pub kind: String,
    /// Number of objects.
    pub count: u64,
    /// Size of the objects in bytes.
    pub bytes: u64,
}

/// How far objects were read.
#[derive(Clone, Eq, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Scan {
    /// Used bytes of the blocks that the census covers: of movable objects and of large ones.
    pub read_bytes: u64,
    /// Bytes of these that are not recognisable as objects.
    pub skipped_bytes: u64,
    /// Bytes of blocks that could not be read.
    pub unread_bytes: u64,
    /// Collections of the oldest generation during the scan; `None`: not counted.
    pub collections_of_oldest: Option<u64>,
    /// Whether the process was stopped during the whole scan.
    pub during_stop: bool,
}

/// Figures of the runtime itself.
#[derive(Clone, Eq, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct RuntimeFigures {
    /// Generations, the youngest first.
    pub generations: Vec<Generation>,
    /// Number of blocks of all nurseries.
    pub nursery_blocks: Option<u64>,
    /// Number of megablocks.
    pub megablocks: Option<u64>,
    /// Number of blocks that are not on a free list.
    pub allocated_blocks: Option<u64>,
}

/// A generation.
#[derive(Clone, Eq, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Generation {
    /// Number of the generation.
    pub generation: u8,
    /// Number of its collections.
    pub collections: u64,
    /// Number of blocks of movable objects.
    pub blocks: u64,
    /// Number of blocks of large objects.
    pub large_blocks: u64,
    /// Number of blocks of compact regions.
    pub compact_blocks: u64,
    /// Number of blocks above which it is collected.
    pub blocks_max: u64,
}

/// One megablock of the map.
#[derive(Clone, Eq, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Megablock {
    /// Address of the megablock.
    pub address: u64,
    /// One mark for each of its 256 blocks of 4 KiB: see [`mark_word`].
    pub blocks: String,
}

/// The meaning of a mark of the map.
pub fn mark_word(mark: char) -> &'static str {
    match mark {
        '=' => "descriptors",
        'n' => "nursery",
        'a' => "objects that move, youngest generation",
        'o' => "objects that move, older generation",
        'L' => "large object",
        '0'..='9' => "pinned objects",
        'C' => "compact region",
        'm' => "non-moving collector",
        'x' => "machine code",
        '.' => "free",
        ',' => "free megablock",
        ' ' => "given back",
        _ => "the runtime's own",
    }
}

/// The live share of a pinned block (the used share, if objects were not read) in tenths, rounded up: `0` for none,
/// `9` for more than eight ninths. `None`: another mark.
pub fn pinned_grade(mark: char) -> Option<u32> {
    mark.to_digit(10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_is_called_the_same_wherever_it_is_written() {
        use serde::de::IntoDeserializer;
        use serde::de::value::{Error, StrDeserializer};
        for part in Part::ALL {
            let key: StrDeserializer<'_, Error> = part.key().into_deserializer();
            assert_eq!(Part::deserialize(key), Ok(part));
        }
    }

    #[test]
    fn what_is_left_out_is_summed_up_under_one_name() {
        let entry = |bytes| Entry { name: format!("T{bytes}"), kind: "CONSTR".into(), count: 1, bytes };
        let holder = |count| PinHolder { name: "H".into(), count, live_bytes: 10 * count, kept_dead_bytes: u64::MAX };
        let mut heap =
            Heap { census: [9, 5, 3, 1].map(entry).into(), holders: [4, 3, 2].map(holder).into(), ..Heap::default() };
        heap.shorten(2);
        let census: Vec<_> = heap.census.iter().map(|entry| (entry.name.as_str(), entry.count, entry.bytes)).collect();
        assert_eq!(census, [("T9", 1, 9), ("T5", 1, 5), (OTHERS, 2, 4)]);
        let holders: Vec<_> = heap.holders.iter().map(|holder| (holder.count, holder.live_bytes)).collect();
        assert_eq!(holders, [(4, 40), (3, 30), (2, 20)]);
        heap.holders.truncate(2);
        let before = heap.clone();
        heap.shorten(3);
        assert_eq!(heap, before);
    }

    #[test]
    fn a_map_that_is_too_large_is_left_out_and_reported() {
        let megablocks = |count| Heap { megablocks: vec![Megablock::default(); count], ..Heap::default() };
        let (mut most, mut more) = (megablocks(KEPT_MEGABLOCKS), megablocks(KEPT_MEGABLOCKS + 1));
        most.shorten(1);
        more.shorten(1);
        assert_eq!((most.megablocks.len(), most.doubts.len()), (KEPT_MEGABLOCKS, 0));
        assert_eq!((more.megablocks.len(), more.doubts.len()), (0, 1));
    }

    #[test]
    fn a_part_is_the_sum_of_its_lines() {
        let line = |part, bytes| HeapLine { part, bytes, ..HeapLine::default() };
        let heap =
            Heap { ledger: vec![line(Part::Live, 3), line(Part::Slop, 5), line(Part::Live, 4)], ..Heap::default() };
        assert_eq!((heap.part_bytes(Part::Live), heap.part_bytes(Part::Runtime)), (7, 0));
    }
}
