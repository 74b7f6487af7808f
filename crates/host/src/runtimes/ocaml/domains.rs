//! Which thread has a domain that others wait for, and which one's end `Domain.join` awaits, seen from outside. Both
//! come from C stacks. Owns what the runtime and the C library store there; refuses to know what threads do.

use crate::runtimes::c_stack::{HEAD_WITHIN, Stacks};
use crate::target::mappings::Mapping;
use crate::target::memory::Memory;
use std::collections::{HashMap, HashSet};
use std::ops::Range;

/// Words tried as a domain's state, in one sample of a thread.
const TRIES_MAX: usize = 48;
/// No minor heap is larger.
const MINOR_MAX: u64 = 1 << 40;

/// Words of a domain's state (`domain_state.tbl`, the same in 5.0 to 5.4).
const YOUNG_POINTER: usize = 1;
const YOUNG_START: usize = 2;
const YOUNG_END: usize = 3;
const CURRENT_STACK: usize = 5;
const C_STACK: usize = 8;
/// Words of values: the bits of a header below its size, the tag of a block that C code owns, the constant `Running`.
const SIZE_SHIFT: u32 = 10;
const CUSTOM: u64 = 0xff;
const RUNNING: u64 = 1;
/// A thread's first frames lie at most this many bytes below the C library's data of the thread.
const FIRST_FRAMES: u64 = 8 << 10;
/// Bytes of a condition variable of the C library (`pthread_cond_t`).
const CONDITION: u64 = 48;
/// Size of a thread's stack if stacks are unlimited, and of the guard page in front of each.
const STACK: u64 = 2 << 20;
const GUARD: u64 = 4096;
/// Possible stack ends tried in one sample.
const ENDS_MAX: usize = 1024;
/// Samples after which threads without a domain are searched again: one may just have started.
const SEARCH_EVERY: u32 = 16;

/// The thread on whose stack a place lies. The kernel may show the stacks of many threads as one mapping.
fn whose(memory: &impl Memory, stacks: &Stacks, pid: u32, place: u64) -> Option<u32> {
    let mapping = stacks.mapping(place).filter(|_| place.is_multiple_of(8))?;
    if mapping.name == "[stack]" {
        return Some(pid);
    }
    let end = mapping.range.end.min(place.checked_add(HEAD_WITHIN)?);
    stacks.head(memory, place..end).map(|(_, tid)| tid)
}

/// The thread that has the domain of the thread whose stack has these words: that domain's OCaml code was last entered
/// from its stack. C code keeps the address of the domain's state on the stack while it uses that register otherwise.
pub fn holder(memory: &impl Memory, stacks: &Stacks, words: &[u64], pid: u32) -> Option<u32> {
    let writable = |word: u64| stacks.mapping(word).is_some_and(|mapping| mapping.writable);
    let tried = words.iter().copied().filter(|word| word.is_multiple_of(8) && writable(*word)).take(TRIES_MAX);
    let mut entered = tried.filter_map(|word| entered(memory, word));
    entered.find_map(|c_stack| whose(memory, stacks, pid, c_stack))
}

/// The place on a C stack from which OCaml code was last entered, for the domain whose state is at `address`, if
/// the words there can be a state.
fn entered(memory: &impl Memory, address: u64) -> Option<u64> {
    let mut words = [0; C_STACK + 1];
    let range = address..address.checked_add(8 * words.len() as u64)?;
    memory.read_words(std::slice::from_ref(&range), &mut words).ok()?;
    let [pointer, start, end] = [YOUNG_POINTER, YOUNG_START, YOUNG_END].map(|at| words.get(at).copied().unwrap_or(0));
    let is_heap = start != 0 && (start..=end).contains(&pointer) && end - start <= MINOR_MAX && end > start;
    let (current_stack, c_stack) = (*words.get(CURRENT_STACK)?, *words.get(C_STACK)?);
    (is_heap && current_stack != 0 && c_stack != 0).then_some(c_stack)
}

/// Domains' threads by the condition that signals the domain's end. `Domain.join` sleeps on it; while the domain's
/// thread lives, the first frames of its stack contain the record with that condition (`term_sync`).
#[derive(Debug)]
pub struct Ends {
    /// Distance between the ends of two threads' stacks, if the kernel shows many as one mapping.
    stack: u64,
    looks: u32,
    conditions: HashMap<u32, u64>,
    /// Threads that need not be searched again.
    searched: HashSet<u32>,
}

impl Ends {
    /// For a process with these limits (`/proc/PID/limits`).
    pub fn of(limits: &str) -> Ends {
        let line = limits.lines().find_map(|line| line.strip_prefix("Max stack size"));
        let limit = line.and_then(|line| line.split_whitespace().next()?.parse().ok());
        let stack = limit.filter(|limit| *limit >= HEAD_WITHIN).unwrap_or(STACK).saturating_add(GUARD);
        Ends { stack, looks: 0, conditions: HashMap::new(), searched: HashSet::new() }
    }

    /// Searches the stacks of these threads if some thread waits at a place that is not known yet. The first thread of
    /// a process, whose stack is the kernel's, is none of them: no thread awaits the end of its domain.
    pub fn look(
        &mut self,
        memory: &impl Memory,
        stacks: &Stacks,
        threads: &HashSet<u32>,
        awaited: impl IntoIterator<Item = u64>,
    ) {
        self.looks = self.looks.wrapping_add(1);
        self.conditions.retain(|tid, _| threads.contains(tid));
        if self.looks.is_multiple_of(SEARCH_EVERY) {
            self.searched.clear();
        }
        let is_known = threads.iter().all(|tid| self.searched.contains(tid) || self.conditions.contains_key(tid));
        if is_known || awaited.into_iter().all(|place| self.whose(place).is_some()) {
            return;
        }
        self.searched.extend(threads);
        let mut left = threads.clone();
        for end in ends(&stacks.mappings, self.stack) {
            let Some((head, tid)) = stacks.head(memory, end.saturating_sub(HEAD_WITHIN)..end) else { continue };
            if !left.remove(&tid) {
                continue;
            }
            if !self.conditions.contains_key(&tid)
                && let Some(condition) = condition(memory, stacks, head)
            {
                self.conditions.insert(tid, condition);
            }
            if left.is_empty() {
                return;
            }
        }
    }

    /// The thread whose domain's end is awaited at this place.
    pub fn whose(&self, place: u64) -> Option<u32> {
        let is_in = |condition: u64| (condition..condition.saturating_add(CONDITION)).contains(&place);
        self.conditions.iter().find(|(_, condition)| is_in(**condition)).map(|(tid, _)| *tid)
    }
}

/// Where stacks of threads can end: at the end of an anonymous mapping, and at multiples of `stack` below such an end.
/// First in mappings of the length of some stacks, with guard pages or one without: a large heap has many mappings too.
fn ends(mappings: &[Mapping], stack: u64) -> impl Iterator<Item = u64> {
    let anonymous = mappings.iter().filter(|mapping| mapping.writable && mapping.name.is_empty());
    let mut anonymous: Vec<Range<u64>> = anonymous.map(|mapping| mapping.range.clone()).collect();
    let is_stack = |length: u64| length.is_multiple_of(stack) || length == stack - GUARD;
    anonymous.sort_by_key(|range| !is_stack(range.end - range.start));
    let of = move |range: Range<u64>| {
        let first = range.start.saturating_add(HEAD_WITHIN);
        std::iter::successors(Some(range.end), move |end| end.checked_sub(stack)).take_while(move |end| *end >= first)
    };
    anonymous.into_iter().flat_map(of).take(ENDS_MAX)
}

/// The condition on which `Domain.join` of a thread's domain sleeps; `None`: the thread has no domain. Below `head` is
/// the address of two values (`struct domain_ml_values`); the second is a record of a state, a mutex and the condition.
fn condition(memory: &impl Memory, stacks: &Stacks, head: u64) -> Option<u64> {
    let words = stacks.readable(memory, head.saturating_sub(FIRST_FRAMES)..head);
    words.iter().rev().find_map(|values| ended(memory, *values))
}

/// The condition in the record of a domain that has not ended.
fn ended(memory: &impl Memory, values: u64) -> Option<u64> {
    let block = |address: u64| Some(address).filter(|address| *address != 0 && address.is_multiple_of(8));
    let record = block(memory.read_u64(block(values)?.checked_add(8)?).ok()?)?;
    let mut words = [0; 4];
    let range = record.checked_sub(8)?..record.checked_add(24)?;
    memory.read_words(std::slice::from_ref(&range), &mut words).ok()?;
    let [header, state, _, condition] = words;
    let is_record = header & 0xff == 0 && header >> SIZE_SHIFT == 3 && state == RUNNING;
    let condition = block(condition).filter(|_| is_record)?;
    let is_custom = memory.read_u64(condition.checked_sub(8)?).ok()? & 0xff == CUSTOM;
    block(memory.read_u64(condition.checked_add(8)?).ok()?).filter(|_| is_custom)
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use std::io;

    /// Words at addresses from 0 on.
    pub(in crate::runtimes::ocaml) struct Words(pub Vec<u64>);

    impl Memory for Words {
        fn read(&self, address: u64, buffer: &mut [u8]) -> io::Result<()> {
            let bytes: Vec<u8> = self.0.iter().flat_map(|word| word.to_ne_bytes()).collect();
            let from = usize::try_from(address).map_err(|_| io::ErrorKind::UnexpectedEof)?;
            let there = from.checked_add(buffer.len()).and_then(|to| bytes.get(from..to));
            buffer.copy_from_slice(there.ok_or(io::ErrorKind::UnexpectedEof)?);
            Ok(())
        }
    }

    #[test]
    fn what_cannot_be_a_domain_is_none() {
        let good = vec![0, 0x2000, 0x1000, 0x3000, 0, 0x5000, 0, 0, 0x7000];
        assert_eq!(entered(&Words(good.clone()), 0), Some(0x7000));
        for (at, word) in [(YOUNG_POINTER, 0), (YOUNG_START, 0), (YOUNG_END, u64::MAX), (CURRENT_STACK, 0)] {
            let mut words = good.clone();
            words[at] = word;
            assert_eq!(entered(&Words(words), 0), None, "{at}");
        }
        assert_eq!(entered(&Words(good), u64::MAX - 8), None);
    }

    #[test]
    fn a_domains_stack_shows_the_condition_for_its_end() {
        // Two values at 8; the record at 32, the condition at 64, each after its header.
        let words = vec![0, 0x99, 32, 3 << 10, RUNNING, 0x77, 64, 3 << 10 | CUSTOM, 0x55, 0x4000];
        assert_eq!(ended(&Words(words.clone()), 8), Some(0x4000));
        for (at, word) in [(2, 0), (2, 33), (3, 2 << 10), (3, 3 << 10 | CUSTOM), (4, 5), (6, 0), (7, 0), (9, 0)] {
            let mut words = words.clone();
            words[at] = word;
            assert_eq!(ended(&Words(words), 8), None, "{at}");
        }
        let mut ends = Ends::of("Max stack size             8388608              unlimited            bytes");
        assert_eq!((ends.stack, Ends::of("Max stack size unlimited").stack), ((8 << 20) + GUARD, STACK + GUARD));
        ends.conditions.insert(7, 0x4000);
        assert_eq!([0x4020, 0x4030].map(|place| ends.whose(place)), [Some(7), None]);
    }

    #[test]
    fn stacks_end_with_their_mapping_or_with_others_in_it() {
        let maps = "10000-7f000 rw-p 00000000 00:00 0\n100000-200000 rw-p 00000000 00:00 0 [heap]\n\
            300000-342000 rw-p 00000000 00:00 0\n400000-420000 rw-p 00000000 00:00 0\n";
        let found: Vec<u64> = ends(&crate::target::mappings::parse(maps), 0x21000).collect();
        assert_eq!(found, [0x342000, 0x321000, 0x420000, 0x7f000, 0x5e000, 0x3d000, 0x1c000]);
    }
}
