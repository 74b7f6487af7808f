//! A core file: what is left of a process's memory. Owns which of its segments contain an
//! address, and which files were mapped where. The system leaves out what is unchanged from those
//! files, above all code: that is read from them. Reading what is missing otherwise, or cut off, is
//! an error and never gives zeros.

use crate::binary::Bounded;
use crate::target::mappings::Mapping;
use crate::target::open_own;
use object::elf::{ET_CORE, PT_LOAD, PT_NOTE};
use object::read::elf::{ElfFile64, FileHeader, ProgramHeader};
use object::{Endianness, ReadRef};
use rtscope_decode::ReadAt;
use rtscope_heap::Memory;
use rustix::fs::SeekFrom;
use std::collections::HashMap;
use std::fmt;
use std::fs::File;
use std::io::{self, Cursor};
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

/// The note that lists mapped files.
const NT_FILE: u32 = 0x4649_4c45;

/// Segments checked for one megablock.
const SEGMENTS_MAX: usize = 256;
/// Notes that are read: the system writes one of them.
const NOTES_MAX: usize = 8;
/// Total bytes for names of mapped files, for notes and again for segments.
const NAMES_MAX: usize = 32 << 20;
/// Fixed cost of each name in bytes, in addition to its length.
const NAME: usize = 64;
/// Longer names are rejected.
const PATH_MAX: usize = 4096;

/// A core file in use (see the module).
pub struct CoreFile {
    file: Arc<dyn ReadAt>,
    /// The core file, if it is on disk: it knows where it has data.
    on_disk: Option<File>,
    held: CoreContents,
    /// File mappings that were not written to, whose files are still there, by address.
    files: Vec<(Mapping, Arc<File>)>,
}

impl fmt::Debug for CoreFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.held.fmt(f)
    }
}

/// The contents of its headers and notes.
#[derive(Debug, Default)]
struct CoreContents {
    /// Sorted by address.
    segments: Vec<Segment>,
    mappings: Vec<Mapping>,
    /// Bytes of its segments that are cut off from the file.
    missing_bytes: u64,
}

#[derive(Copy, Clone, Debug)]
struct Segment {
    address: u64,
    /// Number of its bytes in the file, and their offset.
    bytes: u64,
    offset: u64,
}

impl Segment {
    /// The address after its bytes in the file.
    fn end(&self) -> u64 {
        self.address.saturating_add(self.bytes)
    }
}

/// A file that was mapped.
struct Mapped {
    from: u64,
    to: u64,
    offset: u64,
    path: String,
}

impl CoreFile {
    /// Opens a core file.
    ///
    /// # Errors
    /// It cannot be read, or is not a core file of a 64-bit process.
    pub fn open(path: &Path) -> io::Result<CoreFile> {
        let file = open_own(path, true)?;
        let length = file.metadata()?.len();
        let held = CoreContents::read(&Bounded::new(file.try_clone()?), length)?;
        let on_disk = Some(file.try_clone()?);
        Ok(CoreFile { file: Arc::new(file), on_disk, held, files: Vec::new() })
    }

    /// A core file in memory.
    pub fn of_bytes(bytes: Vec<u8>) -> io::Result<CoreFile> {
        let held = CoreContents::read(&Bounded::new(Cursor::new(&bytes)), bytes.len() as u64)?;
        Ok(CoreFile { file: Arc::new(bytes), on_disk: None, held, files: Vec::new() })
    }

    /// Opens the files that were mapped; that of `program` is `executable`.
    pub fn open_files(&mut self, program: &str, executable: &Path) {
        let left_out = |mapping: &&Mapping| !mapping.writable && mapping.name.starts_with('/');
        let mut open: HashMap<&str, Option<Arc<File>>> = HashMap::new();
        let mut files = Vec::new();
        for mapping in self.held.mappings.iter().filter(left_out) {
            let path = if mapping.name == program { executable } else { Path::new(&mapping.name) };
            let file = open.entry(&mapping.name).or_insert_with(|| open_own(path, true).ok().map(Arc::new));
            files.extend(file.clone().map(|file| (mapping.clone(), file)));
        }
        self.files = files;
    }

    /// The mappings of the process.
    pub fn mappings(&self) -> &[Mapping] {
        &self.held.mappings
    }

    /// Bytes cut off its end.
    pub fn missing_bytes(&self) -> u64 {
        self.held.missing_bytes
    }

    /// Whether it has any data in `range`: the system leaves memory that was never written out of the file,
    /// or leaves a hole in it, which costs nothing and reads as zeros.
    pub(crate) fn has_data(&self, range: &Range<u64>) -> bool {
        let first = self.held.segments.partition_point(|segment| segment.end() <= range.start);
        let within = self.held.segments.iter().skip(first).take_while(|segment| segment.address < range.end);
        let has = |segment: &Segment| {
            let from = segment.offset.saturating_add(range.start.saturating_sub(segment.address));
            let to = segment.offset.saturating_add(segment.end().min(range.end).saturating_sub(segment.address));
            let data = self.on_disk.as_ref().map(|file| rustix::fs::seek(file, SeekFrom::Data(from)));
            from < to
                && match data {
                    Some(Ok(data)) => data < to,
                    Some(Err(rustix::io::Errno::NXIO)) => false,
                    _ => true,
                }
        };
        within.take(SEGMENTS_MAX).any(has)
    }

    /// Fills the beginning of `buffer` from `address`; returns how many bytes. A mapping may be split
    /// into several segments.
    fn read_some(&self, address: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let at_most =
            |buffer: &mut [u8], left: u64| usize::try_from(left).map_or(buffer.len(), |left| left.min(buffer.len()));
        let (file, count, place) = if let Some((segment, from)) = self.held.segment(address) {
            (&*self.file, at_most(buffer, segment.bytes - from), segment.offset.checked_add(from))
        } else if let Some((mapping, file)) = self.file_at(address) {
            let place = mapping.offset.checked_add(address - mapping.range.start);
            (&**file as &dyn ReadAt, at_most(buffer, mapping.range.end - address), place)
        } else {
            return Err(not_held());
        };
        let buffer = buffer.get_mut(..count).unwrap_or_default();
        match file.read_at(buffer, place.ok_or_else(not_held)?)? {
            0 => Err(not_held()),
            read => Ok(read),
        }
    }

    fn file_at(&self, address: u64) -> Option<&(Mapping, Arc<File>)> {
        let after = self.files.partition_point(|(mapping, _)| mapping.range.start <= address);
        self.files.get(after.checked_sub(1)?).filter(|(mapping, _)| mapping.range.contains(&address))
    }
}

fn not_held() -> io::Error {
    io::Error::new(io::ErrorKind::UnexpectedEof, "the core file does not hold these bytes")
}

impl CoreContents {
    fn read<'data, R: ReadRef<'data>>(data: R, length: u64) -> io::Result<CoreContents> {
        let bad = |why: &str| io::Error::new(io::ErrorKind::InvalidData, why.to_owned());
        let elf = ElfFile64::<Endianness, R>::parse(data)
            .map_err(|_| bad("it is no 64-bit ELF file, or cut off in its head"))?;
        let endian = elf.endian();
        if elf.elf_header().e_type(endian) != ET_CORE {
            return Err(bad("it is an ELF file, but no core file"));
        }
        let headers = elf
            .elf_header()
            .program_headers(endian, elf.data())
            .map_err(|_| bad("its table of segments is cut off"))?;
        let mut mapped: Vec<Mapped> = Vec::new();
        let mut room = NAMES_MAX;
        for header in headers.iter().filter(|header| header.p_type(endian) == PT_NOTE).take(NOTES_MAX) {
            let Ok(Some(mut notes)) = header.notes(endian, elf.data()) else { continue };
            while let Ok(Some(note)) = notes.next() {
                if note.n_type(endian) == NT_FILE {
                    mapped.extend(mapped_files(note.desc(), &mut room));
                }
            }
        }
        mapped.sort_by_key(|mapped| mapped.from);
        let (mut held, mut room) = (CoreContents::default(), NAMES_MAX);
        for header in headers.iter().filter(|header| header.p_type(endian) == PT_LOAD) {
            let (address, offset, wanted) = (header.p_vaddr(endian), header.p_offset(endian), header.p_filesz(endian));
            let bytes = wanted.min(length.saturating_sub(offset)).min(u64::MAX - address);
            held.missing_bytes = held.missing_bytes.saturating_add(wanted - bytes);
            held.segments.push(Segment { address, bytes, offset });
            let named = mapped.partition_point(|mapped| mapped.from <= address).checked_sub(1);
            let named = named.and_then(|index| mapped.get(index)).filter(|mapped| address < mapped.to);
            held.mappings.push(Mapping {
                range: address..address.saturating_add(header.p_memsz(endian)),
                writable: header.p_flags(endian) & object::elf::PF_W != 0,
                executable: header.p_flags(endian) & object::elf::PF_X != 0,
                device: (0, 0),
                inode: 0,
                offset: named.map_or(0, |mapped| mapped.offset.saturating_add(address - mapped.from)),
                name: named
                    .filter(|mapped| take(&mut room, &mapped.path))
                    .map_or(String::new(), |mapped| mapped.path.clone()),
                rss_bytes: None,
            });
        }
        held.segments.sort_by_key(|segment| segment.address);
        held.mappings.sort_by_key(|mapping: &Mapping| mapping.range.start);
        Ok(held)
    }

    /// The segment that contains `address`, and the offset in it.
    fn segment(&self, address: u64) -> Option<(&Segment, u64)> {
        let after = self.segments.partition_point(|segment| segment.address <= address);
        let segment = self.segments.get(after.checked_sub(1)?)?;
        let from = address - segment.address;
        (from < segment.bytes).then_some((segment, from))
    }
}

impl Memory for CoreFile {
    fn read(&self, mut address: u64, mut buffer: &mut [u8]) -> io::Result<()> {
        while !buffer.is_empty() {
            let count = self.read_some(address, buffer)?;
            buffer = buffer.get_mut(count..).unwrap_or_default();
            if !buffer.is_empty() {
                address = address.checked_add(count as u64).ok_or_else(not_held)?;
            }
        }
        Ok(())
    }
}

/// Takes the room for a name; false: there is not enough left.
fn take(room: &mut usize, name: &str) -> bool {
    let left = room.checked_sub(NAME + name.len());
    *room = left.unwrap_or(0);
    left.is_some()
}

/// The files of the note: number, page size, three words for each, then their names.
fn mapped_files(note: &[u8], room: &mut usize) -> Vec<Mapped> {
    let word =
        |index: usize| note.get(8 * index..8 * index + 8).and_then(|word| word.try_into().ok()).map(u64::from_ne_bytes);
    let (Some(count), Some(page)) = (word(0), word(1)) else { return Vec::new() };
    let count = usize::try_from(count).unwrap_or(usize::MAX).min(note.len() / 24);
    let names = note.get(16 + 24 * count..).unwrap_or_default().split(|byte| *byte == 0);
    let file = |(index, name): (usize, &[u8])| {
        Some(Mapped {
            from: word(2 + 3 * index)?,
            to: word(3 + 3 * index)?,
            offset: word(4 + 3 * index)?.saturating_mul(page),
            path: String::from_utf8_lossy(name.get(..PATH_MAX).map_or(name, |_| &[])).into_owned(),
        })
    };
    (0..count).zip(names).map_while(file).take_while(|file| take(room, &file.path)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_mapped_files_are_in_their_order() {
        let words: Vec<u64> = vec![2, 4096, 0x1000, 0x2000, 0, 0x5000, 0x6000, 3];
        let mut note: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
        note.extend(b"/opt/a\0/lib/b\0");
        let files = mapped_files(&note, &mut 1000);
        assert_eq!(files.len(), 2);
        assert_eq!(
            (files[1].from, files[1].to, files[1].offset, files[1].path.as_str()),
            (0x5000, 0x6000, 3 * 4096, "/lib/b")
        );
        assert!(mapped_files(&note[..20], &mut 1000).is_empty() && mapped_files(&[], &mut 1000).is_empty());
        assert!(mapped_files(&[0xff; 64], &mut 1000).len() <= 2);
    }

    #[test]
    fn what_is_no_core_file_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x");
        for bytes in [&b""[..], b"\x7fELF", &[0; 100]] {
            std::fs::write(&path, bytes).unwrap();
            assert!(CoreFile::open(&path).is_err());
        }
        let own = CoreFile::open(&std::env::current_exe().unwrap()).unwrap_err();
        assert!(own.to_string().contains("no core file"), "{own}");
    }
}
