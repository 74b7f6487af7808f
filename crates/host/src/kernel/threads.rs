//! The names of all threads when the recording starts: a ring reports only those
//! that fork, exec or are switched to. Owns `sched/threads.json`; refuses
//! to keep it up to date.

use crate::system::procfs::Host;
use rtscope_decode::sched::ThreadName;

/// Every visible thread of a machine, in no particular order.
pub fn list(host: &Host) -> Vec<ThreadName> {
    let thread = |pid: u32, tid: u32| {
        // A thread that ends meanwhile needs no name.
        let comm = host.process_text(pid, &format!("task/{tid}/comm"))?;
        Some(ThreadName { tid, pid, comm: comm.trim_ascii_end().to_owned() })
    };
    let threads = |pid: u32| host.tids(pid).into_iter().filter_map(move |tid| thread(pid, tid));
    host.pids().into_iter().flat_map(threads).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn a_tree_of_proc_is_listed() {
        let root = tempfile::tempdir().unwrap();
        for (path, comm) in [("7/task/7", "main\n"), ("7/task/8", "worker 1\n"), ("self/task/7", "no\n")] {
            let folder = root.path().join("proc").join(path);
            fs::create_dir_all(&folder).unwrap();
            fs::write(folder.join("comm"), comm).unwrap();
        }
        fs::create_dir_all(root.path().join("proc/9")).unwrap();
        let mut found = list(&Host::at(root.path()));
        found.sort_by_key(|thread| thread.tid);
        let name = |tid, comm: &str| ThreadName { tid, pid: 7, comm: comm.into() };
        assert_eq!(found, [name(7, "main"), name(8, "worker 1")]);
    }
}
