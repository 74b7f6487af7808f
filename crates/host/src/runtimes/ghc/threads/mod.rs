//! Green threads of a running program, from outside: which there are, why each waits, for what, who has
//! that, and the frames on top of its stack. Nothing is stopped and nothing is written. Owns the order of
//! a look and what names of places tell of a wait; refuses versions whose layout is not known.

mod calls;
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
use crate::kernel::asleep::Asleep;
use crate::runtimes::c_stack::Stacks;
use crate::runtimes::recorded::{NoHeap, Then};
use crate::runtimes::waiting::{Code, Look, Looks, Role, Thread};
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

/// The threads of one process.
#[derive(Debug)]
struct Watched {
    memory: LiveProcess,
    place: Place,
    tables: Tables,
    /// Of threads of the system, for those that are in foreign calls.
    stacks: Stacks,
}

/// Finds out where the threads of a process are.
///
/// # Errors
/// It is no such program, not readable, or of a version whose layout is not known.
pub fn find(process: &Process) -> Result<Box<dyn Looks>, NoHeap> {
    let target = Target::find(process).map_err(|refused| super::refused::no_heap(&refused.into()))?;
    let place = place(target.statics, target.version, target.is_threaded() == Some(false))
        .map_err(|why| NoHeap { why, then: Then::Never("") })?;
    let memory = LiveProcess::from(process.clone());
    Ok(Box::new(Watched { memory, place, tables: Tables::default(), stacks: Stacks::default() }))
}

/// One look at `memory` as that of a program with these variables, and who of its threads is in which of the system's; for
/// fuzzers.
///
/// # Errors
/// It cannot be read, or nothing is known of that version.
pub fn by_bytes(memory: &impl Memory, statics: Statics, version: Version, alone: bool) -> io::Result<Look> {
    let place = place(statics, Some(version), alone).map_err(io::Error::other)?;
    calls::callers(memory, &place, alone.then_some(1));
    look(memory, &place, &mut Tables::default())
}

fn place(statics: Statics, version: Option<Version>, alone: bool) -> Result<Place, String> {
    let Some(version) = version else { return Err("nothing tells the version of GHC that built it".to_owned()) };
    let Some(layout) = Layout::of(version) else {
        let (major, minor, _) = version;
        return Err(format!("how GHC {major}.{minor} lays out its threads is not known (9.0, 9.6 and 9.10 are)"));
    };
    if statics.generations.is_none() || statics.oldest.is_none() {
        return Err("its symbols are gone (do not `strip` it), so where its threads are is not known".to_owned());
    }
    Ok(Place { statics, layout, alone })
}

impl Looks for Watched {
    fn look(&mut self) -> io::Result<Look> {
        for _ in 0..TRIES {
            match look(&self.memory, &self.place, &mut self.tables)? {
                Look::Missed => {}
                Look::Threads(mut threads) => {
                    self.call(&mut threads);
                    return Ok(Look::Threads(threads));
                }
                Look::Busy => return Ok(Look::Busy),
            }
        }
        self.memory.process.check()?;
        Ok(Look::Missed)
    }
}

impl Watched {
    /// Finds the C code in which threads that are in foreign calls sleep. Without it they are in calls all the same.
    fn call(&mut self, threads: &mut [Thread]) {
        let calls = |thread: &&mut Thread| thread.doing == Doing::Waits(WaitKind::ForeignCall);
        let process = self.memory.process.clone();
        if !threads.iter_mut().any(|thread| calls(&thread)) {
            return;
        }
        let alone = Some(process.pid()).filter(|_| self.place.alone);
        let callers = calls::callers(&self.memory, &self.place, alone);
        let lines = process.calls().unwrap_or_default();
        let asleep: HashMap<u32, Asleep> =
            lines.iter().filter_map(|(tid, line)| Some((*tid, Asleep::parse(line)?))).collect();
        if self.stacks.begin(&process, asleep.values()).is_err() {
            return;
        }
        for thread in threads.iter_mut().filter(calls) {
            let slept = callers.get(&thread.id).and_then(|tid| asleep.get(tid));
            let Some(Asleep::Call(_, _, stack, counter)) = slept else { continue };
            let words = self.stacks.words(&self.memory, *stack);
            let places = std::iter::once(*counter).chain(self.stacks.returns(&self.memory, &words));
            thread.frames.extend(places.map(|address| Code { address, role: Role::Foreign }));
        }
    }
}

/// One look at `memory`.
///
/// # Errors
/// It cannot be read.
fn look(memory: &impl Memory, place: &Place, tables: &mut Tables) -> io::Result<Look> {
    let capabilities = list::capabilities(memory, place)?;
    if !capabilities.is_empty() && !capabilities.iter().any(|capability| list::is_idle(memory, place, *capability)) {
        return Ok(Look::Busy);
    }
    let chunks = Chunks::of(memory);
    let List::Threads(threads, running) = list::read(memory, &chunks, place)? else { return Ok(Look::Missed) };
    let running: HashSet<u64> = running.into_iter().collect();
    let walks = walks(&chunks, tables, &threads, &running);
    let holders = holders(&chunks, &threads, &walks);
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
            frames: walk.filter(|_| !running.contains(&thread.address)).map_or(Vec::new(), |walk| walk.frames),
            lane_holder: None,
        }
    });
    Ok(Look::Threads(found.collect()))
}

/// Stacks, of threads that run as they were when these stood still last.
fn walks(memory: &impl Memory, tables: &mut Tables, threads: &[Tso], running: &HashSet<u64>) -> Vec<Option<Walk>> {
    let mut left = STACKS_MAX;
    let mut walk = |thread: &Tso| {
        left = left.checked_sub(1)?;
        let walk = if running.contains(&thread.address) { stack::scan } else { stack::walk };
        Some(walk(memory, tables, thread.stack))
    };
    threads.iter().map(&mut walk).collect()
}

fn holders(memory: &impl Memory, threads: &[Tso], walks: &[Option<Walk>]) -> Holders {
    let mut holders = Holders::of(threads.iter().filter(|thread| thread.why == Why::MVar));
    for (thread, walk) in threads.iter().zip(walks) {
        match walk {
            Some(walk) => holders.add(memory, thread, walk),
            None => holders.add_unread(),
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
