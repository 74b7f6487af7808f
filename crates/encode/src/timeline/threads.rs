//! Names and processes of threads, from the kernel's events. Owns that bounded directory; reports what is new, so
//! that a format can write it once.

use rtscope_model::{Body, Event, NameId, Names, Sched};
use std::borrow::Cow;
use std::collections::HashMap;

/// Limit of remembered threads. Evicted ones are reported again.
const REMEMBERED: usize = 1 << 16;

/// The CPU of a switch and its new thread; 0: none.
pub fn switched(sched: &Sched) -> Option<(u16, u32)> {
    match *sched {
        Sched::Switch { cpu, next, .. } => Some((cpu.0, next.0)),
        Sched::SwitchIn { cpu, tid } => Some((cpu.0, tid.0)),
        Sched::SwitchOut { cpu, .. } => Some((cpu.0, 0)),
        _ => None,
    }
}

/// The known facts of a thread; 0 and the empty name are unknown.
#[derive(Copy, Clone, Eq, PartialEq, Default, Debug)]
pub struct NamedThread {
    pub pid: u32,
    /// Its name in the kernel's table.
    pub name: NameId,
}

#[derive(Default, Debug)]
pub struct Threads {
    known: HashMap<u32, NamedThread>,
}

impl Threads {
    pub fn get(&self, tid: u32) -> NamedThread {
        self.known.get(&tid).copied().unwrap_or_default()
    }

    /// The name of `tid` in the kernel's table, or its number if the name is not known.
    pub fn name<'n>(&self, tid: u32, kernel: &'n Names) -> Cow<'n, str> {
        match kernel.get(self.get(tid).name) {
            "" => format!("thread {tid}").into(),
            name => name.into(),
        }
    }

    /// Updates the directory from an event; returns the threads with new facts.
    pub fn learn(&mut self, event: &Event) -> [Option<(u32, NamedThread)>; 2] {
        let Body::Sched(sched) = event.body else { return [None; 2] };
        match sched {
            Sched::Switch { prev, prev_pid, next, next_name, .. } => {
                [self.update(prev.0, prev_pid.0, NameId::default()), self.update(next.0, 0, next_name)]
            }
            Sched::Fork { child, child_pid, .. } => [self.update(child.0, child_pid.0, NameId::default()), None],
            Sched::Named { tid, name } => [self.update(tid.0, 0, name), None],
            _ => [None; 2],
        }
    }

    /// Updates the fields that are not 0.
    fn update(&mut self, tid: u32, pid: u32, name: NameId) -> Option<(u32, NamedThread)> {
        if tid == 0 || (pid == 0 && name == NameId::default()) {
            return None;
        }
        if self.known.len() >= REMEMBERED && !self.known.contains_key(&tid) {
            self.known.clear();
        }
        let thread = self.known.entry(tid).or_default();
        let before = *thread;
        if pid != 0 {
            thread.pid = pid;
        }
        if name != NameId::default() {
            thread.name = name;
        }
        (*thread != before).then_some((tid, *thread))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rtscope_model::{Cpu, LaneId, OffState, Pid, Tid, Time};

    fn switch(prev: u32, prev_pid: u32, next: u32, name: u32) -> Event {
        let (prev_state, cpu) = (OffState::Runnable, Cpu(0));
        let sched = Sched::Switch {
            cpu,
            prev: Tid(prev),
            prev_pid: Pid(prev_pid),
            prev_state,
            next: Tid(next),
            next_name: NameId(name),
        };
        Event { time: Time(1), lane: LaneId::NONE, body: Body::Sched(sched) }
    }

    #[test]
    fn what_is_new_is_reported_once() {
        let mut threads = Threads::default();
        let named = NamedThread { pid: 0, name: NameId(5) };
        let other = NamedThread { pid: 0, name: NameId(6) };
        assert_eq!(threads.learn(&switch(0, 0, 7, 5)), [None, Some((7, named))]);
        let known = NamedThread { pid: 70, name: NameId(5) };
        assert_eq!(threads.learn(&switch(7, 70, 8, 6)), [Some((7, known)), Some((8, other))]);
        assert_eq!(threads.learn(&switch(7, 70, 0, 0)), [None; 2]);
        assert_eq!(threads.get(7), known);
    }
}
