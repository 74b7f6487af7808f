//! The tracer's own disturbance: time in which lanes wrote log buffers.

use crate::basis::union::Union;
use crate::folds::{End, Fold};
use crate::results::{Results, Tracer};
use rtscope_model::{Body, Class, Classes, Event, Runtime, Time};

#[derive(Default)]
pub struct Disturbance {
    write_ns: u64,
    write_max_ns: u64,
    /// Wall-clock time: lanes may write at the same time.
    pub wall: Union,
    pub longest: Option<(Time, Time)>,
    pub writes: u64,
}

impl Fold for Disturbance {
    fn classes(&self) -> Classes {
        Classes::NONE.with(Class::Tracer)
    }

    fn event(&mut self, event: &Event) {
        let Body::Runtime(Runtime::TracerWrote { ns }) = event.body else { return };
        let at = event.time;
        self.write_ns = self.write_ns.saturating_add(ns);
        self.writes += 1;
        self.wall.add(at.minus(ns), at);
        if self.longest.is_none() || ns > self.write_max_ns {
            self.longest = Some((at.minus(ns), at));
        }
        self.write_max_ns = self.write_max_ns.max(ns);
    }

    /// Time of the recorder's own threads is left to findings.
    fn result(&mut self, end: &End<'_>, results: &mut Results) {
        let logged = end.logged && end.context.runtime.info().posts.writes;
        results.tracer = Tracer {
            write_ns: logged.then_some(self.write_ns),
            write_max_ns: logged.then_some(self.write_max_ns),
            recorder_cpu_ns: end.context.own_cost.as_ref().map(|cost| cost.cpu_ns),
            recorder_held_ns: None,
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Tail;
    use rtscope_model::LaneId;

    #[test]
    fn writes_add_up_and_no_log_is_null() {
        let mut disturbance = Disturbance::default();
        for (at, ns) in [(10, 3), (20, 9), (22, 4)] {
            let body = Body::Runtime(Runtime::TracerWrote { ns });
            disturbance.event(&Event { time: Time(at), lane: LaneId(0), body });
        }
        let tracer = |disturbance: &mut Disturbance, logged| {
            let (context, tail) = (crate::testing::context(), Tail::default());
            let mut results = Results::default();
            let end =
                End { context: &context, tail: &tail, end: Time(30), span_ns: 30, logged, kernel: false, code: None };
            disturbance.result(&end, &mut results);
            (results.tracer.write_ns, results.tracer.write_max_ns)
        };
        assert_eq!(tracer(&mut disturbance, true), (Some(16), Some(9)));
        assert_eq!((disturbance.wall.ns(), disturbance.writes), (3 + 11, 3));
        assert_eq!(disturbance.longest, Some((Time(11), Time(20))));
        assert_eq!(tracer(&mut disturbance, false), (None, None));
    }
}
