//! `rtscope report`: results shown as text, JSON, JSON lines and a page.
//!
//! Owns what is said and in which order. Refuses to compute figures, to read
//! captures and to print: every function returns text or writes to what it is
//! given.

pub mod html;
pub mod json;
pub mod pauses_json;
pub mod text;
pub mod units;
pub mod words;

use rtscope_analyze::results::Results;
use rtscope_model::LossKind;

/// Exit code of `report` and its kin: 0 done, 3 done but with losses that
/// change the answer.
pub fn exit_code(results: &Results) -> u8 {
    let lost = results.pauses.partial > 0
        || results.losses.iter().any(|loss| match loss.kind {
            // Late samples make the memory line coarser, nothing else; a source
            // that was never there leaves its keys null, which is an answer.
            LossKind::RecorderLate | LossKind::SourceMissing => false,
            LossKind::Unwritten | LossKind::KernelRecords | LossKind::UnknownRecord | LossKind::OutOfOrder => {
                loss.count > 0
            }
            LossKind::Truncated | LossKind::Damaged | LossKind::MixedProcesses | LossKind::DiskFull => true,
        });
    // No runtime at all: no pause could be seen, and pauses were asked for.
    if lost || !words::has_runtime(results) { 3 } else { 0 }
}
