//! Reads from a program's ELF file alone what its binary accepts; never runs it. Owns the sandboxed
//! read and the single pass over the symbols. What the file lacks is "unknown" with a sentence, never
//! a guess.

use super::bounded::Bounded;
use super::inspected::{FileContents, Inspected};
use super::programs;
use crate::runtimes::known;
use crate::sandbox::{self, ONE_FILE};
use crate::symbols::names::base;
use crate::target::{Process, ProcessFile, Refused, open_own, open_target};
use object::read::elf::{FileHeader, ProgramHeader};
use object::{Object, ObjectSection, ObjectSymbol};
use rtscope_model::manifest::Binary;
use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io::Cursor;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};

/// Inspects the file at `path`. A file that cannot be read or is not an ELF file gives an otherwise
/// empty answer with the reason in `binary.note`.
pub fn inspect(path: &Path) -> Inspected {
    inspect_opened(open_own(path, true), path, |runtime| open_own(runtime, true).ok())
}

/// Inspects a file that the caller opened, or failed to open; messages call it `path`. `runtime`
/// opens the runtime that a bytecode program names.
pub fn inspect_opened(
    file: Result<File, Refused>,
    path: &Path,
    runtime: impl FnOnce(&Path) -> Option<File>,
) -> Inspected {
    let mut found = match file {
        Err(why) => noted(format!("{} cannot be read ({why}), so what it accepts is unknown", path.display())),
        Ok(file) => inspect_open(file, path, runtime),
    };
    found.binary.path = path.display().to_string();
    found
}

fn noted(note: String) -> Inspected {
    Inspected { binary: Binary { note: Some(note), ..Binary::default() }, ..Inspected::default() }
}

fn inspect_open(file: File, path: &Path, runtime: impl FnOnce(&Path) -> Option<File>) -> Inspected {
    let interpreted = known::all().find_map(|known| Some((known, known.interpreter(&file)?)));
    match interpreted {
        Some((known, named)) => {
            let version = runtime(&named).and_then(|file| known.interpreter_version(file));
            let binary = Binary { family: Some(known.info().id.to_owned()), version, ..Binary::default() };
            Inspected { binary, ..Inspected::default() }
        }
        None => programs::known(file.metadata().ok(), || parse_apart(file, path)),
    }
}

/// Runs [`parse`] in a process of its own: the file's owner controls its contents.
fn parse_apart(file: File, path: &Path) -> Inspected {
    let keep = [file.as_raw_fd()];
    let read = sandbox::run(&ONE_FILE, &keep, || parse(&Bounded::new(file), path));
    read.map_or_else(|died| noted(format!("what {} accepts is unknown: {died}", path.display())), |done| done.value)
}

pub fn inspect_image(image: &[u8], path: &Path) -> Inspected {
    parse(&Bounded::new(Cursor::new(image)), path)
}

fn parse<'data, R: object::ReadRef<'data>>(data: R, path: &Path) -> Inspected {
    match object::read::elf::ElfFile64::<object::Endianness, R>::parse(data) {
        Ok(elf) => read_elf(&elf, path),
        Err(_) => noted(format!(
            "{} is not a 64-bit ELF program (a script or wrapper?): what the programs it starts accept is unknown",
            path.display()
        )),
    }
}

/// Inspects the executable of a running process.
pub fn inspect_process(process: &Process) -> Inspected {
    inspect_process_of(process, process.link("exe").ok())
}

/// Like [`inspect_process`], for a caller that knows where `exe` leads.
pub(crate) fn inspect_process_of(process: &Process, executable: Option<PathBuf>) -> Inspected {
    let runtime = |path: &Path| open_target(process, ProcessFile::Named(path.to_owned())).ok();
    let file = open_target(process, ProcessFile::Executable);
    let mut found = inspect_opened(file, &process.path("exe"), runtime);
    if let Some(path) = executable {
        found.binary.path = path.display().to_string();
    }
    found
}

type Elf<'data, R> = object::read::elf::ElfFile64<'data, object::Endianness, R>;

fn read_elf<'data, R: object::ReadRef<'data>>(elf: &Elf<'data, R>, path: &Path) -> Inspected {
    if Some(elf.elf_header().e_machine(elf.endian())) != native() {
        return noted(format!("{} is built for {:?}, not for this machine", path.display(), elf.architecture()));
    }
    let endian = elf.endian();
    let headers = elf.elf_header().program_headers(endian, elf.data()).unwrap_or_default();
    let loads = headers.iter().filter(|header| header.p_type(endian) == object::elf::PT_LOAD);
    let lowest_load = loads.map(|header| header.p_vaddr(endian)).min().unwrap_or(0);
    let mut found = Inspected { elf: true, ..Inspected::default() };
    found.symbols.lowest_load = lowest_load & !0xfff;
    // Dynamic symbols survive `strip`, so they do not count as a symbol table.
    found.binary.symbols = elf.symbols().next().is_some();
    let section = |name: &str, most: u64| -> Option<&'data [u8]> {
        elf.section_by_name(name).filter(|section| section.size() <= most)?.data().ok()
    };
    let file = FileContents { symbols: wanted_symbols(elf), section: &section, little_endian: elf.is_little_endian() };
    let of = known::all().find(|known| known.detect(&file, &mut found));
    found.binary.family = of.map(|of| of.info().id.to_owned());
    found
}

/// The ELF machine number of this machine.
pub(crate) fn native() -> Option<u16> {
    Some(match std::env::consts::ARCH {
        "x86_64" => object::elf::EM_X86_64,
        "aarch64" => object::elf::EM_AARCH64,
        "riscv64" => object::elf::EM_RISCV,
        "powerpc64" => object::elf::EM_PPC64,
        "s390x" => object::elf::EM_S390,
        _ => return None,
    })
}

/// Address and size of the symbols that runtimes want; the first one of each name.
fn wanted_symbols<'data, R: object::ReadRef<'data>>(elf: &Elf<'data, R>) -> HashMap<&'static str, (u64, u64)> {
    let wanted: HashSet<&'static str> = known::all().flat_map(|known| known.wanted().split(' ')).collect();
    let mut found = HashMap::new();
    for symbol in elf.symbols().chain(elf.dynamic_symbols()).filter(|symbol| symbol.is_definition()) {
        let wanted = symbol.name().ok().and_then(|name| wanted.get(base(name)));
        if let Some(name) = wanted {
            found.entry(*name).or_insert((symbol.address(), symbol.size()));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_elf_program_is_unknown_with_a_sentence() {
        let folder = tempfile::tempdir().unwrap();
        let script = folder.path().join("script");
        for bytes in [
            &b"#!/bin/sh\n"[..],
            b"",
            b"\x7fELF",
            b"\x7fELF\x02\x01\x01garbage garbage garbage garbage garbage garbage g",
        ] {
            std::fs::write(&script, bytes).unwrap();
            let found = inspect(&script);
            assert_eq!((found.elf, found.binary.family, found.binary.can_log), (false, None, None));
            assert!(found.binary.note.is_some());
        }
        assert!(inspect(&folder.path().join("missing")).binary.note.unwrap().contains("cannot be read"));
    }

    #[test]
    fn a_program_that_is_not_of_ghc_is_no_family() {
        let found = inspect(&std::env::current_exe().unwrap());
        assert!(found.elf);
        assert_eq!(found.binary.family, None);
    }
}
