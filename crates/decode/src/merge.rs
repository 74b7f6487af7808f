//! One stream out of several: the runtime's events, the kernel's, the
//! recorder's samples. Holds one event per source. Refuses to sort: a source is
//! taken at its word, and what it gives late comes out late, at once.

use rtscope_model::{Event, Time};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;

/// A source of events in time order.
pub type Source<'a> = Box<dyn Iterator<Item = Event> + 'a>;

/// Events of all sources by time; at the same time the earlier source first.
pub struct Merge<'a> {
    sources: Vec<Source<'a>>,
    /// The next event of each source that has one, by source.
    next: Vec<Option<Event>>,
    heap: BinaryHeap<Reverse<(Time, usize)>>,
}

impl<'a> Merge<'a> {
    /// Merges `sources`; takes the first event of each at once.
    pub fn new(mut sources: Vec<Source<'a>>) -> Merge<'a> {
        let next: Vec<Option<Event>> = sources.iter_mut().map(Iterator::next).collect();
        let first = |(index, event): (usize, &Option<Event>)| event.map(|event| Reverse((event.time, index)));
        let heap = next.iter().enumerate().filter_map(first).collect();
        Merge { sources, next, heap }
    }
}

impl Iterator for Merge<'_> {
    type Item = Event;

    fn next(&mut self) -> Option<Event> {
        let mut top = self.heap.peek_mut()?;
        let index = top.0.1;
        let following = self.sources.get_mut(index).and_then(Iterator::next);
        let event = std::mem::replace(self.next.get_mut(index)?, following);
        match following {
            Some(following) => top.0.0 = following.time,
            None => {
                PeekMut::pop(top);
            }
        }
        event
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rtscope_model::{Body, LaneId, Sample};

    fn source(lane: u16, times: &'static [u64]) -> Source<'static> {
        let body = Body::Sample(Sample::Late { ns: 0 });
        Box::new(times.iter().map(move |time| Event { time: Time(*time), lane: LaneId(lane), body }))
    }

    fn merged(sources: Vec<Source<'_>>) -> Vec<(u64, u16)> {
        Merge::new(sources).map(|event| (event.time.0, event.lane.0)).collect()
    }

    #[test]
    fn events_come_by_time_and_then_by_source() {
        let found = merged(vec![source(0, &[1, 5, 5, 9]), source(1, &[]), source(2, &[1, 2, 5, 20])]);
        assert_eq!(found, [(1, 0), (1, 2), (2, 2), (5, 0), (5, 0), (5, 2), (9, 0), (20, 2)]);
    }

    #[test]
    fn a_late_event_comes_at_once_and_nothing_is_lost() {
        let found = merged(vec![source(0, &[1, 10, 3, 11]), source(1, &[4, 12])]);
        assert_eq!(found, [(1, 0), (4, 1), (10, 0), (3, 0), (11, 0), (12, 1)]);
    }

    #[test]
    fn no_sources_give_no_events() {
        assert_eq!(merged(Vec::new()), []);
    }
}
