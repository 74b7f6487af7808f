//! Walks from object to object through the blocks that collections fill, where objects lie back to
//! back. Owns finding the next object when the walk is lost: after a thunk that was updated in place
//! (its leftover words are not cleared), and after objects whose size only the runtime knows.
//! Skipped bytes are counted, not guessed.

use crate::closure::{Info, TABLE};
use crate::memory::{Memory, holding};
use std::collections::HashMap;
use std::ops::Range;

/// Slots of the fast lookup; most of a program's heap uses fewer tables.
const QUICK: usize = 1 << 10;

/// A table that was read: its number and content.
#[derive(Copy, Clone, Debug)]
pub struct InfoTable {
    pub number: u32,
    pub info: Info,
}

/// The info tables of one program, read when first met and numbered in that order.
pub struct Tables<'m, M> {
    memory: &'m M,
    code: Vec<Range<u64>>,
    known: HashMap<u64, Option<InfoTable>>,
    quick: Vec<(u64, Option<InfoTable>)>,
    /// Address of each table, by number.
    pub addresses: Vec<u64>,
}

impl<'m, M: Memory> Tables<'m, M> {
    /// `code`: address ranges mapped from files; tables lie next to the code there.
    pub fn new(memory: &'m M, mut code: Vec<Range<u64>>) -> Tables<'m, M> {
        code.sort_by_key(|range| range.start);
        Tables { memory, code, known: HashMap::new(), quick: vec![(0, None); QUICK], addresses: Vec::new() }
    }

    /// The table of an object whose first word is `word`; `None`: it is no object.
    pub fn find(&mut self, word: u64) -> Option<InfoTable> {
        let place = ((word >> 3) ^ (word >> 13)) as usize % QUICK;
        match self.quick.get(place) {
            Some((address, table)) if *address == word => *table,
            _ => self.find_slowly(word, place),
        }
    }

    fn find_slowly(&mut self, word: u64, place: usize) -> Option<InfoTable> {
        // Most words do not point to code; these are not cached.
        holding(&self.code, word)?;
        let table = match self.known.get(&word) {
            Some(known) => *known,
            None => self.read(word),
        };
        if let Some(quick) = self.quick.get_mut(place) {
            *quick = (word, table);
        }
        table
    }

    fn read(&mut self, word: u64) -> Option<InfoTable> {
        let mut table = [0; TABLE];
        let read = self.memory.read(word.wrapping_sub(TABLE as u64), &mut table);
        let info = read.ok().and_then(|()| Info::parse(&table));
        let table = info.and_then(|info| {
            let number = u32::try_from(self.addresses.len()).ok()?;
            self.addresses.push(word);
            Some(InfoTable { number, info })
        });
        self.known.insert(word, table);
        table
    }
}

/// An object found by a walk.
#[derive(Copy, Clone, Debug)]
pub struct Object {
    pub table: InfoTable,
    /// Index of its first word in the walked words.
    pub at: usize,
}

/// Walks `words`, the used part of a block group; returns the number of skipped bytes.
pub fn walk<M: Memory>(words: &[u64], tables: &mut Tables<'_, M>, mut met: impl FnMut(Object, &[u64])) -> u64 {
    let (mut at, mut skipped) = (0, 0);
    while let Some((first, rest)) = words.get(at..).and_then(|rest| Some((rest.first()?, rest))) {
        let table = tables.find(*first);
        let size = table.and_then(|table| usize::try_from(table.info.words(rest)?).ok());
        match table.zip(size.and_then(|size| rest.get(..size))) {
            Some((table, own)) => {
                met(Object { table, at }, own);
                at += own.len();
            }
            None => {
                skipped += 8;
                at += 1;
            }
        }
    }
    skipped
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::closure::Type;
    use crate::testing::Image;

    const CODE: u64 = 0x40_0000;

    /// Info tables of a pair, a byte array and a thread.
    fn image() -> Image {
        let table = |pointers: u64, others: u64, number: u64| [others << 32 | pointers, number];
        let words = [table(2, 0, 4), table(0, 0, 42), table(0, 0, 52)].concat();
        Image::default().words(CODE, &words)
    }

    #[test]
    fn objects_are_met_one_after_the_other_and_what_is_none_is_skipped() {
        let memory = image();
        let mut tables = Tables::new(&memory, std::iter::once(CODE..CODE + 0x1000).collect());
        let (pair, bytes, thread) = (CODE + 16, CODE + 32, CODE + 48);
        // The words of a thread cannot be interpreted from outside, and some look like pointers; after it,
        // an object follows.
        let words = [pair, 1, 2, bytes, 9, 7, 7, thread, 5, 0x42_0000_0000, pair, 3, 4, 77];
        let mut all = Vec::new();
        let skipped = walk(&words, &mut tables, |object, own| all.push((object.table.info.kind, object.at, own.len())));
        assert_eq!(all, [(Type::Constructor, 0, 3), (Type::Bytes, 3, 4), (Type::Constructor, 10, 3)]);
        assert_eq!(skipped, 4 * 8);
        assert_eq!(tables.addresses, [pair, bytes, thread]);
    }

    #[test]
    fn an_object_that_would_go_over_the_end_is_none() {
        let memory = image();
        let mut tables = Tables::new(&memory, std::iter::once(CODE..CODE + 0x1000).collect());
        assert_eq!(walk(&[CODE + 16, 1], &mut tables, |_, _| panic!()), 16);
        assert_eq!(walk(&[CODE + 32, u64::MAX, 0], &mut tables, |_, _| panic!()), 24);
        assert_eq!(walk(&[0, u64::MAX, CODE + 3], &mut tables, |_, _| panic!()), 24);
    }
}
