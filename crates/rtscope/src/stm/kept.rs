//! Counts of transactions that a capture keeps: of which process they are taken. What is in
//! their lines is `decode`'s to read, what they come to the fold's.

use rtscope_analyze::stm::Stm;
use rtscope_decode::capture::Capture;
use rtscope_model::{Loss, Pid, Time};
use std::collections::BTreeMap;

/// Processes that are kept apart.
const PROCESSES_MAX: usize = 64;

/// Counts of a capture.
#[derive(Debug, Default)]
pub(crate) struct Kept {
    /// Of one process; `None` where nobody looked at it.
    pub stm: Option<Stm>,
    /// Lines that could not be read.
    pub losses: Vec<Loss>,
}

/// The counts of process `pid`; of the one that did most, where none is given.
pub(crate) fn load(capture: &Capture, pid: Option<Pid>, started: Option<Time>) -> Kept {
    let Some(mut lines) = capture.transactions() else { return Kept::default() };
    let mut processes: BTreeMap<u32, Stm> = BTreeMap::new();
    for line in lines.by_ref().filter(|line| pid.is_none_or(|pid| pid.0 == line.pid)) {
        if processes.len() < PROCESSES_MAX || processes.contains_key(&line.pid) {
            processes.entry(line.pid).or_insert_with(|| Stm::new(started)).push(line.time, &line.seen);
        }
    }
    Kept { stm: processes.into_values().max_by_key(Stm::busy), losses: lines.losses() }
}
