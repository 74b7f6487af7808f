//! Code locations in words: the longest wait with a known place, and the places that took the most CPU time. Shared
//! by the text and the page.

use super::{units, words};
use rtscope_analyze::kernel::called;
use rtscope_analyze::results::{Code, CodePlace, Results};
use rtscope_model::{CausePiece, LaneId, SymbolId, Symbols};
use std::collections::BTreeMap;

/// Maximum places shown.
const PLACES_MAX: usize = 5;
/// Places with less than this share of the sampled time are left out.
const SHARE_MIN: f64 = 0.005;

/// The longest stay of a lane in one place, among the longest pauses: "lane 1 was 14.8 ms in c_busy". `None` if no
/// place is known.
pub fn longest_wait(results: &Results) -> Option<String> {
    let (drawing, noun) = (&results.drawing, results.runtime.info().lane.0);
    let stays = drawing.worst.iter().filter_map(|worst| longest_stay(&worst.blamed.causes, &drawing.symbols, noun));
    stays.max_by_key(|(ns, _)| *ns).map(|(_, words)| words)
}

/// The place where a lane stayed longest in one pause, summed over all pieces whose cause depends on a place: how
/// long, and in words.
pub fn longest_stay<'p>(
    pieces: impl IntoIterator<Item = &'p CausePiece>,
    symbols: &Symbols,
    noun: &str,
) -> Option<(u64, String)> {
    let mut stays: BTreeMap<(Option<LaneId>, SymbolId), u64> = BTreeMap::new();
    for piece in pieces.into_iter().filter(|piece| words::has_code_location(piece.cause)) {
        if let Some(code) = piece.code {
            *stays.entry((piece.lane, code)).or_default() += piece.ns();
        }
    }
    let ((lane, code), ns) = stays.into_iter().max_by_key(|stay| stay.1)?;
    let lane = lane.map_or_else(|| format!("a {noun}"), |lane| format!("{noun} {lane}"));
    Some((ns, format!("{lane} was {} in {}", units::duration(ns), called(symbols.get(code)))))
}

/// The places that took the most CPU time, each with its share of all sampled time.
pub fn places(code: &Code) -> Vec<(&CodePlace, f64)> {
    let all = code.samples.saturating_mul(code.period_ns).max(1);
    let shares = code.top.iter().map(|place| (place, place.running_ns as f64 / all as f64));
    shares.filter(|(_, share)| *share >= SHARE_MIN).take(PLACES_MAX).collect()
}

/// How long pauses waited for a thread that ran in `place`.
pub fn waited(place: &CodePlace) -> String {
    units::duration_or_dash((place.waited_ns > 0).then_some(place.waited_ns))
}

/// The amount of samples: "1 842 samples, one each 10.3 ms of CPU time".
pub fn basis(code: &Code) -> String {
    let samples = units::counted(code.samples, "sample", "samples");
    format!("{samples}, one each {} of CPU time", units::duration(code.period_ns))
}
