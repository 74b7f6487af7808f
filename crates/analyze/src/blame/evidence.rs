//! Kernel events and samples as evidence for causes, kept as far back as open pauses need.
//!
//! Owns whether the evidence is usable at all: at least 99 % of arrivals have to fall while a thread of the program
//! is on a CPU, else clocks or thread ids do not match. Refuses to judge, see [`Judge`].

use super::Judge;
use crate::kernel::code::CodeSamples;
use crate::kernel::samples::Counters;
use crate::kernel::sched::Tracks;
use crate::pauses::Recognised;
use crate::recording::Context;
use crate::results::KernelView;
use rtscope_model::runtime::LaneThreads;
use rtscope_model::text::word;
use rtscope_model::{LaneId, Pause, Tid, Time};
use std::collections::BTreeMap;

/// How long a pause is held back until later counter samples have arrived, nanoseconds.
const COUNTERS_WAIT_NS: u64 = 200_000_000;
/// History kept before the oldest open pause, nanoseconds: a wait begins before the request that needs it.
const SLACK_NS: u64 = 200_000_000;
/// Threads whose last lane is remembered.
const LAST_LANES_MAX: usize = 4_096;

/// How many arrivals fell while a thread of the program was on a CPU.
#[derive(Copy, Clone, Default)]
struct Sanity {
    arrivals: u64,
    missed: u64,
}

impl Sanity {
    /// At least 99 %; a single miss among few arrivals is allowed.
    fn holds(self) -> bool {
        self.missed.saturating_mul(100) <= self.arrivals.max(100)
    }

    fn share(self) -> Option<f64> {
        (self.arrivals > 0).then(|| 1.0 - self.missed as f64 / self.arrivals as f64)
    }
}

#[derive(Default)]
pub struct Evidence {
    /// What the kernel reported about threads.
    pub tracks: Tracks,
    pub counters: Counters,
    pub code: CodeSamples,
    last_lane: BTreeMap<Tid, LaneId>,
    sanity: Sanity,
}

impl Evidence {
    pub fn new(context: &Context) -> Evidence {
        Evidence {
            tracks: Tracks::new(context.program_pid, &context.program_tids, &context.cpus_allowed),
            counters: Counters::new(context.sample_period_ns),
            ..Evidence::default()
        }
    }

    /// Whether causes may use the kernel's events.
    pub fn usable(&self, context: &Context) -> bool {
        self.seen(context) && self.sanity.holds()
    }

    /// Whether there are any, on the runtime's clock.
    pub fn seen(&self, context: &Context) -> bool {
        context.clock.is_monotonic() && self.tracks.seen
    }

    /// The judge of causes; `kernel`: whether it uses the kernel's events.
    pub fn judge<'a>(&'a self, context: &'a Context, kernel: bool) -> Judge<'a> {
        Judge {
            tracks: &self.tracks,
            counters: &self.counters,
            code: &self.code,
            symbols: &context.symbols,
            error_ns: context.clock_error_ns(),
            kernel,
            losses: &context.losses,
            last_lane: &self.last_lane,
            own_threads: context.runtime.info().lane_threads == LaneThreads::Fixed,
        }
    }

    /// Until when kernel events and counters are complete.
    pub fn ready(&self, context: &Context, now: Time) -> Time {
        let late_ns = context.clock_error_ns().saturating_mul(2);
        self.counted(if self.tracks.seen { now.minus(late_ns) } else { now }, now)
    }

    /// Until when counters are complete, at most `until`.
    pub fn counted(&self, until: Time, now: Time) -> Time {
        match self.counters.seen {
            true => until.min(self.counters.covered().max(now.minus(COUNTERS_WAIT_NS))),
            false => until,
        }
    }

    /// Checks that a running thread of the program posted every arrival.
    pub fn check(&mut self, context: &Context, recognised: &Recognised) {
        if !self.seen(context) {
            return;
        }
        let judge = self.judge(context, true);
        let mut sanity = self.sanity;
        let arrivals = recognised.pause.lanes.iter().filter_map(|lane| lane.arrived);
        for at in arrivals.chain(recognised.pause.leader.map(|_| recognised.pause.stopped)) {
            if let Some(seen) = judge.arrival_seen(at) {
                sanity.arrivals += 1;
                sanity.missed += u64::from(!seen);
            }
        }
        self.sanity = sanity;
    }

    /// Remembers which thread served which lane.
    pub fn served(&mut self, pause: &Pause) {
        for part in &pause.lanes {
            if let Some(tid) = part.tid {
                if self.last_lane.len() >= LAST_LANES_MAX {
                    self.last_lane.clear();
                }
                self.last_lane.insert(tid, part.lane);
            }
        }
    }

    /// Nothing before `oldest` is needed any more.
    pub fn prune(&mut self, oldest: Time) {
        let before = oldest.minus(SLACK_NS);
        self.tracks.prune(before);
        self.counters.prune(before);
        let tracks = &self.tracks;
        self.code.prune(before, |tid| !tracks.seen || tracks.is_own(tid));
    }

    /// The state of the kernel side, and whether it was `used`.
    pub fn view(&self, context: &Context, used: bool) -> KernelView {
        let (tracks, sanity) = (&self.tracks, self.sanity);
        let mut notes = context.kernel.as_ref().map(|kernel| kernel.missing.clone()).unwrap_or_default();
        if context.kernel.is_some() && !used {
            notes.push(if !context.runtime.info().is_known() {
                "Kernel events were not used for causes: there is no log of a runtime to join them with.".into()
            } else if !context.clock.is_monotonic() {
                "Kernel events were not used: the clock of the log could not be joined to the kernel's.".into()
            } else if !tracks.seen {
                "No scheduling events of the kernel were recorded: causes come from counters, with low confidence.".into()
            } else {
                let share = sanity.share().unwrap_or(0.0) * 100.0;
                format!(
                    "Kernel events were not used: only {share:.1} % of {} arrivals fall while a thread of the program is on a CPU \
                     (99 % are needed), so the clocks or the thread ids do not fit.",
                    sanity.arrivals
                )
            });
        }
        if tracks.unreported > 0 {
            notes.push(format!(
                "Later records of the kernel show that {} unreported; a wait that one hides has an unknown cause.",
                if tracks.unreported == 1 {
                    "1 context switch went".to_owned()
                } else {
                    format!("{} context switches went", tracks.unreported)
                }
            ));
        }
        if tracks.forgotten() > 0 {
            notes.push(format!(
                "{} scheduling states were dropped because a history was full; waits that reach back to them have an unknown cause.",
                tracks.forgotten()
            ));
        }
        KernelView {
            tier: context.kernel.as_ref().map(|kernel| word(&kernel.tier)),
            used,
            notes,
            sanity: sanity.share(),
            others_held_ns: None,
            clock_method: Some(word(&context.clock.method)),
            clock_error_ns: context.clock.error_ns,
        }
    }
}
