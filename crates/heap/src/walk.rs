//! From object to object through the blocks that collections fill: objects lie back to back
//! there. Owns finding the next object where the walk is lost, which it is where a thunk was
//! updated in place (what is left of it is not cleared), and behind objects whose size only
//! the runtime knows. Bytes skipped are counted, not guessed.

use crate::blocks::Group;
use crate::closure::{Info, TABLE};
use crate::memory::Memory;
use std::collections::HashMap;
use std::io;
use std::ops::Range;

/// Info tables of one program, read as they are met.
pub struct Tables<'m, M> {
    memory: &'m M,
    code: Vec<Range<u64>>,
    known: HashMap<u64, Option<Info>>,
}

impl<'m, M: Memory> Tables<'m, M> {
    /// Tables lie beside code, in `code`: addresses that are mapped from files.
    pub fn new(memory: &'m M, mut code: Vec<Range<u64>>) -> Tables<'m, M> {
        code.sort_by_key(|range| range.start);
        Tables { memory, code, known: HashMap::new() }
    }

    /// The table of an object whose first word is `word`; `None` where that is none.
    pub fn info(&mut self, word: u64) -> Option<Info> {
        if let Some(known) = self.known.get(&word) {
            return *known;
        }
        let behind = self.code.partition_point(|range| range.end <= word);
        // Most words are no code: they are not remembered.
        self.code.get(behind).filter(|range| range.contains(&word))?;
        let mut table = [0; TABLE];
        let read = self.memory.read(word.wrapping_sub(TABLE as u64), &mut table);
        let info = read.ok().and_then(|()| Info::parse(&table));
        self.known.insert(word, info);
        info
    }
}

/// An object that was met.
#[derive(Copy, Clone, Eq, PartialEq, Debug)]
pub struct Object {
    /// Its first word: address of its code.
    pub info_address: u64,
    /// What its table says.
    pub info: Info,
    /// Place of its first word among the words that were walked.
    pub at: usize,
    /// Its words.
    pub words: usize,
}

/// The words of a group; `bytes` is used again.
///
/// # Errors
/// They cannot be read.
pub fn read<M: Memory>(memory: &M, group: &Group, bytes: &mut Vec<u8>) -> io::Result<Vec<u64>> {
    bytes.resize(usize::try_from(group.used_bytes() / 8 * 8).unwrap_or(0), 0);
    memory.read(group.start, bytes)?;
    Ok(bytes.chunks_exact(8).map(|word| word.try_into().map_or(0, u64::from_ne_bytes)).collect())
}

/// Walks `words`, the used part of a block group; gives the bytes that were skipped.
pub fn walk<M: Memory>(words: &[u64], tables: &mut Tables<'_, M>, mut met: impl FnMut(Object, &[u64])) -> u64 {
    let (mut at, mut skipped) = (0, 0);
    while let Some(rest) = words.get(at..).filter(|rest| !rest.is_empty()) {
        let first = rest.first().copied().unwrap_or(0);
        let size = tables.info(first).and_then(|info| Some((info, usize::try_from(info.words(rest)?).ok()?)));
        match size.filter(|(_, size)| *size <= rest.len()) {
            Some((info, size)) => {
                met(Object { info_address: first, info, at, words: size }, rest.get(..size).unwrap_or_default());
                at += size;
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

    /// Tables of a pair, a byte array, a thread.
    fn image() -> Image {
        let table = |pointers: u64, others: u64, number: u64| [others << 32 | pointers, number];
        let words = [table(2, 0, 4), table(0, 0, 42), table(0, 0, 52)].concat();
        Image::default().words(CODE, &words)
    }

    #[test]
    fn objects_are_met_one_after_the_other_and_what_is_none_is_skipped() {
        let memory = image();
        let mut tables = Tables::new(&memory, vec![CODE..CODE + 0x1000]);
        let (pair, bytes, thread) = (CODE + 16, CODE + 32, CODE + 48);
        // A thread has words that nobody can tell from outside, some of which look like
        // pointers; behind it comes an object again.
        let words = [pair, 1, 2, bytes, 9, 7, 7, thread, 5, 0x42_0000_0000, pair, 3, 4, 77];
        let mut all = Vec::new();
        let skipped = walk(&words, &mut tables, |object, own| all.push((object.info.kind, object.at, own.len())));
        assert_eq!(all, [(Type::Constructor, 0, 3), (Type::Bytes, 3, 4), (Type::Constructor, 10, 3)]);
        assert_eq!(skipped, 4 * 8);
    }

    #[test]
    fn an_object_that_would_go_over_the_end_is_none() {
        let memory = image();
        let mut tables = Tables::new(&memory, vec![CODE..CODE + 0x1000]);
        assert_eq!(walk(&[CODE + 16, 1], &mut tables, |_, _| panic!()), 16);
        assert_eq!(walk(&[CODE + 32, u64::MAX, 0], &mut tables, |_, _| panic!()), 24);
        assert_eq!(walk(&[0, u64::MAX, CODE + 3], &mut tables, |_, _| panic!()), 24);
    }
}
