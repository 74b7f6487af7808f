//! Which process writes which log. Owns the search: one pass over processes serves all logs in the search, passes over
//! the whole machine are few for each log and rare, and facts read from a program's file are cached. Refuses to know
//! what is done with a writer.

use super::logs::LiveLog;
use crate::system::clock;
use crate::system::procfs::{Host, identity};
use crate::target::Process;
use rtscope_model::Time;
use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::PathBuf;

/// Passes over all processes cost milliseconds: after this many the writer of a log is considered gone.
const WIDE_LOOKS: u64 = 5;
/// The next pass waits this many times the CPU time of the last one.
const WIDE_REST: u64 = 20;

#[derive(Debug, Default)]
pub(super) struct Sought {
    /// By file name, which stays whatever the path to it is: only files with such names are examined, so
    /// that the recorder never waits for a file on a dead server.
    names: HashMap<OsString, Vec<Log>>,
    wide_looks: u64,
    next_wide: Time,
}

#[derive(Debug)]
struct Log {
    number: usize,
    path: PathBuf,
    /// Its file is known, whatever its name leads to.
    held: bool,
    identity: Option<(u64, u64)>,
    /// The pass over all processes after which it is given up; `None`: never, it may not have been opened yet.
    until: Option<u64>,
}

impl Sought {
    /// Adds log `number`. `opened`: a program has already opened it.
    pub(super) fn add(&mut self, number: usize, log: &LiveLog, opened: bool) {
        let path = &log.path;
        let Some(name) = path.file_name() else { return };
        let until = opened.then_some(self.wide_looks + WIDE_LOOKS);
        let log = Log { number, path: path.clone(), held: log.is_held(), identity: log.identity(), until };
        self.names.entry(name.to_owned()).or_default().push(log);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// Logs that some process has opened.
    pub(super) fn numbers(&self) -> impl Iterator<Item = usize> {
        self.names.values().flatten().filter(|log| log.until.is_some()).map(|log| log.number)
    }

    /// Searches the family, then (`everywhere`, and if it is time) all processes. Returns the logs whose writers were
    /// found, in the order of their numbers, with the descriptor; they leave the search.
    pub(super) fn look(
        &mut self,
        host: &Host,
        family: &[u32],
        everywhere: bool,
        now: Time,
    ) -> Vec<(usize, Process, u32)> {
        if self.is_empty() {
            return Vec::new();
        }
        let mut found = self.pass(host, family);
        if everywhere && !self.is_empty() && now >= self.next_wide {
            let before_ns = clock::thread_cpu_ns();
            found.extend(self.pass(host, &host.pids()));
            let cost_ns = clock::thread_cpu_ns().saturating_sub(before_ns);
            self.next_wide = now.plus(cost_ns.saturating_mul(WIDE_REST));
            self.wide_looks += 1;
            let looks = self.wide_looks;
            self.retain(|log| log.until.is_none_or(|until| until > looks));
        }
        found.sort_unstable_by_key(|(number, _, _)| *number);
        found
    }

    fn retain(&mut self, keep: impl Fn(&Log) -> bool) {
        self.names.retain(|_, logs| {
            logs.retain(&keep);
            !logs.is_empty()
        });
    }

    fn pass(&mut self, host: &Host, pids: &[u32]) -> Vec<(usize, Process, u32)> {
        for log in self.names.values_mut().flatten().filter(|log| log.until.is_none() && !log.held) {
            log.identity = fs::metadata(&log.path).ok().map(|file| identity(&file));
        }
        // Children inherit the open file: the oldest process is the writer.
        let age = |process: &Process| (process.start_ticks(), process.pid());
        let mut writers = HashMap::<usize, (Process, u32)>::new();
        for pid in pids {
            let Ok(process) = Process::open(host, *pid) else { continue };
            for (fd, path) in process.descriptors() {
                let Some(number) = path.file_name().and_then(|name| self.number(&process, fd, name)) else { continue };
                if writers.get(&number).is_none_or(|(other, _)| age(&process) < age(other)) {
                    writers.insert(number, (process.clone(), fd));
                }
            }
        }
        self.retain(|log| !writers.contains_key(&log.number));
        writers.into_iter().map(|(number, (process, fd))| (number, process, fd)).collect()
    }

    /// The log in the search that descriptor `fd` of a process writes. Identified by device and inode: in another root
    /// or mount namespace the file has another path.
    fn number(&self, process: &Process, fd: u32, name: &OsStr) -> Option<usize> {
        let logs = self.names.get(name)?;
        let open = process.descriptor_identity(fd)?;
        let log = logs.iter().find(|log| log.identity == Some(open))?;
        process.writes(fd).then_some(log.number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;
    use std::path::Path;

    fn log(path: &Path) -> LiveLog {
        LiveLog::new("eventlog/0.eventlog".into(), path.to_owned(), "-l-ag")
    }

    fn looked(sought: &mut Sought, family: &[u32], everywhere: bool, now: Time) -> Vec<(usize, u32)> {
        let found = sought.look(&Host::default(), family, everywhere, now);
        found.into_iter().map(|(number, process, _)| (number, process.pid())).collect()
    }

    fn open_logs(folder: &Path, count: usize) -> (Sought, Vec<File>) {
        let mut sought = Sought::default();
        let open = (0..count).map(|number| {
            let path = folder.join(format!("{number}.eventlog"));
            let file = File::create(&path).unwrap();
            sought.add(number, &log(&path), true);
            file
        });
        let open = open.collect();
        (sought, open)
    }

    #[test]
    fn the_processes_that_write_logs_are_found_in_one_pass() {
        let folder = tempfile::tempdir().unwrap();
        let own = std::process::id();
        let (mut sought, _open) = open_logs(folder.path(), 3);
        assert_eq!(looked(&mut sought, &[], false, Time(1)), []);
        assert_eq!(looked(&mut sought, &[], true, Time(1)), [(0, own), (1, own), (2, own)]);
        assert!(sought.is_empty());
    }

    #[test]
    fn a_log_whose_writer_is_gone_is_given_up_and_an_unopened_one_never() {
        let folder = tempfile::tempdir().unwrap();
        let (mut sought, open) = open_logs(folder.path(), 1);
        drop(open);
        let own = folder.path().join("own.eventlog");
        sought.add(1, &log(&own), false);
        for look in 1..=WIDE_LOOKS {
            assert_eq!(sought.names.len(), 2);
            assert_eq!(looked(&mut sought, &[], true, Time(look << 40)), []);
        }
        assert_eq!(sought.names.len(), 1);
        let _open = File::create(&own).unwrap();
        assert_eq!(looked(&mut sought, &[std::process::id()], false, Time(9)), [(1, std::process::id())]);
    }

    #[test]
    fn passes_over_all_processes_keep_apart() {
        let folder = tempfile::tempdir().unwrap();
        let (mut sought, open) = open_logs(folder.path(), 1);
        drop(open);
        for _ in 0..100 {
            looked(&mut sought, &[], true, Time(1));
        }
        assert_eq!(sought.wide_looks, 1);
    }
}
