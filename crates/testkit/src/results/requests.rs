//! Requests of a load on a healthy recorded program: some wait for its pauses, some queue after them,
//! some wait for a quota, some for no visible reason.

use super::base::{Fixture, MS, SECOND, START};
use super::programs::healthy;
use rtscope_analyze::recording::requests::Requests;
use rtscope_analyze::results::requests::Joined;
use rtscope_model::Time;
use rtscope_model::request::{Outcome, Request};

/// A pause of 100 ms each second, except for the fourth, in which a quota stops it for 120 ms.
pub fn loaded() -> Fixture {
    let mut fixture = healthy();
    fixture.name = "loaded";
    fixture.results.source.path = "loaded.rtscope".into();
    fixture.results.requests = Some(joined("http://localhost:8080/<quiz>?a=1&b=2", true));
    fixture
}

/// The second in which a quota stops the program.
const QUOTA: u64 = 3;

/// The join of such a load; `kernel`: whether the kernel recorded what threads waited for.
pub fn joined(url: &str, kernel: bool) -> Joined {
    let mut requests = Requests::new(url.into(), (START, START.plus(200 * SECOND)));
    let stop = |second: u64| if second == QUOTA { 120 * MS } else { 100 * MS };
    for number in 0..10_000u64 {
        let at = number * 2 * MS;
        let (second, within) = (at / SECOND, at % SECOND);
        // A request that arrives in a stop waits for its end and for earlier ones; then the queue drains.
        let stop = stop(second);
        let delay = if within < stop { stop } else { stop.saturating_sub((within - stop) / 2) };
        let own = if number % 1_000 == 900 { 140 * MS } else { MS + number % 7 * MS / 10 };
        let due = START.plus(30 * SECOND + at);
        let outcome = if number == 300 { Outcome::Timeout } else { Outcome::Answered(200) };
        let sent = (number != 300).then_some(due);
        let done = due.plus(own + delay);
        requests.push(&Request { due, sent, done, outcome, connection: 0, warm_up: number < 200 });
    }
    requests.damaged(3);
    let mut join = requests.ready().expect("requests that count");
    for second in 0..20 {
        let from = START.plus((30 + second) * SECOND);
        if second == QUOTA {
            join.waited(from, from.plus(stop(second)), true);
        } else {
            join.pause(from, from.plus(stop(second)));
        }
        join.waited(from.plus(500 * MS), from.plus(501 * MS), false);
    }
    join.finish(kernel)
}

/// A load with an invalid URL, without the kernel's record.
pub fn hostile(url: &str) -> Joined {
    let mut joined = joined(url, false);
    joined.worst.iter_mut().for_each(|worst| worst.done = Time(u64::MAX));
    joined
}
