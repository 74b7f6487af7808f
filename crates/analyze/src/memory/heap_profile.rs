//! The runtime's own heap profile over time: the bytes of each label at its samples. Owns what is kept of a profile
//! of any length: the maximum of every label, and the largest labels of some samples. A sample that was not seen
//! whole is counted and left out.

use crate::folds::{End, Fold};
use crate::results::Results;
use crate::results::heap_profile::{Band, ProfileSummary, Rest};
use rtscope_model::{Body, Breakdown, Class, Classes, Event, HeapProfile, NameId, Names, Runtime, Time};
use std::collections::HashMap;

/// Labels that get a band of their own.
const BANDS_MAX: usize = 15;
/// Labels that are distinguished; the bytes of later ones count with the rest.
const LABELS_MAX: usize = 1 << 16;
/// Maximum number of samples kept; of adjacent ones the largest.
const SAMPLES_MAX: usize = 200;
/// Labels kept per sample: what is smaller is at most a 256th of it.
const KEPT_MAX: usize = 256;

/// A sample that is being posted.
struct OpenSample {
    at: Time,
    total: u64,
    labels: HashMap<NameId, u64>,
}

/// A complete sample.
struct Sample {
    at: Time,
    total: u64,
    /// Bytes by label.
    kept: Vec<(NameId, u64)>,
}

impl Sample {
    fn bytes(&self, label: NameId) -> u64 {
        let found = self.kept.binary_search_by_key(&label, |(label, _)| *label);
        found.ok().and_then(|index| self.kept.get(index)).map_or(0, |(_, bytes)| *bytes)
    }
}

#[derive(Default)]
pub struct HeapProfiles {
    by: Option<Breakdown>,
    open: Option<OpenSample>,
    /// The maximum of each label.
    most: HashMap<NameId, u64>,
    samples: Vec<Sample>,
    /// Samples closer than this are thinned, nanoseconds.
    step_ns: u64,
    count: u64,
    cut: u64,
    max: u64,
    /// The last sample's labels, and all of its bytes.
    last: (HashMap<NameId, u64>, u64),
}

impl HeapProfiles {
    fn ended(&mut self, open: OpenSample) {
        self.count += 1;
        self.max = self.max.max(open.total);
        for (label, bytes) in &open.labels {
            if self.most.len() < LABELS_MAX || self.most.contains_key(label) {
                let most = self.most.entry(*label).or_default();
                *most = (*most).max(*bytes);
            }
        }
        let mut kept: Vec<(NameId, u64)> = open.labels.iter().map(|(label, bytes)| (*label, *bytes)).collect();
        kept.sort_unstable_by_key(|(label, bytes)| (std::cmp::Reverse(*bytes), *label));
        kept.truncate(KEPT_MAX);
        kept.sort_unstable();
        self.keep(Sample { at: open.at, total: open.total, kept });
        self.last = (open.labels, open.total);
    }

    fn keep(&mut self, sample: Sample) {
        thin(&mut self.samples, sample, self.step_ns);
        if self.samples.len() > SAMPLES_MAX {
            let span = self.samples.last().zip(self.samples.first()).map_or(0, |(last, first)| last.at.since(first.at));
            self.step_ns = (self.step_ns * 2).max(span / (SAMPLES_MAX as u64 / 2)).max(1);
            for sample in std::mem::take(&mut self.samples) {
                thin(&mut self.samples, sample, self.step_ns);
            }
        }
    }

    /// The profile; `None` without a whole sample. `names` are those of the runtime's stream.
    pub fn values(&self, names: &Names) -> Option<ProfileSummary> {
        if self.count == 0 {
            return None;
        }
        let mut labels: Vec<(NameId, u64)> = self.most.iter().map(|(label, most)| (*label, *most)).collect();
        let name = |label: &NameId| names.get(*label);
        labels.sort_unstable_by(|a, b| b.1.cmp(&a.1).then_with(|| name(&a.0).cmp(name(&b.0))).then(a.0.cmp(&b.0)));
        let label_count = labels.len();
        labels.truncate(BANDS_MAX);
        let last = |label: NameId| self.last.0.get(&label).copied().unwrap_or(0);
        let bands: Vec<Band> = labels
            .iter()
            .map(|(label, most)| Band {
                label: name(label).to_owned(),
                max_bytes: *most,
                last_bytes: last(*label),
                points: self.samples.iter().map(|sample| (sample.at, sample.bytes(*label))).collect(),
            })
            .collect();
        let rest = |total: u64, shown: u64| total.saturating_sub(shown);
        let other = self.samples.iter().map(|sample| {
            let shown = labels.iter().fold(0u64, |sum, (label, _)| sum.saturating_add(sample.bytes(*label)));
            (sample.at, rest(sample.total, shown))
        });
        let points: Vec<(Time, u64)> = other.collect();
        let shown = bands.iter().fold(0u64, |sum, band| sum.saturating_add(band.last_bytes));
        let last_bytes = rest(self.last.1, shown);
        let max_bytes = points.iter().map(|(_, bytes)| *bytes).max().unwrap_or(0).max(last_bytes);
        let other = Rest { labels: label_count.saturating_sub(bands.len()) as u64, max_bytes, last_bytes, points };
        Some(ProfileSummary {
            breakdown: self.by.unwrap_or(Breakdown::Other).word(),
            samples: self.count,
            cut: self.cut + u64::from(self.open.is_some()),
            max_bytes: self.max,
            last_bytes: self.last.1,
            bands,
            other: (max_bytes > 0).then_some(other),
        })
    }
}

impl Fold for HeapProfiles {
    fn classes(&self) -> Classes {
        Classes::NONE.with(Class::HeapProfile)
    }

    fn event(&mut self, event: &Event) {
        let Body::Runtime(Runtime::HeapProfile(profile)) = event.body else { return };
        match profile {
            HeapProfile::By(breakdown) => self.by = Some(breakdown),
            HeapProfile::Begin => {
                self.cut += u64::from(self.open.is_some());
                self.open = Some(OpenSample { at: event.time, total: 0, labels: HashMap::new() });
            }
            HeapProfile::Label { label, bytes } => {
                if let Some(open) = &mut self.open {
                    open.add(label, bytes);
                }
            }
            HeapProfile::End => {
                if let Some(open) = self.open.take() {
                    self.ended(open);
                }
            }
        }
    }

    fn result(&mut self, end: &End<'_>, results: &mut Results) {
        results.heap_profile = self.values(&end.tail.user_names);
    }
}

impl OpenSample {
    fn add(&mut self, label: Option<NameId>, bytes: u64) {
        self.total = self.total.saturating_add(bytes);
        let Some(label) = label else { return };
        if self.labels.len() < LABELS_MAX || self.labels.contains_key(&label) {
            let sum = self.labels.entry(label).or_default();
            *sum = sum.saturating_add(bytes);
        }
    }
}

/// Adds `sample`; of those within `step_ns` of each other only the largest is kept.
fn thin(samples: &mut Vec<Sample>, sample: Sample, step_ns: u64) {
    match samples.last_mut() {
        Some(before) if sample.at.since(before.at) < step_ns => {
            if sample.total > before.total {
                *before = Sample { at: before.at, ..sample };
            }
        }
        _ => samples.push(sample),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Script;
    use HeapProfile::{Begin, By, End};

    fn of(label: u32, bytes: u64) -> HeapProfile {
        HeapProfile::Label { label: Some(NameId(label)), bytes }
    }

    fn fold(events: impl IntoIterator<Item = (u64, HeapProfile)>) -> HeapProfiles {
        let mut fold = HeapProfiles::default();
        for (at, what) in events {
            let script = Script::default().rt(at, u16::MAX, Runtime::HeapProfile(what));
            script.events().iter().for_each(|event| fold.event(event));
        }
        fold
    }

    fn names(count: u32) -> Names {
        let mut names = Names::default();
        (1..=count).for_each(|number| _ = names.intern(&format!("l{number}")));
        names
    }

    fn figures(band: &Band) -> (&str, u64, u64) {
        (&band.label, band.max_bytes, band.last_bytes)
    }

    #[test]
    fn bands_are_sums_by_label_and_the_largest_come_first() {
        let first = [(10, By(Breakdown::ClosureType)), (20, Begin), (20, of(1, 5)), (21, of(2, 7)), (22, of(1, 4))];
        let second = [(23, End), (40, Begin), (41, of(2, 3)), (42, HeapProfile::Label { label: None, bytes: 6 })];
        let found = fold(first.into_iter().chain(second).chain([(43, End)])).values(&names(2)).unwrap();
        assert_eq!((found.breakdown, found.samples, found.cut), ("closure type", 2, 0));
        assert_eq!((found.max_bytes, found.last_bytes), (16, 9));
        assert_eq!(found.bands.iter().map(figures).collect::<Vec<_>>(), [("l1", 9, 0), ("l2", 7, 3)]);
        assert_eq!(found.bands[0].points, [(Time(20), 9), (Time(40), 0)]);
        // Bytes without a label belong to no band.
        let other = found.other.unwrap();
        assert_eq!((other.labels, other.max_bytes, other.last_bytes), (0, 6, 6));
        assert_eq!(other.points, [(Time(20), 0), (Time(40), 6)]);
    }

    #[test]
    fn a_sample_that_is_not_whole_counts_as_cut() {
        let found = fold([(1, End), (2, of(1, 9)), (3, Begin), (4, of(1, 8)), (5, Begin), (6, of(1, 2)), (7, End)]);
        let found = found.values(&names(1)).unwrap();
        assert_eq!((found.samples, found.cut, found.max_bytes), (1, 1, 2));
        assert!(fold([(1, End), (2, Begin), (3, of(1, 7))]).values(&names(1)).is_none());
    }

    #[test]
    fn sums_do_not_overflow() {
        let huge = |label| of(label, u64::MAX);
        let found = fold([(1, Begin), (2, huge(1)), (2, huge(1)), (3, huge(2)), (4, End)]).values(&names(2)).unwrap();
        assert_eq!(found.max_bytes, u64::MAX);
        assert_eq!(found.bands.iter().map(|band| band.max_bytes).collect::<Vec<_>>(), [u64::MAX, u64::MAX]);
        assert_eq!(found.other, None);
    }

    #[test]
    fn labels_and_samples_have_a_bound_and_nothing_is_lost_of_the_sum() {
        let labels = (1..=100_000).map(|label| (1, of(label, u64::from(label))));
        let found = fold([(0, Begin)].into_iter().chain(labels).chain([(2, End)]));
        assert_eq!(found.most.len(), LABELS_MAX);
        assert_eq!(found.samples[0].kept.len(), KEPT_MAX);
        let found = found.values(&names(100_000)).unwrap();
        let sum = 100_000 * 100_001 / 2;
        assert_eq!((found.max_bytes, found.bands.len()), (sum, BANDS_MAX));
        let other = found.other.unwrap();
        let shown: u64 = found.bands.iter().map(|band| band.last_bytes).sum();
        assert_eq!((other.labels, other.last_bytes), ((LABELS_MAX - BANDS_MAX) as u64, sum - shown));
    }

    #[test]
    fn samples_are_thinned_and_the_peak_stays() {
        let bytes = |at: u64| if at == 7_777 { 999 } else { 5 };
        let samples = (0..10_000).flat_map(|at| [(at * 100, Begin), (at * 100, of(1, bytes(at))), (at * 100, End)]);
        let found = fold(samples).values(&names(1)).unwrap();
        let points = &found.bands[0].points;
        assert!(points.len() <= SAMPLES_MAX && points.len() > SAMPLES_MAX / 8, "{}", points.len());
        assert!(points.iter().any(|(_, bytes)| *bytes == 999));
        assert_eq!((found.samples, found.bands[0].max_bytes, found.bands[0].last_bytes), (10_000, 999, 5));
    }
}
