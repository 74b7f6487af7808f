//! The names of all threads when the recording starts: a ring only tells of
//! those that fork, exec or are switched to. Owns `sched/threads.json`; refuses
//! to keep it up to date.

use rtscope_decode::sched::ThreadName;
use std::fs::{self, DirEntry};
use std::path::Path;

/// Every thread below `root/proc` that can be seen, in no particular order.
pub fn list(root: &Path) -> Vec<ThreadName> {
    let mut threads = Vec::new();
    for process in numbered(&root.join("proc")) {
        for thread in numbered(&process.1.path().join("task")) {
            // A thread that ends meanwhile needs no name.
            if let Ok(comm) = fs::read(thread.1.path().join("comm")) {
                let comm = String::from_utf8_lossy(comm.trim_ascii_end()).into_owned();
                threads.push(ThreadName { tid: thread.0, pid: process.0, comm });
            }
        }
    }
    threads
}

fn numbered(folder: &Path) -> impl Iterator<Item = (u32, DirEntry)> {
    let entries = fs::read_dir(folder).into_iter().flatten();
    entries.filter_map(|entry| {
        let entry = entry.ok()?;
        let number = entry.file_name().to_str()?.parse().ok()?;
        Some((number, entry))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tree_of_proc_is_listed() {
        let root = tempfile::tempdir().unwrap();
        for (path, comm) in [("7/task/7", "main\n"), ("7/task/8", "worker 1\n"), ("self/task/7", "no\n")] {
            let folder = root.path().join("proc").join(path);
            fs::create_dir_all(&folder).unwrap();
            fs::write(folder.join("comm"), comm).unwrap();
        }
        fs::create_dir_all(root.path().join("proc/9")).unwrap();
        let mut found = list(root.path());
        found.sort_by_key(|thread| thread.tid);
        let name = |tid, comm: &str| ThreadName { tid, pid: 7, comm: comm.into() };
        assert_eq!(found, [name(7, "main"), name(8, "worker 1")]);
    }
}
