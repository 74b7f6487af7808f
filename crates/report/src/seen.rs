//! How much of a recording was seen: whether it has a runtime's own events, where the wall clock went, and whether
//! losses change the answer. Refuses to put any of it into sentences.

use rtscope_analyze::results::{Pauses, Results};
use rtscope_model::{Cause, LossKind};

/// Whether a loss says how much of the log `source` was never written.
pub fn is_unwritten(results: &Results, source: &str) -> bool {
    results.losses.iter().any(|loss| loss.kind == LossKind::Unwritten && loss.source == source)
}

rtscope_model::listed! {
    /// A part of the wall clock.
    #[derive(Copy, Clone, Eq, PartialEq, Debug)]
    pub enum WallPart: words {
        /// Outside pauses.
        Program = "outside pauses",
        /// From the request until the last lane has stopped.
        Stop = "waiting for all to stop",
        /// From then until the work is done.
        Collect = "collecting",
        /// From then until the last lane has resumed.
        Release = "restarting",
        /// In pauses that were not seen completely.
        Unsplit = "in pauses not seen whole",
    }
}

impl WallPart {
    /// Its class in drawings.
    pub fn class(self) -> &'static str {
        match self {
            WallPart::Program => "program",
            WallPart::Stop => "stop",
            WallPart::Collect => "collect",
            WallPart::Release => "release",
            WallPart::Unsplit => "unsplit",
        }
    }
}

/// Where the wall clock went, in nanoseconds, without empty parts. Parts sum up to the span, except for time in
/// pauses not seen completely if it is less than a thousandth of the span. Empty if pauses could not be seen at all.
pub fn wall_clock(results: &Results) -> Vec<(WallPart, u64)> {
    if !has_runtime(results) {
        return Vec::new();
    }
    let Pauses { total_ns, time_to_stop_ns, collect_ns, release_ns, .. } = &results.pauses;
    let total = (*total_ns).min(results.span_ns);
    let mut left = total;
    let mut parts = vec![(WallPart::Program, results.span_ns - total)];
    for (part, sum) in [
        (WallPart::Stop, time_to_stop_ns.sum),
        (WallPart::Collect, collect_ns.sum),
        (WallPart::Release, release_ns.sum),
    ] {
        // Consecutive pauses may overlap by a late release: the union is the bound.
        let sum = sum.unwrap_or(0).min(left);
        left -= sum;
        parts.push((part, sum));
    }
    if left.saturating_mul(1_000) >= results.span_ns {
        parts.push((WallPart::Unsplit, left));
    }
    parts.retain(|(_, ns)| *ns > 0);
    parts
}

/// Whether a runtime's own events were seen at all.
pub fn has_runtime(results: &Results) -> bool {
    results.runtime.family.is_some()
}

/// Losses below this share of what they affect do not change an answer.
const SHARE_THAT_MATTERS: f64 = 0.01;

/// Waits without a known cause below this share do not change the largest of several causes.
const CAUSE_SHARE_THAT_MATTERS: f64 = 0.05;

/// Exit code of `report` and related commands: 0 done, 3 done but with losses that change the answer.
pub fn exit_code(results: &Results) -> u8 {
    let lost = too_many_partial(results)
        || results.losses.iter().any(|loss| match loss.kind {
            // Late samples make the memory line coarser, nothing else; a source
            // that was never there leaves its keys null, which is an answer.
            LossKind::RecorderLate | LossKind::SourceMissing => false,
            LossKind::KernelRecords => loss.count > 0 && causes_unknown(results),
            LossKind::Unwritten => matters(loss.count, results.span_ns),
            LossKind::Unfinished => matters(loss.count, results.pauses.count),
            LossKind::UnknownRecord | LossKind::OutOfOrder | LossKind::RingWords => loss.count > 0,
            // A program that was killed leaves no end mark; what was lost with it is known.
            LossKind::Truncated => loss.count > 0 || !is_unwritten(results, &loss.source),
            LossKind::Damaged | LossKind::MixedProcesses | LossKind::DiskFull | LossKind::Paused => true,
        });
    // No runtime at all: no pause could be seen, and pauses were asked for.
    if lost || !has_runtime(results) { 3 } else { 0 }
}

fn matters(part: u64, whole: u64) -> bool {
    part as f64 > whole as f64 * SHARE_THAT_MATTERS
}

/// Whether pauses not seen completely change figures: one of a thousand does not.
fn too_many_partial(results: &Results) -> bool {
    let pauses = &results.pauses;
    let unsplit = wall_clock(results).into_iter().find(|(part, _)| *part == WallPart::Unsplit);
    pauses.partial > 0
        && (matters(pauses.partial, pauses.count) || unsplit.is_some_and(|(_, ns)| matters(ns, results.span_ns)))
}

/// Missing kernel records affect causes and nothing else: what counts is how much of the waiting they leave without a
/// cause, and whether that is noticeable.
fn causes_unknown(results: &Results) -> bool {
    let unknown = results.causes.iter().filter(|sum| sum.cause == Cause::Unknown);
    let (share, ns) = unknown.fold((0.0, 0), |(share, ns), sum| (share + sum.share, ns + sum.sum_ns));
    let felt = ns as f64 > results.span_ns as f64 * SHARE_THAT_MATTERS;
    !results.kernel.used || felt && share >= CAUSE_SHARE_THAT_MATTERS
}
