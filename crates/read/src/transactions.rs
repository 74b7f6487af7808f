//! Transaction counts that a capture keeps. Owns of which process they are taken; `decode` reads their lines, the
//! fold sums them up.

use rtscope_analyze::recording::stm::Stm;
use rtscope_decode::capture::Capture;
use rtscope_model::{Loss, Pid, StmLine, Time};
use std::collections::BTreeMap;

/// Maximum processes counted separately.
const PROCESSES_MAX: usize = 64;

/// Counts of each process.
#[derive(Debug, Default)]
pub struct Processes {
    started: Option<Time>,
    folds: BTreeMap<u32, Stm>,
}

impl Processes {
    /// For a recording that began at `started`; `None`: at the first look.
    pub fn new(started: Option<Time>) -> Processes {
        Processes { started, ..Processes::default() }
    }

    /// Adds what a look found; looks come in order of time.
    pub fn push(&mut self, line: &StmLine) {
        if self.folds.len() < PROCESSES_MAX || self.folds.contains_key(&line.pid) {
            self.folds.entry(line.pid).or_insert_with(|| Stm::new(self.started)).push(line.time, &line.seen);
        }
    }

    /// The counts of the most active process.
    pub fn busiest(&self) -> Option<&Stm> {
        self.folds.values().max_by_key(|stm| stm.busy())
    }
}

/// The counts of process `pid`, or of the busiest one; `None` if no counts were recorded of it.
pub fn load(capture: &Capture, pid: Option<Pid>, started: Option<Time>, losses: &mut Vec<Loss>) -> Option<Stm> {
    let mut lines = capture.transactions()?;
    let mut processes = Processes::new(started);
    lines.by_ref().filter(|line| pid.is_none_or(|pid| pid.0 == line.pid)).for_each(|line| processes.push(&line));
    losses.extend(lines.losses());
    processes.busiest().cloned()
}
