//! The kernel side of a recording: who ran, waited and woke whom, as perf
//! records, in the richest tier that is permitted.
//!
//! Owns the choice of the tier, the rings and the streams `sched/cpuN.perf`
//! (records exactly as the rings held them). Refuses to decode them: that is
//! `rtscope_decode::sched`. Nothing here can make a recording fail; what cannot
//! be had is said in [`rtscope_model::manifest::Kernel::missing`].

pub(crate) mod code;
mod drain;
mod mapped;
pub(crate) mod perf;
mod ring;
mod threads;
pub(crate) mod tiers;
pub(crate) mod tracefs;
pub(crate) mod words;

use crate::redact::Redactor;
pub use code::CodeRecorder;
use drain::{Counters, Drain, Lane, Running};
use rtscope_model::manifest::{Kernel, Tier, Tracepoint};
use rtscope_model::{Loss, Pid};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use tiers::Opened;
pub use words::name as tier_name;

/// Whose threads are recorded where the tier cannot record everybody's.
#[derive(Copy, Clone, Eq, PartialEq, Debug)]
pub enum Target {
    /// A child that exists but has not called exec yet.
    Spawned(Pid),
    /// A process that runs already.
    Attached(Pid),
}

/// How to record.
#[derive(Clone, Debug)]
pub struct Options {
    /// The capture's `sched/` folder; has to exist.
    pub directory: PathBuf,
    /// The program.
    pub target: Target,
    /// The richest tier to try; `None`: all.
    pub force_tier: Option<Tier>,
    /// Bytes of each CPU's ring; `None`: by tier.
    pub ring_bytes: Option<usize>,
    /// Stands in for names in `threads.json`. Names in the streams stay: they are
    /// what the ring held.
    pub redactor: Option<Redactor>,
}

/// A recording of the kernel's scheduling. Ends with the value.
#[derive(Debug)]
pub struct KernelRecorder {
    kernel: Kernel,
    counters: Arc<Counters>,
    drain: Option<Running>,
}

impl KernelRecorder {
    /// Starts recording. Never fails: it falls to the next tier, at the end to
    /// [`Tier::Polling`], and says what is missing and how to get it.
    pub fn start(options: Options) -> KernelRecorder {
        let root = Path::new("/");
        let opened = tiers::open(root, &options);
        let counters = Arc::new(Counters::default());
        let kernel = describe(&opened);
        let mut recorder = KernelRecorder { kernel, counters, drain: None };
        if let Err(error) = recorder.begin(opened, &options.directory) {
            let missing = format!("Kernel records could not be written ({error}). Record to another folder.");
            recorder.kernel = Kernel { missing: vec![missing], ..Kernel::default() };
        }
        // Last, so that no thread can be made between the list and the events.
        if let Err(error) = write_threads(root, &options) {
            recorder.kernel.missing.push(format!("Names of threads could not be written ({error})."));
        }
        recorder
    }

    /// The kernel's part of the manifest, with the counters so far.
    pub fn status(&self) -> Kernel {
        Kernel {
            records: self.counters.records.load(Ordering::Relaxed),
            lost: self.counters.lost.load(Ordering::Relaxed),
            ..self.kernel.clone()
        }
    }

    /// Bytes written to the streams so far.
    pub fn written_bytes(&self) -> u64 {
        self.counters.bytes.load(Ordering::Relaxed)
    }

    /// What was lost on the way to the disk so far. What the kernel dropped is in
    /// the streams themselves and comes out of the decoder, except for what no
    /// record could tell of any more: that is added at the end.
    pub fn losses(&self) -> Vec<Loss> {
        self.counters.losses()
    }

    /// Takes what is left in the rings and syncs the files. The other methods
    /// can still be called.
    pub fn stop(&mut self) {
        if let Some(drain) = self.drain.take()
            && !drain.stop()
        {
            self.kernel.missing.push("The thread that writes kernel records ended early.".to_owned());
        }
    }

    /// [`KernelRecorder::stop`], then the final status.
    pub fn finish(mut self) -> Kernel {
        self.stop();
        self.status()
    }

    fn begin(&mut self, opened: Opened, directory: &Path) -> io::Result<()> {
        for point in &opened.tracepoints {
            fs::write(directory.join(format!("{}.format", point.name)), &point.format)?;
        }
        let mut lanes = Vec::new();
        for ring in opened.rings {
            let name = format!("sched/cpu{}.perf", ring.cpu);
            lanes.push(Lane::create(ring, directory, &name)?);
        }
        if lanes.is_empty() {
            return Ok(());
        }
        lanes.iter().try_for_each(Lane::enable)?;
        self.drain = Some(Drain::start(lanes, Arc::clone(&self.counters), "kernel", "rtscope-kernel")?);
        Ok(())
    }
}

impl Drop for KernelRecorder {
    fn drop(&mut self) {
        self.stop();
    }
}

fn describe(opened: &Opened) -> Kernel {
    let tracepoint = |point: &tracefs::Description| Tracepoint {
        name: point.name.clone(),
        id: point.id,
        format: format!("sched/{}.format", point.name),
    };
    Kernel {
        tier: opened.tier,
        missing: opened.missing.clone(),
        streams: opened.rings.iter().map(|ring| format!("sched/cpu{}.perf", ring.cpu)).collect(),
        tracepoints: opened.tracepoints.iter().map(tracepoint).collect(),
        sample_type: opened.sample_type,
        records: 0,
        lost: 0,
        system_wide: matches!(opened.tier, Tier::Tracepoints | Tier::CpuWideSwitches),
    }
}

fn write_threads(root: &Path, options: &Options) -> io::Result<()> {
    let mut threads = threads::list(root);
    if let Some(redactor) = &options.redactor {
        threads.iter_mut().for_each(|thread| thread.comm = redactor.hide(&thread.comm));
    }
    fs::write(options.directory.join("threads.json"), serde_json::to_vec(&threads)?)
}
