//! The kernel's scheduling as Perfetto's own recorder would write it: bundles of ftrace events, one CPU each, so that
//! its CPU tracks and thread states work.
//!
//! Owns the content of those events, and when a bundle is full. Priorities are not recorded and left out.

use super::field::{bundle, ftrace, packet, switch, waking};
use super::wire::Wire;
use crate::Tables;
use crate::timeline::threads::Threads;
use rtscope_model::{OffState, Sched, Time};
use std::collections::BTreeMap;

/// Size of a full bundle, in bytes.
const BUNDLE_BYTES: usize = 16 << 10;
/// Limit of all bundles that are not full, in bytes.
const ALL_BYTES: usize = 4 << 20;
/// Stands for the thread on a CPU while none of the program's threads was there, if only those are recorded. The idle
/// task would wrongly show the CPU as idle.
pub(super) const NOT_RECORDED: u32 = i32::MAX as u32;
const NOT_RECORDED_NAME: &str = "not recorded";
/// Limit of a thread's name in the kernel, in bytes.
const COMM_BYTES: usize = 15;

#[derive(Default)]
struct Bundle {
    events: Wire,
    /// The current thread of the CPU, as far as known.
    running: u32,
}

/// The bundles being filled.
#[derive(Default)]
pub(super) struct Bundles {
    cpus: BTreeMap<u16, Bundle>,
    bytes: usize,
    full: Option<u16>,
}

impl Bundles {
    /// Adds a scheduler event, if ftrace has it.
    pub fn push(&mut self, time: Time, sched: &Sched, threads: &Threads, tables: Tables<'_>) {
        let comm = |tid: u32| match tid {
            0 => "swapper",
            NOT_RECORDED => NOT_RECORDED_NAME,
            tid => cut(tables.kernel.get(threads.get(tid).name)),
        };
        match *sched {
            Sched::Switch { cpu, prev, prev_state, next, .. } => {
                self.switch(time, cpu.0, (prev.0, state(prev_state)), next.0, comm);
            }
            Sched::SwitchIn { cpu, tid } => {
                // As far as known, the outgoing thread could have continued.
                self.switch(time, cpu.0, (NOT_RECORDED, 0), tid.0, comm);
            }
            Sched::SwitchOut { cpu, tid, preempted } => {
                let state = if preempted { state(OffState::Runnable) } else { state(OffState::Unknown) };
                self.switch(time, cpu.0, (tid.0, state), NOT_RECORDED, comm);
            }
            Sched::Waking { waker, target, target_cpu } => {
                // The format wants the CPU on which it was woken: its waker's.
                let at = self.cpus.iter().find(|(_, bundle)| bundle.running == waker.0 && waker.0 != 0);
                let cpu = at.map_or(target_cpu.0, |(cpu, _)| *cpu);
                self.add(time, cpu, (waker.0, None), ftrace::SCHED_WAKING, |fields| {
                    fields.text(waking::COMM, comm(target.0));
                    fields.number(waking::PID, target.0.into());
                    fields.number(waking::SUCCESS, 1);
                    fields.number(waking::TARGET_CPU, target_cpu.0.into());
                });
            }
            Sched::Migrate { .. } | Sched::Fork { .. } | Sched::Exit { .. } | Sched::Named { .. } => {}
        }
    }

    fn switch<'a>(&mut self, time: Time, cpu: u16, prev: (u32, u64), next: u32, comm: impl Fn(u32) -> &'a str) {
        let (prev, prev_state) = prev;
        self.add(time, cpu, (prev, Some(next)), ftrace::SCHED_SWITCH, |fields| {
            fields.text(switch::PREV_COMM, comm(prev));
            fields.number(switch::PREV_PID, prev.into());
            fields.number(switch::PREV_STATE, prev_state);
            fields.text(switch::NEXT_COMM, comm(next));
            fields.number(switch::NEXT_PID, next.into());
        });
    }

    /// Adds an event of a thread on `cpu`; `running`: the current thread from then on.
    fn add(
        &mut self,
        time: Time,
        cpu: u16,
        (thread, running): (u32, Option<u32>),
        what: u32,
        fill: impl FnOnce(&mut Wire),
    ) {
        let bundle = self.cpus.entry(cpu).or_default();
        let before = bundle.events.bytes().len();
        bundle.events.message(bundle::EVENT, |event| {
            event.number(ftrace::TIMESTAMP, time.0);
            event.number(ftrace::PID, thread.into());
            event.message(what, fill);
        });
        bundle.running = running.unwrap_or(bundle.running);
        let after = bundle.events.bytes().len();
        self.bytes += after - before;
        if after >= BUNDLE_BYTES {
            self.full = Some(cpu);
        }
    }

    /// Number of bytes held.
    #[cfg(test)]
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Whether there is something for [`Bundles::write`].
    pub fn is_due(&self) -> bool {
        self.full.is_some() || self.bytes >= ALL_BYTES
    }

    /// Writes full bundles as packets; at the `end`, all of them.
    pub fn write(&mut self, out: &mut Wire, end: bool) {
        let all = end || self.bytes >= ALL_BYTES;
        let full = self.full.take();
        for (cpu, bundle) in self.cpus.iter_mut().filter(|(cpu, _)| all || full == Some(**cpu)) {
            let count = bundle.events.bytes().len();
            if count == 0 {
                continue;
            }
            out.message(super::field::PACKET, |packet| {
                packet.number(packet::SEQUENCE, super::sequence::MAIN.number());
                packet.message(packet::FTRACE_EVENTS, |bytes| {
                    bytes.number(bundle::CPU, (*cpu).into());
                    bytes.append(&bundle.events);
                });
            });
            bundle.events.clear();
            self.bytes -= count;
        }
    }
}

/// The kernel's number of a state. An unknown state gets a number without a meaning, which Perfetto shows as unknown.
fn state(state: OffState) -> u64 {
    match state {
        OffState::Runnable => 0,
        OffState::Sleeping => 1,
        OffState::Unknown => 0x7fff,
        OffState::Uninterruptible => 2,
        OffState::Other => 4,
        OffState::Dead => 16,
    }
}

fn cut(name: &str) -> &str {
    let end = (0..=COMM_BYTES.min(name.len())).rev().find(|end| name.is_char_boundary(*end)).unwrap_or(0);
    name.get(..end).unwrap_or_default()
}
