//! The mappings of a process (`/proc/PID/maps` and `smaps`). Owns the form of their lines.

use crate::target::ProcessFile;
use std::ops::Range;

/// One mapping: a line of `maps`.
#[derive(Clone, Eq, PartialEq, Debug)]
pub struct Mapping {
    /// Address range of the mapping.
    pub range: Range<u64>,
    /// Whether the process may read and write there.
    pub writable: bool,
    /// Whether the process may execute code there.
    pub executable: bool,
    /// Offset in the file.
    pub offset: u64,
    /// Device of the file, as the mapping shows it; (0, 0): no file, or not known.
    pub device: (u32, u32),
    /// Inode of the file; 0: no file, or not known.
    pub inode: u64,
    /// The file or the kernel's word for it, `[stack]`; empty: anonymous.
    pub name: String,
    /// Resident bytes; `None` if only `maps` was read.
    pub rss_bytes: Option<u64>,
}

impl Mapping {
    fn parse(line: &str) -> Option<Mapping> {
        let mut words = line.split_ascii_whitespace();
        let (from, to) = words.next()?.split_once('-')?;
        let range = u64::from_str_radix(from, 16).ok()?..u64::from_str_radix(to, 16).ok()?;
        let permissions = words.next()?;
        let (writable, executable) = (permissions.starts_with("rw"), permissions.as_bytes().get(2) == Some(&b'x'));
        let offset = u64::from_str_radix(words.next()?, 16).ok()?;
        let (major, minor) = words.next()?.split_once(':')?;
        let device = (u32::from_str_radix(major, 16).ok()?, u32::from_str_radix(minor, 16).ok()?);
        let inode = words.next()?.parse().ok()?;
        // A name may contain spaces.
        let name = line.splitn(6, ' ').nth(5).unwrap_or("").trim_start().to_owned();
        Some(Mapping { range, writable, executable, offset, device, inode, name, rss_bytes: None })
    }

    /// Size of the address range, bytes.
    pub fn bytes(&self) -> u64 {
        self.range.end.saturating_sub(self.range.start)
    }

    /// The mapped file, if there is one.
    pub fn file(&self) -> Option<ProcessFile> {
        let Mapping { device, inode, .. } = *self;
        let of_file = self.name.starts_with('/') && inode != 0;
        of_file.then(|| ProcessFile::Mapped { range: self.range.clone(), device, inode, path: self.name.clone() })
    }

    /// Whether it is plain memory without a file.
    pub fn is_anonymous(&self) -> bool {
        // The kernel shows names given by a program: `[anon:…]`.
        self.name.is_empty() || self.name.starts_with("[anon")
    }
}

/// The mappings in a text of `maps` or `smaps`, in order. The system writes such a text
/// in parts: a mapping that grows between two of them appears twice, and the last one counts.
pub fn parse(text: &str) -> Vec<Mapping> {
    let mut mappings: Vec<Mapping> = Vec::new();
    for line in text.lines() {
        if let Some(size) = line.strip_prefix("Rss:") {
            let kib = size.trim().strip_suffix("kB").and_then(|size| size.trim().parse::<u64>().ok());
            if let Some(last) = mappings.last_mut() {
                last.rss_bytes = kib.map(|kib| kib.saturating_mul(1024));
            }
        } else if let Some(mapping) = Mapping::parse(line) {
            mappings.pop_if(|last| mapping.range.contains(&last.range.start));
            mappings.push(mapping);
        }
    }
    mappings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_maps_and_smaps() {
        let text = "\
4200000000-4200400000 rw-p 00000000 00:00 0 
Size:               4096 kB
Rss:                2048 kB
4200400000-14200000000 ---p 00000000 00:00 0 
7f01-7f02 r-xp 00001000 fe:00 12 /opt/a program (deleted)
Rss:                   4 kB
7ffd000-7ffe000 rw-p 00000000 00:00 0                          [stack]
VmFlags: rd wr mr
";
        let all = parse(text);
        assert_eq!(all.len(), 4);
        assert_eq!(
            (all[0].range.clone(), all[0].writable, all[0].is_anonymous()),
            (0x42_0000_0000..0x42_0040_0000, true, true)
        );
        assert_eq!((all[0].rss_bytes, all[0].bytes()), (Some(2048 << 10), 4 << 20));
        assert_eq!((all[1].writable, all[1].rss_bytes), (false, None));
        assert_eq!((all[2].name.as_str(), all[2].is_anonymous()), ("/opt/a program (deleted)", false));
        assert_eq!((all[2].offset, all[2].device, all[2].inode), (0x1000, (0xfe, 0), 12));
        assert!(all[2].executable && all[2].file().is_some() && all[3].file().is_none());
        assert_eq!(all[3].name, "[stack]");
    }

    #[test]
    fn a_mapping_that_grew_between_two_parts_of_the_text_counts_once() {
        let text = "\
4200000000-4200400000 rw-p 00000000 00:00 0 
Rss:                4096 kB
4200000000-4200500000 rw-p 00000000 00:00 0 
Rss:                5120 kB
4200500000-14200000000 ---p 00000000 00:00 0 
Rss:                   0 kB
";
        let found: Vec<_> = parse(text).into_iter().map(|mapping| (mapping.range.end, mapping.rss_bytes)).collect();
        assert_eq!(found, [(0x42_0050_0000, Some(5 << 20)), (0x142_0000_0000, Some(0))]);
        // A mapping that shrank leaves the one after it unchanged.
        let shrunk = text.replace("4200000000-4200500000", "4200300000-4200500000");
        assert_eq!(parse(&shrunk).len(), 3);
    }
}
