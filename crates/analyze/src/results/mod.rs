//! What an analysis says: the values that every report, page and export draws
//! from. Serialised, this is `report --json`; keys keep their meaning, a value
//! that cannot be known is `null`, never 0.

pub mod code;
pub(crate) mod dist;
pub mod heap_profile;
pub mod heaps;
pub mod held_up;
pub mod lanes_over_time;
pub mod requests;
pub(crate) mod slices;
mod sparks;
pub mod stm;
pub mod waits;

pub use code::{Code, Place, PurposeTime};
pub use held_up::{HeldUp, HeldUpSum};
pub use lanes_over_time::LanesOverTime;
use requests::Joined;
pub use rtscope_model::TypeCount;
use rtscope_model::heap::Heap;
use rtscope_model::{Account, Cause, CausePiece, Finding, Loss, Pause, RuntimeInfo, Symbols, Time};
use serde::Serialize;
pub use sparks::{LaneSparks, SparkCounts, Sparks};
use stm::Transactions;
use waits::Waits;

/// Schema of [`Results`].
pub const SCHEMA: &str = "rtscope/report/1";

/// Everything a report says.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Results {
    /// [`SCHEMA`].
    pub schema: &'static str,
    /// What was read.
    pub source: Source,
    /// The program that was recorded and how it ended; null without a capture.
    pub program: Option<Program>,
    /// The runtime.
    pub runtime: Runtime,
    /// Wall clock covered, nanoseconds.
    pub span_ns: u64,
    /// First moment.
    pub started: Time,
    /// Lanes, by number.
    pub lanes: Vec<Lane>,
    /// Where the time of all lanes went; null where only pauses were asked for.
    pub account: Option<Account>,
    /// Pauses, summed up.
    pub pauses: Pauses,
    /// What lanes did in the slowest pauses; null where there was no pause, or only pauses were asked for.
    pub slowest_pauses: Option<SlowestPauses>,
    /// How long pauses were: columns of equal width on the logarithm, none left out
    /// between the first and the last.
    pub spectrum: Vec<Column>,
    /// Both views of productivity.
    pub productivity: Productivity,
    /// Minimum mutator utilisation per window.
    pub mmu: Vec<Mmu>,
    /// Memory lines, summed up.
    pub memory: Memory,
    /// What the runtime's own heap profiler found; null where the program was not asked for
    /// a profile, or the log holds no whole sample.
    pub heap_profile: Option<heap_profile::Found>,
    /// Where the resident memory was; no line where nothing tells.
    #[serde(flatten)]
    pub ledger: MemoryLedger,
    /// Snapshots of the heap, in the order of time; without their maps.
    #[serde(rename = "heap_snapshots", serialize_with = "heaps::in_short")]
    pub heaps: Vec<Heap>,
    /// How many the capture has beside these: there were too many.
    #[serde(rename = "heap_snapshots_left_out")]
    pub heaps_left_out: u64,
    /// Bytes allocated per second over the span; null where not logged.
    pub allocation_bytes_per_second: Option<f64>,
    /// Young data that grew old; null where not posted.
    pub promotion: Option<Promotion>,
    /// Memory and rates over time, as far as they were seen.
    pub counters: Vec<CounterLine>,
    /// Allocation areas of the lanes; null where not logged.
    pub nursery: Option<Nursery>,
    /// Phases of a concurrent collector; null where there were none.
    pub concurrent: Option<Concurrent>,
    /// Work on the old heap that stops one lane at a time; null where a runtime does none.
    #[serde(rename = "slices_ns")]
    pub slices: Option<Distribution>,
    /// What became of sparks; null where their counters were not logged.
    pub sparks: Option<Sparks>,
    /// Who was last, worst first.
    pub stragglers: Vec<Straggler>,
    /// Lanes that held pauses up, worst first: each pause counts for one.
    pub held_up: Vec<HeldUpSum>,
    /// Why the world waited, most costly first.
    pub causes: Vec<CauseSum>,
    /// What is wrong and what to do; empty: nothing found.
    pub findings: Vec<Finding>,
    /// What each diagnosis rule came to, so that "nothing found" can say what was
    /// looked at and what could not be.
    pub checked: Vec<Checked>,
    /// What was not seen.
    pub losses: Vec<Loss>,
    /// Where the program's code was; null where it was not sampled.
    pub code: Option<Code>,
    /// Green threads; null where the log does not have each of their runs.
    pub green_threads: Option<GreenSummary>,
    /// What the program posted of itself, by name, longest spans first.
    pub user: Vec<UserEvents>,
    /// Transactions (STM); null where nobody looked at their counts.
    pub transactions: Option<Transactions>,
    /// What threads waited for while lanes had nothing to run; null where nothing looked.
    pub waits: Option<Waits>,
    /// Requests of a load; null where none were given.
    pub requests: Option<Joined>,
    /// Copies that the program made of its process; null without kernel events.
    pub forks: Option<Forks>,
    /// What the tracer itself cost the program, as far as its log shows.
    pub tracer: Tracer,
    /// How the kernel side was seen, and whether it was used.
    pub kernel: KernelView,
    /// Pauses and memory over time, and the worst pauses: for drawing.
    #[serde(skip)]
    pub drawing: Drawing,
}

/// All that the program posted under one name.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct UserEvents {
    /// The name.
    pub name: String,
    /// Lengths of its spans; quantiles to two digits.
    pub spans_ns: Distribution,
    /// When the longest one began.
    pub longest_at: Option<Time>,
    /// Of all of them, how long their lanes stood still in pauses.
    pub in_pauses_ns: Option<u64>,
    /// Spans of which begin or end was not seen.
    pub cut: u64,
    /// Moments, and events that only the program's own reader understands.
    pub marks: u64,
    /// Values; null where there were none.
    pub values: Option<UserValues>,
}

/// Values that the program posted under one name.
#[allow(missing_docs)]
#[derive(Copy, Clone, Debug, PartialEq, Serialize)]
pub struct UserValues {
    pub count: u64,
    pub min: i64,
    pub max: i64,
    pub last: i64,
    /// Of the values as posted, however long each held.
    pub mean: f64,
}

/// Young data that collections found alive.
#[derive(Copy, Clone, Debug, PartialEq, Serialize)]
pub struct Promotion {
    /// Bytes in young heaps when they were collected; null where figures were lost.
    pub young_bytes: Option<u64>,
    /// Of these, bytes that stayed alive; null where figures were lost.
    pub promoted_bytes: Option<u64>,
    /// The share, of collections that were seen.
    pub share: f64,
}

/// One counter over time.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CounterLine {
    /// "heap_bytes", "allocation_bytes_per_second", ….
    pub name: &'static str,
    /// "bytes", "bytes/s".
    pub unit: &'static str,
    /// From when, and which value until the next point; null: not known.
    pub points: Vec<(Time, Option<u64>)>,
}

/// Green threads, summed up.
#[derive(Clone, Debug, Default, Serialize)]
pub struct GreenSummary {
    /// Made during the recording.
    pub created: u64,
    /// Ended during it.
    pub finished: u64,
    /// Most alive at once.
    pub alive_max: u64,
    /// How long one ran at a stretch.
    pub slice_ns: Distribution,
    /// From a wake-up until it ran.
    pub wake_to_run_ns: Distribution,
    /// What they waited for, longest first.
    pub blocked: Vec<BlockedSum>,
    /// How long each lane ran them.
    pub lanes: Vec<GreenLane>,
    /// Wall clock in which a lane stood idle while a thread waited for another one that ran.
    pub idle_while_waiting_ns: u64,
}

/// Waits of green threads of one kind.
#[derive(Clone, Debug, Default, Serialize)]
pub struct BlockedSum {
    /// "lock", "black-hole", "transaction", "io", "foreign-call", "other".
    pub reason: &'static str,
    /// How many that have ended.
    pub count: u64,
    /// Thread time, nanoseconds.
    pub sum_ns: u64,
}

/// Green threads on one lane.
#[derive(Clone, Debug, Default, Serialize)]
pub struct GreenLane {
    /// Number of the lane.
    pub lane: u16,
    /// How long it ran green threads, nanoseconds.
    pub run_ns: u64,
    /// Of the span.
    pub share: f64,
}

/// What was read.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Source {
    /// "capture" or "eventlog".
    pub kind: &'static str,
    /// Path as given.
    pub path: String,
    /// The log that this is about, where a capture holds logs.
    pub log: Option<String>,
    /// How many logs there are: one for each process that wrote one.
    pub logs: u64,
    /// Bytes of all streams.
    pub bytes: u64,
    /// Runtime events in the log(s), of every type.
    pub events: u64,
    /// The same by type.
    pub events_by_type: Vec<TypeCount>,
}

/// The program that was recorded.
#[derive(Clone, Debug, Default, Eq, PartialEq, Serialize)]
pub struct Program {
    /// Its command as given.
    pub command: Vec<String>,
    /// Exit code, if it exited.
    pub exit_code: Option<i32>,
    /// Signal, if one killed it.
    pub signal: Option<i32>,
    /// The kernel's out-of-memory killer was at work in its group meanwhile.
    pub oom_killed: bool,
    /// What the recorder said of it: why it could not log first, then what else was not recorded.
    pub notes: Vec<String>,
}

/// What one diagnosis rule came to.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct Checked {
    /// Stable name of the rule, as of its finding.
    pub id: &'static str,
    /// The outcome.
    pub outcome: Outcome,
    /// What it has to see, in a few words; null where it needs nothing but a log.
    pub needs: Option<&'static str>,
    /// Why it could not look, in one sentence.
    pub why: Option<String>,
}

/// Outcome of a diagnosis rule.
#[derive(Copy, Clone, Eq, PartialEq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// It is among the findings.
    Found,
    /// It looked and found nothing.
    Clear,
    /// What it needs was not recorded.
    CouldNotLook,
    /// What it needs is recorded only where `record` is asked for more than usual.
    NotAsked,
}

impl Outcome {
    /// It says nothing of the program.
    pub fn blind(self) -> bool {
        matches!(self, Outcome::CouldNotLook | Outcome::NotAsked)
    }
}

/// The runtime.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Runtime {
    /// Its id, or null where no runtime was seen.
    pub family: Option<String>,
    /// "9.6.6".
    pub version: Option<String>,
    /// "thr", "" for the non-threaded way.
    pub way: Option<String>,
    /// Program arguments with the runtime's flags.
    pub args: Vec<String>,
}

impl Runtime {
    /// What is known of it.
    pub fn info(&self) -> &'static RuntimeInfo {
        rtscope_model::runtime::find(self.family.as_deref())
    }

    /// Each argument that follows the program, with whether it is the runtime's.
    pub fn attributed_args(&self) -> impl Iterator<Item = (bool, &str)> {
        let words = self.info().own_args.words;
        let (mut inside, mut over) = (false, false);
        self.args.iter().skip(1).filter_map(move |arg| {
            match words.filter(|_| !over).and_then(|words| words.iter().position(|word| word == arg)) {
                Some(0) => inside = true,
                Some(1) => inside = false,
                Some(_) => (inside, over) = (false, true),
                None => return Some((inside, arg.as_str())),
            }
            None
        })
    }

    /// The runtime's arguments without those of its log: what that holds and where it goes is the recording's.
    pub fn own_args(&self) -> Vec<&str> {
        let of_log = |arg: &str| self.info().own_args.of_log.iter().any(|begin| arg.starts_with(begin));
        self.attributed_args().filter(|(own, arg)| *own && !of_log(arg)).map(|(_, arg)| arg).collect()
    }
}

/// One lane.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Lane {
    /// Number.
    pub id: u16,
    /// "capability 0".
    pub name: String,
    /// Every thread that served it.
    pub tids: Vec<u32>,
    /// On a CPU in the program's own code.
    pub mutator_ns: Option<u64>,
    /// Its own collection work.
    pub collect_ns: Option<u64>,
    /// Waited for others to stop.
    pub stop_wait_ns: Option<u64>,
    /// Waited to go on after a collection was done.
    pub release_wait_ns: Option<u64>,
    /// Waited to become leader (OCaml).
    pub leadership_wait_ns: Option<u64>,
    /// That wait is inferred: the runtime does not post it.
    pub leadership_inferred: bool,
    /// Worked on the old heap while other lanes could run the program (OCaml's slices).
    pub slice_ns: Option<u64>,
    /// From when it was created, or first seen, until it ended.
    pub life_ns: Option<u64>,
    /// Its own threads, where a runtime gives lanes threads for life.
    pub threads: Vec<LaneThread>,
    /// Nothing to do.
    pub idle_ns: Option<u64>,
    /// Bytes allocated since the start.
    pub allocated_bytes: Option<u64>,
    /// The same per second of the span.
    pub allocation_bytes_per_second: Option<f64>,
    /// How much of its allocation area it had used when a full one, its own or
    /// another's, asked for a collection.
    pub nursery_use: Option<NurseryUse>,
}

/// A thread that serves a lane.
#[derive(Copy, Clone, Debug, PartialEq, Serialize)]
pub struct LaneThread {
    /// Number of the thread.
    pub tid: u32,
    /// "own", "other" for those that it made: its backup thread, and threads of the program.
    pub role: &'static str,
    /// How that is known: "told", "birth", "seen".
    pub found: &'static str,
    /// Share of the lane's events at which one of the lane's threads was on a CPU.
    pub score: Option<f64>,
}

/// Use of an allocation area, as shares of its size.
#[derive(Copy, Clone, Debug, PartialEq, Serialize)]
pub struct NurseryUse {
    /// Mean over collections.
    pub mean: f64,
    /// Least.
    pub min: f64,
}

/// Allocation areas.
#[derive(Copy, Clone, Debug, PartialEq, Serialize)]
pub struct Nursery {
    /// Of one lane, bytes.
    pub bytes: u64,
    /// Lanes take pieces of all areas from a common pool, as far as size and
    /// command line tell: a lane's use may then exceed 1.
    pub pooled: bool,
    /// Collections that a full area asked for.
    pub collections: u64,
    /// Share of all areas that was used when they came, mean.
    pub used: Option<f64>,
}

/// Phases of a concurrent collector.
#[derive(Copy, Clone, Debug, PartialEq, Serialize)]
pub struct Concurrent {
    /// Marks, one figure for each collection that came to its sweep.
    pub mark_ns: Distribution,
    /// Stops of the world behind a mark; they are pauses too.
    pub sync_ns: Distribution,
    /// Sweeps.
    pub sweep_ns: Distribution,
    /// Of marks and sweeps, inside pauses.
    pub in_pauses_ns: u64,
}

/// A distribution of durations, nanoseconds. Every figure but the count is
/// `None` where there is nothing to distribute.
#[allow(missing_docs)]
#[derive(Copy, Clone, Debug, Default, PartialEq, Serialize)]
pub struct Distribution {
    /// How many.
    pub count: u64,
    /// Exact sum.
    pub sum: Option<u64>,
    /// Mean.
    pub mean: Option<f64>,
    /// Exact minimum.
    pub min: Option<u64>,
    /// Quantiles, to three digits.
    pub p50: Option<u64>,
    pub p90: Option<u64>,
    pub p99: Option<u64>,
    pub p999: Option<u64>,
    /// Exact maximum.
    pub max: Option<u64>,
}

/// Pauses, summed up. Partial pauses are in `count`, not in distributions.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Pauses {
    /// How many.
    pub count: u64,
    /// Of these, touched by a loss.
    pub partial: u64,
    /// Per second of the span.
    pub per_second: f64,
    /// Union on the wall, nanoseconds.
    pub total_ns: u64,
    /// Request to last lane stopped.
    pub time_to_stop_ns: Distribution,
    /// All stopped to work done.
    pub collect_ns: Distribution,
    /// Work done to last lane back.
    pub release_ns: Distribution,
    /// Request to last lane back.
    pub pause_ns: Distribution,
    /// By oldest generation collected.
    pub by_generation: Vec<Generation>,
}

/// Collections of one generation.
#[derive(Clone, Debug, Serialize)]
pub struct Generation {
    /// 0 is the youngest.
    pub generation: u16,
    /// How many.
    pub count: u64,
    /// All stopped to work done.
    pub collect_ns: Distribution,
    /// Bytes copied, in total.
    pub copied_bytes: u64,
}

/// Productivity, 0 to 1.
#[derive(Copy, Clone, Debug, Default, PartialEq, Serialize)]
pub struct Productivity {
    /// Lane time on a CPU outside pauses / lane time not idle.
    pub wall: Option<f64>,
    /// As the runtime counts it: one minus collection time over wall time.
    pub runtime_view: Option<f64>,
}

/// Minimum mutator utilisation for one window.
#[derive(Copy, Clone, Debug, PartialEq, Serialize)]
pub struct Mmu {
    /// Window, nanoseconds.
    pub window_ns: u64,
    /// Smallest share of any such window that was outside pauses.
    pub utilization: f64,
    /// The smallest of this and all longer windows in the list: unlike
    /// `utilization` it never falls where a window grows.
    pub bounded: f64,
}

/// Durations in one column.
#[derive(Copy, Clone, Debug, PartialEq, Serialize)]
pub struct Column {
    /// From this on, nanoseconds.
    pub from_ns: u64,
    /// Until below this.
    pub to_ns: u64,
    /// How many.
    pub count: u64,
    /// Their sum.
    pub sum_ns: u64,
}

/// One memory line.
#[allow(missing_docs)]
#[derive(Copy, Clone, Debug, Default, PartialEq, Serialize)]
pub struct Level {
    pub max: u64,
    pub last: u64,
    /// Mean over time (each value holds until the next).
    pub mean: f64,
}

/// Memory lines.
#[derive(Copy, Clone, Debug, Default, PartialEq, Serialize)]
pub struct Memory {
    /// Resident set as the kernel counts it.
    pub rss_bytes: Option<Level>,
    /// Held by the runtime from the system.
    pub heap_bytes: Option<Level>,
    /// In allocated blocks.
    pub blocks_bytes: Option<Level>,
    /// Live after major collections.
    pub live_bytes: Option<Level>,
    /// Largest live seen: what GHC calls residency.
    pub residency_bytes: Option<Level>,
    /// Wasted at the ends of blocks.
    pub slop_bytes: Option<Level>,
}

/// Where the resident memory was at one moment.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct MemoryLedger {
    /// When.
    #[serde(rename = "memory_ledger_at")]
    pub time: Option<Time>,
    /// What the system counts as resident, to which the lines come.
    #[serde(skip)]
    pub rss_bytes: Option<u64>,
    /// They do not overlap.
    #[serde(rename = "memory_ledger")]
    pub lines: Vec<LedgerLine>,
}

/// One of its lines.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct LedgerLine {
    /// What it is.
    pub line: String,
    /// Negative: that much of the other lines is not resident.
    pub bytes: i64,
    /// How that is known.
    pub how: String,
}

/// A lane that stopped last.
#[derive(Clone, Debug, Serialize)]
pub struct Straggler {
    /// Number of the lane.
    pub lane: u16,
    /// In how many pauses it was the last of those that were asked.
    pub count: u64,
    /// Time to stop in which the world waited for it, nanoseconds; a lane that
    /// asked and was late itself is waited for too.
    pub sum_ns: u64,
}

/// One cause of waiting, summed up.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CauseSum {
    /// Why.
    pub cause: Cause,
    /// Who took the CPU: a process name.
    pub who: Option<String>,
    /// Where the code was, most of the time of which that is known.
    pub code: Option<String>,
    /// Nanoseconds.
    pub sum_ns: u64,
    /// Of everything that was waited for, 0 to 1.
    pub share: f64,
}

/// Processes that a program started.
#[derive(Copy, Clone, Debug, Default, Serialize)]
pub struct Forks {
    /// How many, those included of which no memory is copied (`posix_spawn`).
    pub count: u64,
    /// What collections waited for a thread that was copying the process.
    pub waited_ns: u64,
    /// CPU time of the copying, as samples of the code tell; null without samples.
    pub copying_ns: Option<u64>,
}

/// The tracer's own disturbance.
#[derive(Copy, Clone, Debug, Default, Serialize)]
pub struct Tracer {
    /// Time lanes spent writing log buffers, summed over lanes; null without a log.
    pub write_ns: Option<u64>,
    /// Longest single write.
    pub write_max_ns: Option<u64>,
    /// CPU time of the recorder.
    pub recorder_cpu_ns: Option<u64>,
    /// Wall-clock time in which the recorder's threads ran on a CPU that a thread
    /// of the program waited for; null without events that name who ran.
    pub recorder_held_ns: Option<u64>,
}

/// The kernel side.
#[derive(Clone, Debug, Default, Serialize)]
pub struct KernelView {
    /// "tracepoints", "own-switches", …; null without a capture.
    pub tier: Option<String>,
    /// Whether its events were used for causes.
    pub used: bool,
    /// Why not, or what this tier cannot show.
    pub notes: Vec<String>,
    /// Share of arrivals that fall while a thread of the program is on a CPU.
    pub sanity: Option<f64>,
    /// Wall-clock time in which other processes ran on a CPU that a thread of the
    /// program waited for; the recorder apart. Null without events that name who ran.
    pub others_held_ns: Option<u64>,
    /// Clock: how runtime and kernel times were joined, and the error.
    pub clock_method: Option<String>,
    #[allow(missing_docs)]
    pub clock_error_ns: Option<u64>,
}

/// How far a quota was used up.
#[derive(Copy, Clone, Debug, PartialEq, Serialize)]
pub struct Throttled {
    /// Which group: an index into the context's list.
    pub group: u16,
    /// Enforcement periods with work.
    pub periods: u64,
    /// Of these, periods in which the quota ran out.
    pub throttled: u64,
    /// Time throttled, summed over CPUs, ns.
    pub throttled_ns: u64,
}

/// A pause with the causes of its waits.
#[derive(Clone, Debug)]
pub struct BlamedPause {
    /// The pause.
    pub pause: Pause,
    /// Pieces in time order; they cover every wait, unknown included.
    pub causes: Vec<CausePiece>,
    /// Of the time until the work was done, how long a thread that took part was kept off
    /// its CPU, nanoseconds; `None` where kernel events do not tell.
    pub kept_ns: Option<u64>,
}

/// The slowest pauses together.
#[derive(Clone, Debug, Default, Serialize)]
pub struct SlowestPauses {
    /// How many.
    pub count: u64,
    /// The length of the shortest of them.
    pub least_ns: u64,
    /// What lanes did in them.
    pub account: Account,
}

/// What pictures are drawn from; bounded whatever the length of the stream.
#[derive(Clone, Debug, Default)]
pub struct Drawing {
    /// Worst pause in each slice of time, and how many there were.
    pub over_time: Vec<PauseSlice>,
    /// Longest pauses, worst first, with the kernel's states under them.
    pub worst: Vec<WorstPause>,
    /// Memory lines, thinned.
    pub memory: Vec<MemoryLine>,
    /// What the code of causes in `worst` is called.
    pub symbols: Symbols,
    /// What lanes did over the run, where somebody looked on for it.
    pub lanes: Option<crate::results::LanesOverTime>,
}

/// Pauses of one slice of time.
#[derive(Copy, Clone, Debug, Default, Serialize)]
pub struct PauseSlice {
    /// Start.
    #[serde(rename = "from_ns")]
    pub from: Time,
    /// End.
    #[serde(rename = "to_ns")]
    pub to: Time,
    /// Pauses that began here.
    pub count: u64,
    /// Longest, ns.
    pub max_ns: u64,
    /// Sum of times to stop, ns.
    pub stop_ns: u64,
    /// Sum of collect, ns.
    pub collect_ns: u64,
    /// Sum of release, ns.
    pub release_ns: u64,
}

/// A long pause, with thread states.
#[derive(Clone, Debug)]
pub struct WorstPause {
    /// The pause and its causes.
    pub blamed: BlamedPause,
    /// For each lane with a known thread: its states during the pause.
    pub states: Vec<LaneStates>,
}

/// Kernel states of the thread of one lane.
#[derive(Clone, Debug)]
pub struct LaneStates {
    /// Lane.
    pub lane: u16,
    /// Thread.
    pub tid: u32,
    /// Spans in order.
    pub spans: Vec<StateSpan>,
}

/// One state.
#[derive(Clone, Debug, Serialize)]
pub struct StateSpan {
    /// Start.
    #[serde(rename = "from_ns")]
    pub from: Time,
    /// End.
    #[serde(rename = "to_ns")]
    pub to: Time,
    /// State.
    pub state: ThreadState,
    /// Who had the CPU instead, where known.
    pub who: Option<String>,
}

/// State of a kernel thread.
#[derive(Copy, Clone, Eq, PartialEq, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ThreadState {
    /// On a CPU.
    Running,
    /// Waiting for a CPU.
    Runnable,
    /// Asleep.
    Sleeping,
    /// Blocked in the kernel.
    Blocked,
    /// Not known.
    Unknown,
}

/// One memory line, thinned for drawing.
#[derive(Clone, Debug)]
pub struct MemoryLine {
    /// "rss", "heap", "blocks", "live", "residency".
    pub name: &'static str,
    /// Time and bytes.
    pub points: Vec<(Time, u64)>,
}
