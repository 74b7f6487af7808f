//! What each kernel thread of the program did: a line of kernel states, with the holder of the CPU while the thread
//! waited for one.
//!
//! Owns the lag: a wait is reported when it is over and the counters after it have arrived, because only they
//! distinguish a quota from a neighbour; the rest shortly after the newest event. Refuses lanes.

use crate::basis::compose::Segment;
use crate::blame::evidence::Evidence;
use crate::blame::{CpuHolder, Judge};
use crate::kernel::sched::{SchedState, Stretch};
use crate::recording::Context;
use rtscope_model::{Body, Cpu, Event, Sched, Tid, Time};
use std::collections::BTreeMap;

/// Scheduling events and samples between two rounds.
const ROUND: u32 = 4_096;
/// Merged streams of several CPUs are slightly out of order.
const SLACK_NS: u64 = 2_000_000;
/// A longer wait is reported before it is over.
const OPEN_WAIT_MAX_NS: u64 = 1_000_000_000;
const THREADS_MAX: usize = 4_096;

/// What a thread does.
#[derive(Copy, Clone, Eq, PartialEq, Debug)]
pub enum ThreadState {
    /// It is on this CPU.
    Running(Option<Cpu>),
    /// It is runnable and this keeps it off the CPU.
    WaitsFor(CpuHolder),
    /// It sleeps.
    Asleep,
    /// The kernel blocks it.
    Blocked,
}

#[derive(Default)]
struct ThreadLine {
    /// Reported up to here.
    done: Time,
    /// The last piece, which may go on.
    held: Option<Segment<ThreadState>>,
}

/// The fold over thread states.
#[derive(Default)]
pub struct ThreadStates {
    evidence: Evidence,
    /// Only its clock is set: nothing else decides what a thread waits for.
    context: Context,
    lines: BTreeMap<Tid, ThreadLine>,
    too_many: bool,
    since_round: u32,
    now: Time,
}

impl ThreadStates {
    /// Thread states of the recording that `context` describes.
    pub fn new(context: &Context) -> Self {
        ThreadStates {
            evidence: Evidence::new(context),
            context: Context { clock: context.clock, ..Context::default() },
            ..ThreadStates::default()
        }
    }

    /// A thread that the runtime named, by its id on this host.
    pub fn adopt(&mut self, tid: Tid) {
        self.evidence.tracks.adopt(tid);
    }

    /// Whether `tid` is a thread of the program.
    pub fn is_own(&self, tid: Tid) -> bool {
        self.evidence.tracks.is_own(tid)
    }

    /// Whether some threads were too many to follow.
    pub fn too_many(&self) -> bool {
        self.too_many
    }

    /// Takes the next event; what it settles goes to `out`.
    pub fn push(&mut self, event: &Event, out: &mut impl FnMut(Tid, Segment<ThreadState>)) {
        match &event.body {
            Body::Sched(sched) => {
                self.evidence.tracks.push(event.time, sched);
                if let Sched::Exit { tid } = sched {
                    // Its number may be used again.
                    self.round(Some(*tid), event.time, true, out);
                }
            }
            Body::Sample(sample) => self.evidence.counters.push(event.time, sample),
            Body::Runtime(_) | Body::Code(_) => return,
        }
        self.now = self.now.max(event.time);
        self.since_round += 1;
        if self.since_round >= ROUND {
            self.since_round = 0;
            self.round(None, self.ready(), false, out);
            let oldest = self.lines.values().map(|line| line.done).min().unwrap_or(self.now);
            let before = oldest.min(self.now.minus(SLACK_NS)).max(self.now.minus(2 * OPEN_WAIT_MAX_NS));
            self.evidence.tracks.prune(before);
            self.evidence.counters.prune(before);
            // Threads that have ended were reported to their end.
            let tracks = &self.evidence.tracks;
            self.lines.retain(|tid, line| {
                let stays = tracks.is_own(*tid);
                if !stays {
                    line.held.take().into_iter().for_each(|held| out(*tid, held));
                }
                stays
            });
        }
    }

    /// The stream is over at `end`.
    pub fn finish(&mut self, end: Time, out: &mut impl FnMut(Tid, Segment<ThreadState>)) {
        self.round(None, end.max(self.now), true, out);
        for (tid, line) in &mut self.lines {
            line.held.take().into_iter().for_each(|held| out(*tid, held));
        }
    }

    fn ready(&self) -> Time {
        self.evidence.counted(self.now.minus(SLACK_NS), self.now)
    }

    /// Reports what every thread, or only one, did until `ready`; waits that are not over only if `open`.
    fn round(&mut self, only: Option<Tid>, ready: Time, open: bool, out: &mut impl FnMut(Tid, Segment<ThreadState>)) {
        let judge = self.evidence.judge(&self.context, true);
        for tid in self.evidence.tracks.own().filter(|tid| only.is_none_or(|only| only == *tid)) {
            if !self.lines.contains_key(&tid) {
                // A thread without any event needs no line.
                if self.evidence.tracks.since(tid, self.now).is_none() {
                    continue;
                }
                if self.lines.len() >= THREADS_MAX {
                    self.too_many = true;
                    continue;
                }
            }
            let line = self.lines.entry(tid).or_default();
            let until = match self.evidence.tracks.wait_around(tid, ready) {
                Some((from, _)) if !open && ready.since(from) < OPEN_WAIT_MAX_NS => from.min(ready),
                _ => ready,
            };
            if line.done >= until {
                continue;
            }
            for stretch in self.evidence.tracks.stretches(tid, line.done, until) {
                let Some(state) = state(&judge, tid, &stretch) else { continue };
                line.take(Segment { from: stretch.from, to: stretch.to, state }, |segment| out(tid, segment));
            }
            line.done = until;
        }
    }
}

impl ThreadLine {
    fn take(&mut self, next: Segment<ThreadState>, mut out: impl FnMut(Segment<ThreadState>)) {
        match &mut self.held {
            Some(held) if held.to == next.from && held.state == next.state => held.to = next.to,
            held => held.replace(next).into_iter().for_each(&mut out),
        }
    }
}

/// The state of `tid` in `stretch`; `None`: not known.
pub(crate) fn state(judge: &Judge<'_>, tid: Tid, stretch: &Stretch) -> Option<ThreadState> {
    Some(match stretch.state {
        SchedState::Running => ThreadState::Running(stretch.cpu),
        SchedState::Runnable | SchedState::Woken { .. } => ThreadState::WaitsFor(judge.holder(tid, stretch)),
        SchedState::Sleeping => ThreadState::Asleep,
        SchedState::Blocked => ThreadState::Blocked,
        SchedState::Unknown => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Script, switch, waking};
    use rtscope_model::{NameId, OffState, Pid};

    fn line(script: Script, end: u64) -> Vec<(u64, u64, ThreadState)> {
        let context =
            Context { program_pid: Some(Pid(11)), program_tids: vec![Tid(11), Tid(12)], ..Context::default() };
        let mut states = ThreadStates::new(&context);
        let mut out = Vec::new();
        let mut take = |tid: Tid, segment: Segment<ThreadState>| {
            if tid == Tid(11) {
                out.push((segment.from.0, segment.to.0, segment.state));
            }
        };
        script.events().iter().for_each(|event| states.push(event, &mut take));
        states.finish(Time(end), &mut take);
        out
    }

    use ThreadState::{Asleep, Running, WaitsFor};
    const ON: ThreadState = Running(Some(Cpu(0)));

    #[test]
    fn the_holder_of_the_cpu_is_reported() {
        let script = Script::default()
            .k(100, switch(0, 0, OffState::Sleeping, 11))
            .k(200, switch(0, 11, OffState::Runnable, 99))
            .k(300, switch(0, 99, OffState::Runnable, 12))
            .k(400, switch(0, 12, OffState::Sleeping, 11))
            .k(500, switch(0, 11, OffState::Sleeping, 0))
            .k(600, waking(12, 11, 0))
            .k(650, switch(0, 0, OffState::Sleeping, 11));
        let foreign = WaitsFor(CpuHolder::Foreign { tid: Tid(99), name: NameId(99) });
        let sibling = WaitsFor(CpuHolder::Sibling { tid: Tid(12) });
        assert_eq!(
            line(script, 700),
            [
                (100, 200, ON),
                (200, 300, foreign),
                (300, 400, sibling),
                (400, 500, ON),
                (500, 600, Asleep),
                (600, 650, WaitsFor(CpuHolder::IdleCpu)),
                (650, 700, ON)
            ]
        );
    }

    #[test]
    fn a_wait_under_a_quota_is_recognised_from_its_counters() {
        let ms = 1_000_000;
        let script = Script::default()
            .quota(0, 0, 0)
            .k(10 * ms, switch(0, 0, OffState::Sleeping, 11))
            .k(20 * ms, switch(0, 11, OffState::Runnable, 0))
            .k(90 * ms, switch(0, 0, OffState::Sleeping, 11))
            .quota(95 * ms, 1, 70 * ms);
        let quota = WaitsFor(CpuHolder::Quota { neighbour: None });
        assert_eq!(
            line(script, 100 * ms),
            [(10 * ms, 20 * ms, ON), (20 * ms, 90 * ms, quota), (90 * ms, 100 * ms, ON)]
        );
    }

    #[test]
    fn a_long_line_is_reported_in_rounds_and_hangs_together() {
        let script = (0..20_000u64).fold(Script::default(), |script, index| {
            let at = 100 + index * 100_000;
            script.k(at, switch(0, 0, OffState::Sleeping, 11)).k(at + 60_000, switch(0, 11, OffState::Sleeping, 0))
        });
        let line = line(script, 2_000_000_000);
        assert_eq!(line.len(), 40_000);
        assert!(line.windows(2).all(|pair| pair[0].1 == pair[1].0 && pair[0].2 != pair[1].2));
    }
}
