//! A heap seen at one moment: where the memory of a process is. The document that
//! `rtscope heap --json` prints, and that a capture keeps as `heap/N.json`. Owns its keys,
//! which stay, and the marks of the map. What is not known is null.

use super::GHC;
use crate::time::Time;
use serde::{Deserialize, Serialize};

/// The schema name that this code writes.
pub const SCHEMA: &str = "rtscope/heap/1";
/// The name of what [`Heap::shorten`] sums up.
pub const OTHERS: &str = "others";
/// Whose heap it is.
pub const RUNTIME: &str = GHC.name;
/// Blocks of a megablock, each with a mark.
pub const MARKS: usize = 256;

/// See the module. Bytes are bytes; `_ns` are nanoseconds.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Heap {
    /// [`SCHEMA`].
    pub schema: String,
    /// Of what: `process 12`, the name of a core file.
    pub of: String,
    /// The compiler, where its files tell: `9.6.6`.
    #[serde(rename = "ghc")]
    pub compiler: Option<String>,
    /// When it was read, on the clock of captures; `None`: a core file.
    pub time: Option<Time>,
    /// What the system reports as resident; `None`: a core file does not tell.
    pub rss_bytes: Option<u64>,
    /// Megablocks that the runtime has.
    pub heap_bytes: u64,
    /// For how long the process was stopped; 0: it was not.
    pub stop_ns: u64,
    /// What reading the blocks took, and what reading the objects took.
    pub read_ns: u64,
    /// See `read_ns`.
    pub scan_ns: u64,
    /// Times that the blocks were looked at, and megablocks that changed each time.
    pub looks: u32,
    /// See `looks`.
    pub unsettled_megablocks: u64,
    /// Collections while the blocks were read; `None`: nothing counts them.
    pub collections_meanwhile: Option<u64>,
    /// Block descriptors that contradict others.
    pub contradictions: u64,
    /// The old generation was just being collected: what its blocks hold is not told.
    pub in_collection: bool,
    /// What is not sure, one sentence each; empty: everything is.
    pub doubts: Vec<String>,
    /// Blocks by kind and generation.
    pub kinds: Vec<Kind>,
    /// Where the resident memory is: lines that do not overlap.
    pub ledger: Vec<Line>,
    /// `rss_bytes` less all lines.
    pub unexplained_bytes: Option<i64>,
    /// The three levels.
    pub fragmentation: Fragmentation,
    /// Objects that must not be moved.
    pub pinned: Pinned,
    /// Who points to them, those that hold and keep most first.
    pub holders: Vec<Holder>,
    /// Objects too large to share a block.
    pub large: Large,
    /// Objects by what they are, the most bytes first.
    pub census: Vec<Entry>,
    /// How far objects were read; `None`: they were not.
    pub scan: Option<Scan>,
    /// What the runtime itself says.
    pub runtime: Runtime,
    /// The map: megablocks that were not given back, by address.
    pub megablocks: Vec<Megablock>,
}

/// Megablocks of a map that is kept: 64 GiB.
const KEPT_MEGABLOCKS: usize = 1 << 16;

impl Heap {
    /// What its program was built by, where that is known: "GHC 9.6.6".
    pub fn built_by(&self) -> Option<String> {
        Some(format!("{GHC} {}", self.compiler.as_ref()?))
    }

    /// Leaves the first `most` of census and holders and sums the rest up in one entry
    /// `others`; a map of more than 64 GiB is left out, with a doubt. So bounded a snapshot
    /// can be kept, however large the heap is.
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
            let mut rest = Holder::default();
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
pub struct Kind {
    /// `nursery`, `small`, `large`, `pinned`, `compact`, `non-moving`, `executable`, `other`,
    /// `descriptors`, `free`, `free megablock`, `returned`.
    pub kind: String,
    /// Where the kind has one.
    pub generation: Option<u8>,
    /// How many.
    pub blocks: u64,
    /// Their bytes.
    pub block_bytes: u64,
    /// Bytes of them in use; `None`: the kind does not say.
    pub used_bytes: Option<u64>,
}

/// A line of the ledger.
#[derive(Clone, Eq, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Line {
    /// What it is, in words.
    pub line: String,
    /// What it belongs to.
    pub part: Part,
    /// How much of it is resident.
    pub bytes: u64,
    /// How that is known.
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
        /// Ends of blocks that nothing was put into.
        Slop = "slop",
        /// Nurseries and generations that are not the oldest.
        OtherGenerations = "other-generations",
        /// Free memory that the next collection of everything copies into.
        CopyReserve = "copy-reserve",
        /// Free blocks beyond that, in megablocks that hold something.
        BlockFragmentation = "block-fragmentation",
        /// Megablocks that hold nothing, or that the system has not taken back yet.
        FreeMegablocks = "free-megablocks",
        /// Descriptors and lists of the runtime's own.
        Runtime = "runtime",
        /// Code and other mapped files: the system can drop them.
        MappedFiles = "mapped-files",
        /// Stacks, what `malloc` gave, other mappings.
        #[default]
        NotHeap = "not-heap",
    }
}

impl Part {
    /// What it is, in few words.
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
    /// Dead bytes between pinned objects that live; `None`: objects were not read.
    pub object_bytes: Option<u64>,
    /// Ends of blocks that nothing was put into.
    pub slop_bytes: u64,
    /// Free blocks in megablocks that hold something.
    pub block_bytes: u64,
    /// Megablocks that hold something, and how few would do for what they hold.
    pub megablocks: u64,
    /// See `megablocks`.
    pub megablocks_needed: u64,
    /// Megablocks that a single group of blocks keeps, and the free bytes in them.
    pub kept_by_one: u64,
    /// See `kept_by_one`.
    pub kept_by_one_bytes: u64,
    /// Free megablocks that the runtime keeps.
    pub free_megablock_bytes: u64,
    /// Given back, and the system has not taken it yet.
    pub returned_resident_bytes: u64,
    /// Addresses between megablocks: they cost no memory.
    pub gap_bytes: u64,
}

/// Objects that must not be moved.
#[derive(Clone, Eq, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Pinned {
    /// Blocks, their bytes, and those of them that are used.
    pub blocks: u64,
    /// See `blocks`.
    pub block_bytes: u64,
    /// See `blocks`.
    pub used_bytes: u64,
    /// Objects, dead or alive; `None` here and below: they were not read.
    pub objects: Option<u64>,
    /// Bytes of objects that something points to.
    pub live_bytes: Option<u64>,
    /// How many these are.
    pub live_objects: Option<u64>,
    /// Groups of blocks that keep most dead bytes, at most ten.
    pub worst: Vec<Worst>,
}

/// A group of blocks that keeps dead bytes.
#[derive(Clone, Eq, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Worst {
    /// Its address.
    pub address: u64,
    /// Bytes of it that live.
    pub live_bytes: u64,
    /// Bytes of it that do not.
    pub dead_bytes: u64,
    /// Who holds what lives, the one that holds most.
    pub holder: Option<String>,
}

/// Objects of one info table that point to pinned ones.
#[derive(Clone, Eq, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Holder {
    /// Its constructor or closure; its address in a program without symbols.
    pub name: String,
    /// Pointers to pinned objects.
    pub count: u64,
    /// Bytes of the objects that those point to; one with several pointers counts for each.
    pub live_bytes: u64,
    /// Dead bytes of their blocks, split among the holders of a block as what they hold in it.
    pub kept_dead_bytes: u64,
}

/// Objects too large to share a block, pinned or not. A slice is an object with an address
/// inside of one and a length.
#[derive(Clone, Eq, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Large {
    /// How many, and their bytes.
    pub objects: u64,
    /// See `objects`.
    pub bytes: u64,
    /// Those of which slices show less than a half, and their bytes.
    pub sliced: u64,
    /// See `sliced`.
    pub sliced_bytes: u64,
    /// Bytes of those that the slices show.
    pub shown_bytes: u64,
    /// What most of those slices are.
    pub holder: Option<String>,
}

/// Objects of one info table.
#[derive(Clone, Eq, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Entry {
    /// As in [`Holder`].
    pub name: String,
    /// The type as the runtime's own heap profiles call it: `CONSTR`.
    #[serde(rename = "type")]
    pub kind: String,
    /// Objects.
    pub count: u64,
    /// Their bytes.
    pub bytes: u64,
}

/// How far objects were read.
#[derive(Clone, Eq, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Scan {
    /// Used bytes of the blocks whose objects the census is of: of objects that are moved, and
    /// of large ones.
    pub read_bytes: u64,
    /// Bytes of those that are no object which can be told.
    pub skipped_bytes: u64,
    /// Bytes of blocks that could not be read.
    pub unread_bytes: u64,
    /// Collections of the oldest generation meanwhile; `None`: nothing counts them.
    pub collections_of_oldest: Option<u64>,
    /// Whether the process stood still for all of it.
    pub during_stop: bool,
}

/// What the runtime itself says.
#[derive(Clone, Eq, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Runtime {
    /// The youngest first.
    pub generations: Vec<Generation>,
    /// Blocks of all nurseries.
    pub nursery_blocks: Option<u64>,
    /// Megablocks.
    pub megablocks: Option<u64>,
    /// Blocks that are not on a free list.
    pub allocated_blocks: Option<u64>,
}

/// A generation.
#[derive(Clone, Eq, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Generation {
    /// Its number.
    pub generation: u8,
    /// Collections of it.
    pub collections: u64,
    /// Blocks of objects that are moved, of large ones, of compact regions.
    pub blocks: u64,
    /// See `blocks`.
    pub large_blocks: u64,
    /// See `blocks`.
    pub compact_blocks: u64,
    /// It is collected when it has more.
    pub blocks_max: u64,
}

/// One megablock of the map.
#[derive(Clone, Eq, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Megablock {
    /// Its address.
    pub address: u64,
    /// A mark for each of its 256 blocks of 4 KiB: see [`mark_word`].
    pub blocks: String,
}

/// What a mark of the map says.
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

/// The share of a pinned block that lives (that is used, where objects were not read), in
/// tenths rounded up: `0` lives nothing, `9` more than eight ninths. `None`: another mark.
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
        let holder = |count| Holder { name: "H".into(), count, live_bytes: 10 * count, kept_dead_bytes: u64::MAX };
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
    fn a_map_that_is_too_large_is_left_out_and_said_so() {
        let megablocks = |count| Heap { megablocks: vec![Megablock::default(); count], ..Heap::default() };
        let (mut most, mut more) = (megablocks(KEPT_MEGABLOCKS), megablocks(KEPT_MEGABLOCKS + 1));
        most.shorten(1);
        more.shorten(1);
        assert_eq!((most.megablocks.len(), most.doubts.len()), (KEPT_MEGABLOCKS, 0));
        assert_eq!((more.megablocks.len(), more.doubts.len()), (0, 1));
    }

    #[test]
    fn a_part_is_the_sum_of_its_lines() {
        let line = |part, bytes| Line { part, bytes, ..Line::default() };
        let heap =
            Heap { ledger: vec![line(Part::Live, 3), line(Part::Slop, 5), line(Part::Live, 4)], ..Heap::default() };
        assert_eq!((heap.part_bytes(Part::Live), heap.part_bytes(Part::Runtime)), (7, 0));
    }
}
