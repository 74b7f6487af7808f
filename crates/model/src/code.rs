//! Code: the locations of threads' program counters, and their names. Owns the terms; refuses to know how a location
//! is found or a name looked up.

use crate::ids::{Cpu, Tid};
use crate::purpose::{PurposeId, Role};
use serde::{Deserialize, Serialize};

/// Id of a symbol in a [`Symbols`] table.
#[derive(Copy, Clone, Eq, PartialEq, Ord, PartialOrd, Hash, Debug, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SymbolId(pub u32);

/// How a thread came into the kernel, as in [`Symbol::source`], if by a page fault; the known origin of the fault
/// follows after a comma.
pub const PAGE_FAULT: &str = "page fault";
/// How a thread came into the kernel if it did not ask for it.
pub const INTERRUPT: &str = "interrupt";
/// A page fault on the program's own memory that had not been touched since it was obtained.
pub const FIRST_TOUCH: &str = "page fault, first touch";
/// A page fault on memory that the program had had before, and had given back.
pub const GIVEN_BACK: &str = "page fault, memory given back";

/// The owner of code.
#[derive(Copy, Clone, Eq, PartialEq, Ord, PartialOrd, Hash, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CodeKind {
    /// Compiled from the program's language: has safepoints where it allocates.
    Program,
    /// Code of the runtime.
    Runtime,
    /// Code of another language, called by the program: has no safepoints.
    Foreign,
    /// Code of the kernel.
    Kernel,
    /// Not known: no symbol, no mapping, or generated at run time.
    #[default]
    Unknown,
}

/// A named place in code.
#[derive(Clone, Eq, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Symbol {
    /// The name for display: `Main.$wspin`, `c_busy`, `do_futex`; an address with its module (`prog+0x4a10`) if it
    /// has no name.
    pub name: String,
    /// File name of the executable or library, `[kernel]`, or empty.
    pub module: String,
    /// The owner of the code.
    pub kind: CodeKind,
    /// File and span in the source, where the log or the binary has them. For kernel code: how a thread came there:
    /// `page fault` (with what it followed from), `interrupt`, or a system call's name.
    pub source: Option<String>,
    /// Its purpose, for known functions of a runtime.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub purpose: Option<Role>,
}

impl Symbol {
    /// Whether a thread came to this kernel function by a page fault.
    pub fn is_fault(&self) -> bool {
        self.kind == CodeKind::Kernel && self.source.as_deref().is_some_and(|source| source.starts_with(PAGE_FAULT))
    }
}

/// Symbols of one recording. Entry 0 is the unknown symbol.
#[derive(Clone, Debug)]
pub struct Symbols {
    list: Vec<Symbol>,
}

impl Default for Symbols {
    fn default() -> Self {
        Symbols { list: vec![Symbol::default()] }
    }
}

impl Symbols {
    /// Adds a symbol without checking for duplicates: the owner of the table knows what is new.
    pub fn add(&mut self, symbol: Symbol) -> SymbolId {
        self.list.push(symbol);
        SymbolId((self.list.len() - 1) as u32)
    }

    /// All symbols, by id.
    pub fn all(&self) -> &[Symbol] {
        &self.list
    }

    /// The symbol with the id `id`; the unknown one for an id of another table.
    pub fn get(&self, id: SymbolId) -> &Symbol {
        self.list.get(id.0 as usize).unwrap_or(&self.list[0])
    }
}

/// A sample of a thread's code.
#[derive(Copy, Clone, Eq, PartialEq, Debug)]
pub struct CodeSample {
    /// The thread that was found.
    pub tid: Tid,
    /// The CPU that it was on.
    pub cpu: Cpu,
    /// The innermost place, which may be in the kernel.
    pub leaf: SymbolId,
    /// The innermost place in user space, if `leaf` is in the kernel.
    pub user: Option<SymbolId>,
    /// The purpose of the runtime's code there, from the nearest caller that shows it; `None`: not a runtime's code,
    /// or its purpose is not known.
    pub purpose: Option<PurposeId>,
    /// How the thread was found.
    pub what: Found,
}

/// The meaning of a [`CodeSample`].
#[derive(Copy, Clone, Eq, PartialEq, Debug)]
pub enum Found {
    /// A timer found the thread on a CPU; stands for `ns` of CPU time.
    Running {
        /// The sampling period, nanoseconds.
        ns: u64,
    },
    /// The thread left its CPU to wait: `leaf` is the kernel function that names the wait (`futex_wait_queue`,
    /// `io_schedule`), not the scheduler below it.
    Waits,
}
