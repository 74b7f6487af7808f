//! What the CPU did: sampled CPU time by the owner of the code, the purpose of the runtime's code, and whether a
//! collection was at work. Owns these sums; refuses to name functions: a sample comes with its purpose.

use crate::results::PurposeTime;
use rtscope_model::{CodeKind, CodeSample, Pause, PurposeId, Symbols, Time};
use std::collections::BTreeMap;

/// What CPU time was spent on.
#[derive(Copy, Clone, Eq, PartialEq, Ord, PartialOrd, Debug)]
pub struct Spent {
    /// Whether a collection was at work: from all lanes stopped to its work done.
    pub inside: bool,
    /// The owner of the code: the caller, if the kernel or the C library worked for it; [`CodeKind::Kernel`] only if
    /// the caller is not known.
    pub kind: CodeKind,
    pub in_kernel: bool,
    /// The purpose of the runtime's code; `None`: not the runtime's code, or not known.
    pub purpose: Option<PurposeId>,
}

/// What a sample of a running thread stands for outside collections.
pub fn spent(sample: &CodeSample, symbols: &Symbols) -> Spent {
    let leaf = symbols.get(sample.leaf).kind;
    let kind = match (sample.purpose, sample.user) {
        (Some(_), _) => CodeKind::Runtime,
        (None, Some(user)) => symbols.get(user).kind,
        (None, None) => leaf,
    };
    Spent { inside: false, kind, in_kernel: leaf == CodeKind::Kernel, purpose: sample.purpose }
}

/// The sums. They include every sample once.
#[derive(Debug, Default)]
pub struct Purposes {
    /// Nanoseconds by use.
    pub sums: BTreeMap<Spent, u64>,
    /// End of the last collection, so that a sample counts in only one.
    collected: Option<Time>,
}

impl Purposes {
    /// Adds a sample; it counts as outside collections until [`Purposes::collect`] claims it.
    pub fn add(&mut self, spent: Spent, ns: u64) {
        let sum = self.sums.entry(spent).or_default();
        *sum = sum.saturating_add(ns);
    }

    /// The moment from which samples belong to the collection of `pause`, and to none before it.
    pub fn from(&self, pause: &Pause) -> Time {
        self.collected.map_or(pause.stopped, |collected| pause.stopped.max(collected.plus(1)))
    }

    /// Moves samples that were added before inside the collection: those from [`Purposes::from`] to the end
    /// of `pause`.
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

    /// The sums, most time first.
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
