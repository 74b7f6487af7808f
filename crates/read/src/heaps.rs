//! Heap snapshots of a capture: how many are loaded into memory, and which one `--at` selects. `decode` reads
//! their content.

use rtscope_analyze::results::heaps::peak;
use rtscope_decode::capture::Capture;
use rtscope_model::Loss;
use rtscope_model::heap::Heap;
use rtscope_terminal::style::clean;
use rtscope_terminal::user_error::UserError;

/// Limits of what is loaded into memory: snapshots, and bytes of their files. Beyond them, every n-th is loaded.
const SNAPSHOTS_MAX: usize = 512;
const BYTES_MAX: u64 = 256 << 20;

/// The loaded snapshots of a capture.
#[derive(Debug, Default)]
pub struct LoadedHeaps {
    /// Ordered by time.
    pub heaps: Vec<Heap>,
    /// Snapshots not loaded because there are too many.
    pub left_out: u64,
    /// Files that are no valid snapshots.
    pub losses: Vec<Loss>,
}

/// Loads the snapshots of a capture; with `pid`, only those of that process.
pub fn load(capture: &Capture, pid: Option<u32>) -> LoadedHeaps {
    let sized = |name: String| {
        let size = capture.folder().size(&name);
        (name, size)
    };
    let names: Vec<_> = capture.heap_names().into_iter().map(sized).collect();
    let chosen = thinned(&names);
    let mut kept = LoadedHeaps { left_out: (names.len() - chosen.len()) as u64, ..LoadedHeaps::default() };
    for name in chosen {
        match capture.heap(name) {
            Ok(heap) => kept.heaps.push(heap),
            Err(loss) => kept.losses.push(loss),
        }
    }
    let of = pid.map(|pid| format!("process {pid}"));
    kept.heaps.retain(|heap| of.as_ref().is_none_or(|of| heap.of == *of));
    kept.heaps.sort_by_key(|heap| heap.time);
    kept
}

/// Every n-th name, always with the last, so that number and bytes stay within bounds.
fn thinned(names: &[(String, u64)]) -> Vec<&str> {
    let bytes = names.iter().fold(0, |sum: u64, (_, size)| sum.saturating_add(*size));
    let every = names.len().div_ceil(SNAPSHOTS_MAX).max(bytes.div_ceil(BYTES_MAX) as usize).max(1);
    let mut room = BYTES_MAX;
    let mut chosen = Vec::new();
    for (name, size) in names.iter().rev().step_by(every) {
        if let Some(rest) = room.checked_sub(*size) {
            room = rest;
            chosen.push(name.as_str());
        }
    }
    chosen.reverse();
    chosen
}

/// Selects a snapshot of a capture.
#[derive(Copy, Clone, Eq, PartialEq, Debug, Default)]
pub enum At {
    /// The last one.
    #[default]
    Last,
    /// The one with the largest resident memory.
    Peak,
    /// The one in `heap/N.json`.
    Number(u64),
}

/// Parses `last`, `peak` or a number.
pub fn at(text: &str) -> Result<At, String> {
    match text {
        "last" => Ok(At::Last),
        "peak" => Ok(At::Peak),
        _ => text.parse().map(At::Number).map_err(|_| "give last, peak or the number N of heap/N.json".to_owned()),
    }
}

/// The selected snapshot, and a line that says which one it is.
pub fn choose(capture: &Capture, at: At) -> Result<(Heap, String), UserError> {
    let names = capture.heap_names();
    let path = capture.path().display();
    if names.is_empty() {
        return Err(UserError::new(format!("{path} holds no snapshot of a heap"))
            .because(none_because(capture))
            .next("`rtscope record --heap-every 1s` keeps one each second"));
    }
    let (heap, which) = match at {
        At::Last => (names.iter().rev().find_map(|name| read(capture, name)), "the last".to_owned()),
        At::Peak => (peak(&load(capture, None).heaps).cloned(), "the largest".to_owned()),
        At::Number(number) => {
            let wanted = format!("heap/{number}.json");
            let name = names.iter().find(|name| **name == wanted).ok_or_else(|| {
                let [first, last] = [names.first(), names.last()].map(bare);
                UserError::new(format!("{path} has no snapshot {number}")).because(format!("it has {first} to {last}"))
            })?;
            (read(capture, name), format!("number {number}"))
        }
    };
    let heap = heap.ok_or_else(|| UserError::new(format!("no snapshot in {path} can be read")))?;
    let after = heap.time.map_or(String::new(), |time| {
        let ns = time.since(capture.manifest().started);
        format!(" {} after the start,", rtscope_model::units::duration(ns))
    });
    let count = rtscope_model::units::counted(names.len() as u64, "snapshot", "snapshots");
    Ok((heap, format!("{path}: {which} of {count},{after} see --at")))
}

fn none_because(capture: &Capture) -> String {
    let note = capture.manifest().notes.iter().find(|note| note.contains("heap"));
    note.map_or_else(|| "none was asked for".into(), |note| clean(note).into_owned())
}

/// The number in a file name: 12 for `heap/12.json`.
fn bare(name: Option<&String>) -> &str {
    name.map_or("", |name| name.trim_start_matches("heap/").trim_end_matches(".json"))
}

fn read(capture: &Capture, name: &str) -> Option<Heap> {
    capture.heap(name).map_err(|loss| eprintln!("rtscope: {}", clean(&loss.note))).ok()
}

/// Removes control sequences for terminals: a snapshot from elsewhere may hold anything.
pub fn cleaned(mut heap: Heap) -> Heap {
    let wash = |text: &mut String| *text = clean(text).into_owned();
    wash(&mut heap.of);
    heap.compiler.iter_mut().chain(&mut heap.doubts).for_each(wash);
    heap.ledger.iter_mut().for_each(|line| [&mut line.line, &mut line.how].into_iter().for_each(wash));
    heap.kinds.iter_mut().for_each(|kind| wash(&mut kind.kind));
    heap.holders.iter_mut().for_each(|holder| wash(&mut holder.name));
    heap.census.iter_mut().for_each(|entry| [&mut entry.name, &mut entry.kind].into_iter().for_each(wash));
    heap.pinned.worst.iter_mut().filter_map(|worst| worst.holder.as_mut()).for_each(wash);
    heap
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(sizes: impl Iterator<Item = u64>) -> Vec<(String, u64)> {
        sizes.enumerate().map(|(number, size)| (number.to_string(), size)).collect()
    }

    #[test]
    fn of_too_many_every_nth_is_taken_and_the_last_always() {
        let few = names((0..512).map(|_| 1));
        assert_eq!(thinned(&few).len(), 512);
        let many = names((0..1025).map(|_| 1));
        let chosen = thinned(&many);
        assert_eq!((chosen.len(), chosen.first(), chosen.last()), (342, Some(&"1"), Some(&"1024")));
        let large = names((0..100).map(|_| 10 << 20));
        assert_eq!(thinned(&large).len(), 25);
        let one = names([1, 300 << 20, 2].into_iter());
        assert_eq!(thinned(&one), ["0", "2"]);
        assert_eq!(thinned(&[]), [""; 0]);
    }

    #[test]
    fn which_one_is_given_by_word_or_number() {
        assert_eq!((at("last"), at("peak"), at("12")), (Ok(At::Last), Ok(At::Peak), Ok(At::Number(12))));
        assert!(at("-1").unwrap_err().contains("heap/N.json"));
    }

    #[test]
    fn nothing_that_a_terminal_would_obey_is_left() {
        let evil = "\x1b[31mx".to_owned();
        let heap = Heap {
            of: evil.clone(),
            doubts: vec![evil.clone()],
            holders: vec![rtscope_model::heap::PinHolder { name: evil, ..Default::default() }],
            ..Heap::default()
        };
        let heap = cleaned(heap);
        assert!([&heap.of, &heap.doubts[0], &heap.holders[0].name].iter().all(|text| !text.contains('\x1b')));
    }
}
