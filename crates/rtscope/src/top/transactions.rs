//! Transaction counts as they come in lines. Owns that a sum includes no lines later than its moment.

use rtscope_analyze::recording::stm::{Stm, StmTotals};
use rtscope_decode::capture::{Counted, StmStream};
use rtscope_model::{StmLine, Time};
use rtscope_read::transactions::Processes;
use std::collections::VecDeque;

/// Maximum lines that wait for their moment.
const WAITING_MAX: usize = 1 << 20;

/// Lines of a file that are read at once.
const LINES: usize = 256;

#[derive(Debug)]
pub(super) struct Transactions {
    processes: Processes,
    waiting: VecDeque<StmLine>,
    /// The source of more lines, for a finished recording.
    file: Option<Counted>,
}

impl Transactions {
    /// For a recording that began at `started`; `None`: counted from the first look on.
    pub(super) fn new(started: Option<Time>) -> Transactions {
        Transactions { processes: Processes::new(started), waiting: VecDeque::new(), file: None }
    }

    /// For a finished recording; `file` has its lines.
    pub(super) fn of_file(started: Option<Time>, file: Option<Counted>) -> Transactions {
        Transactions { file, ..Transactions::new(started) }
    }

    /// Adds whole lines of `stm.jsonl`.
    pub(super) fn add(&mut self, lines: &[u8]) {
        self.waiting.extend(StmStream::new(lines));
        while self.waiting.len() > WAITING_MAX {
            let _ = self.waiting.pop_front().map(|line| self.processes.push(&line));
        }
    }

    /// Sums at `time` of the most active process; `None` if none was seen.
    pub(super) fn until(&mut self, time: Time) -> Option<StmTotals> {
        loop {
            if self.waiting.is_empty() {
                self.waiting.extend(self.file.iter_mut().flatten().take(LINES));
            }
            let Some(line) = self.waiting.front().filter(|line| line.time <= time) else { break };
            self.processes.push(line);
            self.waiting.pop_front();
        }
        self.processes.busiest().and_then(Stm::totals)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rtscope_decode::capture::stm::write_line;
    use rtscope_model::{StmCounts, StmSeen};

    #[test]
    fn what_comes_later_is_not_in_a_sum() {
        let mut lines = Vec::new();
        let mut write = |time: u64, pid: u32, seen: StmSeen| {
            write_line(&mut lines, &StmLine { time: Time(time), pid, seen });
        };
        let lane = |attempts: u64| {
            StmSeen::Lane(0, StmCounts { attempts, commits: attempts / 2, conflicts: 3, ..StmCounts::default() })
        };
        write(1, 7, StmSeen::Source { whole: true, outcomes: true, why: None });
        write(1, 9, StmSeen::Source { whole: true, outcomes: false, why: None });
        write(10, 7, lane(100));
        write(10, 9, StmSeen::Attempts(60));
        write(20, 7, lane(400));
        let mut transactions = Transactions::new(None);
        transactions.add(&lines);
        assert_eq!(transactions.until(Time(9)), None);
        let first = transactions.until(Time(10)).unwrap();
        assert_eq!(first, StmTotals { from: Time(10), attempts: 100, outcomes: Some((50, 3)) });
        let second = transactions.until(Time(20)).unwrap();
        assert_eq!(second, StmTotals { attempts: 400, outcomes: Some((200, 3)), ..first });
        let rates = second.rates(&first, Time(0), Time(2_000_000_010));
        assert_eq!((rates.attempts_per_second, rates.commits_per_second), (150.0, Some(75.0)));
        assert_eq!(rates.lost_share, Some(0.0));
    }
}
