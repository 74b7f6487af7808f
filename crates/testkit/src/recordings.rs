//! Recordings that many tests of an executable judge: each workload is recorded once per compiler, by
//! the first test that asks. Owns the folder of the recordings. The first recording always counts,
//! whatever it shows.

use crate::made;
use std::collections::HashMap;
use std::fs;
use std::mem::ManuallyDrop;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, RwLock};
use xtask::runner::{ReportedRun, Runner};
use xtask::toolchain::Toolchain;
use xtask::workload::Workload;

type KeptRecordings = Mutex<HashMap<(String, &'static str), Arc<OnceLock<ReportedRun>>>>;

/// A recording has the machine to itself; reports share it. Recordings go first, so that reports of several tests
/// run at a time, and none of them takes a CPU from a program that is recorded.
static MACHINE: RwLock<()> = RwLock::new(());

/// Records `workload` while nothing else is recorded or reported, and reports it.
fn alone(runner: &Runner, workload: &Workload, toolchain: &Toolchain) -> ReportedRun {
    let recording = {
        let _machine = MACHINE.write().unwrap_or_else(PoisonError::into_inner);
        runner.record(workload, toolchain).unwrap()
    };
    shared(|| runner.judged(recording).unwrap())
}

/// `reports`, which may share the machine with other reports and with no recording.
pub fn shared<T>(reports: impl FnOnce() -> T) -> T {
    let _machine = MACHINE.read().unwrap_or_else(PoisonError::into_inner);
    reports()
}

/// A recording of `workload` by `runner`, as `judge` sees it.
pub fn another<T>(
    runner: &Runner,
    workload: &Workload,
    toolchain: &Toolchain,
    judge: impl FnOnce(&ReportedRun) -> T,
) -> T {
    let outcome = alone(runner, workload, toolchain);
    shared(|| judge(&outcome))
}

/// The first recording of `workload` by `toolchain`; `judge` sees it, and others do too. Its capture
/// stays until the next run of tests.
pub fn first<T>(workload: &Workload, toolchain: &Toolchain, judge: impl FnOnce(&ReportedRun) -> T) -> T {
    static KEPT: OnceLock<KeptRecordings> = OnceLock::new();
    let mut kept = KEPT.get_or_init(KeptRecordings::default).lock().unwrap_or_else(PoisonError::into_inner);
    let place = Arc::clone(kept.entry((workload.name.clone(), toolchain.name)).or_default());
    drop(kept);
    let outcome = place.get_or_init(|| {
        let own = Runner::new(Path::new(crate::rtscope())).unwrap();
        let runner = Runner { rtscope: own.rtscope.clone(), builds: own.builds.clone(), scratch: folder().clone() };
        // Dropped, it would remove what others are to judge.
        alone(&ManuallyDrop::new(runner), workload, toolchain)
    });
    shared(|| judge(outcome))
}

/// The folder of this process; folders of processes that have ended are removed.
fn folder() -> &'static PathBuf {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(|| {
        let all = made().join("recordings");
        for old in fs::read_dir(&all).into_iter().flatten().flatten() {
            if !Path::new("/proc").join(old.file_name()).exists() {
                let _ = fs::remove_dir_all(old.path());
            }
        }
        let own = all.join(std::process::id().to_string());
        fs::create_dir_all(&own).unwrap();
        own
    })
}
