//! What other programs did to the CPUs while a trial ran, and waiting for them to be idle. Owns
//! the limits above which a trial is not trusted; refuses to say which programs they were.

use super::sleep_until;
use crate::machine::cpu_list;
use crate::machine::taken::Ticks;
use crate::system::clock;
use crate::system::procfs::{self, Host};
use std::os::fd::BorrowedFd;
use std::time::{Duration, Instant};

/// Shares above which a trial is dirty, 0 to 1.
#[derive(Copy, Clone, PartialEq, Debug)]
pub struct Bounds {
    /// Limit for others' CPU time. On a shared machine, medians of unsupervised trials were
    /// wrong three to four times.
    pub foreign: f64,
    /// Limit for stolen time. Others' work mostly fills CPUs that the trial leaves idle; but a
    /// hypervisor takes time from a thread that wanted to run, and the trial becomes longer
    /// by all of it. A study distinguishes gains of 5 % from none.
    pub steal: f64,
}

impl Default for Bounds {
    fn default() -> Bounds {
        Bounds { foreign: 0.12, steal: 0.05 }
    }
}

/// The kernel charges a whole tick to the process that runs when it comes: this many above the
/// limit mean nothing. They matter only in trials of a fraction of a second.
const EDGE_TICKS: f64 = 3.0;

/// Interference during a trial. Shares are of the CPUs that it may use, 0 to 1; `None` if
/// this kernel does not report them.
#[derive(Copy, Clone, PartialEq, Debug, Default)]
pub struct Noise {
    /// Share used by others, including the hypervisor.
    pub foreign: Option<f64>,
    /// Share taken by the hypervisor.
    pub steal: Option<f64>,
    /// Share of the time in which a runnable thread of the machine waited for a CPU (PSI).
    pub pressure: Option<f64>,
    /// Ticks that passed on all these CPUs, idle or not.
    pub ticks: u64,
}

impl Noise {
    /// Why a trial with this noise does not count, in words; `None`: it counts.
    pub fn dirty(&self, bounds: &Bounds) -> Option<String> {
        let edge = if self.ticks == 0 { 0.0 } else { EDGE_TICKS / self.ticks as f64 };
        let above = |share: Option<f64>, most: f64| share.filter(|share| *share > most + edge);
        let reason = |share: f64, most: f64, taker: &str| {
            format!("{taker} had {:.0} % of its CPUs, more than {:.0} %", share * 100.0, most * 100.0)
        };
        let (foreign, steal) = (bounds.foreign, bounds.steal);
        let stolen = above(self.steal, steal).map(|share| reason(share, steal, "the host of this machine"));
        stolen.or_else(|| above(self.foreign, foreign).map(|share| reason(share, foreign, "others")))
    }
}

/// Measures noise from its creation on.
#[derive(Debug)]
pub(super) struct Meter {
    host: Host,
    cpus: Vec<u32>,
    ticks: Option<Ticks>,
    pressure_us: Option<u64>,
    began: Instant,
}

impl Meter {
    /// Starts measuring these CPUs, or all that this process may use.
    pub(super) fn begin(host: &Host, cpus: Option<&[u32]>) -> Meter {
        let cpus = cpus.map_or_else(|| allowed(host), <[u32]>::to_vec);
        let (ticks, pressure_us) = (Ticks::on(host, &cpus), pressure(host));
        Meter { host: host.clone(), cpus, ticks, pressure_us, began: Instant::now() }
    }

    /// What others did since then. CPU time of `own_ns`, in addition to that of this process and
    /// of children it waited for, does not count as others'.
    pub(super) fn noise(&self, own_ns: u64) -> Noise {
        let passed = self.ticks.zip(Ticks::on(&self.host, &self.cpus)).map(|(before, now)| now - before);
        let elapsed_us = self.began.elapsed().as_micros() as f64;
        let waited = self.pressure_us.zip(pressure(&self.host)).map(|(before, now)| now.saturating_sub(before) as f64);
        // Interrupts during a trial are mostly for its own packets.
        let more = |ticks: Ticks| ticks.interrupts.saturating_add(own_ns / clock::tick_ns());
        Noise {
            foreign: passed.and_then(|ticks| Ticks { own: ticks.own.saturating_add(more(ticks)), ..ticks }.others()),
            steal: passed.and_then(|ticks| ticks.share(ticks.stolen)),
            pressure: waited.filter(|_| elapsed_us > 0.0).map(|waited| (waited / elapsed_us).min(1.0)),
            ticks: passed.map_or(0, |ticks| ticks.all),
        }
    }
}

fn allowed(host: &Host) -> Vec<u32> {
    let status = host.text("/proc/self/status").unwrap_or_default();
    procfs::field(&status, "Cpus_allowed_list").and_then(|list| cpu_list::parse(list).ok()).unwrap_or_default()
}

/// Total microseconds in which a thread waited.
fn pressure(host: &Host) -> Option<u64> {
    let text = host.text("/proc/pressure/cpu")?;
    let some = text.lines().find_map(|line| line.strip_prefix("some "))?;
    some.split(' ').find_map(|word| word.strip_prefix("total="))?.parse().ok()
}

/// When a trial may start.
#[derive(Copy, Clone, Debug)]
pub struct Gate {
    /// How long the CPUs have to be idle.
    pub quiet: Duration,
    /// When to give up waiting.
    pub patience: Duration,
    /// The CPUs count as idle if others use at most this share of them, 0 to 1.
    pub foreign: f64,
}

impl Default for Gate {
    fn default() -> Gate {
        Gate {
            quiet: Duration::from_millis(100),
            patience: Duration::from_secs(60),
            foreign: Bounds::default().foreign,
        }
    }
}

/// Why waiting ended without a quiet machine.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
pub enum NotQuiet {
    /// Others were never quiet for long enough.
    #[error("in {patience_s} s its CPUs were never idle for {quiet_ms} ms: others had {:.0} % of them at least, {:.0} % in the mean", least * 100.0, mean * 100.0)]
    Never {
        /// How long the wait was, seconds.
        patience_s: u64,
        /// How long the CPUs should have been idle, milliseconds.
        quiet_ms: u64,
        /// The smallest share of others that was seen, 0 to 1.
        least: f64,
        /// The mean share of others, 0 to 1.
        mean: f64,
    },
    /// The caller's descriptor became readable.
    #[error("interrupted")]
    Interrupted,
}

impl Gate {
    /// Waits until these CPUs, or all that this process may use, are idle. Returns at once if the
    /// kernel does not report it, or no quiet time is required.
    ///
    /// # Errors
    /// They never were, or `wake` became readable.
    pub fn wait(&self, host: &Host, cpus: Option<&[u32]>, wake: Option<BorrowedFd<'_>>) -> Result<(), NotQuiet> {
        // A tick of another program can fall into an empty window and fill it.
        if self.quiet.is_zero() {
            return Ok(());
        }
        let began = Instant::now();
        let (mut least, mut sum, mut looks) = (1.0_f64, 0.0, 0.0);
        loop {
            let meter = Meter::begin(host, cpus);
            if sleep_until(Instant::now() + self.quiet, None, wake).woken {
                return Err(NotQuiet::Interrupted);
            }
            let noise = meter.noise(0);
            let Some(share) = noise.foreign else { return Ok(()) };
            // No allowance for ticks at the edge: one window is as good as another.
            if share <= self.foreign {
                return Ok(());
            }
            (least, sum, looks) = (least.min(share), sum + share, looks + 1.0);
            if began.elapsed() >= self.patience {
                let (patience_s, quiet_ms) = (self.patience.as_secs(), self.quiet.as_millis() as u64);
                return Err(NotQuiet::Never { patience_s, quiet_ms, least, mean: sum / looks });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trial_is_dirty_by_what_others_or_the_host_had() {
        let noise = |foreign, steal| Noise { foreign: Some(foreign), steal: Some(steal), pressure: None, ticks: 1000 };
        assert_eq!(noise(0.12, 0.05).dirty(&Bounds::default()), None);
        assert_eq!(noise(0.3, 0.0).dirty(&Bounds::default()).unwrap(), "others had 30 % of its CPUs, more than 12 %");
        assert_eq!(
            noise(0.1, 0.1).dirty(&Bounds::default()).unwrap(),
            "the host of this machine had 10 % of its CPUs, more than 5 %"
        );
        // Twenty ticks are a tenth of a second on two CPUs: four of them are not certain.
        assert_eq!(Noise { ticks: 20, ..noise(0.2, 0.15) }.dirty(&Bounds::default()), None);
        assert!(Noise { ticks: 20, ..noise(0.3, 0.0) }.dirty(&Bounds::default()).is_some());
        assert_eq!(Noise::default().dirty(&Bounds::default()), None, "a kernel that says nothing");
    }

    #[test]
    fn shares_are_of_the_trials_own_cpus() {
        let tree = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = tree.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        write("proc/self/stat", "7 (a) S 1 7 7 0 -1 4194304 102 0 0 0 0 0 0 0 20 0 1 0 1342988");
        write("proc/self/status", "Cpus_allowed_list:\t0-1\n");
        write("proc/stat", "cpu0 0 0 0 1 0 0 0 0\ncpu1 0 0 0 1 0 0 0 0\ncpu2 0 0 0 1 0 0 0 0\n");
        let host = Host::at(tree.path());
        let (all, one) = (Meter::begin(&host, None), Meter::begin(&host, Some(&[1])));
        write("proc/stat", "cpu0 50 0 0 51 0 0 0 0\ncpu1 10 0 0 81 0 0 0 10\ncpu2 900 0 0 1 0 0 0 0\n");
        let noise = all.noise(0);
        assert_eq!((noise.foreign, noise.steal, noise.pressure), (Some(0.35), Some(0.05), None));
        assert_eq!(one.noise(0).foreign, Some(0.2));
        assert_eq!(one.noise(10 * clock::tick_ns()).foreign, Some(0.1));
    }
}
