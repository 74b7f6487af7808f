//! Estimates the origin of page faults where no sample shows it. Owns two estimates. Entering the kernel and finding
//! the mapping are part of faults of every kind, so their time is shared out among the kinds. Of memory touched for
//! the first time, whatever exceeds the program's peak resident size is memory that it had before and had given back.

use rtscope_model::code::{FIRST_TOUCH, GIVEN_BACK, PAGE_FAULT};
use std::collections::BTreeMap;

/// By id and name: CPU time and samples.
pub(super) type Groups = BTreeMap<(String, String), (u64, u64)>;

/// Id and name of the kernel's work for a thread that entered it this way.
pub(super) fn kernel(entry: &str) -> (String, String) {
    (format!("kernel:{entry}"), format!("the kernel: {entry}"))
}

/// What one fault maps, except with huge pages: then there are fewer faults, and less counts as given back.
const PAGE_BYTES: u64 = 4096;

/// The share of first touches that hit memory given back before, among `minor` faults that found memory. `share` of
/// them (0 to 1) are first touches, and `resident_max` bytes are the peak resident size.
pub fn given_back(minor: u64, share: f64, resident_max: u64) -> f64 {
    let touched = minor as f64 * share;
    let first = (resident_max / PAGE_BYTES) as f64;
    if touched > 0.0 { ((touched - first) / touched).max(0.0) } else { 0.0 }
}

/// Shares out the cost common to all faults, then divides first touches.
pub(super) fn settle(groups: &mut Groups, given_back: f64) {
    let kinds = format!("{}, ", kernel(PAGE_FAULT).0);
    let known: Vec<_> =
        groups.iter().filter(|(key, _)| key.0.starts_with(&kinds)).map(|(key, sum)| (key.clone(), *sum)).collect();
    let of_all: (u64, u64) = known.iter().fold((0, 0), |all, (_, sum)| (all.0 + sum.0, all.1 + sum.1));
    if of_all.0 > 0
        && let Some(common) = groups.remove(&kernel(PAGE_FAULT))
    {
        let mut left = common;
        for (at, (key, sum)) in known.iter().enumerate() {
            let last = at + 1 == known.len();
            let part = if last { left } else { (share(common.0, sum.0, of_all.0), share(common.1, sum.0, of_all.0)) };
            left = (left.0 - part.0, left.1 - part.1);
            add(groups, key.clone(), part);
        }
    }
    if let Some(touched) = groups.remove(&kernel(FIRST_TOUCH)) {
        let part = |whole: u64| ((whole as f64 * given_back.clamp(0.0, 1.0)).round() as u64).min(whole);
        let back = (part(touched.0), part(touched.1));
        add(groups, kernel(GIVEN_BACK), back);
        add(groups, kernel(FIRST_TOUCH), (touched.0 - back.0, touched.1 - back.1));
    }
}

fn add(groups: &mut Groups, key: (String, String), part: (u64, u64)) {
    if part != (0, 0) {
        let sum = groups.entry(key).or_default();
        (sum.0, sum.1) = (sum.0 + part.0, sum.1 + part.1);
    }
}

/// `part / all` of `whole`, rounded down.
fn share(whole: u64, part: u64, all: u64) -> u64 {
    (u128::from(whole) * u128::from(part) / u128::from(all)) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn groups(of: &[(&str, u64, u64)]) -> Groups {
        of.iter().map(|(entry, ns, samples)| (kernel(entry), (*ns, *samples))).collect()
    }

    #[test]
    fn what_all_faults_take_is_shared_out_and_nothing_is_lost() {
        let mut all =
            groups(&[("page fault", 100, 10), (FIRST_TOUCH, 300, 30), ("page fault, swap", 101, 11), ("read", 7, 1)]);
        settle(&mut all, 0.0);
        assert_eq!(all, groups(&[(FIRST_TOUCH, 374, 37), ("page fault, swap", 127, 14), ("read", 7, 1)]));
        let mut plain = groups(&[("page fault", 100, 10)]);
        settle(&mut plain, 0.5);
        assert_eq!(plain, groups(&[("page fault", 100, 10)]), "of what kind they were was not seen");
    }

    #[test]
    fn first_touches_are_divided_by_what_was_ever_resident() {
        assert_eq!(given_back(1000, 1.0, 250 * PAGE_BYTES), 0.75);
        assert_eq!(given_back(1000, 0.5, 250 * PAGE_BYTES), 0.5);
        assert_eq!(given_back(100, 1.0, 250 * PAGE_BYTES), 0.0, "huge pages");
        assert_eq!(given_back(0, 1.0, 0), 0.0);
        let mut all = groups(&[(FIRST_TOUCH, 100, 10)]);
        settle(&mut all, 0.75);
        assert_eq!(all, groups(&[(FIRST_TOUCH, 25, 2), (GIVEN_BACK, 75, 8)]));
    }
}
