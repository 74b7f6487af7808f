//! Offsets of what is read of threads and capabilities, as the headers of each version compile (64 bits,
//! ordinary ways). Refuses versions for which that was not compiled: the fields move between them.

use rtscope_model::Version;

/// Offsets in a thread (`StgTSO`) and in a capability, bytes.
#[derive(Copy, Clone, Eq, PartialEq, Debug)]
pub struct TsoLayout {
    /// The reason for blocking, 16 bits.
    pub why_blocked: usize,
    /// The object that it is blocked on: see [`Why`].
    pub block_info: usize,
    pub id: usize,
    pub transaction: usize,
    /// Its name, a byte array; `None`: kept elsewhere.
    pub label: Option<usize>,
    /// Size of a thread object, bytes.
    pub bytes: usize,
    /// `capabilities` is an array of pointers (in the non-threaded runtime, of one); else a pointer to
    /// such an array.
    pub array: bool,
}

/// In every layout, as are the next two.
pub const GLOBAL_LINK: usize = 16;
pub const STACK: usize = 24;
/// 16 bits.
pub const WHAT_NEXT: usize = 32;
/// In a generation: its threads.
pub const THREADS: u64 = 104;
/// In a capability: the task that has it; 0 if it is idle.
pub const RUNNING_TASK: u64 = 952;
/// In a capability: whether it runs a green thread now, one byte. A non-threaded runtime always has its only
/// task, even while no thread can run.
pub const IN_HASKELL: u64 = 960;
/// In a capability: the thread that it runs or ran last.
pub const CURRENT_THREAD: u64 = 24 + 872;
/// More words than a thread has.
pub const THREAD_WORDS: usize = 17;

impl TsoLayout {
    pub fn of(version: Version) -> Option<TsoLayout> {
        let early = TsoLayout {
            why_blocked: 34,
            block_info: 40,
            id: 48,
            transaction: 80,
            label: None,
            bytes: 120,
            array: false,
        };
        Some(match (version.0, version.1) {
            (9, 0) => early,
            (9, 6) => TsoLayout { label: Some(88), bytes: 128, array: true, ..early },
            (9, 10) => TsoLayout {
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
#[derive(Copy, Clone, Eq, PartialEq, Hash, Debug)]
pub enum Why {
    Not,
    /// On taking from or putting into a variable; the object is the variable.
    MVar,
    /// On a value; the object is the message to the thread that computes it.
    BlackHole,
    /// On a descriptor, in the non-threaded runtime.
    Descriptor,
    /// Until a moment, in the non-threaded runtime.
    Delay,
    /// On what its transaction has read.
    Stm,
    Call,
    /// On throwing; the object is the message to the target thread.
    ThrowTo,
    /// On migration; the object is the message to the destination capability.
    Migrating,
    Other,
}

impl Why {
    /// Decodes the number in a thread.
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
            let layout = TsoLayout::of(version).unwrap();
            assert!(layout.bytes <= 8 * THREAD_WORDS && layout.label.is_none_or(|at| at + 8 <= layout.bytes));
            assert!(layout.transaction + 8 <= layout.bytes && layout.id < layout.transaction);
        }
        for version in [(8, 10, 7), (9, 2, 8), (9, 8, 4), (9, 12, 1), (10, 0, 1)] {
            assert_eq!(TsoLayout::of(version), None);
        }
    }
}
