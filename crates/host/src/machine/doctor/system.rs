//! What else of the machine is visible: another process's memory, control
//! groups, pressure, steal, clocks; and limits that restrict recording.

use super::check::{Check, State};
use super::perf::{CAP_SYS_PTRACE, effective_capabilities};
use crate::machine::cgroup;
use crate::system::procfs::{Host, ProcName};
use rustix::process::{Resource, getrlimit};
use std::fs;
use std::path::{Path, PathBuf};

/// Rings smaller than this drop records on a busy CPU.
const RING_KB_WANTED: u64 = 256;
const CAP_IPC_LOCK: u32 = 14;

pub fn locked_memory(root: &Path) -> Check {
    const PATH: &str = "proc/sys/kernel/perf_event_mlock_kb";
    let name = "locked-memory";
    let each = fs::read_to_string(root.join(PATH)).ok().and_then(|text| text.trim().parse::<u64>().ok());
    let limit = getrlimit(Resource::Memlock).current;
    let limit_text = limit.map_or("unlimited".to_owned(), |bytes| format!("{} KiB", bytes / 1024));
    let Some(each) = each else {
        return Check::new(name, State::Degraded, format!("/{PATH} cannot be read"), "Ring sizes are found by trying.");
    };
    let free = effective_capabilities(root).is_some_and(|held| held & (1 << CAP_IPC_LOCK) != 0);
    let found = format!("/{PATH} is {each} per CPU, RLIMIT_MEMLOCK is {limit_text}");
    let (state, means) = match (free, each >= RING_KB_WANTED) {
        (true, _) => (State::Ok, "With CAP_IPC_LOCK neither binds."),
        (false, true) => (State::Ok, "Rings of 256 KiB per CPU fit."),
        (false, false) => {
            (State::Degraded, "Rings are smaller than wished: a busy program may lose records (counted).")
        }
    };
    Check::new(name, state, found, means).fixed_by("sudo sysctl kernel.perf_event_mlock_kb=516")
}

/// Limit of open files: attaching takes one per thread and CPU.
pub fn open_files(root: &Path) -> Check {
    let cpus = fs::read_to_string(root.join("proc/cpuinfo"))
        .map_or(1, |text| text.lines().filter(|line| line.starts_with("processor")).count().max(1) as u64);
    let limit = getrlimit(Resource::Nofile).maximum.unwrap_or(u64::MAX);
    let threads = limit.saturating_sub(64) / cpus;
    let found = format!("RLIMIT_NOFILE is at most {limit}, {cpus} CPUs");
    let state = if threads >= 64 { State::Ok } else { State::Degraded };
    let means = format!("Without privilege, `record --pid` can watch a process of up to {threads} threads.");
    Check::new("open-files", state, found, &means).fixed_by("sudo prlimit --pid $$ --nofile=1048576:1048576")
}

/// Whether a program's memory can be read while it runs: its clock's origin and
/// the buffers that it has not written yet.
pub fn foreign_memory(root: &Path) -> Check {
    const PATH: &str = "proc/sys/kernel/yama/ptrace_scope";
    let name = "process-memory";
    let scope = fs::read_to_string(root.join(PATH)).ok().and_then(|text| text.trim().parse::<u8>().ok());
    let privileged = effective_capabilities(root).is_some_and(|held| held & (1 << CAP_SYS_PTRACE) != 0);
    let setting = scope.map_or(format!("no /{PATH}"), |scope| format!("/{PATH} is {scope}"));
    let found = format!("{setting}; CAP_SYS_PTRACE {}", if privileged { "held" } else { "not held" });
    let (state, means) = match (scope.unwrap_or(0), privileged) {
        (0, _) | (1 | 2, true) => (State::Ok, "Buffers that a killed program had not written can be saved."),
        (1, false) => (State::Degraded, "Works for programs that rtscope starts, not for `record --pid`."),
        _ => (State::Missing, "A killed program's last seconds are lost, and its clock is known to 1 µs only."),
    };
    let fix = if scope == Some(3) {
        "set kernel.yama.ptrace_scope=1 in /etc/sysctl.d and reboot"
    } else {
        "sudo sysctl kernel.yama.ptrace_scope=0"
    };
    Check::new(name, state, found, means).fixed_by(fix)
}

/// Control groups: which versions, and whether throttling can be seen.
pub fn control_groups(root: &Path) -> Vec<Check> {
    let shown = cgroup_mounts(root);
    let found = if shown.is_empty() { "no cpu controller in /proc/self/mounts".to_owned() } else { shown.join(", ") };
    let (state, means) = match shown.is_empty() {
        true => (State::Missing, "Quotas and throttling cannot be seen."),
        false => (State::Ok, "Quotas of the visible groups are read."),
    };
    let fix = "start the container with its control groups visible (docker: --cgroupns=host)";
    vec![Check::new("control-groups", state, found, means).fixed_by(fix), throttle_counters(root)]
}

/// Mounts that can have the cpu controller.
fn cgroup_mounts(root: &Path) -> Vec<String> {
    let text = fs::read_to_string(root.join("proc/self/mounts")).unwrap_or_default();
    let mount = |line: &str| {
        let mut words = line.split(' ').skip(1);
        let (path, kind, options) = (words.next()?, words.next()?, words.next()?);
        let version = match kind {
            "cgroup2" => 2,
            "cgroup" if options.split(',').any(|option| option == "cpu") => 1,
            _ => return None,
        };
        Some(format!("v{version} at {path}"))
    };
    text.lines().filter_map(mount).collect()
}

/// `cpu.stat` of our own group, or of the nearest visible ancestor.
fn throttle_counters(root: &Path) -> Check {
    let name = "throttle-counters";
    let groups = cgroup::of(&Host::at(root), ProcName::Own);
    if let Some(path) = groups.levels.iter().find_map(|level| level.cpu_stat.as_ref()) {
        let means = "Throttling by a quota can be distinguished from preemption.";
        return Check::new(name, State::Ok, format!("{} has nr_throttled", shown(root, path)), means);
    }
    let means = "Throttling by a quota looks like preemption by an unknown process.";
    Check::new(name, State::Degraded, "no cpu.stat with nr_throttled above this process".into(), means)
        .fixed_by("start the container with its control groups visible (docker: --cgroupns=host)")
}

pub fn pressure(root: &Path) -> Check {
    const PATH: &str = "proc/pressure/cpu";
    let name = "pressure";
    match fs::read_to_string(root.join(PATH)) {
        Ok(_) => {
            Check::new(name, State::Ok, format!("/{PATH} is readable"), "Waiting of the whole machine is sampled.")
        }
        Err(error) => {
            let found = format!("/{PATH}: {error}");
            let means = "The kernel has pressure stall information switched off (CONFIG_PSI_DEFAULT_DISABLED) or lacks it; \
                         other counters are used instead.";
            Check::new(name, State::Degraded, found, means)
                .fixed_by("add psi=1 to the kernel's command line and reboot")
        }
    }
}

pub fn steal(root: &Path) -> Check {
    let name = "steal-time";
    let stat = fs::read_to_string(root.join("proc/stat")).unwrap_or_default();
    let cpu = stat.lines().next().unwrap_or_default();
    let ticks: Option<u64> = cpu.split_whitespace().nth(8).and_then(|word| word.parse().ok());
    let info = fs::read_to_string(root.join("proc/cpuinfo")).unwrap_or_default();
    let flags = info.lines().find(|line| line.starts_with("flags")).unwrap_or_default();
    let virtual_machine = flags.split_whitespace().any(|flag| flag == "hypervisor");
    match (ticks, virtual_machine) {
        (None, _) => {
            let means = "Time that a host takes is not seen: it looks like running.";
            Check::new(name, State::Degraded, "/proc/stat has no steal column".into(), means)
        }
        (Some(ticks), false) => {
            let means = "This is no virtual machine: no host takes CPU time.";
            Check::new(name, State::Ok, format!("/proc/stat: steal {ticks} ticks"), means)
        }
        (Some(0), true) => {
            let means = "A virtual machine whose steal time never moved: the host may not report it, and what it takes \
                         then looks like running.";
            Check::new(name, State::Degraded, "/proc/stat: steal 0 ticks since boot".into(), means)
        }
        (Some(ticks), true) => {
            let means = "Time that the host takes is shown, in steps of 10 ms.";
            Check::new(name, State::Ok, format!("/proc/stat: steal {ticks} ticks since boot"), means)
        }
    }
}

/// Whether threads' time in the run queue is visible.
pub fn schedstat(root: &Path) -> Check {
    const PATH: &str = "proc/self/schedstat";
    let name = "schedstat";
    let text = fs::read_to_string(root.join(PATH)).unwrap_or_default();
    match text.split_whitespace().count() {
        3 => {
            Check::new(name, State::Ok, format!("/{PATH} has three figures"), "Waiting for a CPU is known per thread.")
        }
        _ => {
            let means = "Without perf events, waiting for a CPU is not known.";
            Check::new(name, State::Degraded, format!("/{PATH} cannot be used"), means)
        }
    }
}

/// The clock source of `CLOCK_MONOTONIC`.
pub fn clock(root: &Path) -> Check {
    const PATH: &str = "sys/devices/system/clocksource/clocksource0/current_clocksource";
    let name = "clock";
    let resolution = rustix::time::clock_getres(rustix::time::ClockId::Monotonic);
    let resolution_ns = resolution.tv_sec.saturating_mul(1_000_000_000).saturating_add(resolution.tv_nsec);
    let source = fs::read_to_string(root.join(PATH)).map_or("unknown".to_owned(), |text| text.trim().to_owned());
    let found = format!("/{PATH} is {source}, CLOCK_MONOTONIC steps of {resolution_ns} ns");
    let slow = matches!(source.as_str(), "hpet" | "acpi_pm" | "jiffies" | "refined-jiffies");
    let (state, means) = match (resolution_ns > 1000, slow) {
        (true, _) => (State::Degraded, "Times are coarser than the intervals that matter."),
        (_, true) => (State::Degraded, "Reading this clock is slow: the program's own log costs more than usual."),
        _ => (State::Ok, "Kernel records and the runtime's log share a fine clock."),
    };
    Check::new(name, state, found, means)
        .fixed_by("add tsc=reliable to the kernel's command line if the machine's TSC is stable, and reboot")
}

fn shown(root: &Path, path: &Path) -> String {
    let path: PathBuf = path.strip_prefix(root).map_or_else(|_| path.to_owned(), |below| Path::new("/").join(below));
    path.display().to_string()
}

#[cfg(test)]
mod tests {
    use super::super::tests::tree;
    use super::*;

    #[test]
    fn ring_memory() {
        let check = |kb: &str, caps: &str| {
            let root = tree(&[("proc/sys/kernel/perf_event_mlock_kb", kb), ("proc/self/status", caps)]);
            locked_memory(root.path()).state
        };
        assert_eq!(check("516\n", "CapEff:\t0\n"), State::Ok);
        assert_eq!(check("64\n", "CapEff:\t0\n"), State::Degraded);
        assert_eq!(check("64\n", "CapEff:\t4000\n"), State::Ok);
        assert_eq!(check("x", "CapEff:\t0\n"), State::Degraded);
    }

    #[test]
    fn ptrace_scopes() {
        let state = |scope: &str, caps: &str| {
            let status = format!("CapEff:\t{caps}\n");
            let files = [("proc/sys/kernel/yama/ptrace_scope", scope), ("proc/self/status", status.as_str())];
            foreign_memory(tree(&files).path()).state
        };
        assert_eq!((state("0", "0"), state("1", "0"), state("1", "80000")), (State::Ok, State::Degraded, State::Ok));
        assert_eq!(
            (state("2", "0"), state("2", "80000"), state("3", "80000")),
            (State::Missing, State::Ok, State::Missing)
        );
        assert_eq!(foreign_memory(tree(&[]).path()).state, State::Ok, "without Yama there is no such limit");
    }

    #[test]
    fn groups_of_version_one() {
        let root = tree(&[
            ("proc/self/mounts", "cgroup /sys/fs/cgroup/cpu cgroup rw,relatime,cpu 0 0\ntmpfs /x tmpfs rw 0 0\n"),
            ("proc/self/mountinfo", "31 25 0:27 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n"),
            ("proc/self/cgroup", "3:cpu:/a/b\n1:name=systemd:/x\n0::/y\n"),
            ("sys/fs/cgroup/cpu/a/cpu.stat", "nr_periods 1\nnr_throttled 0\n"),
        ]);
        let [groups, counters] = control_groups(root.path()).try_into().unwrap();
        assert_eq!((groups.state, groups.found.as_str()), (State::Ok, "v1 at /sys/fs/cgroup/cpu"));
        assert_eq!(
            (counters.state, counters.found.as_str()),
            (State::Ok, "/sys/fs/cgroup/cpu/a/cpu.stat has nr_throttled")
        );
    }

    #[test]
    fn groups_of_version_two_without_the_controller() {
        let root = tree(&[
            ("proc/self/mounts", "cgroup2 /sys/fs/cgroup cgroup2 rw 0 0\n"),
            ("proc/self/mountinfo", "30 25 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"),
            ("proc/self/cgroup", "0::/a\n"),
            ("sys/fs/cgroup/a/cpu.stat", "usage_usec 1\n"),
        ]);
        let [groups, counters] = control_groups(root.path()).try_into().unwrap();
        assert_eq!((groups.state, counters.state), (State::Ok, State::Degraded));
        let [groups, _] = control_groups(tree(&[]).path()).try_into().unwrap();
        assert_eq!(groups.state, State::Missing);
    }

    #[test]
    fn steal_of_machines() {
        let state = |stat: &str, flags: &str| {
            steal(tree(&[("proc/stat", stat), ("proc/cpuinfo", &format!("flags\t\t: fpu {flags}\n"))]).path()).state
        };
        assert_eq!(state("cpu  1 2 3 4 5 6 7 38 0 0\n", "hypervisor"), State::Ok);
        assert_eq!(state("cpu  1 2 3 4 5 6 7 0 0 0\n", "hypervisor"), State::Degraded);
        assert_eq!(state("cpu  1 2 3 4 5 6 7 0 0 0\n", ""), State::Ok);
        assert_eq!(state("cpu  1 2 3\n", ""), State::Degraded);
    }

    #[test]
    fn pressure_schedstat_and_clock() {
        let root = tree(&[
            ("proc/pressure/cpu", "some avg10=0.00\n"),
            ("proc/self/schedstat", "1 2 3\n"),
            ("sys/devices/system/clocksource/clocksource0/current_clocksource", "tsc\n"),
        ]);
        let root = root.path();
        assert_eq!([pressure(root).state, schedstat(root).state, clock(root).state], [State::Ok; 3]);
        let empty = tree(&[]);
        assert_eq!([pressure(empty.path()).state, schedstat(empty.path()).state], [State::Degraded; 2]);
        let slow = tree(&[("sys/devices/system/clocksource/clocksource0/current_clocksource", "hpet\n")]);
        assert_eq!(clock(slow.path()).state, State::Degraded);
    }
}
