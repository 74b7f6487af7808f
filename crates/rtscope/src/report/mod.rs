//! `rtscope report`: results shown as text, JSON, JSON lines and a page.
//!
//! Owns what is said and in which order. Refuses to compute figures, to read
//! captures and to print: every function returns text or writes to what it is
//! given.

pub mod code;
pub mod compare;
pub mod further;
pub mod html;
pub mod json;
pub mod pauses_json;
pub mod requests;
pub mod stm;
pub mod text;
pub use rtscope_model::units;
pub mod words;

use rtscope_analyze::results::Results;
use rtscope_model::{Cause, LossKind};

/// Losses below this share of what they touch do not change an answer.
const SHARE_THAT_MATTERS: f64 = 0.01;
/// The same for causes, which name the largest of several.
const CAUSE_SHARE_THAT_MATTERS: f64 = 0.05;

/// Exit code of `report` and its kin: 0 done, 3 done but with losses that
/// change the answer.
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
            // A program that was killed leaves no end mark; what that cost is known.
            LossKind::Truncated => loss.count > 0 || !words::is_unwritten(results, &loss.source),
            LossKind::Damaged | LossKind::MixedProcesses | LossKind::DiskFull | LossKind::Paused => true,
        });
    // No runtime at all: no pause could be seen, and pauses were asked for.
    if lost || !words::has_runtime(results) { 3 } else { 0 }
}

fn matters(part: u64, whole: u64) -> bool {
    part as f64 > whole as f64 * SHARE_THAT_MATTERS
}

/// One pause of a thousand that was not seen whole changes no figure.
fn too_many_partial(results: &Results) -> bool {
    let pauses = &results.pauses;
    let unsplit = words::wall_clock(results).into_iter().find(|(part, _)| *part == words::Part::Unsplit);
    pauses.partial > 0
        && (matters(pauses.partial, pauses.count) || unsplit.is_some_and(|(_, ns)| matters(ns, results.span_ns)))
}

/// Kernel records that are missing void causes and nothing else: what counts is
/// how much of the waiting they leave without one, and whether that is felt.
fn causes_unknown(results: &Results) -> bool {
    let unknown = results.causes.iter().filter(|sum| sum.cause == Cause::Unknown);
    let (share, ns) = unknown.fold((0.0, 0), |(share, ns), sum| (share + sum.share, ns + sum.sum_ns));
    let felt = ns as f64 > results.span_ns as f64 * SHARE_THAT_MATTERS;
    !results.kernel.used || felt && share >= CAUSE_SHARE_THAT_MATTERS
}
