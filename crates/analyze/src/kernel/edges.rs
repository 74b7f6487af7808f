//! Of the runs and stops of green threads only those around collections: what [`Class::GreenEdges`] asks a
//! decoder for, taken from a stream that has them all because somebody else wants them. These are most of a
//! log, and an analysis that does not look at each green thread has no use for them.
//!
//! Owns that choice, which is that of the decoder of eventlogs. A stop is told when it turns out to be the last
//! before a collection: later than others of the same time, and with its own. Refuses everything else.
//!
//! [`Class::GreenEdges`]: rtscope_model::Class::GreenEdges

use rtscope_model::{Body, Counter, Event, LaneId, Runtime};

#[derive(Copy, Clone, Default)]
struct Lane {
    /// The next run is the first behind a collection.
    armed: bool,
    /// The last stop, if it has not been told.
    stop: Option<Event>,
}

/// The filter.
#[derive(Default)]
pub struct Edges {
    lanes: Vec<Lane>,
}

impl Edges {
    /// Hands `event` on, or keeps it back, or hands on what was kept back first.
    pub fn pass(&mut self, event: &Event, mut next: impl FnMut(&Event)) {
        let Body::Runtime(body) = event.body else { return next(event) };
        match body {
            Runtime::ThreadRun(_) => {
                if std::mem::replace(&mut self.lane(event.lane).armed, false) {
                    next(event);
                }
            }
            Runtime::ThreadStop(..) => self.lane(event.lane).stop = Some(*event),
            Runtime::ThreadCreated(_) | Runtime::ThreadWoken(_) => {}
            _ if event.lane.is_some() && collects(body) => {
                let lane = self.lane(event.lane);
                lane.armed |= arms(body);
                let stop = lane.stop.take();
                stop.iter().for_each(&mut next);
                next(event);
            }
            _ => next(event),
        }
    }

    fn lane(&mut self, id: LaneId) -> &mut Lane {
        let index = usize::from(id.0);
        if self.lanes.len() <= index {
            self.lanes.resize(index + 1, Lane::default());
        }
        &mut self.lanes[index]
    }
}

/// Posted in a collection, or a figure of the heap.
fn collects(body: Runtime) -> bool {
    let sparks = matches!(body, Runtime::Count(counter, _) if counter.is_spark());
    !sparks
        && matches!(
            body,
            Runtime::StopRequested { .. }
                | Runtime::CollectBegin
                | Runtime::CollectEnd
                | Runtime::WorkBegin
                | Runtime::WorkIdle
                | Runtime::WorkEnd
                | Runtime::GlobalSync
                | Runtime::Count(..)
        )
}

/// The next run is the first behind it. The leader posts what each lane has allocated while it holds them all.
fn arms(body: Runtime) -> bool {
    matches!(
        body,
        Runtime::CollectBegin | Runtime::CollectEnd | Runtime::WorkEnd | Runtime::Count(Counter::AllocatedBytes, _)
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Script;
    use rtscope_model::StopReason;

    #[test]
    fn the_first_run_and_the_last_stop_around_a_collection_are_left() {
        let script = Script::default()
            .run(10, 0, 1)
            .stop(20, 0, 1, StopReason::Yielded)
            .run(30, 0, 2)
            .stop(40, 0, 2, StopReason::Yielded)
            .request(50, 0, true)
            .begin(60, 0)
            .end(70, 0)
            .run(80, 0, 2)
            .stop(90, 0, 2, StopReason::Yielded)
            .run(95, 0, 2);
        let (mut edges, mut left) = (Edges::default(), Vec::new());
        script.events().iter().for_each(|event| edges.pass(event, |event| left.push(event.time.0)));
        assert_eq!(left, [40, 50, 60, 70, 80]);
    }
}
