//! What each lane did over the whole run, in a few hundred columns.
//!
//! Owns how lane time is summed: in columns of one width for all lanes. The width doubles as the run goes on, so memory
//! does not depend on its length. Keeps [`LANES_MAX`] lanes and counts the others. Refuses to decide what a lane does.

use rtscope_model::{LaneId, Time};

/// Maximum number of lanes: those with the lowest numbers are kept.
pub const LANES_MAX: u16 = 16;
/// Maximum number of columns.
pub const COLUMNS_MAX: usize = 240;
const WIDTH_NS: u64 = 1 << 16;

rtscope_model::listed! {
    /// What a lane's time counts as in such a drawing, in stacking order.
    #[derive(Copy, Clone, Eq, PartialEq, Debug)]
    pub enum LaneTime {
        /// The program.
        Program,
        /// A collection, or collector work between pauses.
        Collecting,
        /// Standing still for a pause.
        Standing,
        /// Standing still until it is back at work.
        Release,
        /// It has work, and a CPU quota was used up.
        Throttled,
        /// It has work, and others have the CPU, or it is not known who does.
        WaitsForCpu,
        /// It has work, and the program's own threads have the CPU.
        Queued,
        /// It has work, and is kept in a call or a fault.
        Kept,
        /// It has nothing to run.
        Idle,
        /// Not known.
        Unknown,
    }
}

/// Nanoseconds of each [`LaneTime`] in one column.
pub type Column = [u64; LaneTime::ALL.len()];

/// The lanes of a run.
#[derive(Clone, Debug, Default)]
pub struct LanesOverTime {
    /// Start of the first column.
    pub from: Time,
    /// Width of a column, nanoseconds.
    pub column_ns: u64,
    /// Lanes by number, each with its columns. Missing columns lie before the lane's start or after its end.
    pub lanes: Vec<(LaneId, Vec<Column>)>,
    /// Number of lanes that are not kept.
    pub left_out: u64,
}

impl LanesOverTime {
    /// Adds what the time of `lane` counts as between two moments.
    pub fn add(&mut self, lane: LaneId, (from, to): (Time, Time), what: LaneTime) {
        if lane.0 >= LANES_MAX {
            self.left_out = self.left_out.max(u64::from(lane.0 - LANES_MAX) + 1);
            return;
        }
        if self.column_ns == 0 {
            (self.from, self.column_ns) = (from, WIDTH_NS);
        }
        let (from, to) = (from.since(self.from), to.since(self.from));
        while to.div_ceil(self.column_ns) > COLUMNS_MAX as u64 {
            self.widen();
        }
        let place = self.lanes.partition_point(|(known, _)| known.0 < lane.0);
        if self.lanes.get(place).is_none_or(|(known, _)| *known != lane) {
            self.lanes.insert(place, (lane, Vec::new()));
        }
        let Some((_, columns)) = self.lanes.get_mut(place) else { return };
        let mut at = from;
        while at < to {
            let column = at / self.column_ns;
            let end = (column + 1).saturating_mul(self.column_ns).min(to);
            let column = usize::try_from(column).unwrap_or(COLUMNS_MAX);
            if columns.len() <= column {
                columns.resize(column + 1, Column::default());
            }
            if let Some(ns) = columns.get_mut(column).and_then(|column| column.get_mut(what as usize)) {
                *ns += end - at;
            }
            at = end;
        }
    }

    /// The kernel's events do not fit the log: what rests on them becomes unknown.
    pub fn without_kernel(&mut self) {
        use LaneTime::{Idle, Kept, Program, Queued, Throttled, WaitsForCpu};
        for column in self.lanes.iter_mut().flat_map(|(_, columns)| columns) {
            let by_kernel = [Program, Throttled, WaitsForCpu, Queued, Kept, Idle];
            let sum = by_kernel.iter().map(|what| std::mem::take(&mut column[*what as usize])).sum::<u64>();
            column[LaneTime::Unknown as usize] += sum;
        }
    }

    /// Merges columns in pairs.
    fn widen(&mut self) {
        self.column_ns = self.column_ns.saturating_mul(2);
        for (_, columns) in &mut self.lanes {
            let joined = columns.chunks(2).map(|pair| {
                let mut sum = Column::default();
                for column in pair {
                    sum.iter_mut().zip(column).for_each(|(sum, ns)| *sum = sum.saturating_add(*ns));
                }
                sum
            });
            *columns = joined.collect();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_double_and_nothing_is_lost() {
        let mut found = LanesOverTime::default();
        let states = [LaneTime::Program, LaneTime::Standing, LaneTime::Throttled, LaneTime::Release];
        let mut at = 1_000;
        for (index, length) in (0..20_000u64).map(|n| (n as usize, 1 + n * 7_919 % 40_000)) {
            found.add(LaneId((index % 3) as u16), (Time(at), Time(at + length)), states[index % 4]);
            at += length;
        }
        let sum: u64 = found.lanes.iter().flat_map(|(_, columns)| columns.iter().flatten()).sum();
        assert_eq!(sum, at - 1_000);
        assert_eq!(found.lanes.iter().map(|(lane, _)| lane.0).collect::<Vec<_>>(), [0, 1, 2]);
        assert!(found.lanes.iter().all(|(_, columns)| columns.len() <= COLUMNS_MAX));
        assert!(found.column_ns * COLUMNS_MAX as u64 >= at - 1_000 && found.column_ns < 4 * at / COLUMNS_MAX as u64);
        for (_, columns) in &found.lanes {
            assert!(columns.iter().all(|column| column.iter().sum::<u64>() <= found.column_ns));
        }
    }

    #[test]
    fn without_the_kernel_only_what_the_log_shows_stays() {
        let mut found = LanesOverTime::default();
        for (at, what) in (0..).zip(LaneTime::ALL) {
            found.add(LaneId(0), (Time(at), Time(at + 1)), what);
        }
        found.without_kernel();
        let [(_, columns)] = &found.lanes[..] else { panic!("one lane") };
        assert_eq!(columns[..], [[0, 1, 1, 1, 0, 0, 0, 0, 0, 7]]);
    }

    #[test]
    fn three_days_and_many_lanes_are_few_columns() {
        let mut found = LanesOverTime::default();
        for lane in 0..512 {
            found.add(LaneId(lane), (Time(5), Time(3 * 86_400 * 1_000_000_000)), LaneTime::Idle);
        }
        assert_eq!((found.lanes.len(), found.left_out), (16, 496));
        assert!(found.lanes.iter().all(|(_, columns)| columns.len() <= COLUMNS_MAX));
        found.add(LaneId(0), (Time(7), Time(u64::MAX)), LaneTime::Unknown);
        assert!(found.lanes.iter().all(|(_, columns)| columns.len() <= COLUMNS_MAX));
    }
}
