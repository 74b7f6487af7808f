//! How many requests a server owes, and since when there are more of them than usual. A request is owed from its due
//! time until it is done, wherever it waits.
//!
//! What is usual may change while a load runs (a ramp): it is the median backlog found by requests that became due
//! within [`AROUND_S`] seconds of the moment. So a server that is constantly too slow for its load has no backlog in
//! this sense: what it owes is usual.

use rtscope_model::Time;
use rtscope_model::request::Outcome;

/// Seconds before and after a moment that define what is usual.
const AROUND_S: u64 = 5;
const SECOND: u64 = 1_000_000_000;

/// The parts of a request that are kept.
#[derive(Copy, Clone, Debug)]
pub struct Owed {
    pub due: Time,
    pub took_us: u32,
    /// Microseconds; `u32::MAX`: never sent.
    pub sent_us: u32,
    pub outcome: Outcome,
    /// Whether it counts in figures.
    pub counts: bool,
}

impl Owed {
    /// When it was answered.
    pub fn done(&self) -> Time {
        self.due.plus(self.took_ns())
    }

    /// How long the answer took.
    pub fn took_ns(&self) -> u64 {
        u64::from(self.took_us) * 1_000
    }
}

/// The number of requests owed when each one became due, not counting itself.
pub(super) struct Backlog<'o> {
    owed: &'o [Owed],
    /// Ends of all requests, in order.
    ends: Vec<Time>,
    /// Seconds, each with the number that is usual from then on.
    usual: Vec<(u64, u32)>,
}

impl<'o> Backlog<'o> {
    /// The backlog of requests, which are in order of their due times.
    pub(super) fn of(owed: &'o [Owed]) -> Backlog<'o> {
        let mut ends: Vec<Time> = owed.iter().map(Owed::done).collect();
        ends.sort_unstable();
        let mut found = Vec::with_capacity(owed.len());
        let mut ended = 0;
        for (before, request) in owed.iter().enumerate() {
            ended += ends.get(ended..).map_or(0, |rest| rest.iter().take_while(|end| **end <= request.due).count());
            found.push(u32::try_from(before.saturating_sub(ended)).unwrap_or(u32::MAX));
        }
        Backlog { usual: usual(owed, &found), owed, ends }
    }

    /// For each of `slow`, indices in order: since when more requests than usual were owed when it became due; its
    /// due time if there were not more.
    pub(super) fn found_by(&self, slow: &[u32]) -> Vec<Time> {
        let mut ends = self.ends.iter().peekable();
        let mut usual = self.usual.iter().peekable();
        let mut slow = slow.iter().peekable();
        let (mut now_usual, mut count, mut since) = (0, 0i64, None);
        let mut found = Vec::with_capacity(slow.len());
        let mut step = |at: Time, change: i64, since: &mut Option<Time>| {
            while let Some((_, level)) = usual.next_if(|(second, _)| *second <= at.0 / SECOND) {
                now_usual = i64::from(*level);
            }
            count += change;
            *since = if count > now_usual { since.or(Some(at)) } else { None };
        };
        for (index, request) in self.owed.iter().enumerate() {
            while let Some(end) = ends.next_if(|end| **end <= request.due) {
                step(*end, -1, &mut since);
            }
            if slow.next_if(|slow| **slow as usize == index).is_some() {
                found.push(since.unwrap_or(request.due));
            }
            step(request.due, 1, &mut since);
        }
        found
    }
}

/// The usual number for each second in which requests became due.
fn usual(owed: &[Owed], found: &[u32]) -> Vec<(u64, u32)> {
    let second = |owed: &Owed| owed.due.0 / SECOND;
    let median = |first: &Owed| {
        let at = second(first);
        let from = owed.partition_point(|owed| second(owed) < at.saturating_sub(AROUND_S));
        let to = owed.partition_point(|owed| second(owed) <= at.saturating_add(AROUND_S));
        let mut around = found.get(from..to)?.to_vec();
        let middle = around.len().checked_sub(1)? / 2;
        Some((at, *around.select_nth_unstable(middle).1))
    };
    let seconds = owed.chunk_by(|a, b| second(a) == second(b));
    seconds.filter_map(|some| median(some.first()?)).collect()
}
