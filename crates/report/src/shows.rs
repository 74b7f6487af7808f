//! Where in a recording a finding shows best, for the timeline and the page.

use rtscope_analyze::results::Results;
use rtscope_model::{Finding, Time};

/// Where a finding shows best: its narrowest evidence. Evidence of most of the recording points nowhere in
/// particular: then the worst pause is taken, if the cost fits into pauses at all.
pub fn best(finding: &Finding, results: &Results) -> Option<(Time, Time)> {
    let ranges = finding.evidence.iter().filter_map(|seen| Some((seen.from?, seen.to.or(seen.from)?)));
    let narrowest = ranges.min_by_key(|(from, to)| to.since(*from));
    let narrow = narrowest.filter(|(from, to)| to.since(*from).saturating_mul(2) < results.span_ns);
    let fits = (1..=results.pauses.total_ns).contains(&finding.cost_ns);
    let worst = results.drawing.worst.first().filter(|_| fits).map(|worst| &worst.blamed.pause);
    narrow.or(worst.map(|pause| (pause.begin(), pause.released))).or(narrowest)
}

/// The longest of the pauses that [`best`] lies in, among the `shown` longest, by its rank from 1 on.
pub fn pause(finding: &Finding, results: &Results, shown: usize) -> Option<usize> {
    let (from, to) = best(finding, results).filter(|_| finding.cost_bytes.is_none())?;
    let mut longest = (1..).zip(results.drawing.worst.iter().take(shown));
    let within = |(_, worst): &(usize, &rtscope_analyze::results::WorstPause)| {
        let pause = &worst.blamed.pause;
        pause.begin() <= to && from <= pause.released
    };
    longest.find(within).map(|(rank, _)| rank)
}
