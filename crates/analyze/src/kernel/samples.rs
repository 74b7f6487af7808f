//! The recorder's counters around an interval: whether a quota ran out, the host took a CPU, or a thread was switched
//! out against its will.
//!
//! Owns the bracket: the last sample before an interval and the first after it. The recorder writes a quota's
//! counters only when they have changed, so a new value stands for a change within the last sampling period (or two,
//! plus the sampler's delay): it says nothing about a wait that ended before. Refuses to judge an interval that is
//! not bracketed. Keeps samples only as far back as open pauses need.

use crate::basis::lately;
use crate::results::Throttled;
use rtscope_model::{Cpu, GroupId, Pid, Sample, Tid, Time};
use std::collections::{BTreeMap, VecDeque};

const SERIES_MAX: usize = 16_384;
const THREADS_MAX: usize = 4_096;
const PROCESSES_MAX: usize = 4_096;

/// One counter series: when it was seen, the value, and the earliest moment from which that value may have held.
#[derive(Default)]
struct Series<V> {
    points: VecDeque<(Time, V, Time)>,
}

impl<V: Copy> Series<V> {
    /// Values of the last sample at or before `from` and of the first at or after `to`; instead of the latter, the
    /// one before it if the counter cannot have changed by `to`.
    fn bracket(&self, from: Time, to: Time) -> Option<(V, V)> {
        let before = self.points.partition_point(|point| point.0 <= from).checked_sub(1)?;
        let mut after = self.points.partition_point(|point| point.0 < to);
        if self.points.get(after)?.2 >= to && after > before {
            after -= 1;
        }
        Some((self.points.get(before)?.1, self.points.get(after)?.1))
    }

    fn push(&mut self, time: Time, value: V, since: Time) {
        lately::push(&mut self.points, (time, value, since), SERIES_MAX);
    }

    fn prune(&mut self, before: Time) {
        lately::prune(&mut self.points, |point| point.0, before);
    }
}

/// System calls of one kind.
#[derive(Copy, Clone, Eq, PartialEq, Debug, Default)]
pub struct Calls {
    /// Number of calls.
    pub count: u64,
    /// Bytes that they moved.
    pub bytes: u64,
}

impl Calls {
    /// Bytes per call; 0 without calls.
    pub fn mean(self) -> u64 {
        self.bytes / self.count.max(1)
    }
}

#[derive(Default)]
pub struct Counters {
    /// Sampling period of quotas, nanoseconds; `None`: not known.
    period_ns: Option<u64>,
    /// When the sampler was last late, and the delay.
    late: (Time, u64),
    quota: BTreeMap<GroupId, Series<(u64, u64)>>,
    quota_ends: BTreeMap<GroupId, [(u64, u64, u64); 2]>,
    stolen: BTreeMap<Cpu, Series<u64>>,
    threads: BTreeMap<Tid, Series<(u64, u64)>>,
    /// First and last steal, and interrupt, time of each CPU.
    stolen_ends: BTreeMap<Cpu, [(u64, u64); 2]>,
    /// Last minor and major faults of each thread, and how often it had gone to sleep.
    totals: BTreeMap<Tid, (u64, u64, u64)>,
    /// Last counts of each process's calls that read, and that write.
    calls: BTreeMap<Pid, [Calls; 2]>,
    /// Whether there are any counters.
    pub seen: bool,
    latest: Time,
}

impl Counters {
    /// Counters of a recorder that samples quotas every `period_ns`.
    pub fn new(period_ns: Option<u64>) -> Self {
        Counters { period_ns, ..Counters::default() }
    }

    pub fn push(&mut self, time: Time, sample: &Sample) {
        match *sample {
            Sample::Quota { group, periods, throttled, throttled_ns } => {
                let late_ns = if self.late.0 == time { self.late.1 } else { 0 };
                let since =
                    self.period_ns.map_or(Time(0), |ns| time.minus(ns.saturating_mul(2).saturating_add(late_ns)));
                self.quota.entry(group).or_default().push(time, (throttled, throttled_ns), since);
                let now = (periods, throttled, throttled_ns);
                self.quota_ends.entry(group).or_insert([now, now])[1] = now;
            }
            Sample::CpuStolen { cpu, steal_ns, irq_ns } => {
                self.stolen.entry(cpu).or_default().push(time, steal_ns.saturating_add(irq_ns), Time(0));
                self.stolen_ends.entry(cpu).or_insert([(steal_ns, irq_ns); 2])[1] = (steal_ns, irq_ns);
            }
            Sample::Thread { tid, voluntary, involuntary, wait_ns, minor_faults, major_faults, .. } => {
                if self.threads.len() < THREADS_MAX || self.threads.contains_key(&tid) {
                    self.totals.insert(tid, (minor_faults, major_faults, voluntary));
                    self.threads.entry(tid).or_default().push(time, (involuntary, wait_ns), Time(0));
                }
            }
            Sample::Calls { pid, reads, read_bytes, writes, written_bytes } => {
                if self.calls.len() < PROCESSES_MAX || self.calls.contains_key(&pid) {
                    let calls = [(reads, read_bytes), (writes, written_bytes)];
                    self.calls.insert(pid, calls.map(|(count, bytes)| Calls { count, bytes }));
                }
            }
            Sample::Late { ns } => {
                self.late = (time, ns);
                return;
            }
            _ => return,
        }
        self.seen = true;
        self.latest = self.latest.max(time);
    }

    /// Until when every quota and steal series has values.
    pub fn covered(&self) -> Time {
        let quotas = self.quota.values().filter_map(|series| series.points.back()).map(|point| point.0);
        let stolen = self.stolen.values().filter_map(|series| series.points.back()).map(|point| point.0);
        quotas.chain(stolen).min().unwrap_or(self.latest)
    }

    /// How long a quota of a group around the program throttled it, if it ran out around `[from, to]`; summed over
    /// CPU run queues, nanoseconds; the longest of several.
    pub fn quota_moved(&self, from: Time, to: Time) -> Option<u64> {
        let moved = self.quota.values().filter_map(|series| {
            let (before, after) = series.bracket(from, to)?;
            let (periods, ns) = (after.0.saturating_sub(before.0), after.1.saturating_sub(before.1));
            (periods > 0 || ns > 0).then_some(ns)
        });
        moved.max()
    }

    /// Quota counters over the whole recording, per group.
    pub fn quota_totals(&self) -> impl Iterator<Item = Throttled> + '_ {
        self.quota_ends.iter().map(|(group, [first, last])| Throttled {
            group: group.0,
            periods: last.0.saturating_sub(first.0),
            throttled: last.1.saturating_sub(first.1),
            throttled_ns: last.2.saturating_sub(first.2),
        })
    }

    /// [`Counters::quota_totals`] of groups that have a quota: without one there are no periods.
    pub fn quotas_set(&self) -> impl Iterator<Item = Throttled> + '_ {
        let is_set = |group| self.quota_ends.get(&GroupId(group)).is_some_and(|[_, last]| *last != (0, 0, 0));
        self.quota_totals().filter(move |total| is_set(total.group))
    }

    /// Time that the host and interrupts took from `cpu` around `[from, to]`, nanoseconds.
    pub fn stolen_ns(&self, cpu: Cpu, from: Time, to: Time) -> Option<u64> {
        let (before, after) = self.stolen.get(&cpu)?.bracket(from, to)?;
        Some(after.saturating_sub(before))
    }

    /// Time that the host, and interrupts, took from each CPU over the whole recording, nanoseconds.
    pub fn stolen_totals(&self) -> impl Iterator<Item = (Cpu, u64, u64)> + '_ {
        let grew = |[first, last]: &[(u64, u64); 2]| (last.0.saturating_sub(first.0), last.1.saturating_sub(first.1));
        self.stolen_ends.iter().map(move |(cpu, ends)| (*cpu, grew(ends).0, grew(ends).1))
    }

    /// Minor and major page faults of the program's threads since they began; `None`: no thread was sampled.
    pub fn faults(&self) -> Option<(u64, u64)> {
        let sum = |a: (u64, u64), b: &(u64, u64, u64)| (a.0.saturating_add(b.0), a.1.saturating_add(b.1));
        (!self.totals.is_empty()).then(|| self.totals.values().fold((0, 0), sum))
    }

    /// Calls of the program that read and calls that write, since it began; `None`: not counted.
    pub fn calls(&self) -> Option<[Calls; 2]> {
        let sum = |a: Calls, b: &Calls| Calls {
            count: a.count.saturating_add(b.count),
            bytes: a.bytes.saturating_add(b.bytes),
        };
        let all = |kind: usize| self.calls.values().map(|calls| &calls[kind]).fold(Calls::default(), sum);
        (!self.calls.is_empty()).then(|| [all(0), all(1)])
    }

    /// How often threads of the program went to sleep since they began.
    pub fn slept(&self) -> u64 {
        self.totals.values().fold(0, |sum, (_, _, slept)| sum.saturating_add(*slept))
    }

    /// How often this thread went to sleep since it began.
    pub fn slept_by(&self, tid: Tid) -> u64 {
        self.totals.get(&tid).map_or(0, |(_, _, slept)| *slept)
    }

    /// The longest time that one thread waited for a CPU around `[from, to]` while its involuntary
    /// switches increased.
    pub fn switched_out_ns(&self, from: Time, to: Time) -> Option<u64> {
        let waits = self.threads.values().filter_map(|series| {
            let (before, after) = series.bracket(from, to)?;
            (after.0 > before.0).then(|| after.1.saturating_sub(before.1))
        });
        waits.max()
    }

    /// Forgets what lies wholly before `before`.
    pub fn prune(&mut self, before: Time) {
        self.quota.values_mut().for_each(|series| series.prune(before));
        self.stolen.values_mut().for_each(|series| series.prune(before));
        self.threads.values_mut().for_each(|series| series.prune(before));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn quota(throttled: u64, throttled_ns: u64) -> Sample {
        Sample::Quota { group: GroupId(0), periods: throttled, throttled, throttled_ns }
    }

    #[test]
    fn a_counter_covers_only_an_interval_between_two_samples() {
        let mut counters = Counters::default();
        counters.push(Time(100), &quota(1, 10));
        counters.push(Time(200), &quota(1, 10));
        counters.push(Time(300), &quota(2, 60));
        assert_eq!(counters.quota_moved(Time(110), Time(190)), None);
        assert_eq!(counters.quota_moved(Time(210), Time(290)), Some(50));
        assert_eq!(counters.quota_moved(Time(150), Time(250)), Some(50));
        assert_eq!(counters.quota_moved(Time(250), Time(310)), None);
        assert_eq!(counters.quota_moved(Time(50), Time(250)), None);
    }

    #[test]
    fn a_value_that_is_written_when_it_changes_does_not_cover_a_wait_long_before() {
        let mut counters = Counters::new(Some(10));
        counters.push(Time(100), &quota(1, 10));
        counters.push(Time(400), &quota(2, 60));
        assert_eq!(counters.quota_moved(Time(110), Time(190)), None, "it moved after 380");
        assert!(counters.quota_moved(Time(350), Time(395)).is_some());
        counters.push(Time(600), &Sample::Late { ns: 90 });
        counters.push(Time(600), &quota(3, 90));
        assert!(counters.quota_moved(Time(450), Time(500)).is_some(), "the sampler slept from 490 on");
    }

    #[test]
    fn pruning_keeps_the_sample_that_still_opens_a_bracket() {
        let mut counters = Counters::default();
        for at in 0..10 {
            counters.push(Time(at * 100), &quota(at, at * 10));
        }
        counters.prune(Time(750));
        assert!(counters.quota_moved(Time(750), Time(790)).is_some());
        assert!(counters.quota_moved(Time(690), Time(790)).is_none());
    }
}
