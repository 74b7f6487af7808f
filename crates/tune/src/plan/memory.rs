//! How large nurseries, minor heaps and the whole heap may be. Owns the sizes and
//! shares; refuses to know flags' spelling.

use super::Goal;
use rtscope_model::Version;

const MIB: u64 = 1 << 20;
/// Nursery sizes that are planned, largest first.
const NURSERIES: [u64; 4] = [64 * MIB, 16 * MIB, 4 * MIB, MIB];
/// All nurseries together take at most this part of memory.
const NURSERY_PART: u64 = 5;
/// Minor heaps that are planned, words, largest first.
const MINOR_HEAPS: [u64; 5] = [8 << 20, 4 << 20, 1 << 20, 256 << 10, 32 << 10];
/// All minor heaps together take at most this part of memory.
const MINOR_PART: u64 = 10;
/// OCaml's own minor heap, words.
pub const MINOR_DEFAULT: u64 = 256 << 10;
const WORD: u64 = 8;
/// Less heap than this is no plan.
const HEAP_MIN: u64 = 64 * MIB;

/// The size that was chosen, and whether it keeps to its share of memory.
#[derive(Copy, Clone, Eq, PartialEq, Debug)]
pub struct Choice {
    /// Bytes of a nursery, words of a minor heap.
    pub size: u64,
    /// No size fitted: this is the smallest.
    pub too_large: bool,
    /// Memory, not what was wanted, decided.
    pub for_memory: bool,
}

/// A nursery of at most `wanted` bytes for each of `workers`.
pub fn nursery(workers: u32, wanted: u64, memory: Option<u64>) -> Choice {
    choose(&NURSERIES, wanted, u64::from(workers) * NURSERY_PART, memory)
}

/// A minor heap of at most `wanted` words for each of `domains`.
pub fn minor_heap(domains: u32, wanted: u64, memory: Option<u64>) -> Choice {
    choose(&MINOR_HEAPS, wanted, u64::from(domains) * WORD * MINOR_PART, memory)
}

/// The largest of `sizes` that is wanted and of which `factor` times is no more than memory.
fn choose(sizes: &[u64], wanted: u64, factor: u64, memory: Option<u64>) -> Choice {
    let fits = |size: &u64| fits(*size, factor, memory);
    let mut wanted = sizes.iter().copied().filter(|size| *size <= wanted);
    let first = wanted.clone().next();
    let chosen = wanted.find(fits);
    let smallest = sizes.last().copied().unwrap_or_default();
    Choice {
        size: chosen.unwrap_or(smallest),
        too_large: chosen.is_none(),
        for_memory: chosen.is_none() || chosen != first,
    }
}

/// Sizes of nursery beside the planned one that are worth a trial, bytes.
pub fn other_nurseries(workers: u32, planned: u64, memory: Option<u64>) -> Vec<u64> {
    let fits = |size: &u64| nurseries_fit(workers, *size, memory);
    [4 * MIB, 16 * MIB, 64 * MIB, 128 * MIB].into_iter().filter(|size| *size != planned && fits(size)).collect()
}

/// Whether nurseries of `size` bytes for each of `workers` keep to their share of memory.
pub fn nurseries_fit(workers: u32, size: u64, memory: Option<u64>) -> bool {
    fits(size, u64::from(workers) * NURSERY_PART, memory)
}

/// Whether minor heaps of `size` words for each of `domains` keep to theirs.
pub fn minor_heaps_fit(domains: u32, size: u64, memory: Option<u64>) -> bool {
    fits(size, u64::from(domains) * WORD * MINOR_PART, memory)
}

fn fits(size: u64, factor: u64, memory: Option<u64>) -> bool {
    memory.is_none_or(|memory| size.saturating_mul(factor) <= memory)
}

/// Minor heaps beside the planned one that are worth a trial, words.
pub fn other_minor_heaps(domains: u32, planned: u64, memory: Option<u64>) -> Vec<u64> {
    let fits = |size: &u64| minor_heaps_fit(domains, *size, memory);
    MINOR_HEAPS.into_iter().rev().skip(1).filter(|size| *size != planned && fits(size)).collect()
}

/// A heap limit in whole MiB below a control group's limit; `None`: too little is left.
pub fn heap_limit_mib(limit: u64) -> Option<u64> {
    // Times 100, so that the percentage is exact.
    let limit = u128::from(limit) * 100;
    let kept_back = (limit * 15 / 100).max(u128::from(64 * MIB) * 100);
    let left = limit.saturating_sub(kept_back);
    (left >= u128::from(HEAP_MIN) * 100).then(|| u64::try_from(left / (u128::from(MIB) * 100)).unwrap_or(u64::MAX))
}

/// The minor heap that `goal` asks for, words.
pub fn minor_heap_wanted(goal: Goal) -> u64 {
    match goal {
        Goal::Latency => 1 << 20,
        Goal::Throughput => 4 << 20,
        Goal::Memory => MINOR_DEFAULT,
    }
}

/// The nursery that `goal` asks for, bytes; `default` is the version's own.
pub fn nursery_wanted(goal: Goal, default: Option<u64>) -> u64 {
    match goal {
        Goal::Latency => 16 * MIB,
        Goal::Throughput => 64 * MIB,
        Goal::Memory => default.unwrap_or(4 * MIB),
    }
}

/// GHC's own nursery, where its version is known.
pub fn nursery_default(version: Option<Version>) -> Option<u64> {
    version.map(|version| if version >= (9, 2, 0) { 4 * MIB } else { MIB })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nurseries_take_at_most_a_fifth() {
        let of = |workers, wanted, memory: Option<u64>| nursery(workers, wanted * MIB, memory.map(|mib| mib * MIB));
        assert_eq!(of(4, 16, None).size, 16 * MIB);
        assert_eq!(of(4, 16, Some(320)), Choice { size: 16 * MIB, too_large: false, for_memory: false });
        assert_eq!(of(4, 16, Some(319)), Choice { size: 4 * MIB, too_large: false, for_memory: true });
        assert_eq!(of(4, 64, Some(1280)).size, 64 * MIB);
        assert_eq!(of(4, 64, Some(1279)).size, 16 * MIB);
        assert_eq!(of(4, 16, Some(20)).size, MIB);
        assert_eq!(of(4, 16, Some(19)), Choice { size: MIB, too_large: true, for_memory: true });
        assert_eq!(of(1, 1, None), Choice { size: MIB, too_large: false, for_memory: false });
        assert_eq!(nursery(u32::MAX, u64::MAX, Some(0)).size, MIB);
    }

    #[test]
    fn minor_heaps_take_at_most_a_tenth() {
        // 4 domains of 1 Mi words are 32 MiB.
        assert_eq!(minor_heap(4, 1 << 20, Some(320 * MIB)).size, 1 << 20);
        assert_eq!(minor_heap(4, 1 << 20, Some(320 * MIB - 1)).size, 256 << 10);
        assert_eq!(minor_heap(4, 4 << 20, None).size, 4 << 20);
        assert_eq!(minor_heap(4, 1 << 20, Some(MIB)), Choice { size: 32 << 10, too_large: true, for_memory: true });
        assert_eq!(minor_heap(2, 256 << 10, Some(1 << 30)).size, 256 << 10);
    }

    #[test]
    fn the_heap_limit_leaves_room_for_what_is_not_heap() {
        assert_eq!(heap_limit_mib(512 * MIB), Some(435));
        assert_eq!(heap_limit_mib(1 << 30), Some(870));
        assert_eq!(heap_limit_mib(400 * MIB), Some(336));
        assert_eq!(heap_limit_mib(128 * MIB), Some(64));
        assert_eq!(heap_limit_mib(128 * MIB - 1), None);
        assert_eq!(heap_limit_mib(0), None);
        assert_eq!(heap_limit_mib(u64::MAX), Some(14_953_358_137_753), "no overflow");
    }

    #[test]
    fn the_default_follows_the_version() {
        assert_eq!(nursery_default(Some((9, 0, 2))), Some(MIB));
        assert_eq!(nursery_default(Some((9, 2, 1))), Some(4 * MIB));
        assert_eq!(nursery_wanted(Goal::Memory, nursery_default(None)), 4 * MIB);
    }

    #[test]
    fn trials_keep_to_the_same_share() {
        assert_eq!(other_nurseries(4, 16 * MIB, Some(16 << 30)), [4 * MIB, 64 * MIB, 128 * MIB]);
        assert_eq!(other_nurseries(4, 16 * MIB, Some(512 * MIB)), [4 * MIB]);
        assert_eq!(other_minor_heaps(4, 1 << 20, None), [256 << 10, 4 << 20, 8 << 20]);
    }
}
