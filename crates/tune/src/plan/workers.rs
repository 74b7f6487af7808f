//! How many workers a machine can run, how many of them should collect, and on which CPUs. Owns the
//! formulas that runtimes share; refuses to know flags.

use super::document::Goal;
use super::words;
use rtscope_model::Confidence;
use rtscope_model::resources::Resources;
use rtscope_model::units;

/// The CPUs that the number of workers depends on.
#[derive(Clone, PartialEq, Debug)]
pub struct Room {
    /// Allowed logical CPUs, at least 1.
    pub cpus: u32,
    /// Physical cores among them, at least 1 and at most `cpus`.
    pub cores: u32,
    /// The smallest CPU quota, in CPUs.
    pub quota: Option<f64>,
    /// The first CPU of each core.
    firsts: Vec<u32>,
    /// Nothing is known about CPUs.
    unknown: bool,
    hidden: bool,
    quota_path: Option<String>,
    mask_path: String,
    cores_path: String,
}

impl Room {
    /// Evaluates `resources`. Of contradictory figures, it takes the smallest.
    pub fn of(resources: &Resources) -> Room {
        let allowed = &resources.cpus_allowed;
        let cpus = u32::try_from(allowed.len()).unwrap_or(u32::MAX);
        let cores = if resources.cores == 0 { cpus } else { resources.cores };
        let firsts = resources.siblings.iter().filter_map(|core| core.iter().find(|cpu| allowed.contains(cpu)));
        let path = |whats: &[&str]| source_of(resources, whats).unwrap_or_else(|| "the affinity mask".to_owned());
        Room {
            cpus: cpus.max(1),
            cores: cores.clamp(1, cpus.max(1)),
            quota: resources.quota_cpus.filter(|quota| quota.is_finite() && *quota >= 0.0),
            firsts: firsts.copied().collect(),
            unknown: cpus == 0,
            hidden: resources.ancestors_hidden,
            quota_path: resources.quota_path.clone(),
            mask_path: path(&["cpus_allowed"]),
            cores_path: path(&["siblings", "package of cpu", "cpus_allowed"]),
        }
    }

    /// CPUs that can run all the time within the quota, at least 1.
    pub fn fed(&self) -> u32 {
        // Casts from floats saturate.
        self.quota.map_or(u32::MAX, |quota| (quota.floor() as u32).max(1))
    }

    /// The number of workers for `goal`.
    pub fn workers(&self, goal: Goal) -> u32 {
        match goal {
            Goal::Latency | Goal::Memory => self.cores.min(self.fed()).max(1),
            Goal::Throughput => {
                let quota = self.quota.map_or(u32::MAX, |quota| quota.ceil() as u32);
                self.cpus.min(quota).max(1)
            }
        }
    }

    /// How many of `workers` should collect.
    pub fn collectors(&self, workers: u32) -> u32 {
        workers.min(self.cores).min(self.fed()).max(1)
    }

    /// The CPU mask for `goal`, if smaller than the allowed one: one CPU per core.
    pub fn narrowed(&self, goal: Goal) -> Option<Vec<u32>> {
        let smaller = !self.firsts.is_empty() && (self.firsts.len() as u64) < u64::from(self.cpus);
        (goal == Goal::Latency && smaller && !self.unknown).then(|| {
            let mut cpus = self.firsts.clone();
            cpus.sort_unstable();
            cpus
        })
    }

    /// All allowed CPUs, first one of each core: the first few in this order share no core.
    pub fn order(&self, allowed: &[u32]) -> Vec<u32> {
        let mut order = self.firsts.clone();
        order.sort_unstable();
        order.dedup();
        order.extend(allowed.iter().filter(|cpu| !self.firsts.contains(cpu)));
        order
    }

    /// CPUs that a bare `-N` finds when `rtscope run` starts the program.
    pub fn found_by_the_runtime(&self, goal: Goal) -> u32 {
        self.narrowed(goal).map_or(self.cpus, |cpus| cpus.len() as u32)
    }

    /// CPUs that no worker needs, within quota and mask.
    pub fn spare(&self, workers: u32) -> f64 {
        self.quota.unwrap_or(f64::INFINITY).min(f64::from(self.cpus)) - f64::from(workers)
    }

    /// Why this number of workers.
    pub fn reason(&self, goal: Goal) -> String {
        if self.unknown {
            return "Which CPUs are allowed could not be read: one worker is right everywhere.".to_owned();
        }
        let throughput = goal == Goal::Throughput;
        let place = match (throughput, self.cores < self.cpus) {
            (true, true) => format!(
                "{} allowed, hyper-threads counted ({})",
                words::count(self.cpus.into(), "CPU"),
                words::count(self.cores.into(), "physical core")
            ),
            (true, false) => format!("{} allowed", words::count(self.cpus.into(), "CPU")),
            (false, _) => format!(
                "{} among {}",
                words::count(self.cores.into(), "physical core"),
                words::count(self.cpus.into(), "allowed CPU")
            ),
        };
        format!("{place}; {}.", self.about_the_quota(throughput))
    }

    fn about_the_quota(&self, throughput: bool) -> String {
        let Some(quota) = self.quota else {
            return if self.hidden { "no CPU quota is visible" } else { "no CPU quota" }.to_owned();
        };
        let quota_text = format!(
            "a quota of {} in {}",
            units::of_cpus(quota),
            self.quota_path.as_deref().unwrap_or("a control group")
        );
        if quota < 1.0 {
            return format!("{quota_text} does not feed even one: each more makes the others wait when it is used up");
        }
        if throughput {
            return format!("{quota_text} keeps at most {} busy", (quota.ceil() as u32));
        }
        format!("{quota_text} allows {} at a time without running out", self.fed())
    }

    /// The files that [`Room::reason`] is based on.
    pub fn source(&self, goal: Goal) -> String {
        let mask = if goal == Goal::Throughput { &self.mask_path } else { &self.cores_path };
        match &self.quota_path {
            Some(quota) if self.quota.is_some() => format!("{mask}, {quota}"),
            _ => mask.clone(),
        }
    }

    /// How certain the number of workers is.
    pub fn confidence(&self, goal: Goal) -> Confidence {
        match (self.unknown, self.hidden, goal) {
            (true, ..) => Confidence::Low,
            (_, true, _) | (.., Goal::Throughput) => Confidence::Medium,
            _ => Confidence::High,
        }
    }

    /// Why this number of them collects, given by the quota or the cores, whichever decides.
    pub fn reason_of_collectors(&self, workers: u32) -> String {
        let collectors = self.collectors(workers);
        if self.fed() <= self.cores.min(workers) && self.quota.is_some() {
            let quota = units::of_cpus(self.quota.unwrap_or_default());
            return format!(
                "{} share a quota of {quota}: collections wait for a worker that is stopped when it is used up, so {}.",
                words::count(workers.into(), "worker"),
                collecting(collectors)
            );
        }
        format!(
            "{} on {}: threads that collect spin while they wait for each other, so {}.",
            words::count(workers.into(), "worker"),
            words::count(self.cores.into(), "physical core"),
            collecting(collectors)
        )
    }
}

/// The file that the first available fact of `whats` comes from.
pub(crate) fn source_of(resources: &Resources, whats: &[&str]) -> Option<String> {
    let find = |what: &&str| resources.sources.iter().find(|source| source.what.starts_with(what));
    whats.iter().find_map(find).map(|source| source.path.clone())
}

fn collecting(collectors: u32) -> String {
    if collectors == 1 { "one thread collects".to_owned() } else { format!("{collectors} threads collect") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::machine;

    #[test]
    fn cores_and_quota_decide() {
        for (cores, threads, quota, latency, throughput) in [
            (4, 2, None, 4, 8),
            (1, 2, None, 1, 2),
            (4, 2, Some(2.5), 2, 3),
            (4, 2, Some(0.5), 1, 1),
            (4, 2, Some(1.5), 1, 2),
            (4, 2, Some(3.0), 3, 3),
            (4, 2, Some(100.0), 4, 8),
            (2, 1, Some(0.0), 1, 1),
            (2, 1, Some(f64::NAN), 2, 2),
            (2, 1, Some(-1.0), 2, 2),
            (1024, 2, Some(1e300), 1024, 2048),
        ] {
            let room = Room::of(&machine(cores, threads, quota));
            assert_eq!(room.workers(Goal::Latency), latency, "{cores} cores, quota {quota:?}");
            assert_eq!(room.workers(Goal::Memory), latency);
            assert_eq!(room.workers(Goal::Throughput), throughput, "{cores} cores, quota {quota:?}");
        }
    }

    #[test]
    fn collectors_are_no_more_than_cores_and_whole_cpus_of_quota() {
        let of = |cores, threads, quota, workers| Room::of(&machine(cores, threads, quota)).collectors(workers);
        assert_eq!(of(4, 2, None, 8), 4);
        assert_eq!(of(4, 2, Some(2.5), 3), 2);
        assert_eq!(of(4, 2, Some(0.5), 6), 1);
        assert_eq!(of(4, 2, None, 2), 2);
    }

    #[test]
    fn only_latency_narrows_and_never_widens() {
        let siblings = Room::of(&machine(4, 2, None));
        assert_eq!(siblings.narrowed(Goal::Latency), Some(vec![0, 2, 4, 6]));
        assert_eq!(siblings.narrowed(Goal::Throughput), None);
        assert_eq!(siblings.narrowed(Goal::Memory), None);
        assert_eq!(Room::of(&machine(4, 1, None)).narrowed(Goal::Latency), None);
        assert_eq!(Room::of(&Resources::default()).narrowed(Goal::Latency), None);
        // Sibling lists that name a CPU outside the mask are ignored.
        let odd =
            Resources { cpus_allowed: vec![5, 7], cores: 1, siblings: vec![vec![1, 5, 7]], ..Resources::default() };
        assert_eq!(Room::of(&odd).narrowed(Goal::Latency), Some(vec![5]));
    }

    #[test]
    fn cores_come_before_hyper_threads() {
        let machine = machine(2, 2, None);
        assert_eq!(Room::of(&machine).order(&machine.cpus_allowed), [0, 2, 1, 3]);
    }

    #[test]
    fn an_empty_machine_has_one_worker_and_a_reason() {
        let room = Room::of(&Resources::default());
        assert_eq!((room.workers(Goal::Latency), room.workers(Goal::Throughput)), (1, 1));
        assert_eq!(room.confidence(Goal::Latency), Confidence::Low);
        assert!(room.reason(Goal::Latency).contains("could not be read"));
    }

    #[test]
    fn reasons_hold_their_numbers() {
        let room = Room::of(&machine(4, 2, Some(2.5)));
        assert_eq!(
            room.reason(Goal::Latency),
            "4 physical cores among 8 allowed CPUs; a quota of 2.5 CPUs in /sys/fs/cgroup/x/cpu.max allows 2 at a time \
             without running out."
        );
        assert_eq!(
            room.source(Goal::Latency),
            "/sys/devices/system/cpu/cpu0/topology/core_cpus_list, /sys/fs/cgroup/x/cpu.max"
        );
        assert!(room.reason(Goal::Throughput).contains("keeps at most 3 busy"));
        let free = Room::of(&machine(1, 1, None));
        assert_eq!(free.reason(Goal::Latency), "1 physical core among 1 allowed CPU; no CPU quota.");
    }
}
