//! Lane time by part, and the samples taken in it. Owns the sums; the difference of two is an interval.

use super::part::{AccountPart, Keeper};
use rtscope_model::{CodeSample, LaneId, NameId, PurposeId, SymbolId};
use std::collections::BTreeMap;

/// Names of other processes that are summed separately.
const NAMES_MAX: usize = 256;
/// Places in the code that are summed separately.
const PLACES_MAX: usize = 65_536;

/// Waking a thread takes less where a CPU is idle, even from its deepest sleep and on a virtual machine.
const BRIEF_NS: u64 = 1_000_000;

/// Where a sample was: the part, the innermost place, the innermost place outside the kernel, and the purpose.
pub type SampleKey = (AccountPart, SymbolId, Option<SymbolId>, Option<PurposeId>);

#[derive(Clone, Debug, Default, PartialEq)]
pub struct AccountSums {
    /// By lane and part, nanoseconds.
    pub lanes: BTreeMap<LaneId, BTreeMap<AccountPart, u64>>,
    /// Wall-clock time with at least one lane, nanoseconds.
    pub wall_ns: u64,
    /// Wall-clock time with at least one lane in each top-level part, nanoseconds.
    pub tops_ns: [u64; AccountPart::TOPS],
    /// Wall-clock time outside pauses by the number of lanes that had something to do, from zero up, nanoseconds. A
    /// lane whose state is unknown counts as having something to do.
    pub with_work_ns: Vec<u64>,
    /// The part of `with_work_ns[0]` that came in spells of at most [`BRIEF_NS`].
    pub no_work_briefly_ns: u64,
    /// How long no lane has had anything to do by now.
    no_work_ns: u64,
    /// CPU time that samples stand for, and their number.
    pub samples: BTreeMap<SampleKey, (u64, u64)>,
    names: usize,
}

impl AccountSums {
    /// A lane was in a part for `ns`.
    pub fn add(&mut self, lane: LaneId, part: AccountPart, ns: u64) {
        let parts = self.lanes.entry(lane).or_default();
        if let Some(sum) = parts.get_mut(&part) {
            *sum += ns;
            return;
        }
        let part = match part {
            AccountPart::NoCpu(Keeper::Other(_)) if self.names >= NAMES_MAX => {
                AccountPart::NoCpu(Keeper::Other(NameId::default()))
            }
            AccountPart::NoCpu(Keeper::Other(_)) => {
                self.names += 1;
                part
            }
            _ => part,
        };
        *parts.entry(part).or_default() += ns;
    }

    /// `lanes` lanes had something to do for `ns`.
    pub fn with_work(&mut self, lanes: usize, ns: u64) {
        self.add_with_work(lanes, ns);
        match lanes {
            0 => self.no_work_ns += ns,
            _ if ns > 0 => {
                let spell = std::mem::take(&mut self.no_work_ns);
                self.no_work_briefly_ns += if spell <= BRIEF_NS { spell } else { 0 };
            }
            _ => {}
        }
    }

    fn add_with_work(&mut self, lanes: usize, ns: u64) {
        if self.with_work_ns.len() <= lanes {
            self.with_work_ns.resize(lanes + 1, 0);
        }
        self.with_work_ns.iter_mut().skip(lanes).take(1).for_each(|sum| *sum += ns);
    }

    /// A sample fell into a part.
    pub fn sample(&mut self, part: AccountPart, sample: &CodeSample, ns: u64) {
        let key = (part, sample.leaf, sample.user, sample.purpose);
        let known = self.samples.len() < PLACES_MAX || self.samples.contains_key(&key);
        let sum = self.samples.entry(if known { key } else { (part, SymbolId::default(), None, None) }).or_default();
        (sum.0, sum.1) = (sum.0 + ns, sum.1 + 1);
    }

    /// Adds the sums of another interval.
    pub fn and(&mut self, other: &AccountSums) {
        for (lane, parts) in &other.lanes {
            parts.iter().for_each(|(part, ns)| self.add(*lane, *part, *ns));
        }
        self.wall_ns += other.wall_ns;
        self.tops_ns.iter_mut().zip(other.tops_ns).for_each(|(sum, ns)| *sum += ns);
        other.with_work_ns.iter().enumerate().for_each(|(lanes, ns)| self.add_with_work(lanes, *ns));
        self.no_work_briefly_ns += other.no_work_briefly_ns;
        for (found, (ns, samples)) in &other.samples {
            let sum = self.samples.entry(*found).or_default();
            (sum.0, sum.1) = (sum.0 + ns, sum.1 + samples);
        }
    }

    /// Lane time, nanoseconds.
    pub fn ns(&self) -> u64 {
        self.lanes.values().flat_map(BTreeMap::values).sum()
    }

    /// The kernel's events do not fit the log: everything that rested on them becomes unknown.
    pub fn without_kernel(&mut self) {
        for parts in self.lanes.values_mut() {
            for (part, ns) in std::mem::take(parts) {
                *parts.entry(part.without_kernel()).or_default() += ns;
            }
        }
        self.tops_ns = [0; AccountPart::TOPS];
        self.with_work_ns.clear();
        self.no_work_briefly_ns = 0;
        self.samples.clear();
    }

    /// By part, over all lanes.
    pub fn parts(&self) -> BTreeMap<AccountPart, u64> {
        let mut all = BTreeMap::new();
        for (part, ns) in self.lanes.values().flatten() {
            *all.entry(*part).or_default() += ns;
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spells_without_work_are_brief_or_are_not() {
        let mut sums = AccountSums::default();
        // Two adjacent pieces are one spell; the last spell has not ended.
        let pieces = [(2, 10), (0, 300_000), (0, 700_000), (1, 10), (0, 600_000), (0, 400_001), (1, 10), (0, 5)];
        pieces.into_iter().for_each(|(lanes, ns)| sums.with_work(lanes, ns));
        assert_eq!((sums.no_work_briefly_ns, sums.with_work_ns[0]), (1_000_000, 2_000_006));
        let mut both = sums.clone();
        both.and(&sums);
        assert_eq!((both.no_work_briefly_ns, both.with_work_ns[0]), (2_000_000, 4_000_012));
    }
}
