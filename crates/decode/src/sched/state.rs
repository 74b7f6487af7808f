//! State from earlier records that later ones need: names and processes of threads, and the current thread of each
//! CPU. Owns that state, updated in time order; refuses to grow without bound.

use super::interpret::SchedRecord;
use crate::perf::losses::Losses;
use crate::perf::record::GONE;
use rtscope_model::{Cpu, Loss, LossKind, NameId, OffState, Pid, Sched, Tid, Time};
use std::collections::HashMap;

/// Limit of remembered threads; a kernel allows at most four million, hostile bytes could name more.
const THREADS_MAX: usize = 1 << 20;

#[derive(Copy, Clone, Debug, Default)]
struct KernelThread {
    pid: Pid,
    name: NameId,
    /// Whether it is known to be on a CPU (cheap tier only).
    on_cpu: Option<bool>,
}

/// A switch of which neither side was recorded. Seen on kernels that do not trace some of their threads; the next
/// record shows another thread on the CPU.
const UNSEEN: &str = "A switch between two threads is missing: causes on this CPU are unknown until the next one.";

/// The threads seen so far.
#[derive(Clone, Debug)]
pub struct KernelState {
    threads: HashMap<Tid, KernelThread>,
    /// The current thread of each CPU, and since when.
    current: HashMap<Cpu, (Tid, Time)>,
    losses: Losses,
}

impl Default for KernelState {
    fn default() -> Self {
        KernelState { threads: HashMap::new(), current: HashMap::new(), losses: Losses::new("kernel") }
    }
}

impl KernelState {
    /// Losses found by comparing records.
    pub fn losses(&self) -> &[Loss] {
        self.losses.all()
    }

    /// Losses found since the last call.
    pub fn take_losses(&mut self) -> Vec<Loss> {
        self.losses.take()
    }

    /// Adds what `item`'s own record did not contain. The second event is for a new thread, which inherits its
    /// creator's name. `None`: nothing new.
    pub fn apply(&mut self, time: Time, item: SchedRecord) -> Option<(Sched, Option<Sched>)> {
        match item {
            SchedRecord::Event { sched: sched @ Sched::Switch { .. }, pid } => {
                Some((self.switch(time, sched, pid), None))
            }
            SchedRecord::Event { sched, pid } => self.event(sched, pid),
            SchedRecord::SwitchedIn { cpu, next, prev } => Some((self.switched_in(time, cpu, next, prev)?, None)),
            SchedRecord::Gap { cpu } => {
                self.current.remove(&cpu);
                None
            }
        }
    }

    fn switch(&mut self, time: Time, mut sched: Sched, next_process: Pid) -> Sched {
        if let Sched::Switch { cpu, prev, prev_pid, prev_state, next, next_name } = &mut sched {
            let before = self.current.insert(*cpu, (*next, time));
            match before {
                Some((running, _)) if prev.0 == GONE => *prev = running,
                Some((running, since)) if running != *prev => {
                    self.losses.add(LossKind::KernelRecords, 1, Some(since), Some(time), UNSEEN);
                }
                _ => {}
            }
            if prev.0 == GONE {
                // The thread has ended: its pid is no process.
                *prev_pid = Pid(0);
            }
            self.leave(*prev, prev_pid, *prev_state);
            self.enter(*next, next_process, next_name);
        }
        sched
    }

    /// The incoming side of a switch: only new if the kernel did not record the outgoing side, as happens for idle
    /// tasks on some machines.
    fn switched_in(&mut self, time: Time, cpu: Cpu, next: (Tid, Pid), prev: (Tid, Pid)) -> Option<Sched> {
        match self.current.get(&cpu) {
            // An ending thread that had been preempted has no id any more.
            _ if next.0.0 == GONE => None,
            Some((running, _)) if *running == next.0 => None,
            None => {
                self.current.insert(cpu, (next.0, time));
                None
            }
            Some(_) => {
                let prev_state = OffState::Unknown;
                let next_name = NameId(0);
                let sched = Sched::Switch { cpu, prev: prev.0, prev_pid: prev.1, prev_state, next: next.0, next_name };
                Some(self.switch(time, sched, next.1))
            }
        }
    }

    fn event(&mut self, mut sched: Sched, pid: Pid) -> Option<(Sched, Option<Sched>)> {
        let mut more = None;
        match &mut sched {
            Sched::SwitchIn { tid, .. } => self.set_on_cpu(*tid, pid, true)?,
            Sched::SwitchOut { tid, .. } => self.set_on_cpu(*tid, pid, false)?,
            Sched::Fork { parent, child, child_pid } => {
                let name = self.threads.get(parent).map_or(NameId(0), |parent| parent.name);
                self.remember(*child, KernelThread { pid: *child_pid, name, on_cpu: None });
                more = (name != NameId(0)).then_some(Sched::Named { tid: *child, name });
            }
            Sched::Named { tid, name } => self.name(*tid, pid, *name),
            Sched::Switch { .. } | Sched::Waking { .. } | Sched::Migrate { .. } | Sched::Exit { .. } => {}
        }
        Some((sched, more))
    }

    /// Remembers a name (and process, where not 0) of a thread.
    pub fn name(&mut self, tid: Tid, pid: Pid, name: NameId) {
        let known = self.threads.get(&tid).copied().unwrap_or_default();
        let pid = if pid.0 == 0 { known.pid } else { pid };
        self.remember(tid, KernelThread { pid, name, ..known });
    }

    fn leave(&mut self, tid: Tid, pid: &mut Pid, state: OffState) {
        if tid == Tid::IDLE || tid.0 == GONE {
            return;
        }
        let known = self.threads.get(&tid).copied().unwrap_or_default();
        if pid.0 == 0 {
            *pid = known.pid;
        }
        if state == OffState::Dead {
            self.threads.remove(&tid);
        } else if known.pid != *pid {
            self.remember(tid, KernelThread { pid: *pid, ..known });
        }
    }

    fn enter(&mut self, tid: Tid, pid: Pid, name: &mut NameId) {
        if tid == Tid::IDLE || tid.0 == GONE {
            return;
        }
        let known = self.threads.get(&tid).copied().unwrap_or_default();
        if *name == NameId(0) {
            *name = known.name;
        }
        let pid = if pid.0 == 0 { known.pid } else { pid };
        if (known.name, known.pid) != (*name, pid) {
            self.remember(tid, KernelThread { pid, name: *name, ..known });
        }
    }

    /// `None`: already known. A thread that was attached to at the same time as its creator reports everything twice.
    fn set_on_cpu(&mut self, tid: Tid, pid: Pid, on_cpu: bool) -> Option<()> {
        let known = self.threads.get(&tid).copied().unwrap_or_default();
        if known.on_cpu == Some(on_cpu) {
            return None;
        }
        let pid = if pid.0 == 0 { known.pid } else { pid };
        self.remember(tid, KernelThread { pid, on_cpu: Some(on_cpu), ..known });
        Some(())
    }

    fn remember(&mut self, tid: Tid, thread: KernelThread) {
        if self.threads.len() < THREADS_MAX || self.threads.contains_key(&tid) {
            self.threads.insert(tid, thread);
        }
    }
}
