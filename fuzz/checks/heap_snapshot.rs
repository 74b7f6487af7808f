//! Any bytes as a heap snapshot: it is read or counts as lost, its map is valid, and writing and
//! reading it again gives the same.

use rtscope_decode::capture::heaps::parse;
use rtscope_model::heap::{Heap, MARKS};

/// Entries that the bounding below keeps.
const MOST: usize = 3;

/// # Panics
/// If a check fails.
pub fn check(bytes: &[u8]) {
    let mut heap = match parse("heap/0.json", bytes) {
        Ok(heap) => heap,
        Err(loss) => return assert!(loss.note.starts_with("heap/0.json ")),
    };
    assert!(heap.megablocks.iter().all(|megablock| megablock.blocks.chars().count() == MARKS));
    assert_eq!(parse("heap/0.json", &written(&heap)), Ok(heap.clone()));
    heap.shorten(MOST);
    assert!(heap.census.len() <= MOST + 1 && heap.holders.len() <= MOST + 1);
    assert_eq!(parse("heap/0.json", &written(&heap)), Ok(heap));
}

fn written(heap: &Heap) -> Vec<u8> {
    serde_json::to_vec(heap).expect("a document of plain keys")
}
