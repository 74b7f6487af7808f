//! `heap/N.json`: the heap of one process at one moment, written by the recorder or forged. Owns the limits of what
//! is accepted; the keys are [`rtscope_model::heap`]'s.

use rtscope_model::heap::{self, Heap, MARKS};
use rtscope_model::{Loss, LossKind};

/// A recorder writes no larger ones.
pub const BYTES_MAX: u64 = 64 << 20;
/// Limit of JSON values in one snapshot. Commas separate them, and each costs memory.
const VALUES_MAX: usize = 1 << 20;

/// Reads the snapshot called `name`.
///
/// # Errors
/// It is not a snapshot, or of a later version: a loss that says which.
pub fn parse(name: &str, bytes: &[u8]) -> Result<Heap, Loss> {
    if bytes.len() as u64 > BYTES_MAX || memchr::memchr_iter(b',', bytes).count() >= VALUES_MAX {
        return Err(loss(name, "is larger than any snapshot that a recorder writes"));
    }
    let mut heap: Heap = serde_json::from_slice(bytes)
        .map_err(|error| loss(name, &format!("could not be read as a snapshot of a heap ({error})")))?;
    if heap.schema != heap::SCHEMA {
        return Err(loss(name, "has a format that this version does not know"));
    }
    let is_mark = |mark: u8| mark == b' ' || mark.is_ascii_graphic();
    let is_whole = |blocks: &str| blocks.len() == MARKS && blocks.bytes().all(is_mark);
    if !heap.megablocks.iter().all(|megablock| is_whole(&megablock.blocks)) {
        heap.megablocks = Vec::new();
        heap.doubts.push("The map is damaged and left out: a megablock in it has not 256 marks.".into());
    }
    Ok(heap)
}

/// The loss for `name`, which is not a snapshot; `is` says what is wrong.
pub(super) fn loss(name: &str, is: &str) -> Loss {
    Loss::new(name, LossKind::Damaged, 1, format!("{name} {is} and was skipped"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rtscope_model::Time;
    use rtscope_model::heap::{Entry, HeapLine, Megablock, Part};

    fn heap() -> Heap {
        let line = HeapLine { line: "objects".into(), part: Part::CopyReserve, bytes: 5, how: "so".into() };
        let entry = Entry { name: ":".into(), kind: "CONSTR".into(), count: 2, bytes: 48 };
        Heap {
            schema: heap::SCHEMA.into(),
            of: "process 7".into(),
            time: Some(Time(12)),
            rss_bytes: Some(1 << 20),
            unexplained_bytes: Some(-3),
            ledger: vec![line],
            census: vec![entry],
            megablocks: vec![Megablock { address: 0x42_0000_0000, blocks: "=o.L5 ,n".repeat(32) }],
            ..Heap::default()
        }
    }

    fn bytes(heap: &Heap) -> Vec<u8> {
        serde_json::to_vec(heap).unwrap()
    }

    #[test]
    fn what_is_written_is_read() {
        assert_eq!(parse("heap/0.json", &bytes(&heap())), Ok(heap()));
        // Keys of later recorders are skipped; missing ones are unknown.
        let found = parse("heap/0.json", br#"{"schema":"rtscope/heap/1","heap_bytes":7,"new":[1,{}]}"#).unwrap();
        assert_eq!((found.heap_bytes, found.rss_bytes, found.scan), (7, None, None));
    }

    #[test]
    fn what_is_none_is_a_loss_with_its_place() {
        let whole = bytes(&heap());
        for end in 0..whole.len() {
            let lost = parse("heap/3.json", &whole[..end]).unwrap_err();
            assert_eq!((lost.source.as_str(), lost.kind), ("heap/3.json", LossKind::Damaged));
            assert!(lost.note.contains("line 1 column"), "{}", lost.note);
        }
        let deep = [b"{\"kinds\":".to_vec(), vec![b'['; 100_000]].concat();
        for hostile in [&b"\xff\xfe"[..], b"{\"schema\":\"rtscope/heap/1\",\"heap_bytes\":-1}", &deep] {
            assert!(parse("x", hostile).unwrap_err().note.contains("column"));
        }
        for later in [&br#"{"schema":"rtscope/heap/9"}"#[..], b"{}", b"[]"] {
            assert!(parse("x", later).unwrap_err().note.contains("format"));
        }
    }

    #[test]
    fn more_values_than_a_recorder_writes_are_not_taken_into_memory() {
        let many = [b"{\"doubts\":[\"\"".to_vec(), b",\"\"".repeat(VALUES_MAX), b"]}".to_vec()].concat();
        assert!(parse("x", &many).unwrap_err().note.contains("larger"));
    }

    #[test]
    fn a_map_that_is_none_is_left_out_with_a_note() {
        for blocks in ["=".repeat(255), "=".repeat(257), "é".repeat(128), format!("{}\x1b", "=".repeat(255))] {
            let wrong = Heap { megablocks: vec![Megablock { address: 0, blocks }], ..heap() };
            let read = parse("x", &bytes(&wrong)).unwrap();
            assert_eq!((read.megablocks.len(), read.doubts.len(), read.census), (0, 1, heap().census));
        }
    }
}
