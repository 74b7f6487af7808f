//! The kernel's records without a thread and without files: whoever has it says when the
//! rings are emptied, and takes their bytes. Owns the same tiers as a recording; refuses to
//! wait.

use super::tiers::{self, CpuRing};
use super::{Target, describe, threads};
use crate::system::procfs::Host;
use rtscope_model::manifest::{Kernel, Tier};
use std::collections::HashMap;
use std::path::Path;

/// What the kernel records of a program's threads, as long as the value lives.
#[derive(Debug)]
pub struct ByHand {
    /// As in a manifest; its streams are the rings, in their order.
    pub kernel: Kernel,
    rings: Vec<CpuRing>,
    /// Texts of the formats of tracepoints, by name.
    pub formats: HashMap<String, String>,
    /// All threads when it started, as in `sched/threads.json`.
    pub threads: Vec<u8>,
}

impl ByHand {
    /// Starts in the richest tier that is permitted, at most `tier`. Never fails: at worst
    /// it is [`Tier::Polling`], and says what is missing.
    pub fn start(target: Target, tier: Option<Tier>) -> ByHand {
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
        ByHand { kernel, rings, formats, threads }
    }

    /// Appends what each ring holds to the buffer of the same place in `into`, whole records.
    pub fn take(&mut self, into: &mut Vec<Vec<u8>>) {
        into.resize_with(self.rings.len(), Vec::new);
        for (ring, into) in self.rings.iter_mut().zip(into) {
            ring.ring.drain(into);
        }
    }
}
