//! One event in the runtime's own vocabulary, with its payload borrowed. Refuses to interpret: the importer knows
//! what a record means for lanes and pauses.

use super::fields::Fields;
use super::tags::table;

/// Packed numbers of a payload (cost centre ids).
#[derive(Copy, Clone, Eq, PartialEq, Debug)]
pub struct Ids<'a>(&'a [u8]);

impl<'a> Ids<'a> {
    /// The ids, innermost first.
    pub fn iter(self) -> impl Iterator<Item = u32> + 'a {
        self.0.as_chunks::<4>().0.iter().map(|chunk| u32::from_be_bytes(*chunk))
    }
}

/// Packed texts of a payload, each ended by a NUL (perhaps except the last).
#[derive(Copy, Clone, Eq, PartialEq, Debug)]
pub struct Texts<'a>(&'a [u8]);

impl<'a> Texts<'a> {
    /// The texts in order.
    pub fn iter(self) -> impl Iterator<Item = &'a [u8]> {
        let whole = self.0.strip_suffix(&[0]).unwrap_or(self.0);
        whole.split(|byte| *byte == 0).filter(move |_| !self.0.is_empty())
    }
}

/// Figures of one collection (tag 53).
#[derive(Copy, Clone, Eq, PartialEq, Debug)]
pub struct GcStats {
    pub capset: u32,
    /// Oldest generation collected.
    pub generation: u16,
    pub copied_bytes: u64,
    pub slop_bytes: u64,
    pub fragmentation_bytes: u64,
    pub threads: u32,
    /// Largest number of bytes copied by one thread.
    pub copied_max_bytes: u64,
    /// Bytes copied by all threads of a parallel collection.
    pub copied_total_bytes: u64,
    /// Bytes copied in balance between threads; since 8.4.
    pub copied_balanced_bytes: Option<u64>,
}

/// Heap parameters (tag 52), posted once.
#[derive(Copy, Clone, Eq, PartialEq, Debug, Default)]
pub struct HeapInfo {
    /// Number of configured generations.
    pub generations: u16,
    /// Heap limit in bytes; 0: no limit.
    pub limit_bytes: u64,
    /// Allocation area per capability (`-A`), bytes.
    pub nursery_bytes: u64,
    pub megablock_bytes: u64,
    pub block_bytes: u64,
}

/// The types and readers of fields, by the names used in the table of event types: `text` ends with a NUL, `last`
/// with a NUL or with the payload, `rest` takes what is left; a `maybe` is missing in some versions.
macro_rules! field {
    (type $life:lifetime u32_maybe) => { Option<u32> };
    (type $life:lifetime u64_maybe) => { Option<u64> };
    (type $life:lifetime block_bytes) => { u64 };
    (type $life:lifetime texts) => { Texts<$life> };
    (type $life:lifetime ids) => { Ids<$life> };
    (type $life:lifetime text) => { &$life [u8] };
    (type $life:lifetime last) => { &$life [u8] };
    (type $life:lifetime rest) => { &$life [u8] };
    (type $life:lifetime $number:ident) => { $number };
    (read $f:ident u32_maybe) => { $f.u32() };
    (read $f:ident u64_maybe) => { $f.u64() };
    (read $f:ident block_bytes) => { block_bytes(&mut $f)? };
    (read $f:ident texts) => { Texts($f.rest()) };
    (read $f:ident ids) => { stack(&mut $f)? };
    (read $f:ident last) => { $f.last_text() };
    (read $f:ident rest) => { $f.rest() };
    (read $f:ident $kind:ident) => { $f.$kind()? };
}

macro_rules! records {
    ($($tag:literal $name:ident $record:ident $({ $($field:ident: $kind:ident),* })? $(($inner:ident $read:ident))?
        [$($size:expr),+] $class:ident $($doc:literal)?;)*) => {
        /// One event. Texts are bytes: the runtime does not promise UTF-8. Field names
        /// follow the runtime's; `thread` is a Haskell thread, `task` an opaque number
        /// for a kernel thread, `cap` a capability.
        #[derive(Copy, Clone, Eq, PartialEq, Debug)]
        pub enum Record<'a> {
            $($record $({ $($field: field!(type 'a $kind)),* })? $(($inner))?,)*
            /// A type that this decoder does not know, or a payload that is too short for its type.
            Unknown { tag: u16, payload: &'a [u8] },
        }

        fn known(tag: u16, mut f: Fields<'_>) -> Option<Record<'_>> {
            Some(match tag {
                $($tag => Record::$record $({ $($field: field!(read f $kind)),* })? $(($read(f)?))?,)*
                _ => return None,
            })
        }
    };
}

table!(records);

impl<'a> Record<'a> {
    /// Decodes one payload, framed by the log's own sizes. Bytes after the known fields are ignored; a payload that
    /// is too short gives [`Record::Unknown`].
    pub fn decode(tag: u16, payload: &'a [u8]) -> Record<'a> {
        known(tag, Fields::new(payload)).unwrap_or(Record::Unknown { tag, payload })
    }
}

fn heap_info(mut f: Fields<'_>) -> Option<HeapInfo> {
    let _capset = f.u32()?;
    Some(HeapInfo {
        generations: f.u16()?,
        limit_bytes: f.u64()?,
        nursery_bytes: f.u64()?,
        megablock_bytes: f.u64()?,
        block_bytes: f.u64()?,
    })
}

fn gc_stats(mut f: Fields<'_>) -> Option<GcStats> {
    Some(GcStats {
        capset: f.u32()?,
        generation: f.u16()?,
        copied_bytes: f.u64()?,
        slop_bytes: f.u64()?,
        fragmentation_bytes: f.u64()?,
        threads: f.u32()?,
        copied_max_bytes: f.u64()?,
        copied_total_bytes: f.u64()?,
        copied_balanced_bytes: f.u64(),
    })
}

/// A payload of 13 bytes has the block size as a power of two, one of 14 bytes in bytes.
fn block_bytes(f: &mut Fields<'_>) -> Option<u64> {
    if f.len() < 14 { 1u64.checked_shl(u32::from(f.u8()?)) } else { f.u16().map(u64::from) }
}

fn stack<'a>(f: &mut Fields<'a>) -> Option<Ids<'a>> {
    let depth = usize::from(f.u8()?);
    f.rest().get(..depth * 4).map(Ids)
}
