//! Packs a capture into one file. Owns the order of the content; the layout is [`pack`](super::pack)'s.

use super::folder::Folder;
use super::pack::{FOOTER, INDEX, Index, NAMED, Region, SCHEMA};
use crate::frames::{CONTENT_MAX, Packer};
use std::collections::BTreeMap;
use std::io::{self, Write};

/// Folders of a capture; the first is the capture itself.
const FOLDERS: [&str; 8] = ["", "eventlog", "rings", "rings/live", "unflushed", "sched", "code", "heap"];
/// Slower than the level of a recorder, and smaller.
const LEVEL: i32 = 3;

/// Writes everything in `capture` into one file; returns its size.
///
/// # Errors
/// Something cannot be read or written.
pub fn write(capture: &Folder, to: &mut impl Write) -> io::Result<u64> {
    let mut packing = Packing { to, at: 0, packer: Packer::new(LEVEL)? };
    let mut index = Index { schema: SCHEMA.to_owned(), files: BTreeMap::new() };
    for folder in FOLDERS {
        // In an order that does not depend on the disk.
        let mut names: Vec<String> = capture.files(folder).into_iter().map(|(name, _)| name).collect();
        names.sort();
        for name in names {
            let name = if folder.is_empty() { name } else { format!("{folder}/{name}") };
            let region = packing.file(capture, &name)?;
            index.files.insert(name, region);
        }
    }
    packing.end(&index)
}

struct Packing<'a, W> {
    to: &'a mut W,
    at: u64,
    packer: Packer,
}

impl<W: Write> Packing<'_, W> {
    fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.to.write_all(bytes)?;
        self.at += bytes.len() as u64;
        Ok(())
    }

    fn file(&mut self, capture: &Folder, name: &str) -> io::Result<Region> {
        let begin = self.at;
        let source = capture.written(name)?;
        let mut content = vec![0; CONTENT_MAX];
        let mut offset = 0;
        loop {
            let count = source.read_full(&mut content, offset)?;
            if count == 0 {
                return Ok(Region { at: begin, bytes: self.at - begin });
            }
            offset += count as u64;
            let frames = self.packer.pack(content.get(..count).unwrap_or_default())?;
            self.to.write_all(frames)?;
            self.at += frames.len() as u64;
        }
    }

    fn end(mut self, index: &Index) -> io::Result<u64> {
        let at = self.at;
        let index = serde_json::to_vec(index)?;
        let bytes = u32::try_from(index.len()).map_err(|_| io::Error::other("it has too many files"))?;
        self.put(&[&INDEX[..], &bytes.to_le_bytes(), &index].concat())?;
        self.put(&[&FOOTER[..], &at.to_le_bytes(), &NAMED].concat())?;
        self.to.flush()?;
        Ok(self.at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    /// A capture with a file in each kind of folder, one of them in frames.
    fn capture() -> tempfile::TempDir {
        let ground = tempfile::tempdir().unwrap();
        let write = |name: &str, bytes: &[u8]| {
            let path = ground.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, bytes).unwrap();
        };
        write("manifest.json", &serde_json::to_vec(&super::super::empty_manifest()).unwrap());
        write("samples.jsonl", b"{\"t\":1,\"rss\":2}\n");
        write("eventlog/0.eventlog", &[7; 3 << 20]);
        write("rings/live/42.events", b"x");
        write("sched/cpu0.perf.zst", Packer::new(1).unwrap().pack(b"records of the kernel").unwrap());
        write("sched/empty.perf", b"");
        ground
    }

    fn packed(capture: &Folder) -> Vec<u8> {
        let mut bytes = Vec::new();
        let size = write(capture, &mut bytes).unwrap();
        assert_eq!(size, bytes.len() as u64);
        bytes
    }

    fn opened(bytes: &[u8]) -> Result<Folder, String> {
        let file = tempfile::NamedTempFile::new().unwrap();
        fs::write(file.path(), bytes).unwrap();
        Folder::open(file.path()).map_err(|error| error.to_string())
    }

    #[test]
    fn a_packed_capture_holds_what_the_folder_does() {
        let ground = capture();
        let folder = Folder::open(ground.path()).unwrap();
        let bytes = packed(&folder);
        assert!(super::super::pack::is_packed(&bytes) && bytes.len() < 10_000, "{}", bytes.len());
        let pack = opened(&bytes).unwrap();
        for within in FOLDERS {
            let names = |folder: &Folder| folder.files(within).into_iter().map(|(name, _)| name).collect::<Vec<_>>();
            let (mut there, here) = (names(&folder), names(&pack));
            there.sort();
            assert_eq!(there, here, "{within}");
            for name in here {
                let name = if within.is_empty() { name } else { format!("{within}/{name}") };
                let read = |folder: &Folder| folder.read(&name, 1 << 30).unwrap();
                assert_eq!(read(&folder), read(&pack), "{name}");
            }
        }
        assert!(pack.has("samples.jsonl") && !pack.has("sched") && pack.read("../x", 9).is_err());
        // Packing it again gives the same bytes.
        assert_eq!(packed(&pack), bytes);
    }

    #[test]
    fn zstd_reads_it() {
        let bytes = packed(&Folder::open(capture().path()).unwrap());
        let whole = zstd::stream::decode_all(&bytes[..]).unwrap();
        assert!(whole.windows(21).any(|bytes| bytes == b"records of the kernel"));
    }

    #[test]
    fn what_is_cut_or_leads_out_is_refused() {
        let bytes = packed(&Folder::open(capture().path()).unwrap());
        for end in (0..bytes.len()).step_by(7) {
            let why = opened(&bytes[..end]).unwrap_err();
            assert!(why.contains("no capture"), "{end}: {why}");
        }
        let footer = bytes.len() - 16;
        for (at, reason) in [(footer as u64, "leads nowhere"), (u64::MAX, "leads nowhere"), (0, "damaged")] {
            let mut changed = bytes.clone();
            changed[footer..footer + 8].copy_from_slice(&at.to_le_bytes());
            let why = opened(&changed).unwrap_err();
            assert!(why.contains(reason), "{at}: {why}");
        }
        let index = |index: &str| {
            let head = [&INDEX[..], &(index.len() as u32).to_le_bytes(), index.as_bytes()].concat();
            [head, FOOTER.to_vec(), 0_u64.to_le_bytes().to_vec(), NAMED.to_vec()].concat()
        };
        for (text, reason) in [
            (r#"{"schema":"rtscope/pack/9","files":{}}"#, "rtscope/pack/9"),
            (r#"{"schema":"rtscope/pack/1","files":{"a":{"at":0,"bytes":1}}}"#, "leads out"),
            (r#"{"schema":"rtscope/pack/1","files":{"a":{"at":1,"bytes":18446744073709551615}}}"#, "leads out"),
            ("{", "damaged"),
        ] {
            let why = opened(&index(text)).unwrap_err();
            assert!(why.contains(reason), "{text}: {why}");
        }
    }
}
