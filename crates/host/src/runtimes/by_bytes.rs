//! The readers of what other users wrote, over bytes and text in memory: what fuzzers and the
//! tests that replay their inputs call. Owns nothing; refuses to touch the machine.

use super::ghc::{heap, stm};
use super::link;
use super::ocaml::rings::Placed;
use super::ocaml::{files as ocaml, rings};
use crate::binary::{self, Inspected};
use crate::machine::cgroup;
use crate::symbols::elf;
use crate::target::mappings::{self, Mapping};
use rtscope_decode::code::Named;
use rtscope_heap::{Memory, Space, Statics};
use std::io;
use std::ops::Range;
use std::path::Path;

/// What an ELF file says, and what it says of the program's start.
pub fn inspect(image: &[u8]) -> (Inspected, link::Link) {
    let path = Path::new("/program");
    (binary::inspect_image(image, path), link::read_image(image, path))
}

/// The runtime that a bytecode program names.
pub fn bytecode_runtime(bytes: &[u8]) -> Option<&Path> {
    let head = bytes.get(..1024).unwrap_or(bytes);
    ocaml::runtime_named(head, bytes.get(bytes.len().checked_sub(12)?..)?)
}

/// Names of places in an ELF file, asked for by offset in order.
///
/// # Errors
/// Why nothing in it can have a name.
pub fn names(image: &[u8], asked: &[(u64, u64)]) -> Result<Vec<Named>, String> {
    elf::look_up_image(image, "program", asked).map(|found| found.names)
}

/// Whether a ring file of `length` bytes that begins so is ready, and where then its last ring's
/// header and words are.
pub fn ring(metadata: &[u8; 64], length: u64) -> Option<Placed> {
    rings::placed(metadata, length)
}

/// What lines of `maps` say to those that look for rings and for code.
pub fn mapped_lines(text: &str) -> usize {
    let code = mappings::parse(text).iter().filter(|mapping| mapping.executable).count();
    code + text.lines().filter(|line| rings::is_mapped(line)).count()
}

/// The mount and group that texts of `mountinfo` and `cgroup` name for a controller.
pub fn group(mounts: &str, memberships: &str, controller: &str) -> Option<String> {
    cgroup::named(mounts, memberships, controller)
}

/// The addresses that a runtime reserved, and of them what is its heap's.
///
/// # Errors
/// Memory cannot be read.
pub fn heap_space(
    memory: &impl Memory,
    statics: &Statics,
    mappings: &[Mapping],
) -> io::Result<Option<(Range<u64>, Space)>> {
    heap::found(memory, statics, mappings)
}

/// Looks for all that counts transactions.
///
/// # Errors
/// Memory cannot be read.
pub fn transactions<M: Memory>(
    memory: M,
    symbols: &binary::RuntimeSymbols,
    data: &[Range<u64>],
) -> io::Result<stm::Look> {
    stm::look(memory, symbols, data)
}
