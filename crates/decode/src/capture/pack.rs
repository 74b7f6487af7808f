//! A capture in one file, `NAME.rtscope.zst`: the frames of its files in sequence, then an index and a footer in
//! skippable frames, so that `zstd -dc` reads it too. Owns this layout and reading it; refuses an index that points
//! outside the file.

use crate::ReadAt;
use crate::frames::Frames;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::sync::Arc;

/// Suffix of the names of packed captures.
pub const ENDING: &str = ".rtscope.zst";
pub(super) const SCHEMA: &str = "rtscope/pack/1";
/// First four bytes of the skippable frame of the index; the footer's first eight follow.
pub(super) const INDEX: [u8; 4] = [0x5d, 0x2a, 0x4d, 0x18];
pub(super) const FOOTER: [u8; 8] = [0x5c, 0x2a, 0x4d, 0x18, 16, 0, 0, 0];
pub(super) const NAMED: [u8; 8] = *b"rtscope\0";
const FOOTER_BYTES: u64 = 24;
/// No recorder's capture has a larger index.
const INDEX_MAX: u64 = 16 << 20;

/// Index of the files.
#[derive(Serialize, Deserialize)]
pub(super) struct Index {
    pub schema: String,
    pub files: BTreeMap<String, Region>,
}

/// Where the frames of one of the capture's files lie.
#[derive(Copy, Clone, Debug, Serialize, Deserialize)]
pub(super) struct Region {
    pub at: u64,
    pub bytes: u64,
}

/// A packed capture.
#[derive(Debug)]
pub struct Pack {
    file: Arc<File>,
    files: BTreeMap<String, Region>,
}

impl Pack {
    /// # Errors
    /// It cannot be read, or is not a packed capture; the error says which.
    pub(super) fn open(file: File) -> io::Result<Pack> {
        let size = file.size()?;
        let no_pack = || io::Error::other("it is no capture: neither a folder nor a whole `.rtscope.zst` file");
        let begin = size.checked_sub(FOOTER_BYTES).ok_or_else(no_pack)?;
        let mut footer = [0; FOOTER_BYTES as usize];
        file.read_full(&mut footer, begin)?;
        let (magic, rest) = footer.split_at(FOOTER.len());
        let (at, named) = rest.split_at(8);
        if magic != FOOTER || named != NAMED {
            return Err(no_pack());
        }
        let at = u64::from_le_bytes(at.try_into().map_err(|_| no_pack())?);
        let bytes = begin.checked_sub(at).and_then(|bytes| bytes.checked_sub(8));
        let bytes = bytes.filter(|bytes| *bytes <= INDEX_MAX).ok_or_else(|| damaged("leads nowhere"))?;
        let mut index = vec![0; usize::try_from(bytes).unwrap_or(0)];
        file.read_full(&mut index, at + 8)?;
        let index: Index = serde_json::from_slice(&index).map_err(|error| damaged(&error.to_string()))?;
        if index.schema != SCHEMA {
            let text = format!("it has the format {}, which this version does not know", index.schema);
            return Err(io::Error::other(text));
        }
        let inside = |region: &Region| region.at.checked_add(region.bytes).is_some_and(|end| end <= at);
        if !index.files.values().all(inside) {
            return Err(damaged("leads out of the file"));
        }
        Ok(Pack { file: Arc::new(file), files: index.files })
    }

    /// The content of a file of the capture.
    ///
    /// # Errors
    /// There is no file of that name.
    pub(super) fn content(&self, name: &str) -> io::Result<Frames> {
        let region = self.files.get(name).ok_or(io::ErrorKind::NotFound)?;
        Frames::new(Arc::new(PackRegion { file: Arc::clone(&self.file), region: *region }))
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.files.contains_key(name)
    }

    /// Size of a file in bytes; 0 where there is none.
    pub(super) fn size(&self, name: &str) -> u64 {
        self.files.get(name).map_or(0, |region| region.bytes)
    }

    /// Names and sizes of the files of a folder.
    pub(super) fn files(&self, folder: &str) -> Vec<(String, u64)> {
        let inside = |name: &String| match folder {
            "" => Some(name.clone()),
            folder => Some(name.strip_prefix(folder)?.strip_prefix('/')?.to_owned()),
        };
        let files = self.files.iter().filter_map(|(name, region)| Some((inside(name)?, region.bytes)));
        files.filter(|(name, _)| !name.contains('/')).collect()
    }
}

fn damaged(why: &str) -> io::Error {
    io::Error::other(format!("its index is damaged ({why})"))
}

/// A region of a file.
#[derive(Debug)]
struct PackRegion {
    file: Arc<File>,
    region: Region,
}

impl ReadAt for PackRegion {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let rest = self.region.bytes.saturating_sub(offset);
        let count = usize::try_from(rest).unwrap_or(usize::MAX).min(buffer.len());
        let at = self.region.at.saturating_add(offset);
        ReadAt::read_at(&*self.file, buffer.get_mut(..count).unwrap_or_default(), at)
    }

    fn size(&self) -> io::Result<u64> {
        Ok(self.region.bytes)
    }
}

/// Whether a file that begins with `head` may be a packed capture.
pub fn is_packed(head: &[u8]) -> bool {
    head.starts_with(&crate::frames::MAGIC)
}
