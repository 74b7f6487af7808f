//! The stack of a thread that does not run, frame by frame. Owns the lengths of frames and how far the walk
//! goes; refuses to name them.

use crate::runtimes::waiting::{Code, Role};
use crate::target::memory::Memory;
use std::collections::HashMap;

/// Words read of a stack.
const WORDS_MAX: usize = 512;
/// Frames that are walked, and frames whose addresses are kept.
const FRAMES_MAX: usize = 128;
const KEPT_MAX: usize = 12;
/// Stack chunks that are followed.
const PIECES_MAX: usize = 4;
/// Info tables in the cache.
const TABLES_MAX: usize = 1 << 16;
/// Bytes of the table in front of the code.
const TABLE: u64 = 16;

/// The kind of a frame, and how many words it takes.
#[derive(Copy, Clone, Eq, PartialEq, Debug)]
enum FrameKind {
    /// A return frame, with this many words.
    Small(usize),
    /// A transaction, with this many words.
    Transaction(usize),
    /// A frame that catches exceptions.
    Catch(usize),
    /// Runtime code that updates a value.
    Update(usize),
    /// A frame whose number of words is at that address.
    Big(u64),
    /// A function with arguments.
    Function,
    /// The stack continues in another chunk.
    Underflow,
    Stop,
    /// An unknown frame, or an interpreter's.
    Unknown,
}

/// Info tables of frames: they never change while a program runs.
#[derive(Debug, Default)]
pub struct Tables(HashMap<u64, FrameKind>);

impl Tables {
    fn find(&mut self, memory: &impl Memory, info: u64) -> FrameKind {
        if let Some(known) = self.0.get(&info) {
            return *known;
        }
        let frame = Tables::read(memory, info).unwrap_or(FrameKind::Unknown);
        if self.0.len() < TABLES_MAX {
            self.0.insert(info, frame);
        }
        frame
    }

    /// The frame of an arbitrary word: a word that is not one is not cached.
    fn peek(&mut self, memory: &impl Memory, word: u64) -> FrameKind {
        if let Some(known) = self.0.get(&word) {
            return *known;
        }
        match Tables::read(memory, word) {
            None | Some(FrameKind::Unknown) => FrameKind::Unknown,
            Some(_) => self.find(memory, word),
        }
    }

    fn read(memory: &impl Memory, info: u64) -> Option<FrameKind> {
        let mut table = [0; TABLE as usize];
        memory.read(info.checked_sub(TABLE)?, &mut table).ok()?;
        let layout = u64::from_ne_bytes(*table.first_chunk()?);
        let number = u32::from_ne_bytes(table.get(8..12)?.try_into().ok()?);
        let words = 1 + (layout & 63) as usize;
        Some(match number {
            30 | 56 | 57 => FrameKind::Small(words),
            55 => FrameKind::Transaction(words),
            33 => FrameKind::Update(words),
            34 => FrameKind::Catch(words),
            31 => FrameKind::Big(info.checked_add_signed(i64::from(layout as u32 as i32))?),
            32 => FrameKind::Function,
            35 => FrameKind::Underflow,
            36 => FrameKind::Stop,
            _ => FrameKind::Unknown,
        })
    }
}

#[derive(Clone, Eq, PartialEq, Debug, Default)]
pub struct Walk {
    /// Code from the top on; for frames that catch exceptions, their handlers.
    pub frames: Vec<Code>,
    /// Words of all frames, except code addresses: references are among them.
    pub words: Vec<u64>,
    /// The subset of `words` in frames that catch exceptions.
    pub catching: Vec<u64>,
    /// The walk reached the end.
    pub whole: bool,
}

/// Walks the stack whose newest chunk is the object at `stack`.
pub fn walk(memory: &impl Memory, tables: &mut Tables, stack: u64) -> Walk {
    let (mut found, mut next) = (Walk::default(), Some(stack));
    for _ in 0..PIECES_MAX {
        let Some(words) = next.and_then(|piece| used(memory, piece)) else { break };
        next = found.piece(memory, tables, &words);
        if next.is_none() {
            break;
        }
    }
    found
}

/// Reads a running thread's stack as it was when the thread last stopped running: the frames are the present ones
/// except the newest, which come and go. So it walks no frames, but searches for those that catch.
pub fn scan(memory: &impl Memory, tables: &mut Tables, stack: u64) -> Walk {
    let (mut found, mut next) = (Walk::default(), Some(stack));
    for _ in 0..PIECES_MAX {
        let Some(words) = next.and_then(|piece| used(memory, piece)) else { break };
        next = None;
        for (at, word) in words.iter().enumerate().filter(|(_, word)| word.is_multiple_of(8)) {
            match tables.peek(memory, *word) {
                FrameKind::Catch(count) => {
                    found.catching.extend(words.iter().skip(at + 1).take(count.saturating_sub(1)))
                }
                FrameKind::Underflow => next = words.get(at + 1).copied(),
                FrameKind::Stop => found.whole = true,
                _ => {}
            }
        }
        found.words.extend(words);
        if next.is_none() {
            break;
        }
    }
    found
}

/// The words in use of a chunk, the newest first.
fn used(memory: &impl Memory, piece: u64) -> Option<Vec<u64>> {
    let mut head = [0; 24];
    memory.read(piece, &mut head).ok()?;
    let size = u64::from(u32::from_ne_bytes(head.get(8..12)?.try_into().ok()?));
    let pointer = u64::from_ne_bytes(head.get(16..24)?.try_into().ok()?);
    let begin = piece.checked_add(24)?;
    let end = begin.checked_add(size * 8)?;
    if !(begin..end).contains(&pointer) || !pointer.is_multiple_of(8) {
        return None;
    }
    let count = usize::try_from((end - pointer) / 8).ok()?.min(WORDS_MAX);
    let mut bytes = vec![0; 8 * count];
    memory.read(pointer, &mut bytes).ok()?;
    Some(bytes.chunks_exact(8).map(|word| word.try_into().map_or(0, u64::from_ne_bytes)).collect())
}

impl Walk {
    fn keep(&mut self, memory: &impl Memory, frame: FrameKind, info: u64, own: &[u64]) {
        let code = match frame {
            FrameKind::Catch(_) => {
                self.catching.extend(own);
                // The other word says whether exceptions were masked.
                let handler = own.iter().rev().find_map(|word| memory.read_u64(word & !7).ok());
                handler.map(|address| Code { address, role: Role::Handler })
            }
            FrameKind::Update(_) => None,
            // The code of the transaction is the first word.
            FrameKind::Transaction(_) => {
                let code = own.first().and_then(|word| memory.read_u64(word & !7).ok());
                code.map(Code::goes)
            }
            _ => Some(Code::goes(info)),
        };
        self.frames.extend(code.filter(|_| self.frames.len() < KEPT_MAX));
        self.words.extend(own);
    }

    /// Walks one chunk; returns the next one.
    fn piece(&mut self, memory: &impl Memory, tables: &mut Tables, words: &[u64]) -> Option<u64> {
        let mut at = 0;
        for _ in 0..FRAMES_MAX {
            let info = *words.get(at)?;
            let frame = tables.find(memory, info);
            let count = match frame {
                FrameKind::Small(count)
                | FrameKind::Transaction(count)
                | FrameKind::Catch(count)
                | FrameKind::Update(count) => count,
                FrameKind::Big(size) => usize::try_from(memory.read_u64(size).ok()?).ok()?.checked_add(1)?,
                FrameKind::Function => usize::try_from(*words.get(at + 1)?).ok()?.checked_add(3)?,
                FrameKind::Underflow => return words.get(at + 1).copied(),
                FrameKind::Stop => {
                    self.whole = true;
                    return None;
                }
                FrameKind::Unknown => return None,
            };
            let end = at.checked_add(count)?;
            let own = words.get(at + 1..end.min(words.len()))?;
            self.keep(memory, frame, info, own);
            at = end;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtimes::testing::Image;

    const CODE: u64 = 0x40_0000;
    const HEAP: u64 = 0x42_0000_0000;

    /// The code of a frame of that type at place `index`.
    fn code(index: u64) -> u64 {
        CODE + 0x40 * index + TABLE
    }

    fn tables(types: &[(u64, u64)]) -> Image {
        let mut image = Image::default();
        for (index, (number, layout)) in (0..).zip(types) {
            image.put(code(index) - TABLE, &[*layout, *number]);
        }
        image
    }

    fn stack(image: Image, at: u64, unused: usize, words: &[u64]) -> Image {
        let size = (unused + words.len()) as u64;
        let pointer = at + 24 + 8 * unused as u64;
        image.words(at, &[0, size, pointer]).words(pointer, words)
    }

    #[test]
    fn frames_of_all_types_are_walked_to_the_end() {
        let size = code(7) + 0x100;
        let image = tables(&[(30, 1), (33, 1), (34, 2), (31, 0x100), (32, 0), (35, 1), (36, 0), (31, 0)]);
        let first = [code(0), 7, code(1), 8, code(2), 9, 10, code(4), 2, 11, 12, 13, code(5), HEAP + 0x1000];
        let second = [code(3), 14, 15, 16, code(0), 17, code(6)];
        let image = image.words(code(3) + 0x100, &[3]).words(size, &[3]);
        let image = stack(image, HEAP, 5, &first);
        let image = stack(image, HEAP + 0x1000, 0, &second);
        let walk = walk(&image, &mut Tables::default(), HEAP);
        assert_eq!(walk.frames, [code(0), code(4), code(3), code(0)].map(Code::goes));
        assert_eq!(walk.catching, [9, 10]);
        assert_eq!(walk.words, [7, 8, 9, 10, 2, 11, 12, 13, 14, 15, 16, 17]);
        assert!(walk.whole);
    }

    #[test]
    fn what_cannot_be_ends_the_walk_and_keeps_what_was_found() {
        let image = tables(&[(30, 1), (52, 0), (31, 0x2000), (32, 0)]);
        for last in [code(1), 0, 5, u64::MAX, code(2), code(3)] {
            let image = stack(image.clone(), HEAP, 0, &[code(0), 1, last]);
            let walk = walk(&image, &mut Tables::default(), HEAP);
            assert_eq!((walk.frames, walk.whole), (vec![Code::goes(code(0))], false), "{last:#x}");
        }
        // A function with as many arguments as there are numbers.
        let image = stack(image, HEAP, 0, &[code(3), u64::MAX, 1]);
        assert_eq!(walk(&image, &mut Tables::default(), HEAP), Walk::default());
    }

    #[test]
    fn a_pointer_outside_of_the_stack_is_none() {
        for pointer in [0, HEAP, HEAP + 24 + 16, HEAP + 25, u64::MAX] {
            let image = Image::default().words(HEAP, &[0, 2, pointer, 1, 2]);
            assert_eq!(walk(&image, &mut Tables::default(), HEAP), Walk::default(), "{pointer:#x}");
        }
        // A chunk that continues in itself ends.
        let image = stack(tables(&[(35, 1)]), HEAP, 0, &[code(0), HEAP]);
        assert!(!walk(&image, &mut Tables::default(), HEAP).whole);
    }
}
