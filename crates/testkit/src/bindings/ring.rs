//! Reads what a program left in its rings after it ended: user events and the lifetimes of domains. A
//! second reader next to the decoder's, for complete files that lost nothing; no recovery here.

use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

const WORD: usize = 8;
const NAME_BYTES: usize = 128;

/// The content of an event.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    Begin(String),
    End(String),
    Mark(String),
    Value(String, i64),
    /// The lane's domain has started.
    Spawned,
    Ended,
}

/// Events of one lane, oldest first, without the runtime's phases and counters.
pub type LaneEvents = Vec<Event>;

/// The ring files in a folder.
pub fn files(folder: &Path) -> Vec<PathBuf> {
    let mut files: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.extension().is_some_and(|ending| ending == "events"));
    files.sort();
    files
}

/// All lanes of the only ring file in `folder`.
pub fn only(folder: &Path) -> Vec<LaneEvents> {
    let files = files(folder);
    assert_eq!(files.len(), 1, "{files:?}");
    lanes(&files[0])
}

/// All lanes of a ring file. The file is sparse: only the written parts are read.
pub fn lanes(path: &Path) -> Vec<LaneEvents> {
    let file = File::open(path).unwrap();
    let bytes = |at: usize, count: usize| {
        let mut bytes = vec![0; count];
        file.read_exact_at(&mut bytes, at as u64).unwrap();
        bytes
    };
    let words = |at: usize, count: usize| -> Vec<u64> {
        let bytes = bytes(at, count * WORD);
        bytes.chunks_exact(WORD).map(|word| u64::from_le_bytes(word.try_into().unwrap())).collect()
    };
    let field: Vec<usize> = words(0, 8).into_iter().map(|word| word as usize).collect();
    let [_, count, header_bytes, ring_bytes, ring_words, headers, data, names] = field[..] else { unreachable!() };
    let name = |id: u64| {
        let entry = bytes(names + id as usize * NAME_BYTES, NAME_BYTES);
        let end = entry.iter().position(|byte| *byte == 0).unwrap_or(NAME_BYTES);
        String::from_utf8(entry[..end].to_vec()).unwrap()
    };
    let lane = |slot: usize| {
        let ends = words(headers + slot * header_bytes, 2);
        assert!(ends[0] == 0 && ends[1] <= ring_words as u64, "ring {slot} has lost what it began with");
        events(&words(data + slot * ring_bytes, ends[1] as usize), &name)
    };
    (0..count).map(lane).collect()
}

/// The events in a ring's words, from the first event on.
fn events(words: &[u64], name: &dyn Fn(u64) -> String) -> LaneEvents {
    let mut lane = Vec::new();
    let mut rest = words;
    while let [event, ..] = rest {
        let (event, length) = (*event, (*event >> 54) as usize);
        let (user, kind, id) = (event >> 53 & 1 == 1, event >> 49 & 15, event >> 36 & 0x1fff);
        match (user, kind, id) {
            (true, 0, _) => lane.push(Event::Mark(name(id))),
            (true, 1, _) => lane.push(Event::Value(name(id), rest[2] as i64)),
            (true, 2, _) => lane.push(Event::Begin(name(id))),
            (true, 3, _) => lane.push(Event::End(name(id))),
            (false, 1, 6) => lane.push(Event::Spawned),
            (false, 1, 7) => lane.push(Event::Ended),
            _ => {}
        }
        assert_ne!(length, 0, "an event without a length");
        rest = &rest[length..];
    }
    lane
}

/// The threads that report serving a lane, in order.
pub fn threads(lane: &[Event]) -> Vec<i64> {
    let thread = |event: &Event| match event {
        Event::Value(name, id) if name == "rtscope.thread" => Some(*id),
        _ => None,
    };
    lane.iter().filter_map(thread).collect()
}

/// The events that the program itself posted.
pub fn own(lane: &[Event]) -> LaneEvents {
    let own = |event: &&Event| match event {
        Event::Spawned | Event::Ended => false,
        Event::Value(name, _) => name != "rtscope.thread",
        _ => true,
    };
    lane.iter().filter(own).cloned().collect()
}
