//! Samples of made-up memory: a heap with threads, variables and values, and contents that must not be trusted.

use super::list::RtsPlace;
use super::*;
use crate::runtimes::testing::Image;
use crate::runtimes::waiting::{Code, Interpreted, NamedFrame, Role};
use std::cell::Cell;

const CODE: u64 = 0x40_0000;
const VARIABLES: u64 = 0x60_0000;
const HEAP: u64 = 0x42_0000_0000;
const OLDEST: u64 = HEAP + 0x100;
const CAPABILITY: u64 = HEAP + 0x1000;
const END: u64 = CODE + 0x8000;
/// Bytes that each thread has here, with its stack.
const THREAD: u64 = 0x1000;
const FIRST: u64 = HEAP + 0x1_0000;

/// Types of closures and frames, by place.
const TYPES: [(u64, u64); 9] = [(52, 0), (39, 0), (38, 0), (1, 0), (50, 0), (30, 1), (34, 2), (36, 0), (8, 1)];
const TSO: u64 = 0;
const MVAR: u64 = 1;
const BLACK_HOLE: u64 = 2;
const CONSTRUCTOR: u64 = 3;
const MESSAGE: u64 = 4;
const SMALL: u64 = 5;
const CATCH: u64 = 6;
const STOP: u64 = 7;
const FUNCTION: u64 = 8;

fn code(place: u64) -> u64 {
    CODE + 0x40 * place + 16
}

/// A runtime with one idle capability and no threads.
fn empty() -> (Image, RtsPlace) {
    let mut image = Image::default();
    for (place, (number, layout)) in (0..).zip(TYPES) {
        image.put(code(place) - 16, &[layout, number]);
    }
    let statics = Statics {
        generations: Some(VARIABLES),
        oldest: Some(VARIABLES + 8),
        capabilities: Some(VARIABLES + 16),
        n_capabilities: Some(VARIABLES + 24),
        ..Statics::default()
    };
    image.put(VARIABLES, &[OLDEST, OLDEST, VARIABLES + 32, 1, CAPABILITY]);
    image.put(OLDEST, &[0; 32]);
    image.put(OLDEST + layout::THREADS, &[END]);
    image.put(END, &[code(CONSTRUCTOR)]);
    image.put(CAPABILITY + layout::RUNNING_TASK, &[0]);
    image.put(CAPABILITY + layout::CURRENT_THREAD, &[0]);
    let place = RtsPlace {
        statics,
        layout: TsoLayout { array: false, ..TsoLayout::of((9, 6, 6)).unwrap() },
        non_threaded: false,
    };
    (image, place)
}

fn at(id: u64) -> u64 {
    FIRST + id * THREAD
}

/// Puts a thread at the head of the list: the reason for blocking, the object, its stack from the top.
fn hang(image: &mut Image, id: u64, (why, object): (u64, u64), stack: &[u64]) {
    hang_at(image, (at(id), OLDEST), id, (why, object), stack);
}

/// Like [`hang`], but at an address, on the list of a generation.
fn hang_at(image: &mut Image, (at, generation): (u64, u64), id: u64, (why, object): (u64, u64), stack: &[u64]) {
    let next = image.read_u64(generation + layout::THREADS).unwrap();
    let mut words = [0; 16];
    words[0] = code(TSO);
    words[2] = next;
    words[3] = at + 0x200;
    words[4] = 1 | why << 16;
    words[5] = object;
    words[6] = id;
    image.put(at, &words);
    image.put(generation + layout::THREADS, &[at]);
    image.put(at + 0x200, &[0, stack.len() as u64, at + 0x200 + 24]);
    image.put(at + 0x200 + 24, stack);
}

fn threads(image: &Image, place: &RtsPlace) -> Vec<Thread> {
    match look(image, place, &mut Tables::default(), &mut Chance::new(1)).unwrap() {
        ThreadsLook::Threads(threads) => threads,
        other => panic!("{other:?}"),
    }
}

fn waiting(kind: WaitKind) -> Doing {
    Doing::Waits(kind)
}

#[test]
fn a_thread_that_catches_exceptions_to_fill_a_variable_has_it() {
    let (mut image, place) = empty();
    let (variable, handler) = (HEAP + 0x2000, HEAP + 0x2100);
    image.put(variable, &[code(MVAR), 0, 0, 0]);
    image.put(handler, &[code(FUNCTION), variable]);
    hang(&mut image, 1, (10, END), &[code(SMALL), 7, code(CATCH), 0, handler | 1, code(STOP)]);
    // Another thread merely refers to it.
    hang(&mut image, 2, (10, END), &[code(SMALL), variable, code(STOP)]);
    for id in 3..6 {
        hang(&mut image, id, (1, variable), &[code(SMALL), variable, code(STOP)]);
    }
    let found = threads(&image, &place);
    assert_eq!(found.iter().map(|thread| thread.id).collect::<Vec<_>>(), [5, 4, 3, 2, 1]);
    for thread in &found[..3] {
        assert_eq!((thread.doing, thread.object, thread.holder), (waiting(WaitKind::Lock), Some(variable), Some(1)));
    }
    assert_eq!((found[3].doing, found[3].holder), (waiting(WaitKind::ForeignCall), None));
    let own = [Code::goes(code(SMALL)), Code { address: code(FUNCTION), role: Role::Handler }];
    assert_eq!(found[4].frames, own);
}

#[test]
fn two_candidates_for_a_variable_leave_its_holder_unknown() {
    let (mut image, place) = empty();
    let variable = HEAP + 0x2000;
    image.put(variable, &[code(MVAR), 0, 0, 0]);
    hang(&mut image, 1, (1, variable), &[code(STOP)]);
    hang(&mut image, 2, (10, END), &[code(SMALL), variable, code(STOP)]);
    assert_eq!(threads(&image, &place)[1].holder, Some(2), "the only one that refers to it");
    let mut torn = image.clone();
    hang(&mut torn, 3, (10, END), &[code(SMALL), 0, 5]);
    assert_eq!(threads(&torn, &place)[2].holder, None, "a stack that is not known to its end");
    hang(&mut image, 3, (10, END), &[code(SMALL), variable, code(STOP)]);
    assert_eq!(threads(&image, &place)[2].holder, None);
}

#[test]
fn a_value_leads_to_its_computing_thread() {
    let (mut image, place) = empty();
    let (message, hole) = (HEAP + 0x2000, HEAP + 0x2100);
    image.put(message, &[code(MESSAGE), 0, 0, hole]);
    image.put(hole, &[code(BLACK_HOLE), at(1)]);
    hang(&mut image, 1, (0, 0), &[code(STOP)]);
    hang(&mut image, 2, (2, message), &[code(STOP)]);
    let found = threads(&image, &place);
    assert_eq!((found[0].doing, found[0].object, found[0].holder), (waiting(WaitKind::Value), Some(hole), Some(1)));
    assert_eq!(found[1].doing, Doing::Ready);
    // An object that is not a thread owns nothing.
    image.put(hole, &[code(BLACK_HOLE), hole]);
    assert_eq!(threads(&image, &place)[0].holder, None);
}

#[test]
fn a_capability_shows_its_running_thread_and_busy_ones_are_not_read() {
    let (mut image, place) = empty();
    hang(&mut image, 1, (0, 0), &[code(STOP)]);
    hang(&mut image, 2, (5, 0), &[code(STOP)]);
    image.put(CAPABILITY + layout::RUNNING_TASK, &[9]);
    image.put(CAPABILITY + layout::CURRENT_THREAD, &[at(1)]);
    assert_eq!(look(&image, &place, &mut Tables::default(), &mut Chance::new(1)).unwrap(), ThreadsLook::Busy);
    let idle = CAPABILITY + 0x800;
    image.put(idle + layout::RUNNING_TASK, &[0]);
    image.put(VARIABLES + 24, &[2]);
    image.put(VARIABLES + 32, &[CAPABILITY, idle]);
    let found = threads(&image, &place);
    assert_eq!([found[0].doing, found[1].doing], [waiting(WaitKind::Time), Doing::Runs]);
    // A running thread that is on no list: a collection is building the lists.
    image.put(CAPABILITY + layout::CURRENT_THREAD, &[at(7)]);
    assert_eq!(look(&image, &place, &mut Tables::default(), &mut Chance::new(1)).unwrap(), ThreadsLook::Missed);
}

#[test]
fn what_does_not_fit_together_is_missed() {
    let (image, place) = empty();
    let missed = |image: &Image| look(image, &place, &mut Tables::default(), &mut Chance::new(1)).unwrap();
    assert_eq!(missed(&image), ThreadsLook::Missed, "no thread at all");
    for next in [0, 1, at(9), u64::MAX] {
        let mut image = image.clone();
        hang(&mut image, 1, (0, 0), &[code(STOP)]);
        image.put(at(1) + 16, &[next]);
        assert_eq!(missed(&image), ThreadsLook::Missed, "{next:#x}");
    }
    // A cyclic list, at once or after some threads, and one whose threads have ended.
    for (count, back) in [(1, 1), (7, 1), (7, 3), (9, 9)] {
        for ended in [false, true] {
            let mut image = image.clone();
            for id in (1..=count).rev() {
                hang(&mut image, id, (10, END), &[code(STOP)]);
                if ended {
                    image.put(at(id) + 32, &[4]);
                }
            }
            image.put(at(count) + 16, &[at(back)]);
            assert_eq!(missed(&image), ThreadsLook::Missed, "{count} {back}");
        }
    }
}

fn frame(name: &str, handler: bool) -> Option<NamedFrame<'_>> {
    let local_to = name.starts_with("GHC").then_some(name);
    let role = if handler { Role::Handler } else { Role::Goes };
    Some(NamedFrame { name, local_to, runtime: name.starts_with("stg_"), role })
}

#[test]
fn the_event_manager_distinguishes_delays_and_input_from_locks() {
    let block = frame("stg_block_takemvar_info", false);
    for base in ["GHC.Event", "GHC.Internal.Event"] {
        let name = |item: &str| format!("{base}.{item}");
        let (delay, wait, poll) = (name("Thread.threadDelay1"), name("Thread.threadWaitRead1"), name("EPoll.new10"));
        let interpreted = |frames: &[Option<NamedFrame<'_>>]| interpret(WaitKind::Lock, frames);
        let of = |kind, place| Interpreted { kind, place, callee: None };
        assert_eq!(interpreted(&[block, frame(&delay, true), frame("Main.nap", false)]), of(WaitKind::Time, Some(2)));
        assert_eq!(
            interpreted(&[block, frame(&wait, false), frame("Main.read", false)]),
            of(WaitKind::InputOutput, Some(2))
        );
        let checks = frame("Foreign.C.Error.throwErrnoIfMinus1RetryMayBlock2", false);
        assert_eq!(
            interpreted(&[block, frame(&wait, false), checks, frame("GHC.IO.FD.$wwriteRawBufferPtr", false)]),
            of(WaitKind::InputOutput, Some(3)),
            "a function that checks a call makes it for its caller"
        );
        assert_eq!(interpret(WaitKind::ForeignCall, &[frame(&poll, false)]), of(WaitKind::NoWork, Some(0)));
        // A thread called by a function that sleeps elsewhere on its stack waits for a lock.
        assert_eq!(interpreted(&[block, frame("Main.take", false), frame(&delay, true)]), of(WaitKind::Lock, Some(1)));
    }
    assert_eq!(
        interpret(WaitKind::Lock, &[None, block]),
        Interpreted { kind: WaitKind::Lock, place: None, callee: None }
    );
}

#[test]
fn the_c_function_that_was_called_is_the_last_before_haskell_code() {
    let foreign = |name| Some(NamedFrame { role: Role::Foreign, ..frame(name, false).unwrap() });
    let caller = frame("Main.call", false);
    let interpreted = |names: &[&'static str]| {
        let frames: Vec<_> = std::iter::once(caller).chain(names.iter().map(|name| foreign(name))).collect();
        interpret(WaitKind::ForeignCall, &frames)
    };
    let of = |callee| Interpreted { kind: WaitKind::ForeignCall, place: Some(0), callee };
    assert_eq!(interpreted(&["clock_nanosleep", "usleep", "Main.call", "old"]), of(Some(2)));
    // What the runtime left on the stack before.
    assert_eq!(interpreted(&["clock_nanosleep", "stg_old", "own_call", "stg_old", "Main.call"]), of(Some(3)));
    assert_eq!(interpreted(&["clock_nanosleep", "own_call", "stg_run", "main"]), of(Some(2)));
    assert_eq!(interpreted(&[]), of(None));
    let unnamed = [caller, foreign("poll"), None, foreign("Main.call")];
    assert_eq!(interpret(WaitKind::ForeignCall, &unnamed), of(Some(1)));
}

#[test]
fn a_place_is_known_for_versions_that_were_compiled() {
    let statics = Statics { generations: Some(8), oldest: Some(8), ..Statics::default() };
    assert!(place(statics, Some((9, 6, 6)), false).is_ok());
    assert!(place(statics, Some((9, 8, 4)), false).unwrap_err().contains("GHC 9.8"));
    assert!(place(statics, None, false).unwrap_err().contains("version"));
    assert!(place(Statics::default(), Some((9, 6, 6)), false).unwrap_err().contains("symbols are gone"));
}

/// Memory that changes after a number of reads: a collection happened.
struct Turned<'i>(&'i Image, &'i Image, Cell<usize>);

impl Memory for Turned<'_> {
    fn read(&self, address: u64, buffer: &mut [u8]) -> io::Result<()> {
        let left = self.2.get();
        self.2.set(left.saturating_sub(1));
        if left > 0 { self.0 } else { self.1 }.read(address, buffer)
    }
}

/// A program of two generations, before or after its young threads were promoted.
fn of_two_generations(promoted: bool, collections: [u64; 2], old_at: u64) -> (Image, RtsPlace) {
    const YOUNG: u64 = HEAP + 0x4000;
    const SIZE: u64 = 0x200;
    let (mut image, place) = empty();
    image.put(VARIABLES, &[YOUNG, YOUNG + SIZE]);
    image.put(YOUNG, &[0; 2 * SIZE as usize / 8]);
    for (number, collections) in (0..).zip(collections) {
        let generation = YOUNG + number * SIZE;
        image.put(generation, &[number]);
        image.put(generation + 128, &[collections]);
        image.put(generation + layout::THREADS, &[END]);
    }
    let variable = HEAP + 0x2000;
    image.put(variable, &[code(MVAR), 0, 0, 0]);
    let stack = [code(SMALL), 7, code(STOP)];
    hang_at(&mut image, (old_at, YOUNG + SIZE), 1, (1, variable), &stack);
    for id in 2..4 {
        let (there, generation) = if promoted { (at(id + 10), YOUNG + SIZE) } else { (at(id), YOUNG) };
        hang_at(&mut image, (there, generation), id, (1, variable), &stack);
        // The old place now has an address, or the new place has nothing yet.
        image.put(if promoted { at(id) } else { at(id + 10) }, &[at(id + 10) | 1]);
    }
    (image, place)
}

/// A collection at any moment of a sample: after one of the young generation it is read again; with one of the oldest
/// it may be missed. No thread is missing or there twice.
#[test]
fn a_collection_that_comes_between_spoils_nothing() {
    let (before, place) = of_two_generations(false, [0, 0], at(1));
    let (minor, _) = of_two_generations(true, [1, 0], at(1));
    let (mut major, _) = of_two_generations(true, [0, 1], at(21));
    major.put(at(1), &[at(21) | 1]);
    let mut missed = 0;
    for moment in 0..300 {
        for (after, is_major) in [(&minor, false), (&major, true)] {
            let memory = Turned(&before, after, Cell::new(moment));
            let mut found = match look(&memory, &place, &mut Tables::default(), &mut Chance::new(1)).unwrap() {
                ThreadsLook::Threads(threads) => threads,
                other => {
                    assert!(is_major && other == ThreadsLook::Missed, "{moment}: {other:?}");
                    missed += 1;
                    continue;
                }
            };
            found.sort_by_key(|thread| thread.id);
            assert_eq!(found.iter().map(|thread| thread.id).collect::<Vec<_>>(), [1, 2, 3], "{moment}");
            for thread in found {
                assert_eq!(
                    (thread.doing, thread.frames),
                    (waiting(WaitKind::Lock), vec![Code::goes(code(SMALL))]),
                    "{moment}"
                );
            }
        }
    }
    assert!((1..150).contains(&missed), "it is missed where it comes between, not before or after: {missed} of 300");
}
