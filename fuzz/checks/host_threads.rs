//! Any bytes as the memory of a program whose threads are looked at, for both runtimes, and as what the
//! kernel reports of them: the thread count is bounded, places lie only where code can be, a look ends.

use rtscope_heap::Statics;
use rtscope_host::by_bytes;
use rtscope_host::by_bytes::waiting::{Role, Thread, ThreadsLook};
use rtscope_host::memory::Memory;
use std::io;

/// Bytes that choose what is looked at; the rest is memory.
const HEAD: usize = 16;
/// Start of the memory, so that a null pointer leads nowhere.
const BASE: u64 = 0x1000;
/// Limit on the threads and frames of one look.
const THREADS_MAX: usize = 1 << 17;
const FRAMES_MAX: usize = 32;

/// The bytes, mapped once; the rest of the last page is zero.
struct MappedBytes<'a>(&'a [u8]);

const PAGE: usize = 4 << 10;

impl Memory for MappedBytes<'_> {
    fn read(&self, address: u64, buffer: &mut [u8]) -> io::Result<()> {
        let from = address.checked_sub(BASE).and_then(|at| usize::try_from(at).ok());
        let mapped = self.0.len().next_multiple_of(PAGE);
        let is_mapped = |from: &usize| from.checked_add(buffer.len()).is_some_and(|end| end <= mapped);
        let from = from.filter(is_mapped).ok_or(io::ErrorKind::UnexpectedEof)?;
        for (at, byte) in (from..).zip(buffer) {
            *byte = self.0.get(at).copied().unwrap_or(0);
        }
        Ok(())
    }
}

/// # Panics
/// If a check fails.
pub fn check(bytes: &[u8]) {
    if bytes.len() < HEAD {
        return;
    }
    if bytes[0] & 1 == 0 {
        if let Ok(ThreadsLook::Threads(threads)) = green_of(bytes) {
            assert!(!threads.is_empty() && threads.len() <= THREADS_MAX);
            threads.iter().for_each(framed);
        }
        return;
    }
    let threads = sleeping_of(bytes);
    for thread in &threads {
        framed(thread);
        assert!(thread.lane_holder.is_none_or(|holder| threads.iter().any(|known| known.id == holder)));
        let places = thread.frames.iter().filter(|code| code.role == Role::Goes);
        assert!(places.count() <= 1, "it left OCaml at one place");
    }
}

fn framed(thread: &Thread) {
    assert!(thread.frames.len() <= FRAMES_MAX, "{}", thread.frames.len());
}

/// The head gives the addresses of variables and the version.
///
/// # Errors
/// The look failed.
pub fn green_of(bytes: &[u8]) -> io::Result<ThreadsLook> {
    let (head, image) = bytes.split_at(HEAD);
    let address = |at: usize| Some(BASE + 8 * u64::from(head[at]));
    let statics = Statics {
        generations: address(2),
        oldest: address(3),
        capabilities: address(4),
        n_capabilities: address(5),
        ..Statics::default()
    };
    let version = [(9, 0, 2), (9, 6, 6), (9, 10, 3), (9, 8, 1)][usize::from(head[1]) % 4];
    by_bytes::green_threads(&MappedBytes(image), statics, version, head[0] & 2 != 0)
}

/// The memory is mapped as code up to a boundary and then as two stacks; the lines at its end are what
/// the kernel reports of threads.
pub fn sleeping_of(bytes: &[u8]) -> Vec<Thread> {
    let (head, image) = bytes.split_at(HEAD);
    let lines = image.len() - usize::from(head[1]).min(image.len());
    let end = BASE + image.len() as u64;
    let bound = |at: usize| (BASE + 64 * u64::from(head[at])).min(end);
    let (code, stack) = (bound(2), bound(3).max(bound(2)));
    let maps = format!(
        "{BASE:x}-{code:x} r-xp 00000000 08:01 7 /program\n{code:x}-{stack:x} rw-p 00000000 00:00 0\n{stack:x}-{end:x} rw-p 00000000 00:00 0 {}\n",
        if head[0] & 2 == 0 { "" } else { "[stack]" }
    );
    by_bytes::sleeping_threads(&MappedBytes(image), &maps, &String::from_utf8_lossy(&image[lines..]))
}
