//! Stacks of C code: return addresses are words on the stack that point just after a call instruction, the innermost
//! first, and at the stack's end the C library keeps its data of the thread. Owns how much of a stack is read, what a
//! call looks like, and how to read a thread's number there; refuses to unwind, and to name places.

use crate::kernel::asleep::Asleep;
use crate::target::Process;
use crate::target::mappings::Mapping;
use crate::target::memory::Memory;
use std::collections::HashMap;
use std::io;
use std::ops::Range;

/// Bytes of a stack that are read, bytes of a page, and places kept of a stack.
const BYTES: u64 = 8 * 256;
const PAGE: u64 = 4096;
pub const KEPT_MAX: usize = 16;
/// Most samples between two reads of the mappings: libraries get loaded.
const MAPPINGS_EVERY: u32 = 16;
/// The C library's data of a thread (`struct pthread`) begins at most this many bytes below the end of its stack. It
/// has its own address twice, and the system's number of the thread (debuggers find it by `_thread_db_pthread_tid`).
pub const HEAD_WITHIN: u64 = 16 << 10;
const SELF: u64 = 16;
const NUMBER: u64 = 720;
/// Places remembered with whether they come after a call.
const CALLS_MAX: usize = 1 << 16;

/// Stacks of the threads of one process.
#[derive(Debug, Default)]
pub struct Stacks {
    pub mappings: Vec<Mapping>,
    looks: u32,
    /// Whether a place comes after a call instruction.
    calls: HashMap<u64, bool>,
}

impl Stacks {
    pub fn of(mappings: Vec<Mapping>) -> Stacks {
        Stacks { mappings, ..Stacks::default() }
    }

    /// Begins a sample of threads in these states. Errors: the mappings may not be read, or the process has ended.
    pub fn begin<'a>(&mut self, process: &Process, asleep: impl IntoIterator<Item = &'a Asleep>) -> io::Result<()> {
        let is_new = |asleep: &Asleep| matches!(asleep, Asleep::Call(_, _, stack, _) if !self.mapping(*stack).is_some_and(|known| known.writable));
        if self.looks.is_multiple_of(MAPPINGS_EVERY) || asleep.into_iter().any(is_new) {
            self.mappings = process.mappings()?;
        }
        self.looks = self.looks.wrapping_add(1);
        Ok(())
    }

    pub fn mapping(&self, address: u64) -> Option<&Mapping> {
        let at = self.mappings.partition_point(|mapping| mapping.range.end <= address);
        self.mappings.get(at).filter(|mapping| mapping.range.contains(&address))
    }

    /// The words of a stack from its pointer on, as far as it is mapped.
    pub fn words(&self, memory: &impl Memory, stack: u64) -> Vec<u64> {
        let Some(mapping) = self.mapping(stack) else { return Vec::new() };
        self.readable(memory, stack..mapping.range.end.min(stack.saturating_add(BYTES)))
    }

    /// Words of a piece of a stack. A guard page follows a stack, and the kernel may show it as a part of the same
    /// mapping: the words end there.
    pub fn readable(&self, memory: &impl Memory, range: Range<u64>) -> Vec<u64> {
        let mut found = Vec::new();
        let mut at = range.start;
        while at < range.end && at.is_multiple_of(8) {
            let end = range.end.min((at / PAGE + 1).saturating_mul(PAGE));
            let mut words = vec![0; usize::try_from((end - at) / 8).unwrap_or(0)];
            if words.is_empty()
                || memory.read_words(std::slice::from_ref(&(at..at + 8 * words.len() as u64)), &mut words).is_err()
            {
                break;
            }
            found.append(&mut words);
            at = end;
        }
        found
    }

    /// Where the C library's data of a thread begins within `range`, and the thread's number.
    pub fn head(&self, memory: &impl Memory, range: Range<u64>) -> Option<(u64, u32)> {
        let words = self.readable(memory, range.clone());
        let is_own = |(at, word): &(u64, &u64)| at == *word;
        let mut heads = range.step_by(8).zip(&words).filter(is_own);
        heads.find_map(|(head, _)| Some((head, number(memory, head)?)))
    }

    /// Whether a word is a code address just after a call instruction.
    pub fn comes_after_a_call(&mut self, memory: &impl Memory, word: u64) -> bool {
        if let Some(known) = self.calls.get(&word) {
            return *known;
        }
        let code = |mapping: &&Mapping| mapping.executable && mapping.file().is_some();
        if self.mapping(word).filter(code).is_none() {
            return false;
        }
        let mut bytes = [0; 7];
        let read = word.checked_sub(7).is_some_and(|from| memory.read(from, &mut bytes).is_ok());
        let is_call = read && ends_in_call(&bytes);
        if self.calls.len() < CALLS_MAX {
            self.calls.insert(word, is_call);
        }
        is_call
    }

    pub fn returns(&mut self, memory: &impl Memory, words: &[u64]) -> Vec<u64> {
        words.iter().copied().filter(|word| self.comes_after_a_call(memory, *word)).take(KEPT_MAX).collect()
    }
}

/// The system's number of the thread whose C library data begins at `head`; `None`: no such data is there.
pub fn number(memory: &impl Memory, head: u64) -> Option<u32> {
    let is_own = [0, SELF].iter().all(|at| head.checked_add(*at).and_then(|at| memory.read_u64(at).ok()) == Some(head));
    memory.read_u32(head.checked_add(NUMBER).filter(|_| is_own)?).ok()
}

/// Whether these code bytes end in a call: near, or through a register or memory.
#[cfg(target_arch = "x86_64")]
fn ends_in_call(bytes: &[u8; 7]) -> bool {
    let [.., a6, a5, _, a3, a2, a1] = *bytes;
    let through = |modrm: u8| modrm >> 3 & 7 == 2;
    a5 == 0xe8 || (a2 == 0xff && through(a1)) || (a3 == 0xff && through(a2)) || (a6 == 0xff && through(a5))
}

/// Calls on this processor are not known: no place comes after one.
#[cfg(not(target_arch = "x86_64"))]
fn ends_in_call(_: &[u8; 7]) -> bool {
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(target_arch = "x86_64")]
    fn code_after_a_call_is_known_by_the_bytes_before_it() {
        let calls: [[u8; 7]; 5] = [
            [0x90, 0x90, 0xe8, 1, 2, 3, 4],
            [0x90, 0x90, 0x90, 0x90, 0x90, 0xff, 0xd0],
            [0x90, 0x90, 0x90, 0x90, 0x41, 0xff, 0xd4],
            [0x90, 0xff, 0x15, 1, 2, 3, 4],
            [0x90, 0x90, 0x90, 0x90, 0xff, 0x50, 8],
        ];
        for bytes in calls {
            assert!(ends_in_call(&bytes), "{bytes:x?}");
        }
        for bytes in [[0x90; 7], [0; 7], [0x90, 0x90, 0x90, 0x90, 0x90, 0xff, 0xe0]] {
            assert!(!ends_in_call(&bytes), "{bytes:x?}");
        }
    }
}
