//! One look at the heap of a process or a core file, from its blocks to the document. Owns
//! what is read in which order, that it is read again where a collection came between, and
//! for how long the process is stopped if it is. Refuses to interpret a block.

use super::{Refusal, Target};
use crate::clock;
use crate::mappings::Mapping;
use crate::procfs::Host;
use crate::stop::{Held, Stop};
use rtscope_heap::document::Read;
use rtscope_heap::{Runtime, Scan, Survey};
use rtscope_model::heap::{Heap, Line, Part};
use std::collections::HashMap;
use std::io;
use std::time::{Duration, Instant};

/// Tries to read objects without a collection in between.
const TRIES_MAX: u32 = 3;

/// What is asked for.
#[derive(Copy, Clone, Debug)]
pub struct Ask {
    /// Stop the process meanwhile, for so long at most.
    pub stop: Option<Duration>,
    /// Read the objects, too: what lives, who holds it.
    pub objects: bool,
}

/// Why there is no document.
#[derive(Debug, thiserror::Error)]
pub enum Failed {
    /// The heap cannot be read.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// The process cannot be stopped.
    #[error("process {pid} cannot be stopped: {source}")]
    NotStopped {
        /// The process.
        pid: u32,
        /// What failed.
        source: io::Error,
    },
}

/// The heap of process `pid` now.
///
/// # Errors
/// [`Failed`].
pub fn take(host: &Host, pid: u32, ask: &Ask) -> Result<Heap, Failed> {
    let target = Target::find(host, pid)?;
    let begin = |most| Stop::begin(host, pid, most).map_err(|source| Failed::NotStopped { pid, source });
    let stop = ask.stop.map(begin).transpose()?;
    let looked = Looked::at(&target, ask.objects, stop.is_some());
    let held = stop.map(Stop::end);
    let looked = looked.map_err(|source| target.failed(source))?;
    Ok(looked.document(host, &target, held)?)
}

/// The heap in a core file.
///
/// # Errors
/// It cannot be read.
pub fn of_core(host: &Host, target: &Target, objects: bool) -> Result<Heap, Refusal> {
    let looked = Looked::at(target, objects, true).map_err(|source| target.failed(source))?;
    looked.document(host, target, None)
}

/// What one look saw.
struct Looked {
    survey: Survey,
    scan: Option<(Scan, Option<u64>)>,
    read: Duration,
    scanned: Duration,
}

impl Looked {
    /// Reads blocks, then objects beside the program: both again where a collection of the
    /// oldest generation came meanwhile.
    fn at(target: &Target, objects: bool, still: bool) -> io::Result<Looked> {
        let mut tries = 0;
        loop {
            tries += 1;
            let started = Instant::now();
            let survey = Survey::take(&target.memory, &target.space, &target.statics, still)?;
            let read = started.elapsed();
            if !objects {
                return Ok(Looked { survey, scan: None, read, scanned: Duration::ZERO });
            }
            let scan = Scan::of(&target.memory, &survey, target.code())?;
            let scanned = started.elapsed() - read;
            let oldest = |runtime: &Runtime| runtime.generations.last().map(|oldest| u64::from(oldest.collections));
            let after = oldest(&Runtime::read(&target.memory, &target.statics)?);
            let moved = oldest(&survey.before).zip(after).map(|(before, after)| after.saturating_sub(before));
            if still || moved.is_none_or(|moved| moved == 0) || tries == TRIES_MAX {
                return Ok(Looked { survey, scan: Some((scan, moved)), read, scanned });
            }
        }
    }

    fn document(self, host: &Host, target: &Target, held: Option<Held>) -> Result<Heap, Refusal> {
        let residency = target.residency(host).map_err(|source| target.failed(source))?;
        let asked = self.scan.iter().flat_map(|(scan, _)| scan.census.iter().map(|entry| entry.info_address));
        let names = target.names(&asked.collect());
        let heap = self.read_document(target, &residency, &names);
        let mut heap = Heap {
            of: target.of.clone(),
            ghc: target.version.map(|(major, minor, patch)| format!("{major}.{minor}.{patch}")),
            time: target.is_live().then(clock::monotonic),
            stop_ns: held.map_or(0, |held| held.stopped.as_nanos() as u64),
            read_ns: self.read.as_nanos() as u64,
            scan_ns: self.scanned.as_nanos() as u64,
            ..heap
        };
        if held.is_some_and(|held| held.cut) {
            heap.doubts.push("The process was let go before everything was read: give it more time.".into());
        }
        heap.doubts.extend(target.missing());
        Ok(heap)
    }

    fn read_document(
        &self,
        target: &Target,
        residency: &rtscope_heap::ledger::Residency,
        names: &HashMap<u64, String>,
    ) -> Heap {
        let rss_bytes = target.rss_bytes();
        let outside = if rss_bytes.is_some() { outside(target) } else { Vec::new() };
        let scan = self.scan.as_ref().map(|(scan, moved)| (scan, *moved));
        Read { survey: &self.survey, residency, scan, names, outside, rss_bytes }.document()
    }
}

/// The ledger's lines that are not the heap.
fn outside(target: &Target) -> Vec<Line> {
    let sum = |wanted: &dyn Fn(&Mapping) -> bool| {
        target.outside().filter(|mapping| wanted(mapping)).filter_map(|mapping| mapping.rss_bytes).sum::<u64>()
    };
    let file = |mapping: &Mapping| mapping.name.starts_with('/');
    let stack = |mapping: &Mapping| mapping.name.starts_with("[stack");
    let line = |line: &str, bytes| Line { line: line.into(), part: Part::NotHeap, bytes, how: "smaps".into() };
    vec![
        line("program, libraries and other mapped files", sum(&file)),
        line("stack of the first thread", sum(&stack)),
        line(
            "outside the heap: malloc, other stacks, the runtime's own",
            sum(&|mapping| !file(mapping) && !stack(mapping)),
        ),
    ]
}
