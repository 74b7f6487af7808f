//! How much of this machine's CPU time other programs used during an interval. Owns reading
//! the kernel's counters (10 ms steps); refuses to say which programs used it.

use crate::system::procfs::Host;
use std::ops::{Add, Sub};

/// Clock ticks summed over all CPUs; differences are also `Ticks`.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct Ticks {
    /// All time, idle or not.
    pub all: u64,
    /// Not idle, or stolen by the host of this virtual machine.
    pub busy: u64,
    /// Part of `busy`: stolen by that host.
    pub stolen: u64,
    /// Part of `busy`: for interrupts, if this kernel does not charge them to processes.
    pub interrupts: u64,
    /// Used by this process and those of its descendants that it (or its children) waited for.
    pub own: u64,
}

impl Ticks {
    /// Reads the counters; `None` if this kernel does not show them.
    pub fn now(host: &Host) -> Option<Ticks> {
        parse(&host.text("/proc/stat")?, &host.text("/proc/self/stat")?)
    }

    /// Like [`Ticks::now`], but for these CPUs only; `own` still covers all CPUs.
    pub fn on(host: &Host, cpus: &[u32]) -> Option<Ticks> {
        let text = host.text("/proc/stat")?;
        let own = own(&host.text("/proc/self/stat")?)?;
        let counted = text.lines().filter_map(|line| {
            let (number, columns) = line.strip_prefix("cpu")?.split_once(' ')?;
            cpus.contains(&number.parse().ok()?).then(|| columns_of(columns))?
        });
        let sum = counted.fold(Ticks::default(), |sum, ticks| sum + ticks);
        (sum.all > 0).then_some(Ticks { own, ..sum })
    }

    /// Share of all CPU time that others used, 0 to 1; `None` if no tick has passed.
    pub fn others(&self) -> Option<f64> {
        // Running guests' time is counted as user time too.
        self.share(self.busy.saturating_sub(self.own))
    }

    /// `ticks` as a share of all, 0 to 1; `None` if no tick has passed.
    pub fn share(&self, ticks: u64) -> Option<f64> {
        (self.all > 0).then(|| (ticks as f64 / self.all as f64).min(1.0))
    }

    fn with(self, other: Ticks, both: fn(u64, u64) -> u64) -> Ticks {
        Ticks {
            all: both(self.all, other.all),
            busy: both(self.busy, other.busy),
            stolen: both(self.stolen, other.stolen),
            interrupts: both(self.interrupts, other.interrupts),
            own: both(self.own, other.own),
        }
    }
}

impl Sub for Ticks {
    type Output = Ticks;

    fn sub(self, before: Ticks) -> Ticks {
        self.with(before, u64::saturating_sub)
    }
}

impl Add for Ticks {
    type Output = Ticks;

    fn add(self, more: Ticks) -> Ticks {
        self.with(more, u64::saturating_add)
    }
}

fn parse(cpus: &str, own_stat: &str) -> Option<Ticks> {
    let columns = columns_of(cpus.lines().find_map(|line| line.strip_prefix("cpu "))?)?;
    Some(Ticks { own: own(own_stat)?, ..columns })
}

/// Columns: user, nice, system, idle, waiting for disks, interrupts (two kinds), stolen; then
/// guests, whose time the first two already include.
fn columns_of(text: &str) -> Option<Ticks> {
    let columns: Vec<u64> = text.split_ascii_whitespace().map_while(|word| word.parse().ok()).take(8).collect();
    let sum = |columns: &[u64]| columns.iter().fold(0, |sum: u64, ticks| sum.saturating_add(*ticks));
    let (idle, all) = (sum(columns.get(3..5)?), sum(&columns));
    let stolen = columns.get(7).copied().unwrap_or(0);
    let interrupts = sum(columns.get(5..7).unwrap_or_default());
    Some(Ticks { all, busy: all.saturating_sub(idle), stolen, interrupts, own: 0 })
}

/// Ticks of the process and of the children that it waited for, from its `stat`.
fn own(stat: &str) -> Option<u64> {
    let fields: Vec<&str> = stat.get(stat.rfind(')')? + 1..)?.split_ascii_whitespace().collect();
    Some(fields.get(11..15)?.iter().map_while(|word| word.parse::<u64>().ok()).fold(0, u64::saturating_add))
}

#[cfg(test)]
mod tests {
    use super::*;

    const OWN: &str = "7 (a ) b) S 1 7 7 0 -1 4194304 102 0 0 0 11 22 33 44 20 0 1 0 1342988";

    #[test]
    fn counters_are_read_and_what_is_own_is_not_others() {
        let before = parse("cpu  100 10 20 900 50 3 4 7 1 0\ncpu0 1 1 1 1 1 1 1 1\n", OWN).unwrap();
        assert_eq!(before, Ticks { all: 1094, busy: 144, stolen: 7, interrupts: 7, own: 110 });
        let after = Ticks { all: 1294, busy: 264, stolen: 17, interrupts: 9, own: 210 };
        assert_eq!((after - before).others(), Some(0.1));
        // More own time than busy time is a rounding effect, not a negative share.
        assert_eq!((Ticks { own: 900, ..after } - before).others(), Some(0.0));
        assert_eq!((before - after).others(), None);
        assert_eq!(
            (after - before) + (after - before),
            Ticks { all: 400, busy: 240, stolen: 20, interrupts: 4, own: 200 }
        );
        assert_eq!((after - before).share(50), Some(0.25));
    }

    #[test]
    fn cpus_are_counted_by_themselves() {
        let tree = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(tree.path().join("proc/self")).unwrap();
        std::fs::write(tree.path().join("proc/self/stat"), OWN).unwrap();
        let text = "cpu  9 9 9 9 9 9 9 9\ncpu0 1 0 0 9 0 0 0 0\ncpu1 2 0 0 8 0 0 0 1\ncpu10 5 0 0 5 0 0 0 0\nintr 1\n";
        std::fs::write(tree.path().join("proc/stat"), text).unwrap();
        let host = Host::at(tree.path());
        assert_eq!(
            Ticks::on(&host, &[1, 10]),
            Some(Ticks { all: 21, busy: 8, stolen: 1, own: 110, ..Ticks::default() })
        );
        assert_eq!(Ticks::on(&host, &[2]), None);
    }

    #[test]
    fn what_cannot_be_read_is_not_known() {
        for (cpus, own) in [("", OWN), ("cpu  1 2 3\n", OWN), ("cpu  1 2 3 4 5 6 7 8\n", "7 (cut"), ("cpu x\n", "")] {
            assert_eq!(parse(cpus, own), None, "{cpus:?} {own:?}");
        }
        let empty = tempfile::tempdir().unwrap();
        assert_eq!(Ticks::now(&Host::at(empty.path())), None);
    }

    #[test]
    fn a_child_s_time_is_own_once_it_was_waited_for() {
        let before = Ticks::now(&Host::default()).unwrap();
        let spin = "i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done";
        assert!(std::process::Command::new("sh").args(["-c", spin]).status().unwrap().success());
        assert!((Ticks::now(&Host::default()).unwrap() - before).own > 0);
    }
}
