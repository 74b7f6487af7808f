//! The tracer's own disturbance: time in which lanes wrote log buffers.

use crate::basis::union::Union;
use crate::results::Tracer;
use rtscope_model::Time;
use rtscope_model::manifest::OwnCost;

/// The fold.
#[derive(Default)]
pub struct Disturbance {
    write_ns: u64,
    write_max_ns: u64,
    /// On the wall: lanes may write at the same time.
    wall: Union,
    longest: Option<(Time, Time)>,
    writes: u64,
}

impl Disturbance {
    /// A lane wrote for `ns` until `at`.
    pub fn wrote(&mut self, at: Time, ns: u64) {
        self.write_ns = self.write_ns.saturating_add(ns);
        self.writes += 1;
        self.wall.add(at.minus(ns), at);
        if self.longest.is_none() || ns > self.write_max_ns {
            self.longest = Some((at.minus(ns), at));
        }
        self.write_max_ns = self.write_max_ns.max(ns);
    }

    /// Wall-clock time in which any lane wrote, nanoseconds.
    pub fn wall_ns(&self) -> u64 {
        self.wall.ns()
    }

    /// How many writes, and the longest one.
    pub fn writes(&self) -> (u64, Option<(Time, Time)>) {
        (self.writes, self.longest)
    }

    /// The figures; `logged`: there was a log at all.
    pub fn values(&self, logged: bool, own_cost: Option<&OwnCost>, recorder_held_ns: Option<u64>) -> Tracer {
        Tracer {
            write_ns: logged.then_some(self.write_ns),
            write_max_ns: logged.then_some(self.write_max_ns),
            recorder_cpu_ns: own_cost.map(|cost| cost.cpu_ns),
            recorder_held_ns,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writes_add_up_and_no_log_is_null() {
        let mut disturbance = Disturbance::default();
        [(10, 3), (20, 9), (22, 4)].iter().for_each(|(at, ns)| disturbance.wrote(Time(*at), *ns));
        let values = disturbance.values(true, None, Some(5));
        assert_eq!((values.write_ns, values.write_max_ns, values.recorder_held_ns), (Some(16), Some(9), Some(5)));
        assert_eq!((disturbance.wall_ns(), disturbance.writes()), (3 + 11, (3, Some((Time(11), Time(20))))));
        assert_eq!(disturbance.values(false, None, None).write_ns, None);
    }
}
