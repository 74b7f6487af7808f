//! Other load on the machine during a measurement: CPU time of other processes and of the host, load
//! average, pressure. Owns reading these from `/proc`; the caller decides how much is too much.

use rustix::param::clock_ticks_per_second;
use serde::{Deserialize, Serialize};
use std::fs;
use std::time::Instant;

/// Other load over a period.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Noise {
    /// Length of the period, seconds.
    pub seconds: f64,
    /// CPU time that neither this process nor its children took, as a share of all CPUs: 0 to 1. Expected
    /// processes are not counted.
    pub foreign: f64,
    /// CPU time that the host of this virtual machine took, as a share of all CPUs.
    pub steal: f64,
    /// Load average over one minute, at the start.
    pub load: f64,
    /// Share of the time in which some thread waited for a CPU (PSI), the program's own threads included;
    /// `None`: this kernel does not count it.
    pub pressure: Option<f64>,
}

impl Noise {
    /// CPU time that others took, inside or outside this machine.
    pub fn taken(&self) -> f64 {
        self.foreign + self.steal
    }
}

/// The machine's counters at one moment.
#[derive(Clone, Debug)]
pub struct Reading {
    at: Instant,
    all: Counters,
    /// Ticks of this process, its ended children and the expected processes.
    own: u64,
    pressure_us: Option<u64>,
    load: f64,
}

/// `/proc/stat`.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
struct Counters {
    cpus: u64,
    busy: u64,
    steal: u64,
}

impl Reading {
    /// Reads the counters; `expected`: processes that are meant to run during the measurement.
    pub fn now(expected: &[u32]) -> Reading {
        let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
        let of = |pid: &u32| ticks(&read(&format!("/proc/{pid}/stat"))).0;
        let (own, children) = ticks(&read("/proc/self/stat"));
        Reading {
            at: Instant::now(),
            all: counters(&read("/proc/stat")),
            own: own + children + expected.iter().map(of).sum::<u64>(),
            pressure_us: pressure_us(&read("/proc/pressure/cpu")),
            load: read("/proc/loadavg").split(' ').next().and_then(|text| text.parse().ok()).unwrap_or(0.0),
        }
    }

    /// The noise since `before`.
    pub fn since(&self, before: &Reading) -> Noise {
        let seconds = self.at.duration_since(before.at).as_secs_f64();
        let capacity = seconds * self.all.cpus.max(1) as f64 * clock_ticks_per_second() as f64;
        // A tick is 10 ms: more than four digits would say nothing.
        let rounded = |share: f64| (share.clamp(0.0, 1.0) * 1e4).round() / 1e4;
        let share = |ticks: u64| rounded(if capacity > 0.0 { ticks as f64 / capacity } else { 0.0 });
        let busy = self.all.busy.saturating_sub(before.all.busy);
        let waited = |us: u64, earlier: u64| rounded(us.saturating_sub(earlier) as f64 / 1e6 / seconds.max(1e-6));
        Noise {
            seconds: (seconds * 1e3).round() / 1e3,
            foreign: share(busy.saturating_sub(self.own.saturating_sub(before.own))),
            steal: share(self.all.steal.saturating_sub(before.all.steal)),
            load: before.load,
            pressure: self.pressure_us.zip(before.pressure_us).map(|(us, earlier)| waited(us, earlier)),
        }
    }
}

/// Sums over all CPUs. Guest time is part of user time; waiting for disks counts as idle.
fn counters(stat: &str) -> Counters {
    let cpus = stat.lines().filter(|line| line.starts_with("cpu") && !line.starts_with("cpu ")).count() as u64;
    let sums = stat.lines().find_map(|line| line.strip_prefix("cpu ")).unwrap_or_default();
    let sums: Vec<u64> = sums.split_whitespace().map(|text| text.parse().unwrap_or(0)).collect();
    let at = |number: usize| sums.get(number).copied().unwrap_or(0);
    // user, nice, system, idle, iowait, irq, softirq, steal
    Counters { cpus, busy: at(0) + at(1) + at(2) + at(5) + at(6), steal: at(7) }
}

/// From a process's `stat`: its own ticks and those of children that it has waited for.
fn ticks(stat: &str) -> (u64, u64) {
    // The name may contain spaces and parentheses.
    let rest = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
    let fields: Vec<&str> = rest.split_whitespace().collect();
    let at = |number: usize| fields.get(number).and_then(|text| text.parse::<u64>().ok()).unwrap_or(0);
    (at(11) + at(12), at(13) + at(14))
}

fn pressure_us(text: &str) -> Option<u64> {
    let some = text.lines().find(|line| line.starts_with("some "))?;
    some.split("total=").nth(1)?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn counters_are_read() {
        let stat =
            "cpu  100 10 20 900 50 3 4 7 1 0\ncpu0 50 5 10 450 25 1 2 3 0 0\ncpu1 50 5 10 450 25 2 2 4 1 0\nintr 1\n";
        assert_eq!(counters(stat), Counters { cpus: 2, busy: 137, steal: 7 });
        assert_eq!(counters(""), Counters::default());
        let process = "7 (a ) b) S 1 7 7 0 -1 4194304 102 0 0 0 11 22 33 44 20 0 1 0 1342988";
        assert_eq!((ticks(process), ticks("7 (cut")), ((33, 77), (0, 0)));
        assert_eq!(pressure_us("some avg10=2.00 avg60=1.00 avg300=0.50 total=5347\nfull total=9\n"), Some(5347));
        assert_eq!(pressure_us(""), None);
    }

    #[test]
    fn what_was_started_here_is_not_foreign() {
        let at = Instant::now();
        let all = Counters { cpus: 2, busy: 1000, steal: 5 };
        let before = Reading { at, all, own: 300, pressure_us: Some(0), load: 1.5 };
        // In 10 s, two CPUs have 2000 ticks at 100 per second.
        let ticks = clock_ticks_per_second() / 100;
        let after = Reading {
            at: at + Duration::from_secs(10),
            all: Counters { cpus: 2, busy: 1000 + 1100 * ticks, steal: 5 + 40 * ticks },
            own: 300 + 1000 * ticks,
            pressure_us: Some(2_500_000),
            load: 9.0,
        };
        let noise = after.since(&before);
        assert_eq!((noise.foreign, noise.steal, noise.load), (0.05, 0.02, 1.5));
        assert_eq!((noise.pressure, noise.seconds), (Some(0.25), 10.0));
        assert!((noise.taken() - 0.07).abs() < 1e-9);
        // Counters that went back are not noise.
        assert_eq!(before.since(&Reading { at, ..after }).foreign, 0.0);
    }

    #[test]
    fn a_child_s_time_counts_as_own_once_it_has_ended() {
        let before = Reading::now(&[]);
        let spin = "i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done";
        assert!(std::process::Command::new("sh").args(["-c", spin]).status().unwrap().success());
        assert!(Reading::now(&[]).own > before.own);
    }
}
