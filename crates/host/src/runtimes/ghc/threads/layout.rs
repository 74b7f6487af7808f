//! Where the runtime keeps what is read of threads and capabilities. Owns the offsets, as the headers of
//! each version compile (64 bits, ordinary ways); refuses versions that nobody has compiled: the fields
//! move between them.

use rtscope_model::Version;

/// Offsets in a thread (`StgTSO`) and in a capability, bytes.
#[derive(Copy, Clone, Eq, PartialEq, Debug)]
pub struct Layout {
    /// Why it is blocked; read as 16 bits.
    pub why_blocked: usize,
    /// On what: see [`Why`].
    pub block_info: usize,
    pub id: usize,
    pub transaction: usize,
    /// Its name, a byte array; `None`: kept elsewhere.
    pub label: Option<usize>,
    /// Bytes of a thread.
    pub bytes: usize,
    /// `capabilities` is an array of pointers, of one where the runtime has no threads of the system; else a pointer to
    /// such an array.
    pub array: bool,
}

/// Of every layout, as the next two are.
pub const GLOBAL_LINK: usize = 16;
pub const STACK: usize = 24;
/// 16 bits.
pub const WHAT_NEXT: usize = 32;
/// In a generation: its threads.
pub const THREADS: u64 = 104;
/// In a capability: the task that has it, 0 where it is idle.
pub const RUNNING_TASK: u64 = 952;
/// In a capability: whether that runs a green thread now, one byte. A runtime without threads of the system has its only
/// task always, also while nothing can run.
pub const IN_HASKELL: u64 = 960;
/// In a capability: the thread that it runs or ran last.
pub const CURRENT_THREAD: u64 = 24 + 872;
/// More words than a thread has.
pub const THREAD_WORDS: usize = 17;

impl Layout {
    pub fn of(version: Version) -> Option<Layout> {
        let early =
            Layout { why_blocked: 34, block_info: 40, id: 48, transaction: 80, label: None, bytes: 120, array: false };
        Some(match (version.0, version.1) {
            (9, 0) => early,
            (9, 6) => Layout { label: Some(88), bytes: 128, array: true, ..early },
            (9, 10) => Layout {
                why_blocked: 40,
                block_info: 48,
                id: 56,
                transaction: 88,
                label: Some(96),
                bytes: 136,
                array: false,
            },
            _ => return None,
        })
    }
}

/// Why a thread is blocked (`rts/Constants.h`).
#[derive(Copy, Clone, Eq, PartialEq, Debug)]
pub enum Why {
    Not,
    /// To take or put: the variable.
    MVar,
    /// The message to whoever computes the value.
    BlackHole,
    /// A descriptor, in the non-threaded runtime.
    Descriptor,
    /// A moment, in the non-threaded runtime.
    Delay,
    /// What its transaction has read.
    Stm,
    Call,
    /// The message to the thread that it throws to.
    ThrowTo,
    /// The message to the capability that it moves to.
    Migrating,
    Other,
}

impl Why {
    /// What the number in a thread says.
    pub fn of(number: u16) -> Why {
        match number {
            0 => Why::Not,
            1 | 14 => Why::MVar,
            2 => Why::BlackHole,
            3 | 4 => Why::Descriptor,
            5 => Why::Delay,
            6 => Why::Stm,
            10 | 11 => Why::Call,
            12 => Why::ThrowTo,
            13 => Why::Migrating,
            _ => Why::Other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_lie_in_the_thread_and_unknown_versions_have_none() {
        for version in [(9, 0, 2), (9, 6, 6), (9, 10, 3)] {
            let layout = Layout::of(version).unwrap();
            assert!(layout.bytes <= 8 * THREAD_WORDS && layout.label.is_none_or(|at| at + 8 <= layout.bytes));
            assert!(layout.transaction + 8 <= layout.bytes && layout.id < layout.transaction);
        }
        for version in [(8, 10, 7), (9, 2, 8), (9, 8, 4), (9, 12, 1), (10, 0, 1)] {
            assert_eq!(Layout::of(version), None);
        }
    }
}
