//! Counts and histograms of requests that have ended, per second and in total. Owns what is counted
//! as what; refuses to send anything and to read a clock.

use crate::spread::Spread;
use rtscope_model::Time;
use rtscope_model::request::{Outcome, Request};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Failed requests by cause.
#[derive(Clone, Eq, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Errors {
    /// No connection could be made.
    pub connect: u64,
    /// The connection was closed before the end of the answer.
    pub closed: u64,
    /// The answer did not follow the protocol.
    pub protocol: u64,
    /// No complete answer came in time.
    pub timeout: u64,
    /// Answers of 400 and above, by status.
    pub status: BTreeMap<u16, u64>,
}

impl Errors {
    fn add(&mut self, outcome: Outcome) {
        match outcome {
            Outcome::Answered(status) => *self.status.entry(status).or_default() += 1,
            Outcome::Connect => self.connect += 1,
            Outcome::Closed => self.closed += 1,
            Outcome::Protocol => self.protocol += 1,
            Outcome::Timeout => self.timeout += 1,
        }
    }

    fn merge(&mut self, other: &Errors) {
        self.connect += other.connect;
        self.closed += other.closed;
        self.protocol += other.protocol;
        self.timeout += other.timeout;
        for (status, count) in &other.status {
            *self.status.entry(*status).or_default() += count;
        }
    }

    /// Number of all failures.
    pub fn count(&self) -> u64 {
        self.connect + self.closed + self.protocol + self.timeout + self.status.values().sum::<u64>()
    }
}

/// The requests that ended in one second.
#[derive(Clone, Debug, Default)]
pub(crate) struct WorkerSecond {
    pub(crate) due: u64,
    pub(crate) fine: u64,
    pub(crate) failed: u64,
    /// Latency of both.
    pub(crate) latency: Spread,
    /// Requests that waited for a connection when the second ended.
    pub(crate) waiting: u64,
    /// Requests that the server was handling when the second ended.
    pub(crate) in_flight: u64,
    /// Time since the oldest of these was due, nanoseconds.
    pub(crate) oldest_ns: u64,
}

impl WorkerSecond {
    pub(crate) fn merge(&mut self, other: &WorkerSecond) {
        self.due += other.due;
        self.fine += other.fine;
        self.failed += other.failed;
        self.latency.merge(&other.latency);
        self.waiting += other.waiting;
        self.in_flight += other.in_flight;
        self.oldest_ns = self.oldest_ns.max(other.oldest_ns);
    }
}

/// All requests that ended after the warm-up.
#[derive(Clone, Debug, Default)]
pub(crate) struct Totals {
    pub(crate) due: u64,
    /// Latency of requests with a good answer, from when they were due; `failed` likewise.
    pub(crate) fine: Spread,
    pub(crate) failed: Spread,
    /// From when a request was due until the schedule released it: rtscope's own lateness.
    pub(crate) late: Spread,
    /// From its release until a connection took it.
    pub(crate) queued: Spread,
    /// From then until it ended.
    pub(crate) service: Spread,
    pub(crate) errors: Errors,
    pub(crate) warm_up: u64,
    pub(crate) warm_up_failed: u64,
    pub(crate) opened: u64,
    /// Requests neither answered nor failed when the load was given up.
    pub(crate) unfinished: u64,
    /// When the last request ended.
    pub(crate) last: Time,
}

impl Totals {
    pub(crate) fn merge(&mut self, other: &Totals) {
        self.due += other.due;
        self.fine.merge(&other.fine);
        self.failed.merge(&other.failed);
        self.late.merge(&other.late);
        self.queued.merge(&other.queued);
        self.service.merge(&other.service);
        self.errors.merge(&other.errors);
        self.warm_up += other.warm_up;
        self.warm_up_failed += other.warm_up_failed;
        self.opened += other.opened;
        self.unfinished += other.unfinished;
        self.last = self.last.max(other.last);
    }
}

/// The counts of one worker.
#[derive(Debug, Default)]
pub(crate) struct WorkerTally {
    part: WorkerSecond,
    pub(crate) totals: Totals,
}

impl WorkerTally {
    pub(crate) fn due(&mut self, warm_up: bool) {
        if warm_up {
            self.totals.warm_up += 1;
        } else {
            self.part.due += 1;
            self.totals.due += 1;
        }
    }

    /// Counts a request that has ended and was released at `handed`.
    pub(crate) fn ended(&mut self, request: &Request, handed: Time) {
        let fine = request.outcome.is_fine();
        let totals = &mut self.totals;
        totals.last = totals.last.max(request.done);
        if request.warm_up {
            totals.warm_up_failed += u64::from(!fine);
            return;
        }
        let latency = request.latency_ns();
        self.part.latency.add(latency);
        totals.late.add(handed.since(request.due));
        if let Some(sent) = request.sent {
            totals.queued.add(sent.since(handed));
            totals.service.add(request.done.since(sent));
        } else {
            totals.queued.add(request.done.since(handed));
        }
        if fine {
            self.part.fine += 1;
            totals.fine.add(latency);
        } else {
            self.part.failed += 1;
            totals.failed.add(latency);
            totals.errors.add(request.outcome);
        }
    }

    /// The requests that ended since the last call.
    pub(crate) fn part(&mut self) -> WorkerSecond {
        std::mem::take(&mut self.part)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::{Phase, Profile};
    use std::time::Duration;

    const SECOND: u64 = 1_000_000_000;

    fn request(due: u64, sent: Option<u64>, done: u64, outcome: Outcome) -> Request {
        Request { due: Time(due), sent: sent.map(Time), done: Time(done), outcome, connection: 0, warm_up: false }
    }

    #[test]
    fn latency_is_what_its_three_parts_sum_to() {
        let mut tally = WorkerTally::default();
        tally.due(false);
        tally.ended(&request(1000, Some(1300), 1900, Outcome::Answered(200)), Time(1100));
        let totals = &tally.totals;
        let parts = [&totals.late, &totals.queued, &totals.service, &totals.fine].map(|spread| spread.max());
        assert_eq!(parts, [Some(100), Some(200), Some(600), Some(900)]);
    }

    #[test]
    fn errors_count_with_their_time_and_the_warm_up_does_not_count() {
        let mut tally = WorkerTally::default();
        for outcome in [Outcome::Timeout, Outcome::Answered(503), Outcome::Answered(503), Outcome::Answered(200)] {
            tally.due(false);
            tally.ended(&request(0, None, 10 * SECOND, outcome), Time(0));
        }
        tally.due(true);
        tally.ended(&Request { warm_up: true, ..request(0, None, 5, Outcome::Closed) }, Time(0));
        let part = tally.part();
        assert_eq!((part.due, part.fine, part.failed, part.latency.count()), (4, 1, 3, 4));
        let totals = &tally.totals;
        assert_eq!((totals.errors.timeout, totals.errors.status.get(&503)), (1, Some(&2)));
        assert_eq!((totals.errors.count(), totals.failed.count(), totals.fine.count()), (3, 3, 1));
        assert!(totals.failed.quantile(0.5).is_some_and(|ns| ns.abs_diff(10 * SECOND) < SECOND / 100));
        assert_eq!((totals.warm_up, totals.warm_up_failed), (1, 1));
        assert_eq!(tally.part().latency.count(), 0);
    }

    /// When the stalling server has served a request that arrives at `at`: it works 100 us on each, one
    /// after the other, and stalls in the first second of every ten.
    fn stalling(at: u64, free: &mut u64) -> u64 {
        let work = 100_000;
        let mut from = at.max(*free);
        if from % (10 * SECOND) < SECOND {
            from = from / (10 * SECOND) * 10 * SECOND + SECOND;
        }
        *free = from + work;
        *free
    }

    #[test]
    fn a_stall_shows_in_an_open_loop_and_hides_in_a_closed_one() {
        let minute = Duration::from_secs(60);
        let profile = Profile::new(vec![Phase::constant(1000.0, minute)]).unwrap();
        let (mut tally, mut free) = (WorkerTally::default(), 0);
        for due in profile.moments(0, 1) {
            let done = stalling(due, &mut free);
            tally.due(false);
            tally.ended(&request(due, Some(done - 100_000), done, Outcome::Answered(200)), Time(due));
        }
        // A request that arrives x s into a stall of 1 s waits 1 - x, and for the 1000 x before it, 0.1 ms
        // each. A stall and its backlog contain more than a tenth of all requests.
        let open = tally.totals.fine.quantile(0.99).unwrap();
        let truth = 0.91e9;
        assert!((open as f64 / truth - 1.0).abs() < 0.01, "{open}");

        let (mut closed, mut at, mut free) = (WorkerTally::default(), 0, 0);
        while at < 60 * SECOND {
            let done = stalling(at, &mut free);
            closed.ended(&request(at, Some(at), done, Outcome::Answered(200)), Time(at));
            at = done;
        }
        let hidden = closed.totals.fine.quantile(0.99).unwrap();
        assert!(hidden * 100 < open, "{hidden}");
    }

    #[test]
    fn workers_add_up() {
        let (mut one, mut two) = (WorkerTally::default(), WorkerTally::default());
        for (tally, status) in [(&mut one, 200), (&mut two, 500)] {
            tally.due(false);
            tally.ended(&request(0, Some(1), 7, Outcome::Answered(status)), Time(0));
        }
        let mut part = one.part();
        part.merge(&two.part());
        assert_eq!((part.due, part.fine, part.failed, part.latency.count()), (2, 1, 1, 2));
        one.totals.merge(&two.totals);
        assert_eq!((one.totals.due, one.totals.errors.count(), one.totals.last), (2, 1, Time(7)));
    }
}
