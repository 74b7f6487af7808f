//! Files made to cost their reader much: neither time nor memory depends on what
//! their headers say. One test, as the memory is this whole process's.

use rtscope_host::binary;
use rtscope_host::by_bytes;
use rtscope_host::core_file::CoreFile;
use std::fs::File;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;
use std::time::{Duration, Instant};

const MIB: u64 = 1 << 20;
const TEXT: u64 = 0x40_0000;

struct Section {
    kind: u32,
    flags: u64,
    address: u64,
    offset: u64,
    size: u64,
    link: u32,
}

/// The header of an ELF file with this many segments and sections.
fn header(kind: u16, segments: u16, section_offset: u64, sections: u16) -> Vec<u8> {
    let machine: u16 = if cfg!(target_arch = "x86_64") { 62 } else { 183 };
    let mut bytes = b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0".to_vec();
    bytes.extend([kind, machine].iter().flat_map(|half| half.to_le_bytes()));
    bytes.extend(1_u32.to_le_bytes());
    bytes.extend(
        [0, if segments > 0 { 64 } else { 0 }, section_offset].iter().flat_map(|word: &u64| word.to_le_bytes()),
    );
    bytes.extend(0_u32.to_le_bytes());
    bytes.extend([64, 56, segments, 64, sections, 1].iter().flat_map(|half: &u16| half.to_le_bytes()));
    bytes
}

fn section(section: &Section) -> Vec<u8> {
    let Section { kind, flags, address, offset, size, link } = section;
    let mut bytes = [0, *kind].iter().flat_map(|half: &u32| half.to_le_bytes()).collect::<Vec<u8>>();
    bytes.extend([flags, address, offset, size].iter().flat_map(|word| word.to_le_bytes()));
    bytes.extend([*link, 0].iter().flat_map(|half| half.to_le_bytes()));
    bytes.extend([1_u64, if *kind == 2 { 24 } else { 0 }].iter().flat_map(|word| word.to_le_bytes()));
    bytes
}

fn segment(kind: u32, offset: u64, address: u64, file: u64, memory: u64) -> Vec<u8> {
    let mut bytes = [kind, 6].iter().flat_map(|half| half.to_le_bytes()).collect::<Vec<u8>>();
    bytes.extend([offset, address, address, file, memory, 4096].iter().flat_map(|word| word.to_le_bytes()));
    bytes
}

fn text(size: u64) -> Section {
    Section { kind: 1, flags: 6, address: TEXT, offset: 0, size, link: 0 }
}

/// Peak memory of this process, bytes.
fn peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    rtscope_host::procfs::number(&status, "VmHWM").unwrap() << 10
}

/// Checks that `work` takes no more than 256 MiB and 5 s.
fn bounded<T>(what: &str, work: impl FnOnce() -> T) -> T {
    // From here on the peak is that of `work`.
    std::fs::write("/proc/self/clear_refs", "5").unwrap();
    let started = Instant::now();
    let done = work();
    let (took, peak) = (started.elapsed(), peak());
    println!("{what}: {took:?}, {} MiB", peak / MIB);
    assert!(took < Duration::from_secs(5), "{what}: {took:?}");
    assert!(peak < 256 * MIB, "{what}: {} MiB", peak / MIB);
    done
}

/// A file with `symbols` symbols that take no bytes on the disk.
fn sparse(path: &Path, symbols: u64) {
    let file = File::create(path).unwrap();
    let table = Section { kind: 2, flags: 0, address: 0, offset: MIB, size: symbols * 24, link: 1 };
    let names = Section { kind: 3, flags: 0, address: 0, offset: MIB + symbols * 24, size: 64 * MIB, link: 0 };
    let sections = [Section { kind: 0, ..text(0) }, names, table, text(1 << 40)];
    let bytes: Vec<u8> = [header(2, 0, 4096, sections.len() as u16)].concat();
    file.write_all_at(&bytes, 0).unwrap();
    file.write_all_at(&sections.iter().flat_map(section).collect::<Vec<u8>>(), 4096).unwrap();
    file.set_len(MIB + symbols * 24 + 64 * MIB).unwrap();
    // Some of its symbols are functions whose names have no end.
    let some: Vec<u8> = (0..1500_u32).flat_map(symbol).collect();
    file.write_all_at(&some, MIB).unwrap();
    assert!(file.metadata().unwrap().blocks() * 512 <= 96 << 10);
}

/// A function whose name lies at `number`.
fn symbol(number: u32) -> Vec<u8> {
    let mut bytes = number.to_le_bytes().to_vec();
    bytes.extend([0x12, 0, 3, 0]);
    bytes.extend([TEXT + 16 * u64::from(number), 16].iter().flat_map(|word| word.to_le_bytes()));
    bytes
}

/// Many functions in many sections, in 11 MiB.
fn crowded() -> Vec<u8> {
    const SECTIONS: u64 = 65_000;
    const FUNCTIONS: u64 = 240_000;
    let names: Vec<u8> = (0..FUNCTIONS).flat_map(|number| format!("f{number}\0").into_bytes()).collect();
    let mut offset = 0;
    let symbols: Vec<u8> = (0..FUNCTIONS)
        .flat_map(|number| {
            let mut bytes = symbol(offset);
            offset += format!("f{number}\0").len() as u32;
            // All in the last sections.
            let address = TEXT + SECTIONS * 64 - 1 - number % 6400;
            bytes[8..16].copy_from_slice(&address.to_le_bytes());
            bytes
        })
        .collect();
    let (names_at, symbols_at) = (120, 120 + names.len() as u64);
    let sections_at = symbols_at + symbols.len() as u64;
    let table = Section { kind: 2, flags: 0, address: 0, offset: symbols_at, size: symbols.len() as u64, link: 1 };
    let strings = Section { kind: 3, flags: 0, address: 0, offset: names_at, size: names.len() as u64, link: 0 };
    let mut sections = vec![Section { kind: 0, ..text(0) }, strings, table];
    sections.extend((0..SECTIONS).map(|number| Section { address: TEXT + 64 * number, ..text(64) }));
    let mut bytes = header(2, 1, sections_at, sections.len() as u16);
    bytes.extend(segment(1, 0, TEXT, SECTIONS * 64, SECTIONS * 64));
    bytes.extend(names);
    bytes.extend(symbols);
    bytes.extend(sections.iter().flat_map(section));
    bytes
}

/// A core file that claims to have a terabyte of notes and a terabyte of a heap.
fn boasting(path: &Path) {
    let file = File::create(path).unwrap();
    let mut bytes = header(4, 2, 0, 0);
    bytes.extend(segment(4, 4096, 0, 1 << 40, 0));
    bytes.extend(segment(1, 4096, 0x42_0000_0000, 1 << 40, 1 << 40));
    file.write_all_at(&bytes, 0).unwrap();
    file.set_len(1 << 41).unwrap();
}

#[test]
fn files_that_are_made_to_cost_much_do_not() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("program");
    for symbols in [1 << 20, 7 << 20, 48 << 20, 1 << 35] {
        sparse(&path, symbols);
        let found = bounded(&format!("{symbols} symbols"), || binary::inspect(&path));
        assert_eq!(found.elf, symbols < 8 << 20);
        bounded("its start", || binary::link::read(&path));
    }
    let bytes = crowded();
    assert!(bytes.len() as u64 <= 12 * MIB, "{}", bytes.len());
    let asked: Vec<(u64, u64)> = (0..64_000).map(|number| (65 * number, TEXT + 65 * number)).collect();
    bounded("11 MiB", || by_bytes::inspect(&bytes));
    let names = bounded("11 MiB of names", || by_bytes::names(&bytes, &asked)).unwrap();
    assert!(names.iter().any(|named| named.name.starts_with('f')));
    boasting(&path);
    let core = bounded("a core file", || CoreFile::open(&path)).unwrap();
    assert_eq!(core.mappings().len(), 1);
}
