//! What threads of a program waited for, as looks from outside saw it. Serialised as a part of `report --json`, and
//! carried by a trace.

use rtscope_model::{Doing, Time, WaitKind};
use serde::{Deserialize, Serialize};

/// Waits that are told.
pub const WAITS_MAX: usize = 100;

/// What looks came to.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Waits {
    /// Looks that were taken: of GHC's threads while a lane had nothing to run, of others at any time.
    pub looks: u64,
    /// Looks that came to nothing, because a collection came between.
    pub missed: u64,
    /// The first look and the last; null: there was none.
    pub from: Option<Time>,
    /// See `from`.
    pub to: Option<Time>,
    /// Threads that there were at a look, on average, and at most.
    pub threads_mean: f64,
    /// See `threads_mean`.
    pub threads_max: u32,
    /// Threads that ran or could run at a look, on average.
    pub awake_mean: f64,
    /// Threads that waited in groups which there was no room for, on average.
    pub left_out_mean: f64,
    /// Why nothing was looked at, or not any more; null where it was.
    pub why: Option<String>,
    /// What they waited for, wherever they did.
    #[serde(default)]
    pub kinds: Vec<Kind>,
    /// What they waited for, most threads first; threads of the runtime's that had no work are the last.
    pub by: Vec<Wait>,
    /// Threads that were made in a second, from the first look to the last; null: not counted, or at one look only.
    #[serde(default)]
    pub made_per_second: Option<f64>,
    /// A sample of old objects; null: there is none.
    #[serde(default)]
    pub old: Option<Old>,
}

/// A sample of old objects.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Old {
    /// Looks that found any.
    pub looks: u64,
    /// Their bytes; an object in two looks counts twice.
    pub bytes: u64,
    /// Of these, bytes of unevaluated thunks.
    pub thunk_bytes: u64,
    /// Where thunks are made, most bytes first: places with a name, of the most of each look.
    pub thunks: Vec<Thunks>,
}

/// Unevaluated thunks that one place makes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Thunks {
    /// Their code.
    pub place: String,
    /// Their bytes.
    pub bytes: u64,
}

impl Old {
    /// The share of unevaluated thunks.
    pub fn thunk_share(&self) -> f64 {
        self.thunk_bytes as f64 / self.bytes.max(1) as f64
    }
}

/// Threads that waited for things of one kind while who had them did one thing, at all places.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Kind {
    /// What for.
    pub kind: WaitKind,
    /// What whoever had it did; null: nobody had it, or it is not known.
    pub holder: Option<Doing>,
    /// How many they were at a look, on average over all looks.
    pub threads_mean: f64,
    /// Looks at which there was any, of all.
    pub looks_share: f64,
}

impl Waits {
    /// Whether looks can have come to it: no more waits than are told, and shares that are parts of a whole.
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

/// Threads that waited for the same at the same place.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Wait {
    /// What for: a word of `waits.jsonl`.
    pub kind: WaitKind,
    /// Another thread of the program has to do something first; not so for time, for what comes from outside, for a
    /// call.
    pub for_each_other: bool,
    /// The place on top of their stacks; null: it has no name.
    pub place: Option<String>,
    /// The foreign function that this place called; null: none, or it has no name.
    pub callee: Option<String>,
    /// Who has what they wait for; null: nobody, or not known.
    pub holder: Option<HolderDoes>,
    /// How many they were at a look, on average over all looks, and at most.
    pub threads_mean: f64,
    /// See `threads_mean`.
    pub threads_max: u32,
    /// Things that they waited for at a look at which they were seen, on average; null where threads wait for nothing
    /// that several can wait for.
    pub objects_mean: Option<f64>,
    /// How many waited for the same thing, wherever they did, as the average of these threads met it, itself included;
    /// null as `objects_mean` is.
    #[serde(default)]
    pub queue_mean: Option<f64>,
    /// Looks at which they were seen, of all.
    pub looks_share: f64,
    /// Their part of a look's waiting threads, on average over all looks with any: the share of the time in which a lane
    /// had nothing to run that is theirs where each waiting thread is as good a reason as another. Threads without work
    /// have none.
    pub share: f64,
}

impl Wait {
    /// Where they waited, to go on with: " in `take`"; nothing where the place has no name.
    pub fn at(&self) -> String {
        self.place.as_ref().map_or(String::new(), |place| format!(" in `{place}`"))
    }
}

/// Whoever has what others wait for.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct HolderDoes {
    /// The thread, where it was always the same; null: several in turn.
    pub thread: Option<String>,
    /// What it did: `runs`, `ready`, `waits`, `unknown`, or what it waited for itself.
    pub doing: Doing,
    /// Where; null: not known.
    pub place: Option<String>,
    /// The foreign function that this place called; null: none, or it has no name.
    pub callee: Option<String>,
}
