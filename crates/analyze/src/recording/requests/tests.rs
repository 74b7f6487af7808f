//! Loads of servers with known behaviour: they serve in order and stand still at known times.

use super::*;

const MS: u64 = 1_000_000;
const SECOND: u64 = 1_000 * MS;
const ALL: (Time, Time) = (Time(0), Time(u64::MAX));

fn request(due: u64, took: u64) -> Request {
    let (due, outcome) = (Time(due), Outcome::Answered(200));
    Request { due, sent: Some(due), done: due.plus(took), outcome, connection: 0, warm_up: false }
}

/// When work of `ns` that begins at `at` is done, if the server stands still during `still`.
fn after(mut at: u64, mut ns: u64, still: &[(u64, u64)]) -> u64 {
    for (from, to) in still {
        if at + ns <= *from {
            break;
        }
        if at < *to {
            ns -= from.saturating_sub(at);
            at = *to;
        }
    }
    at + ns
}

/// Requests due every `every`, each taking `work`, served one after the other.
fn in_order(count: u64, every: u64, work: u64, still: &[(u64, u64)]) -> Vec<Request> {
    let mut free = 0;
    let mut serve = |number: u64| {
        let due = number * every;
        free = after(due.max(free), work, still);
        request(due, free - due)
    };
    (0..count).map(&mut serve).collect()
}

fn join(requests: &[Request]) -> Join {
    let mut read = Requests::new("http://a/".into(), ALL);
    requests.iter().for_each(|request| read.push(request));
    read.ready().unwrap()
}

fn joined(requests: &[Request], pauses: &[(u64, u64)]) -> Joined {
    let mut join = join(requests);
    pauses.iter().for_each(|(from, to)| join.pause(Time(*from), Time(*to)));
    join.finish(true)
}

fn counts(joined: &Joined) -> [Option<u64>; 5] {
    let counts: Vec<_> = joined.slow.parts.iter().map(|part| part.requests).collect();
    counts.try_into().unwrap()
}

fn is_whole(joined: &Joined) {
    let parts = &joined.slow.parts;
    let (shares, above): (f64, u64) =
        (parts.iter().filter_map(|part| part.share).sum(), parts.iter().filter_map(|part| part.above_ns).sum());
    assert!((shares - 1.0).abs() < 1e-9 && above == joined.slow.above_ns, "{parts:?}");
    assert_eq!(joined.slow.count, joined.count.div_ceil(100));
}

#[test]
fn requests_in_a_pause_waited_for_it_and_later_ones_were_queued() {
    // 100 a second of 8 ms each; the server stands still for 100 ms in the middle of each of ten seconds.
    let still: Vec<_> = (0..10).map(|second| (second * SECOND + 500 * MS, second * SECOND + 600 * MS)).collect();
    let requests = in_order(1_000, 10 * MS, 8 * MS, &still);
    let joined = joined(&requests, &still);
    is_whole(&joined);
    assert_eq!((joined.count, joined.p50_ns, joined.max_ns), (1_000, 8 * MS, 108 * MS));
    // The first request in each pause.
    assert_eq!((joined.slow.count, counts(&joined)), (10, [Some(10), Some(0), Some(0), Some(0), Some(0)]));
    assert_eq!(joined.worst[0].pause_ns, Some(100 * MS));

    // Of all that took longer than usual, those due after the end of a pause are queued.
    let judged = |second: u64, ms: u64| {
        let at = second * SECOND + ms * MS;
        let index = requests.iter().position(|request| request.due.0 == at).unwrap();
        let alone: Vec<Request> = requests
            .iter()
            .enumerate()
            .map(|(other, request)| Request { warm_up: other != index, ..*request })
            .collect();
        let mut join = join(&alone);
        // It is its own median, but is to be compared with the median of all.
        join.figures[0] = 8 * MS;
        still.iter().for_each(|(from, to)| join.pause(Time(*from), Time(*to)));
        join.finish(true).worst[0].what
    };
    assert_eq!(judged(3, 500), Some(What::Pause));
    assert_eq!(judged(3, 540), Some(What::Pause));
    assert_eq!(judged(3, 590), Some(What::Queued), "10 ms of the pause, 72 ms behind others");
    assert_eq!(judged(3, 700), Some(What::Queued));
    assert_eq!(judged(3, 400), Some(What::Neither), "the backlog has long gone");
}

#[test]
fn slow_answers_of_their_own_are_neither() {
    // One in a hundred waits 50 ms for another service; the long waits contain only short pauses, which
    // are everywhere.
    let requests: Vec<_> =
        (0..1_000).map(|number| request(number * 10 * MS, if number % 100 == 7 { 50 * MS } else { MS })).collect();
    let still: Vec<_> = (0..1_000).map(|number| (number * 10 * MS + 5 * MS, number * 10 * MS + 6 * MS)).collect();
    let result = joined(&requests, &still);
    is_whole(&result);
    assert_eq!(counts(&result), [Some(0), Some(0), Some(0), Some(0), Some(10)]);
    // Five pauses of a millisecond each lie in each of them.
    let part = |result: &Joined, what: What| result.slow.parts.iter().find(|part| part.what == what).unwrap().above_ns;
    assert_eq!((part(&result, What::Pause), part(&result, What::Neither)), (Some(50 * MS), Some(440 * MS)));
    assert_eq!(result.slow.above_ns, 490 * MS);
    let none = joined(&requests, &[]);
    assert_eq!(part(&none, What::Neither), Some(490 * MS));
}

#[test]
fn a_small_pause_does_not_explain_a_backlog_that_something_else_made() {
    // The server stands still for 500 ms without a pause; a pause of 1 ms lies in it.
    let requests = in_order(1_000, 10 * MS, 4 * MS, &[(SECOND, SECOND + 500 * MS)]);
    let result = joined(&requests, &[(SECOND + 100 * MS, SECOND + 101 * MS)]);
    is_whole(&result);
    assert_eq!(counts(&result), [Some(0), Some(0), Some(0), Some(0), Some(10)]);
    // The same with a quota, and with other processes that have the CPU.
    for (throttled, what) in [(true, What::Throttled), (false, What::RunQueue)] {
        let mut join = join(&requests);
        join.waited(Time(SECOND), Time(SECOND + 500 * MS), throttled);
        let result = join.finish(true);
        is_whole(&result);
        assert!(result.worst.iter().all(|worst| worst.what == Some(what)), "{what:?} {:?}", result.worst);
    }
    let mut join = join(&requests);
    join.waited(Time(SECOND), Time(SECOND + 500 * MS), true);
    let without_kernel = join.finish(false);
    assert_eq!(counts(&without_kernel), [Some(0), Some(0), None, None, Some(10)]);
    assert_eq!(
        (without_kernel.worst[0].throttled_ns, without_kernel.worst[0].rest_ns),
        (None, without_kernel.worst[0].rest_ns)
    );
}

#[test]
fn waiting_for_a_cpu_that_is_usual_explains_nothing() {
    let slow = |number: u64| number % 100 == 50;
    let requests: Vec<_> =
        (0..1_000).map(|number| request(number * 10 * MS, if slow(number) { 40 * MS } else { MS })).collect();
    let mut usual = join(&requests);
    // 8 ms of every 10 ms, all the time.
    (0..1_000).for_each(|number| usual.waited(Time(number * 10 * MS), Time(number * 10 * MS + 8 * MS), false));
    assert_eq!(counts(&usual.finish(true)), [Some(0), Some(0), Some(0), Some(0), Some(10)]);
    let mut then = join(&requests);
    for number in (0..1_000).filter(|number| slow(*number)) {
        then.waited(Time(number * 10 * MS), Time(number * 10 * MS + 35 * MS), false);
    }
    assert_eq!(counts(&then.finish(true)), [Some(0), Some(0), Some(0), Some(10), Some(0)]);
}

#[test]
fn a_server_that_is_always_too_slow_did_not_queue_for_a_pause() {
    // 11 ms of work every 10 ms: the queue grows for a minute. One pause at the start.
    let still = [(SECOND, SECOND + 50 * MS)];
    let requests = in_order(6_000, 10 * MS, 11 * MS, &still);
    let result = joined(&requests, &still);
    is_whole(&result);
    assert_eq!(counts(&result), [Some(0), Some(0), Some(0), Some(0), Some(60)]);
}

#[test]
fn what_is_usual_follows_a_ramp() {
    // A growing rate of requests of 20 ms each, served in parallel; one pause late in the ramp.
    let mut due = 0;
    let still = [(20 * SECOND, 20 * SECOND + 100 * MS)];
    let mut next = |number: u64| {
        due += 20 * MS - number * MS / 200;
        request(due, after(due, 20 * MS, &still) - due)
    };
    let requests: Vec<_> = (0..3_600).map(&mut next).collect();
    let result = joined(&requests, &still);
    is_whole(&result);
    assert!(result.max_ns >= 115 * MS);
    let waited = result.slow.parts[0].requests.unwrap();
    let in_pause = requests.iter().filter(|request| request.latency_ns() > 20 * MS).count() as u64;
    assert_eq!(waited, in_pause.min(result.slow.count), "{result:?}");
    assert_eq!(result.slow.parts[1].requests, Some(0), "no request was overdue for long: {result:?}");
}

#[test]
fn figures_are_of_what_was_recorded() {
    let mut read = Requests::new("http://a/".into(), (Time(SECOND), Time(3 * SECOND)));
    for number in 0..400 {
        read.push(&Request { warm_up: number < 150, ..request(number * 10 * MS, 5 * MS) });
    }
    read.damaged(3);
    assert_eq!(read.span(), Some((Time(0), Time(3_995 * MS))));
    let result = read.ready().unwrap().finish(true);
    assert_eq!((result.count, result.warm_up, result.outside, result.damaged), (150, 150, 100, 3));
    assert_eq!((result.slow.count, result.worst.len(), result.slow.from_ns, result.slow.above_ns), (2, 2, 5 * MS, 0));
    assert_eq!(counts(&result), [Some(0), Some(0), Some(0), Some(0), Some(2)], "none took longer than the median");
    assert_eq!(result.slow.parts[4].above_share, None);
    let sum = |of: fn(&Slice) -> u64| result.drawing.slices.iter().map(of).sum::<u64>();
    assert_eq!((sum(|slice| slice.due), sum(|slice| slice.fine), sum(|slice| slice.failed)), (150, 150, 0));
    let window = |from: u64| Requests::new(String::new(), (Time(from), Time(from + 1)));
    assert!(window(0).ready().is_none() && window(0).span().is_none());
    let mut outside = window(0);
    outside.push(&request(SECOND, MS));
    assert!(outside.ready().is_none());
}

#[test]
fn any_moments_are_taken() {
    let mut read = Requests::new(String::new(), ALL);
    for due in [0, 1, u64::MAX / 2, u64::MAX - 1, u64::MAX] {
        for took in [0, 1, SECOND, u64::MAX] {
            let sent = (took > 1).then_some(Time(u64::MAX));
            read.push(&Request { sent, ..request(due, took) });
        }
    }
    let mut join = read.ready().unwrap();
    for (from, to) in [(0, u64::MAX), (5, 2), (u64::MAX, u64::MAX)] {
        join.pause(Time(from), Time(to));
        join.waited(Time(from), Time(to), from == 5);
    }
    let result = join.finish(true);
    assert_eq!((result.count, result.slow.count), (20, 1));
    is_whole(&result);
}

#[test]
fn the_very_slowest_are_reported_in_order() {
    let outcome = Outcome::Timeout;
    let mut requests: Vec<_> = (0..20_000).map(|number| request(number * MS, MS + number * 1_000)).collect();
    requests[5] = Request { sent: None, outcome, ..request(5 * MS, 10 * SECOND) };
    let result = joined(&requests, &[]);
    assert_eq!((result.slow.count, result.worst.len()), (200, WORST_MAX));
    assert!(result.worst.windows(2).all(|pair| pair[0].done.since(pair[0].due) >= pair[1].done.since(pair[1].due)));
    let late = result.drawing.slices.iter().find(|slice| slice.failed > 0);
    assert!(late.is_some_and(|slice| slice.from <= Time(10_005 * MS) && slice.to > Time(10_005 * MS)), "when it ended");
    let first = &result.worst[0];
    assert_eq!((first.sent, first.outcome, first.status), (None, "timeout", None));
    assert_eq!((result.worst[1].outcome, result.worst[1].status), ("answered", Some(200)));
    assert!(result.drawing.slow.len() <= DOTS_MAX && result.drawing.slices.len() <= SLICES as usize + 1);
}
