//! The sentences about what a tier lacks: what cannot be seen, why, and what to
//! run to change that. Owns the wording only.

use rtscope_model::manifest::Tier;
use std::io;

/// The name of a tier as options and manifests spell it.
pub fn name(tier: Tier) -> &'static str {
    match tier {
        Tier::Tracepoints => "tracepoints",
        Tier::CpuWideSwitches => "cpu-wide-switches",
        Tier::OwnSwitches => "own-switches",
        Tier::Polling => "polling",
    }
}

/// What is unknown without `tier`.
pub fn lacking(tier: Tier) -> &'static str {
    match tier {
        Tier::Tracepoints => "Wake-ups and migrations are not recorded, so who woke a thread is unknown",
        Tier::CpuWideSwitches => "Other processes are not recorded, so who took a CPU from the program is unknown",
        Tier::OwnSwitches => "When the program's threads ran and waited is known as totals only",
        Tier::Polling => "Totals are not recorded",
    }
}

/// How to get `tier`.
pub fn remedy(tier: Tier) -> &'static str {
    match tier {
        Tier::Tracepoints => "run rtscope as root",
        Tier::CpuWideSwitches => "run rtscope as root, or `sudo setcap cap_perfmon+ep \"$(command -v rtscope)\"`",
        Tier::OwnSwitches => {
            "`sudo sysctl kernel.perf_event_paranoid=2`; in a container, allow perf_event_open in its seccomp profile"
        }
        Tier::Polling => "mount /proc",
    }
}

/// `tier` was refused.
pub fn refused(tier: Tier, error: &io::Error) -> String {
    if error.kind() == io::ErrorKind::Unsupported {
        // The reason names its own remedy; more privilege would not help.
        return format!("{} ({}: {error}).", lacking(tier), name(tier));
    }
    format!("{} ({}: {}). To change that: {}.", lacking(tier), name(tier), errno(error), remedy(tier))
}

/// `tier` was left out because `asked` was asked for.
pub fn not_asked(tier: Tier, asked: Tier) -> String {
    format!("{} (the tier {} was asked for).", lacking(tier), name(asked))
}

/// What an errno of `perf_event_open` or of its ring means.
pub fn errno(error: &io::Error) -> String {
    let means = match error.raw_os_error() {
        Some(libc::EACCES) => "EACCES, needs more privilege",
        Some(libc::EPERM) => "EPERM, not permitted or the allowance of locked memory is used up",
        Some(libc::ENOSYS) => "ENOSYS, this kernel has no perf events or a seccomp profile hides them",
        Some(libc::EMFILE) => "EMFILE, too many open files",
        Some(libc::ENFILE) => "ENFILE, the machine has too many open files",
        Some(libc::ESRCH) => "ESRCH, the process has ended",
        Some(libc::EINVAL) => "EINVAL, this kernel does not know such an event",
        Some(libc::ENOMEM) => "ENOMEM, out of memory",
        _ => return error.to_string(),
    };
    means.to_owned()
}
