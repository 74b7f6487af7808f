//! `unflushed/P-C.S`: what the recorder copied from a program's event buffers before the program had written it. Owns
//! names and framing; the events inside are `ghc_eventlog`'s. A block here may also be in the log, if the program
//! wrote it later: same capability and same open time. The log's copy wins then.

use super::Folder;
use rtscope_model::LogTime;

/// Folder of these blocks.
const WITHIN: &str = "unflushed";

const MARKER_BYTES: usize = 24;
const BLOCK_MAX: u64 = 16 << 20;

/// The start of a block that was copied from memory.
#[derive(Clone, Eq, PartialEq, Debug)]
pub struct UnflushedBlock {
    /// Capability; 0xffff: the global buffer.
    pub capability: u16,
    /// When the block was opened: the time of its marker.
    pub opened: LogTime,
    /// The block from its open marker (size field 0) on; may end inside an event.
    pub bytes: Vec<u8>,
}

/// Process and capability of a slot file's name.
pub(super) fn parse_name(name: &str) -> Option<(u32, u16)> {
    let (pid, rest) = name.split_once('-')?;
    let (capability, slot) = rest.split_once('.')?;
    let capability = if capability == "g" { u16::MAX } else { capability.parse().ok()? };
    matches!(slot, "0" | "1").then_some((pid.parse().ok()?, capability))
}

/// Processes that have blocks in a capture, ascending.
pub(super) fn pids(folder: &Folder) -> Vec<u32> {
    let names = folder.files(WITHIN).into_iter();
    let mut pids: Vec<u32> = names.filter_map(|(name, _)| Some(parse_name(&name)?.0)).collect();
    pids.sort_unstable();
    pids.dedup();
    pids
}

/// The files of one process's blocks: capability and file name.
pub(super) fn files(folder: &Folder, pid: u32) -> Vec<(u16, String)> {
    let file = |(name, _): (String, u64)| {
        let (of, capability) = parse_name(&name)?;
        (of == pid).then(|| (capability, format!("{WITHIN}/{name}")))
    };
    folder.files(WITHIN).into_iter().filter_map(file).collect()
}

/// The blocks of one process by capability and time. Files without a whole open marker are left out: the recorder was
/// killed while it wrote them.
pub(super) fn blocks(folder: &Folder, pid: u32) -> Vec<UnflushedBlock> {
    let files = files(folder, pid).into_iter();
    let mut blocks: Vec<UnflushedBlock> =
        files.filter_map(|(capability, name)| block(folder, &name, capability)).collect();
    blocks.sort_by_key(|block| (block.capability, block.opened));
    blocks
}

fn block(folder: &Folder, name: &str, capability: u16) -> Option<UnflushedBlock> {
    let bytes = folder.start_of(name, BLOCK_MAX).ok()?;
    let marker = bytes.get(..MARKER_BYTES)?;
    let opened = u64::from_be_bytes(marker.get(2..10)?.try_into().ok()?);
    (marker.get(..2)? == [0, 18]).then_some(UnflushedBlock { capability, opened: LogTime(opened), bytes })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(opened: u64, events: &[u8]) -> Vec<u8> {
        [&[0, 18][..], &opened.to_be_bytes(), &[0; 14], events].concat()
    }

    #[test]
    fn blocks_come_by_capability_and_time_and_broken_files_are_left_out() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join(WITHIN)).unwrap();
        for (name, content) in [
            ("7-0.0", bytes(200, b"b")),
            ("7-0.1", bytes(100, b"a")),
            ("7-g.0", bytes(50, b"")),
            ("7-1.0", b"\0\x12cut".to_vec()),
            ("7-2.0", vec![9; 100]),
            ("8-0.0", bytes(1, b"")),
            ("x-0.0", bytes(1, b"")),
            ("7-0.2", bytes(1, b"")),
        ] {
            std::fs::write(folder.path().join(WITHIN).join(name), content).unwrap();
        }
        let folder = Folder::open(folder.path()).unwrap();
        let found = blocks(&folder, 7);
        let keys: Vec<_> = found.iter().map(|block| (block.capability, block.opened.0)).collect();
        assert_eq!(keys, [(0, 100), (0, 200), (u16::MAX, 50)]);
        assert!(found[0].bytes.ends_with(b"a"));
        assert_eq!(pids(&folder), [7, 8]);
    }
}
