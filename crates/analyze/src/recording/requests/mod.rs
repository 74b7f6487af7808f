//! Requests of a load, joined with what the server did meanwhile: which of the slowest waited for a pause, queued
//! because of an earlier pause, were throttled or waited for a CPU.
//!
//! A request's latency above the median of all is divided in this order, and no part is larger than what is left:
//!
//! | part | is |
//! |---|---|
//! | pause | time in flight that lies in pauses |
//! | queued | pauses before it was due, as far back as its backlog reaches |
//! | throttled | both again, for time in which a quota held one of the program's threads |
//! | run queue | both again, for time in which one of its threads was runnable without a CPU, minus the usual share |
//! | neither | the rest |
//!
//! Its backlog reaches back to the moment when more requests than usual came to be in flight ([`backlog`]). A server
//! that works in order owes a request no more delay than the pauses since then. If half of the latency above the
//! median is explained, the request waited for the largest part; else for neither.
//!
//! Owns that judgement and its bounds. Needs the requests before the first event. Refuses to know how they were sent,
//! and on which clock: all times are the recording's.

mod backlog;
mod spans;

use crate::basis::union::Union;
use crate::results::requests::{Joined, LoadDrawing, Slice, Slow, SlowPart, SlowRequest, WHATS, What};
use backlog::{Backlog, Owed};
use rtscope_model::Time;
use rtscope_model::request::{Outcome, Request};
use spans::{Cover, Spans};

/// Maximum number of requests taken in: as many as a file can hold.
const REQUESTS_MAX: usize = 4 << 20;
/// One in this many requests is among the slowest.
const SLOWEST: usize = 100;
/// Slow requests that are listed individually.
const WORST_MAX: usize = 50;
/// Slices of time in a drawing.
const SLICES: u64 = 120;
/// Slow requests in a drawing.
const DOTS_MAX: usize = 600;

/// Requests as they are read.
#[derive(Clone, Debug)]
pub struct Requests {
    url: String,
    recorded: (Time, Time),
    owed: Vec<Owed>,
    warm_up: u64,
    outside: u64,
    damaged: u64,
    left_out: u64,
}

impl Requests {
    /// Requests of a load of `url`, for a recording between these two moments.
    pub fn new(url: String, recorded: (Time, Time)) -> Requests {
        Requests { url, recorded, owed: Vec::new(), warm_up: 0, outside: 0, damaged: 0, left_out: 0 }
    }

    /// Takes one request, in any order.
    pub fn push(&mut self, request: &Request) {
        if self.owed.len() >= REQUESTS_MAX {
            self.left_out += 1;
            return;
        }
        let us = |moment: Time| u32::try_from(moment.since(request.due) / 1_000).unwrap_or(u32::MAX - 1);
        let took_us = us(request.done);
        let inside = request.due >= self.recorded.0 && request.done <= self.recorded.1;
        self.warm_up += u64::from(request.warm_up);
        self.outside += u64::from(!request.warm_up && !inside);
        self.owed.push(Owed {
            due: request.due,
            took_us,
            sent_us: request.sent.map_or(u32::MAX, us),
            outcome: request.outcome,
            counts: inside && !request.warm_up,
        });
    }

    /// Sets how many could not be read.
    pub fn damaged(&mut self, count: u64) {
        self.damaged = count;
    }

    /// First and last moment of the load; `None` without requests.
    pub fn span(&self) -> Option<(Time, Time)> {
        let first = self.owed.iter().map(|owed| owed.due).min()?;
        Some((first, self.owed.iter().map(Owed::done).max()?))
    }

    /// Finds how far back each slow request looks. `None` if no request counts.
    pub fn ready(mut self) -> Option<Join> {
        self.owed.sort_unstable_by_key(|owed| (owed.due, owed.took_us));
        let mut by_latency: Vec<u32> =
            (0u32..).zip(&self.owed).filter(|(_, owed)| owed.counts).map(|(index, _)| index).collect();
        let took = |index: &u32| self.owed.get(*index as usize).map_or(0, Owed::took_ns);
        by_latency.sort_by_key(|index| std::cmp::Reverse(took(index)));
        let count = by_latency.len();
        let rank = |share: f64| by_latency.get(count.checked_sub(((count as f64 * share).ceil() as usize).max(1))?);
        let (p50_ns, p99_ns, max_ns) = (took(rank(0.5)?), took(rank(0.99)?), took(by_latency.first()?));
        by_latency.truncate(count.div_ceil(SLOWEST));
        let mut slow = by_latency;
        slow.sort_unstable();
        let since = Backlog::of(&self.owed).found_by(&slow);
        let looked_at = slow.iter().zip(&since).filter_map(|(index, since)| {
            let owed = self.owed.get(*index as usize)?;
            Some((*since, owed.done()))
        });
        let looked_at = Cover::of(looked_at.collect());
        let span = self.span()?;
        let slow = slow.into_iter().zip(since).collect();
        let figures = [p50_ns, p99_ns, max_ns];
        Some(Join {
            requests: self,
            count: count as u64,
            figures,
            slow,
            looked_at,
            span,
            pauses: Spans::default(),
            throttled: Spans::default(),
            waited: Spans::default(),
            waited_at_all: Union::default(),
        })
    }
}

/// The fold over a recording.
#[derive(Clone, Debug)]
pub struct Join {
    requests: Requests,
    count: u64,
    /// Median, 99th percentile and maximum, nanoseconds.
    figures: [u64; 3],
    /// Indices of slow requests by due time, each with how far back it looks.
    slow: Vec<(u32, Time)>,
    /// All the time that they look at.
    looked_at: Cover,
    /// Start and end of the load.
    span: (Time, Time),
    pauses: Spans,
    throttled: Spans,
    waited: Spans,
    /// Time in which threads were runnable without a CPU, over the whole load.
    waited_at_all: Union,
}

impl Join {
    /// Adds a pause.
    pub fn pause(&mut self, from: Time, to: Time) {
        if self.looked_at.touches(from, to) {
            self.pauses.add(from, to);
        }
    }

    /// Adds time in which a thread of the program was runnable without a CPU; `throttled`: because of a quota.
    pub fn waited(&mut self, from: Time, to: Time, throttled: bool) {
        let (from, to) = (from.max(self.span.0), to.min(self.span.1));
        if !throttled {
            self.waited_at_all.add(from, to);
        }
        if from < to && self.looked_at.touches(from, to) {
            if throttled { &mut self.throttled } else { &mut self.waited }.add(from, to);
        }
    }

    /// The result. `kernel`: it was known what threads waited for.
    pub fn finish(mut self, kernel: bool) -> Joined {
        let known = !self.pauses.full;
        let kernel = kernel && known && !self.throttled.full && !self.waited.full;
        let waits = [&mut self.throttled, &mut self.waited].map(std::mem::take);
        // Waits that may be wrong explain nothing.
        let waits = if kernel { waits } else { Default::default() };
        let lasted = self.span.1.since(self.span.0).max(1);
        let judge = Judge {
            median_ns: self.figures[0],
            waiting_share: self.waited_at_all.ns() as f64 / lasted as f64,
            covers: covers(std::mem::take(&mut self.pauses), waits),
        };
        let owed = |index: u32| self.requests.owed.get(index as usize);
        let judged = self.slow.iter().filter_map(|(index, since)| {
            let owed = *owed(*index)?;
            Some((owed, judge.parts(&owed, *since)))
        });
        let mut judged: Vec<(Owed, LatencyParts)> = judged.collect();
        let slow = summed(&judged, self.figures[0], known, kernel);
        let drawn = judged.iter().step_by(judged.len().div_ceil(DOTS_MAX).max(1));
        let drawn = drawn.map(|(owed, parts)| (owed.due, owed.took_ns(), known.then(|| parts.what())));
        let drawing = LoadDrawing { slow: drawn.collect(), slices: slices(&self.requests.owed, self.span) };
        judged.sort_by_key(|(owed, _)| std::cmp::Reverse(owed.took_us));
        let worst = judged.iter().take(WORST_MAX).map(|(owed, parts)| worst(owed, parts, known, kernel));
        Joined {
            count: self.count,
            warm_up: self.requests.warm_up,
            outside: self.requests.outside,
            damaged: self.requests.damaged,
            left_out: self.requests.left_out,
            p50_ns: self.figures[0],
            p99_ns: self.figures[1],
            max_ns: self.figures[2],
            slow,
            worst: worst.collect(),
            drawing,
            url: self.requests.url,
        }
    }
}

/// Pauses; pauses and throttling; both and every other wait for a CPU: each part is the difference between one cover
/// and the one before.
fn covers(pauses: Spans, [throttled, waited]: [Spans; 2]) -> [Cover; 3] {
    let mut spans = pauses.list;
    let pauses = Cover::of(spans.clone());
    spans.extend(throttled.list);
    let throttled = Cover::of(spans.clone());
    spans.extend(waited.list);
    [pauses, throttled, Cover::of(spans)]
}

/// A request's latency above the median in the order of [`WHATS`], nanoseconds.
#[derive(Copy, Clone, Debug, PartialEq)]
struct LatencyParts([u64; 5]);

impl LatencyParts {
    fn what(&self) -> What {
        let above: u64 = self.0.iter().sum();
        let [explained @ .., _] = self.0;
        if above == 0 || explained.iter().sum::<u64>() < above.div_ceil(2) {
            return What::Neither;
        }
        let largest = explained.iter().max().copied().unwrap_or(0);
        let found = WHATS.into_iter().zip(explained).find(|(_, ns)| *ns == largest);
        found.map_or(What::Neither, |(what, _)| what)
    }
}

struct Judge {
    median_ns: u64,
    /// Share of the load's time in which a thread waited for a CPU.
    waiting_share: f64,
    covers: [Cover; 3],
}

impl Judge {
    fn parts(&self, owed: &Owed, since: Time) -> LatencyParts {
        let [pauses, throttled, waited] = &self.covers;
        let (due, done) = (owed.due, owed.done());
        // A backlog that arose in a pause is entirely due to that pause.
        let since = pauses.around(since).map_or(since, |pause| pause.0);
        let mut left = owed.took_ns().saturating_sub(self.median_ns);
        let mut take = |ns: u64| {
            let taken = ns.min(left);
            left -= taken;
            taken
        };
        let [all_pauses, all_throttled, all_waited] = [pauses, throttled, waited].map(|cover| cover.ns(since, done));
        let usual = (self.waiting_share * done.since(since) as f64) as u64;
        let pause = take(pauses.ns(due, done));
        let queued = take(pauses.ns(since, due));
        let throttled = take(all_throttled.saturating_sub(all_pauses));
        let run_queue = take(all_waited.saturating_sub(all_throttled).saturating_sub(usual));
        LatencyParts([pause, queued, throttled, run_queue, left])
    }
}

/// Whether a part is known: every part needs the pauses (`known`); throttling and the run queue also need
/// kernel events.
fn is_known(what: What, known: bool, kernel: bool) -> bool {
    known && (kernel || !matches!(what, What::Throttled | What::RunQueue))
}

fn summed(judged: &[(Owed, LatencyParts)], median_ns: u64, known: bool, kernel: bool) -> Slow {
    let count = judged.len() as u64;
    let above_ns = judged.iter().fold(0, |sum: u64, (owed, _)| sum + owed.took_ns().saturating_sub(median_ns));
    let part = |(index, what): (usize, What)| {
        let shown = is_known(what, known, kernel);
        let requests = judged.iter().filter(|(_, parts)| parts.what() == what).count() as u64;
        let ns = judged.iter().filter_map(|(_, parts)| parts.0.get(index)).sum::<u64>();
        SlowPart {
            what,
            requests: shown.then_some(requests),
            share: shown.then(|| requests as f64 / count.max(1) as f64),
            above_ns: shown.then_some(ns),
            above_share: (shown && above_ns > 0).then(|| ns as f64 / above_ns as f64),
        }
    };
    Slow {
        count,
        from_ns: judged.iter().map(|(owed, _)| owed.took_ns()).min().unwrap_or(0),
        above_ns,
        parts: WHATS.into_iter().enumerate().map(part).collect(),
    }
}

fn worst(owed: &Owed, parts: &LatencyParts, known: bool, kernel: bool) -> SlowRequest {
    let [pause, queued, throttled, run_queue, rest] = parts.0;
    let (outcome, status) = match owed.outcome {
        Outcome::Answered(status) => ("answered", Some(status)),
        Outcome::Connect => ("connect", None),
        Outcome::Closed => ("closed", None),
        Outcome::Protocol => ("protocol", None),
        Outcome::Timeout => ("timeout", None),
    };
    SlowRequest {
        due: owed.due,
        sent: (owed.sent_us != u32::MAX).then(|| owed.due.plus(u64::from(owed.sent_us) * 1_000)),
        done: owed.done(),
        outcome,
        status,
        what: known.then(|| parts.what()),
        pause_ns: known.then_some(pause),
        queued_ns: known.then_some(queued),
        throttled_ns: kernel.then_some(throttled),
        run_queue_ns: kernel.then_some(run_queue),
        rest_ns: known.then_some(rest),
    }
}

/// Slices of the requests that count.
fn slices(owed: &[Owed], (first, last): (Time, Time)) -> Vec<Slice> {
    let width = last.since(first).div_ceil(SLICES).max(1);
    let number = |at: Time| at.since(first) / width;
    let slice = |number: u64| {
        let from = first.plus(number * width);
        Slice { from, to: from.plus(width), due: 0, fine: 0, failed: 0, p50_ns: None }
    };
    let mut slices: Vec<Slice> = (0..=number(last)).map(slice).collect();
    let counting: Vec<&Owed> = owed.iter().filter(|owed| owed.counts).collect();
    for some in counting.chunk_by(|a, b| number(a.due) == number(b.due)) {
        let mut took: Vec<u64> = some.iter().map(|owed| owed.took_ns()).collect();
        let middle = (took.len() - 1) / 2;
        let slice = some.first().and_then(|owed| slices.get_mut(number(owed.due) as usize));
        if let Some(slice) = slice {
            (slice.due, slice.p50_ns) = (took.len() as u64, Some(*took.select_nth_unstable(middle).1));
        }
    }
    for owed in counting {
        if let Some(slice) = slices.get_mut(number(owed.done()) as usize) {
            *(if owed.outcome.is_fine() { &mut slice.fine } else { &mut slice.failed }) += 1;
        }
    }
    slices
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
