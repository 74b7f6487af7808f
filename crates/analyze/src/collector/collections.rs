//! What collections were like: their time, the bytes they copied, the threads that worked. Owns the sums that rules
//! about the collector's configuration need, and the line between time usual for a collection of so many bytes and
//! time that needs another explanation.
//!
//! Partial pauses are left out. Time in which a thread of the program was kept off its CPU is subtracted from each
//! pause: it is reported elsewhere. Refuses to judge the sums.

use crate::basis::thinned::Thinned;
use crate::folds::{Fold, Past};
use crate::results::BlamedPause;
use rtscope_model::{Body, Class, Classes, Counter, Event, Pause, PauseKind, PauseMode, PauseQuality, Runtime, Time};

/// Most that a collection takes if it copies nothing: waking and joining the threads, the roots of an ordinary
/// program, the blocks of the allocation area. 4 to 50 us were measured; the rest is room for slower machines.
const EMPTY_NS_MAX: u64 = 100_000;
/// Most that copying takes, nanoseconds per byte: small objects all over a cold heap. 0.4 to 1.6 were measured.
const BYTE_NS_MAX: u64 = 6;
/// Least that copying takes, nanoseconds per 1,000 bytes: small objects in a warm cache.
const KILOBYTE_NS_MIN: u64 = 400;
/// Most that stopping, and resuming, take if nothing delays them. A longer wait has a cause of its own.
const WAIT_NS_MAX: u64 = 100_000;
/// Share of a pause in which threads may be kept off their CPUs before the pause says nothing about how the
/// collector worked.
const KEPT_SHARE_MAX: f64 = 0.25;
/// Collections whose bytes and time are kept in pairs.
const POINTS_MAX: usize = 4_096;

#[derive(Clone, Debug, Default)]
pub struct CollectionTotals {
    pub count: u64,
    /// From all stopped to work done, without the time in which threads were kept off their CPUs.
    pub collect_ns: u64,
    /// Time to stop and to resume where nothing delayed them.
    pub waited_ns: u64,
    /// Time to stop, to collect and to resume without copying and without delays: the fixed cost of a collection.
    pub fixed_ns: u64,
    /// The part of `collect_ns` usual for the bytes copied.
    pub copying_ns: u64,
    /// The part of `collect_ns` beyond that.
    pub beyond_ns: u64,
    pub copied_bytes: u64,
    /// The pause with the longest collection, and that collection's time.
    pub longest: Option<(Time, Time)>,
    /// The `collect_ns` of `longest`.
    pub longest_ns: u64,
    /// The part of the collections done by several threads.
    pub parallel: Parallel,
}

/// Collections by several threads that had their CPUs nearly all the time.
#[derive(Clone, Debug, Default)]
pub struct Parallel {
    pub count: u64,
    pub collect_ns: u64,
    /// Sum over threads of the time in which they had work, or waited for a CPU.
    pub work_ns: u64,
    /// Wall-clock equivalent of idle threads: what all threads lost, divided by their number.
    pub lost_ns: u64,
    pub threads_max: u32,
    /// The pause with the largest loss.
    pub longest: Option<(Time, Time)>,
    longest_lost_ns: u64,
}

/// Bytes and time of a collection: medians over a group.
#[derive(Copy, Clone, PartialEq, Debug)]
pub struct CopyPoint {
    pub copied_bytes: u64,
    pub collect_ns: u64,
}

#[derive(Default)]
pub struct Collections {
    pub minor: CollectionTotals,
    pub major: CollectionTotals,
    /// Undisturbed minor collections.
    points: Thinned<CopyPoint, POINTS_MAX>,
    figures: PostedFigures,
    /// Bytes that the busiest threads copied, summed over parallel collections.
    pub busiest_bytes: u64,
    /// All bytes copied in parallel collections.
    pub parallel_bytes: u64,
}

/// Figures of the collection that is being posted.
#[derive(Default)]
struct PostedFigures {
    copied_bytes: u64,
    threads: u64,
}

impl Collections {
    /// Medians of the quarter of minor collections that copied least, and of the quarter that copied most. A median
    /// does not move when one collection meets a busy neighbour.
    pub fn least_and_most(&self) -> Option<(CopyPoint, CopyPoint)> {
        let mut points = self.points.kept().to_vec();
        points.sort_by_key(|point| point.copied_bytes);
        let quarter = points.len() / 4;
        let least = median(points.get(..quarter)?)?;
        let most = median(points.get(points.len() - quarter..)?)?;
        Some((least, most))
    }
}

impl Fold for Collections {
    fn classes(&self) -> Classes {
        Classes::NONE.with(Class::Figures)
    }

    fn event(&mut self, event: &Event) {
        let Body::Runtime(Runtime::Count(counter, value)) = event.body else { return };
        match counter {
            Counter::Generation => self.figures = PostedFigures::default(),
            Counter::CopiedBytes => self.figures.copied_bytes = value,
            Counter::GcThreads => self.figures.threads = value,
            Counter::CopiedMaxBytes if self.figures.threads > 1 => {
                self.busiest_bytes = self.busiest_bytes.saturating_add(value.min(self.figures.copied_bytes));
                self.parallel_bytes = self.parallel_bytes.saturating_add(self.figures.copied_bytes);
            }
            _ => {}
        }
    }

    fn pause(&mut self, blamed: &BlamedPause, _: &Past<'_>) {
        let (pause, kept_ns) = (&blamed.pause, blamed.kept_ns.unwrap_or(0));
        if pause.quality == PauseQuality::Partial {
            return;
        }
        let kind = match pause.kind {
            PauseKind::Minor => &mut self.minor,
            PauseKind::Major => &mut self.major,
            PauseKind::ConcurrentSync | PauseKind::Compaction | PauseKind::Layout | PauseKind::Unknown => return,
        };
        kind.add(pause, kept_ns);
        if undisturbed(blamed) {
            kind.parallel.add(pause, kept_ns);
            if pause.kind == PauseKind::Minor {
                let collect_ns = pause.collect_ns().saturating_sub(kept_ns);
                self.points.offer(|| CopyPoint { copied_bytes: pause.copied_bytes.unwrap_or(0), collect_ns });
            }
        }
    }
}

impl CollectionTotals {
    fn add(&mut self, pause: &Pause, kept_ns: u64) {
        let copied = pause.copied_bytes.unwrap_or(0);
        let waits = [pause.time_to_stop_ns().unwrap_or(0), pause.release_ns()];
        let collect_ns = pause.collect_ns().saturating_sub(kept_ns);
        let usual_ns = usual_ns(copied);
        let copying_ns_min = copied.saturating_mul(KILOBYTE_NS_MIN) / 1_000;
        let waited_ns = waits.map(|ns| ns.min(WAIT_NS_MAX)).iter().sum::<u64>();
        let fixed_ns = waited_ns.saturating_add(collect_ns.min(usual_ns).saturating_sub(copying_ns_min));
        self.count += 1;
        self.collect_ns = self.collect_ns.saturating_add(collect_ns);
        self.waited_ns = self.waited_ns.saturating_add(waited_ns);
        self.copying_ns = self.copying_ns.saturating_add(collect_ns.min(usual_ns));
        self.fixed_ns = self.fixed_ns.saturating_add(fixed_ns);
        self.beyond_ns = self.beyond_ns.saturating_add(collect_ns.saturating_sub(usual_ns));
        self.copied_bytes = self.copied_bytes.saturating_add(copied);
        if collect_ns > self.longest_ns {
            self.longest_ns = collect_ns;
            self.longest = Some((pause.begin(), pause.released));
        }
    }
}

impl Parallel {
    /// A thread that was kept off its CPU is assumed to have had work meanwhile.
    fn add(&mut self, pause: &Pause, kept_ns: u64) {
        let threads = pause.gc_threads.unwrap_or(1);
        if pause.mode != PauseMode::Parallel || threads < 2 {
            return;
        }
        let collect_ns = pause.collect_ns();
        let offered_ns = collect_ns.saturating_mul(u64::from(threads));
        let worked_ns = pause.lanes.iter().fold(0, |sum: u64, part| sum.saturating_add(part.work_ns));
        let work_ns = worked_ns.saturating_add(kept_ns).min(offered_ns);
        let lost_ns = (offered_ns - work_ns) / u64::from(threads);
        self.count += 1;
        self.collect_ns = self.collect_ns.saturating_add(collect_ns);
        self.work_ns = self.work_ns.saturating_add(work_ns);
        self.lost_ns = self.lost_ns.saturating_add(lost_ns);
        self.threads_max = self.threads_max.max(threads);
        if lost_ns > self.longest_lost_ns || self.longest.is_none() {
            self.longest_lost_ns = lost_ns;
            self.longest = Some((pause.begin(), pause.released));
        }
    }

    /// Threads that had work, on average: how many times faster than one thread, at best.
    pub fn speedup(&self) -> Option<f64> {
        (self.collect_ns > 0).then(|| self.work_ns as f64 / self.collect_ns as f64)
    }
}

/// Whether the threads of the collection are known to have had their CPUs nearly all the time.
fn undisturbed(blamed: &BlamedPause) -> bool {
    let until_collected_ns = blamed.pause.collected.since(blamed.pause.begin());
    blamed.kept_ns.is_some_and(|kept_ns| kept_ns as f64 <= until_collected_ns as f64 * KEPT_SHARE_MAX)
}

/// Most that a collection takes to copy so many bytes, nanoseconds.
fn usual_ns(copied_bytes: u64) -> u64 {
    EMPTY_NS_MAX.saturating_add(copied_bytes.saturating_mul(BYTE_NS_MAX))
}

fn median(points: &[CopyPoint]) -> Option<CopyPoint> {
    let middle = |mut values: Vec<u64>| {
        values.sort_unstable();
        values.get(values.len() / 2).copied()
    };
    Some(CopyPoint {
        copied_bytes: middle(points.iter().map(|point| point.copied_bytes).collect())?,
        collect_ns: middle(points.iter().map(|point| point.collect_ns).collect())?,
    })
}
