//! The facts found in a program's file. Owns their form, which crosses the sandbox; refuses to read
//! the file.

use rtscope_model::Version;
use rtscope_model::manifest::Binary;
use rtscope_model::runtime::{self, RuntimeInfo};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;

/// Everything read from one ELF file.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Inspected {
    /// For the manifest.
    pub binary: Binary,
    /// Compiler version, where the file names it.
    pub compiler: Option<Version>,
    /// Addresses that the recorder reads in a live process.
    pub symbols: RuntimeSymbols,
    /// Whether the file is an ELF file for this machine.
    pub elf: bool,
}

/// Link-time addresses of the runtime's variables.
#[derive(Copy, Clone, Eq, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct RuntimeSymbols {
    /// Pointer to the array of event buffers, one per capability.
    pub cap_event_buf: Option<u64>,
    /// The global event buffer.
    pub event_buf: Option<u64>,
    /// Origin of the log's clock on `CLOCK_MONOTONIC`, nanoseconds.
    pub start_init_elapsed: Option<u64>,
    /// Number of capabilities, 32 bits.
    pub n_capabilities: Option<u64>,
    /// Variables that locate the heap.
    pub heap: rtscope_heap::Statics,
    /// Variables that count transactions.
    pub stm: StmSymbols,
    /// Lowest address of the file's loadable segments.
    pub lowest_load: u64,
}

/// Addresses of the counters of transactions.
#[derive(Copy, Clone, Eq, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct StmSymbols {
    /// The code of `stmStartTransaction`.
    pub start: Option<u64>,
    /// `max_commits`, 64 bits: attempts granted to capabilities.
    pub max_commits: Option<u64>,
    /// `token_locked`, a word: set while a capability is granted more attempts.
    pub token_locked: Option<u64>,
    /// Size of `capabilities` in bytes: 8 for a pointer to the array, more for the array itself.
    pub capabilities_bytes: Option<u64>,
    /// The block of counters of the package `rtscope-stm`.
    pub block: Option<u64>,
}

impl RuntimeSymbols {
    /// Whether the event buffers can be found.
    pub fn has_buffers(&self) -> bool {
        self.cap_event_buf.is_some() || self.event_buf.is_some()
    }
}

impl Inspected {
    /// The runtime that is linked in, as far as the file shows.
    pub fn runtime(&self) -> &'static RuntimeInfo {
        runtime::find(self.binary.family.as_deref())
    }

    /// Whether the program ignores or forbids options from the environment. Under
    /// `ignore` the runtime leaves only the command line to the program.
    pub fn refuses_environment(&self) -> bool {
        matches!(self.binary.rtsopts.as_deref(), Some("none" | "ignoreAll"))
    }
}

/// An ELF file, given to each runtime to decide whether the program uses it.
pub struct FileContents<'f, 'data> {
    /// Address and size of the symbols that a runtime wants and the file defines.
    pub(super) symbols: HashMap<&'static str, (u64, u64)>,
    pub(super) section: &'f dyn Fn(&str, u64) -> Option<&'data [u8]>,
    pub little_endian: bool,
}

impl<'data> FileContents<'_, 'data> {
    /// The address of a symbol that the file defines.
    pub fn address(&self, name: &str) -> Option<u64> {
        self.symbols.get(name).map(|symbol| symbol.0)
    }

    /// The size in bytes of a symbol that the file defines.
    pub fn bytes(&self, name: &str) -> Option<u64> {
        self.symbols.get(name).map(|symbol| symbol.1)
    }

    pub fn section(&self, name: &str, most: u64) -> Option<&'data [u8]> {
        (self.section)(name, most)
    }
}
