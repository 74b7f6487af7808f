//! The readers of other users' data, over bytes and text in memory: entry points for fuzzers and for the
//! tests that replay their inputs. Owns nothing; refuses to touch the machine.

use super::link;
use super::ocaml::{files as ocaml, rings};
use crate::binary::{self, Inspected};
use crate::symbols::elf;
use crate::target::mappings;
use rtscope_decode::code::Named;
use std::path::Path;

pub use super::ghc::heap::found as heap_space;
pub use super::ghc::stm::look as transactions;
pub use super::ghc::threads::by_bytes as green_threads;
pub use super::ocaml::rings::placed as ring;
pub use super::ocaml::threads::by_bytes as sleeping_threads;
pub use super::waiting;
pub use crate::kernel::callers::{Unwound, of_bytes as unwound};
pub use crate::machine::cgroup::named as group;

/// The facts in an ELF file, and how its program starts.
pub fn inspect(image: &[u8]) -> (Inspected, link::Link) {
    let path = Path::new("/program");
    (binary::inspect_image(image, path), link::read_image(image, path))
}

/// The runtime that a bytecode program names.
pub fn bytecode_runtime(bytes: &[u8]) -> Option<&Path> {
    let head = bytes.get(..1024).unwrap_or(bytes);
    ocaml::runtime_named(head, bytes.get(bytes.len().checked_sub(12)?..)?)
}

/// Names of places in an ELF file, for ascending offsets.
///
/// # Errors
/// Why nothing in the file can have a name.
pub fn names(image: &[u8], asked: &[(u64, u64)]) -> Result<Vec<Named>, String> {
    elf::look_up_image(image, "program", asked).map(|found| found.names)
}

/// Counts the lines of `maps` with code, and those with rings.
pub fn mapped_lines(text: &str) -> usize {
    let code = mappings::parse(text).iter().filter(|mapping| mapping.executable).count();
    code + text.lines().filter(|line| rings::is_mapped(line)).count()
}
