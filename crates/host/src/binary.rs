//! What a program's binary accepts, learned from its ELF file alone: never by
//! running it. Sources: the note section `.debug-ghc-link-info` that GHC's
//! linker step leaves (options of the link), `.comment` (compiler version), the
//! symbol table. What is not there is "unknown" with a sentence, never a guess.

mod bounded;
pub mod link;
pub mod ocaml;

pub(crate) use bounded::Bounded;

use crate::sandbox::{self, Limits};
use crate::target::{Refused, open_own};
use object::read::elf::{FileHeader, ProgramHeader};
use object::{Architecture, Object, ObjectSection, ObjectSymbol};
use rtscope_model::manifest::Binary;
use rtscope_model::{Rtsopts, Version};
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::Cursor;
use std::os::fd::AsRawFd;
use std::path::Path;
use std::time::Duration;

const LINK_INFO: &str = ".debug-ghc-link-info";
/// Larger sections of these names are not GHC's.
const SECTION_MAX: u64 = 4 << 20;

/// For reading one file.
const LIMITS: Limits = Limits { memory_bytes: 192 << 20, deadline: Duration::from_secs(2) };

/// Everything that was read from one ELF file.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Inspected {
    /// For the manifest.
    pub binary: Binary,
    /// Compiler version, where the file names it.
    pub ghc: Option<Version>,
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
    /// What says where the heap is.
    pub heap: rtscope_heap::Statics,
    /// What counts transactions.
    pub stm: StmSymbols,
    /// Lowest address of the file's loadable segments.
    pub lowest_load: u64,
}

/// Addresses of what counts transactions.
#[derive(Copy, Clone, Eq, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct StmSymbols {
    /// The code of `stmStartTransaction`.
    pub start: Option<u64>,
    /// `max_commits`, 64 bits: attempts that capabilities were given.
    pub max_commits: Option<u64>,
    /// `token_locked`, a word: one is just being given more.
    pub token_locked: Option<u64>,
    /// Bytes of `capabilities`: a pointer to their array has 8, the array itself more.
    pub capabilities_bytes: Option<u64>,
    /// The block of counters of the package `rtscope-stm`.
    pub block: Option<u64>,
}

impl StmSymbols {
    /// The same, moved by where their module was loaded.
    pub fn map(self, moved: impl Fn(u64) -> u64) -> StmSymbols {
        StmSymbols {
            start: self.start.map(&moved),
            max_commits: self.max_commits.map(&moved),
            token_locked: self.token_locked.map(&moved),
            block: self.block.map(&moved),
            ..self
        }
    }
}

impl RuntimeSymbols {
    /// Whether the event buffers can be found.
    pub fn has_buffers(&self) -> bool {
        self.cap_event_buf.is_some() || self.event_buf.is_some()
    }
}

impl Inspected {
    /// Whether this is a GHC program, as far as the file tells.
    pub fn is_ghc(&self) -> bool {
        self.binary.family.as_deref() == Some("ghc")
    }

    /// Whether this is an OCaml program, as far as the file tells.
    pub fn is_ocaml(&self) -> bool {
        self.binary.family.as_deref() == Some("ocaml")
    }

    /// Whether the program ignores or forbids options from the environment. Under
    /// `ignore` it is the command line alone that the runtime leaves to the program.
    pub fn refuses_environment(&self) -> bool {
        matches!(self.binary.rtsopts.as_deref(), Some("none" | "ignoreAll"))
    }
}

/// Reads what the file at `path` says; a file that cannot be read or is no ELF
/// file gives an otherwise empty answer with the reason in `binary.note`.
pub fn inspect(path: &Path) -> Inspected {
    inspect_opened(open_own(path, true), path, |runtime| open_own(runtime, true).ok())
}

/// What a file says that was opened already, or was not, and that words call `path`. `runtime`
/// opens the runtime that a program of OCaml's bytecode names.
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
    match ocaml::bytecode_runtime(&file) {
        Some(named) => bytecode(runtime(&named)),
        None => {
            // Whose file it is decides what is in it.
            let keep = [file.as_raw_fd()];
            let read = sandbox::run(&LIMITS, &keep, || parse(&Bounded::new(file), path));
            read.map_or_else(
                |died| noted(format!("what {} accepts is unknown: {died}", path.display())),
                |done| done.value,
            )
        }
    }
}

/// Reads what an image in memory says.
pub fn inspect_image(image: &[u8], path: &Path) -> Inspected {
    parse(&Bounded::new(Cursor::new(image)), path)
}

/// Reads what the bytes of the file called `path` say.
fn parse<'data, R: object::ReadRef<'data>>(data: R, path: &Path) -> Inspected {
    match object::read::elf::ElfFile64::<object::Endianness, R>::parse(data) {
        Ok(elf) => read_elf(&elf, path),
        Err(_) => noted(format!(
            "{} is not a 64-bit ELF program (a script or wrapper?): what the programs it starts accept is unknown",
            path.display()
        )),
    }
}

/// A program for OCaml's bytecode runtime, which is what runs.
fn bytecode(runtime: Option<File>) -> Inspected {
    let version = runtime.and_then(ocaml::version_of_file);
    let binary = Binary { family: Some("ocaml".to_owned()), version, ..Binary::default() };
    Inspected { binary, ..Inspected::default() }
}

type Elf<'data, R> = object::read::elf::ElfFile64<'data, object::Endianness, R>;

fn read_elf<'data, R: object::ReadRef<'data>>(elf: &Elf<'data, R>, path: &Path) -> Inspected {
    if elf.architecture() != native() {
        return noted(format!("{} is built for {:?}, not for this machine", path.display(), elf.architecture()));
    }
    let endian = elf.endian();
    let lowest_load = elf
        .elf_header()
        .program_headers(endian, elf.data())
        .map(|headers| {
            let loads = headers.iter().filter(|header| header.p_type(endian) == object::elf::PT_LOAD);
            loads.map(|header| header.p_vaddr(endian)).min().unwrap_or(0)
        })
        .unwrap_or(0);
    let mut found = Inspected { elf: true, ..Inspected::default() };
    found.symbols.lowest_load = lowest_load & !0xfff;
    let ocaml = read_symbols(elf, &mut found);
    let comment = section(elf, ".comment").unwrap_or_default();
    let link = section(elf, LINK_INFO).and_then(|bytes| LinkInfo::parse(&bytes));
    found.ghc = ghc_version(&comment).or_else(|| link.as_ref()?.version_from_base());
    if link.is_some() || found.ghc.is_some() || found.symbols.has_buffers() {
        found.binary.family = Some("ghc".to_owned());
    } else {
        // A runtime shows by its names, or in a file that was stripped of all of them.
        found.binary.version = (ocaml || !found.binary.symbols).then(|| ocaml::version(elf)).flatten();
        let is_ocaml = ocaml || found.binary.version.is_some();
        found.binary.family = is_ocaml.then(|| "ocaml".to_owned());
    }
    if let Some(link) = link {
        found.binary.way = link.way;
        found.binary.with_rtsopts = link.with_rtsopts;
        found.binary.rtsopts = Some(link.rtsopts.name().to_owned());
    }
    judge(&mut found);
    found
}

fn native() -> Architecture {
    match std::env::consts::ARCH {
        "x86_64" => Architecture::X86_64,
        "aarch64" => Architecture::Aarch64,
        "riscv64" => Architecture::Riscv64,
        "powerpc64" => Architecture::PowerPc64,
        "s390x" => Architecture::S390x,
        _ => Architecture::Unknown,
    }
}

fn section<'data, R: object::ReadRef<'data>>(elf: &Elf<'data, R>, name: &str) -> Option<Vec<u8>> {
    let section = elf.section_by_name(name)?;
    if section.size() > SECTION_MAX {
        return None;
    }
    section.data().ok().map(<[u8]>::to_vec)
}

/// Fills the addresses; tells whether an OCaml runtime is linked in.
fn read_symbols<'data, R: object::ReadRef<'data>>(elf: &Elf<'data, R>, found: &mut Inspected) -> bool {
    let mut ocaml = false;
    let mut enabled = None;
    // Dynamic symbols survive `strip`, so they do not count as a symbol table.
    found.binary.symbols = elf.symbols().next().is_some();
    for symbol in elf.symbols().chain(elf.dynamic_symbols()) {
        if !symbol.is_definition() {
            continue;
        }
        let Ok(name) = symbol.name() else { continue };
        let place = match base_name(name) {
            "capEventBuf" => &mut found.symbols.cap_event_buf,
            "eventBuf" => &mut found.symbols.event_buf,
            "start_init_elapsed" => &mut found.symbols.start_init_elapsed,
            "n_capabilities" => &mut found.symbols.n_capabilities,
            "enabled_capabilities" => &mut enabled,
            "generations" => &mut found.symbols.heap.generations,
            "oldest_gen" => &mut found.symbols.heap.oldest,
            "nurseries" => &mut found.symbols.heap.nurseries,
            "n_nurseries" => &mut found.symbols.heap.n_nurseries,
            "capabilities" => {
                found.symbols.stm.capabilities_bytes.get_or_insert(symbol.size());
                &mut found.symbols.heap.capabilities
            }
            "stmStartTransaction" => &mut found.symbols.stm.start,
            "max_commits" => &mut found.symbols.stm.max_commits,
            "token_locked" => &mut found.symbols.stm.token_locked,
            "rtscope_stm" => &mut found.symbols.stm.block,
            "mblocks_allocated" => &mut found.symbols.heap.megablocks,
            "n_alloc_blocks" => &mut found.symbols.heap.blocks,
            "free_list_head" => &mut found.symbols.heap.given_back,
            "mblock_high_watermark" => &mut found.symbols.heap.high_watermark,
            "mblock_address_space" => &mut found.symbols.heap.address_space,
            "caml_startup" | "caml_main" | "caml_init_gc" => {
                ocaml = true;
                continue;
            }
            _ => continue,
        };
        place.get_or_insert(symbol.address());
    }
    found.symbols.n_capabilities = found.symbols.n_capabilities.or(enabled);
    found.symbols.heap.n_capabilities = found.symbols.n_capabilities;
    ocaml
}

/// A symbol's name without the suffixes that compilers add to local ones
/// (`start_init_elapsed.lto_priv.0`).
fn base_name(name: &str) -> &str {
    name.split('.').next().unwrap_or(name)
}

/// The link's options as GHC wrote them.
#[derive(Clone, Eq, PartialEq, Debug)]
struct LinkInfo {
    way: Option<String>,
    with_rtsopts: Option<String>,
    rtsopts: Rtsopts,
    base: Option<(u32, u32)>,
}

impl LinkInfo {
    fn parse(bytes: &[u8]) -> Option<LinkInfo> {
        let text = String::from_utf8_lossy(bytes);
        let at = text.rfind(",RtsOpts")?;
        let (before, after) = (text.get(..at)?, text.get(at + ",RtsOpts".len()..)?);
        let rtsopts = match after.split(',').next()? {
            "None" => Rtsopts::None,
            "SafeOnly" => Rtsopts::Some,
            "All" => Rtsopts::All,
            "Ignore" => Rtsopts::Ignore,
            "IgnoreAll" => Rtsopts::IgnoreAll,
            _ => return None,
        };
        // Not a package whose name begins so, as those of this repository do.
        let libraries = text.split("\"-lHSrts").skip(1).filter_map(|rest| rest.split('"').next());
        let runtime = |rest: &&str| match rest.strip_prefix('-') {
            Some(version) => version.starts_with(|first: char| first.is_ascii_digit()),
            None => rest.is_empty() || rest.starts_with('_'),
        };
        let way = libraries.filter(runtime).map(way_of).next();
        let base = between(&text, "\"-lHSbase-", "\"").and_then(|version| {
            let mut parts = version.split(['.', '-']);
            Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
        });
        Some(LinkInfo { way, with_rtsopts: last_just(before), rtsopts, base })
    }

    /// The version through the `base` library that every GHC ships once.
    fn version_from_base(&self) -> Option<Version> {
        let minor = match self.base? {
            (4, base @ 10..=15) => return Some((if base == 15 { 9 } else { 8 }, (base - 10) * 2 % 10, 0)),
            (4, base @ 16..) => (base - 16) * 2 + 2,
            _ => return None,
        };
        Some((9, minor, 0))
    }
}

fn between<'a>(text: &'a str, from: &str, to: &str) -> Option<&'a str> {
    let rest = text.get(text.find(from)? + from.len()..)?;
    rest.get(..rest.find(to)?)
}

/// `-1.0.2_thr`, `_thr_l`, `-1.0.2_thr-ghc9.6.6`, `` → `thr`, `thr_l`, `thr`, ``.
fn way_of(library: &str) -> String {
    let library = library.split("-ghc").next().unwrap_or(library);
    library.split_once('_').map_or(String::new(), |(_, way)| way.to_owned())
}

/// `…,Just "TEXT"` → TEXT unescaped; `…,Nothing` → none.
fn last_just(before: &str) -> Option<String> {
    let quoted = before.strip_suffix('"')?;
    let start = quoted.rfind(",Just \"")? + ",Just \"".len();
    let mut text = String::new();
    let mut letters = quoted.get(start..)?.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '\\' => text.extend(letters.next().map(|escaped| match escaped {
                'n' => '\n',
                't' => '\t',
                other => other,
            })),
            other => text.push(other),
        }
    }
    Some(text)
}

/// `GHC 9.0.2` in `.comment`.
fn ghc_version(comment: &[u8]) -> Option<Version> {
    let text = String::from_utf8_lossy(comment);
    let entry = text.split('\0').find_map(|entry| entry.strip_prefix("GHC "))?;
    let mut parts = entry.trim().split('.').map(|part| part.parse::<u32>().ok());
    Some((parts.next()??, parts.next()??, parts.next().flatten().unwrap_or(0)))
}

/// Decides whether it can log and says what is missing.
fn judge(found: &mut Inspected) {
    if !found.is_ghc() {
        return;
    }
    let binary = &mut found.binary;
    let logging_way = binary.way.as_deref().map(|way| way.split('_').any(|part| matches!(part, "l" | "debug" | "p")));
    binary.can_log = match (found.ghc, logging_way) {
        (Some(version), _) if version >= (9, 4, 0) => Some(true),
        (_, Some(true)) => Some(true),
        (Some(_), Some(false)) => Some(false),
        _ => None,
    };
    binary.note = match (binary.can_log, binary.rtsopts.as_deref()) {
        (Some(false), _) => Some(
            "this program cannot write an eventlog: it was linked by GHC 9.2 or older without it; relink with \
             `-eventlog` (add it to ghc-options), or with GHC 9.4 or later"
                .to_owned(),
        ),
        (_, Some(mode @ ("none" | "ignore" | "ignoreAll"))) => Some(format!(
            "this program takes no runtime options from outside (-rtsopts={mode}), so no eventlog can be switched on; \
             relink with `-rtsopts=some` (GHC's default), or with `-with-rtsopts=-l-ag`"
        )),
        (None, _) => Some(
            "the binary is stripped, so whether it can log is unknown; record an unstripped build, or link with \
             GHC 9.4 or later, where every program can log"
                .to_owned(),
        ),
        _ if !binary.symbols => Some(
            "the binary has no symbols: the log's clock is paired to one microsecond only, and if the program is \
             killed its last buffers are lost; keep the symbol table (no `strip`, no `-s`)"
                .to_owned(),
        ),
        _ => None,
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    fn note(tail: &str, rts: &str) -> Vec<u8> {
        format!("\x0e\0\0\0{{\r\0\0\0\0\0\0GHC link info\0\0\0(([\"-lHSbase-4.15.1.0\",\"-lHSrts{rts}\"],[],[]),[],{tail},False,[],[])\0")
            .into_bytes()
    }

    #[test]
    fn link_options_are_read_from_the_note() {
        let info = LinkInfo::parse(&note("Just \"-N2 \\\"-A8m\",RtsOptsSafeOnly", "-1.0.2_thr")).unwrap();
        assert_eq!(info.with_rtsopts.as_deref(), Some("-N2 \"-A8m"));
        assert_eq!(info.rtsopts, Rtsopts::Some);
        assert_eq!(info.way.as_deref(), Some("thr"));
        assert_eq!(info.version_from_base(), Some((9, 0, 0)));
    }

    #[test]
    fn packages_that_are_called_like_the_runtime_are_not_it() {
        let beside = |rts: &str| {
            let others = format!("cope-stm-0.1.0-F3_l\",\"-lHSrts-like-1.0_p\",\"-lHSrts{rts}");
            LinkInfo::parse(&note("Nothing,RtsOptsAll", &others)).unwrap().way
        };
        assert_eq!(beside("_thr").as_deref(), Some("thr"));
        assert_eq!(beside("-1.0.2_thr_l-ghc9.6.6").as_deref(), Some("thr_l"));
        assert_eq!(beside("").as_deref(), Some(""));
    }

    #[test]
    fn every_mode_and_way_has_its_name() {
        for (text, mode) in
            [("None", "none"), ("SafeOnly", "some"), ("All", "all"), ("Ignore", "ignore"), ("IgnoreAll", "ignoreAll")]
        {
            let info = LinkInfo::parse(&note(&format!("Nothing,RtsOpts{text}"), "_thr_l-ghc9.0.2")).unwrap();
            assert_eq!(info.rtsopts.name(), mode);
            assert_eq!(info.with_rtsopts, None);
            assert_eq!(info.way.as_deref(), Some("thr_l"));
        }
        assert_eq!(LinkInfo::parse(&note("Nothing,RtsOptsNew", "")), None);
        assert_eq!(LinkInfo::parse(b"cut"), None);
    }

    #[test]
    fn base_gives_the_version_where_the_comment_does_not() {
        let of = |base| {
            LinkInfo { way: None, with_rtsopts: None, rtsopts: Rtsopts::Some, base: Some(base) }.version_from_base()
        };
        assert_eq!(of((4, 12)), Some((8, 4, 0)));
        assert_eq!(of((4, 14)), Some((8, 8, 0)));
        assert_eq!(of((4, 15)), Some((9, 0, 0)));
        assert_eq!(of((4, 18)), Some((9, 6, 0)));
        assert_eq!(of((4, 20)), Some((9, 10, 0)));
        assert_eq!(of((3, 20)), None);
    }

    fn judged(ghc: Option<Version>, way: Option<&str>, rtsopts: Option<&str>) -> Inspected {
        let binary = Binary {
            family: Some("ghc".into()),
            way: way.map(Into::into),
            rtsopts: rtsopts.map(Into::into),
            symbols: true,
            ..Binary::default()
        };
        let mut found = Inspected { binary, ghc, ..Inspected::default() };
        judge(&mut found);
        found
    }

    #[test]
    fn what_can_log_follows_version_and_way() {
        assert_eq!(judged(Some((9, 0, 2)), Some("thr_l"), Some("some")).binary.can_log, Some(true));
        assert_eq!(judged(Some((9, 0, 2)), Some("thr"), Some("some")).binary.can_log, Some(false));
        assert_eq!(judged(Some((9, 6, 6)), Some("thr"), Some("some")).binary.can_log, Some(true));
        assert_eq!(judged(Some((9, 6, 6)), None, None).binary.can_log, Some(true));
        assert_eq!(judged(Some((9, 0, 2)), None, None).binary.can_log, None);
        assert!(judged(Some((9, 6, 6)), Some("thr"), Some("none")).binary.note.unwrap().contains("-rtsopts=none"));
        assert!(judged(Some((9, 0, 2)), Some("thr"), Some("all")).binary.note.unwrap().contains("-eventlog"));
    }

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

    #[test]
    fn suffixes_of_local_symbols_are_dropped() {
        assert_eq!(base_name("start_init_elapsed.lto_priv.0"), "start_init_elapsed");
        assert_eq!(ghc_version(b"GCC: (Debian)\0GHC 9.10.3\0"), Some((9, 10, 3)));
        assert_eq!(ghc_version(b"GCC: GHC 9\0"), None);
    }
}
