//! Whether the kernel lets us see its scheduling: settings, capabilities, and
//! each tier tried.

use super::check::{Check, State};
use crate::kernel::{self, tiers, tracefs, words};
use rtscope_model::manifest::Tier;
use std::fs;
use std::path::Path;

pub(super) const CAP_SYS_PTRACE: u32 = 19;
const CAP_SYS_ADMIN: u32 = 21;
const CAP_PERFMON: u32 = 38;

const PARANOID: &str = "proc/sys/kernel/perf_event_paranoid";

fn paranoid_level(root: &Path) -> Option<i32> {
    fs::read_to_string(root.join(PARANOID)).ok()?.trim().parse().ok()
}

pub fn paranoid(root: &Path) -> Check {
    let name = "perf-event-paranoid";
    let Some(level) = paranoid_level(root) else {
        let means = "The kernel was built without perf events: only totals from /proc can be recorded.";
        return Check::new(name, State::Missing, format!("/{PARANOID} cannot be read"), means);
    };
    let privileged =
        effective_capabilities(root).is_some_and(|held| held & (1 << CAP_PERFMON | 1 << CAP_SYS_ADMIN) != 0);
    let (state, means) = match level {
        _ if privileged => (State::Ok, "It binds users without privilege; this process has CAP_PERFMON or more."),
        ..=0 => (State::Ok, "Every user may record the switches of whole CPUs."),
        1..=2 => {
            (State::Degraded, "Without privilege only the program's own switches are recorded, not who took its CPU.")
        }
        _ => (State::Missing, "Without privilege no perf event can be opened: only totals from /proc are recorded."),
    };
    let fix = match level {
        // Not a lower level: that shows the names of all processes and kernel addresses to every user.
        1..=2 => for_a_group(root),
        _ => "sudo sysctl kernel.perf_event_paranoid=2",
    };
    Check::new(name, state, format!("/{PARANOID} is {level}"), means).fixed_by(fix)
}

/// The command that lets some users see other processes. The capability came with Linux 5.8.
fn for_a_group(root: &Path) -> &'static str {
    let release = fs::read_to_string(root.join("proc/sys/kernel/osrelease")).unwrap_or_default();
    let mut numbers = release.split(|letter: char| !letter.is_ascii_digit()).map_while(|part| part.parse::<u32>().ok());
    match (numbers.next(), numbers.next()) {
        (Some(major), Some(minor)) if (major, minor) < (5, 8) => "sudo rtscope record …",
        _ => words::GROUP_COMMANDS,
    }
}

/// What lets users see events of their own programs, which were refused with `error`.
fn for_own(root: &Path, error: &std::io::Error) -> &'static str {
    match error.raw_os_error() {
        Some(libc::EMFILE | libc::ENFILE | libc::ENOMEM) => words::remedy(Tier::OwnSwitches, error),
        _ if paranoid_level(root).is_some_and(|level| level <= 2) => {
            "allow perf_event_open in the container's seccomp profile: the kernel's settings allow it"
        }
        _ => "sudo sysctl kernel.perf_event_paranoid=2",
    }
}

pub fn capabilities(root: &Path) -> Check {
    const PATH: &str = "proc/self/status";
    let name = "capabilities";
    let Some(effective) = effective_capabilities(root) else {
        return Check::new(name, State::Degraded, format!("/{PATH} has no CapEff"), "Privileges are not known.");
    };
    let has = |bit: u32| effective & (1 << bit) != 0;
    let known = [(CAP_PERFMON, "CAP_PERFMON"), (CAP_SYS_ADMIN, "CAP_SYS_ADMIN"), (CAP_SYS_PTRACE, "CAP_SYS_PTRACE")];
    let held: Vec<&str> = known.iter().filter(|(bit, _)| has(*bit)).map(|(_, name)| *name).collect();
    let held =
        if held.is_empty() { "none of CAP_PERFMON, CAP_SYS_ADMIN, CAP_SYS_PTRACE".into() } else { held.join(", ") };
    let found = format!("/{PATH}: CapEff {effective:016x}, {held}");
    let (state, means) = match has(CAP_PERFMON) || has(CAP_SYS_ADMIN) {
        true => (State::Ok, "Other processes can be recorded too."),
        false => (State::Degraded, "Other processes are recorded only where perf_event_paranoid allows it."),
    };
    Check::new(name, state, found, means).fixed_by(for_a_group(root))
}

pub(super) fn effective_capabilities(root: &Path) -> Option<u64> {
    let status = fs::read_to_string(root.join("proc/self/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("CapEff:"))?;
    u64::from_str_radix(line.trim(), 16).ok()
}

/// Whether tracepoints can be looked up.
pub fn tracefs(root: &Path) -> Check {
    let name = "tracefs";
    match tracefs::readable_place(root) {
        Ok(place) => {
            let shown = place.strip_prefix(root).unwrap_or(&place).display();
            Check::new(name, State::Ok, format!("/{shown} is readable"), "Wake-ups and migrations can be recorded.")
        }
        Err(error) => {
            let found = format!("/sys/kernel/tracing: {}", words::errno(&error));
            let means = "As root rtscope mounts it for a moment; else wake-ups and migrations are not recorded. The command lets your group read what the kernel traces.";
            Check::new(name, State::Degraded, found, means).fixed_by(
                "sudo mount -t tracefs nodev /sys/kernel/tracing; sudo mount -o remount,mode=750,gid=$(id -g) /sys/kernel/tracing",
            )
        }
    }
}

/// Briefly opens the timer that samples the program's code.
pub fn code(root: &Path) -> Check {
    let name = "code-samples";
    let fix = "sudo rtscope record …";
    match kernel::code::probe(root) {
        Ok((true, missing)) if missing.is_empty() => {
            let means = "Reports name the code that kept a collection waiting, and the kernel's where it waits.";
            Check::new(name, State::Ok, "opened on every CPU".into(), means)
        }
        Ok((kernel, missing)) => {
            let means = match kernel {
                true => "Reports name the code that runs, not what a thread waits for in the kernel.",
                false => "Reports name the program's own code, not the kernel's.",
            };
            Check::new(name, State::Degraded, format!("opened with less: {}", missing.join(" ")), means).fixed_by(fix)
        }
        Err(error) => {
            let means = "Reports cannot name the code that kept a collection waiting.";
            let found = format!("refused: {}", words::errno(&error));
            let fix = for_own(root, &error);
            Check::new(name, State::Degraded, found, means).fixed_by(fix)
        }
    }
}

/// Briefly opens each tier.
pub fn tiers(root: &Path) -> Vec<Check> {
    let tiers = [
        (Tier::Tracepoints, "tier-tracepoints", "Everything: who ran instead, who woke whom, migrations."),
        (Tier::CpuWideSwitches, "tier-cpu-wide-switches", "Who ran instead of the program, without wake-ups."),
        (Tier::OwnSwitches, "tier-own-switches", "When the program's threads ran, not who ran instead."),
    ];
    tiers.map(|(tier, name, gives)| tier_check(root, tier, name, gives)).into()
}

fn tier_check(root: &Path, tier: Tier, name: &'static str, gives: &str) -> Check {
    match tiers::probe(root, tier) {
        Ok(()) => Check::new(name, State::Ok, "opened on one CPU".into(), gives),
        Err(error) => {
            let state = if tier == Tier::OwnSwitches { State::Missing } else { State::Degraded };
            let found = format!("refused: {}", words::errno(&error));
            let means = format!("{}.", words::lacking(tier));
            let fix = match tier {
                Tier::OwnSwitches => for_own(root, &error),
                Tier::CpuWideSwitches => for_a_group(root),
                _ => "sudo rtscope record …",
            };
            Check::new(name, state, found, &means).fixed_by(fix)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::tree;
    use super::*;

    #[test]
    fn paranoid_levels() {
        for (text, state) in
            [("-1\n", State::Ok), ("2\n", State::Degraded), ("4\n", State::Missing), ("?", State::Missing)]
        {
            let root = tree(&[("proc/sys/kernel/perf_event_paranoid", text)]);
            let check = paranoid(root.path());
            assert_eq!((check.state, check.fix.is_some()), (state, state != State::Ok && text != "?"), "{text}");
        }
        assert_eq!(paranoid(tree(&[]).path()).state, State::Missing);
    }

    #[test]
    fn a_refusal_that_no_setting_explains_comes_from_a_filter() {
        let refused = std::io::Error::from_raw_os_error(libc::EPERM);
        for (level, fix) in [("2\n", "seccomp"), ("4\n", "sysctl")] {
            let root = tree(&[(PARANOID, level)]);
            assert!(for_own(root.path(), &refused).contains(fix), "{level}");
        }
    }

    #[test]
    fn what_is_advised_opens_nothing_to_every_user() {
        for (release, group) in [("6.18.1\n", true), ("5.8.0-rc1\n", true), ("5.7.19\n", false), ("4.19.0\n", false)] {
            let files = [
                ("proc/sys/kernel/perf_event_paranoid", "2\n"),
                ("proc/self/status", "CapEff:\t0000000000000000\n"),
                ("proc/sys/kernel/osrelease", release),
            ];
            let root = tree(&files);
            for fix in [paranoid(root.path()), capabilities(root.path())].map(|check| check.fix.unwrap()) {
                assert!(!fix.contains("paranoid"), "{fix}");
                assert_eq!(fix.contains("setcap cap_perfmon") && fix.contains("chmod 750"), group, "{release}: {fix}");
            }
        }
    }

    #[test]
    fn capabilities_are_named() {
        let all = tree(&[("proc/self/status", "Name:\tx\nCapEff:\t000001fffeffffff\n")]);
        let check = capabilities(all.path());
        assert_eq!(check.state, State::Ok);
        assert!(check.found.contains("CAP_PERFMON, CAP_SYS_ADMIN, CAP_SYS_PTRACE"), "{}", check.found);
        let none = tree(&[("proc/self/status", "CapEff:\t0000000000000000\n")]);
        assert_eq!(capabilities(none.path()).state, State::Degraded);
        let perfmon = tree(&[("proc/self/status", "CapEff:\t0000004000000000\n")]);
        assert_eq!(capabilities(perfmon.path()).state, State::Ok);
    }

    #[test]
    fn tracefs_places() {
        let debug = tree(&[("sys/kernel/debug/tracing/events/sched/sched_switch/id", "1\n")]);
        let check = tracefs(debug.path());
        assert_eq!((check.state, check.found.as_str()), (State::Ok, "/sys/kernel/debug/tracing is readable"));
        assert_eq!(tracefs(tree(&[]).path()).state, State::Degraded);
    }

    #[test]
    fn every_tier_is_tried() {
        let checks = tiers(Path::new("/"));
        assert_eq!(checks.len(), 3);
        if rustix::process::getuid().is_root() {
            assert!(checks.iter().all(|check| check.state == State::Ok), "{checks:?}");
        }
    }
}
