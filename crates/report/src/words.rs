//! Wording of causes, states, losses and runtimes, shared by the text and the page so that both say the same.

pub use super::seen::{WallPart, has_runtime, is_unwritten, wall_clock};
use indexmap::IndexMap;
use rtscope_analyze::results::heap_profile::{Band, ProfileSummary};
use rtscope_analyze::results::{
    BlockedSum, CauseSum, Distribution, Lane, Memory, MemoryLevel, ProgramRuntime, Results, ThreadState,
};
use rtscope_model::pause::PauseKind;
use rtscope_model::{Cause, Loss, LossKind, Time, units};
use rtscope_terminal::style::{clean, sentence};
use std::fmt::Write as _;

/// A cause of waiting as a phrase; `thread` took the CPU.
pub fn cause(cause: Cause, thread: Option<&str>) -> String {
    let phrase = match cause {
        Cause::HostSteal => "the host or an interrupt took the CPU",
        Cause::Running => "still running",
        Cause::LateSafepoint => "it ran code that does not stop for collections",
        Cause::ForeignCall => "it was in a foreign call that does not stop for collections",
        Cause::InKernel => "on a CPU, in the kernel (page fault or system call)",
        Cause::Throttled => "throttled: the CPU quota was used up",
        Cause::Preempted => return format!("preempted by {}", thread.unwrap_or("another process")),
        Cause::Oversubscribed => "own threads competed for the CPU",
        Cause::IdleCpu => "runnable, while a CPU stood idle",
        Cause::NotScheduled => "wanted a CPU; not seen who had it",
        Cause::WakeLatency => match thread {
            Some(thread) => return format!("woken, but {thread} had the CPU"),
            None => "woken, not yet on a CPU",
        },
        Cause::Asleep => "asleep, had to be woken",
        Cause::BlockedInKernel => "blocked in the kernel (fault, I/O, fork)",
        Cause::HandedOver => "moved to another OS thread",
        Cause::Unknown => "unknown",
    };
    match thread {
        Some(thread) => format!("{phrase} (while {thread} ran)"),
        None => phrase.into(),
    }
}

/// A kernel thread's state in words.
pub fn state(state: ThreadState) -> &'static str {
    match state {
        ThreadState::Running => "on a CPU",
        ThreadState::Runnable => "waiting for a CPU",
        ThreadState::Sleeping => "asleep",
        ThreadState::Blocked => "blocked in the kernel",
        ThreadState::Unknown => "not known",
    }
}

/// A pause's kind in words.
pub fn pause_kind(kind: PauseKind) -> &'static str {
    match kind {
        PauseKind::Minor => "minor collection",
        PauseKind::Major => "major collection",
        PauseKind::ConcurrentSync => "stop at the end of a concurrent mark",
        PauseKind::Compaction => "compaction",
        PauseKind::Layout => "new layout of heaps",
        PauseKind::Unknown => "collection",
    }
}

/// Whether the code location is part of a cause.
pub fn has_code_location(cause: Cause) -> bool {
    matches!(
        cause,
        Cause::Running | Cause::LateSafepoint | Cause::ForeignCall | Cause::InKernel | Cause::BlockedInKernel
    )
}

/// One cause, with all the threads and places it involves.
#[derive(Clone, PartialEq, Debug)]
pub struct CauseGroup<'r> {
    /// The common cause.
    pub cause: Cause,
    /// Names of threads that took the CPU, most costly first.
    pub threads: Vec<&'r str>,
    /// Code locations, most costly first.
    pub code: Vec<&'r str>,
    /// Time waited, in nanoseconds.
    pub sum_ns: u64,
    /// Share of all waiting time, 0 to 1.
    pub share: f64,
}

/// Maximum names listed in one group.
const NAMES_SHOWN: usize = 2;

impl CauseGroup<'_> {
    /// As a phrase: "preempted by rustc, sh and 9 others".
    pub fn words(&self) -> String {
        let named = self.threads.iter().take(NAMES_SHOWN).copied().collect::<Vec<_>>();
        let threads = match (named.as_slice(), self.threads.len().saturating_sub(NAMES_SHOWN)) {
            ([], _) => None,
            (some, 0) => Some(some.join(" and ")),
            (some, more) => {
                Some(format!("{} and {more} {}", some.join(", "), if more == 1 { "other" } else { "others" }))
            }
        };
        let phrase = cause(self.cause, threads.as_deref());
        // The code that ran is part of the cause; where a thread slept is not.
        match self.code.first().filter(|_| has_code_location(self.cause)) {
            Some(code) => format!("{phrase}: {code}"),
            None => phrase,
        }
    }
}

/// The causes of waiting, one group for each cause whatever the number of threads involved, most costly first. A busy
/// machine has dozens of processes that each took a little; listed one by one they hide what they have in common.
pub fn cause_groups(causes: &[CauseSum]) -> Vec<CauseGroup<'_>> {
    let mut groups: Vec<CauseGroup<'_>> = Vec::new();
    for sum in causes.iter().filter(|sum| sum.sum_ns > 0) {
        // Woken on an idle CPU is not the same as woken while another thread has the CPU.
        let same = |group: &&mut CauseGroup<'_>| {
            group.cause == sum.cause
                && (sum.cause != Cause::WakeLatency || group.threads.is_empty() == sum.who.is_none())
        };
        match groups.iter_mut().find(same) {
            Some(group) => {
                group.sum_ns = group.sum_ns.saturating_add(sum.sum_ns);
                group.share += sum.share;
                group.threads.extend(sum.who.as_deref());
                group.code.extend(sum.code.as_deref());
            }
            None => groups.push(CauseGroup {
                cause: sum.cause,
                threads: sum.who.as_deref().into_iter().collect(),
                code: sum.code.as_deref().into_iter().collect(),
                sum_ns: sum.sum_ns,
                share: sum.share,
            }),
        }
    }
    groups.sort_by_key(|group| std::cmp::Reverse(group.sum_ns));
    groups
}

/// A loss in words: how much of what, from which stream, with its note.
pub fn loss(loss: &Loss) -> String {
    let n = loss.count;
    let what = match loss.kind {
        LossKind::Truncated if n == 0 => "the log ends early".into(),
        LossKind::Truncated => format!("the log ends early, {} missing", units::bytes(n)),
        LossKind::Damaged => units::counted(n, "damaged place skipped", "damaged places skipped"),
        LossKind::KernelRecords => units::counted(n, "record dropped by the kernel", "records dropped by the kernel"),
        LossKind::UnknownRecord => units::counted(n, "record of an unknown type", "records of unknown types"),
        LossKind::Unwritten => format!("the last {} were never written", units::duration(n)),
        LossKind::OutOfOrder => {
            units::counted(n, "event came too late to be placed", "events came too late to be placed")
        }
        LossKind::RingWords => units::counted(n, "word of events overwritten", "words of events overwritten"),
        LossKind::Paused => "the program switched its events off for a while".into(),
        LossKind::Unfinished => {
            let stops = units::counted(n, "collection was", "collections were");
            format!("{stops} asked for and not seen to take place; not counted")
        }
        LossKind::MixedProcesses => "several processes wrote into one log".into(),
        // The note says how many and how late.
        LossKind::RecorderLate if !loss.note.is_empty() => return format!("{}: {}", loss.source, loss.note),
        LossKind::RecorderLate => units::counted(n, "sample was late", "samples were late"),
        LossKind::DiskFull => "there was no room left, recording stopped early".into(),
        LossKind::SourceMissing if loss.from.is_some() => "recorded in part".into(),
        LossKind::SourceMissing => "could not be recorded".into(),
    };
    let colon = if loss.note.is_empty() { "" } else { ": " };
    format!("{}: {what}{colon}{}", loss.source, loss.note)
}

/// What a finding costs, and what its share refers to: "1.20 s", "of the run".
pub fn costs(cost_ns: u64, cost_bytes: Option<u64>) -> (String, &'static str) {
    match cost_bytes {
        Some(bytes) => (units::bytes(bytes), "of the resident memory"),
        None => (units::duration(cost_ns), "of the run"),
    }
}

/// Losses of one kind from one source that are reported together.
struct Alike {
    /// The first of them; if the recorder was late several times, the longest.
    loss: Loss,
    times: u64,
    /// The sum of their lengths.
    ns: u64,
}

impl Alike {
    fn takes(&self, loss: &Loss) -> bool {
        let late = loss.kind == LossKind::RecorderLate && self.ns > 0 && length_ns(loss) > 0;
        self.loss.kind == loss.kind && self.loss.source == loss.source && (late || self.loss.note == loss.note)
    }

    fn take(&mut self, other: &Loss) {
        let count = self.loss.count.saturating_add(other.count);
        if other.note != self.loss.note && length_ns(other) > length_ns(&self.loss) {
            self.loss = other.clone();
        }
        self.loss.count = count;
        self.times += 1;
        self.ns = self.ns.saturating_add(length_ns(other));
    }

    fn sentence(&self) -> String {
        match (self.times, self.loss.kind) {
            (1, _) => loss(&self.loss),
            (times, LossKind::RecorderLate) if self.ns > 0 => {
                format!("{} (the longest of {times} times, {} in all)", loss(&self.loss), units::duration(self.ns))
            }
            (times, _) => format!("{} ({times} places)", loss(&self.loss)),
        }
    }
}

fn length_ns(loss: &Loss) -> u64 {
    loss.from.zip(loss.to).map_or(0, |(from, to)| to.since(from))
}

/// Everything that was lost, one sentence each. Losses of one kind with one note are reported once: a switch that the
/// kernel left out is one of many, and so is a moment at which the recorder had no CPU.
pub fn losses(results: &Results) -> Vec<String> {
    let mut merged: Vec<Alike> = Vec::new();
    for loss in &results.losses {
        // A log whose last buffers came from memory has no end either; reporting that once is enough.
        if loss.kind == LossKind::Truncated && loss.count == 0 && is_unwritten(results, &loss.source) {
            continue;
        }
        match merged.iter_mut().find(|alike| alike.takes(loss)) {
            Some(alike) => alike.take(loss),
            None => merged.push(Alike { loss: loss.clone(), times: 1, ns: length_ns(loss) }),
        }
    }
    let mut sentences: Vec<_> = merged.iter().map(Alike::sentence).collect();
    if results.pauses.partial > 0 {
        let partial = units::counted(results.pauses.partial, "pause was", "pauses were");
        sentences.push(format!("{partial} not seen whole: counted, but not in the figures above"));
    }
    sentences
}

/// Why there are no pauses; `None` where the log of a runtime was read.
pub fn no_log(results: &Results) -> Option<String> {
    no_log_for(results, |_| true)
}

fn no_log_for(results: &Results, shown: impl Fn(&str) -> bool) -> Option<String> {
    let notes = results.program.iter().flat_map(|program| &program.notes).filter(|note| shown(note));
    let why = notes.map(|note| format!(" {}", sentence(&clean(note)))).collect::<String>();
    (!has_runtime(results)).then(|| format!("No log of a runtime was recorded.{why}"))
}

/// What this way of recording cannot show, one sentence each.
pub fn limits(results: &Results) -> Vec<String> {
    let mut limits = results.kernel.notes.clone();
    // Without a finding, the verdict says it; a loss may have said why.
    let is_new = |note: &str| !results.losses.iter().any(|loss| loss.note == note);
    limits.extend(no_log_for(results, is_new).filter(|_| !results.findings.is_empty()));
    if results.source.kind == "eventlog" && !results.kernel.used && limits.is_empty() && has_runtime(results) {
        limits.push("what the machine did to the program: a log on its own does not hold it".into());
    }
    limits
}

/// The runtime: "GHC 9.0.2, threaded"; `None` if no runtime was seen.
pub fn runtime(runtime: &ProgramRuntime) -> Option<String> {
    let id = runtime.family.as_deref()?;
    let info = runtime.info();
    let name = if info.is_known() { info.name } else { id };
    let version = runtime.version.as_ref().map_or(String::new(), |version| format!(" {version}"));
    let threaded = |way: &str| way.split('_').any(|part| part == "thr");
    let way = runtime.way.as_deref().map_or("", |way| if threaded(way) { ", threaded" } else { ", non-threaded" });
    Some(format!("{name}{version}{way}"))
}

/// Which of several logs the report is about, and how to see the others; `None` if there is at most one.
pub fn which_log(results: &Results) -> Option<String> {
    let source = &results.source;
    let log = source.log.as_deref().filter(|_| source.logs > 1)?;
    let logs = units::count(source.logs);
    Some(format!("This is about {log}, one of {logs} logs (one for each process): --log N shows another."))
}

/// The facts in the title of a recording: the runtime formatted by `shown`, lanes, its `length`, how it ended, pauses
/// and, with `rates`, how often they came.
pub fn facts(results: &Results, shown: fn(&str) -> String, length: String, rates: bool) -> Vec<String> {
    let mut facts: Vec<String> = runtime(&results.runtime).iter().map(|runtime| shown(runtime)).collect();
    if !results.lanes.is_empty() {
        let (one, many) = results.runtime.info().lane;
        facts.push(units::counted(results.lanes.len() as u64, one, many));
    }
    facts.push(length);
    facts.extend(ending(results));
    if has_runtime(results) {
        let pauses = &results.pauses;
        let rate = if rates { format!(" ({} a second)", units::rate(pauses.per_second)) } else { String::new() };
        facts.push(units::counted(pauses.count, "pause", "pauses") + &rate);
        facts.extend(pauses.pause_ns.max.filter(|_| rates).map(|ns| format!("longest {}", units::duration(ns))));
    }
    facts
}

/// Joins all parts; `None` without any.
pub fn all_of(parts: impl IntoIterator<Item = String>, between: &str) -> Option<String> {
    let parts: Vec<String> = parts.into_iter().collect();
    (!parts.is_empty()).then(|| parts.join(between))
}

/// Cuts a list to `most` items; `words` then says how many more there are.
pub fn cut(mut items: Vec<String>, most: usize, words: impl Fn(usize) -> String) -> Vec<String> {
    if items.len() > most {
        let more = items.split_off(most).len();
        items.push(words(more));
    }
    items
}

/// How the program ended, unless it succeeded: "killed by SIGKILL (out of memory)", "ended with 3".
pub fn ending(results: &Results) -> Option<String> {
    let program = results.program.as_ref()?;
    let oom = if program.oom_killed { " (out of memory)" } else { "" };
    match (program.signal, program.exit_code) {
        (Some(signal), _) => Some(format!("killed by {}{oom}", signal_name(signal))),
        // How a shell or a wrapper reports a signal.
        (None, Some(code @ 129..=159)) => Some(format!("ended with {code}: {}{oom}", signal_name(code - 128))),
        (None, Some(0)) | (None, None) => program.oom_killed.then(|| "the kernel ran out of memory".into()),
        (None, Some(code)) => Some(format!("ended with {code}{oom}")),
    }
}

/// Signals with well-known names, by number.
const SIGNALS: [&str; 16] = [
    "", "SIGHUP", "SIGINT", "SIGQUIT", "SIGILL", "", "SIGABRT", "SIGBUS", "SIGFPE", "SIGKILL", "", "SIGSEGV", "",
    "SIGPIPE", "SIGALRM", "SIGTERM",
];

/// The usual name of a signal.
pub fn signal_name(signal: i32) -> String {
    let known = usize::try_from(signal).ok().and_then(|number| SIGNALS.get(number)).filter(|name| !name.is_empty());
    known.map_or_else(|| format!("signal {signal}"), |name| (*name).into())
}

/// How long a lane waited to lead a collection; approximate if that is inferred.
pub fn lead_wait(lane: &Lane) -> String {
    let about = if lane.leadership_inferred { "~" } else { "" };
    format!("{about}{}", units::duration_or_dash(lane.leadership_wait_ns))
}

/// The share of its life that a lane waited to stop, to resume and to lead.
pub fn waiting_share(lane: &Lane) -> String {
    let waits = [lane.stop_wait_ns, lane.release_wait_ns, lane.leadership_wait_ns];
    let waited = waits.iter().flatten().fold(0u64, |sum, ns| sum.saturating_add(*ns));
    lane.life_ns.map_or("-".into(), |life| units::percent_of(waited.min(life), life))
}

/// Work on the old heap that stops one lane at a time.
pub fn slices(results: &Results) -> Option<String> {
    let slices = results.slices.as_ref()?;
    Some(format!(
        "{} of work on the old heap, each stopping one {}: {} in all, {} at the longest",
        units::counted(slices.count, "slice", "slices"),
        results.runtime.info().lane.0,
        units::duration_or_dash(slices.sum),
        units::duration_or_dash(slices.max)
    ))
}

/// The known memory figures, with the names that distinguish them.
pub fn memory(memory: &Memory) -> Vec<(&'static str, MemoryLevel)> {
    let lines = [
        ("RSS", memory.rss_bytes),
        ("heap held", memory.heap_bytes),
        ("in blocks", memory.blocks_bytes),
        ("live", memory.live_bytes),
        ("residency", memory.residency_bytes),
        ("slop", memory.slop_bytes),
    ];
    lines.into_iter().filter_map(|(name, level)| level.map(|level| (name, level))).collect()
}

/// The largest labels of a heap profile, at most `shown`, and the rest as one band, if any.
pub fn heap_profile(profile: &ProfileSummary, shown: usize) -> (Vec<Band>, Option<Band>) {
    let (shown, more) = profile.bands.split_at(shown.min(profile.bands.len()));
    let of_other = profile.other.iter().map(|other| (&other.points, other.last_bytes));
    let mut rest = Band::default();
    for (points, last_bytes) in more.iter().map(|band| (&band.points, band.last_bytes)).chain(of_other) {
        rest.last_bytes = rest.last_bytes.saturating_add(last_bytes);
        rest.points.resize(points.len(), (Time(0), 0));
        for (sum, (at, bytes)) in rest.points.iter_mut().zip(points) {
            *sum = (*at, sum.1.saturating_add(*bytes));
        }
    }
    rest.max_bytes = rest.points.iter().map(|(_, bytes)| *bytes).max().unwrap_or(0).max(rest.last_bytes);
    let labels = more.len() as u64 + profile.other.as_ref().map_or(0, |other| other.labels);
    rest.label = match labels {
        0 => "without a label".into(),
        labels => units::counted(labels, "other label", "other labels"),
    };
    (shown.to_vec(), (rest.max_bytes > 0).then_some(rest))
}

/// What a reader of a heap profile must know about its labels.
pub fn heap_profile_note(profile: &ProfileSummary) -> Option<&'static str> {
    let shown = |label: &str| profile.bands.iter().any(|band| band.label == label);
    let pinned = shown("ARR_WORDS") || shown("SYSTEM.PINNED");
    pinned.then_some("blocks of pinned objects count as a whole (ARR_WORDS, SYSTEM.PINNED), what is dead in them too")
}

/// How much of a heap profile was seen.
pub fn heap_samples(profile: &ProfileSummary) -> String {
    let mut text = units::counted(profile.samples, "sample", "samples");
    if profile.cut > 0 {
        let _ = write!(text, ", {} more of which the end is missing", units::count(profile.cut));
    }
    text
}

/// Green threads, in two sentences; `None` if the log does not have their runs.
pub fn green_threads(results: &Results) -> Option<Vec<String>> {
    let green = results.green_threads.as_ref()?;
    let typical = |d: &Distribution| match (d.p50, d.p99) {
        (Some(p50), Some(p99)) => format!("{} (median), {} (99 in 100)", units::duration(p50), units::duration(p99)),
        _ => "-".into(),
    };
    let mut first =
        format!("{} made, at most {} alive at once", units::count(green.created), units::count(green.alive_max));
    for (ran, when) in [(&green.slice_ns, "at a stretch"), (&green.wake_to_run_ns, "after a wake-up")] {
        if ran.count > 0 {
            let _ = write!(first, "; ran {} {when}", typical(ran));
        }
    }
    let waits = |sum: &BlockedSum| {
        let what = match sum.reason {
            "lock" => "for locks, mailboxes, delays and I/O",
            "black-hole" => "for values that others computed",
            "transaction" => "for transactions",
            "foreign-call" => "in foreign calls",
            "io" => "for I/O",
            _ => "for other things",
        };
        format!("{} {what} ({} x)", units::duration(sum.sum_ns), units::count(sum.count))
    };
    let blocked = all_of(green.blocked.iter().map(waits), ", ");
    let blocked = blocked.map(|blocked| format!("waited, summed over threads, {blocked}"));
    Some([first].into_iter().chain(blocked).collect())
}

/// Both productivities and why they differ, as one sentence; `None` if neither is known.
pub fn productivity(results: &Results) -> Option<String> {
    let productivity = &results.productivity;
    let counts = results.runtime.info().own_count;
    let own = productivity
        .wall
        .map(|wall| format!("your program's code ran {} of the time that it could have run", units::percent(wall)));
    let counted = productivity.runtime_view.map(|view| format!("{counts} {}", units::percent(view)));
    let differ = |(wall, view): (f64, f64)| (view - wall).abs() >= 0.05;
    let differ = productivity.wall.zip(productivity.runtime_view).is_some_and(differ);
    match (own, counted) {
        (Some(own), Some(counted)) if differ => Some(format!("{own}; {counted}, it leaves the waiting out")),
        (Some(own), Some(counted)) => Some(format!("{own}; {counted}")),
        (None, Some(counted)) => Some(format!(
            "{counted}, which leaves the waiting out; with it: unknown, as this recording does not show when {} were idle",
            results.runtime.info().lane.1
        )),
        (own, None) => own,
    }
}

/// One line on the rules that could not look, by what they need.
pub fn not_checked(results: &Results) -> Option<String> {
    let mut needs: IndexMap<&str, u64> = IndexMap::new();
    for rule in results.checked.iter().filter(|rule| rule.outcome.blind()) {
        *needs.entry(rule.needs.unwrap_or("what was not recorded")).or_default() += 1;
    }
    let all: u64 = needs.values().sum();
    let part = |(need, count): (&str, u64)| format!("{count} {} {need}", if count == 1 { "needs" } else { "need" });
    let parts: Vec<String> = needs.into_iter().map(part).collect();
    (all > 0).then(|| format!("{}: {}", units::counted(all, "rule", "rules"), parts.join(", ")))
}

/// How the recording was made and what it cost, one sentence each.
pub fn recording(results: &Results) -> Vec<String> {
    let kernel = &results.kernel;
    let used = if kernel.used { "used for causes" } else { "not used for causes" };
    let sanity = |share| format!("; {} of arrivals fell while a thread was on a CPU", units::percent(share));
    let sanity = kernel.sanity.map(sanity).unwrap_or_default();
    let error = kernel.clock_error_ns.map(|ns| format!(", error at most {}", units::duration(ns))).unwrap_or_default();
    let facts = [
        kernel.tier.as_ref().map(|tier| format!("Kernel side: {tier}, {used}{sanity}.")),
        kernel.clock_method.as_ref().map(|method| format!("Clocks joined by {method}{error}.")),
        cost(results).map(|cost| format!("Cost of the recording: {cost}.")),
    ];
    facts.into_iter().flatten().collect()
}

/// What the recording cost the program.
pub fn cost(results: &Results) -> Option<String> {
    let tracer = &results.tracer;
    let recorder = tracer
        .recorder_cpu_ns
        .map(|ns| format!("recorder {} CPU ({} of one)", units::duration(ns), units::percent_of(ns, results.span_ns)));
    let longest = tracer.write_max_ns.filter(|longest| *longest > 0);
    let longest = longest.map(|longest| format!(" (longest {})", units::duration(longest))).unwrap_or_default();
    let writing = tracer.write_ns.map(|ns| match ns {
        0 => format!("log writing held no {}", results.runtime.info().lane.0),
        ns => format!("log writing held {} {}{longest}", results.runtime.info().lane.1, units::duration(ns)),
    });
    all_of(recorder.into_iter().chain(writing), "; ")
}
