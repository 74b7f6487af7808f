//! Samples the transactions of recorded programs: which processes are sampled, and what is
//! written. Owns that nothing is written twice. The process's memory is gone as soon as it ends,
//! so each sample is kept until the next one, and the last successful one is the end.
//!
//! Reading a program's symbols takes some milliseconds: a separate thread does that, so that
//! the sampler is not late.

use super::Refusal;
use super::changes::Changes;
use super::counts::{StmCounters, StmLook};
use super::place::find;
use crate::capture::folder::Folder;
use crate::system::procfs::Host;
use crate::target::memory::LiveProcess;
use rtscope_decode::capture::stm::write_line;
use rtscope_model::{StmLine, StmSeen, Time};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Write};
use std::path::PathBuf;
use std::thread::JoinHandle;

const COUNTS: &str = "stm.jsonl";
/// Processes that are sampled.
const PROCESSES_MAX: usize = 16;
/// Attempts per program: its libraries are mapped a moment after it has begun.
const TRIES_MAX: u32 = 3;

type FoundCounters = Result<StmCounters<LiveProcess>, Refusal>;

/// How results are stored.
#[derive(Clone, Debug)]
pub struct StmOutput {
    /// The capture in which `stm.jsonl` is made once there is something to write.
    pub capture: Option<Folder>,
    /// Leave out names of transactions.
    pub redact: bool,
}

/// Samples processes and writes the changes.
#[derive(Debug)]
pub struct Watcher {
    host: Host,
    kept: StmOutput,
    /// When the recorder was started, in clock ticks.
    own_start: u64,
    processes: BTreeMap<u32, CountedProcess>,
    lines: Vec<u8>,
    output: Option<File>,
}

#[derive(Debug)]
struct CountedProcess {
    exe: Option<PathBuf>,
    whole: bool,
    tries: u32,
    state: CountState,
}

#[derive(Debug)]
enum CountState {
    Finding(JoinHandle<FoundCounters>),
    Counting(Box<Counting>),
    Refused,
}

/// The last sample of one process, and what of it was written.
#[derive(Debug)]
struct Counting {
    at: StmCounters<LiveProcess>,
    last: Option<(Time, StmLook)>,
    /// When samples began to fail.
    gone: Option<Time>,
    written: Changes,
}

impl Watcher {
    pub fn new(host: Host, kept: StmOutput) -> Watcher {
        let own_start = host.stat(std::process::id()).map_or(u64::MAX, |stat| stat.start_ticks);
        Watcher { host, kept, own_start, processes: BTreeMap::new(), lines: Vec::new(), output: None }
    }

    /// Sets the processes to sample from now on; also finds programs that have begun since the last call.
    pub fn follow(&mut self, pids: impl Iterator<Item = u32>) {
        let pids: Vec<u32> = pids.take(PROCESSES_MAX).collect();
        let gone: Vec<u32> = self.processes.keys().copied().filter(|pid| !pids.contains(pid)).collect();
        for pid in gone {
            if let Some(process) = self.processes.remove(&pid) {
                self.end(pid, process);
            }
        }
        pids.into_iter().for_each(|pid| self.begin(pid));
    }

    /// Begins to search the counters of `pid`, if it runs a program that was not tried.
    fn begin(&mut self, pid: u32) {
        let exe = std::fs::read_link(self.host.process(pid, "exe")).ok();
        // Before exec the program is still this one, whose symbols are many.
        if exe.is_some() && exe == std::env::current_exe().ok() {
            return;
        }
        let known = self.processes.get(&pid);
        let same = known.filter(|known| known.exe == exe || exe.is_none());
        let again = same.is_some_and(|known| matches!(known.state, CountState::Refused) && known.tries < TRIES_MAX);
        if same.is_some() && !again {
            return;
        }
        let tries = same.map_or(0, |known| known.tries) + 1;
        let host = self.host.clone();
        let finding = std::thread::Builder::new().name("transactions".into()).spawn(move || {
            crate::system::worker::use_batch_priority();
            find(&host, pid)
        });
        let whole = self.host.stat(pid).is_some_and(|stat| stat.start_ticks >= self.own_start);
        let state = finding.map_or(CountState::Refused, CountState::Finding);
        if let Some(before) = self.processes.insert(pid, CountedProcess { exe, whole, tries, state }) {
            self.end(pid, before);
        }
    }

    /// Takes over the results of searches that have ended.
    pub fn settle(&mut self, now: Time) {
        for (pid, process) in &mut self.processes {
            if !matches!(&process.state, CountState::Finding(finding) if finding.is_finished()) {
                continue;
            }
            let finding = std::mem::replace(&mut process.state, CountState::Refused);
            let CountState::Finding(finding) = finding else { continue };
            match finding.join() {
                Ok(Ok(at)) => process.state = CountState::Counting(Box::new(Counting::new(at))),
                Ok(Err(refused @ (Refusal::NoCounts(..) | Refusal::NotPermitted(_)))) if process.tries == TRIES_MAX => {
                    let seen =
                        StmSeen::Source { whole: process.whole, outcomes: false, why: Some(refused.to_string()) };
                    write_line(&mut self.lines, &StmLine { time: now, pid: *pid, seen });
                }
                Ok(Err(_)) | Err(_) => {}
            }
        }
    }

    /// Takes one sample of each process, kept until the next. Returns whether one differs from the last.
    pub fn look(&mut self, now: Time) -> bool {
        let mut moved = false;
        for process in self.processes.values_mut() {
            let CountState::Counting(counting) = &mut process.state else { continue };
            match counting.at.look() {
                Ok(mut look) => {
                    let attempts = counting.last.as_ref().and_then(|last| last.1.attempts);
                    look.attempts = look.attempts.or(attempts);
                    moved |= counting.last.as_ref().is_none_or(|last| last.1 != look);
                    (counting.last, counting.gone) = (Some((now, look)), None);
                }
                Err(_) => _ = counting.gone.get_or_insert(now),
            }
        }
        moved
    }

    /// Notes changes since the last note.
    pub fn note(&mut self) {
        for (pid, process) in &mut self.processes {
            if let CountState::Counting(counting) = &mut process.state {
                counting.note(*pid, process.whole, self.kept.redact, &mut self.lines);
            }
        }
    }

    /// Notes the last samples of all processes.
    pub fn finish(&mut self) {
        for (pid, process) in std::mem::take(&mut self.processes) {
            self.end(pid, process);
        }
    }

    fn end(&mut self, pid: u32, process: CountedProcess) {
        let CountState::Counting(mut counting) = process.state else { return };
        counting.note(pid, process.whole, self.kept.redact, &mut self.lines);
        if let Some((time, _)) = counting.last {
            write_line(&mut self.lines, &StmLine { time, pid, seen: StmSeen::Last });
            if let Some(time) = counting.gone {
                write_line(&mut self.lines, &StmLine { time, pid, seen: StmSeen::Gone });
            }
        }
    }

    /// The lines noted since the last call.
    pub fn take(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.lines)
    }

    /// Writes the noted lines; returns their bytes. Errors: the disk.
    pub fn write(&mut self) -> io::Result<u64> {
        let lines = self.take();
        if lines.is_empty() {
            return Ok(0);
        }
        if let (None, Some(capture)) = (&self.output, &self.kept.capture) {
            self.output = Some(capture.create(COUNTS)?);
        }
        self.output.as_mut().map_or(Ok(()), |output| output.write_all(&lines))?;
        Ok(lines.len() as u64)
    }
}

impl Counting {
    fn new(at: StmCounters<LiveProcess>) -> Counting {
        Counting { at, last: None, gone: None, written: Changes::default() }
    }

    fn note(&mut self, pid: u32, whole: bool, redact: bool, out: &mut Vec<u8>) {
        let Some((time, look)) = &self.last else { return };
        let why = self.at.no_outcomes_because(look);
        self.written.since(look, whole, why.as_deref(), |seen| {
            let seen = match seen {
                StmSeen::Name(number, _, counts) if redact => {
                    StmSeen::Name(number, format!("transaction {number}"), counts)
                }
                seen => seen,
            };
            write_line(out, &StmLine { time: *time, pid, seen });
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_program_without_transactions_nothing_is_written() {
        let folder = tempfile::tempdir().unwrap();
        let capture = Folder::open(folder.path()).unwrap();
        let mut watcher = Watcher::new(Host::default(), StmOutput { capture: Some(capture), redact: false });
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let own = child.id();
        for _ in 0..200 {
            watcher.follow([own].into_iter());
            watcher.settle(Time(1));
            let tried = watcher.processes.get(&own);
            if tried.is_some_and(|own| matches!(own.state, CountState::Refused) && own.tries == TRIES_MAX) {
                break;
            }
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        assert!(watcher.processes.get(&own).is_some_and(|own| own.tries == TRIES_MAX));
        watcher.look(Time(2));
        watcher.note();
        watcher.finish();
        let written = watcher.write();
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(written.unwrap(), 0);
        assert!(!folder.path().join(COUNTS).exists());
    }
}
