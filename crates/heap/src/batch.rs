//! Reads many block groups with few system calls: adjacent groups are read as one piece. Owns what
//! goes into a batch, and how threads share batches. Memory is read into one buffer per thread and
//! not kept.

use crate::blocks::{BlockGroup, Groups};
use crate::descriptor::BLOCK;
use crate::memory::Memory;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// Bytes of a batch: small enough to stay in a processor's cache while it is scanned.
const BYTES: u64 = 256 << 10;
/// Largest group that is read as part of a batch, bytes: groups of movable objects are smaller.
const GROUP_MAX: u64 = 1 << 20;
/// Pieces of a batch: fewer than one system call accepts.
const PIECES: usize = 512;

/// Numbers of the groups that are read together.
pub type Batch = Range<usize>;

/// Splits all `groups` into batches.
pub fn batches(groups: &Groups) -> Vec<Batch> {
    let mut batches: Vec<Batch> = Vec::new();
    let mut bytes = 0;
    for (number, group) in groups.iter().enumerate() {
        let span = group.used_bytes().next_multiple_of(BLOCK);
        match batches.last_mut().filter(|last| bytes + span <= BYTES && last.len() < PIECES) {
            Some(last) => last.end = number + 1,
            None => {
                batches.push(number..number + 1);
                bytes = 0;
            }
        }
        bytes += span;
    }
    batches
}

/// Runs `work` on at most `threads` threads. Each takes the next number below `count` until there
/// are none left.
pub fn in_parallel<T: Send>(
    count: usize,
    threads: usize,
    work: impl Fn(&mut dyn Iterator<Item = usize>) -> T + Sync,
) -> Vec<T> {
    let next = AtomicUsize::new(0);
    let one = || work(&mut std::iter::from_fn(|| Some(next.fetch_add(1, Relaxed)).filter(|number| *number < count)));
    let threads = threads.min(count).max(1);
    std::thread::scope(|scope| {
        let others: Vec<_> = (1..threads).map(|_| scope.spawn(one)).collect();
        let own = one();
        // Another thread ends without a result only where this one would, too.
        std::iter::once(own).chain(others.into_iter().filter_map(|other| other.join().ok())).collect()
    })
}

/// Reads memory into one thread's buffer.
pub struct BatchReader<'m, M> {
    memory: &'m M,
    words: Vec<u64>,
    pieces: Vec<Range<u64>>,
}

impl<'m, M: Memory> BatchReader<'m, M> {
    pub fn new(memory: &'m M) -> BatchReader<'m, M> {
        BatchReader { memory, words: Vec::new(), pieces: Vec::new() }
    }

    /// Calls `each` with the used words of each group of the batch; `None`: they can no longer be read.
    pub fn batch(&mut self, groups: &Groups, batch: &Batch, mut each: impl FnMut(usize, &BlockGroup, Option<&[u64]>)) {
        let all = || batch.clone().filter_map(|number| Some((number, groups.get(number)?)));
        let wanted = || all().filter(|(_, group)| group.used_bytes() <= GROUP_MAX);
        all().filter(|(_, group)| group.used_bytes() > GROUP_MAX).for_each(|(number, group)| each(number, group, None));
        self.pieces.clear();
        for (_, group) in wanted().filter(|(_, group)| group.start < words_end(group)) {
            match self.pieces.last_mut().filter(|last| last.end.next_multiple_of(BLOCK) == group.start) {
                Some(last) => last.end = words_end(group),
                None => self.pieces.push(group.start..words_end(group)),
            }
        }
        let whole = self.read();
        let (mut piece, mut before) = (0, 0);
        for (number, group) in wanted() {
            if group.start == words_end(group) {
                each(number, group, Some(&[]));
                continue;
            }
            if !whole {
                // One group is gone: read the groups one by one.
                each(number, group, self.one(group.start..words_end(group)));
                continue;
            }
            while let Some(range) = self.pieces.get(piece).filter(|range| group.start >= range.end) {
                before += (range.end - range.start) / 8;
                piece += 1;
            }
            let Some(range) = self.pieces.get(piece) else { return };
            let from = (before + (group.start - range.start) / 8) as usize;
            each(number, group, self.words.get(from..from + (group.used_bytes() / 8) as usize));
        }
    }

    /// The words of a range; `None`: they can no longer be read.
    pub fn one(&mut self, range: Range<u64>) -> Option<&[u64]> {
        self.pieces.clear();
        self.pieces.push(range);
        self.read().then_some(&self.words)
    }

    fn read(&mut self) -> bool {
        let bytes: u64 = self.pieces.iter().map(|range| range.end.saturating_sub(range.start)).sum();
        self.words.resize((bytes / 8) as usize, 0);
        self.memory.read_words(&self.pieces, &mut self.words).is_ok()
    }
}

/// The end of the group's last whole word.
fn words_end(group: &BlockGroup) -> u64 {
    group.start + group.used_bytes() / 8 * 8
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Image, groups};

    const AT: u64 = 0x42_0010_4000;

    fn words(of: &[u64], number: u64) -> Vec<u64> {
        of.iter().map(|word| word + 1000 * number).collect()
    }

    #[test]
    fn groups_are_given_their_own_words_whatever_lies_between() {
        let of: Vec<u64> = (0..512).collect();
        let blocks = [words(&of, 1), words(&of, 2)].concat();
        let image = Image::default().words(AT, &blocks).words(AT + 5 * BLOCK, &words(&of, 3));
        // Two adjacent groups, one without a whole word, one farther on, and one that is gone.
        let all = [(AT, 4001), (AT + BLOCK, 16), (AT + 3 * BLOCK, 7), (AT + 5 * BLOCK, 24), (AT + 9 * BLOCK, 8)];
        for count in [4, 5] {
            let groups = groups(&all[..count]);
            let mut seen = Vec::new();
            let batches = batches(&groups);
            assert_eq!(batches, std::iter::once(0..count).collect::<Vec<_>>());
            BatchReader::new(&image).batch(&groups, &batches[0], |number, _, words| {
                seen.push((number, words.map(<[u64]>::len), words.and_then(|words| words.first().copied())));
            });
            let expected = [
                (0, Some(500), Some(1000)),
                (1, Some(2), Some(2000)),
                (2, Some(0), None),
                (3, Some(3), Some(3000)),
                (4, None, None),
            ];
            assert_eq!(seen, expected[..count]);
        }
    }

    #[test]
    fn batches_are_shared_by_threads_and_none_is_left_out() {
        let all: Vec<(u64, u64)> = (0..1000).map(|number| (AT + number * BLOCK, BLOCK)).collect();
        let batches = batches(&groups(&all));
        assert_eq!(batches.len(), 1000_usize.div_ceil(64));
        let mut seen: Vec<usize> = in_parallel(batches.len(), 3, |numbers| {
            numbers.flat_map(|number| batches[number].clone()).collect::<Vec<_>>()
        })
        .concat();
        seen.sort_unstable();
        assert_eq!(seen, (0..1000).collect::<Vec<_>>());
        assert_eq!(in_parallel(0, 2, |numbers| numbers.count()), [0]);
    }
}
