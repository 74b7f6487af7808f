//! Where the code was, in words: the longest wait that has a place, and the places
//! that took most CPU time. Shared by the text and the page.

use super::{units, words};
use rtscope_analyze::code::called;
use rtscope_analyze::results::{Code, Place, Results};
use rtscope_model::CodeKind;

/// Places told.
const PLACES_MAX: usize = 5;
/// Places with less than this share of the sampled time are left out.
const SHARE_MIN: f64 = 0.005;

/// "lane 1 was 14.8 ms in c_busy": the longest wait, of the longest pauses, of which
/// that is known.
pub fn longest_wait(results: &Results) -> Option<String> {
    let pieces = results.drawing.worst.iter().flat_map(|worst| &worst.blamed.causes);
    let told = pieces.filter(|piece| piece.code.is_some() && words::tells_code(piece.cause));
    let longest = told.max_by_key(|piece| piece.ns())?;
    let lane = longest.lane.map_or_else(|| "a lane".to_owned(), |lane| format!("lane {lane}"));
    let code = called(results.drawing.symbols.get(longest.code?));
    Some(format!("{lane} was {} in {code}", units::duration(longest.ns())))
}

/// Whose code, in a word or two.
pub fn kind(kind: CodeKind) -> &'static str {
    match kind {
        CodeKind::Program => "program",
        CodeKind::Runtime => "runtime",
        CodeKind::Foreign => "foreign",
        CodeKind::Kernel => "kernel",
        CodeKind::Unknown => "unknown",
    }
}

/// The places that took most CPU time, each with its share of all sampled time.
pub fn places(code: &Code) -> Vec<(&Place, f64)> {
    let all = code.samples.saturating_mul(code.period_ns).max(1);
    let shares = code.top.iter().map(|place| (place, place.running_ns as f64 / all as f64));
    shares.filter(|(_, share)| *share >= SHARE_MIN).take(PLACES_MAX).collect()
}

/// How much was sampled: "1 842 samples, one each 10.3 ms of CPU time".
pub fn basis(code: &Code) -> String {
    let samples = units::counted(code.samples, "sample", "samples");
    format!("{samples}, one each {} of CPU time", units::duration(code.period_ns))
}
