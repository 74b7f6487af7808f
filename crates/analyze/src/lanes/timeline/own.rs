//! What the program reports that it does, as a line: on each lane its innermost open span.
//!
//! Owns pairing begins with ends by lane and name, as [`crate::program::user`] does. If one end of a span was not
//! seen, the span ends where that becomes evident. Refuses names: they are numbers here.

use crate::basis::compose::{Composer, Segment};
use rtscope_model::{Body, Event, LaneId, NameId, Runtime, Time, UserEvent};
use std::collections::BTreeMap;

/// Open spans of one lane; a new one replaces the oldest.
const OPEN_MAX: usize = 1_024;

#[derive(Default)]
struct SpanStack {
    /// Names, each with a number that distinguishes two adjacent spans of the same name.
    open: Vec<(NameId, u32)>,
    line: Composer<(NameId, u32)>,
    count: u32,
}

/// The fold over the program's own spans.
#[derive(Default)]
pub struct OwnSpans {
    lanes: BTreeMap<LaneId, SpanStack>,
}

impl OwnSpans {
    /// Takes the next event; finished spans go to `out`.
    pub fn push(&mut self, event: &Event, out: &mut impl FnMut(LaneId, Segment<NameId>)) {
        let Body::Runtime(body) = event.body else { return };
        match body {
            Runtime::User(name, UserEvent::Begin) => {
                let lane = self.lanes.entry(event.lane).or_default();
                if lane.open.len() >= OPEN_MAX {
                    lane.open.remove(0);
                }
                lane.count = lane.count.wrapping_add(1);
                lane.open.push((name, lane.count));
            }
            Runtime::User(name, UserEvent::End) => {
                let Some(lane) = self.lanes.get_mut(&event.lane) else { return };
                let Some(index) = lane.open.iter().rposition(|open| open.0 == name) else { return };
                lane.open.remove(index);
            }
            Runtime::Gap | Runtime::LaneCreated | Runtime::LaneDeleted => {
                let Some(lane) = self.lanes.get_mut(&event.lane) else { return };
                lane.open.clear();
            }
            _ => return,
        }
        if let Some(lane) = self.lanes.get_mut(&event.lane) {
            lane.line.enter(event.time, lane.open.last().copied());
            lane.line.flush(event.time.plus(1), &mut |segment| out(event.lane, named(segment)));
        }
    }

    /// Ends the stream at `end`.
    pub fn finish(&mut self, end: Time, out: &mut impl FnMut(LaneId, Segment<NameId>)) {
        for (id, lane) in &mut self.lanes {
            lane.line.finish(end, &mut |segment| out(*id, named(segment)));
        }
    }
}

fn named(segment: Segment<(NameId, u32)>) -> Segment<NameId> {
    Segment { from: segment.from, to: segment.to, state: segment.state.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Script;

    #[test]
    fn the_innermost_span_is_what_a_lane_does() {
        let posted = |script: Script, at, name, posted| script.rt(at, 0, Runtime::User(NameId(name), posted));
        let script = posted(Script::default(), 10, 1, UserEvent::Begin);
        let script = posted(script, 20, 2, UserEvent::Begin);
        // Not nested: the outer span ends first.
        let script = posted(script, 30, 1, UserEvent::End);
        let script = posted(script, 40, 2, UserEvent::End);
        let script = posted(script, 50, 3, UserEvent::End);
        let script = posted(script, 60, 1, UserEvent::Begin);
        let mut spans = OwnSpans::default();
        let mut out = Vec::new();
        let mut take = |_: LaneId, segment: Segment<NameId>| out.push((segment.from.0, segment.to.0, segment.state.0));
        script.events().iter().for_each(|event| spans.push(event, &mut take));
        spans.finish(Time(70), &mut take);
        assert_eq!(out, [(10, 20, 1), (20, 40, 2), (60, 70, 1)]);
    }
}
