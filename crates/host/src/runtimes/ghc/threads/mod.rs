//! Green threads of a running program, from outside: which there are, why each waits, for what, who has
//! that, and the frames on top of its stack. Nothing is stopped and nothing is written. Owns the order of
//! a look and what names of places tell of a wait; refuses versions whose layout is not known.

mod chunks;
mod holders;
mod layout;
mod list;
mod names;
mod stack;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;

pub use names::told;

use super::heap::Target;
use crate::runtimes::recorded::{NoHeap, Then};
use crate::runtimes::waiting::{Look, Looks, Thread};
use crate::target::Process;
use crate::target::memory::{LiveProcess, Memory};
use chunks::Chunks;
use holders::Holders;
use layout::{Layout, Why};
use list::{List, Place, Tso};
use rtscope_heap::Statics;
use rtscope_model::{Doing, Version, WaitKind};
use stack::{Tables, Walk};
use std::collections::{HashMap, HashSet};
use std::io;

/// How often a look is retaken at once.
const TRIES: u32 = 2;
/// Stacks that are walked in one look.
const STACKS_MAX: usize = 1 << 14;
/// Bytes of `capabilities` where it is a pointer to the array.
const POINTER_BYTES: u64 = 8;

/// The threads of one process.
#[derive(Debug)]
struct Watched {
    memory: LiveProcess,
    place: Place,
    tables: Tables,
}

/// Finds out where the threads of a process are.
///
/// # Errors
/// It is no such program, not readable, or of a version whose layout is not known.
pub fn find(process: &Process) -> Result<Box<dyn Looks>, NoHeap> {
    let target = Target::find(process).map_err(|refused| super::refused::no_heap(&refused.into()))?;
    let place = place(target.statics, target.version, target.capabilities_bytes())
        .map_err(|why| NoHeap { why, then: Then::Never("") })?;
    Ok(Box::new(Watched { memory: LiveProcess::from(process.clone()), place, tables: Tables::default() }))
}

fn place(statics: Statics, version: Option<Version>, bytes: Option<u64>) -> Result<Place, String> {
    let Some(version) = version else { return Err("nothing tells the version of GHC that built it".to_owned()) };
    let Some(layout) = Layout::of(version) else {
        let (major, minor, _) = version;
        return Err(format!("how GHC {major}.{minor} lays out its threads is not known (9.0, 9.6 and 9.10 are)"));
    };
    if statics.generations.is_none() || statics.oldest.is_none() {
        return Err("its symbols are gone (do not `strip` it), so where its threads are is not known".to_owned());
    }
    // Of a runtime that is a library nothing says whether it is a pointer or the array.
    let statics = Statics { capabilities: statics.capabilities.filter(|_| bytes.is_some()), ..statics };
    Ok(Place { statics, layout, direct: bytes.is_some_and(|bytes| bytes > POINTER_BYTES) })
}

impl Looks for Watched {
    fn look(&mut self) -> io::Result<Look> {
        for _ in 0..TRIES {
            match look(&self.memory, &self.place, &mut self.tables)? {
                Look::Missed => {}
                found => return Ok(found),
            }
        }
        self.memory.process.check()?;
        Ok(Look::Missed)
    }
}

/// One look at `memory`.
///
/// # Errors
/// It cannot be read.
fn look(memory: &impl Memory, place: &Place, tables: &mut Tables) -> io::Result<Look> {
    let capabilities = list::capabilities(memory, place)?;
    if !capabilities.is_empty() && !capabilities.iter().any(|capability| list::is_idle(memory, *capability)) {
        return Ok(Look::Busy);
    }
    let chunks = Chunks::of(memory);
    let List::Threads(threads, running) = list::read(memory, &chunks, place)? else { return Ok(Look::Missed) };
    let running: HashSet<u64> = running.into_iter().collect();
    let walks = walks(&chunks, tables, &threads, &running);
    let holders = holders(&chunks, &threads, &walks, &running);
    let ids: HashMap<u64, u64> = threads.iter().map(|thread| (thread.address, thread.id)).collect();
    let found = threads.into_iter().zip(walks).map(|(thread, walk)| {
        let held = thread.object.filter(|_| thread.why == Why::MVar).and_then(|object| holders.holder(object));
        let holder = thread.owner.or(held).and_then(|address| ids.get(&address).copied());
        Thread {
            id: thread.id,
            doing: doing(&thread, &running),
            name: thread.label,
            object: thread.object,
            holder,
            frames: walk.map_or(Vec::new(), |walk| walk.frames),
        }
    });
    Ok(Look::Threads(found.collect()))
}

/// Stacks of threads that stand still.
fn walks(memory: &impl Memory, tables: &mut Tables, threads: &[Tso], running: &HashSet<u64>) -> Vec<Option<Walk>> {
    let still = |thread: &&Tso| !running.contains(&thread.address);
    let mut left = STACKS_MAX;
    let mut walk = |thread: &Tso| {
        left = left.checked_sub(1)?;
        Some(stack::walk(memory, tables, thread.stack))
    };
    threads.iter().map(|thread| Some(thread).filter(still).and_then(&mut walk)).collect()
}

fn holders(memory: &impl Memory, threads: &[Tso], walks: &[Option<Walk>], running: &HashSet<u64>) -> Holders {
    let mut holders = Holders::of(threads.iter().filter(|thread| thread.why == Why::MVar));
    for (thread, walk) in threads.iter().zip(walks) {
        match walk {
            Some(walk) if !running.contains(&thread.address) => holders.add(memory, thread, walk),
            _ => holders.add_running(),
        }
    }
    holders
}

fn doing(thread: &Tso, running: &HashSet<u64>) -> Doing {
    Doing::Waits(match thread.why {
        Why::Not if running.contains(&thread.address) => return Doing::Runs,
        Why::Not => return Doing::Ready,
        Why::MVar => WaitKind::Lock,
        Why::BlackHole => WaitKind::Value,
        Why::Descriptor => WaitKind::InputOutput,
        Why::Delay => WaitKind::Time,
        Why::Stm => WaitKind::Transaction,
        Why::Call => WaitKind::ForeignCall,
        Why::ThrowTo => WaitKind::Message,
        Why::Migrating => WaitKind::Moved,
        Why::Other => WaitKind::Unknown,
    })
}
