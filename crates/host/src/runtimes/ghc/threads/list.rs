//! All threads of a program and what each waits for, read from the lists of the generations while the
//! program runs on. Owns when the data read is consistent, and how a message leads to the thread that computes
//! a value; refuses to say which thread has a variable (see `holders`) and to name places.

use super::layout::{self, TsoLayout, Why};
use crate::runtimes::chunks::Chunks;
use crate::target::memory::Memory;
use rtscope_heap::closure::{Info, Type};
use rtscope_heap::{Runtime, Statics};
use std::collections::HashSet;
use std::io;

/// Threads read in one sample.
pub const THREADS_MAX: usize = 1 << 17;
/// Capabilities checked for being idle.
const CAPABILITIES_MAX: u32 = 4096;
/// Threads between two checks that the data read is still valid.
const CHECK_EVERY: u64 = 512;
/// Longest name in bytes.
const LABEL_MAX: u64 = 128;
/// States of threads that have ended but are still on a list: see `rts/Constants.h`.
const KILLED: u16 = 3;
const COMPLETE: u16 = 4;

/// Where the runtime of a process stores what is read.
#[derive(Copy, Clone, Debug)]
pub struct RtsPlace {
    pub statics: Statics,
    pub layout: TsoLayout,
    /// The runtime is the non-threaded one.
    pub non_threaded: bool,
}

/// A thread as it was read.
#[derive(Clone, Eq, PartialEq, Debug)]
pub struct Tso {
    pub address: u64,
    pub id: u64,
    pub why: Why,
    pub stack: u64,
    pub label: Option<String>,
    /// The object that it waits for, or a message about that, if it is an object.
    pub object: Option<u64>,
}

/// The part that is read between two collections.
#[derive(Clone, Eq, PartialEq, Debug)]
pub struct Rest {
    /// Threads that are not in the oldest generation, or only recently.
    pub new: Vec<Tso>,
    pub running: Vec<u64>,
    state: GcState,
}

/// Addresses of the capabilities.
pub fn capabilities(memory: &impl Memory, place: &RtsPlace) -> io::Result<Vec<u64>> {
    let (Some(list), Some(count)) = (place.statics.capabilities, place.statics.n_capabilities) else {
        return Ok(Vec::new());
    };
    let count = memory.read_u32(count)?;
    if count > CAPABILITIES_MAX {
        return Ok(Vec::new());
    }
    let first = if place.layout.array { list } else { memory.read_u64(list)? };
    (0..u64::from(count)).map(|index| memory.read_u64(first.wrapping_add(8 * index))).collect()
}

/// Whether a capability is free: no task owns it. In the non-threaded runtime a task always does; there, whether it
/// runs no green thread.
pub fn is_idle(memory: &impl Memory, place: &RtsPlace, capability: u64) -> bool {
    if place.non_threaded {
        let mut runs = [1];
        return memory.read(capability.wrapping_add(layout::IN_HASKELL), &mut runs).is_ok() && runs == [0];
    }
    memory.read_u64(capability.wrapping_add(layout::RUNNING_TASK)).is_ok_and(|task| task == 0)
}

pub fn is_thread(memory: &impl Memory, address: u64) -> bool {
    kind_at(memory, address) == Some(Type::Thread)
}

fn running(memory: &impl Memory, place: &RtsPlace, capabilities: &[u64]) -> Vec<u64> {
    let busy = capabilities.iter().filter(|capability| !is_idle(memory, place, **capability));
    busy.filter_map(|capability| memory.read_u64(capability.wrapping_add(layout::CURRENT_THREAD)).ok()).collect()
}

/// What changes with collections: their number and the head of the list, for each generation; the youngest first.
#[derive(Clone, Eq, PartialEq, Debug)]
struct GcState(Vec<(u32, u64)>);

impl GcState {
    fn read(memory: &impl Memory, statics: &Statics) -> io::Result<GcState> {
        let memory = &Chunks::pages(memory);
        // Rejects a number that is not the place of the oldest.
        let counted = Runtime::read(memory, statics)?.generations;
        let (Some(generations), Some(oldest)) = (statics.generations, statics.oldest) else {
            return Ok(GcState(Vec::new()));
        };
        let (first, last) = (memory.read_u64(generations)?, memory.read_u64(oldest)?);
        let size = last.wrapping_sub(first).checked_div(counted.len().saturating_sub(1) as u64).unwrap_or(0);
        let head = |index: u64| memory.read_u64(first.wrapping_add(index * size).wrapping_add(layout::THREADS));
        let state = counted.iter().zip(0..).map(|(generation, index)| Ok((generation.collections, head(index)?)));
        state.collect::<io::Result<_>>().map(GcState)
    }

    /// Collections of the oldest generation: no other moves its threads or rebuilds its list.
    fn oldest(&self) -> Option<u32> {
        self.0.last().map(|(collections, _)| *collections)
    }
}

/// The threads of a sample in progress. Those of the oldest generation stay in place until it is collected; they
/// are read first, and if there are many threads most are among them. What was allocated or promoted since then is
/// read again after each collection.
#[derive(Debug)]
pub struct Reading<'m, M> {
    direct: &'m M,
    place: &'m RtsPlace,
    collections: Option<u32>,
    /// Threads of the oldest generation.
    pub old: Vec<Tso>,
    is_old: HashSet<u64>,
}

impl<'m, M: Memory> Reading<'m, M> {
    /// Reads the threads of the oldest generation. `direct` is memory as it is now; `memory` may cache its reads.
    /// `None`: they are inconsistent. Errors: memory cannot be read: the process has ended, or it is not permitted.
    pub fn begin(direct: &'m M, memory: &impl Memory, place: &'m RtsPlace) -> io::Result<Option<Self>> {
        let state = GcState::read(direct, &place.statics)?;
        let Some(&(_, head)) = state.0.last() else { return Ok(None) };
        let (collections, is_old) = (state.oldest(), HashSet::new());
        let mut reading = Reading { direct, place, collections, old: Vec::new(), is_old };
        let mut old = Vec::new();
        let is_whole = reading.walk(memory, head, &mut old)?;
        reading.is_old = old.iter().map(|thread| thread.address).collect();
        reading.old = old;
        Ok((is_whole && reading.still_holds()?).then_some(reading))
    }

    /// Whether threads of the oldest generation are still in place.
    pub fn still_holds(&self) -> io::Result<bool> {
        Ok(GcState::read(self.direct, &self.place.statics)?.oldest() == self.collections)
    }

    /// Reads the other threads and which of them capabilities run. `None`: a collection is in progress.
    pub fn rest(&self, memory: &impl Memory) -> io::Result<Option<Rest>> {
        let state = GcState::read(self.direct, &self.place.statics)?;
        let capabilities = capabilities(&Chunks::pages(self.direct), self.place)?;
        let mut new = Vec::new();
        for (_, head) in &state.0 {
            if !self.walk(memory, *head, &mut new)? {
                return Ok(None);
            }
        }
        let running = running(&Chunks::pages(self.direct), self.place, &capabilities);
        // During a collection lists are empty until threads are found live; a running thread is on one of them.
        let found = self.old.iter().chain(&new).filter(|thread| running.contains(&thread.address)).count();
        let is_whole = found == running.iter().filter(|address| **address != 0).count();
        let is_some = !self.old.is_empty() || !new.is_empty();
        Ok((is_whole && is_some).then_some(Rest { new, running, state }))
    }

    /// Whether no collection has happened since the beginning of `rest`.
    pub fn holds(&self, rest: &Rest) -> io::Result<bool> {
        let now = GcState::read(self.direct, &self.place.statics)?;
        Ok(now == rest.state && now.oldest() == self.collections)
    }

    /// Walks a list to its end or to a known thread; returns whether it met only threads.
    fn walk(&self, memory: &impl Memory, head: u64, threads: &mut Vec<Tso>) -> io::Result<bool> {
        let (mut at, mut met, mut steps) = (head, 0, 0_u64);
        while self.old.len() + threads.len() < THREADS_MAX && !self.is_old.contains(&at) {
            // Detects a cyclic list, read while it changed. Some place of the cycle is marked sooner or later.
            if at == met || (steps.is_multiple_of(CHECK_EVERY) && !self.still_holds()?) {
                return Ok(false);
            }
            steps += 1;
            if steps.is_power_of_two() {
                met = at;
            }
            match thread(memory, &self.place.layout, at) {
                Next::Thread(thread, next) => {
                    threads.extend(thread);
                    at = next;
                }
                Next::End => return Ok(true),
                Next::Torn => return Ok(false),
            }
        }
        Ok(true)
    }
}

/// A step along a list.
enum Next {
    /// A thread, unless it has ended, and the address of the next.
    Thread(Option<Tso>, u64),
    End,
    Torn,
}

fn thread(memory: &impl Memory, layout: &TsoLayout, at: u64) -> Next {
    let kind = memory.read_u64(at).ok().and_then(|info| info_of(memory, info));
    match kind.map(|info| info.kind) {
        Some(Type::Thread) => {}
        // A list ends with an object of the runtime's own, not with 0.
        Some(Type::Constructor) => return Next::End,
        _ => return Next::Torn,
    }
    let mut bytes = [0; 8 * layout::THREAD_WORDS];
    let Some(own) = bytes.get_mut(..layout.bytes) else { return Next::Torn };
    if memory.read(at, own).is_err() {
        return Next::Torn;
    }
    let word = |at: usize| bytes.get(at..at + 8).and_then(|word| word.try_into().ok()).map_or(0, u64::from_ne_bytes);
    let half = |at: usize| bytes.get(at..at + 2).and_then(|half| half.try_into().ok()).map_or(0, u16::from_ne_bytes);
    let next = word(layout::GLOBAL_LINK);
    if matches!(half(layout::WHAT_NEXT), KILLED | COMPLETE) {
        return Next::Thread(None, next);
    }
    let why = Why::of(half(layout.why_blocked));
    let info = word(layout.block_info);
    let object = match why {
        Why::MVar | Why::BlackHole | Why::ThrowTo => Some(info),
        Why::Stm => Some(word(layout.transaction)),
        _ => None,
    };
    let label = layout.label.and_then(|at| label(memory, word(at)));
    let (id, stack) = (word(layout.id), word(layout::STACK));
    Next::Thread(Some(Tso { address: at, id, why, stack, label, object }), next)
}

fn label(memory: &impl Memory, at: u64) -> Option<String> {
    let bytes = memory.read_u64(at.checked_add(8).filter(|_| at != 0)?).ok()?.min(LABEL_MAX);
    let mut text = vec![0; bytes as usize];
    memory.read(at.checked_add(16)?, &mut text).ok()?;
    let text = String::from_utf8_lossy(&text).trim_end_matches('\0').to_owned();
    (!text.is_empty()).then_some(text)
}

/// The info table of an object's first word; `None` also for an object that a collection has moved.
pub fn info_of(memory: &impl Memory, info: u64) -> Option<Info> {
    let mut table = [0; rtscope_heap::closure::TABLE];
    memory.read(info.checked_sub(table.len() as u64).filter(|_| info.is_multiple_of(8))?, &mut table).ok()?;
    Info::parse(&table)
}

fn kind_at(memory: &impl Memory, address: u64) -> Option<Type> {
    Some(info_of(memory, memory.read_u64(address).ok()?)?.kind)
}

/// The object that a thread waits for, found through a message in some cases, and the thread that has it. An object
/// that has moved since the thread was read is not found at its old place.
pub fn follow(memory: &impl Memory, layout: &TsoLayout, thread: &Tso) -> (Option<u64>, Option<u64>) {
    let Some(at) = thread.object else { return (None, None) };
    let word = |at: u64, offset: u64| memory.read_u64(at.checked_add(offset)?).ok();
    let found = match thread.why {
        Why::MVar => (kind_at(memory, at) == Some(Type::MVar)).then_some((at, None)),
        Why::BlackHole => word(at, 24).map(|hole| (hole, owner(memory, hole))),
        Why::ThrowTo => word(at, 24).map(|target| (target, Some(target))),
        Why::Stm => first_read(memory, at).map(|variable| (variable, None)),
        _ => None,
    };
    let is_thread = |owner: &u64| is_thread(memory, *owner) && word(*owner, layout.id as u64).is_some();
    (found.map(|found| found.0), found.and_then(|found| found.1).filter(is_thread))
}

/// The thread that computes the value of the object at `hole`.
fn owner(memory: &impl Memory, hole: u64) -> Option<u64> {
    if kind_at(memory, hole) != Some(Type::BlackHole) {
        return None;
    }
    let by = memory.read_u64(hole.checked_add(8)?).ok()? & !7;
    match kind_at(memory, by)? {
        Type::Thread => Some(by),
        Type::BlockingQueue => Some(memory.read_u64(by.checked_add(24)?).ok()? & !7),
        _ => None,
    }
}

/// The variable that the transaction at `at` has read first.
fn first_read(memory: &impl Memory, at: u64) -> Option<u64> {
    let chunk = memory.read_u64(at.checked_add(16)?).ok()?;
    if kind_at(memory, chunk)? != Type::Transaction || memory.read_u64(chunk.checked_add(16)?).ok()? == 0 {
        return None;
    }
    let variable = memory.read_u64(chunk.checked_add(24)?).ok()?;
    (kind_at(memory, variable)? == Type::TVar).then_some(variable)
}
