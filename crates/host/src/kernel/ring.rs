//! The memory that the kernel writes perf records into. Owns the mapping and the
//! protocol of head and tail; hands out copied, whole records. Refuses to
//! interpret them beyond their sizes.

use super::perf::Event;
use rustix::mm::{MapFlags, ProtFlags};
use std::io;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};

/// Offsets in `struct perf_event_mmap_page` (`include/uapi/linux/perf_event.h`).
const DATA_HEAD: usize = 1024;
const DATA_TAIL: usize = 1032;

#[derive(Debug)]
pub struct Ring {
    base: NonNull<u8>,
    page: usize,
    size: usize,
    tail: u64,
}

// SAFETY: the mapping belongs to the process, not to a thread; `Ring` is its only
// user here and all changes to it go through `&mut self`.
unsafe impl Send for Ring {}

impl Ring {
    /// Maps `size` bytes (a power of two, at least a page) for `event`. `EPERM`
    /// means that this is more locked memory than the user may have.
    pub fn map(event: &Event, size: usize) -> io::Result<Ring> {
        let page = rustix::param::page_size();
        if !size.is_power_of_two() || size < page {
            return Err(io::Error::from(io::ErrorKind::InvalidInput));
        }
        // SAFETY: a new shared mapping at an address that the kernel chooses; it
        // replaces nothing. The kernel validates the length against the event.
        let base = unsafe {
            rustix::mm::mmap(
                std::ptr::null_mut(),
                page + size,
                ProtFlags::READ | ProtFlags::WRITE,
                MapFlags::SHARED,
                event,
                0,
            )
        }?;
        let base = NonNull::new(base.cast::<u8>()).ok_or_else(|| io::Error::from(io::ErrorKind::OutOfMemory))?;
        Ok(Ring { base, page, size, tail: 0 })
    }

    /// Appends everything that the kernel has finished writing to `into`, and
    /// frees its room in the ring. Returns the number of bytes.
    pub fn drain(&mut self, into: &mut Vec<u8>) -> usize {
        // Acquire: the bytes before `head` are read after it. Pairs with the
        // kernel's write barrier before its store of `data_head`.
        let head = self.word(DATA_HEAD).load(Ordering::Acquire);
        let filled = usize::try_from(head.wrapping_sub(self.tail)).unwrap_or(usize::MAX);
        // The kernel never lets the head run more than a ring ahead of the tail.
        // Anything else is not its protocol: skip it rather than copy garbage.
        let taken = if filled <= self.size { filled } else { 0 };
        let start = (self.tail & (self.size as u64 - 1)) as usize;
        let first = taken.min(self.size - start);
        into.reserve(taken);
        for (from, count) in [(start, first), (0, taken - first)] {
            // SAFETY: `from + count <= self.size`, so the source lies inside the
            // mapping's data pages. The kernel writes only outside of
            // `tail..head` until `tail` moves, which happens below, so these
            // bytes do not change. `reserve` made room after `len` for both
            // parts, and the new length covers only bytes just written.
            unsafe {
                let source = self.base.as_ptr().add(self.page + from);
                std::ptr::copy_nonoverlapping(source, into.as_mut_ptr().add(into.len()), count);
                into.set_len(into.len() + count);
            }
        }
        self.tail = head;
        // Release: the copies above are done before the kernel may overwrite them.
        self.word(DATA_TAIL).store(head, Ordering::Release);
        taken
    }

    fn word(&self, offset: usize) -> &AtomicU64 {
        // SAFETY: both offsets lie in the first page of the mapping, which lives
        // as long as `self`, and are multiples of 8. The kernel and this
        // process touch these words only as single 8-byte accesses.
        unsafe { AtomicU64::from_ptr(self.base.as_ptr().add(offset).cast()) }
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        // SAFETY: unmaps exactly what `map` mapped; no reference into it outlives
        // a method call. A failure leaves the mapping in place: harmless.
        let _ = unsafe { rustix::mm::munmap(self.base.as_ptr().cast(), self.page + self.size) };
    }
}
