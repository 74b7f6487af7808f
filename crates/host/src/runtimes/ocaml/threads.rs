//! Sleeping threads of an OCaml program: what the kernel reports of each, and the code on its stacks. A thread in C
//! code sleeps on a C stack, which shows where on another stack it left OCaml; its domain's state shows which thread
//! has the domain. Owns how that is found and what names of places say about a wait. Refuses to unwind.

use super::domains::{self, Ends};
use crate::kernel::asleep::{self, Asleep};
use crate::runtimes::c_stack::Stacks;
use crate::runtimes::chunks::Chunks;
use crate::runtimes::recorded::NoHeap;
use crate::runtimes::waiting::{Code, Interpreted, Looks, NamedFrame, Role, Thread, ThreadsLook};
use crate::target::Process;
use crate::target::mappings;
use crate::target::memory::{LiveProcess, Memory};
use rtscope_model::{Doing, WaitKind};
use std::collections::HashSet;
use std::io;

/// Size of the stack buffer of functions that read and write, below their callers (`UNIX_BUFFER_SIZE`).
const BUFFER: u64 = 64 << 10;
/// Word of a C library mutex that is taken and awaited.
const TAKEN: u32 = 2;
#[derive(Debug)]
struct OcamlThreads {
    memory: LiveProcess,
    stacks: Stacks,
    ends: Ends,
}

/// Prepares sampling the threads of a process. The first sample reports what is not permitted.
pub fn find(process: &Process) -> Result<Box<dyn Looks>, NoHeap> {
    let memory = LiveProcess::from(process.clone());
    let ends = Ends::of(process.text("limits").unwrap_or_default().as_str());
    Ok(Box::new(OcamlThreads { memory, stacks: Stacks::default(), ends }))
}

/// Threads from these kernel lines and mappings of a process; for fuzzers.
pub fn by_bytes(memory: &impl Memory, maps: &str, lines: &str) -> Vec<Thread> {
    let asleep: Vec<(u32, Asleep)> = (1..).zip(lines.lines().filter_map(Asleep::parse)).collect();
    let mut stacks = Stacks::of(mappings::parse(maps));
    threads(memory, &mut stacks, &mut Ends::of(""), 1, &asleep)
}

impl Looks for OcamlThreads {
    fn look(&mut self) -> io::Result<ThreadsLook> {
        let process = self.memory.process.clone();
        let lines = process.calls()?;
        let asleep: Vec<(u32, Asleep)> =
            lines.iter().filter_map(|(tid, line)| Some((*tid, Asleep::parse(line)?))).collect();
        self.stacks.begin(&process, asleep.iter().map(|(_, asleep)| asleep))?;
        // Threads have many words in common: pointers to domains, to locks, and into each other's stacks.
        let memory = Chunks::pages(&self.memory);
        Ok(ThreadsLook::Threads(threads(&memory, &mut self.stacks, &mut self.ends, process.pid(), &asleep)))
    }
}

/// What all threads of a process do, given the kernel's reports.
fn threads(
    memory: &impl Memory,
    stacks: &mut Stacks,
    ends: &mut Ends,
    pid: u32,
    asleep: &[(u32, Asleep)],
) -> Vec<Thread> {
    let tids: HashSet<u32> = asleep.iter().map(|(tid, _)| *tid).collect();
    let is_one = |tid: &u64| u32::try_from(*tid).is_ok_and(|tid| tids.contains(&tid));
    let thread = |(tid, own): &(u32, Asleep)| {
        let thread = thread(memory, stacks, *tid, *own, pid);
        Thread { lane_holder: thread.lane_holder.filter(is_one), ..thread }
    };
    let mut threads: Vec<Thread> = asleep.iter().map(thread).collect();
    let has_no_holder = threads.iter_mut().filter(|thread| thread.holder.is_none());
    let waiting: Vec<(&mut Thread, u64)> =
        has_no_holder.filter_map(|thread| thread.object.map(|at| (thread, at))).collect();
    let others = tids.iter().copied().filter(|tid| *tid != pid).collect();
    ends.look(memory, stacks, &others, waiting.iter().map(|(_, at)| *at));
    waiting.into_iter().for_each(|(thread, at)| thread.holder = ends.whose(at).map(u64::from));
    threads
}

fn thread(memory: &impl Memory, stacks: &mut Stacks, tid: u32, asleep: Asleep, pid: u32) -> Thread {
    let thread = Thread::new(u64::from(tid), Doing::Runs);
    let (call, arguments, stack, counter) = match asleep {
        Asleep::Not => return thread,
        Asleep::Elsewhere => return Thread { doing: Doing::Waits(WaitKind::Unknown), ..thread },
        Asleep::Call(call, arguments, stack, counter) => (call, arguments, stack, counter),
    };
    let futex = Some(arguments).filter(|_| asleep::is_futex(call));
    let words = stacks.words(memory, stack);
    let lane_holder = futex.and_then(|_| domains::holder(memory, stacks, &words, pid));
    Thread {
        doing: Doing::Waits(asleep::kind(call, &arguments)),
        // A condition has two such words next to each other, for waiters from before a signal and from after it.
        object: futex.map(|[word, ..]| word & !7),
        holder: futex.and_then(|[lock, _, awaited, ..]| owner(memory, lock, awaited)),
        lane_holder: lane_holder.map(u64::from),
        frames: frames(memory, stacks, stack, counter, words),
        ..thread
    }
}

/// Places on its stacks: of C code, then the one in OCaml.
fn frames(memory: &impl Memory, stacks: &mut Stacks, stack: u64, counter: u64, mut words: Vec<u64>) -> Vec<Code> {
    let mut left = left(memory, stacks, &words);
    if left.is_none() {
        let after = stacks.words(memory, stack.saturating_add(BUFFER));
        left = self::left(memory, stacks, &after).map(|(at, place)| (words.len() + at, place));
        words.extend(after);
    }
    // What lies after that was called before OCaml code was entered.
    words.truncate(left.map_or(words.len(), |(at, _)| at));
    // If the program's own code makes the call, no library frame is marked.
    let library =
        file(stacks, counter).filter(|name| left.is_none_or(|(_, place)| file(stacks, place).as_ref() != Some(name)));
    let mut frames = vec![counter];
    frames.extend(stacks.returns(memory, &words));
    let role =
        |address| if library.is_some() && file(stacks, address) == library { Role::Library } else { Role::Foreign };
    let mut frames: Vec<Code> = frames.into_iter().map(|address| Code { address, role: role(address) }).collect();
    frames.extend(left.map(|(_, place)| Code::goes(place)));
    frames
}

fn file(stacks: &Stacks, address: u64) -> Option<String> {
    stacks.mapping(address).map(|mapping| mapping.name.clone())
}

/// Where OCaml code was left for the C code of this stack: the index in `words`, and the place in the code. On its way
/// to C a thread notes on the C stack which OCaml stack it leaves, and how far that is used (`struct c_stack_link`, 5.0
/// to 5.4); the OCaml stack notes that place in its first word. It continues after the call.
fn left(memory: &impl Memory, stacks: &mut Stacks, words: &[u64]) -> Option<(usize, u64)> {
    let pairs = words.iter().zip(words.iter().skip(1)).enumerate();
    let is_link = |link: &(usize, (&u64, &u64))| {
        let (_, (stack, used)) = *link;
        let may_be = |word: u64| word != 0 && word.is_multiple_of(8);
        may_be(*stack) && may_be(*used) && memory.read_u64(*stack).is_ok_and(|first| first == *used)
    };
    let mut links = pairs.filter(is_link).filter_map(|(at, (_, used))| Some((at, memory.read_u64(*used).ok()?)));
    links.find(|(_, place)| stacks.comes_after_a_call(memory, *place))
}

/// The thread that has the mutex at `lock`, which is stored in it. A word that a thread waits on while it is `awaited`
/// is a mutex only if that value means a lock that others wait for.
fn owner(memory: &impl Memory, lock: u64, awaited: u64) -> Option<u64> {
    let is_lock = awaited as u32 == TAKEN && memory.read_u32(lock).ok()? == TAKEN;
    let owner = memory.read_u32(lock.checked_add(8)?).ok()?;
    (is_lock && owner != 0).then_some(u64::from(owner))
}

/// What a function of the runtime or of its libraries waits for.
fn kind(name: &str) -> Option<WaitKind> {
    Some(match name {
        "caml_ml_mutex_lock" => WaitKind::Lock,
        "caml_ml_condition_wait" => WaitKind::Condition,
        "caml_thread_join" => WaitKind::Child,
        "caml_unix_sleep" | "caml_thread_delay" => WaitKind::Time,
        "caml_thread_yield"
        | "thread_yield"
        | "thread_lock_acquire"
        | "st_masterlock_acquire"
        | "caml_thread_leave_blocking_section"
        | "caml_acquire_domain_lock"
        | "caml_leave_blocking_section" => WaitKind::RuntimeLock,
        "backup_thread_func" | "caml_thread_tick" => WaitKind::NoWork,
        _ => return None,
    })
}

/// The C function that OCaml code called, unless it is the runtime's: OCaml's own functions are made of those.
fn callee(frames: &[Option<NamedFrame<'_>>]) -> Option<usize> {
    let own = |frame: &NamedFrame<'_>| frame.name.starts_with(|first: char| first.is_ascii_uppercase());
    let left = frames.iter().position(|frame| frame.is_some_and(|frame| own(&frame)))?;
    let foreign =
        |frame: &NamedFrame<'_>| frame.role == Role::Foreign && !frame.runtime && !frame.name.starts_with("caml_");
    frames.iter().take(left).rposition(|frame| frame.is_some_and(|frame| foreign(&frame)))
}

/// What `frames` say about a thread that waits for `found` according to its system call.
pub fn interpret(found: WaitKind, frames: &[Option<NamedFrame<'_>>]) -> Interpreted {
    let own = |frame: &&NamedFrame<'_>| frame.name.starts_with(|first: char| first.is_ascii_uppercase());
    let by_name = frames.iter().flatten().find_map(|frame| kind(frame.name));
    let left = frames.iter().flatten().find(own).map(|frame| frame.function());
    let callee = callee(frames);
    let kind = match (found, by_name) {
        (_, Some(WaitKind::NoWork)) => WaitKind::NoWork,
        // A domain's end is a condition on which the library waits.
        (WaitKind::Unknown, Some(WaitKind::Condition))
            if left.is_some_and(|name| name.starts_with("Stdlib.Domain.")) =>
        {
            WaitKind::Child
        }
        (WaitKind::Unknown, Some(kind)) => kind,
        // Other C code, of the program or of a library, waits for something only it knows.
        (WaitKind::Unknown, None) if callee.is_some() => WaitKind::ForeignCall,
        _ => found,
    };
    let at = |wanted: &dyn Fn(&NamedFrame<'_>) -> bool| {
        frames.iter().position(|frame| frame.is_some_and(|frame| wanted(&frame)))
    };
    // Without a place in OCaml, the function that it called: not the code that released the domain.
    let passes = |name: &str| name.contains("blocking_section") || name.ends_with("domain_lock");
    let place =
        at(&|frame| own(&frame)).or_else(|| at(&|frame| frame.name.starts_with("caml_") && !passes(frame.name)));
    Interpreted { kind, place: place.or_else(|| at(&|_| true)), callee }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtimes::ocaml::domains::tests::Words;

    fn of(found: WaitKind, names: &[&'static str]) -> (WaitKind, Option<&'static str>) {
        let frame = |name: &&'static str| {
            let named = NamedFrame { name, local_to: None, runtime: false, role: Role::default() };
            Some(named).filter(|frame| !frame.name.is_empty())
        };
        let frames: Vec<Option<NamedFrame<'_>>> = names.iter().map(frame).collect();
        let interpreted = interpret(found, &frames);
        (interpreted.kind, interpreted.place.and_then(|place| names.get(place).copied()))
    }

    #[test]
    fn the_functions_on_the_stack_distinguish_locks_conditions_and_ends() {
        let futex = WaitKind::Unknown;
        let lock = of(futex, &["", "pthread_mutex_lock", "caml_ml_mutex_lock", "Main.take"]);
        assert_eq!(lock, (WaitKind::Lock, Some("Main.take")));
        let turn = ["", "pthread_cond_wait", "thread_yield", "caml_process_pending_actions", "Main.spin"];
        assert_eq!(of(futex, &turn), (WaitKind::RuntimeLock, Some("Main.spin")), "its domain's tick sent it away");
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
    fn a_mutex_names_its_owner() {
        assert_eq!(owner(&Words(vec![2, 77]), 0, 2), Some(77));
        assert_eq!(owner(&Words(vec![0, 77]), 0, 2), None, "it is free meanwhile");
        assert_eq!(owner(&Words(vec![2, 77]), 0, 4), None, "it is a condition");
        assert_eq!(owner(&Words(vec![2]), 0, 2), None);
    }
}
