//! The part of a GHC eventlog that its program has not written yet. A program
//! ended by SIGTERM, SIGKILL or the out-of-memory killer writes none of its
//! buffers (2 MiB per capability), so they are copied out of its memory while
//! it runs, without stopping it.
//!
//! Layout (GHC 9.0 to 9.10, checked live on 9.0.2, 9.6.6 and 9.10.3 where
//! installed): `capEventBuf` points to an array of 40-byte entries, `eventBuf`
//! is one: begin u64, pos u64, marker u64, size u64, capno u16. `[begin, pos)`
//! starts with the block's open marker. A copy counts only if the entry and
//! the marker's time are equal before and after it: a flush in between
//! resets both. The runtime writes events byte by byte and moves `pos` *before*
//! each byte, so a copy may end inside an event and its last byte may be stale
//! (the machine code of 9.0.2: a thread preempted between the two stores). The
//! next copy takes the end of the last one again and continues from there.
//!
//! Two slot files per buffer alternate between blocks, so that a kill at any
//! moment leaves at least the previous block, and disk use is bounded.

use crate::binary::{Inspected, RuntimeSymbols, inspect_opened, inspect_process_of};
use crate::capture::folder::Folder;
use crate::target::mappings::Mapping;
use crate::target::memory::Memory;
use crate::target::{Process, open_target};
use rtscope_model::{ClockMap, ClockMethod};
use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

const ENTRY_BYTES: u64 = 40;
const MARKER_BYTES: u64 = 24;
/// The runtime's buffers are 2 MiB; anything far above is not one.
const BUFFER_MAX: u64 = 16 << 20;
/// More capabilities than any machine has.
const CAPABILITIES_MAX: u32 = 4096;
const GLOBAL_CAPABILITY: u16 = u16::MAX;
/// Between the runtime's two clock reads.
const ORIGIN_ERROR_NS: u64 = 1_000;
/// Bytes copied again the next time: `pos` has passed them, but they may not be written yet.
const UNSETTLED_BYTES: u64 = 8;

/// Finds the runtime's variables in a live process: in its executable, else in a mapped `libHSrts`
/// library, as run-time addresses. `None` if symbols are gone or it is not a GHC program.
pub fn locate(process: &Process) -> Option<RuntimeSymbols> {
    let mut symbols = Modules::of(process)?.symbols();
    symbols.find_map(|(_, symbols)| {
        symbols.filter(|symbols| symbols.has_buffers() || symbols.start_init_elapsed.is_some())
    })
}

/// The files in a live process that can contain the runtime or a part of rtscope: its
/// executable first.
pub(crate) struct Modules {
    process: Process,
    executable: PathBuf,
    mappings: Vec<Mapping>,
}

impl Modules {
    pub(crate) fn of(process: &Process) -> Option<Modules> {
        let (mappings, executable) = (process.mappings().ok()?, process.link("exe").ok()?);
        Some(Modules { process: process.clone(), executable, mappings })
    }

    /// The facts of each file, and its symbols as run-time addresses; `None` if it is not mapped.
    pub(crate) fn symbols(self) -> impl Iterator<Item = (Inspected, Option<RuntimeSymbols>)> {
        // `maps` was read as text, so bytes that are not text were replaced there too.
        let mut names = vec![self.executable.to_string_lossy().into_owned()];
        // Also matches `libHSrtscope-stm`.
        for mapping in self.mappings.iter().filter(|mapping| mapping.name.contains("/libHSrts")) {
            if !names.contains(&mapping.name) {
                names.push(mapping.name.clone());
            }
        }
        names.into_iter().enumerate().map(move |(index, name)| {
            let first = lowest(&self.mappings, &name);
            let inspected = match first.and_then(Mapping::file) {
                _ if index == 0 => inspect_process_of(&self.process, Some(self.executable.clone())),
                // A library names no other file.
                Some(file) => inspect_opened(open_target(&self.process, file), Path::new(&name), |_| None),
                None => Inspected::default(),
            };
            let bias = first.map(|first| first.range.start.wrapping_sub(inspected.symbols.lowest_load));
            let symbols = bias.map(|bias| inspected.symbols.moved(bias));
            (inspected, symbols)
        })
    }
}

/// The lowest mapping of a file.
fn lowest<'m>(mappings: &'m [Mapping], name: &str) -> Option<&'m Mapping> {
    mappings.iter().filter(|mapping| mapping.name == name).min_by_key(|mapping| mapping.range.start)
}

/// Reads the origin of the log's clock on `CLOCK_MONOTONIC`, accurate to the runtime's
/// two clock reads. It is set before the runtime opens its log; `forkProcess` leaves 0
/// in the child, whose stamps are `CLOCK_MONOTONIC` itself (seen on 9.0.2).
pub fn clock(memory: &impl Memory, located: &RuntimeSymbols) -> Option<ClockMap> {
    let origin = memory.read_u64(located.start_init_elapsed?).ok()?;
    (origin <= crate::system::clock::monotonic().0).then(|| ClockMap {
        offset_ns: i64::try_from(origin).unwrap_or(i64::MAX),
        error_ns: Some(ORIGIN_ERROR_NS),
        method: ClockMethod::RuntimeStatic,
    })
}

/// Whether the runtime logs, to any destination. It has buffers in any case, and from 9.4 on begins a
/// block in each; only if it logs does anything follow the block's marker.
pub fn is_logging<M: Memory>(memory: M, located: RuntimeSymbols) -> bool {
    #[derive(Default)]
    struct Events(bool);
    impl Take for Events {
        fn had(&self, _: Block) -> u64 {
            0
        }

        fn take(&mut self, _: Block, _: u64, bytes: &[u8]) -> io::Result<()> {
            self.0 |= bytes.len() as u64 > MARKER_BYTES;
            Ok(())
        }
    }
    let mut events = Events::default();
    Buffers::new(memory, located).copy(&mut events).is_ok() && events.0
}

#[derive(Copy, Clone, Eq, PartialEq, Debug)]
struct Entry {
    begin: u64,
    used: u64,
    marker: u64,
    capability: u16,
}

impl Entry {
    /// Parses an entry; `None` if it is not a buffer in use.
    fn parse(bytes: &[u8; ENTRY_BYTES as usize]) -> Option<Entry> {
        let word = |at: usize| Some(u64::from_ne_bytes(bytes.get(at..at + 8)?.try_into().ok()?));
        let (begin, pos, marker, size) = (word(0)?, word(8)?, word(16)?, word(24)?);
        let capability = u16::from_ne_bytes(bytes.get(32..34)?.try_into().ok()?);
        let used = pos.checked_sub(begin)?;
        let sane = begin != 0 && used <= size && size <= BUFFER_MAX;
        sane.then_some(Entry { begin, used, marker, capability })
    }
}

/// A block in a buffer: another block has another place or opening time.
#[derive(Copy, Clone, Eq, PartialEq, Debug)]
pub struct Block {
    /// Capability; 65535 for the global buffer.
    pub capability: u16,
    /// Its address in memory.
    pub begin: u64,
    /// The time of its marker, on the log's clock.
    pub opened: u64,
}

/// The consumer of copies.
pub trait Take {
    /// How many bytes of this block it has.
    fn had(&self, block: Block) -> u64;

    /// Takes bytes of a block; the first belongs at `from`. They overlap bytes that it already has,
    /// which may have changed. Errors: it cannot store them.
    fn take(&mut self, block: Block, from: u64, bytes: &[u8]) -> io::Result<()>;
}

/// The buffers of one process.
#[derive(Debug)]
pub struct Buffers<M> {
    memory: M,
    located: RuntimeSymbols,
    scratch: Vec<u8>,
}

/// Copies one process's buffers into slot files.
#[derive(Debug)]
pub struct Copier<M> {
    buffers: Buffers<M>,
    slots: Slots,
}

impl<M: Memory> Copier<M> {
    /// A copier over `memory`, writing slot files of process `pid` in `folder`.
    pub fn new(memory: M, located: RuntimeSymbols, folder: &Folder, pid: u32) -> Self {
        let slots = Slots { folder: folder.clone(), pid, slots: HashMap::new() };
        Copier { buffers: Buffers::new(memory, located), slots }
    }

    /// Copies what is new in every buffer; returns the bytes written. A buffer
    /// that cannot be read (flushed meanwhile, process gone) is left for the
    /// next time. Errors: the slot file cannot be written.
    pub fn copy(&mut self) -> io::Result<u64> {
        self.buffers.copy(&mut self.slots)
    }
}

impl<M: Memory> Buffers<M> {
    /// The buffers at `located` in `memory`.
    pub fn new(memory: M, located: RuntimeSymbols) -> Self {
        Buffers { memory, located, scratch: Vec::new() }
    }

    /// Passes what is new in every buffer to `taker`; returns how many bytes are new. A
    /// buffer that cannot be read is left for the next time. Errors: those of `taker`.
    pub fn copy(&mut self, taker: &mut dyn Take) -> io::Result<u64> {
        let mut new = 0;
        if let Some(address) = self.located.event_buf {
            new += self.copy_buffer(address, GLOBAL_CAPABILITY, taker)?;
        }
        let array = self.located.cap_event_buf.and_then(|at| self.memory.read_u64(at).ok()).unwrap_or(0);
        if array == 0 {
            return Ok(new);
        }
        let count = self.located.n_capabilities.and_then(|at| self.memory.read_u32(at).ok());
        let count = count.unwrap_or(CAPABILITIES_MAX).min(CAPABILITIES_MAX) as u16;
        for capability in 0..count {
            let address = array.wrapping_add(u64::from(capability) * ENTRY_BYTES);
            if self.entry(address, capability).is_none() {
                break;
            }
            new += self.copy_buffer(address, capability, taker)?;
        }
        Ok(new)
    }

    fn entry(&self, address: u64, capability: u16) -> Option<Entry> {
        let mut bytes = [0; ENTRY_BYTES as usize];
        self.memory.read(address, &mut bytes).ok()?;
        Entry::parse(&bytes).filter(|entry| entry.capability == capability)
    }

    /// The time in the open marker at the start of a buffer; `None` if there is
    /// no open marker (never used, or just being written out).
    fn open_marker(&self, begin: u64) -> Option<u64> {
        let mut bytes = [0; MARKER_BYTES as usize];
        self.memory.read(begin, &mut bytes).ok()?;
        let (tag, rest) = bytes.split_at(2);
        let (time, rest) = rest.split_at(8);
        let (size, _) = rest.split_at(4);
        (tag == [0, 18] && size == [0; 4]).then(|| u64::from_be_bytes(time.try_into().unwrap_or_default()))
    }

    fn copy_buffer(&mut self, address: u64, capability: u16, taker: &mut dyn Take) -> io::Result<u64> {
        let Some(entry) = self.entry(address, capability).filter(|entry| entry.used >= MARKER_BYTES) else {
            return Ok(0);
        };
        let Some(opened) = self.open_marker(entry.begin) else { return Ok(0) };
        let block = Block { capability, begin: entry.begin, opened };
        let had = taker.had(block);
        let Some(new) = entry.used.checked_sub(had) else { return Ok(0) };
        let from = had.saturating_sub(UNSETTLED_BYTES);
        self.scratch.resize((entry.used - from) as usize, 0);
        if self.memory.read(entry.begin.wrapping_add(from), &mut self.scratch).is_err() {
            return Ok(0);
        }
        let unchanged = self.entry(address, capability).is_some_and(|after| {
            (after.begin, after.marker) == (entry.begin, entry.marker) && after.used >= entry.used
        });
        if !unchanged || self.open_marker(entry.begin) != Some(opened) {
            return Ok(0);
        }
        taker.take(block, from, &self.scratch)?;
        Ok(new)
    }
}

/// The block in a slot file.
#[derive(Debug)]
struct BlockSlot {
    block: Block,
    number: u8,
    copied: u64,
    file: File,
}

/// The slot files of one process.
#[derive(Debug)]
struct Slots {
    folder: Folder,
    pid: u32,
    slots: HashMap<u16, BlockSlot>,
}

impl Slots {
    fn open(&mut self, block: Block) -> io::Result<()> {
        let capability = block.capability;
        let number = self.slots.get(&capability).map_or(0, |slot| 1 - slot.number.min(1));
        let name = if capability == GLOBAL_CAPABILITY { "g".to_owned() } else { capability.to_string() };
        let file = self.folder.create_anew(&format!("{}-{name}.{number}", self.pid))?;
        self.slots.insert(capability, BlockSlot { block, number, copied: 0, file });
        Ok(())
    }
}

impl Take for Slots {
    fn had(&self, block: Block) -> u64 {
        self.slots.get(&block.capability).filter(|slot| slot.block == block).map_or(0, |slot| slot.copied)
    }

    fn take(&mut self, block: Block, from: u64, bytes: &[u8]) -> io::Result<()> {
        if self.slots.get(&block.capability).is_none_or(|slot| slot.block != block) {
            self.open(block)?;
        }
        if let Some(slot) = self.slots.get_mut(&block.capability) {
            slot.file.write_all_at(bytes, from)?;
            slot.copied = from + bytes.len() as u64;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::RefCell;
    use std::fs;

    /// Memory as a list of regions, which a test changes between copies.
    #[derive(Default)]
    struct Fake(RefCell<Vec<(u64, Vec<u8>)>>);

    impl Memory for &Fake {
        fn read(&self, address: u64, buffer: &mut [u8]) -> io::Result<()> {
            for (start, bytes) in self.0.borrow().iter() {
                let Some(at) = address.checked_sub(*start).map(|at| at as usize) else { continue };
                if let Some(found) = bytes.get(at..at + buffer.len()) {
                    buffer.copy_from_slice(found);
                    return Ok(());
                }
            }
            Err(io::ErrorKind::UnexpectedEof.into())
        }
    }

    impl Fake {
        fn set(&self, address: u64, bytes: Vec<u8>) {
            let mut regions = self.0.borrow_mut();
            regions.retain(|(start, _)| *start != address);
            regions.push((address, bytes));
        }

        /// One capability whose open block started at `time` and contains `events`.
        fn buffer(&self, time: u64, size: u32, events: &[u8]) {
            let mut data = vec![0, 18];
            data.extend(time.to_be_bytes());
            data.extend(size.to_be_bytes());
            data.extend([0; 10]);
            data.extend(events);
            let used = data.len() as u64;
            self.set(0x9000, data);
            let mut entry = Vec::new();
            for word in [0x9000, 0x9000 + used, 0x9000, 2 << 20] {
                entry.extend(u64::to_ne_bytes(word));
            }
            entry.extend([0; 8]);
            self.set(0x2000, entry);
            self.set(0x1000, 0x2000_u64.to_ne_bytes().to_vec());
            self.set(0x1100, 1_u32.to_ne_bytes().to_vec());
        }
    }

    fn located() -> RuntimeSymbols {
        RuntimeSymbols { cap_event_buf: Some(0x1000), n_capabilities: Some(0x1100), ..Default::default() }
    }

    #[test]
    fn only_what_is_new_is_appended_and_blocks_alternate_between_two_slots() {
        let (fake, folder) = (Fake::default(), tempfile::tempdir().unwrap());
        let mut copier = Copier::new(&fake, located(), &Folder::open(folder.path()).unwrap(), 7);
        assert!(!is_logging(&fake, located()));
        fake.buffer(100, 7, b"");
        assert!(!is_logging(&fake, located()), "no block was begun");
        fake.buffer(100, 0, b"");
        assert!(!is_logging(&fake, located()), "GHC 9.6 begins one whether it logs or not");
        fake.buffer(100, 0, b"one");
        assert!(is_logging(&fake, located()));
        assert_eq!(copier.copy().unwrap(), 27);
        assert_eq!(copier.copy().unwrap(), 0);
        fake.buffer(100, 0, b"one two");
        assert_eq!(copier.copy().unwrap(), 4);
        fake.buffer(200, 0, b"next");
        assert_eq!(copier.copy().unwrap(), 28);
        assert!(fs::read(folder.path().join("7-0.0")).unwrap().ends_with(b"one two"));
        assert!(fs::read(folder.path().join("7-0.1")).unwrap().ends_with(b"next"));
        fake.buffer(300, 0, b"third");
        copier.copy().unwrap();
        assert!(fs::read(folder.path().join("7-0.0")).unwrap().ends_with(b"third"));
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
    }

    #[test]
    fn a_byte_that_was_not_written_yet_is_fixed_by_the_next_copy() {
        let (fake, folder) = (Fake::default(), tempfile::tempdir().unwrap());
        let mut copier = Copier::new(&fake, located(), &Folder::open(folder.path()).unwrap(), 7);
        let written = || fs::read(folder.path().join("7-0.0")).unwrap();
        fake.buffer(100, 0, b"event of lon\xaa");
        copier.copy().unwrap();
        fake.buffer(100, 0, b"event of long ago");
        copier.copy().unwrap();
        assert!(written().ends_with(b"event of long ago"));
        // Also if nothing came after it.
        fake.buffer(100, 0, b"event of long ago\xaa");
        copier.copy().unwrap();
        fake.buffer(100, 0, b"event of long ago.");
        assert_eq!(copier.copy().unwrap(), 0);
        assert!(written().ends_with(b"event of long ago."));
    }

    #[test]
    fn a_block_that_is_being_written_out_or_nonsense_is_not_copied() {
        let (fake, folder) = (Fake::default(), tempfile::tempdir().unwrap());
        let mut copier = Copier::new(&fake, located(), &Folder::open(folder.path()).unwrap(), 7);
        assert_eq!(copier.copy().unwrap(), 0);
        fake.buffer(100, 27, b"one");
        assert_eq!(copier.copy().unwrap(), 0);
        fake.buffer(100, 0, b"one");
        fake.set(0x2000, vec![0xff; 40]);
        assert_eq!(copier.copy().unwrap(), 0);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    /// Memory whose buffer is flushed while it is being read.
    struct Racing(Fake, RefCell<u32>);

    impl Memory for &Racing {
        fn read(&self, address: u64, buffer: &mut [u8]) -> io::Result<()> {
            if address == 0x9000 {
                *self.1.borrow_mut() += 1;
                if *self.1.borrow() == 2 {
                    self.0.buffer(101, 0, b"other");
                }
            }
            (&self.0).read(address, buffer)
        }
    }

    #[test]
    fn a_flush_between_the_two_looks_voids_the_copy() {
        let (racing, folder) = (Racing(Fake::default(), RefCell::new(0)), tempfile::tempdir().unwrap());
        racing.0.buffer(100, 0, b"first");
        let mut copier = Copier::new(&racing, located(), &Folder::open(folder.path()).unwrap(), 7);
        assert_eq!(copier.copy().unwrap(), 0);
        assert_eq!(copier.copy().unwrap(), 29);
        assert!(fs::read(folder.path().join("7-0.0")).unwrap().ends_with(b"other"));
    }

    #[test]
    fn the_load_bias_is_the_lowest_mapping_of_the_file() {
        let maps = "55d0000-55e0000 r--p 00000000 08:01 12 /a b/prog\n55e0000-55f0000 r-xp 00010000 08:01 12 /a b/prog\n\
                    7f00-7f10 r--p 0 08:01 13 /lib/libc.so\n";
        let mappings = crate::target::mappings::parse(maps);
        assert_eq!(lowest(&mappings, "/a b/prog").unwrap().range.start, 0x55d_0000);
        assert_eq!(lowest(&mappings, "/nothing"), None);
    }
}
