//! What threads of a program waited for, as looks from outside saw it. Serialised as a part of `report --json`, and
//! included in a trace.

use rtscope_model::{Doing, Time, WaitKind};
use serde::{Deserialize, Serialize};

/// Maximum number of waits in a report.
pub const WAITS_MAX: usize = 100;

/// The results of looks.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Waits {
    /// Number of looks: at GHC's threads while a lane had nothing to run, at other runtimes' at any time.
    pub looks: u64,
    /// Looks that failed because a collection came in between.
    pub missed: u64,
    /// First look; null: there was none.
    pub from: Option<Time>,
    /// Last look.
    pub to: Option<Time>,
    /// Mean number of threads at a look.
    pub threads_mean: f64,
    /// Largest number of threads at a look.
    pub threads_max: u32,
    /// Mean number of running or runnable threads at a look.
    pub awake_mean: f64,
    /// Mean number of waiting threads in groups that had no room.
    pub left_out_mean: f64,
    /// Why there were no looks, or no further ones; null where there were.
    pub why: Option<String>,
    /// What threads waited for, over all places.
    #[serde(default)]
    pub kinds: Vec<WaitShare>,
    /// What threads waited for, most threads first; idle threads of the runtime come last.
    pub by: Vec<Wait>,
    /// Threads created per second, from the first look to the last; null: not counted, or counted at one look only.
    #[serde(default)]
    pub made_per_second: Option<f64>,
    /// Threads that had ended by the last look; null: not counted.
    #[serde(default)]
    pub ended: Option<u64>,
    /// A sample of old objects; null: there was none.
    #[serde(default)]
    pub old: Option<Old>,
}

/// Objects of the old generation, sampled.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Old {
    /// Number of looks that found any.
    pub looks: u64,
    /// Their bytes; an object in two looks counts twice.
    pub bytes: u64,
    /// Bytes of unevaluated thunks among them.
    pub thunk_bytes: u64,
    /// Where thunks are created, most bytes first: named places, the largest of each look.
    pub thunks: Vec<Thunks>,
}

/// Unevaluated thunks created at one place.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Thunks {
    /// Name of their code.
    pub place: String,
    /// Size of these thunks, bytes.
    pub bytes: u64,
}

impl Old {
    /// Share of unevaluated thunks in all sampled bytes.
    pub fn thunk_share(&self) -> f64 {
        self.thunk_bytes as f64 / self.bytes.max(1) as f64
    }
}

/// Threads that waited for things of one kind while the holders did one thing, over all places.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct WaitShare {
    /// The kind of wait.
    pub kind: WaitKind,
    /// What the holder did; null: there was none, or it is not known.
    pub holder: Option<Doing>,
    /// Mean number of threads over all looks.
    pub threads_mean: f64,
    /// Share of looks that saw any.
    pub looks_share: f64,
}

impl Waits {
    /// Whether looks can have produced it: no more waits than the maximum, and shares that are parts of a whole.
    pub fn is_sound(&self) -> bool {
        let part = |share: f64| (0.0..=1.0 + 1e-9).contains(&share);
        let parts = |wait: &Wait| part(wait.share) && part(wait.looks_share);
        let old = |old: &Old| old.thunk_bytes <= old.bytes && old.thunks.len() <= WAITS_MAX;
        self.old.as_ref().is_none_or(old)
            && self.by.len() <= WAITS_MAX
            && self.by.iter().all(parts)
            && self.kinds.iter().all(|kind| part(kind.looks_share))
            && part(self.by.iter().map(|wait| wait.share).sum())
    }
}

/// Threads that waited for the same thing at the same place.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Wait {
    /// The kind of wait: a word of `waits.jsonl`.
    pub kind: WaitKind,
    /// Whether another thread of the program has to do something first; false for waits for time, for something from
    /// outside, and for a call.
    pub for_each_other: bool,
    /// The place on top of their stacks; null: it has no name.
    pub place: Option<String>,
    /// The foreign function that this place called; null: none, or it has no name.
    pub callee: Option<String>,
    /// The holder of what they wait for; null: there is none, or it is not known.
    pub holder: Option<HolderDoes>,
    /// Mean number of threads over all looks.
    pub threads_mean: f64,
    /// Largest number of threads at a look.
    pub threads_max: u32,
    /// Mean number of things that they waited for at looks that saw them; null for waits for nothing that several
    /// threads can wait for.
    pub objects_mean: Option<f64>,
    /// Mean number of threads waiting for the same thing at any place, weighted by these threads and including each
    /// of them; null like `objects_mean`.
    #[serde(default)]
    pub queue_mean: Option<f64>,
    /// Share of looks that saw them.
    pub looks_share: f64,
    /// Their share of a look's waiting threads, averaged over all looks with any: their share of idle lane time if
    /// every waiting thread counts as an equal reason. Threads without work have none.
    pub share: f64,
}

/// From this many threads on that wait for one change, the change wakes a herd.
const HERD_MIN: f64 = 10.0;

impl Wait {
    /// Mean number of threads at the looks that saw any.
    pub fn threads(&self) -> f64 {
        self.threads_mean / self.looks_share.max(f64::MIN_POSITIVE)
    }

    /// Whether a herd of threads waits at the looks that saw this wait.
    pub fn is_herd(&self) -> bool {
        self.threads_mean >= HERD_MIN * self.looks_share
    }

    /// Where they waited, to continue a sentence: " in `take`"; empty if the place has no name.
    pub fn at(&self) -> String {
        self.place.as_ref().map_or(String::new(), |place| format!(" in `{place}`"))
    }
}

/// The holder of something that other threads wait for.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct HolderDoes {
    /// The thread, if it was always the same one; null: several in turn.
    pub thread: Option<String>,
    /// What it did: `runs`, `ready`, `waits`, `unknown`, or what it waited for itself.
    pub doing: Doing,
    /// Where it was; null: not known.
    pub place: Option<String>,
    /// The foreign function that this place called; null: none, or it has no name.
    pub callee: Option<String>,
}
