//! The kernel's scheduling as Perfetto's own recorder would have written it: bundles of
//! ftrace events, one CPU each, so that its CPU tracks and thread states work.
//!
//! Owns what stands in those events, and when a bundle is full. Priorities are not
//! recorded: they are left out.

use super::field::{bundle, ftrace, packet, switch, waking};
use super::wire::Wire;
use crate::Tables;
use crate::timeline::threads::Threads;
use rtscope_model::{OffState, Sched, Time};
use std::collections::BTreeMap;

/// Bytes of one bundle.
const BUNDLE_BYTES: usize = 16 << 10;
/// Bytes of all bundles that are not full.
const ALL_BYTES: usize = 4 << 20;
/// Stands for whoever had a CPU while none of the program's threads did, where only those
/// are recorded: not the idle task, which would say that nobody did.
pub(super) const NOT_RECORDED: u32 = i32::MAX as u32;
const NOT_RECORDED_NAME: &str = "not recorded";
/// Threads have names of at most so many bytes in the kernel.
const COMM_BYTES: usize = 15;

#[derive(Default)]
struct Bundle {
    events: Wire,
    /// The thread that has the CPU, as far as was seen.
    running: u32,
}

/// Bundles that are being filled.
#[derive(Default)]
pub(super) struct Bundles {
    cpus: BTreeMap<u16, Bundle>,
    bytes: usize,
    full: Option<u16>,
}

impl Bundles {
    /// Takes an event of the scheduler, if it is one that ftrace has.
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
                // Who leaves would have gone on as far as anybody knows.
                self.switch(time, cpu.0, (NOT_RECORDED, 0), tid.0, comm);
            }
            Sched::SwitchOut { cpu, tid, preempted } => {
                let state = if preempted { state(OffState::Runnable) } else { state(OffState::Unknown) };
                self.switch(time, cpu.0, (tid.0, state), NOT_RECORDED, comm);
            }
            Sched::Waking { waker, target, target_cpu } => {
                // The format wants the CPU on which it was woken: where its waker runs.
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

    /// An event of a thread on `cpu`; `running`: who has that from then on.
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

    /// Bytes that are held.
    #[cfg(test)]
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Whether [`Bundles::write`] has something to write.
    pub fn is_due(&self) -> bool {
        self.full.is_some() || self.bytes >= ALL_BYTES
    }

    /// Writes what is full as packets, everything at the `end`.
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

/// The kernel's number of a state. Of one that is not known a number that stands for none:
/// Perfetto shows it as unknown.
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
