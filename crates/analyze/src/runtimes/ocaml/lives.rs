//! How long domains live. Owns that a life counts when its end is seen; domains that are still alive do not count.
//! Refuses to say what a life costs.

use crate::basis::sum::Sum;
use rtscope_model::{Body, Event, LaneId, Runtime, Time};
use std::collections::BTreeMap;

#[derive(Default)]
pub struct Lives {
    since: BTreeMap<LaneId, Time>,
    /// Complete lives of domains.
    pub ended: Sum,
}

impl Lives {
    pub fn push(&mut self, event: &Event) {
        match event.body {
            Body::Runtime(Runtime::LaneCreated) => _ = self.since.insert(event.lane, event.time),
            Body::Runtime(Runtime::LaneDeleted) => {
                if let Some(since) = self.since.remove(&event.lane) {
                    self.ended.add((since, event.time), event.time.since(since));
                }
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_life_that_begins_and_ends_counts() {
        let mut lives = Lives::default();
        let mut push = |ns, lane, body| {
            lives.push(&Event { time: Time(ns), lane: LaneId(lane), body: Body::Runtime(body) });
        };
        push(10, 1, Runtime::LaneCreated);
        push(15, 2, Runtime::LaneDeleted);
        push(40, 1, Runtime::LaneDeleted);
        push(50, 1, Runtime::LaneCreated);
        assert_eq!((lives.ended.count, lives.ended.ns), (1, 30));
    }
}
