//! What a program's start depends on, from a few small reads of its file: the
//! sections in which GHC records what it linked, and the names of dynamic symbols.
//! Symbol tables are not read, so that a program of a hundred megabytes costs no
//! more than a small one. Refuses to run it, and to judge what was found.

use super::ghc::files::{LINK_INFO, LinkInfo, SECTION_MAX, ghc_version};
use crate::binary::{Bounded, native};
use crate::target::Refused;
use memchr::memmem;
use object::elf::{self, FileHeader64};
use object::read::elf::{FileHeader, SectionHeader};
use object::{Endianness, ReadRef};
use rtscope_model::runtimes::OcamlRelease;
use rtscope_model::{Rtsopts, Version};
use std::fs::File;
use std::io::{Cursor, Read};
use std::path::Path;

/// Larger tables of names are not searched.
const NAMES_MAX: u64 = 8 << 20;

/// The kind of a program, as far as it matters for its start.
#[derive(Clone, Eq, PartialEq, Debug)]
pub enum Link {
    /// A GHC program.
    Ghc(GhcLink),
    /// An OCaml program.
    Ocaml(OcamlRelease),
    /// Neither, or undecidable; the sentence says why.
    Unknown(String),
}

/// Facts from the link of a GHC program.
#[derive(Clone, Eq, PartialEq, Debug, Default)]
pub struct GhcLink {
    /// Version of the compiler.
    pub version: Option<Version>,
    /// The options of the link; `None`: `strip` removed them.
    pub options: Option<GhcOptions>,
    /// Whether its runtime is built with NUMA; `None`: the runtime is a shared library.
    pub numa: Option<bool>,
}

/// Options of a GHC link.
#[derive(Clone, Eq, PartialEq, Debug)]
pub struct GhcOptions {
    /// Linked with `-threaded`; `None`: the runtime's library is not named.
    pub threaded: Option<bool>,
    /// Which options it accepts from outside.
    pub rtsopts: Rtsopts,
    /// Its `-with-rtsopts`.
    pub with_rtsopts: String,
}

/// Reads the file at `path`.
pub fn read(path: &Path) -> Link {
    // The user's own program, and where it is started there may be no /proc.
    read_opened(File::open(path).map_err(Refused::from), path)
}

/// Like [`read`], for a file that the caller opened, or failed to open; messages call it `path`.
pub fn read_opened(file: Result<File, Refused>, path: &Path) -> Link {
    let file = file.map_err(|why| unknown(path, &format!("cannot be read ({why})")));
    // Opening a folder works, reading one does not: the kernel's message says it best.
    let program = file.and_then(|file| is_program(&file, path).map(|()| file));
    program.and_then(|file| parse(&Bounded::new(file), path)).unwrap_or_else(Link::Unknown)
}

/// Like [`read`], for an image in memory.
pub fn read_image(image: &[u8], path: &Path) -> Link {
    parse(&Bounded::new(Cursor::new(image)), path).unwrap_or_else(Link::Unknown)
}

/// Errors: why it is unknown, in a sentence.
fn parse<'d, R: ReadRef<'d>>(data: R, path: &Path) -> Result<Link, String> {
    let damaged = |_| unknown(path, "is an ELF file that is cut short or damaged");
    let header = FileHeader64::<Endianness>::parse(data).map_err(|_| unknown(path, "is not a 64-bit ELF program"))?;
    let endian = header.endian().map_err(damaged)?;
    if native() != Some(header.e_machine(endian)) {
        return Err(format!("{} is built for another kind of machine: it does not run here.", path.display()));
    }
    let sections = header.sections(endian, data).map_err(damaged)?;
    let section = |name: &str, most: u64| {
        let (_, section) = sections.section_by_name(endian, name.as_bytes())?;
        if section.sh_size(endian) > most { None } else { section.data(endian, data).ok() }
    };
    of_sections(section, path)
}

/// Errors: it is a script, an empty file, or another non-program.
fn is_program(mut file: &File, path: &Path) -> Result<(), String> {
    let mut head = [0; 4];
    match file.read(&mut head) {
        Err(error) => Err(unknown(path, &format!("cannot be read ({error})"))),
        Ok(_) if head.starts_with(b"#!") => Err(format!(
            "{} is a script: what the programs that it starts accept is unknown, so no flags are set for them. Plan \
             for the program itself.",
            path.display()
        )),
        Ok(_) if head != elf::ELFMAG => Err(unknown(path, "is not an ELF program")),
        Ok(_) => Ok(()),
    }
}

fn unknown(path: &Path, why: &str) -> String {
    format!("{} {why}: what it accepts is unknown.", path.display())
}

fn of_sections<'d>(section: impl Fn(&str, u64) -> Option<&'d [u8]>, path: &Path) -> Result<Link, String> {
    let info = section(LINK_INFO, SECTION_MAX).and_then(LinkInfo::parse);
    let version = section(".comment", SECTION_MAX).and_then(ghc_version);
    let names = section(".dynstr", NAMES_MAX).unwrap_or_default();
    if info.is_some() || version.is_some() {
        let version = version.or_else(|| info.as_ref()?.version_from_base());
        return Ok(Link::Ghc(GhcLink { version, options: info.map(options), numa: numa(names) }));
    }
    // Statically linked programs have their names in the other table.
    let release = ocaml(names).or_else(|| ocaml(section(".strtab", NAMES_MAX).unwrap_or_default()));
    release.map(Link::Ocaml).ok_or_else(|| {
        format!(
            "No runtime of GHC or OCaml shows in {}: it is a program of another kind, or one that is stripped of all \
             names.",
            path.display()
        )
    })
}

fn options(info: LinkInfo) -> GhcOptions {
    let threaded = info.way.map(|way| way.split('_').any(|part| part == "thr"));
    GhcOptions { threaded, rtsopts: info.rtsopts, with_rtsopts: info.with_rtsopts.unwrap_or_default() }
}

fn numa(names: &[u8]) -> Option<bool> {
    if has(names, b"numa_available\0") {
        return Some(true);
    }
    (memmem::find(names, b"libHSrts").is_none()).then_some(false)
}

fn ocaml(names: &[u8]) -> Option<OcamlRelease> {
    if !has(names, b"caml_startup\0") && !has(names, b"caml_main\0") {
        return None;
    }
    // Domains came with 5.0, waiting for them on a futex with 5.3.
    Some(match (has(names, b"caml_domain_spawn\0"), has(names, b"caml_plat_futex_wait\0")) {
        (_, true) => OcamlRelease::From5_3,
        (true, false) => OcamlRelease::Before5_3,
        (false, false) => OcamlRelease::Before5,
    })
}

fn has(names: &[u8], name: &[u8]) -> bool {
    memmem::find(names, name).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sentence(bytes: &[u8]) -> String {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        std::fs::write(&file, bytes).unwrap();
        let Link::Unknown(sentence) = read(&file) else { panic!("{bytes:?} is a program") };
        sentence
    }

    #[test]
    fn what_is_no_program_is_unknown_with_a_sentence() {
        assert!(sentence(b"#!/bin/sh\n").contains("is a script"));
        assert!(sentence(b"").contains("not an ELF"));
        assert!(sentence(b"hello, world").contains("not an ELF"));
        assert!(sentence(b"\x7fELF").contains("64-bit ELF"));
        assert!(sentence(&[&b"\x7fELF\x02\x01\x01"[..], &[b'g'; 90]].concat()).contains("another kind"));
        let Link::Unknown(folder) = read(Path::new("/")) else { panic!("a folder is a program") };
        assert!(folder.contains("cannot be read"), "{folder}");
        let Link::Unknown(missing) = read(Path::new("/no/such")) else { panic!("nothing is a program") };
        assert!(missing.contains("cannot be read"), "{missing}");
    }

    #[test]
    fn a_damaged_or_foreign_program_is_no_guess() {
        let own = std::fs::read(std::env::current_exe().unwrap()).unwrap();
        assert!(sentence(&own[..4096]).contains("damaged"));
        let mut foreign = own[..4096].to_vec();
        foreign[18] = 0x16;
        foreign[19] = 0;
        assert!(sentence(&foreign).contains("another kind of machine"));
        let Link::Unknown(sentence) = read(&std::env::current_exe().unwrap()) else {
            panic!("Rust has neither runtime")
        };
        assert!(sentence.contains("No runtime of GHC or OCaml"));
    }

    #[test]
    fn releases_are_recognised_by_names() {
        assert_eq!(ocaml(b"\0malloc\0"), None);
        assert_eq!(ocaml(b"\0caml_startup\0caml_alloc\0"), Some(OcamlRelease::Before5));
        assert_eq!(ocaml(b"\0caml_startup\0caml_domain_spawn\0"), Some(OcamlRelease::Before5_3));
        let new = b"\0caml_main\0caml_domain_spawn\0caml_plat_futex_wait\0";
        assert_eq!(ocaml(new), Some(OcamlRelease::From5_3));
        assert_eq!(
            (numa(b"\0numa_available\0"), numa(b"\0free\0"), numa(b"\0libHSrts-x.so\0")),
            (Some(true), Some(false), None)
        );
    }
}
