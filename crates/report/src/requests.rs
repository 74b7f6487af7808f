//! What the slowest requests of a load waited for, in words. Owns the wording; the figures come from the join.

use super::units::{count, counted, duration, percent};
use super::words::all_of;
use rtscope_analyze::results::requests::{Joined, SlowPart, What};

/// The latency of all requests: "1,200 requests of `url`: half took at most 316 us, 99 in 100 37.1 ms, the slowest
/// 47.6 ms."
pub fn figures(joined: &Joined, url: &str) -> String {
    format!(
        "{} of {url}: half took at most {}, 99 in 100 {}, the slowest {}.",
        counted(joined.count, "request", "requests"),
        duration(joined.p50_ns),
        duration(joined.p99_ns),
        duration(joined.max_ns),
    )
}

/// What the slowest waited for: "Of the 1 % slowest (12, 37.1 ms or more), 71 % waited for a pause, …".
pub fn slowest(joined: &Joined) -> String {
    let slow = &joined.slow;
    let shares =
        reported_parts(joined).filter_map(|part| Some(format!("{} {}", percent(part.share?), ways(part.what)[1])));
    let head = format!("Of the 1 % slowest ({}, {} or more)", count(slow.count), duration(slow.from_ns));
    let Some(shares) = all_of(shares, ", ") else {
        return format!("{head} nothing is known: there were too many pauses to keep.");
    };
    let blind = if is_blind(joined) { " Whether they waited for a CPU is not known." } else { "" };
    format!("{head}, {shares}.{blind}")
}

/// Where their time went: "Together they took 95.3 s more than the median: 62 % of that in pauses, …".
pub fn explained(joined: &Joined) -> Option<String> {
    let share = |part: &SlowPart| Some(format!("{} {}", percent(part.above_share?), ways(part.what)[2]));
    let shares = all_of(reported_parts(joined).filter_map(share), ", ")?;
    Some(format!("Together they took {} more than the median: {shares}.", duration(joined.slow.above_ns)))
}

/// The requests of a load that the figures leave out.
pub fn left_out(joined: &Joined) -> Option<String> {
    let parts = [
        (joined.outside, "not whole inside the recording"),
        (joined.damaged, "damaged"),
        (joined.left_out, "past the limit of what is read"),
        (joined.warm_up, "of the warm-up"),
    ];
    let parts = parts.iter().filter(|(some, _)| *some > 0).map(|(some, what)| format!("{} {what}", count(*some)));
    Some(format!("Not counted: {}.", all_of(parts, ", ")?))
}

/// What requests waited for: as a heading, as what they did, and as where their time went.
fn ways(what: What) -> [&'static str; 3] {
    match what {
        What::Pause => ["pause", "waited for a pause", "in pauses"],
        What::Queued => ["queued behind one", "were queued behind one", "queued behind them"],
        What::Throttled => ["throttled", "were throttled", "throttled"],
        What::RunQueue => ["no CPU", "waited for a CPU", "waiting for a CPU"],
        What::Neither => ["neither", "neither", "in none of these"],
    }
}

/// What a request waited for, as a heading.
pub fn what(what: What) -> &'static str {
    ways(what)[0]
}

/// Whether the kernel's data is missing.
fn is_blind(joined: &Joined) -> bool {
    joined.slow.parts.iter().any(|part| part.what == What::RunQueue && part.share.is_none())
}

/// The parts to report: always pauses and the rest, waits for a CPU only if there were any.
fn reported_parts(joined: &Joined) -> impl Iterator<Item = &SlowPart> {
    let kernel = |what| matches!(what, What::Throttled | What::RunQueue);
    joined.slow.parts.iter().filter(move |part| !kernel(part.what) || part.above_ns.is_some_and(|ns| ns > 0))
}
