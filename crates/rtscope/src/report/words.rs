//! The words for causes, states, losses and runtimes, shared by the text and
//! the page so that both say the same.

use super::units;
use rtscope_analyze::results::{Level, Memory, Pauses, Results, Runtime, ThreadState};
use rtscope_model::{Cause, Confidence, Loss, LossKind, Severity};

/// Why something was waited for, as a phrase; `who` took the CPU.
pub fn cause(cause: Cause, who: Option<&str>) -> String {
    let phrase = match cause {
        Cause::HostSteal => "the host or an interrupt took the CPU",
        Cause::Running => "it was running (user or kernel code unknown)",
        Cause::LateSafepoint => "it ran code that does not stop for collections",
        Cause::Throttled => "throttled: the CPU quota was used up",
        Cause::Preempted => {
            return format!("preempted by {}", who.unwrap_or("another process"));
        }
        Cause::Oversubscribed => "queued behind the program's own threads",
        Cause::IdleCpu => "runnable, while its CPU stood idle",
        Cause::NotScheduled => "not on a CPU, taker unknown",
        Cause::WakeLatency => "woken, not yet on a CPU",
        Cause::Asleep => "asleep, had to be woken",
        Cause::BlockedInKernel => "blocked in the kernel (fault, I/O, fork)",
        Cause::HandedOver => "the lane changed threads",
        Cause::Unknown => "unknown: no event says",
    };
    match who {
        Some(who) => format!("{phrase} ({who} was there)"),
        None => phrase.into(),
    }
}

/// A state of a kernel thread.
pub fn state(state: ThreadState) -> &'static str {
    match state {
        ThreadState::Running => "on a CPU",
        ThreadState::Runnable => "waiting for a CPU",
        ThreadState::Sleeping => "asleep",
        ThreadState::Blocked => "blocked in the kernel",
        ThreadState::Unknown => "not known",
    }
}

/// How much something matters.
pub fn severity(severity: Severity) -> &'static str {
    match severity {
        Severity::Note => "note",
        Severity::Warning => "warning",
        Severity::Severe => "severe",
    }
}

/// How sure a statement is.
pub fn confidence(confidence: Confidence) -> &'static str {
    match confidence {
        Confidence::Low => "low",
        Confidence::Medium => "medium",
        Confidence::High => "high",
    }
}

/// A loss: how much of what, from which stream, and the note of whoever saw it.
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
        LossKind::MixedProcesses => "several processes wrote into one log".into(),
        LossKind::RecorderLate => units::counted(n, "sample was late", "samples were late"),
        LossKind::DiskFull => "the disk was full, recording stopped early".into(),
        LossKind::SourceMissing => "could not be recorded".into(),
    };
    let colon = if loss.note.is_empty() { "" } else { ": " };
    format!("{}: {what}{colon}{}", loss.source, loss.note)
}

/// "GHC 9.0.2, threaded"; `None` where no runtime was seen.
pub fn runtime(runtime: &Runtime) -> Option<String> {
    let family = match runtime.family.as_deref()? {
        "ghc" => "GHC",
        "ocaml" => "OCaml",
        other => other,
    };
    let mut text = family.to_string();
    if let Some(version) = &runtime.version {
        text.push(' ');
        text.push_str(version);
    }
    match runtime.way.as_deref() {
        Some(way) if way.split('_').any(|part| part == "thr") => text.push_str(", threaded"),
        Some(_) => text.push_str(", non-threaded"),
        None => {}
    }
    Some(text)
}

/// What a part of the wall clock was spent on.
#[derive(Copy, Clone, Eq, PartialEq, Debug)]
pub enum Part {
    /// Outside pauses.
    Program,
    /// Request to last lane stopped.
    Stop,
    /// All stopped to work done.
    Collect,
    /// Work done to last lane back.
    Release,
    /// In pauses whose inside was not seen whole.
    Unsplit,
}

impl Part {
    /// As a phrase.
    pub fn words(self) -> &'static str {
        match self {
            Part::Program => "outside pauses",
            Part::Stop => "waiting for lanes to stop",
            Part::Collect => "collecting",
            Part::Release => "getting lanes back to work",
            Part::Unsplit => "in pauses not seen whole",
        }
    }
}

/// Where the wall clock went, in nanoseconds, every part that is not empty.
/// Parts sum to the span. Empty where no pause could be seen at all.
pub fn wall_clock(results: &Results) -> Vec<(Part, u64)> {
    if !has_runtime(results) {
        return Vec::new();
    }
    let Pauses { total_ns, time_to_stop_ns, collect_ns, release_ns, .. } = &results.pauses;
    let total = (*total_ns).min(results.span_ns);
    let mut left = total;
    let mut parts = vec![(Part::Program, results.span_ns - total)];
    for (part, sum) in
        [(Part::Stop, time_to_stop_ns.sum), (Part::Collect, collect_ns.sum), (Part::Release, release_ns.sum)]
    {
        // Consecutive pauses may overlap by a late release: the union is the bound.
        let sum = sum.min(left);
        left -= sum;
        parts.push((part, sum));
    }
    parts.push((Part::Unsplit, left));
    parts.retain(|(_, ns)| *ns > 0);
    parts
}

/// The memory lines that are known, by the names that keep them apart.
pub fn memory(memory: &Memory) -> Vec<(&'static str, Level)> {
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

/// Whether a runtime's own events were seen at all.
pub fn has_runtime(results: &Results) -> bool {
    results.runtime.family.is_some()
}

/// Both productivities and why they differ, as one sentence; `None` where neither is known.
pub fn productivity(results: &Results) -> Option<String> {
    let productivity = &results.productivity;
    let counts = match results.runtime.family.as_deref() {
        Some("ghc") => "+RTS -s says",
        _ => "the runtime itself counts",
    };
    let text = match (productivity.wall, productivity.runtime_view) {
        (None, None) => return None,
        (Some(wall), Some(view)) if (view - wall).abs() >= 0.05 => format!(
            "{} of busy lane time was your program; {counts} {}, it leaves the waiting out",
            units::percent(wall),
            units::percent(view)
        ),
        (Some(wall), Some(view)) => {
            let (wall, view) = (units::percent(wall), units::percent(view));
            format!("{wall} of busy lane time was your program; {counts} {view}")
        }
        (Some(wall), None) => format!("{} of busy lane time was your program", units::percent(wall)),
        (None, Some(view)) => format!(
            "{counts} {}, which leaves the waiting out; with it: unknown, as this recording does not show when lanes \
             were idle",
            units::percent(view)
        ),
    };
    Some(text)
}

/// Waiting for lanes to stop above this share of the run is told even where no
/// rule could say why.
const WAITING_WORTH_TELLING: f64 = 0.05;

/// The share of the run spent waiting for lanes to stop, where it is worth
/// telling without a finding.
pub fn unexplained_waiting(results: &Results) -> Option<f64> {
    let share = results.pauses.time_to_stop_ns.sum as f64 / results.span_ns.max(1) as f64;
    (results.findings.is_empty() && share > WAITING_WORTH_TELLING).then_some(share)
}

/// The verdict without a finding: a few words, and what they stand on.
pub fn nothing_found(results: &Results) -> (&'static str, String) {
    if !has_runtime(results) {
        return ("Pauses unknown.", "No log of a runtime was recorded, so pauses could not be looked at.".into());
    }
    if let Some(share) = unexplained_waiting(results) {
        let waited = units::duration(results.pauses.time_to_stop_ns.sum);
        let why = if results.kernel.used {
            "no rule explains it; the causes below are what was seen."
        } else {
            "why lanes were late (quota, neighbours, too few CPUs) cannot be seen in this recording."
        };
        let share = units::percent(share);
        return ("No cause found.", format!("Waiting for lanes to stop took {waited}, {share} of the run; {why}"));
    }
    let pauses = units::counted(results.pauses.count, "pause", "pauses");
    let mut seen =
        vec![format!("{pauses} ({} of the run)", units::percent_of(results.pauses.total_ns, results.span_ns))];
    if results.pauses.time_to_stop_ns.count > 0 {
        seen.push("who was last to stop".into());
    }
    if results.kernel.used {
        seen.push("what the kernel did to those threads".into());
    }
    if results.memory.rss_bytes.is_some() || results.memory.heap_bytes.is_some() {
        seen.push("memory".into());
    }
    let mut text = format!("Looked at {}.", seen.join(", "));
    if !results.kernel.used {
        text.push_str(" What the kernel did (quota, neighbours, too few CPUs) was not looked at.");
    }
    let verdict = if super::exit_code(results) == 0 { "Nothing found." } else { "Nothing found in what was seen." };
    (verdict, text)
}

/// How the recording was made and what it cost, one sentence each.
pub fn recording(results: &Results) -> Vec<String> {
    let mut facts = Vec::new();
    let kernel = &results.kernel;
    if let Some(tier) = &kernel.tier {
        let used = if kernel.used { "used for causes" } else { "not used for causes" };
        let sanity = kernel
            .sanity
            .map(|share| format!("; {} of arrivals fell while a thread was on a CPU", units::percent(share)));
        facts.push(format!("Kernel side: {tier}, {used}{}.", sanity.unwrap_or_default()));
    }
    if let Some(method) = &kernel.clock_method {
        let error = kernel.clock_error_ns.map(|ns| format!(", error at most {}", units::duration(ns)));
        facts.push(format!("Clocks joined by {method}{}.", error.unwrap_or_default()));
    }
    if let Some(cost) = cost(results) {
        facts.push(format!("Cost of the recording: {cost}."));
    }
    facts
}

/// What the recording cost the program.
pub fn cost(results: &Results) -> Option<String> {
    let tracer = &results.tracer;
    let mut parts = Vec::new();
    if let Some(ns) = tracer.recorder_cpu_ns {
        let share = units::percent_of(ns, results.span_ns);
        parts.push(format!("recorder {} CPU ({share} of one)", units::duration(ns)));
    }
    if let Some(ns) = tracer.write_ns {
        let longest = tracer.write_max_ns.filter(|longest| *longest > 0);
        let longest = longest.map(|longest| format!(" (longest {})", units::duration(longest))).unwrap_or_default();
        parts.push(match ns {
            0 => "log writing held no lane".into(),
            ns => format!("log writing held lanes {}{longest}", units::duration(ns)),
        });
    }
    if parts.is_empty() { None } else { Some(parts.join("; ")) }
}
