//! A core file: what is left of a process's memory. Owns which of its segments hold an
//! address, and which files were mapped where. The system leaves out what is as in those
//! files, code above all: that is read from them. What was left out otherwise, or cut off, is
//! an error where it is read, never zeros.

use crate::mappings::Mapping;
use crate::target::open_own;
use object::elf::{ET_CORE, PT_LOAD, PT_NOTE};
use object::read::elf::{ElfFile64, FileHeader, ProgramHeader};
use object::{Endianness, ReadCache};
use rtscope_heap::Memory;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// The note that lists mapped files.
const NT_FILE: u32 = 0x4649_4c45;

/// See the module.
#[derive(Debug)]
pub struct CoreFile {
    file: File,
    /// By address.
    segments: Vec<Segment>,
    mappings: Vec<Mapping>,
    /// What was mapped of files and not written to, with those that are still there.
    files: Vec<(Mapping, File)>,
    /// Bytes that its segments should have, and that the file has no more.
    missing_bytes: u64,
}

#[derive(Copy, Clone, Debug)]
struct Segment {
    address: u64,
    /// Bytes of it in the file, and where.
    bytes: u64,
    offset: u64,
}

/// A file that was mapped.
struct Mapped {
    from: u64,
    to: u64,
    offset: u64,
    path: String,
}

impl CoreFile {
    /// Opens one.
    ///
    /// # Errors
    /// It cannot be read, or is no core file of a 64-bit process.
    pub fn open(path: &Path) -> io::Result<CoreFile> {
        let file = open_own(path, true)?;
        let length = file.metadata()?.len();
        let cache = ReadCache::new(&file);
        let bad = |why: &str| io::Error::new(io::ErrorKind::InvalidData, why.to_owned());
        let elf = ElfFile64::<Endianness, _>::parse(&cache)
            .map_err(|_| bad("it is no 64-bit ELF file, or cut off in its head"))?;
        let endian = elf.endian();
        if elf.elf_header().e_type(endian) != ET_CORE {
            return Err(bad("it is an ELF file, but no core file"));
        }
        let headers = elf
            .elf_header()
            .program_headers(endian, elf.data())
            .map_err(|_| bad("its table of segments is cut off"))?;
        let notes = headers.iter().filter(|header| header.p_type(endian) == PT_NOTE);
        let mapped =
            notes.filter_map(|header| header.notes(endian, elf.data()).ok().flatten()).flat_map(|mut notes| {
                let mut all = Vec::new();
                while let Ok(Some(note)) = notes.next() {
                    if note.n_type(endian) == NT_FILE {
                        all.extend(mapped_files(note.desc()));
                    }
                }
                all
            });
        let mapped: Vec<Mapped> = mapped.collect();
        let (mut segments, mut mappings, mut missing_bytes) = (Vec::new(), Vec::new(), 0);
        for header in headers.iter().filter(|header| header.p_type(endian) == PT_LOAD) {
            let (address, offset, wanted) = (header.p_vaddr(endian), header.p_offset(endian), header.p_filesz(endian));
            let bytes = wanted.min(length.saturating_sub(offset));
            missing_bytes += wanted - bytes;
            segments.push(Segment { address, bytes, offset });
            let named = mapped.iter().find(|mapped| (mapped.from..mapped.to).contains(&address));
            mappings.push(Mapping {
                range: address..address.saturating_add(header.p_memsz(endian)),
                writable: header.p_flags(endian) & object::elf::PF_W != 0,
                executable: header.p_flags(endian) & object::elf::PF_X != 0,
                device: (0, 0),
                inode: 0,
                offset: named.map_or(0, |mapped| mapped.offset + (address - mapped.from)),
                name: named.map_or(String::new(), |mapped| mapped.path.clone()),
                rss_bytes: None,
            });
        }
        segments.sort_by_key(|segment| segment.address);
        mappings.sort_by_key(|mapping: &Mapping| mapping.range.start);
        Ok(CoreFile { file, segments, mappings, files: Vec::new(), missing_bytes })
    }

    /// Opens the files that were mapped; the `program` is where `executable` says.
    pub fn open_files(&mut self, program: &str, executable: &Path) {
        let left_out = |mapping: &&Mapping| !mapping.writable && mapping.name.starts_with('/');
        let open = |mapping: &Mapping| {
            let path = if mapping.name == program { executable } else { Path::new(&mapping.name) };
            Some((mapping.clone(), open_own(path, true).ok()?))
        };
        self.files = self.mappings.iter().filter(left_out).filter_map(open).collect();
    }

    /// What was mapped.
    pub fn mappings(&self) -> &[Mapping] {
        &self.mappings
    }

    /// Bytes that are cut off its end.
    pub fn missing_bytes(&self) -> u64 {
        self.missing_bytes
    }
}

impl CoreFile {
    /// Fills the first of `buffer` from `address`; gives how many bytes. A mapping may be cut
    /// in several segments.
    fn read_some(&self, address: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let at_most =
            |buffer: &mut [u8], left: u64| usize::try_from(left).map_or(buffer.len(), |left| left.min(buffer.len()));
        let behind = self.segments.partition_point(|segment| segment.address <= address);
        let segment = behind.checked_sub(1).and_then(|index| self.segments.get(index));
        if let Some((segment, from)) = segment.map(|segment| (segment, address - segment.address))
            && from < segment.bytes
        {
            let count = at_most(buffer, segment.bytes - from);
            self.file.read_exact_at(buffer.get_mut(..count).unwrap_or_default(), segment.offset + from)?;
            return Ok(count);
        }
        let Some((mapping, file)) = self.files.iter().find(|(mapping, _)| mapping.range.contains(&address)) else {
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the core file does not hold these bytes"));
        };
        let count = at_most(buffer, mapping.range.end - address);
        let place = mapping.offset + (address - mapping.range.start);
        file.read_exact_at(buffer.get_mut(..count).unwrap_or_default(), place)?;
        Ok(count)
    }
}

impl Memory for CoreFile {
    fn read(&self, mut address: u64, mut buffer: &mut [u8]) -> io::Result<()> {
        while !buffer.is_empty() {
            let count = self.read_some(address, buffer)?;
            buffer = buffer.get_mut(count..).unwrap_or_default();
            address = address.saturating_add(count as u64);
        }
        Ok(())
    }
}

/// The files of the note: number, page size, three words for each, then their names.
fn mapped_files(note: &[u8]) -> Vec<Mapped> {
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
            path: String::from_utf8_lossy(name).into_owned(),
        })
    };
    (0..count).zip(names).filter_map(file).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_mapped_files_are_in_their_order() {
        let words: Vec<u64> = vec![2, 4096, 0x1000, 0x2000, 0, 0x5000, 0x6000, 3];
        let mut note: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
        note.extend(b"/opt/a\0/lib/b\0");
        let files = mapped_files(&note);
        assert_eq!(files.len(), 2);
        assert_eq!(
            (files[1].from, files[1].to, files[1].offset, files[1].path.as_str()),
            (0x5000, 0x6000, 3 * 4096, "/lib/b")
        );
        assert!(mapped_files(&note[..20]).is_empty() && mapped_files(&[]).is_empty());
        assert!(mapped_files(&[0xff; 64]).len() <= 2);
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
