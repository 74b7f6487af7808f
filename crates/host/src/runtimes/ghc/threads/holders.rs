//! Which thread has a variable that others wait for. The runtime does not record that, but a thread that is to fill
//! a variable has to refer to it. Owns when that is enough: `withMVar`, `modifyMVar`, `bracket` and `forkFinally`
//! catch exceptions in order to put something into the variable, so a thread that will do so has a catch frame
//! whose handler refers to it. If that holds for one thread, that thread has it; else, if exactly one thread that
//! does not wait for the variable refers to it at all, that one. With two candidates the holder is unknown.

use super::list::{Tso, info_of};
use super::stack::Walk;
use crate::target::memory::Memory;
use rtscope_heap::closure::Type;
use std::collections::HashMap;

/// Words read of a closure.
const FIELDS_MAX: usize = 16;
/// Closures and boxes followed from a word of a stack, and from a handler: `bracket` passes its handler the action
/// that releases the variable, which is in a box.
const WORD_DEPTH: u32 = 2;
const HANDLER_DEPTH: u32 = 4;
/// Objects followed in one sample.
const OBJECTS_MAX: u32 = 20_000;

/// No candidate, exactly one, or several.
#[derive(Copy, Clone, Eq, PartialEq, Debug, Default)]
enum Only {
    #[default]
    None,
    One(u64),
    Several,
}

impl Only {
    fn add(&mut self, thread: u64) {
        *self = match *self {
            Only::None => Only::One(thread),
            Only::One(known) if known == thread => Only::One(known),
            _ => Only::Several,
        };
    }
}

/// Threads that refer to a variable without waiting for it.
#[derive(Copy, Clone, Debug, Default)]
struct Candidates {
    catching: Only,
    referring: Only,
}

/// Awaited variables, and the threads that may have them.
#[derive(Debug, Default)]
pub struct Holders {
    wanted: HashMap<u64, Candidates>,
    /// A stack or an object was not read to its end: no thread is certain to be the only one.
    torn: bool,
    /// Objects that may still be followed.
    left: u32,
}

impl Holders {
    /// Prepares for the variables that `threads` wait for.
    pub fn of<'t>(threads: impl Iterator<Item = &'t Tso>) -> Holders {
        let objects = threads.filter_map(|thread| thread.object);
        Holders {
            wanted: objects.map(|object| (object, Candidates::default())).collect(),
            torn: false,
            left: OBJECTS_MAX,
        }
    }

    /// Adds the stack of a thread, for the variables that it does not itself wait for.
    pub fn add(&mut self, memory: &impl Memory, thread: &Tso, walk: &Walk) {
        self.torn |= !walk.whole;
        if self.wanted.is_empty() {
            return;
        }
        let mut met = Vec::new();
        for word in &walk.words {
            self.reach(memory, *word, WORD_DEPTH, &mut met);
        }
        for object in met.drain(..).filter(|object| thread.object != Some(*object)) {
            self.wanted.entry(object).and_modify(|candidates| candidates.referring.add(thread.address));
        }
        for handler in &walk.catching {
            self.reach(memory, *handler, HANDLER_DEPTH, &mut met);
        }
        for object in met.drain(..).filter(|object| thread.object != Some(*object)) {
            self.wanted.entry(object).and_modify(|candidates| {
                candidates.catching.add(thread.address);
                candidates.referring.add(thread.address);
            });
        }
    }

    /// Adds to `met` the variables reachable from `word` through at most `depth` objects.
    fn reach(&mut self, memory: &impl Memory, word: u64, depth: u32, met: &mut Vec<u64>) {
        let object = word & !7;
        if self.wanted.contains_key(&object) {
            met.push(object);
            return;
        }
        if depth == 0 || object == 0 {
            return;
        }
        let Some(left) = self.left.checked_sub(1) else {
            self.torn = true;
            return;
        };
        self.left = left;
        for field in fields(memory, object) {
            self.reach(memory, field, depth - 1, met);
        }
    }

    /// The address of the thread that has `object`.
    pub fn holder(&self, object: u64) -> Option<u64> {
        let candidates = self.wanted.get(&object)?;
        match (candidates.catching, candidates.referring) {
            (Only::One(thread), _) => Some(thread),
            (Only::None, Only::One(thread)) if !self.torn => Some(thread),
            _ => None,
        }
    }
}

/// The references of a closure, which its code uses, and of a box such as `MVar` itself. Records are not
/// followed: code that has one uses only some of it.
fn fields(memory: &impl Memory, at: u64) -> Vec<u64> {
    let read = || {
        let info = info_of(memory, memory.read_u64(at).ok()?)?;
        let head = match info.kind {
            Type::Function => 1,
            Type::Constructor if info.pointers == 1 => 1,
            Type::Thunk | Type::Pap => 2,
            _ => return None,
        };
        let count = (info.pointers as usize).min(FIELDS_MAX);
        let words = (0..count as u64).map(|index| memory.read_u64(at.checked_add(8 * (head + index))?).ok());
        Some(words.flatten().collect())
    };
    read().unwrap_or_default()
}
