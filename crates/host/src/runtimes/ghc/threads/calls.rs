//! Green threads in safe foreign calls, and the system thread that runs each. A capability has a list of its
//! calls; each call refers to its green thread and its task, a task to its `pthread_t`. Owns these offsets;
//! refuses a number that is not a thread of the system.

use super::layout::TsoLayout;
use super::list::{self, RtsPlace};
use crate::runtimes::c_stack::number;
use crate::target::memory::Memory;
use std::collections::HashMap;

/// In a capability: the first of its calls (`suspended_ccalls`, `rts/Capability.h`).
const CALLS: u64 = 1000;
/// In a call (`InCall`, `rts/Task.h`): the green thread, the task, the next call of the capability.
const THREAD: u64 = 8;
const TASK: u64 = 40;
const NEXT: u64 = 64;
const CALLS_MAX: usize = 1024;

/// The system's threads by the numbers of the calling green threads.
/// `only_tid` is the non-threaded runtime's only system thread.
pub fn callers(memory: &impl Memory, place: &RtsPlace, only_tid: Option<u32>) -> HashMap<u64, u32> {
    let mut found = HashMap::new();
    let mut left = CALLS_MAX;
    for capability in list::capabilities(memory, place).unwrap_or_default() {
        let mut call = word(memory, capability, CALLS).unwrap_or(0);
        while call != 0 && left > 0 {
            left -= 1;
            let tid = only_tid.or_else(|| tid(memory, call));
            found.extend(green(memory, &place.layout, call).zip(tid));
            call = word(memory, call, NEXT).unwrap_or(0);
        }
    }
    found
}

fn word(memory: &impl Memory, at: u64, offset: u64) -> Option<u64> {
    memory.read_u64(at.checked_add(offset)?).ok()
}

/// The number of the green thread of a call.
fn green(memory: &impl Memory, layout: &TsoLayout, call: u64) -> Option<u64> {
    let thread = word(memory, call, THREAD).filter(|thread| list::is_thread(memory, *thread))?;
    word(memory, thread, layout.id as u64)
}

fn tid(memory: &impl Memory, call: u64) -> Option<u32> {
    let task = word(memory, call, TASK)?;
    // It begins with a `pthread_t`.
    number(memory, memory.read_u64(task).ok()?)
}
