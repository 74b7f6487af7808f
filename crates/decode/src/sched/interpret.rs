//! The meaning of single records. Owns the tracepoints' fields and their translation to model events; refuses state:
//! anything that depends on other records happens after the merge, in time order.

use super::SchedError;
use super::format::{Integer, Text, TracepointFormat};
use super::name_table::NameTable;
use crate::perf::record::{Body, GONE, RecordLayout, Stamp};
use crate::perf::stream::Interpret;
use rtscope_model::manifest::Kernel;
use rtscope_model::{Cpu, NameId, OffState, Pid, Sched, Tid};
use std::collections::HashMap;

/// The content of one record, without knowledge of the others.
#[derive(Copy, Clone, PartialEq, Debug)]
pub enum SchedRecord {
    Event {
        /// The event with the fields that this record has.
        sched: Sched,
        /// Process of the thread that was switched in, created or named (0: unknown).
        pid: Pid,
    },
    /// The incoming side of a switch, which the outgoing side has usually reported.
    SwitchedIn {
        cpu: Cpu,
        /// The incoming thread and its process.
        next: (Tid, Pid),
        /// The outgoing thread and its process.
        prev: (Tid, Pid),
    },
    /// Records are missing here: the current thread of the CPU is no longer known.
    Gap { cpu: Cpu },
}

#[derive(Clone, Debug)]
enum TracepointFields {
    Switch { prev: Integer, state: Integer, next: Integer, comm: Option<Text>, format: TracepointFormat },
    Wake { waker: Integer, target: Integer, cpu: Integer },
    Migrate { tid: Integer, cpu: Integer },
}

/// Interprets the tracepoints of one recording.
#[derive(Clone, Debug)]
pub struct Interpreter {
    points: Vec<(u16, TracepointFields)>,
    has_switch: bool,
}

impl Interpreter {
    /// Parses the formats of all tracepoints that `kernel` names.
    pub fn new(kernel: &Kernel, formats: &HashMap<String, String>) -> Result<Interpreter, SchedError> {
        let mut points = Vec::new();
        for tracepoint in &kernel.tracepoints {
            let name = tracepoint.name.as_str();
            let text = formats.get(name).ok_or_else(|| SchedError::NoFormat { tracepoint: name.to_owned() })?;
            let id = u16::try_from(tracepoint.id).map_err(|_| SchedError::Id { tracepoint: name.to_owned() })?;
            if let Some(point) = point(name, TracepointFormat::parse(text))? {
                points.push((id, point));
            }
        }
        let has_switch = points.iter().any(|(_, point)| matches!(point, TracepointFields::Switch { .. }));
        Ok(Interpreter { points, has_switch })
    }

    /// A hit of a tracepoint. `None`: an unknown one, or too short for its fields.
    pub fn sample(&self, stamp: Stamp, raw: &[u8], names: &mut NameTable) -> Option<SchedRecord> {
        // `common_type` is the first field of every tracepoint on every kernel.
        let id = u16::from_le_bytes(*raw.first_chunk()?);
        let point = self.points.iter().find_map(|(known, point)| (*known == id).then_some(point))?;
        let sched = match point {
            TracepointFields::Switch { prev, state, next, comm, format } => Sched::Switch {
                cpu: Cpu(stamp.cpu as u16),
                prev: Tid(prev.read_u32(raw)?),
                prev_pid: known(stamp.pid),
                prev_state: format.off_state(state.read(raw)?),
                next: Tid(next.read_u32(raw)?),
                next_name: comm.and_then(|comm| comm.read(raw)).map_or(NameId(0), |comm| names.intern(comm)),
            },
            TracepointFields::Wake { waker, target, cpu } => Sched::Waking {
                // Not the stamp's tid: that is missing for a thread that is about to end.
                waker: Tid(waker.read_u32(raw)?),
                target: Tid(target.read_u32(raw)?),
                target_cpu: Cpu(cpu.read(raw)? as u16),
            },
            TracepointFields::Migrate { tid, cpu } => {
                Sched::Migrate { tid: Tid(tid.read_u32(raw)?), to: Cpu(cpu.read(raw)? as u16) }
            }
        };
        Some(SchedRecord::Event { sched, pid: Pid(0) })
    }

    /// Any other record. `None`: it has no event.
    pub fn other(&self, stamp: Stamp, body: Body<'_>, names: &mut NameTable) -> Option<SchedRecord> {
        let cpu = Cpu(stamp.cpu as u16);
        let tid = Tid(stamp.tid);
        let (sched, pid) = match body {
            Body::Switch { .. } if stamp.tid == GONE => return None,
            Body::Switch { out: false, .. } => (Sched::SwitchIn { cpu, tid }, known(stamp.pid)),
            Body::Switch { out: true, preempted } => (Sched::SwitchOut { cpu, tid, preempted }, known(stamp.pid)),
            Body::SwitchCpuWide { out: false, other_pid, other_tid, .. } => {
                let prev = (Tid(other_tid), known(other_pid));
                return Some(SchedRecord::SwitchedIn { cpu, next: (tid, known(stamp.pid)), prev });
            }
            // The tracepoint has reported this switch, with more detail.
            Body::SwitchCpuWide { out: true, .. } if self.has_switch => return None,
            Body::SwitchCpuWide { out: true, preempted, other_pid, other_tid } => {
                let gone = stamp.tid == GONE;
                let prev_state = match (gone, preempted) {
                    (true, _) => OffState::Dead,
                    (false, true) => OffState::Runnable,
                    // It is not runnable; whether a signal would wake it is not known here, nor from its own switches.
                    (false, false) => OffState::Sleeping,
                };
                let (prev, prev_pid) = (tid, known(stamp.pid));
                let next = Tid(other_tid);
                (Sched::Switch { cpu, prev, prev_pid, prev_state, next, next_name: NameId(0) }, known(other_pid))
            }
            Body::Fork { pid, tid, parent_tid, .. } => {
                (Sched::Fork { parent: Tid(parent_tid), child: Tid(tid), child_pid: Pid(pid) }, Pid(pid))
            }
            Body::Exit { tid } => (Sched::Exit { tid: Tid(tid) }, Pid(0)),
            Body::Comm { pid, tid, comm, .. } => (Sched::Named { tid: Tid(tid), name: names.intern(comm) }, Pid(pid)),
            Body::Sample(_) | Body::Lost { .. } | Body::Throttle | Body::Code(_) | Body::Mapped(_) => return None,
        };
        Some(SchedRecord::Event { sched, pid })
    }
}

/// An interpreter and the table that it adds names to.
pub struct SchedReader<'a> {
    /// The interpreter of the tracepoints.
    pub interpreter: &'a Interpreter,
    /// The table of names; grows.
    pub names: &'a mut NameTable,
}

impl Interpret for SchedReader<'_> {
    type Item = SchedRecord;

    fn layout(&self) -> RecordLayout {
        RecordLayout::Threads
    }

    fn read(&mut self, stamp: Stamp, body: Body<'_>) -> Option<Option<SchedRecord>> {
        Some(match body {
            // A sample of a tracepoint that was not requested is damage.
            Body::Sample(raw) => Some(self.interpreter.sample(stamp, raw, self.names)?),
            other => self.interpreter.other(stamp, other, self.names),
        })
    }

    fn gap(cpu: Cpu) -> Option<SchedRecord> {
        Some(SchedRecord::Gap { cpu })
    }
}

fn known(pid: u32) -> Pid {
    Pid(if pid == GONE { 0 } else { pid })
}

fn point(name: &str, format: TracepointFormat) -> Result<Option<TracepointFields>, SchedError> {
    let integer = |field: &str| {
        let missing = || SchedError::NoField { tracepoint: name.to_owned(), field: field.to_owned() };
        format.integer(field).ok_or_else(missing)
    };
    let point = match name {
        "sched_switch" if !format.has_states() => {
            return Err(SchedError::NoField { tracepoint: name.to_owned(), field: "print fmt".to_owned() });
        }
        "sched_switch" => TracepointFields::Switch {
            prev: integer("prev_pid")?,
            state: integer("prev_state")?,
            next: integer("next_pid")?,
            comm: format.text("next_comm"),
            format: format.clone(),
        },
        "sched_waking" | "sched_wakeup_new" => TracepointFields::Wake {
            waker: integer("common_pid")?,
            target: integer("pid")?,
            cpu: integer("target_cpu")?,
        },
        "sched_migrate_task" => TracepointFields::Migrate { tid: integer("pid")?, cpu: integer("dest_cpu")? },
        _ => return Ok(None),
    };
    Ok(Some(point))
}
