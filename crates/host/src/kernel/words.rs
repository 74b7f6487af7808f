//! The sentences about what a tier lacks: what cannot be seen, why, and which
//! command changes that. Owns the wording only.

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

/// How to see other processes, and the kernel's own code.
pub const WIDER: &str = "run rtscope as root, or let one group use it with the capability cap_perfmon (Linux 5.8 and later; \
    `rtscope doctor` shows the commands)";

/// The commands that let one group see other processes and the kernel's own code. Changing a file's group removes its
/// capabilities, so that comes first.
pub const GROUP_COMMANDS: &str = "P=\"$(command -v rtscope)\"; sudo groupadd -f rtscope && sudo chgrp rtscope \"$P\" && \
    sudo chmod 750 \"$P\" && sudo setcap cap_perfmon+ep \"$P\"; then sudo usermod -aG rtscope USER for each who may";

/// How to get `tier`, which was refused with `error`: more rights do not help if a resource is too small.
pub fn remedy(tier: Tier, error: &io::Error) -> &'static str {
    match error.raw_os_error() {
        Some(libc::EMFILE) => {
            return "raise the hard limit of open files for rtscope, of which each thread takes some for each CPU: \
                    `ulimit -n 1048576` as root, or LimitNOFILE= of its service";
        }
        Some(libc::ENFILE) => return "`sudo sysctl fs.file-max=9223372036854775807`",
        Some(libc::ESRCH) => return "record a process that runs",
        Some(libc::ENOMEM) => return "free some memory",
        _ => {}
    }
    match tier {
        Tier::Tracepoints => "run rtscope as root",
        Tier::CpuWideSwitches => WIDER,
        Tier::OwnSwitches => {
            "`sudo sysctl kernel.perf_event_paranoid=2` where it is higher; record another user's process as that user or as \
             root; in a container, allow perf_event_open in its seccomp profile"
        }
        Tier::Polling => "mount /proc",
    }
}

pub fn refused(tier: Tier, error: &io::Error) -> String {
    if error.kind() == io::ErrorKind::Unsupported {
        // The reason names its own remedy; more privilege would not help.
        return format!("{} ({}: {error}).", lacking(tier), name(tier));
    }
    format!("{} ({}: {}). To change that: {}.", lacking(tier), name(tier), errno(error), remedy(tier, error))
}

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn too_little_is_not_too_few_rights() {
        for tier in [Tier::Tracepoints, Tier::CpuWideSwitches, Tier::OwnSwitches] {
            for code in [libc::EMFILE, libc::ENFILE, libc::ENOMEM, libc::ESRCH] {
                let text = refused(tier, &io::Error::from_raw_os_error(code));
                let wrong = ["perf_event_paranoid", "seccomp", "cap_perfmon", "rtscope as root"];
                assert!(!wrong.iter().any(|word| text.contains(word)), "{text}");
            }
            assert!(refused(tier, &io::Error::from_raw_os_error(libc::EMFILE)).contains("ulimit -n"));
        }
        let denied = refused(Tier::CpuWideSwitches, &io::Error::from_raw_os_error(libc::EACCES));
        assert!(denied.contains("cap_perfmon") && denied.contains("5.8"), "{denied}");
    }

    #[test]
    fn a_capability_is_one_groups() {
        let place = |word: &str| GROUP_COMMANDS.find(word).unwrap();
        assert!(place("groupadd") < place("chgrp") && place("chgrp") < place("chmod 750"));
        assert!(place("chmod 750") < place("setcap cap_perfmon+ep"));
    }
}
