//! Threads of an OCaml program that sleep: what the kernel says of each, and the code on its stacks. A thread that
//! has left OCaml for C code sleeps on a stack of C's; where it left OCaml lies on another one, to which its domain's
//! state leads. Owns how that is found and what names of places tell of a wait. Refuses to unwind: return
//! addresses are what lies on the stack behind a call instruction, the nearest first.

use crate::kernel::asleep::{self, Asleep};
use crate::runtimes::recorded::NoHeap;
use crate::runtimes::waiting::{Code, Frame, Look, Looks, Thread, Told};
use crate::target::Process;
use crate::target::mappings::{self, Mapping};
use crate::target::memory::{LiveProcess, Memory};
use rtscope_model::{Doing, WaitKind};
use std::collections::{HashMap, HashSet};
use std::io;

/// Words of a stack of C's that are looked at, and places that are kept of it.
const WORDS: usize = 256;
const KEPT_MAX: usize = 16;
/// Bytes that functions which read and write have on their stack, before whatever called them (`UNIX_BUFFER_SIZE`).
const BUFFER: u64 = 64 << 10;
/// Words that are tried as the state of a domain, in one look at a thread.
const TRIES_MAX: usize = 48;
/// Looks after which mappings are read again: libraries and stacks come.
const MAPPINGS_EVERY: u32 = 16;
/// Places of which it is remembered whether they come after a call.
const CALLS_MAX: usize = 1 << 16;
/// No minor heap is larger.
const MINOR_MAX: u64 = 1 << 40;

/// Words of a domain's state (`domain_state.tbl`, the same in 5.0 to 5.4).
const YOUNG_POINTER: usize = 1;
const YOUNG_START: usize = 2;
const YOUNG_END: usize = 3;
const CURRENT_STACK: usize = 5;
const C_STACK: usize = 8;

/// The threads of one process.
#[derive(Debug)]
struct Watched {
    memory: LiveProcess,
    mappings: Vec<Mapping>,
    looks: u32,
    /// Whether a place comes after a call.
    calls: HashMap<u64, bool>,
    /// States of domains that were found.
    domains: HashSet<u64>,
}

/// Finds out how the threads of a process are looked at.
///
/// # Errors
/// None: what is not permitted is said by the first look.
pub fn find(process: &Process) -> Result<Box<dyn Looks>, NoHeap> {
    let memory = LiveProcess::from(process.clone());
    let (mappings, calls, domains) = (Vec::new(), HashMap::new(), HashSet::new());
    Ok(Box::new(Watched { memory, mappings, looks: 0, calls, domains }))
}

impl Looks for Watched {
    fn look(&mut self) -> io::Result<Look> {
        let process = self.memory.process.clone();
        if self.looks.is_multiple_of(MAPPINGS_EVERY) {
            self.mappings = mappings::parse(&process.text("maps")?);
        }
        self.looks = self.looks.wrapping_add(1);
        let lines = process.calls()?;
        let asleep = lines.iter().filter_map(|(tid, line)| Some((*tid, Asleep::parse(line)?)));
        Ok(Look::Threads(asleep.map(|(tid, asleep)| self.thread(tid, asleep)).collect()))
    }
}

impl Watched {
    fn thread(&mut self, tid: u32, asleep: Asleep) -> Thread {
        let thread = Thread { id: u64::from(tid), doing: Doing::Runs, ..Thread::default() };
        let (call, arguments, stack, counter) = match asleep {
            Asleep::Not => return thread,
            Asleep::Elsewhere => return Thread { doing: Doing::Waits(WaitKind::Unknown), ..thread },
            Asleep::Call(call, arguments, stack, counter) => (call, arguments, stack, counter),
        };
        let futex = Some(arguments[0]).filter(|_| asleep::is_futex(call));
        Thread {
            doing: Doing::Waits(asleep::kind(call, &arguments)),
            object: futex,
            holder: futex.and_then(|lock| owner(&self.memory, lock)),
            frames: self.frames(stack, counter),
            ..thread
        }
    }

    /// Places on its stacks: of C code, then the one in OCaml.
    fn frames(&mut self, stack: u64, counter: u64) -> Vec<Code> {
        let plain = |address| Code { address, handler: false };
        let mut words = self.words(stack);
        let mut state = self.state(stack, &words);
        // What lies behind that was called before OCaml code was entered.
        let entered = state.map_or(u64::MAX, |state| state.c_stack);
        words.truncate(usize::try_from(entered.saturating_sub(stack) / 8).unwrap_or(words.len()));
        if state.is_none() {
            let behind = self.words(stack.saturating_add(BUFFER));
            state = self.state(stack, &behind);
            words.extend(behind);
        }
        let mut frames = vec![plain(counter)];
        for word in words {
            if frames.len() < KEPT_MAX && self.comes_after_a_call(word) {
                frames.push(plain(word));
            }
        }
        let left = state.and_then(|state| self.memory.read_u64(self.memory.read_u64(state.current_stack).ok()?).ok());
        frames.extend(left.filter(|place| self.comes_after_a_call(*place)).map(plain));
        frames
    }

    /// The stack of C code from its pointer on, as far as it is mapped.
    fn words(&self, stack: u64) -> Vec<u64> {
        let Some(mapping) = self.mappings.iter().find(|mapping| mapping.range.contains(&stack)) else {
            return Vec::new();
        };
        let count = usize::try_from((mapping.range.end - stack) / 8).unwrap_or(0).min(WORDS);
        let mut words = vec![0; count];
        let range = stack..stack + 8 * count as u64;
        let read = stack.is_multiple_of(8) && self.memory.read_words(std::slice::from_ref(&range), &mut words).is_ok();
        if read { words } else { Vec::new() }
    }

    /// The state of the domain whose code sleeps on this stack, where the thread has it.
    fn state(&mut self, stack: u64, words: &[u64]) -> Option<State> {
        let mut tried = 0;
        for word in words.iter().copied().filter(|word| word.is_multiple_of(8)) {
            let known = self.domains.contains(&word);
            let may_be = |mapping: &&Mapping| mapping.range.contains(&word) && !mapping.range.contains(&stack);
            if !known && (tried >= TRIES_MAX || !self.mappings.iter().filter(may_be).any(|mapping| mapping.writable)) {
                continue;
            }
            tried += 1;
            if let Some(state) = State::read(&self.memory, word).filter(|state| self.is_entered(stack, state.c_stack)) {
                self.domains.insert(word);
                return Some(state);
            }
        }
        None
    }

    /// Whether OCaml code was entered from this very stack.
    fn is_entered(&self, stack: u64, c_stack: u64) -> bool {
        let own = self.mappings.iter().find(|mapping| mapping.range.contains(&stack));
        own.is_some_and(|own| own.range.contains(&c_stack)) && c_stack >= stack
    }

    /// Whether a word is an address of code behind a call instruction.
    fn comes_after_a_call(&mut self, word: u64) -> bool {
        if let Some(known) = self.calls.get(&word) {
            return *known;
        }
        let code = |mapping: &Mapping| mapping.executable && mapping.range.contains(&word) && mapping.file().is_some();
        if !self.mappings.iter().any(code) {
            return false;
        }
        let mut bytes = [0; 7];
        let read = word.checked_sub(7).is_some_and(|from| self.memory.read(from, &mut bytes).is_ok());
        let is_call = read && ends_in_call(&bytes);
        if self.calls.len() < CALLS_MAX {
            self.calls.insert(word, is_call);
        }
        is_call
    }
}

/// What of a domain's state leads to where OCaml code was left.
#[derive(Copy, Clone, Debug)]
struct State {
    current_stack: u64,
    c_stack: u64,
}

impl State {
    /// The one at `address`, if what lies there can be one.
    fn read(memory: &impl Memory, address: u64) -> Option<State> {
        let mut words = [0; C_STACK + 1];
        let range = address..address.checked_add(8 * words.len() as u64)?;
        memory.read_words(std::slice::from_ref(&range), &mut words).ok()?;
        let [pointer, start, end] =
            [YOUNG_POINTER, YOUNG_START, YOUNG_END].map(|at| words.get(at).copied().unwrap_or(0));
        let is_heap = start != 0 && (start..=end).contains(&pointer) && end - start <= MINOR_MAX && end > start;
        let (current_stack, c_stack) = (*words.get(CURRENT_STACK)?, *words.get(C_STACK)?);
        (is_heap && current_stack != 0).then_some(State { current_stack, c_stack })
    }
}

/// The thread that has the mutex at `lock`, of those that check for errors, as the runtime's are: it stands in it.
fn owner(memory: &impl Memory, lock: u64) -> Option<u64> {
    let taken = memory.read_u32(lock).ok()? != 0;
    let owner = memory.read_u32(lock.checked_add(8)?).ok()?;
    (taken && owner != 0).then_some(u64::from(owner))
}

/// Whether these bytes of code end in a call: near, or through a register or memory.
#[cfg(target_arch = "x86_64")]
fn ends_in_call(bytes: &[u8; 7]) -> bool {
    let [.., a6, a5, _, a3, a2, a1] = *bytes;
    let through = |modrm: u8| modrm >> 3 & 7 == 2;
    a5 == 0xe8 || (a2 == 0xff && through(a1)) || (a3 == 0xff && through(a2)) || (a6 == 0xff && through(a5))
}

/// Calls of this processor are not known: no place is one.
#[cfg(not(target_arch = "x86_64"))]
fn ends_in_call(_: &[u8; 7]) -> bool {
    false
}

/// What a function of the runtime's or of its libraries waits for.
fn kind(name: &str) -> Option<WaitKind> {
    Some(match name {
        "caml_ml_mutex_lock" => WaitKind::Lock,
        "caml_ml_condition_wait" => WaitKind::Condition,
        "caml_thread_join" => WaitKind::Child,
        "caml_unix_sleep" | "caml_thread_delay" => WaitKind::Time,
        "caml_thread_yield"
        | "thread_lock_acquire"
        | "st_masterlock_acquire"
        | "caml_thread_leave_blocking_section"
        | "caml_acquire_domain_lock"
        | "caml_leave_blocking_section" => WaitKind::RuntimeLock,
        "backup_thread_func" | "caml_thread_tick" => WaitKind::NoWork,
        _ => return None,
    })
}

/// What `frames` say of a thread that waits for `found` as far as its system call says.
pub fn told(found: WaitKind, frames: &[Option<Frame<'_>>]) -> Told {
    let own = |frame: &&Frame<'_>| frame.name.starts_with(|first: char| first.is_ascii_uppercase());
    let by_name = frames.iter().flatten().find_map(|frame| kind(frame.name));
    let left = frames.iter().flatten().find(own).map(|frame| frame.function());
    let kind = match (found, by_name) {
        (_, Some(WaitKind::NoWork)) => WaitKind::NoWork,
        // A domain's end is a condition on which the library waits.
        (WaitKind::Unknown, Some(WaitKind::Condition))
            if left.is_some_and(|name| name.starts_with("Stdlib.Domain.")) =>
        {
            WaitKind::Child
        }
        (WaitKind::Unknown, Some(kind)) => kind,
        _ => found,
    };
    let at =
        |wanted: &dyn Fn(&Frame<'_>) -> bool| frames.iter().position(|frame| frame.is_some_and(|frame| wanted(&frame)));
    // Without OCaml's place, the function that it called: not how that gave its domain up.
    let passes = |name: &str| name.contains("blocking_section") || name.ends_with("domain_lock");
    let place =
        at(&|frame| own(&frame)).or_else(|| at(&|frame| frame.name.starts_with("caml_") && !passes(frame.name)));
    Told { kind, place: place.or_else(|| at(&|_| true)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(found: WaitKind, names: &[&'static str]) -> (WaitKind, Option<&'static str>) {
        let frame = |name: &&'static str| {
            let named = Frame { name, local_to: None, runtime: false, handler: false };
            Some(named).filter(|frame| !frame.name.is_empty())
        };
        let frames: Vec<Option<Frame<'_>>> = names.iter().map(frame).collect();
        let told = told(found, &frames);
        (told.kind, told.place.and_then(|place| names.get(place).copied()))
    }

    #[test]
    fn the_functions_on_the_stack_tell_locks_from_conditions_and_ends() {
        let futex = WaitKind::Unknown;
        let lock = of(futex, &["", "pthread_mutex_lock", "caml_ml_mutex_lock", "Main.take"]);
        assert_eq!(lock, (WaitKind::Lock, Some("Main.take")));
        let condition = ["", "pthread_cond_wait", "caml_ml_condition_wait", "Main.await"];
        assert_eq!(of(futex, &condition), (WaitKind::Condition, Some("Main.await")));
        let join = ["", "caml_ml_condition_wait", "Stdlib.Domain.loop"];
        assert_eq!(of(futex, &join), (WaitKind::Child, Some("Stdlib.Domain.loop")));
        assert_eq!(of(futex, &["caml_plat_wait", "backup_thread_func"]), (WaitKind::NoWork, Some("caml_plat_wait")));
        assert_eq!(of(WaitKind::Time, &["select", "caml_thread_tick"]).0, WaitKind::NoWork);
        let sleep = ["clock_nanosleep", "caml_release_domain_lock", "caml_enter_blocking_section", "caml_unix_sleep"];
        assert_eq!(of(WaitKind::Time, &sleep), (WaitKind::Time, Some("caml_unix_sleep")));
        assert_eq!(of(futex, &["", ""]), (WaitKind::Unknown, None));
    }

    #[test]
    #[cfg(target_arch = "x86_64")]
    fn code_behind_a_call_is_known_by_the_bytes_before_it() {
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

    /// Words at addresses from 0 on.
    struct Words(Vec<u64>);

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
        let state = State::read(&Words(good.clone()), 0).unwrap();
        assert_eq!((state.current_stack, state.c_stack), (0x5000, 0x7000));
        for (at, word) in [(YOUNG_POINTER, 0), (YOUNG_START, 0), (YOUNG_END, u64::MAX), (CURRENT_STACK, 0)] {
            let mut words = good.clone();
            words[at] = word;
            assert!(State::read(&Words(words), 0).is_none(), "{at}");
        }
        assert!(State::read(&Words(good), u64::MAX - 8).is_none());
    }

    #[test]
    fn a_mutex_says_who_has_it() {
        assert_eq!(owner(&Words(vec![1, 77]), 0), Some(77));
        assert_eq!(owner(&Words(vec![0, 77]), 0), None);
        assert_eq!(owner(&Words(vec![1]), 0), None);
    }
}
