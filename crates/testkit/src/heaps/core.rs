//! A core file of a running process, in the form that the system would write. Owns the format.

use std::fs::File;
use std::io::{Seek, SeekFrom, Write};
use std::os::unix::fs::FileExt;
use std::path::Path;

const HEADER: u64 = 64;
const SEGMENT: u64 = 56;

/// A mapping and its place in the file; 0 bytes: left out, because it equals its own file.
pub struct CoreMapping {
    pub from: u64,
    pub to: u64,
    pub offset: u64,
    flags: u32,
    in_file: Option<(u64, String)>,
    bytes: u64,
}

impl CoreMapping {
    fn of(line: &str) -> Option<CoreMapping> {
        let words: Vec<&str> = line.splitn(6, ' ').collect();
        let (from, to) = words[0].split_once('-')?;
        let number = |text: &str| u64::from_str_radix(text, 16).unwrap();
        let (from, to) = (number(from), number(to));
        let name = words.get(5).map_or("", |name| name.trim());
        let writable = words[1].starts_with("rw");
        let is_file = name.starts_with('/');
        (words[1].starts_with('r') && !name.starts_with("[v")).then(|| CoreMapping {
            from,
            to,
            offset: 0,
            flags: 4 | if writable { 2 } else { 0 } | u32::from(words[1].contains('x')),
            in_file: is_file.then(|| (number(words[2]) / 4096, name.to_owned())),
            bytes: if writable { to - from } else { 0 },
        })
    }
}

/// Writes the core of process `pid`, which should be stopped; returns the parts of the file.
pub fn write(pid: u32, path: &Path) -> Vec<CoreMapping> {
    let maps = std::fs::read_to_string(format!("/proc/{pid}/maps")).unwrap();
    let mut parts: Vec<CoreMapping> = maps.lines().filter_map(CoreMapping::of).collect();
    let note = note(&parts);
    let head = HEADER + SEGMENT * (parts.len() as u64 + 1);
    let mut offset = (head + note.len() as u64).next_multiple_of(4096);
    for part in &mut parts {
        part.offset = offset;
        offset += part.bytes;
    }
    let mut file = File::create(path).unwrap();
    // 64 bits, little-endian, a core file for this architecture.
    let mut bytes = b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0".to_vec();
    bytes.extend([4_u16, 62].iter().flat_map(|half| half.to_le_bytes()));
    bytes.extend(1_u32.to_le_bytes());
    bytes.extend([0, HEADER, 0].iter().flat_map(|word: &u64| word.to_le_bytes()));
    bytes.extend(0_u32.to_le_bytes());
    bytes.extend([64, 56, parts.len() as u16 + 1, 0, 0, 0].iter().flat_map(|half: &u16| half.to_le_bytes()));
    let mut segment = |kind: u32, flags: u32, words: [u64; 6]| {
        bytes.extend([kind, flags].iter().flat_map(|word| word.to_le_bytes()));
        bytes.extend(words.iter().flat_map(|word| word.to_le_bytes()));
    };
    segment(4, 0, [head, 0, 0, note.len() as u64, 0, 4]);
    for part in &parts {
        segment(1, part.flags, [part.offset, part.from, 0, part.bytes, part.to - part.from, 4096]);
    }
    bytes.extend(note);
    file.write_all(&bytes).unwrap();
    let memory = File::open(format!("/proc/{pid}/mem")).unwrap();
    let mut buffer = vec![0; 1 << 20];
    for part in &parts {
        file.seek(SeekFrom::Start(part.offset)).unwrap();
        for from in (0..part.bytes).step_by(buffer.len()) {
            let piece = &mut buffer[..(part.bytes - from).min(1 << 20) as usize];
            memory.read_exact_at(piece, part.from + from).unwrap();
            file.write_all(piece).unwrap();
        }
    }
    parts
}

/// The note that lists which files are mapped where.
fn note(parts: &[CoreMapping]) -> Vec<u8> {
    let files: Vec<(&CoreMapping, &(u64, String))> =
        parts.iter().filter_map(|part| Some((part, part.in_file.as_ref()?))).collect();
    let mut words = vec![files.len() as u64, 4096];
    files.iter().for_each(|(part, (page, _))| words.extend([part.from, part.to, *page]));
    let mut text: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    files.iter().for_each(|(_, (_, name))| text.extend(name.bytes().chain([0])));
    let mut note: Vec<u8> =
        [5, text.len() as u32, 0x4649_4c45].iter().flat_map(|word: &u32| word.to_le_bytes()).collect();
    note.extend(b"CORE\0\0\0\0");
    note.extend(&text);
    note.resize(note.len().next_multiple_of(4), 0);
    note
}
