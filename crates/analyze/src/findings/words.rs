//! Sentences that several rules put under their claims. Refuses to judge.

use super::facts::{Facts, evidence};
use crate::kernel::code::{LATE_MIN_NS, SampledWaits, called};
use rtscope_model::units::duration;
use rtscope_model::{Cause, CodeKind, Evidence, SymbolId, Symbols};

/// Places in the code named in a piece of evidence.
const CODE_NAMED_MAX: usize = 3;

/// This many samples of waits are more than chance.
pub(crate) const SAMPLES_SURE: u64 = 5;

/// Where samples found the code in waits: "87 of 92 samples in foreign code, 85 of
/// them in `c_busy` (prog)".
pub(crate) fn found_in(facts: &Facts<'_>, waits: &SampledWaits, kind: CodeKind, what: &str) -> String {
    let period = facts.code.map_or(1, |code| code.period_ns.max(1));
    let places = waits.top(kind).into_iter().take(CODE_NAMED_MAX).map(|(id, ns)| {
        let symbol = facts.symbols.get(id);
        let at = symbol.source.as_ref().unwrap_or(&symbol.module);
        let at = if at.is_empty() { String::new() } else { format!(" ({at})") };
        format!("{} in {}{at}", ns.div_ceil(period), called(symbol))
    });
    let places = places.collect::<Vec<_>>().join(", ");
    let found = waits.sampled_ns(kind).div_ceil(period);
    format!("{found} of {} samples found it in {what}: {places}", waits.samples)
}

/// "a", "a and b": the places with the largest share, or `unknown` if there are none.
pub(crate) fn listed_code(symbols: &Symbols, places: &[(SymbolId, u64)], unknown: &str) -> String {
    let worst = places.first().map_or(0, |place| place.1);
    // A place with less than a fifth of the worst appears only in the evidence.
    let big = places.iter().take(2).filter(|place| place.1.saturating_mul(5) >= worst);
    let named: Vec<_> = big.map(|place| format!("`{}`", called(symbols.get(place.0)))).collect();
    if named.is_empty() { unknown.to_owned() } else { named.join(" and ") }
}

/// "Pauses waited 2.00 s for a capability that was on a CPU, ...: 87 of 92 samples found it in `what`".
pub(crate) fn stopped_late(facts: &Facts<'_>, stops: &SampledWaits, kind: CodeKind, what: &str) -> Evidence {
    let text = format!(
        "Pauses waited {} for a {} that was on a CPU, where that took {} and more: {}.",
        duration(stops.lengths.ns),
        facts.runtime.lane.0,
        duration(LATE_MIN_NS),
        found_in(facts, stops, kind, what)
    );
    evidence(text, stops.lengths.longest)
}

/// The evidence of one cause's longest piece in a pause.
pub(crate) fn longest(facts: &Facts<'_>, cause: Cause, what: &str) -> Option<Evidence> {
    let total = facts.sums.cause_total(cause)?;
    let piece = total.longest;
    let lane = piece.lane.map_or(String::new(), |lane| format!(" for {} {lane}", facts.runtime.lane.0));
    let text = format!(
        "Pauses waited {} in all{}, in {} pieces; the longest took {}{lane}.",
        duration(total.ns),
        what,
        total.count,
        duration(piece.ns())
    );
    Some(evidence(text, Some((piece.from, piece.to))))
}
