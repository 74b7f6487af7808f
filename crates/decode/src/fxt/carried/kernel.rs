//! Events of the kernel's scheduler. Context switches and wake-ups have their own records in the format; the rest are
//! instants on their thread.

use super::super::record::{Args, EventRecord, Record, SwitchRecord, Value};
use super::super::shape::{FxtTrack, Shape};
use super::fields::{fitting, is_instant, text};
use crate::fxt::record::EventKind;
use rtscope_model::{Cpu, NameId, Names, OffState, Pid, Sched, Tid};

const SCHED: &str = "sched";

/// The format's number for the state of the outgoing thread.
fn number(state: OffState) -> u8 {
    match state {
        OffState::Runnable => 1,
        OffState::Sleeping | OffState::Uninterruptible => 3,
        OffState::Dead => 5,
        OffState::Other => 2,
        OffState::Unknown => 0,
    }
}

/// The first state with that number; an argument distinguishes the others.
fn of_number(wanted: u8) -> Option<OffState> {
    OffState::ALL.into_iter().find(|state| number(*state) == wanted)
}

/// The fields of a context switch record.
#[derive(Copy, Clone, Eq, PartialEq, Debug)]
pub struct SwitchShape {
    /// The CPU.
    pub cpu: u16,
    /// The format's number for the state of the outgoing thread.
    pub state: u8,
    /// The outgoing thread; 0: none, or not known.
    pub outgoing: u32,
    /// The incoming thread; 0: none, or not known.
    pub incoming: u32,
    /// The process of the outgoing thread.
    pub process: Option<u32>,
    /// Distinguishes states with the same number.
    pub word: Option<&'static str>,
}

/// Words for switches of which only one side was recorded.
const SWITCHED_IN: &str = "came";
const SWITCHED_OUT: &str = "left";
const PREEMPTED: &str = "preempted";

impl SwitchShape {
    pub(super) fn of(sched: &Sched) -> Option<SwitchShape> {
        let of = |cpu: Cpu, state: u8, (outgoing, incoming): (Tid, Tid), word| {
            let (cpu, outgoing, incoming) = (cpu.0, outgoing.0, incoming.0);
            Some(SwitchShape { cpu, state, outgoing, incoming, process: None, word })
        };
        match *sched {
            Sched::Switch { cpu, prev, prev_pid, prev_state, next, .. } => {
                let state = number(prev_state);
                let fits = of_number(state) == Some(prev_state);
                let shape = of(cpu, state, (prev, next), (!fits).then(|| prev_state.word()))?;
                Some(SwitchShape { process: Some(prev_pid.0), ..shape })
            }
            Sched::SwitchIn { cpu, tid } => of(cpu, 0, (Tid::IDLE, tid), Some(SWITCHED_IN)),
            Sched::SwitchOut { cpu, tid, preempted: true } => of(cpu, 1, (tid, Tid::IDLE), Some(PREEMPTED)),
            Sched::SwitchOut { cpu, tid, preempted: false } => of(cpu, 3, (tid, Tid::IDLE), Some(SWITCHED_OUT)),
            _ => None,
        }
    }
}

/// The event that a context switch carries.
pub(in crate::fxt) fn read_switch(record: &SwitchRecord<'_>, next_name: NameId) -> Option<Sched> {
    let tid = |id| u32::try_from(id).ok().map(Tid);
    let (cpu, prev, next) = (Cpu(record.cpu), tid(record.outgoing)?, tid(record.incoming)?);
    let word = match record.args.get("seen") {
        Some(Value::Text(word)) => word,
        _ => b"",
    };
    if word == SWITCHED_IN.as_bytes() {
        return Some(Sched::SwitchIn { cpu, tid: next });
    }
    if word == SWITCHED_OUT.as_bytes() || word == PREEMPTED.as_bytes() {
        return Some(Sched::SwitchOut { cpu, tid: prev, preempted: word == PREEMPTED.as_bytes() });
    }
    let found = OffState::ALL.into_iter().find(|state| state.word().as_bytes() == word);
    let prev_state = found.or_else(|| of_number(record.state)).unwrap_or(OffState::Unknown);
    let prev_pid = Pid(fitting(&record.args, "process").unwrap_or(0));
    Some(Sched::Switch { cpu, prev, prev_pid, prev_state, next, next_name })
}

/// The event that a wake-up carries.
pub(in crate::fxt) fn read_wakeup(record: &Record<'_>) -> Option<Sched> {
    let Record::Wakeup { cpu, thread, args, .. } = record else { return None };
    let waker = Tid(fitting(args, "waker").unwrap_or(0));
    Some(Sched::Waking { waker, target: Tid(u32::try_from(*thread).ok()?), target_cpu: Cpu(*cpu) })
}

/// The record for any event other than switches and wake-ups.
pub(super) fn shape<'a>(sched: &Sched, names: &'a Names) -> Shape<'a> {
    let of = |tid, name| Shape::new(EventKind::Instant, FxtTrack::Thread(tid), SCHED, name);
    let id = |number: u32| Value::Id(u64::from(number));
    match *sched {
        Sched::Migrate { tid, to } => of(tid, "migrate").with("to", Value::U32(u32::from(to.0))),
        Sched::Fork { parent, child, child_pid } => {
            of(parent, "fork").with("child", id(child.0)).with("process", id(child_pid.0))
        }
        Sched::Exit { tid } => of(tid, "exit"),
        Sched::Named { tid, name } => of(tid, "named").with("name", Value::Text(names.get(name).as_bytes())),
        // These have their own records.
        Sched::Switch { next: tid, .. }
        | Sched::SwitchIn { tid, .. }
        | Sched::SwitchOut { tid, .. }
        | Sched::Waking { target: tid, .. } => of(tid, "switch"),
    }
}

pub(super) fn read(record: &EventRecord<'_>, names: &mut Names) -> Option<Sched> {
    if record.category != SCHED.as_bytes() || !is_instant(record) {
        return None;
    }
    let crate::fxt::Thread::Known { thread, .. } = record.thread else { return None };
    let tid = Tid(u32::try_from(thread).ok()?);
    let args: &Args<'_> = &record.args;
    Some(match record.name {
        b"migrate" => Sched::Migrate { tid, to: Cpu(fitting(args, "to")?) },
        b"fork" => {
            Sched::Fork { parent: tid, child: Tid(fitting(args, "child")?), child_pid: Pid(fitting(args, "process")?) }
        }
        b"exit" => Sched::Exit { tid },
        b"named" => match args.get("name")? {
            Value::Text(name) => Sched::Named { tid, name: names.intern(&text(name)) },
            _ => return None,
        },
        _ => return None,
    })
}
