//! The kernel's records without a thread and without files: the caller decides when the
//! rings are emptied, and takes their bytes. Uses the tiers of a recording; refuses to wait.

use super::tiers::{self, CpuRing};
use super::{KernelTarget, describe, threads};
use crate::system::procfs::Host;
use rtscope_model::manifest::{Kernel, Tier};
use std::collections::HashMap;
use std::path::Path;

/// The kernel's records of a program's threads. Ends when dropped.
#[derive(Debug)]
pub struct Manual {
    /// Its part of a manifest; the streams are the rings, in their order.
    pub kernel: Kernel,
    rings: Vec<CpuRing>,
    /// Format texts of tracepoints, by name.
    pub formats: HashMap<String, String>,
    /// All threads at the start, as in `sched/threads.json`.
    pub threads: Vec<u8>,
}

impl Manual {
    /// Starts in the richest permitted tier, at most `tier`. Never fails: at worst it is
    /// [`Tier::Polling`], and says what is missing.
    pub fn start(target: KernelTarget, tier: Option<Tier>) -> Manual {
        let root = Path::new("/");
        let opened = tiers::open(root, target, tier);
        let mut kernel = describe(&opened);
        let formats = opened.tracepoints.iter().map(|point| (point.name.clone(), point.format.clone())).collect();
        let mut rings = opened.rings;
        let events = rings.iter().flat_map(|ring| &ring.events);
        if let Err(error) = events.into_iter().try_for_each(super::perf::Event::enable) {
            rings.clear();
            let missing = vec![format!("The kernel's events could not be switched on ({error}).")];
            kernel = Kernel { missing, ..Kernel::default() };
        }
        // Last, so that no thread can be made between the list and the events.
        let threads = serde_json::to_vec(&threads::list(&Host::at(root))).unwrap_or_default();
        Manual { kernel, rings, formats, threads }
    }

    /// Appends each ring's whole records to the buffer at the same index of `into`.
    pub fn take(&mut self, into: &mut Vec<Vec<u8>>) {
        into.resize_with(self.rings.len(), Vec::new);
        for (ring, into) in self.rings.iter_mut().zip(into) {
            ring.ring.drain(into);
        }
    }
}
