//! How large GHC's nurseries and its heap may be. Owns the sizes; refuses to know how flags are spelled.

use crate::plan::Goal;
use crate::plan::memory::Sizes;
use rtscope_model::Version;

const MIB: u64 = 1 << 20;
/// All nurseries together use at most a fifth of memory.
pub const NURSERIES: Sizes = Sizes { planned: &[64 * MIB, 16 * MIB, 4 * MIB, MIB], unit: 1, part: 5 };
/// Smallest heap limit that a plan gives, bytes.
const HEAP_MIN: u64 = 64 * MIB;

/// Nursery sizes worth a trial in addition to the planned one, bytes.
pub fn other_nurseries(workers: u32, planned: u64, memory: Option<u64>) -> Vec<u64> {
    NURSERIES.others([4 * MIB, 16 * MIB, 64 * MIB, 128 * MIB].into_iter(), workers, planned, memory)
}

/// A heap limit in whole MiB, below a control group's limit; `None`: too little remains.
pub fn heap_limit_mib(limit: u64) -> Option<u64> {
    // Times 100, so that the percentage is exact.
    let limit = u128::from(limit) * 100;
    let kept_back = (limit * 15 / 100).max(u128::from(64 * MIB) * 100);
    let left = limit.saturating_sub(kept_back);
    (left >= u128::from(HEAP_MIN) * 100).then(|| u64::try_from(left / (u128::from(MIB) * 100)).unwrap_or(u64::MAX))
}

/// The nursery size for `goal`, bytes; `default` is the default of the program's GHC version.
pub fn nursery_wanted(goal: Goal, default: Option<u64>) -> u64 {
    match goal {
        Goal::Latency => 16 * MIB,
        Goal::Throughput => 64 * MIB,
        Goal::Memory => default.unwrap_or(4 * MIB),
    }
}

/// GHC's default nursery size, if the version is known.
pub fn nursery_default(version: Option<Version>) -> Option<u64> {
    version.map(|version| if version >= (9, 2, 0) { 4 * MIB } else { MIB })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::memory::Choice;

    #[test]
    fn nurseries_take_at_most_a_fifth() {
        let of =
            |workers, wanted, memory: Option<u64>| NURSERIES.choose(workers, wanted * MIB, memory.map(|mib| mib * MIB));
        assert_eq!(of(4, 16, None).size, 16 * MIB);
        assert_eq!(of(4, 16, Some(320)), Choice { size: 16 * MIB, too_large: false, for_memory: false });
        assert_eq!(of(4, 16, Some(319)), Choice { size: 4 * MIB, too_large: false, for_memory: true });
        assert_eq!(of(4, 64, Some(1280)).size, 64 * MIB);
        assert_eq!(of(4, 64, Some(1279)).size, 16 * MIB);
        assert_eq!(of(4, 16, Some(20)).size, MIB);
        assert_eq!(of(4, 16, Some(19)), Choice { size: MIB, too_large: true, for_memory: true });
        assert_eq!(of(1, 1, None), Choice { size: MIB, too_large: false, for_memory: false });
        assert_eq!(NURSERIES.choose(u32::MAX, u64::MAX, Some(0)).size, MIB);
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
    }
}
