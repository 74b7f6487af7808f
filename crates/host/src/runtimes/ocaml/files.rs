//! What OCaml leaves in the files of its programs, above all the exact release that made one:
//! its rings do not contain it, and read with another release's tables they mean other things.
//!
//! A native program that uses `Sys` contains `Sys.ocaml_version`, a string, and
//! `Sys.ocaml_release`, a record of the same numbers; both survive `strip`. A bytecode
//! runtime contains the text of its `-version`. A string that merely looks like a version
//! is ignored, and if two releases appear the answer is that it is not known.

use crate::binary::{Bounded, FileContents, Inspected};
use crate::programs::spawn::find_program;
use crate::runtimes::files::RuntimeFiles;
use memchr::memmem;
use object::{Object, ObjectSection};
use rtscope_model::runtime::RuntimeInfo;
use rtscope_model::runtimes::OCAML;
use std::collections::BTreeSet;
use std::fs::File;
use std::io::Read;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// Header of a static block of four fields with tag 0, as `ocamlopt` writes it.
const RECORD: u64 = 4 << 10 | 3 << 8;
/// Header of a static string, without its size in words.
const STRING: u64 = 3 << 8 | 252;
/// A version has only a few words.
const STRING_WORDS_MAX: u64 = 8;
/// How a bytecode runtime states its version.
const VERSION_TEXT: &[u8] = b"The OCaml runtime, version ";
const VERSION_MAX: usize = 64;
/// Larger sections are not searched.
const DATA_MAX: u64 = 256 << 20;
/// Bytecode ends with this and three digits.
const BYTECODE: &[u8] = b"Caml1999X";

#[derive(Debug)]
pub struct Ocaml;

impl RuntimeFiles for Ocaml {
    fn info(&self) -> &'static RuntimeInfo {
        &OCAML
    }

    fn wanted(&self) -> &'static str {
        "caml_startup caml_main caml_init_gc"
    }

    fn detect(&self, file: &FileContents<'_, '_>, found: &mut Inspected) -> bool {
        let named = self.wanted().split(' ').any(|name| file.address(name).is_some());
        // A runtime is recognised by its names, or in a file without any symbols.
        if named || !found.binary.symbols {
            found.binary.version = version(|name, most| file.section(name, most), file.little_endian);
        }
        named || found.binary.version.is_some()
    }

    fn interpreter(&self, file: &File) -> Option<PathBuf> {
        bytecode_runtime(file)
    }

    fn interpreter_version(&self, file: File) -> Option<String> {
        let data = Bounded::new(file);
        let elf = object::read::elf::ElfFile64::<object::Endianness, _>::parse(&data).ok()?;
        let section =
            |name: &str, most| elf.section_by_name(name).filter(|section| section.size() <= most)?.data().ok();
        version(section, elf.is_little_endian())
    }
}

impl Inspected {
    /// Whether this is an OCaml program, as far as the file shows.
    pub fn is_ocaml(&self) -> bool {
        self.binary.family.as_deref() == Some(OCAML.id)
    }
}

/// `5.4` of `5.4.1`.
pub fn release(version: &str) -> Option<(u32, u32)> {
    let (major, minor, _) = numbers(version)?;
    Some((major, minor))
}

/// The version that an ELF file names, if it names exactly one.
fn version<'d>(section: impl Fn(&str, u64) -> Option<&'d [u8]>, little_endian: bool) -> Option<String> {
    let mut found: Vec<String> = Vec::new();
    found.extend(section(".rodata", DATA_MAX).map(from_text).unwrap_or_default());
    found.extend(section(".data", DATA_MAX).map(|data| linked(data, little_endian)).unwrap_or_default());
    found.sort_unstable();
    found.dedup();
    if let [only] = &found[..] { Some(only.clone()) } else { None }
}

/// The versions in a bytecode runtime's `-version` text.
fn from_text(bytes: &[u8]) -> Vec<String> {
    let texts = memmem::find_iter(bytes, VERSION_TEXT).filter_map(|at| bytes.get(at + VERSION_TEXT.len()..));
    let texts = texts.map(|text| text.get(..VERSION_MAX).unwrap_or(text));
    let texts = texts.filter_map(|text| text.split(|byte| !byte.is_ascii_graphic()).next());
    texts
        .filter_map(|text| std::str::from_utf8(text).ok().filter(|text| numbers(text).is_some()))
        .map(str::to_owned)
        .collect()
}

/// Versions found both as the string and as the record. If there are several, only those whose
/// string directly follows the record count, as in `Sys`.
fn linked(data: &[u8], little: bool) -> Vec<String> {
    let words = SectionWords { data, little };
    let mut adjacent: BTreeSet<String> = BTreeSet::new();
    let mut alone: BTreeSet<Numbers> = BTreeSet::new();
    for (at, numbers) in words.records() {
        match words.string(at + 5).filter(|text| self::numbers(text) == Some(numbers)) {
            Some(text) => drop(adjacent.insert(text.to_owned())),
            None => drop(alone.insert(numbers)),
        }
    }
    if adjacent.is_empty() { words.strings_of(&alone) } else { adjacent }.into_iter().collect()
}

struct SectionWords<'d> {
    data: &'d [u8],
    little: bool,
}

type Numbers = (u32, u32, u32);

impl<'d> SectionWords<'d> {
    fn get(&self, index: usize) -> Option<u64> {
        let bytes = self.data.get(index.checked_mul(8)?..index.checked_add(1)?.checked_mul(8)?)?;
        let bytes = bytes.try_into().ok()?;
        Some(if self.little { u64::from_le_bytes(bytes) } else { u64::from_be_bytes(bytes) })
    }

    fn bytes_of(&self, word: u64) -> [u8; 8] {
        if self.little { word.to_le_bytes() } else { word.to_be_bytes() }
    }

    /// Places of blocks that can be `ocaml_release`, with their numbers.
    fn records(&self) -> impl Iterator<Item = (usize, Numbers)> + '_ {
        let needle = self.bytes_of(RECORD);
        let data = self.data;
        let places = (0..data.len() / 8).filter(move |at| data.get(8 * at..8 * at + 8) == Some(&needle[..]));
        places.filter_map(|at| {
            let number = |index| self.get(at + index).and_then(untagged);
            let numbers = (number(1)?, number(2)?, number(3)?);
            ((4..=9).contains(&numbers.0) && numbers.1 < 100 && numbers.2 < 100).then_some((at, numbers))
        })
    }

    /// The string whose header is word `at`.
    fn string(&self, at: usize) -> Option<&'d str> {
        let header = self.get(at)?;
        let words = (header.checked_sub(STRING)? >> 10).clamp(0, STRING_WORDS_MAX + 1);
        if header & 0x3ff != STRING || !(1..=STRING_WORDS_MAX).contains(&words) {
            return None;
        }
        let start = (at + 1) * 8;
        let bytes = self.data.get(start..start + words as usize * 8)?;
        let padding = usize::from(*bytes.last()?);
        let text = bytes.get(..bytes.len().checked_sub(1 + padding)?)?;
        std::str::from_utf8(text).ok()
    }

    /// Strings that are a version with one of these numbers.
    fn strings_of(&self, wanted: &BTreeSet<Numbers>) -> BTreeSet<String> {
        if wanted.is_empty() {
            return BTreeSet::new();
        }
        let texts = (0..self.data.len() / 8).filter_map(|at| self.string(at));
        let is_wanted = |text: &&str| self::numbers(text).is_some_and(|numbers| wanted.contains(&numbers));
        texts.filter(is_wanted).map(str::to_owned).collect()
    }
}

/// A small integer as OCaml stores it.
fn untagged(word: u64) -> Option<u32> {
    (word & 1 == 1).then(|| u32::try_from(word >> 1).ok()).flatten()
}

/// The numbers of `5.4.1`, `5.3.0+flambda`, `5.5.0~beta1`.
fn numbers(version: &str) -> Option<Numbers> {
    let end = version.find(|letter: char| !letter.is_ascii_digit() && letter != '.').unwrap_or(version.len());
    let (plain, extra) = version.split_at(end);
    if !(extra.is_empty() || extra.starts_with(['+', '~', '-'])) {
        return None;
    }
    let mut parts = plain.split('.').map(|part| part.parse().ok());
    let numbers = (parts.next()??, parts.next()??, parts.next()??);
    parts.next().is_none().then_some(numbers)
}

/// The runtime named in the first lines of a bytecode program.
pub(super) fn bytecode_runtime(mut file: &File) -> Option<PathBuf> {
    let size = file.metadata().ok()?.len();
    let mut end = [0; 12];
    file.read_exact_at(&mut end, size.checked_sub(12)?).ok()?;
    let mut head = [0; 1024];
    let count = file.read(&mut head).ok()?;
    let runtime = runtime_named(head.get(..count)?, &end)?;
    if runtime.is_absolute() { Some(runtime.to_owned()) } else { find_program(runtime.as_os_str()) }
}

/// The runtime named in a program with this beginning and end.
pub(crate) fn runtime_named<'t>(text: &'t [u8], end: &[u8]) -> Option<&'t Path> {
    if !end.starts_with(BYTECODE) || !text.starts_with(b"#!") {
        return None;
    }
    let words = text.split(|byte| byte.is_ascii_whitespace() || matches!(byte, b'\'' | b'"' | b'!' | 0));
    let named = words.filter_map(|word| std::str::from_utf8(word).ok()).map(Path::new);
    let mut runtimes =
        named.filter(|path| path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"ocamlrun")));
    runtimes.next()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(words: &[u64]) -> Vec<u8> {
        words.iter().flat_map(|word| word.to_le_bytes()).collect()
    }

    fn record(major: u64, minor: u64, patch: u64) -> Vec<u8> {
        words(&[RECORD, major * 2 + 1, minor * 2 + 1, patch * 2 + 1, 1])
    }

    fn string(text: &str) -> Vec<u8> {
        let count = text.len() / 8 + 1;
        let mut bytes = [&words(&[(count as u64) << 10 | STRING])[..], text.as_bytes()].concat();
        let padding = count * 8 - text.len() - 1;
        bytes.resize((count + 1) * 8 - 1, 0);
        bytes.push(padding as u8);
        bytes
    }

    fn found(parts: &[Vec<u8>]) -> Vec<String> {
        linked(&parts.concat(), true)
    }

    #[test]
    fn the_string_and_the_record_must_agree() {
        assert_eq!(found(&[record(5, 4, 1), string("5.4.1")]), ["5.4.1"]);
        assert_eq!(found(&[string("x"), record(5, 3, 0), string("5.3.0+flambda")]), ["5.3.0+flambda"]);
        assert_eq!(found(&[string("5.4.1"), string("between"), record(5, 4, 1)]), ["5.4.1"]);
        assert!(found(&[string("5.4.1")]).is_empty());
        assert!(found(&[record(5, 4, 1), string("5.3.0")]).is_empty());
        assert!(found(&[record(5, 4, 1), b"5.4.1\0\0\0".to_vec()]).is_empty());
        assert!(found(&[record(5, 4, 1), string("5.4.10"), string("5.4.1.1"), string("5.4.1x")]).is_empty());
    }

    #[test]
    fn a_programs_own_text_about_another_release_is_ignored() {
        // A tuple and a string of the program's own; the release stands next to its record.
        let parts = [string("5.2.0"), record(5, 2, 0), string("y"), record(5, 4, 1), string("5.4.1")];
        assert_eq!(found(&parts), ["5.4.1"]);
        let equal = [record(5, 2, 0), string("5.2.0"), record(5, 4, 1), string("5.4.1")];
        assert_eq!(found(&equal).len(), 2);
    }

    #[test]
    fn cut_and_odd_data_is_no_version() {
        let whole = [record(5, 4, 1), string("5.4.1")].concat();
        for end in 0..whole.len() {
            assert!(linked(&whole[..end], true).is_empty(), "{end}");
        }
        assert!(linked(&words(&[RECORD, u64::MAX, 1, 1, 1, u64::MAX]), true).is_empty());
        assert!(found(&[record(5, 4, 1), words(&[STRING | 1 << 10, u64::MAX])]).is_empty());
    }

    #[test]
    fn a_bytecode_runtime_contains_its_version() {
        assert_eq!(from_text(b"\0The OCaml runtime, version 5.3.0\0Usage"), ["5.3.0"]);
        assert_eq!(from_text(b"The OCaml runtime, version 5.0.0\n"), ["5.0.0"]);
        assert!(from_text(b"The OCaml runtime, version %s\n").is_empty());
        assert_eq!(release("5.10.2+x"), Some((5, 10)));
        assert_eq!(release("5.x"), None);
    }

    #[test]
    fn the_runtime_of_bytecode_is_in_its_first_line() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("prog");
        for (head, runtime) in [
            ("#!/usr/bin/ocamlrun\n", Some("/usr/bin/ocamlrun")),
            ("#!/bin/sh\nexec '/opt/bin/ocamlrund' \"$0\" \"$@\"\n", Some("/opt/bin/ocamlrund")),
            ("#!/bin/sh\n", None),
            ("", None),
        ] {
            std::fs::write(&path, format!("{head}codeCaml1999X035")).unwrap();
            let found = bytecode_runtime(&File::open(&path).unwrap());
            assert_eq!(found.as_deref(), runtime.map(Path::new), "{head}");
        }
        std::fs::write(&path, "#!/usr/bin/ocamlrun\nno bytecode").unwrap();
        assert_eq!(bytecode_runtime(&File::open(&path).unwrap()), None);
    }
}
