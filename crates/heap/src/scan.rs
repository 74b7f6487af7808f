//! One pass over the objects of a heap: a census by info table, and which pinned objects
//! they hold. Owns which blocks are read. Memory is read block by block and not kept.

use crate::blocks::Groups;
use crate::closure::Info;
use crate::map::Kind;
use crate::memory::Memory;
use crate::pinned::{Pinned, Search};
use crate::survey::Survey;
use crate::walk::{self, Tables};
use std::collections::HashMap;
use std::io;
use std::ops::Range;

/// What was met of one info table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Its address.
    pub info_address: u64,
    /// What it says.
    pub info: Info,
    /// Objects.
    pub count: u64,
    /// Their bytes.
    pub bytes: u64,
}

/// What a pass found.
#[derive(Clone, Debug)]
pub struct Scan {
    /// By bytes, the most first.
    pub census: Vec<Entry>,
    /// What is pinned.
    pub pinned: Pinned,
    /// Bytes read of blocks whose objects are moved, and bytes of them that are no object
    /// which can be told.
    pub read_bytes: u64,
    /// See `read_bytes`.
    pub skipped_bytes: u64,
    /// Blocks that could not be read any more.
    pub unread_bytes: u64,
}

impl Scan {
    /// Scans the blocks of `survey`; tables lie beside the `code`.
    ///
    /// # Errors
    /// A pinned block cannot be read.
    pub fn of(memory: &impl Memory, survey: &Survey, code: Vec<Range<u64>>) -> io::Result<Scan> {
        let mut tables = Tables::new(memory, code);
        let pinned = Groups::of(survey, |kind, _| kind == Kind::Pinned);
        let mut search = Search::new(memory, pinned, &mut tables)?;
        let moved = Groups::of(survey, |kind, _| kind == Kind::Small || kind == Kind::Large);
        let mut census: HashMap<u64, Entry> = HashMap::new();
        let (mut read_bytes, mut skipped_bytes, mut unread_bytes) = (0, 0, 0);
        let mut bytes = Vec::new();
        for group in moved.iter() {
            let Ok(words) = walk::read(memory, group, &mut bytes) else {
                unread_bytes += group.used_bytes();
                continue;
            };
            read_bytes += group.used_bytes();
            skipped_bytes += walk::walk(&words, &mut tables, |object, own| {
                let fresh = Entry { info_address: object.info_address, info: object.info, count: 0, bytes: 0 };
                let entry = census.entry(object.info_address).or_insert(fresh);
                entry.count += 1;
                entry.bytes += 8 * own.len() as u64;
                let address = group.start + 8 * object.at as u64;
                let from = object.info.kind.first_field(own, address);
                own.iter().skip(from).for_each(|word| search.word(*word, object.info_address));
            });
        }
        let mut census: Vec<Entry> = census.into_values().collect();
        census.sort_by_key(|entry| (std::cmp::Reverse(entry.bytes), entry.info_address));
        Ok(Scan { census, pinned: search.finish(), read_bytes, skipped_bytes, unread_bytes })
    }
}
