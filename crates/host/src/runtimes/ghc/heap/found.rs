//! Finds the heap of a live process or a core file, and checks that this reader knows its
//! layout. Owns what is refused and why. Refuses to interpret a block.

use super::source::{Pages, Source};
use super::touched::{self, Untouched, View};
use crate::binary::{self, Inspected, RuntimeSymbols};
use crate::symbols::elf;
use crate::target::core_file::CoreFile;
use crate::target::mappings::{self, Mapping};
use crate::target::memory::Memory;
use crate::target::{Process, ProcessFile, Refused, open_own, open_target};
use rtscope_heap::closure;
use rtscope_heap::descriptor::{BLOCK, MEGABLOCK};
use rtscope_heap::ledger::Residency;
use rtscope_heap::{ScanInput, Space, Statics};
use rtscope_model::{Version, units};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs::File;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};

/// Where the runtime reserves addresses if it can.
const USUAL_START: u64 = 0x42_0000_0000;
/// Versions whose sources lay out everything that is read in the same way.
const OLDEST: (u32, u32) = (8, 10);
const NEWEST: (u32, u32) = (9, 14);

/// Why a heap, or counts of transactions, cannot be read. Texts begin with the target: `process 12`, `core.12`.
#[derive(Debug, thiserror::Error, Serialize, Deserialize)]
pub enum Refusal {
    /// There is no such process.
    #[error("there is no process {0} (any more)")]
    Gone(u32),
    /// It belongs to another user.
    #[error("the memory of process {0} may not be read")]
    NotPermitted(u32),
    /// It runs another program, which is given.
    #[error("{0} is not a Haskell program compiled by GHC ({1})")]
    NotGhc(String, String),
    /// The heap layout of this version is not known.
    #[error("{0} was built by GHC {major}.{minor}, whose heap this rtscope does not know (8.10 to 9.14)", major = .1.0, minor = .1.1)]
    UnknownVersion(String, Version),
    /// Its objects have longer headers.
    #[error("{0} was built for profiling, whose objects this rtscope does not read")]
    Profiled(String),
    /// The runtime has not started, or was built without the large address space.
    #[error("{0} has no heap where GHC's runtime reserves one")]
    NoHeap(String),
    /// It lacks the package, and the runtime's own count cannot be read; with the reason for each.
    #[error("the transactions of {0} cannot be counted: {1}")]
    NoCounts(String, String),
    /// The file is not a core file, or lacks what is needed.
    #[error("the core file {0} cannot be read: {1}")]
    Core(
        String,
        #[source]
        #[serde(with = "crate::sandbox::error")]
        io::Error,
    ),
    /// Reading failed for another reason.
    #[error("the memory of {0} cannot be read: {1}")]
    Io(
        String,
        #[source]
        #[serde(with = "crate::sandbox::error")]
        io::Error,
    ),
}

/// A heap that can be read.
#[derive(Debug)]
pub struct HeapTarget {
    /// Its description: `process 12`.
    pub of: String,
    /// The compiler, if its files name it.
    pub version: Option<Version>,
    pub memory: Source,
    /// The present range of its heap.
    pub space: Space,
    /// The runtime's variables, as far as symbols show them.
    pub statics: Statics,
    pub mappings: Vec<Mapping>,
    /// The parts of `space` that contain only zeros.
    pub(super) untouched: Untouched,
    pub(super) reserved: Range<u64>,
    pub(super) files: Files,
}

#[derive(Debug)]
pub(super) struct Files {
    /// The program's own path, as in its mappings.
    pub program: String,
    pub inspected: Inspected,
    pub place: FileSource,
}

#[derive(Debug)]
pub(super) enum FileSource {
    Process(Process),
    /// At the paths in the mappings, except the program's own file, which is here.
    Core(PathBuf),
}

impl Files {
    fn open(&self, mapping: &Mapping) -> Result<File, Refused> {
        let own = mapping.name == self.program;
        match &self.place {
            FileSource::Core(executable) if own => open_own(executable, true),
            FileSource::Core(_) => open_own(Path::new(&mapping.name), true),
            FileSource::Process(process) if own => open_target(process, ProcessFile::Executable),
            FileSource::Process(process) => {
                mapping.file().map_or(Err(Refused::NotOrdinary), |file| open_target(process, file))
            }
        }
    }
}

impl HeapTarget {
    /// Finds the heap of a process; [`HeapTarget::bound`] then finds its parts in memory.
    pub(in crate::runtimes::ghc) fn find(process: &Process) -> Result<HeapTarget, Refusal> {
        let pid = process.pid();
        let mappings = process.mappings().map_err(|source| refusal(pid, source))?;
        let program = process.link("exe").map_err(|source| refusal(pid, source))?.to_string_lossy().into_owned();
        let source = Source::Live(process.clone().into());
        let files =
            Files { program, inspected: binary::inspect_process(process), place: FileSource::Process(process.clone()) };
        let found = HeapTarget::of(format!("process {pid}"), source, mappings, files);
        found.map_err(|refused| match refused {
            Refusal::Io(_, source) => refusal(pid, source),
            other => other,
        })
    }

    /// Finds the heap in a core file; the program and its libraries have to be where they
    /// were, or `executable` has to be given.
    pub(super) fn in_core(path: &Path, executable: Option<&Path>) -> Result<HeapTarget, Refusal> {
        let of = path.display().to_string();
        let mut core = CoreFile::open(path).map_err(|source| Refusal::Core(of.clone(), source))?;
        let mappings = core.mappings().to_vec();
        let program = mappings
            .iter()
            .find(|mapping| mapping.name.starts_with('/'))
            .map_or(String::new(), |first| first.name.clone());
        let executable = executable.map_or_else(|| PathBuf::from(&program), Path::to_path_buf);
        core.open_files(&program, &executable);
        let files = Files { program, inspected: binary::inspect(&executable), place: FileSource::Core(executable) };
        let mut target = HeapTarget::of(of, Source::Core(core), mappings, files)?;
        target.bound().map_err(|source| target.failed(source))?;
        Ok(target)
    }

    fn of(of: String, memory: Source, mappings: Vec<Mapping>, files: Files) -> Result<HeapTarget, Refusal> {
        let statics = statics(&mappings, &files);
        is_known(&of, &files.program, &files.inspected, &statics)?;
        let (reserved, space) = match found(&memory, &statics, &mappings) {
            Ok(Some((reserved, space))) if !space.committed.is_empty() => (reserved, space),
            Ok(_) => return Err(Refusal::NoHeap(of)),
            Err(source) => return Err(Refusal::Io(of, source)),
        };
        let (version, untouched) = (files.inspected.compiler, Untouched::default());
        Ok(HeapTarget { of, version, memory, space, untouched, statics, mappings, reserved, files })
    }

    /// Whether its runtime is the threaded one; `None`: not known.
    pub(in crate::runtimes::ghc) fn is_threaded(&self) -> Option<bool> {
        self.files.inspected.binary.way.as_ref().map(|way| way.split('_').any(|part| part == "thr"))
    }

    /// Its memory, for readers of blocks and objects.
    pub(super) fn view(&self) -> View<'_> {
        View { memory: &self.memory, untouched: &self.untouched }
    }

    /// Reduces `space` to what is in memory, and a bounded part of the rest.
    pub(super) fn bound(&mut self) -> io::Result<()> {
        (self.space, self.untouched) = touched::bound(&self.memory, &self.space)?;
        Ok(())
    }

    pub fn is_live(&self) -> bool {
        matches!(self.memory, Source::Live(_))
    }

    /// Parts of its memory that are missing, one sentence each.
    pub fn missing(&self) -> Option<String> {
        let Source::Core(core) = &self.memory else { return None };
        let bytes = core.missing_bytes();
        (bytes > 0)
            .then(|| format!("The core file is cut short: {} that it should hold are missing.", units::bytes(bytes)))
    }

    pub(super) fn failed(&self, source: io::Error) -> Refusal {
        match &self.memory {
            // While a process ends, its files in /proc exist and are empty.
            Source::Live(memory) if self.is_there().is_err() => Refusal::Gone(memory.process.pid()),
            Source::Live(memory) => refusal(memory.process.pid(), source),
            Source::Core(_) => Refusal::Core(self.of.clone(), source),
        }
    }

    /// Finds its mappings and its heap again: it runs on.
    pub(super) fn look_again(&mut self) -> io::Result<()> {
        if let Source::Live(memory) = &self.memory {
            self.mappings = memory.process.mappings()?;
            self.space = space(&self.mappings, &self.reserved);
            self.bound()?;
        }
        Ok(())
    }

    /// Finds out which parts of its mappings are in memory: the system walks all page tables for it. `heap_bytes` were
    /// those of the heap when its blocks were read: an allocation area may be filled for the first time meanwhile.
    pub(super) fn measure(&mut self, mut heap_bytes: u64) -> io::Result<()> {
        let Source::Live(memory) = &self.memory else { return Ok(()) };
        self.mappings = mappings::parse(&memory.process.text("smaps")?);
        for mapping in self.mappings.iter_mut().filter(|mapping| self.reserved.contains(&mapping.range.start)) {
            mapping.rss_bytes = Some(std::mem::take(&mut heap_bytes));
        }
        Ok(())
    }

    /// Whether there still is a process whose memory can be read.
    pub(super) fn is_there(&self) -> io::Result<()> {
        let gone = |error: &io::Error| error.raw_os_error() == Some(libc::ESRCH);
        let first = self.space.megablocks().next().map(|address| self.memory.read_u64(address));
        first.and_then(Result::err).filter(gone).map_or(Ok(()), Err)
    }

    /// Total resident bytes of its mappings; `None`: no source has them.
    pub fn rss_bytes(&self) -> Option<u64> {
        let known = self.mappings.iter().any(|mapping| mapping.rss_bytes.is_some());
        known.then(|| self.mappings.iter().filter_map(|mapping| mapping.rss_bytes).sum())
    }

    /// The mappings that do not belong to its heap.
    pub fn outside(&self) -> impl Iterator<Item = &Mapping> {
        self.mappings.iter().filter(|mapping| !self.reserved.contains(&mapping.range.start))
    }

    /// What is read in addition to its heap: tables and code, and its data as far as it was
    /// written. Unwritten data is as in the file, which has no address of the heap.
    pub(super) fn scan_input(&self, threads: usize) -> io::Result<ScanInput> {
        let code = self.of_files().map(|mapping| mapping.range.clone()).collect();
        let own = self.data();
        let Source::Live(memory) = &self.memory else { return Ok(ScanInput { threads, code, data: own.collect() }) };
        let pages = Pages::open(&memory.process)?;
        let mut data: Vec<Range<u64>> = Vec::new();
        for range in own {
            pages.each(&range, |page, entry| {
                let written = entry & Pages::PRESENT != 0 && entry & Pages::OF_FILE == 0;
                if written {
                    touched::add(&mut data, page);
                }
            })?;
        }
        Ok(ScanInput { threads, code, data })
    }

    /// Data of the program and its libraries, including zero-initialised data: it lies directly
    /// after the rest.
    fn data(&self) -> impl Iterator<Item = Range<u64>> {
        let mut previous_end = None;
        self.mappings.iter().filter_map(move |mapping| {
            let of_file = mapping.name.starts_with('/');
            let goes_on = mapping.name.is_empty() && previous_end == Some(mapping.range.start);
            previous_end = of_file.then_some(mapping.range.end);
            (mapping.writable && (of_file || goes_on) && !self.reserved.contains(&mapping.range.start))
                .then(|| mapping.range.clone())
        })
    }

    pub(super) fn of_files(&self) -> impl Iterator<Item = &Mapping> {
        self.mappings.iter().filter(|mapping| mapping.name.starts_with('/'))
    }

    /// Names of places in its code, as far as its files have any.
    pub fn names(&self, addresses: &BTreeSet<u64>) -> HashMap<u64, String> {
        let mut asked: BTreeMap<&str, (&Mapping, Vec<elf::Asked>)> = BTreeMap::new();
        let mut data = BTreeSet::new();
        for mapping in self.of_files() {
            let here = addresses.range(mapping.range.clone());
            let place = |at: &u64| (at - mapping.range.start + mapping.offset, *at);
            data.extend(here.clone().filter(|_| mapping.writable).copied());
            asked.entry(&mapping.name).or_insert_with(|| (mapping, Vec::new())).1.extend(here.map(place));
        }
        let mut names = HashMap::new();
        for (path, (mapping, mut asked)) in asked.into_iter().filter(|(_, (_, asked))| !asked.is_empty()) {
            asked.sort_unstable();
            let module = path.rsplit('/').next().unwrap_or(path);
            let file = self.files.open(mapping).ok();
            let found = file.and_then(|file| elf::look_up(file, module, &asked).ok()).unwrap_or_default();
            for (offset, at) in asked {
                let named = found.names.iter().find(|named| (named.from..named.to).contains(&offset));
                let place = format!("{module}+{offset:#x}");
                // A place without a symbol is named by its location.
                let symbol = named.map(|named| named.name.clone()).filter(|name| *name != place);
                let name = match symbol {
                    _ if data.contains(&at) => format!("data of {place}"),
                    Some(name) => name,
                    None => closure::constructor_name(&self.memory, at).unwrap_or(place),
                };
                names.insert(at, name);
            }
        }
        names
    }

    /// Which blocks of the heap are in memory, and their total bytes; for a core file, all
    /// that it has.
    pub(super) fn residency(&self) -> io::Result<(Residency, u64)> {
        let Source::Live(memory) = &self.memory else { return Ok((Residency::default(), 0)) };
        let pages = Pages::open(&memory.process)?;
        let (mut residency, mut bytes) = (Residency::default(), 0);
        for range in &self.space.committed {
            pages.each(range, |page, entry| {
                // A page of zeros that was only read is present, but takes no memory.
                let exists = entry & (Pages::ITS_OWN | Pages::OF_FILE) != 0;
                if entry & Pages::PRESENT == 0 || !exists {
                    page.step_by(BLOCK as usize).for_each(|block| residency.remove(block));
                } else {
                    bytes += page.end - page.start;
                }
            })?;
        }
        Ok((residency, bytes))
    }
}

/// Checks that the known heap layouts apply to this program.
fn is_known(of: &str, program: &str, inspected: &Inspected, statics: &Statics) -> Result<(), Refusal> {
    let of = of.to_owned();
    if !inspected.is_ghc() && statics.generations.is_none() {
        return Err(Refusal::NotGhc(of, program.to_owned()));
    }
    if let Some(version) = inspected.compiler.filter(|version| !(OLDEST..=NEWEST).contains(&(version.0, version.1))) {
        return Err(Refusal::UnknownVersion(of, version));
    }
    if inspected.binary.way.as_deref().is_some_and(|way| way.split('_').any(|part| part == "p")) {
        return Err(Refusal::Profiled(of));
    }
    Ok(())
}

/// The runtime's variables: in the program itself, or in the runtime's library.
fn statics(mappings: &[Mapping], files: &Files) -> Statics {
    let moved = |symbols: &RuntimeSymbols, name: &str| {
        let loaded = mappings.iter().filter(|mapping| mapping.name == name).map(|mapping| mapping.range.start).min()?;
        let bias = loaded.wrapping_sub(symbols.lowest_load);
        symbols.heap.generations.is_some().then(|| symbols.moved(bias).heap)
    };
    let library = || {
        let mapping = mappings.iter().find(|mapping| mapping.name.contains("/libHSrts"))?;
        let inspected = binary::inspect_opened(files.open(mapping), Path::new(&mapping.name), |_| None);
        moved(&inspected.symbols, &mapping.name)
    };
    moved(&files.inspected.symbols, &files.program).or_else(library).unwrap_or_default()
}

pub(in crate::runtimes::ghc) fn refusal(pid: u32, source: io::Error) -> Refusal {
    match (source.kind(), source.raw_os_error()) {
        (io::ErrorKind::NotFound, _) | (_, Some(libc::ESRCH)) => Refusal::Gone(pid),
        (io::ErrorKind::PermissionDenied, _) => Refusal::NotPermitted(pid),
        _ => Refusal::Io(format!("process {pid}"), source),
    }
}

/// The addresses that a runtime reserved, and its heap in them; `None` if it reserved none.
pub fn found(memory: &impl Memory, statics: &Statics, mappings: &[Mapping]) -> io::Result<Option<(Range<u64>, Space)>> {
    let reserved = reserved(memory, statics, mappings)?;
    Ok(reserved.map(|reserved| (reserved.clone(), space(mappings, &reserved))))
}

/// The addresses that the runtime reserved; `None` if it reserved none.
fn reserved(memory: &impl Memory, statics: &Statics, mappings: &[Mapping]) -> io::Result<Option<Range<u64>>> {
    if let Some(space) = statics.address_space {
        let (begin, end) =
            (memory.read_u64(space)?, memory.read_u64(space.checked_add(8).ok_or(io::ErrorKind::InvalidData)?)?);
        return Ok((begin != 0 && begin < end).then_some(begin..end));
    }
    // Without symbols: the contiguous mappings from the usual start of reservations.
    let first = mappings.iter().position(|mapping| mapping.range.start == USUAL_START && mapping.is_anonymous());
    let Some(first) = first else { return Ok(None) };
    let mut end = USUAL_START;
    for mapping in mappings.iter().skip(first) {
        if mapping.range.start != end || !mapping.is_anonymous() {
            break;
        }
        end = mapping.range.end;
    }
    Ok(Some(USUAL_START..end))
}

/// Whole writable megablocks.
pub(super) fn space(mappings: &[Mapping], reserved: &Range<u64>) -> Space {
    let mut committed: Vec<Range<u64>> = Vec::new();
    for mapping in mappings.iter().filter(|mapping| mapping.writable && mapping.is_anonymous()) {
        // A mapping that begins in the last megablock of all addresses has no whole one.
        let first = mapping.range.start.max(reserved.start).checked_next_multiple_of(MEGABLOCK);
        let begin = first.unwrap_or(u64::MAX).max(committed.last().map_or(0, |last| last.end));
        let end = mapping.range.end.min(reserved.end) & !(MEGABLOCK - 1);
        if begin < end {
            touched::add(&mut committed, begin..end);
        }
    }
    Space { committed }
}

#[cfg(test)]
mod tests {
    use super::super::take::{Ask, Failed, take};
    use super::*;

    const MAPS: &str = "\
00400000-00500000 r-xp 00000000 fe:00 12 /opt/program
4200000000-4200300000 rw-p 00000000 00:00 0 
4200300000-4200400000 ---p 00000000 00:00 0 
4200400000-4200500000 rw-p 00000000 00:00 0 
4200500000-14200000000 ---p 00000000 00:00 0 
7f0100000000-7f0100200000 rw-p 00000000 00:00 0 
";

    #[test]
    fn committed_megablocks_lie_in_the_reservation() {
        let mappings = mappings::parse(MAPS);
        struct Nothing;
        impl Memory for Nothing {
            fn read(&self, _: u64, _: &mut [u8]) -> io::Result<()> {
                Err(io::ErrorKind::UnexpectedEof.into())
            }
        }
        let reserved = reserved(&Nothing, &Statics::default(), &mappings).unwrap().unwrap();
        assert_eq!(reserved, 0x42_0000_0000..0x142_0000_0000);
        let space = space(&mappings, &reserved);
        assert_eq!(space.committed, [0x42_0000_0000..0x42_0030_0000, 0x42_0040_0000..0x42_0050_0000]);
        assert_eq!(space.megablocks().count(), 4);
        assert!(space.contains(0x42_002f_ffff) && !space.contains(0x42_0030_0000));
    }

    /// Words at addresses.
    struct SparseMemory(Vec<(u64, u64)>);

    impl Memory for SparseMemory {
        fn read(&self, address: u64, buffer: &mut [u8]) -> io::Result<()> {
            let word = self.0.iter().find(|word| word.0 == address).ok_or(io::ErrorKind::UnexpectedEof)?;
            buffer.copy_from_slice(&word.1.to_ne_bytes());
            Ok(())
        }
    }

    #[test]
    fn a_forged_reservation_overflows_nothing_and_takes_nothing_that_is_not_mapped() {
        let mappings = mappings::parse(MAPS);
        let found = |at: u64, begin: u64, end: u64| {
            let memory = SparseMemory(vec![(at, begin), (at.saturating_add(8), end)]);
            let statics = Statics { address_space: Some(at), ..Statics::default() };
            found(&memory, &statics, &mappings).ok().flatten().map(|(_, space)| space.megablocks().count())
        };
        for begin in [u64::MAX - 1, u64::MAX - MEGABLOCK, u64::MAX - 2 * MEGABLOCK, 1 << 63] {
            assert_eq!(found(0x1000, begin, u64::MAX), Some(0), "{begin:#x}");
        }
        assert_eq!(found(0x1000, 1, u64::MAX), Some(4 + 2));
        assert_eq!(found(u64::MAX - 3, 1, u64::MAX), None);
        assert_eq!(found(0x1000, u64::MAX, 1), None);
    }

    #[test]
    fn other_versions_and_ways_are_refused() {
        let found = |family: Option<&str>, way: &str, ghc| {
            let mut inspected = Inspected { compiler: Some(ghc), ..Inspected::default() };
            (inspected.binary.family, inspected.binary.way) = (family.map(str::to_owned), Some(way.to_owned()));
            is_known("process 1", "/opt/a", &inspected, &Statics::default())
        };
        assert!(found(Some("ghc"), "thr_l", (9, 0, 2)).is_ok() && found(Some("ghc"), "v", (9, 14, 1)).is_ok());
        assert!(matches!(found(Some("ghc"), "thr_p", (9, 6, 6)), Err(Refusal::Profiled(_))));
        assert!(matches!(found(None, "v", (9, 6, 6)), Err(Refusal::NotGhc(..))));
        for version in [(8, 8, 4), (9, 16, 1), (10, 0, 1)] {
            let refused = found(Some("ghc"), "v", version).unwrap_err().to_string();
            assert!(refused.contains("whose heap this rtscope does not know"), "{refused}");
        }
    }

    #[test]
    fn a_process_that_is_no_ghc_program_is_refused() {
        let host = crate::system::procfs::Host::default();
        let ask = Ask { stop: None, objects: None };
        let refused = take(&host, std::process::id(), &ask).unwrap_err();
        assert!(matches!(refused, Failed::Refused(Refusal::NotGhc(..))), "{refused}");
        assert!(matches!(take(&host, 1 << 30, &ask), Err(Failed::Refused(Refusal::Gone(_)))));
    }
}
