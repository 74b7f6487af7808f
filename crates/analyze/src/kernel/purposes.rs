//! What the CPU did: sampled CPU time by whose code it was, what the runtime's code was for, and whether a collection
//! was at work. Owns these sums; refuses to name a function: what one is for comes with the sample.

use crate::results::PurposeTime;
use rtscope_model::{CodeKind, CodeSample, Pause, PurposeId, Symbols, Time};
use std::collections::BTreeMap;

/// What CPU time was spent on.
#[derive(Copy, Clone, Eq, PartialEq, Ord, PartialOrd, Debug)]
pub struct Spent {
    /// Whether a collection was at work: from when all lanes had stopped until its work was done.
    pub inside: bool,
    /// Whose code: the caller's, where the kernel or the C library worked for it; [`CodeKind::Kernel`] only where
    /// it is not known for whom.
    pub kind: CodeKind,
    pub in_kernel: bool,
    /// What the runtime's code was for; `None`: not the runtime's code, or not known.
    pub purpose: Option<PurposeId>,
}

/// What a sample of a running thread stands for, outside of collections.
pub fn spent(sample: &CodeSample, symbols: &Symbols) -> Spent {
    let leaf = symbols.get(sample.leaf).kind;
    let kind = match (sample.purpose, sample.user) {
        (Some(_), _) => CodeKind::Runtime,
        (None, Some(user)) => symbols.get(user).kind,
        (None, None) => leaf,
    };
    Spent { inside: false, kind, in_kernel: leaf == CodeKind::Kernel, purpose: sample.purpose }
}

/// The sums. They hold all samples, each once.
#[derive(Debug, Default)]
pub struct Purposes {
    /// Nanoseconds for each.
    pub sums: BTreeMap<Spent, u64>,
    /// End of the last collection: a sample is in one only.
    collected: Option<Time>,
}

impl Purposes {
    /// Adds a sample, outside of collections until one is seen to have been at work.
    pub fn add(&mut self, spent: Spent, ns: u64) {
        let sum = self.sums.entry(spent).or_default();
        *sum = sum.saturating_add(ns);
    }

    /// From when on samples are of the collection of `pause`, and of none before it.
    pub fn from(&self, pause: &Pause) -> Time {
        self.collected.map_or(pause.stopped, |collected| pause.stopped.max(collected.plus(1)))
    }

    /// The samples that [`Purposes::from`] and the end of `pause` bound, which were added before, are inside of it.
    pub fn collect(&mut self, pause: &Pause, samples: impl IntoIterator<Item = (Spent, u64)>) {
        self.collected = self.collected.max(Some(pause.collected));
        let samples: Vec<(Spent, u64)> = samples.into_iter().collect();
        // The log does not say which collections compact.
        let compacts =
            samples.iter().any(|(spent, _)| spent.purpose.is_some_and(|purpose| purpose.get().id == "compacting"));
        for (spent, ns) in samples {
            let Some(outside) = self.sums.get_mut(&spent).filter(|sum| **sum >= ns) else { continue };
            *outside -= ns;
            let purpose = spent.purpose.map(|purpose| purpose.in_collection(pause.generation, compacts));
            self.add(Spent { inside: true, purpose, ..spent }, ns);
        }
    }

    /// Most time first.
    pub fn list(&self) -> Vec<PurposeTime> {
        let of = |(spent, ns): (&Spent, &u64)| {
            let Spent { inside, kind, in_kernel, purpose } = *spent;
            PurposeTime { inside, kind, in_kernel, purpose, ns: *ns }
        };
        let mut list: Vec<PurposeTime> = self.sums.iter().filter(|(_, ns)| **ns > 0).map(of).collect();
        list.sort_by_key(|time| std::cmp::Reverse(time.ns));
        list
    }
}
