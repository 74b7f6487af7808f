//! Turns the workers' messages into seconds and a document. Owns when a second is complete, and the
//! watch over limits; refuses to send.

use crate::clock::ns;
use crate::document::{Document, Ended, KeptRequests, Latency, PhaseShape, Rate, Requests, SCHEMA, Second, Started};
use crate::limit::{Figure, WatchedLimit};
use crate::profile::Phase;
use crate::tally::{Totals, WorkerSecond};
use crate::target::Protocol;
use crate::task::Load;
use std::collections::BTreeMap;
use std::time::Duration;

const SECOND: u64 = 1_000_000_000;

/// Collects seconds and totals as they arrive.
pub(crate) struct Gather<'l> {
    load: &'l Load,
    /// The number of the last second that each worker reported, and whether it has finished.
    reported: Vec<Option<u64>>,
    pending: BTreeMap<u64, WorkerSecond>,
    seconds: Vec<Second>,
    totals: Totals,
    watched: Vec<WatchedLimit<'l>>,
    /// The limit that was broken first.
    pub(crate) broken: Option<&'l str>,
}

impl<'l> Gather<'l> {
    pub(crate) fn new(load: &'l Load, workers: usize) -> Gather<'l> {
        Gather {
            load,
            reported: vec![None; workers],
            pending: BTreeMap::new(),
            seconds: Vec::new(),
            totals: Totals::default(),
            watched: load.limits.iter().map(WatchedLimit::new).collect(),
            broken: None,
        }
    }

    /// Takes a worker's second; returns the seconds that are now complete.
    pub(crate) fn second(&mut self, worker: usize, number: u64, part: &WorkerSecond) -> Vec<Second> {
        self.pending.entry(number).or_default().merge(part);
        self.reached(worker, number)
    }

    pub(crate) fn done(&mut self, worker: usize, totals: &Totals) -> Vec<Second> {
        self.totals.merge(totals);
        self.reached(worker, u64::MAX)
    }

    fn reached(&mut self, worker: usize, number: u64) -> Vec<Second> {
        if let Some(reported) = self.reported.get_mut(worker) {
            *reported = (*reported).max(Some(number));
        }
        // No worker reports a second again that all have reported.
        let Some(Some(all)) = self.reported.iter().min().copied() else { return Vec::new() };
        let mut complete = Vec::new();
        while let Some(first) = self.pending.first_entry().filter(|first| *first.key() <= all) {
            let (number, part) = first.remove_entry();
            complete.push(self.complete(number, &part));
        }
        complete
    }

    fn complete(&mut self, number: u64, part: &WorkerSecond) -> Second {
        let second = Second {
            from_ns: number * SECOND,
            lasts_ns: SECOND,
            due: part.due,
            fine: part.fine,
            failed: part.failed,
            p50_ns: part.latency.quantile(0.5),
            p90_ns: part.latency.quantile(0.9),
            p99_ns: part.latency.quantile(0.99),
            max_ns: part.latency.max(),
            waiting: part.waiting,
            in_flight: part.in_flight,
            oldest_ns: part.oldest_ns,
        };
        self.seconds.push(second.clone());
        if Duration::from_nanos(second.from_ns) >= self.load.warm_up {
            for watched in &mut self.watched {
                let broken = watched.second(figure(part, watched.limit.figure));
                self.broken = self.broken.or(broken.map(|limit| limit.text.as_str()));
            }
        }
        second
    }

    pub(crate) fn document(self, started: Started, interrupted: bool, kept: Option<KeptRequests>) -> Document {
        let Gather { load, totals, mut seconds, broken, reported, .. } = self;
        let took_ns = totals.last.0.saturating_sub(started.monotonic_ns);
        trim(&mut seconds, took_ns);
        let mut all = totals.fine.clone();
        all.merge(&totals.failed);
        let shared = load.target.protocol == Protocol::Http2;
        let shape = |phase: &Phase| PhaseShape { from: phase.from, to: phase.to, lasts_ns: ns(phase.lasts) };
        let mut document = Document {
            schema: SCHEMA.to_owned(),
            url: load.target.uri.to_string(),
            protocol: if shared { "h2c" } else { "http/1.1" }.to_owned(),
            method: load.target.method.to_string(),
            profile: load.profile.phases.iter().map(shape).collect(),
            warm_up_ns: ns(load.warm_up),
            timeout_ns: ns(load.timeout),
            connections: load.connections as u64,
            streams: shared.then_some(load.streams as u64),
            threads: reported.len() as u64,
            started,
            took_ns,
            ended: match (interrupted, broken) {
                (true, _) => Ended::Interrupted,
                (false, Some(_)) => Ended::Limit,
                (false, None) => Ended::AsPlanned,
            },
            limit: broken.map(str::to_owned),
            requests: requests(&totals),
            rate: rate(load, &totals, took_ns),
            latency: Latency {
                all: all.figures(),
                fine: totals.fine.figures(),
                failed: totals.failed.figures(),
                late: totals.late.figures(),
                queued: totals.queued.figures(),
                service: totals.service.figures(),
            },
            errors: totals.errors,
            opened: totals.opened,
            seconds,
            kept,
            doubts: Vec::new(),
            curve: all.curve(),
        };
        document.doubts = document.doubted();
        document
    }
}

/// The figure of one second that a limit is about. If no request ended, latency is the time that the
/// oldest request has waited: a server that hangs breaks a limit, too.
fn figure(part: &WorkerSecond, figure: Figure) -> Option<f64> {
    let ended = part.fine + part.failed;
    match figure {
        Figure::Errors if ended == 0 => None,
        Figure::Errors => Some(part.failed as f64 / ended as f64),
        Figure::Latency(_) if ended == 0 => (part.oldest_ns > 0).then_some(part.oldest_ns as f64),
        Figure::Latency(share) => part.latency.quantile(share).map(|ns| ns as f64),
    }
}

/// Cuts the last second at the end of the last request.
fn trim(seconds: &mut Vec<Second>, took_ns: u64) {
    let empty = |second: &Second| second.due + second.fine + second.failed == 0;
    seconds.pop_if(|last| last.from_ns >= took_ns && empty(last));
    if let Some(last) = seconds.last_mut().filter(|last| (1..SECOND).contains(&took_ns.saturating_sub(last.from_ns))) {
        last.lasts_ns = took_ns - last.from_ns;
    }
}

fn requests(totals: &Totals) -> Requests {
    Requests {
        due: totals.due,
        fine: totals.fine.count(),
        failed: totals.failed.count(),
        unfinished: totals.unfinished,
        warm_up: totals.warm_up,
        warm_up_failed: totals.warm_up_failed,
    }
}

fn rate(load: &Load, totals: &Totals, took_ns: u64) -> Rate {
    let measured = took_ns.saturating_sub(ns(load.warm_up));
    let per_second = |count: u64, ns: u64| (ns > 0).then(|| count as f64 * 1e9 / ns as f64);
    // The last request is due before the schedule ends, and may be answered before, too.
    let scheduled = if totals.unfinished > 0 { measured } else { ns(load.profile.lasts()) };
    Rate { due: per_second(totals.due, scheduled), fine: per_second(totals.fine.count(), measured) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::Doubt;
    use crate::limit::Limit;
    use crate::profile::Profile;
    use crate::tally::WorkerTally;
    use crate::target::Target;
    use rtscope_model::Time;
    use rtscope_model::request::{Outcome, Request};

    fn load(limits: Vec<Limit>) -> Load {
        Load {
            target: Target::new("http://a/", Protocol::Http1).unwrap(),
            profile: Profile::new(vec![Phase::constant(2.0, Duration::from_secs(2))]).unwrap(),
            warm_up: Duration::from_secs(1),
            connections: 4,
            streams: 1,
            threads: 2,
            timeout: Duration::from_secs(1),
            limits,
            keep: 0,
        }
    }

    fn part(latency: &[u64], outcome: Outcome) -> (WorkerSecond, Totals) {
        let mut tally = WorkerTally::default();
        for ns in latency {
            tally.due(false);
            let (due, done) = (Time(2_000_000_000), Time(2_000_000_000 + ns));
            let request = Request { due, sent: Some(due), done, outcome, connection: 0, warm_up: false };
            tally.ended(&request, due);
        }
        (tally.part(), tally.totals)
    }

    #[test]
    fn a_second_is_complete_when_every_worker_has_reported_it() {
        let load = load(Vec::new());
        let mut gather = Gather::new(&load, 2);
        let (one, totals) = part(&[10, 20], Outcome::Answered(200));
        assert!(gather.second(0, 0, &one).is_empty() && gather.second(0, 1, &one).is_empty());
        let complete = gather.second(1, 0, &one);
        assert_eq!(complete.iter().map(|second| (second.from_ns, second.fine)).collect::<Vec<_>>(), [(0, 4)]);
        assert_eq!(gather.done(1, &totals).len(), 1, "a finished worker reports no more");
        assert!(gather.done(0, &totals).is_empty());
        let document = gather.document(Started { monotonic_ns: 0, unix_ns: 0 }, false, None);
        assert_eq!((document.requests.due, document.requests.fine, document.seconds.len()), (4, 4, 2));
        assert_eq!((document.ended, document.doubts.len()), (Ended::AsPlanned, 0));
        assert_eq!(document.rate.due, Some(2.0));
    }

    #[test]
    fn limits_are_watched_from_the_end_of_the_warm_up() {
        let lasts = Duration::from_secs(1);
        let limit = Limit { figure: Figure::Errors, above: 0.5, lasts, text: "errors > 50% for 1s".into() };
        let load = load(vec![limit]);
        let mut gather = Gather::new(&load, 1);
        let (bad, totals) = part(&[10], Outcome::Timeout);
        gather.second(0, 0, &bad);
        assert_eq!(gather.broken, None);
        gather.second(0, 1, &bad);
        assert_eq!(gather.broken, Some("errors > 50% for 1s"));
        gather.done(0, &totals);
        let document = gather.document(Started { monotonic_ns: 0, unix_ns: 0 }, false, None);
        assert_eq!(document.ended, Ended::Limit);
        assert_eq!(document.doubts, [Doubt::GivenUp, Doubt::NoAnswer, Doubt::Errors]);
    }

    #[test]
    fn a_server_that_hangs_has_a_latency() {
        let hung = WorkerSecond { oldest_ns: 3_000_000_000, ..WorkerSecond::default() };
        assert_eq!(figure(&hung, Figure::Latency(0.99)), Some(3e9));
        assert_eq!(figure(&hung, Figure::Errors), None);
        assert_eq!(figure(&WorkerSecond::default(), Figure::Latency(0.5)), None);
    }
}
