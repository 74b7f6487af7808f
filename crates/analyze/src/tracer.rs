//! The tracer's own disturbance: time in which lanes wrote log buffers.

use crate::results::Tracer;
use rtscope_model::manifest::OwnCost;

/// The fold.
#[derive(Default)]
pub struct Disturbance {
    write_ns: u64,
    write_max_ns: u64,
}

impl Disturbance {
    /// A lane wrote for `ns`.
    pub fn wrote(&mut self, ns: u64) {
        self.write_ns = self.write_ns.saturating_add(ns);
        self.write_max_ns = self.write_max_ns.max(ns);
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
        [3, 9, 4].iter().for_each(|ns| disturbance.wrote(*ns));
        let values = disturbance.values(true, None, Some(5));
        assert_eq!((values.write_ns, values.write_max_ns, values.recorder_held_ns), (Some(16), Some(9), Some(5)));
        assert_eq!(disturbance.values(false, None, None).write_ns, None);
    }
}
