//! What an analysis needs to know before the first event and after the last: the facts of the recording. Owns their
//! shape; refuses to fetch them.

pub mod requests;
pub mod start;
pub mod stm;
pub mod waits;

use crate::results::waits::Waits;
use crate::results::{Program, ProgramRuntime, Source};
use requests::Join;
use rtscope_model::heap::Heap;
use rtscope_model::manifest::{Group, Kernel, OwnCost};
use rtscope_model::{ClockMap, Loss, LossKind, Names, Pid, Symbols, Tid, Time};
use start::Start;
use stm::Stm;

/// Facts known before the first event.
#[derive(Clone, Debug, Default)]
pub struct Context {
    /// The source of the events.
    pub source: Source,
    /// The program that was recorded; `None` without a capture.
    pub program: Option<Program>,
    /// How it was started, and what its link determines.
    pub start: Start,
    /// The runtime as its log (or the binary) names it.
    pub runtime: ProgramRuntime,
    /// Whether the runtime can stop several lanes; `None`: the events decide.
    pub threaded: Option<bool>,
    /// The process that wrote the log, in the recorder's pid namespace.
    pub program_pid: Option<Pid>,
    /// Its threads at the start of the recording.
    pub program_tids: Vec<Tid>,
    /// Control groups that cover the program, leaf first.
    pub groups: Vec<Group>,
    /// Processors that the program may use; empty: unknown.
    pub cpus_allowed: Vec<u16>,
    /// Processors online; 0: unknown.
    pub cpus_online: u32,
    /// The kernel side; `None` without a capture.
    pub kernel: Option<Kernel>,
    /// How the log's clock was mapped.
    pub clock: ClockMap,
    /// First moment of the recording, if known (else the first runtime event).
    pub started: Option<Time>,
    /// Last moment of the recording, if known (else the last runtime event).
    pub ended: Option<Time>,
    /// Configured generations of the heap.
    pub generations: Option<u16>,
    /// Configured allocation area per lane, bytes.
    pub nursery_bytes: Option<u64>,
    /// Losses known before the first event.
    pub losses: Vec<Loss>,
    /// Sampling period of quotas, nanoseconds, where the recorder writes their counters only when they change;
    /// `None`: not known.
    pub sample_period_ns: Option<u64>,
    /// The stream holds every logged run and stop of green threads, not only those around collections.
    pub every_green_event: bool,
    /// Names of the code that samples refer to.
    pub symbols: Symbols,
    /// What the recorder itself used.
    pub own_cost: Option<OwnCost>,
    /// Snapshots of the program's heap, in time order.
    pub heaps: Vec<Heap>,
    /// Further snapshots that are not in `heaps`.
    pub heaps_left_out: u64,
    /// Requests of a load that are to be joined with the recording.
    pub requests: Option<Join>,
    /// Counts of its transactions; `None`: they were not read.
    pub stm: Option<Stm>,
    /// Looks at what its threads wait for; `None`: there were none.
    pub waits: Option<Waits>,
    /// Ids of rules that are switched off.
    pub rules_off: Vec<String>,
}

impl Context {
    /// The runtime's options in effect: those of the link, of the environment, then of the command line; of two that
    /// contradict each other the later holds.
    pub fn options(&self) -> impl Iterator<Item = &str> {
        let own = self.runtime.attributed_args().filter(|(own, _)| *own).map(|(_, arg)| arg);
        self.start.options(self.runtime.info()).chain(own)
    }

    /// CPUs that the program can actually use: the smaller of its affinity and its smallest quota; `None` where
    /// neither is known.
    pub fn cpus_available(&self) -> Option<f64> {
        match (self.cpus().map(|count| count as f64), self.quota_cpus()) {
            (Some(a), Some(q)) => Some(a.min(q)),
            (a, q) => a.or(q),
        }
    }

    /// CPUs of its affinity mask, else those online; `None` where neither is known.
    pub(crate) fn cpus(&self) -> Option<usize> {
        let cpus = if self.cpus_allowed.is_empty() { self.cpus_online as usize } else { self.cpus_allowed.len() };
        (cpus > 0).then_some(cpus)
    }

    /// The smallest quota that applies to the program, in CPUs.
    pub fn quota_cpus(&self) -> Option<f64> {
        self.groups.iter().filter_map(|group| group.quota_cpus).min_by(f64::total_cmp)
    }

    /// Largest error between log and kernel times, nanoseconds. An offset without a stated error is assumed to be as
    /// precise as a microsecond stamp.
    pub fn clock_error_ns(&self) -> u64 {
        self.clock.error_ns.unwrap_or(1_000)
    }
}

/// Facts known only after the last event.
#[derive(Clone, Debug, Default)]
pub struct Tail {
    /// Losses met while reading.
    pub losses: Vec<Loss>,
    /// Final counts of what was read; `None` keeps the context's.
    pub source: Option<Source>,
    /// The runtime as the log named it; `None` keeps the context's.
    pub runtime: Option<ProgramRuntime>,
    /// Names of the program's own events, and of labels of heap profiles: the table of the runtime's stream.
    pub user_names: Names,
}

/// Whether a loss makes a pause in `[from, to]` partial: bytes of the log that were not read. A cut or an unwritten
/// end without a time lies after the last event, where it can only affect pauses that never end.
pub(crate) fn loss_of_log(loss: &Loss, from: Time, to: Time) -> bool {
    if of_code(loss) {
        return false;
    }
    match loss.kind {
        LossKind::Damaged | LossKind::MixedProcesses | LossKind::RingWords | LossKind::Paused => loss.touches(from, to),
        LossKind::Truncated | LossKind::Unwritten | LossKind::OutOfOrder => {
            (loss.from.is_some() || loss.to.is_some()) && loss.touches(from, to)
        }
        LossKind::KernelRecords
        | LossKind::UnknownRecord
        | LossKind::RecorderLate
        | LossKind::Unfinished
        | LossKind::DiskFull
        | LossKind::SourceMissing => false,
    }
}

/// Whether a loss voids the causes in `[from, to]`: kernel records dropped.
pub(crate) fn loss_of_kernel(loss: &Loss, from: Time, to: Time) -> bool {
    loss.kind == LossKind::KernelRecords && !of_code(loss) && loss.touches(from, to)
}

/// Whether samples of code were lost: that costs a pause a name, nothing else.
fn of_code(loss: &Loss) -> bool {
    loss.source == "code" || loss.source.starts_with("code/")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn loss(kind: LossKind, span: Option<(u64, u64)>) -> Loss {
        Loss {
            source: "x".into(),
            kind,
            count: 1,
            from: span.map(|s| Time(s.0)),
            to: span.map(|s| Time(s.1)),
            note: String::new(),
        }
    }

    #[test]
    fn only_losses_of_the_log_make_pauses_partial() {
        let (from, to) = (Time(10), Time(20));
        assert!(loss_of_log(&loss(LossKind::Damaged, Some((15, 16))), from, to));
        assert!(!loss_of_log(&loss(LossKind::Damaged, Some((21, 30))), from, to));
        assert!(!loss_of_log(&loss(LossKind::Truncated, None), from, to));
        assert!(!loss_of_log(&loss(LossKind::KernelRecords, Some((15, 16))), from, to));
        assert!(loss_of_kernel(&loss(LossKind::KernelRecords, Some((15, 16))), from, to));
        let of_code = |kind| Loss { source: "code/cpu0.perf".into(), ..loss(kind, None) };
        assert!(!loss_of_log(&of_code(LossKind::Damaged), from, to));
        assert!(!loss_of_kernel(&of_code(LossKind::KernelRecords), from, to));
    }

    #[test]
    fn the_smaller_of_affinity_and_quota_is_available() {
        let mut context = Context { cpus_allowed: vec![0, 1], ..Context::default() };
        assert_eq!(context.cpus_available(), Some(2.0));
        context.groups.push(Group {
            path: "/a".into(),
            version: 1,
            quota_cpus: Some(0.5),
            period_ns: None,
            quota_path: None,
            memory_limit_bytes: None,
        });
        assert_eq!(context.cpus_available(), Some(0.5));
    }
}
