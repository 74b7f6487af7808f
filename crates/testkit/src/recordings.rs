//! Recordings that many tests of an executable judge: each workload is recorded once per compiler, by
//! the first test that asks. Owns the folder of the recordings. The first recording always counts,
//! whatever it shows.

use crate::made;
use std::collections::HashMap;
use std::fs;
use std::mem::ManuallyDrop;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use xtask::runner::{Outcome, Runner};
use xtask::toolchain::Toolchain;
use xtask::workload::Workload;

type Kept = Mutex<HashMap<(String, &'static str), Arc<OnceLock<Outcome>>>>;

/// The first recording of `workload` by `toolchain`; `judge` sees it, and so do other tests. Its capture
/// remains until the next run of tests.
pub fn first<T>(workload: &Workload, toolchain: &Toolchain, judge: impl FnOnce(&Outcome) -> T) -> T {
    static KEPT: OnceLock<Kept> = OnceLock::new();
    let mut kept = KEPT.get_or_init(Kept::default).lock().unwrap_or_else(PoisonError::into_inner);
    let place = Arc::clone(kept.entry((workload.name.clone(), toolchain.name)).or_default());
    drop(kept);
    judge(place.get_or_init(|| {
        let own = Runner::new(Path::new(crate::rtscope())).unwrap();
        let runner = Runner { rtscope: own.rtscope.clone(), builds: own.builds.clone(), scratch: folder().clone() };
        // Dropping the runner would remove what other tests have yet to judge.
        ManuallyDrop::new(runner).run(workload, toolchain).unwrap()
    }))
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
