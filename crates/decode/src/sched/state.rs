//! What earlier records tell about later ones: names and processes of threads,
//! who is on which CPU. Owns that memory, kept in the order of time; refuses to
//! grow without bound.

use super::interpret::Item;
use super::record::GONE;
use rtscope_model::{Cpu, NameId, OffState, Pid, Sched, Tid};
use std::collections::HashMap;

/// Threads remembered; a kernel allows four million at most, hostile bytes could
/// name more.
const THREADS_MAX: usize = 1 << 20;

#[derive(Copy, Clone, Debug, Default)]
struct Thread {
    pid: Pid,
    name: NameId,
    /// Whether it is known to be on a CPU (cheap tier only).
    on_cpu: Option<bool>,
}

/// The threads seen so far.
#[derive(Clone, Debug, Default)]
pub struct State {
    threads: HashMap<Tid, Thread>,
    current: HashMap<Cpu, Tid>,
}

impl State {
    /// Fills in what `item`'s own record did not know. The second event is for a
    /// new thread, which takes its maker's name. `None`: `item` is a repetition.
    pub fn apply(&mut self, item: Item) -> Option<(Sched, Option<Sched>)> {
        let mut sched = item.sched;
        let mut more = None;
        match &mut sched {
            Sched::Switch { cpu, prev, prev_pid, prev_state, next, next_name } => {
                if prev.0 == GONE {
                    *prev = self.current.get(cpu).copied().unwrap_or(*prev);
                }
                self.leave(*prev, prev_pid, *prev_state);
                self.current.insert(*cpu, *next);
                self.come(*next, item.pid, next_name);
            }
            Sched::SwitchIn { tid, .. } => self.set_on_cpu(*tid, item.pid, true)?,
            Sched::SwitchOut { tid, .. } => self.set_on_cpu(*tid, item.pid, false)?,
            Sched::Fork { parent, child, child_pid } => {
                let name = self.threads.get(parent).map_or(NameId(0), |parent| parent.name);
                self.remember(*child, Thread { pid: *child_pid, name, on_cpu: None });
                more = (name != NameId(0)).then_some(Sched::Named { tid: *child, name });
            }
            Sched::Named { tid, name } => self.name(*tid, item.pid, *name),
            Sched::Waking { .. } | Sched::Migrate { .. } | Sched::Exit { .. } => {}
        }
        Some((sched, more))
    }

    /// Remembers a name (and process, where not 0) of a thread.
    pub fn name(&mut self, tid: Tid, pid: Pid, name: NameId) {
        let known = self.threads.get(&tid).copied().unwrap_or_default();
        let pid = if pid.0 == 0 { known.pid } else { pid };
        self.remember(tid, Thread { pid, name, ..known });
    }

    fn leave(&mut self, tid: Tid, pid: &mut Pid, state: OffState) {
        if tid == Tid::IDLE {
            return;
        }
        let known = self.threads.get(&tid).copied().unwrap_or_default();
        if pid.0 == 0 {
            *pid = known.pid;
        }
        if state == OffState::Dead {
            self.threads.remove(&tid);
        } else if known.pid != *pid {
            self.remember(tid, Thread { pid: *pid, ..known });
        }
    }

    fn come(&mut self, tid: Tid, pid: Pid, name: &mut NameId) {
        if tid == Tid::IDLE {
            return;
        }
        let known = self.threads.get(&tid).copied().unwrap_or_default();
        if *name == NameId(0) {
            *name = known.name;
        }
        let pid = if pid.0 == 0 { known.pid } else { pid };
        if (known.name, known.pid) != (*name, pid) {
            self.remember(tid, Thread { pid, name: *name, ..known });
        }
    }

    /// `None`: known already. A thread that was attached to while its maker was
    /// attached to as well reports everything twice.
    fn set_on_cpu(&mut self, tid: Tid, pid: Pid, on_cpu: bool) -> Option<()> {
        let known = self.threads.get(&tid).copied().unwrap_or_default();
        if known.on_cpu == Some(on_cpu) {
            return None;
        }
        let pid = if pid.0 == 0 { known.pid } else { pid };
        self.remember(tid, Thread { pid, on_cpu: Some(on_cpu), ..known });
        Some(())
    }

    fn remember(&mut self, tid: Tid, thread: Thread) {
        if self.threads.len() < THREADS_MAX || self.threads.contains_key(&tid) {
            self.threads.insert(tid, thread);
        }
    }
}
