//! The output of an analysis: the values from which every report, page and export is drawn. Serialised, this is
//! `report --json`; keys keep their meaning, and a value that cannot be known is `null`, never 0.

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

pub use code::{Code, CodePlace, PurposeTime};
pub use held_up::{HeldUp, HeldUpSum};
pub use lanes_over_time::{LaneTime, LanesOverTime};
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

/// Everything that a report shows.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Results {
    /// Always [`SCHEMA`].
    pub schema: &'static str,
    /// The files and streams that were read.
    pub source: Source,
    /// The program that was recorded and how it ended; null without a capture.
    pub program: Option<Program>,
    /// The program's runtime, with its arguments.
    pub runtime: ProgramRuntime,
    /// Wall-clock time covered, nanoseconds.
    pub span_ns: u64,
    /// First moment of the recording.
    pub started: Time,
    /// Lanes, by number.
    pub lanes: Vec<Lane>,
    /// Where the time of all lanes went; null where only pauses were requested.
    pub account: Option<Account>,
    /// Pauses, summed up.
    pub pauses: Pauses,
    /// What lanes did in the slowest pauses; null without pauses, or where only pauses were requested.
    pub slowest_pauses: Option<SlowestPauses>,
    /// Lengths of pauses in columns of equal width on a logarithmic scale, without gaps between the first and
    /// the last.
    pub spectrum: Vec<Column>,
    /// Both views of productivity.
    pub productivity: Productivity,
    /// Minimum mutator utilisation per window.
    pub mmu: Vec<Mmu>,
    /// Memory lines, summed up.
    pub memory: Memory,
    /// What the runtime's own heap profiler found; null if no profile was requested, or if the log holds no
    /// whole sample.
    pub heap_profile: Option<heap_profile::ProfileSummary>,
    /// Where the resident memory was; no lines where nothing is known.
    #[serde(flatten)]
    pub ledger: MemoryLedger,
    /// Snapshots of the heap in time order, without their maps.
    #[serde(rename = "heap_snapshots", serialize_with = "heaps::in_short")]
    pub heaps: Vec<Heap>,
    /// Number of further snapshots in the capture: there were too many.
    #[serde(rename = "heap_snapshots_left_out")]
    pub heaps_left_out: u64,
    /// Bytes allocated per second over the span; null where not logged.
    pub allocation_bytes_per_second: Option<f64>,
    /// Young data that was promoted; null where not posted.
    pub promotion: Option<Promotion>,
    /// Memory and rates over time, where they were seen.
    pub counters: Vec<CounterLine>,
    /// Allocation areas of the lanes; null where not logged.
    pub nursery: Option<Nursery>,
    /// Phases of a concurrent collector; null where there were none.
    pub concurrent: Option<Concurrent>,
    /// Work on the major heap that stops one lane at a time; null for runtimes without such work.
    #[serde(rename = "slices_ns")]
    pub slices: Option<Distribution>,
    /// What became of sparks; null where their counters were not logged.
    pub sparks: Option<Sparks>,
    /// Lanes that stopped last, worst first.
    pub stragglers: Vec<Straggler>,
    /// Lanes that held pauses up, worst first: each pause counts for one lane.
    pub held_up: Vec<HeldUpSum>,
    /// Why the world waited, most costly first.
    pub causes: Vec<CauseSum>,
    /// What is wrong and what to do; empty: nothing found.
    pub findings: Vec<Finding>,
    /// The result of each diagnosis rule, so that "nothing found" can say what was checked and what could not be.
    pub checked: Vec<Checked>,
    /// Data that was lost.
    pub losses: Vec<Loss>,
    /// Where the program's code was; null where it was not sampled.
    pub code: Option<Code>,
    /// Green threads; null where the log does not hold each of their runs.
    pub green_threads: Option<GreenSummary>,
    /// What the program posted about itself, by name, longest spans first.
    pub user: Vec<UserEvents>,
    /// Transactions (STM); null where their counts were not read.
    pub transactions: Option<Transactions>,
    /// What threads waited for while lanes had nothing to run; null without looks.
    pub waits: Option<Waits>,
    /// Requests of a load; null where none were given.
    pub requests: Option<Joined>,
    /// Forks of the program's process; null without kernel events.
    pub forks: Option<Forks>,
    /// What the tracer itself cost the program, as far as the log shows.
    pub tracer: Tracer,
    /// The state of the kernel side, and whether it was used.
    pub kernel: KernelView,
    /// Pauses and memory over time, and the worst pauses: for charts.
    #[serde(skip)]
    pub drawing: Drawing,
}

/// Everything that the program posted under one name.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct UserEvents {
    /// The name that the program chose.
    pub name: String,
    /// Lengths of its spans; quantiles to two digits.
    pub spans_ns: Distribution,
    /// When the longest one began.
    pub longest_at: Option<Time>,
    /// How long their lanes stood still in pauses during all these spans, nanoseconds.
    pub in_pauses_ns: Option<u64>,
    /// Spans whose start or end was not seen.
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
    /// Mean of the values as posted, regardless of how long each held.
    pub mean: f64,
}

/// Young data that survived collections.
#[derive(Copy, Clone, Debug, PartialEq, Serialize)]
pub struct Promotion {
    /// Bytes in young heaps at their collections; null where figures were lost.
    pub young_bytes: Option<u64>,
    /// The part of `young_bytes` that survived; null where figures were lost.
    pub promoted_bytes: Option<u64>,
    /// The surviving share, over the collections that were seen.
    pub share: f64,
}

/// One counter over time.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CounterLine {
    /// "heap_bytes", "allocation_bytes_per_second", ….
    pub name: &'static str,
    /// "bytes", "bytes/s".
    pub unit: &'static str,
    /// The moment from which each value holds, until the next point; null: not known.
    pub points: Vec<(Time, Option<u64>)>,
}

/// Green threads, summed up.
#[derive(Clone, Debug, Default, Serialize)]
pub struct GreenSummary {
    /// Green threads created during the recording.
    pub created: u64,
    /// Green threads that ended during the recording.
    pub finished: u64,
    /// Largest number alive at once.
    pub alive_max: u64,
    /// How long one ran without a break.
    pub slice_ns: Distribution,
    /// From a wake-up until the thread ran.
    pub wake_to_run_ns: Distribution,
    /// What they waited for, longest first.
    pub blocked: Vec<BlockedSum>,
    /// How long each lane ran them.
    pub lanes: Vec<GreenLane>,
    /// Wall-clock time in which a lane was idle while a thread waited for another one that ran.
    pub idle_while_waiting_ns: u64,
}

/// Waits of green threads for one reason.
#[derive(Clone, Debug, Default, Serialize)]
pub struct BlockedSum {
    /// "lock", "black-hole", "transaction", "io", "foreign-call", "other".
    pub reason: &'static str,
    /// Number of waits that have ended.
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
    /// `run_ns` as a share of the span.
    pub share: f64,
}

/// The files and streams that were read.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Source {
    /// "capture" or "eventlog".
    pub kind: &'static str,
    /// Path as given.
    pub path: String,
    /// The log of this report, if a capture holds several.
    pub log: Option<String>,
    /// Number of logs: one for each process that wrote one.
    pub logs: u64,
    /// Bytes of all streams.
    pub bytes: u64,
    /// Runtime events in the log(s), of every type.
    pub events: u64,
    /// Number of events by type.
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
    /// Whether the kernel's out-of-memory killer was active in its group meanwhile.
    pub oom_killed: bool,
    /// The recorder's notes: first why it could not log, then what else was not recorded.
    pub notes: Vec<String>,
}

/// The result of one diagnosis rule.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct Checked {
    /// Stable name of the rule; its finding has the same.
    pub id: &'static str,
    /// Whether the rule found something, found nothing, or could not look.
    pub outcome: RuleOutcome,
    /// What it needs to see, in a few words; null where a log is enough.
    pub needs: Option<&'static str>,
    /// Why it could not look, in one sentence.
    pub why: Option<String>,
}

/// Outcome of a diagnosis rule.
#[derive(Copy, Clone, Eq, PartialEq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum RuleOutcome {
    /// It is among the findings.
    Found,
    /// It looked and found nothing.
    Clear,
    /// What it needs was not recorded.
    CouldNotLook,
    /// What it needs is recorded only if `record` is given further options.
    NotAsked,
}

impl RuleOutcome {
    /// Whether it says nothing about the program.
    pub fn blind(self) -> bool {
        matches!(self, RuleOutcome::CouldNotLook | RuleOutcome::NotAsked)
    }
}

/// A program's runtime.
#[derive(Clone, Debug, Default, Serialize)]
pub struct ProgramRuntime {
    /// Its id; null where no runtime was seen.
    pub family: Option<String>,
    /// "9.6.6".
    pub version: Option<String>,
    /// "thr", or "" for the non-threaded way.
    pub way: Option<String>,
    /// Program arguments, including the runtime's flags.
    pub args: Vec<String>,
}

impl ProgramRuntime {
    /// The static description of this runtime.
    pub fn info(&self) -> &'static RuntimeInfo {
        rtscope_model::runtime::find(self.family.as_deref())
    }

    /// Each argument after the program's name, with whether it belongs to the runtime.
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

    /// The runtime's arguments without those for its log: the recording chooses its contents and destination.
    pub fn own_args(&self) -> Vec<&str> {
        let of_log = |arg: &str| self.info().own_args.of_log.iter().any(|begin| arg.starts_with(begin));
        self.attributed_args().filter(|(own, arg)| *own && !of_log(arg)).map(|(_, arg)| arg).collect()
    }
}

/// One lane of the runtime.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Lane {
    /// Number of the lane.
    pub id: u16,
    /// "capability 0".
    pub name: String,
    /// Every thread that served it.
    pub tids: Vec<u32>,
    /// Time on a CPU in the program's own code.
    pub mutator_ns: Option<u64>,
    /// Time of its own collection work.
    pub collect_ns: Option<u64>,
    /// Time that it waited for other lanes to stop.
    pub stop_wait_ns: Option<u64>,
    /// Time that it waited to resume after a collection was done.
    pub release_wait_ns: Option<u64>,
    /// Time that it waited to become leader (OCaml).
    pub leadership_wait_ns: Option<u64>,
    /// Whether that wait is inferred because the runtime does not post it.
    pub leadership_inferred: bool,
    /// Time of work on the major heap while other lanes could run the program (OCaml's slices).
    pub slice_ns: Option<u64>,
    /// Time from its creation, or from when it was first seen, until it ended.
    pub life_ns: Option<u64>,
    /// Its own threads, for runtimes whose lanes have threads for life.
    pub threads: Vec<LaneThread>,
    /// Time with nothing to do.
    pub idle_ns: Option<u64>,
    /// Bytes allocated since the start.
    pub allocated_bytes: Option<u64>,
    /// Bytes allocated per second of the span.
    pub allocation_bytes_per_second: Option<f64>,
    /// How much of its allocation area it had used when a full area, its own or another lane's, caused a collection.
    pub nursery_use: Option<NurseryUse>,
}

/// A thread that serves a lane.
#[derive(Copy, Clone, Debug, PartialEq, Serialize)]
pub struct LaneThread {
    /// Number of the thread.
    pub tid: u32,
    /// "own"; "other" for threads that the own one created: its backup thread, and threads of the program.
    pub role: &'static str,
    /// How that is known: "told", "birth", "seen".
    pub found: &'static str,
    /// Share of the lane's events at which one of its threads was on a CPU.
    pub score: Option<f64>,
}

/// Use of an allocation area, as shares of its size.
#[derive(Copy, Clone, Debug, PartialEq, Serialize)]
pub struct NurseryUse {
    /// Mean over collections.
    pub mean: f64,
    /// Smallest share over collections.
    pub min: f64,
}

/// Allocation areas.
#[derive(Copy, Clone, Debug, PartialEq, Serialize)]
pub struct Nursery {
    /// Size of one lane's area, bytes.
    pub bytes: u64,
    /// Lanes take pieces of all areas from a common pool, as far as size and command line show: a lane's use may then
    /// exceed 1.
    pub pooled: bool,
    /// Collections caused by a full area.
    pub collections: u64,
    /// Mean share of all areas that was used at these collections.
    pub used: Option<f64>,
}

/// Phases of a concurrent collector.
#[derive(Copy, Clone, Debug, PartialEq, Serialize)]
pub struct Concurrent {
    /// Marks, one value for each collection that reached its sweep.
    pub mark_ns: Distribution,
    /// Stops of the world after a mark; they are pauses, too.
    pub sync_ns: Distribution,
    /// Sweeps of the old generation.
    pub sweep_ns: Distribution,
    /// The part of marks and sweeps inside pauses, nanoseconds.
    pub in_pauses_ns: u64,
}

/// A distribution of durations, nanoseconds. Every figure except the count is `None` if there are no durations.
#[allow(missing_docs)]
#[derive(Copy, Clone, Debug, Default, PartialEq, Serialize)]
pub struct Distribution {
    /// Number of durations.
    pub count: u64,
    /// Exact sum.
    pub sum: Option<u64>,
    /// Exact mean.
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
    /// Number of pauses.
    pub count: u64,
    /// The number of pauses affected by a loss.
    pub partial: u64,
    /// Per second of the span.
    pub per_second: f64,
    /// Their union in wall-clock time, nanoseconds.
    pub total_ns: u64,
    /// Request to last lane stopped.
    pub time_to_stop_ns: Distribution,
    /// All stopped to work done.
    pub collect_ns: Distribution,
    /// Work done to last lane resumed.
    pub release_ns: Distribution,
    /// Request to last lane resumed.
    pub pause_ns: Distribution,
    /// By oldest generation collected.
    pub by_generation: Vec<Generation>,
}

/// Collections of one generation.
#[derive(Clone, Debug, Serialize)]
pub struct Generation {
    /// Number of the generation; 0 is the youngest.
    pub generation: u16,
    /// Number of collections.
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
    /// The runtime's own figure: one minus collection time over wall-clock time.
    pub runtime_view: Option<f64>,
}

/// Minimum mutator utilisation for one window.
#[derive(Copy, Clone, Debug, PartialEq, Serialize)]
pub struct Mmu {
    /// Length of the window, nanoseconds.
    pub window_ns: u64,
    /// Smallest share of any such window outside pauses.
    pub utilization: f64,
    /// The smallest `utilization` of this and all longer windows in the list: unlike `utilization`, it never falls as
    /// the window grows.
    pub bounded: f64,
}

/// Durations in one column.
#[derive(Copy, Clone, Debug, PartialEq, Serialize)]
pub struct Column {
    /// Lower edge, nanoseconds.
    pub from_ns: u64,
    /// Upper edge (exclusive), nanoseconds.
    pub to_ns: u64,
    /// Number of durations.
    pub count: u64,
    /// Sum of the durations, nanoseconds.
    pub sum_ns: u64,
}

/// Level of one memory line.
#[allow(missing_docs)]
#[derive(Copy, Clone, Debug, Default, PartialEq, Serialize)]
pub struct MemoryLevel {
    pub max: u64,
    pub last: u64,
    /// Mean over time (each value holds until the next).
    pub mean: f64,
}

/// Memory lines; null where not seen.
#[derive(Copy, Clone, Debug, Default, PartialEq, Serialize)]
pub struct Memory {
    /// Resident set as the kernel counts it.
    pub rss_bytes: Option<MemoryLevel>,
    /// Memory that the runtime holds from the system.
    pub heap_bytes: Option<MemoryLevel>,
    /// Memory in allocated blocks.
    pub blocks_bytes: Option<MemoryLevel>,
    /// Live data after major collections.
    pub live_bytes: Option<MemoryLevel>,
    /// Largest live data seen: GHC's residency.
    pub residency_bytes: Option<MemoryLevel>,
    /// Memory wasted at the ends of blocks.
    pub slop_bytes: Option<MemoryLevel>,
}

/// Where the resident memory was at one moment.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct MemoryLedger {
    /// The moment of these figures.
    #[serde(rename = "memory_ledger_at")]
    pub time: Option<Time>,
    /// Resident memory as the system counts it; the lines add up to it.
    #[serde(skip)]
    pub rss_bytes: Option<u64>,
    /// The lines; they do not overlap.
    #[serde(rename = "memory_ledger")]
    pub lines: Vec<LedgerLine>,
}

/// One line of the memory ledger.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct LedgerLine {
    /// What the line is, in words.
    pub line: String,
    /// Size; if negative, that much of the other lines is not resident.
    pub bytes: i64,
    /// The source of the figure.
    pub how: String,
}

/// A lane that stopped last.
#[derive(Clone, Debug, Serialize)]
pub struct Straggler {
    /// Number of the lane.
    pub lane: u16,
    /// Number of pauses in which it was the last of the lanes that were asked to stop.
    pub count: u64,
    /// Time that the world waited for it to stop, nanoseconds; a leader that was late itself counts, too.
    pub sum_ns: u64,
}

/// One cause of waiting, summed up.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CauseSum {
    /// The cause.
    pub cause: Cause,
    /// Name of the process that took the CPU.
    pub who: Option<String>,
    /// The place in the code with the most time, where that is known.
    pub code: Option<String>,
    /// Sum of the waits, nanoseconds.
    pub sum_ns: u64,
    /// Share of all waits, 0 to 1.
    pub share: f64,
}

/// Processes that a program started.
#[derive(Copy, Clone, Debug, Default, Serialize)]
pub struct Forks {
    /// Number of processes, including those for which no memory is copied (`posix_spawn`).
    pub count: u64,
    /// Time that collections waited for a thread that was copying the process, nanoseconds.
    pub waited_ns: u64,
    /// CPU time of the copying according to samples of the code; null without samples.
    pub copying_ns: Option<u64>,
}

/// The tracer's own disturbance.
#[derive(Copy, Clone, Debug, Default, Serialize)]
pub struct Tracer {
    /// Time that lanes spent writing log buffers, summed over lanes; null without a log.
    pub write_ns: Option<u64>,
    /// Longest single write, nanoseconds.
    pub write_max_ns: Option<u64>,
    /// CPU time of the recorder, nanoseconds.
    pub recorder_cpu_ns: Option<u64>,
    /// Wall-clock time in which the recorder's threads ran on a CPU that a thread of the program waited for; null
    /// without events that name the thread that ran.
    pub recorder_held_ns: Option<u64>,
}

/// The state of the kernel side of a recording.
#[derive(Clone, Debug, Default, Serialize)]
pub struct KernelView {
    /// "tracepoints", "own-switches", …; null without a capture.
    pub tier: Option<String>,
    /// Whether its events were used for causes.
    pub used: bool,
    /// Why they were not used, or what this tier cannot show.
    pub notes: Vec<String>,
    /// Share of arrivals that fall while a thread of the program is on a CPU.
    pub sanity: Option<f64>,
    /// Wall-clock time in which other processes except the recorder ran on a CPU that a thread of the program waited
    /// for. Null without events that name the thread that ran.
    pub others_held_ns: Option<u64>,
    /// How runtime and kernel times were mapped; the error follows.
    pub clock_method: Option<String>,
    #[allow(missing_docs)]
    pub clock_error_ns: Option<u64>,
}

/// How far a quota was used up.
#[derive(Copy, Clone, Debug, PartialEq, Serialize)]
pub struct Throttled {
    /// The group, as an index into the context's list.
    pub group: u16,
    /// Enforcement periods in which it had work.
    pub periods: u64,
    /// The number of periods in which the quota ran out.
    pub throttled: u64,
    /// Time throttled, summed over CPUs, nanoseconds.
    pub throttled_ns: u64,
}

/// A pause with the causes of its waits.
#[derive(Clone, Debug)]
pub struct BlamedPause {
    /// The pause, with the threads of its lanes.
    pub pause: Pause,
    /// Pieces in time order; they cover every wait, unknown included.
    pub causes: Vec<CausePiece>,
    /// How long a participating thread was kept off its CPU before the work was done, nanoseconds; `None` without
    /// usable kernel events.
    pub kept_ns: Option<u64>,
}

/// The slowest pauses taken together.
#[derive(Clone, Debug, Default, Serialize)]
pub struct SlowestPauses {
    /// Number of pauses.
    pub count: u64,
    /// The length of the shortest of them, nanoseconds.
    pub least_ns: u64,
    /// What lanes did during them.
    pub account: Account,
}

/// The data of charts; bounded whatever the length of the stream.
#[derive(Clone, Debug, Default)]
pub struct Drawing {
    /// Worst pause in each slice of time, and the number of pauses.
    pub over_time: Vec<PauseSlice>,
    /// Longest pauses, worst first, with the kernel's thread states.
    pub worst: Vec<WorstPause>,
    /// Memory lines, thinned.
    pub memory: Vec<MemoryLine>,
    /// Symbols of the code that causes in `worst` refer to.
    pub symbols: Symbols,
    /// What lanes did over the run, if that was requested.
    pub lanes: Option<crate::results::LanesOverTime>,
}

/// Pauses of one slice of time.
#[derive(Copy, Clone, Debug, Default, Serialize)]
pub struct PauseSlice {
    /// Start of the slice.
    #[serde(rename = "from_ns")]
    pub from: Time,
    /// End of the slice.
    #[serde(rename = "to_ns")]
    pub to: Time,
    /// Number of pauses that began here.
    pub count: u64,
    /// Longest pause, nanoseconds.
    pub max_ns: u64,
    /// Sum of times to stop, nanoseconds.
    pub stop_ns: u64,
    /// Sum of collect phases, nanoseconds.
    pub collect_ns: u64,
    /// Sum of releases, nanoseconds.
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
    /// Number of the lane.
    pub lane: u16,
    /// Id of its thread.
    pub tid: u32,
    /// Spans in order.
    pub spans: Vec<StateSpan>,
}

/// One state of a thread.
#[derive(Clone, Debug, Serialize)]
pub struct StateSpan {
    /// Start of the state.
    #[serde(rename = "from_ns")]
    pub from: Time,
    /// End of the state.
    #[serde(rename = "to_ns")]
    pub to: Time,
    /// The state that the thread was in.
    pub state: ThreadState,
    /// The process that had the CPU instead, where known.
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
    /// Asleep in the kernel.
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
    /// Times with bytes.
    pub points: Vec<(Time, u64)>,
}
