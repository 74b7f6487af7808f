//! Samples the green threads of a running program from outside: which there are, why each waits, for what, which
//! thread has that, and the frames on top of its stack. Nothing is stopped and nothing is written. Owns the order of
//! a sample and what names of places say about a wait; refuses versions whose layout is not known.

mod calls;
mod holders;
mod layout;
mod list;
mod names;
mod stack;
#[cfg(test)]
mod tests;
mod thinned;

pub use names::interpret;

use super::heap::{HeapTarget, Sampled};
use crate::kernel::asleep::Asleep;
use crate::runtimes::c_stack::Stacks;
use crate::runtimes::chunks::Chunks;
use crate::runtimes::recorded::{NoHeap, Then};
use crate::runtimes::waiting::{Code, Looks, Role, Thread, ThreadsLook};
use crate::target::Process;
use crate::target::memory::{LiveProcess, Memory};
use holders::Holders;
use layout::{TsoLayout, Why};
use list::{Reading, RtsPlace, Tso};
use rtscope_heap::Statics;
use rtscope_model::chance::Chance;
use rtscope_model::{Doing, OldObjects, Version, WaitKind};
use stack::{Tables, Walk};
use std::collections::{HashMap, HashSet};
use std::io;

/// Immediate retries of a sample that a collection of the oldest generation interrupted.
const LOOKS: u32 = 2;
/// Immediate rereads of what a younger generation's collection made stale.
const TRIES: u32 = 4;

#[derive(Debug)]
struct GhcThreads {
    memory: LiveProcess,
    place: RtsPlace,
    tables: Tables,
    /// Stacks of system threads, for green threads in foreign calls.
    stacks: Stacks,
    old: Sampled,
    /// Which stacks of many are walked.
    chance: Chance,
}

/// Finds the threads of a process.
/// Errors: it is no such program, not readable, or of a version whose layout is not known.
pub fn find(process: &Process) -> Result<Box<dyn Looks>, NoHeap> {
    let target = HeapTarget::find(process).map_err(|refused| super::refused::no_heap(&refused.into()))?;
    let place = place(target.statics, target.version, target.is_threaded() == Some(false))
        .map_err(|why| NoHeap { why, then: Then::Never("") })?;
    let memory = || LiveProcess::from(process.clone());
    let old = Sampled::of(&target, memory());
    let (tables, stacks, chance) = (Tables::default(), Stacks::default(), Chance::new(u64::from(process.pid())));
    Ok(Box::new(GhcThreads { memory: memory(), place, tables, stacks, old, chance }))
}

/// One sample of `memory` as a program with these variables, including the system threads of its green threads; for
/// fuzzers. Errors: it cannot be read, or that version is not known.
pub fn by_bytes(
    memory: &impl Memory,
    statics: Statics,
    version: Version,
    non_threaded: bool,
) -> io::Result<ThreadsLook> {
    let place = place(statics, Some(version), non_threaded).map_err(io::Error::other)?;
    calls::callers(memory, &place, non_threaded.then_some(1));
    look(memory, &place, &mut Tables::default(), &mut Chance::new(1))
}

fn place(statics: Statics, version: Option<Version>, non_threaded: bool) -> Result<RtsPlace, String> {
    let Some(version) = version else { return Err("nothing shows the version of GHC that built it".to_owned()) };
    let Some(layout) = TsoLayout::of(version) else {
        let (major, minor, _) = version;
        return Err(format!("how GHC {major}.{minor} lays out its threads is not known (9.0, 9.6 and 9.10 are)"));
    };
    if statics.generations.is_none() || statics.oldest.is_none() {
        return Err("its symbols are gone (do not `strip` it), so where its threads are is not known".to_owned());
    }
    Ok(RtsPlace { statics, layout, non_threaded })
}

impl Looks for GhcThreads {
    fn look(&mut self) -> io::Result<ThreadsLook> {
        for _ in 0..LOOKS {
            match look(&self.memory, &self.place, &mut self.tables, &mut self.chance)? {
                ThreadsLook::Missed => {}
                ThreadsLook::Threads(mut threads) => {
                    self.call(&mut threads);
                    return Ok(ThreadsLook::Threads(threads));
                }
                ThreadsLook::Busy => return Ok(ThreadsLook::Busy),
            }
        }
        self.memory.process.check()?;
        Ok(ThreadsLook::Missed)
    }

    fn old(&mut self) -> Option<OldObjects<u64>> {
        self.old.look().ok()
    }

    fn made(&mut self) -> Option<u64> {
        Some(self.memory.read_u64(self.place.statics.next_thread?).ok()?.saturating_sub(1))
    }
}

impl GhcThreads {
    /// Finds the C code in which threads in foreign calls sleep. If that fails they are still reported as in calls.
    fn call(&mut self, threads: &mut [Thread]) {
        let calls = |thread: &&mut Thread| thread.doing == Doing::Waits(WaitKind::ForeignCall);
        let process = self.memory.process.clone();
        if !threads.iter_mut().any(|thread| calls(&thread)) {
            return;
        }
        let only_tid = Some(process.pid()).filter(|_| self.place.non_threaded);
        let callers = calls::callers(&Chunks::pages(&self.memory), &self.place, only_tid);
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

/// Takes one sample of `memory`.
fn look(memory: &impl Memory, place: &RtsPlace, tables: &mut Tables, chance: &mut Chance) -> io::Result<ThreadsLook> {
    let variables = Chunks::pages(memory);
    let capabilities = list::capabilities(&variables, place)?;
    if !capabilities.is_empty() && !capabilities.iter().any(|capability| list::is_idle(&variables, place, *capability))
    {
        return Ok(ThreadsLook::Busy);
    }
    let old = Chunks::of(memory);
    let Some(reading) = Reading::begin(memory, &old, place)? else { return Ok(ThreadsLook::Missed) };
    let mut walks = walk(&old, tables, chance, &reading.old);
    for _ in 0..TRIES {
        let chunks = Chunks::of(memory);
        let Some(rest) = reading.rest(&chunks)? else { continue };
        let new = walk(&chunks, tables, chance, &rest.new);
        let all = reading.old.iter().chain(&rest.new).enumerate();
        let run = all.filter(|(_, thread)| rest.running.contains(&thread.address));
        // Running threads: their stacks as they were when they last stopped running.
        let run: Vec<(usize, Walk)> =
            run.map(|(index, thread)| (index, stack::scan(&chunks, tables, thread.stack))).collect();
        if !reading.holds(&rest)? {
            continue;
        }
        walks.extend(new);
        for (index, scan) in run {
            if let Some(walked) = walks.get_mut(index) {
                walked.walk = scan;
            }
        }
        let threads: Vec<Tso> = reading.old.into_iter().chain(rest.new).collect();
        return Ok(ThreadsLook::Threads(describe(&chunks, place, threads, &rest.running, walks)));
    }
    Ok(ThreadsLook::Missed)
}

/// What a sample read of a thread's stack.
struct Walked {
    walk: Walk,
    /// Threads that it stands for; 0: its stack was not read.
    stands_for: u32,
}

fn walk(memory: &impl Memory, tables: &mut Tables, chance: &mut Chance, threads: &[Tso]) -> Vec<Walked> {
    let weights = thinned::weights(threads, chance);
    let walked = |(thread, stands_for): (&Tso, u32)| {
        // What is not walked counts as not read to the end.
        let walk = if stands_for > 0 { stack::walk(memory, tables, thread.stack) } else { Walk::default() };
        Walked { walk, stands_for }
    };
    threads.iter().zip(weights).map(walked).collect()
}

/// What each thread does, and which thread has what it waits for.
fn describe(
    memory: &impl Memory,
    place: &RtsPlace,
    mut threads: Vec<Tso>,
    running: &[u64],
    walks: Vec<Walked>,
) -> Vec<Thread> {
    let mut owners = Vec::with_capacity(threads.len());
    for (thread, walked) in threads.iter_mut().zip(&walks) {
        let read = walked.stands_for > 0;
        let (object, owner) = if read { list::follow(memory, &place.layout, thread) } else { (None, None) };
        thread.object = object;
        owners.push(owner);
    }
    let mut holders = Holders::of(threads.iter().filter(|thread| thread.why == Why::MVar));
    threads.iter().zip(&walks).for_each(|(thread, walked)| holders.add(memory, thread, &walked.walk));
    let awaited = threads.iter().zip(owners).map(|(thread, owner)| {
        let held = thread.object.filter(|_| thread.why == Why::MVar).and_then(|object| holders.holder(object));
        owner.or(held)
    });
    let awaited: Vec<Option<u64>> = awaited.collect();
    let of: HashSet<u64> = awaited.iter().copied().flatten().collect();
    let known = threads.iter().filter(|thread| of.contains(&thread.address));
    let holding: HashMap<u64, u64> = known.map(|thread| (thread.address, thread.id)).collect();
    let all = threads.into_iter().zip(awaited).zip(walks);
    let kept = all.filter(|((thread, _), walked)| walked.stands_for > 0 || holding.contains_key(&thread.address));
    let found = kept.map(|((thread, holder), Walked { walk, stands_for })| {
        let runs = running.contains(&thread.address);
        // A thread that is ready waits in no place, and where it is changes from look to look: names cost most of a look.
        let nowhere = runs || thread.why == Why::Not && !holding.contains_key(&thread.address);
        Thread {
            id: thread.id,
            stands_for,
            doing: doing(&thread, runs),
            name: thread.label,
            object: thread.object,
            holder: holder.and_then(|address| holding.get(&address).copied()),
            frames: if nowhere { Vec::new() } else { walk.frames },
            lane_holder: None,
        }
    });
    found.collect()
}

fn doing(thread: &Tso, runs: bool) -> Doing {
    Doing::Waits(match thread.why {
        Why::Not if runs => return Doing::Runs,
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
