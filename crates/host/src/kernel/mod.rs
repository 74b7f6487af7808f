//! The kernel side of a recording: which threads ran, waited and woke which, as perf
//! records, in the richest tier that is permitted.
//!
//! Owns the choice of the tier, the rings and the streams `sched/cpuN.perf.zst` (records as the rings held them,
//! without those that concern only other programs). Refuses to decode them: that is `rtscope_decode::sched`. Nothing
//! here can make a recording fail; what is unavailable is reported in [`rtscope_model::manifest::Kernel::missing`].

pub(crate) mod asleep;
pub(crate) mod callers;
pub(crate) mod code;
mod concern;
mod drain;
mod forks;
mod manual;
mod mapped;
pub(crate) mod perf;
mod records;
mod ring;
pub(crate) mod streams;
mod threads;
pub(crate) mod tiers;
pub(crate) mod tracefs;
pub(crate) mod words;

use crate::capture::folder::Folder;
use crate::system::procfs::Host;
pub(crate) use callers::SharedFiles;
pub(crate) use code::CodeRecorder;
use concern::Concern;
use drain::Reading;
pub use manual::Manual;
use rtscope_decode::sched::ThreadName;
use rtscope_model::manifest::{Kernel, Tier, Tracepoint};
use std::io;
use std::path::Path;
use streams::{StreamKind, Streams};
use tiers::Opened;
pub use tiers::{KernelOptions, KernelTarget};
pub use words::name as tier_name;

/// A recording of the kernel's scheduling. Ends when dropped.
#[derive(Debug)]
pub struct KernelRecorder {
    kernel: Kernel,
    /// The streams and their counters.
    pub streams: Streams,
}

const STREAMS: StreamKind = StreamKind { folder: "sched", source: "kernel", thread: "rtscope-kernel" };

impl KernelRecorder {
    /// Starts recording into the capture's `sched/`. Never fails: it falls back tier by
    /// tier, at last to [`Tier::Polling`], and says what is missing and how to get it.
    pub fn start(folder: &Folder, options: KernelOptions) -> KernelRecorder {
        let root = Path::new("/");
        let opened = tiers::open(root, options.target, options.force_tier);
        let mut recorder = KernelRecorder { kernel: describe(&opened), streams: Streams::default() };
        match begin(opened, folder) {
            Ok(streams) => recorder.streams = streams,
            Err(error) => {
                let missing = format!("Kernel records could not be written ({error}). Record to another folder.");
                recorder.kernel = Kernel { missing: vec![missing], ..Kernel::default() };
            }
        }
        // Last, so that no thread can be made between the list and the events.
        let mut threads = threads::list(&Host::at(root));
        recorder.streams.know(threads.clone());
        if let Some(redactor) = &options.redactor {
            threads.iter_mut().for_each(|thread| thread.comm = redactor.hide(&thread.comm));
        }
        if let Err(error) = write_threads(folder, &threads) {
            recorder.kernel.missing.push(format!("Names of threads could not be written ({error})."));
        }
        recorder
    }

    /// The kernel's part of the manifest, with the counters so far.
    pub fn status(&self) -> Kernel {
        Kernel { records: self.streams.records(), lost: self.streams.lost(), ..self.kernel.clone() }
    }

    /// Takes what is left in the rings and syncs the files. The other methods
    /// can still be called.
    pub fn stop(&mut self) {
        if !self.streams.stop() {
            self.kernel.missing.push("The thread that writes kernel records ended early or was held up.".to_owned());
        }
    }

    /// Calls [`KernelRecorder::stop`] and returns the final status.
    pub fn finish(mut self) -> Kernel {
        self.stop();
        self.status()
    }
}

fn begin(opened: Opened, folder: &Folder) -> io::Result<Streams> {
    for point in &opened.tracepoints {
        folder.write(&format!("{}.format", point.name), point.format.as_bytes())?;
    }
    let concern = Concern::new(&opened.tracepoints);
    // Without tracepoints there are no records between other programs.
    let reading = if opened.tracepoints.is_empty() { Reading::Plain } else { Reading::Concern(concern) };
    Streams::start(STREAMS, opened.rings, folder, reading, |_| Ok(()))
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
        streams: opened.rings.iter().map(|ring| STREAMS.path(ring.cpu)).collect(),
        tracepoints: opened.tracepoints.iter().map(tracepoint).collect(),
        sample_type: opened.sample_type,
        records: 0,
        lost: 0,
        system_wide: matches!(opened.tier, Tier::Tracepoints | Tier::CpuWideSwitches),
    }
}

fn write_threads(folder: &Folder, threads: &[ThreadName]) -> io::Result<()> {
    folder.write("threads.json", &serde_json::to_vec(threads)?)
}
