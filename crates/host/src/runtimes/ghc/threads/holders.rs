//! Who has a variable that others wait for. The runtime does not say it; whoever is to fill one has to
//! refer to it. Owns when that tells: `withMVar`, `modifyMVar`, `bracket` and `forkFinally` catch
//! exceptions in order to put something into the variable, so a thread that will do so has a frame that
//! catches and whose handler refers to it. Where that holds for one thread, that is the one; else, where a
//! single thread that does not wait for the variable refers to it at all, that one. Two candidates are
//! unknown.

use super::list::{Tso, info_of};
use super::stack::Walk;
use crate::target::memory::Memory;
use rtscope_heap::closure::Type;
use std::collections::HashMap;

/// Words of a handler that are looked at.
const FIELDS_MAX: usize = 16;

/// The only one, none, or several.
#[derive(Copy, Clone, Eq, PartialEq, Debug, Default)]
enum Only {
    #[default]
    Nobody,
    One(u64),
    Several,
}

impl Only {
    fn add(&mut self, thread: u64) {
        *self = match *self {
            Only::Nobody => Only::One(thread),
            Only::One(known) if known == thread => Only::One(known),
            _ => Only::Several,
        };
    }
}

/// Those that refer to a variable without waiting for it.
#[derive(Copy, Clone, Debug, Default)]
struct Candidates {
    catching: Only,
    referring: Only,
}

/// Variables that are waited for, and who may have them.
#[derive(Debug, Default)]
pub struct Holders {
    wanted: HashMap<u64, Candidates>,
    /// Some stack was not walked to its end: nobody is the only one.
    torn: bool,
}

impl Holders {
    /// For the variables that `threads` wait for.
    pub fn of<'t>(threads: impl Iterator<Item = &'t Tso>) -> Holders {
        let objects = threads.filter_map(|thread| thread.object);
        Holders { wanted: objects.map(|object| (object, Candidates::default())).collect(), torn: false }
    }

    /// Takes in the stack of a thread that is not `waiting` for them all.
    pub fn add(&mut self, memory: &impl Memory, thread: &Tso, walk: &Walk) {
        self.torn |= !walk.whole;
        let note = |wanted: &mut HashMap<u64, Candidates>, word: u64, catching: bool| {
            let object = word & !7;
            if thread.object == Some(object) {
                return;
            }
            if let Some(candidates) = wanted.get_mut(&object) {
                let only = if catching { &mut candidates.catching } else { &mut candidates.referring };
                only.add(thread.address);
            }
        };
        walk.words.iter().for_each(|word| note(&mut self.wanted, *word, false));
        for handler in &walk.catching {
            fields(memory, *handler & !7).into_iter().for_each(|word| {
                note(&mut self.wanted, word, true);
                note(&mut self.wanted, word, false);
            });
        }
    }

    /// A thread runs: what it refers to is not known.
    pub fn add_running(&mut self) {
        self.torn = true;
    }

    /// The address of the thread that has `object`.
    pub fn holder(&self, object: u64) -> Option<u64> {
        let candidates = self.wanted.get(&object)?;
        match (candidates.catching, candidates.referring) {
            (Only::One(thread), _) => Some(thread),
            (Only::Nobody, Only::One(thread)) if !self.torn => Some(thread),
            _ => None,
        }
    }
}

/// What a handler refers to.
fn fields(memory: &impl Memory, at: u64) -> Vec<u64> {
    let read = || {
        let info = info_of(memory, memory.read_u64(at).ok().filter(|_| at != 0)?)?;
        let head = match info.kind {
            Type::Function => 1,
            Type::Thunk | Type::Pap => 2,
            _ => return None,
        };
        let count = (info.pointers as usize).min(FIELDS_MAX);
        let words = (0..count as u64).map(|index| memory.read_u64(at.checked_add(8 * (head + index))?).ok());
        Some(words.flatten().collect())
    };
    read().unwrap_or_default()
}
