//! Who writes which log. Owns the search: one pass over processes serves all logs that are sought, passes over the
//! whole machine are few for each log and rare, and what was read of a program's file is remembered. Refuses to know
//! what is done with a writer.

use crate::binary::{self, Inspected};
use crate::clock;
use crate::procfs::Host;
use rtscope_model::Time;
use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Passes over all processes cost milliseconds: after these the writer of a log is taken for gone.
const WIDE_LOOKS: u64 = 5;
/// What a pass took of the CPU, so many times, is the time until the next one.
const WIDE_REST: u64 = 20;
/// Programs whose files are remembered.
const PROGRAMS_MAX: usize = 64;

/// Logs whose writers are sought.
#[derive(Debug, Default)]
pub(super) struct Sought {
    /// By the name of their file, which stays whatever the path to it is: only files of such names are looked at, so
    /// that the recorder never waits for a file on a dead server.
    names: HashMap<OsString, Vec<Log>>,
    wide_looks: u64,
    next_wide: Time,
}

#[derive(Debug)]
struct Log {
    number: usize,
    path: PathBuf,
    identity: Option<(u64, u64)>,
    /// After which pass over all processes it is given up; `None`: never, it may not have been opened yet.
    until: Option<u64>,
}

impl Sought {
    /// Log `number` lies at `path`. `opened`: somebody has opened it already.
    pub(super) fn add(&mut self, number: usize, path: &Path, opened: bool) {
        let Some(name) = path.file_name() else { return };
        let until = opened.then_some(self.wide_looks + WIDE_LOOKS);
        let log = Log { number, path: path.to_owned(), identity: identity(path), until };
        self.names.entry(name.to_owned()).or_default().push(log);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// Logs that somebody has opened.
    pub(super) fn numbers(&self) -> impl Iterator<Item = usize> {
        self.names.values().flatten().filter(|log| log.until.is_some()).map(|log| log.number)
    }

    /// Looks among the family, then (`everywhere`, and where it is time) among all processes. Gives the logs whose
    /// writers were found, which are not sought any more, in the order of their numbers.
    pub(super) fn look(&mut self, host: &Host, family: &[u32], everywhere: bool, now: Time) -> Vec<(usize, u32)> {
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
        found.sort_unstable();
        found
    }

    fn retain(&mut self, keep: impl Fn(&Log) -> bool) {
        self.names.retain(|_, logs| {
            logs.retain(&keep);
            !logs.is_empty()
        });
    }

    fn pass(&mut self, host: &Host, pids: &[u32]) -> Vec<(usize, u32)> {
        for log in self.names.values_mut().flatten().filter(|log| log.until.is_none()) {
            log.identity = identity(&log.path);
        }
        let mut writers = HashMap::<usize, Vec<u32>>::new();
        for pid in pids {
            for (fd, path) in host.open_files(*pid) {
                if let Some(number) = path.file_name().and_then(|name| self.number(host, *pid, fd, name)) {
                    writers.entry(number).or_default().push(*pid);
                }
            }
        }
        // Children inherit the open file: the oldest one is the writer.
        let oldest = |pids: Vec<u32>| pids.into_iter().min_by_key(|pid| (host.stat(*pid).map(|s| s.start_ticks), *pid));
        let found: HashMap<usize, u32> =
            writers.into_iter().filter_map(|(number, pids)| Some((number, oldest(pids)?))).collect();
        self.retain(|log| !found.contains_key(&log.number));
        found.into_iter().collect()
    }

    /// The sought log that descriptor `fd` of a process writes. Told by device and inode: in another root or mount
    /// namespace the same file has another path.
    fn number(&self, host: &Host, pid: u32, fd: u32, name: &OsStr) -> Option<usize> {
        let logs = self.names.get(name)?;
        let open = identity(&host.process(pid, &format!("fd/{fd}")))?;
        let log = logs.iter().find(|log| log.identity == Some(open))?;
        host.fd_writes(pid, fd).then_some(log.number)
    }
}

fn identity(path: &Path) -> Option<(u64, u64)> {
    fs::metadata(path).ok().map(|file| (file.dev(), file.ino()))
}

/// What was read of programs' files, so that one that is started again and again is read once.
#[derive(Debug, Default)]
pub(super) struct Programs {
    known: HashMap<(u64, u64, u64, i64, i64), Inspected>,
}

impl Programs {
    /// [`binary::inspect`].
    pub(super) fn inspect(&mut self, path: &Path) -> Inspected {
        let Ok(file) = fs::metadata(path) else { return binary::inspect(path) };
        let key = (file.dev(), file.ino(), file.size(), file.mtime(), file.mtime_nsec());
        if self.known.len() >= PROGRAMS_MAX {
            self.known.clear();
        }
        self.known.entry(key).or_insert_with(|| binary::inspect(path)).clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;

    fn open_logs(folder: &Path, count: usize) -> (Sought, Vec<File>) {
        let mut sought = Sought::default();
        let open = (0..count).map(|number| {
            let path = folder.join(format!("{number}.eventlog"));
            let file = File::create(&path).unwrap();
            sought.add(number, &path, true);
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
        assert_eq!(sought.look(&Host::default(), &[], false, Time(1)), []);
        assert_eq!(sought.look(&Host::default(), &[], true, Time(1)), [(0, own), (1, own), (2, own)]);
        assert!(sought.is_empty());
    }

    #[test]
    fn a_log_whose_writer_is_gone_is_given_up_and_an_unopened_one_never() {
        let folder = tempfile::tempdir().unwrap();
        let (mut sought, open) = open_logs(folder.path(), 1);
        drop(open);
        let own = folder.path().join("own.eventlog");
        sought.add(1, &own, false);
        for look in 1..=WIDE_LOOKS {
            assert_eq!(sought.names.len(), 2);
            assert_eq!(sought.look(&Host::default(), &[], true, Time(look << 40)), []);
        }
        assert_eq!(sought.names.len(), 1);
        let _open = File::create(&own).unwrap();
        assert_eq!(sought.look(&Host::default(), &[std::process::id()], false, Time(9)), [(1, std::process::id())]);
    }

    #[test]
    fn passes_over_all_processes_keep_apart() {
        let folder = tempfile::tempdir().unwrap();
        let (mut sought, open) = open_logs(folder.path(), 1);
        drop(open);
        for _ in 0..100 {
            sought.look(&Host::default(), &[], true, Time(1));
        }
        assert_eq!(sought.wide_looks, 1);
    }
}
