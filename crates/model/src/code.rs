//! Code: where a thread's program counter was, and what that place is called.
//! Owns the words; refuses to know how a place is found or a name looked up.

use crate::ids::{Cpu, Tid};
use crate::purpose::{PurposeId, Role};
use serde::{Deserialize, Serialize};

/// A symbol held by a [`Symbols`] table.
#[derive(Copy, Clone, Eq, PartialEq, Ord, PartialOrd, Hash, Debug, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SymbolId(pub u32);

/// How a thread came into the kernel, as [`Symbol::source`] has it where it was a page fault; behind a comma what that
/// followed from, where that is known.
pub const PAGE_FAULT: &str = "page fault";
/// A page fault on memory of its own that had not been touched since it was had.
pub const FIRST_TOUCH: &str = "page fault, first touch";
/// The same of memory that the program had had before, and had given back.
pub const GIVEN_BACK: &str = "page fault, memory given back";

/// Whose code it is.
#[derive(Copy, Clone, Eq, PartialEq, Ord, PartialOrd, Hash, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CodeKind {
    /// Compiled from the program's language: it has safepoints where it allocates.
    Program,
    /// The runtime's own.
    Runtime,
    /// Another language's, called by the program: it has no safepoints.
    Foreign,
    /// The kernel's.
    Kernel,
    /// Not known: no symbol, no mapping, made at run time.
    #[default]
    Unknown,
}

/// One place with a name.
#[derive(Clone, Eq, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Symbol {
    /// As people write it: `Main.$wspin`, `c_busy`, `do_futex`; an address with
    /// its module (`prog+0x4a10`) where there is no name.
    pub name: String,
    /// File name of the executable or library, `[kernel]`, or empty.
    pub module: String,
    /// Whose code.
    pub kind: CodeKind,
    /// File and span in the source, where the log or the binary has them; of the
    /// kernel's code how a thread came there: `page fault` (with what it followed from), `interrupt`, or a system
    /// call's name.
    pub source: Option<String>,
    /// What it is for: of a runtime's functions that are known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub purpose: Option<Role>,
}

impl Symbol {
    /// Whether a thread came to this function of the kernel by a page fault.
    pub fn is_fault(&self) -> bool {
        self.kind == CodeKind::Kernel && self.source.as_deref().is_some_and(|source| source.starts_with(PAGE_FAULT))
    }
}

/// Symbols seen in one recording. Entry 0 is the unknown one.
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
    /// Adds a symbol (it is not looked up: the owner of the table knows what is new).
    pub fn add(&mut self, symbol: Symbol) -> SymbolId {
        self.list.push(symbol);
        SymbolId((self.list.len() - 1) as u32)
    }

    /// All, by id.
    pub fn all(&self) -> &[Symbol] {
        &self.list
    }

    /// The symbol behind `id`; the unknown one for an id of another table.
    pub fn get(&self, id: SymbolId) -> &Symbol {
        self.list.get(id.0 as usize).unwrap_or(&self.list[0])
    }
}

/// A thread was found somewhere.
#[derive(Copy, Clone, Eq, PartialEq, Debug)]
pub struct CodeSample {
    /// Which thread.
    pub tid: Tid,
    /// On which CPU.
    pub cpu: Cpu,
    /// The innermost place: in the kernel where it was there.
    pub leaf: SymbolId,
    /// The innermost place outside the kernel, where `leaf` is inside.
    pub user: Option<SymbolId>,
    /// What the runtime's code there is for, by the nearest of its callers that tells; `None`: it is no runtime's
    /// code, or what it is for is not known.
    pub purpose: Option<PurposeId>,
    /// What was seen.
    pub what: Found,
}

/// What a [`CodeSample`] stands for.
#[derive(Copy, Clone, Eq, PartialEq, Debug)]
pub enum Found {
    /// A timer found it on a CPU; stands for `ns` of CPU time.
    Running {
        /// The sampling period, nanoseconds.
        ns: u64,
    },
    /// It left its CPU to wait: `leaf` is the kernel function that names the wait
    /// (`futex_wait_queue`, `io_schedule`), not the scheduler below it.
    Waits,
}
