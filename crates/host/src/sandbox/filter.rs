//! The system calls allowed for work on hostile bytes. Owns the list; any other call is
//! refused (EPERM) and does nothing. If the kernel or this processor has no filters the
//! other limits remain.

use seccompiler::{
    BackendError, BpfProgram, SeccompAction, SeccompCmpArgLen as Width, SeccompCmpOp as Is,
    SeccompCondition as Argument, SeccompFilter, SeccompRule, TargetArch,
};
use std::collections::BTreeMap;
use std::io;
use std::os::fd::RawFd;

/// Memory, time, threads of its own, and reading what is open.
const PLAIN: [libc::c_long; 34] = [
    libc::SYS_read,
    libc::SYS_pread64,
    libc::SYS_readv,
    libc::SYS_lseek,
    libc::SYS_fcntl,
    libc::SYS_fstat,
    libc::SYS_statx,
    libc::SYS_close,
    libc::SYS_munmap,
    libc::SYS_mremap,
    libc::SYS_madvise,
    libc::SYS_brk,
    libc::SYS_futex,
    libc::SYS_ppoll,
    libc::SYS_clock_gettime,
    libc::SYS_clock_nanosleep,
    libc::SYS_nanosleep,
    libc::SYS_sched_yield,
    libc::SYS_sched_getaffinity,
    libc::SYS_rt_sigreturn,
    libc::SYS_rt_sigprocmask,
    libc::SYS_rt_sigaction,
    libc::SYS_sigaltstack,
    libc::SYS_restart_syscall,
    libc::SYS_getrandom,
    libc::SYS_getpid,
    libc::SYS_gettid,
    libc::SYS_set_robust_list,
    libc::SYS_rseq,
    libc::SYS_prlimit64,
    libc::SYS_tgkill,
    libc::SYS_exit,
    libc::SYS_exit_group,
    libc::SYS_clone3,
];

/// The request for which pages of a process are in memory.
pub const PAGEMAP_SCAN: u64 = 0xc060_6610;

pub struct Filters(Vec<BpfProgram>);

impl Filters {
    /// Filters for a child that answers through `pen` and sends requests through `socket`, if it is valid.
    /// Errors: a list that cannot be compiled.
    pub fn new(pen: RawFd, socket: RawFd) -> io::Result<Filters> {
        let Ok(arch) = TargetArch::try_from(std::env::consts::ARCH) else { return Ok(Filters(Vec::new())) };
        let mut rules: BTreeMap<i64, Vec<SeccompRule>> = PLAIN.iter().map(|call| (*call, Vec::new())).collect();
        let without = |call, argument, flags: u64| one(call, argument, Is::MaskedEq(flags), 0);
        let code = libc::PROT_EXEC as u64;
        let on = |call, descriptor: RawFd| one(call, 0, Is::Eq, u64::try_from(descriptor).unwrap_or(u64::MAX));
        #[cfg(target_arch = "x86_64")]
        rules.insert(libc::SYS_poll, Vec::new());
        rules.extend([
            on(libc::SYS_write, pen)?,
            on(libc::SYS_sendmsg, socket)?,
            on(libc::SYS_recvmsg, socket)?,
            without(libc::SYS_mmap, 2, code)?,
            without(libc::SYS_mprotect, 2, code)?,
            one(libc::SYS_prctl, 0, Is::Eq, libc::PR_SET_NAME as u64)?,
            // It can protect pages as well as report on them, but only in a process that asked the kernel for that.
            // A request has 32 bits, whatever a library makes of them.
            where_is(libc::SYS_ioctl, Argument::new(1, Width::Dword, Is::Eq, PAGEMAP_SCAN))?,
            one(libc::SYS_clone, 0, Is::MaskedEq(libc::CLONE_THREAD as u64), libc::CLONE_THREAD as u64)?,
        ]);
        // Arguments of clone3 lie in memory, where no filter sees them: without it glibc uses clone.
        let clone3 = BTreeMap::from([(libc::SYS_clone3, Vec::new())]);
        let missing = SeccompAction::Errno(libc::ENOSYS as u32);
        let filters = [
            SeccompFilter::new(clone3, SeccompAction::Allow, missing, arch),
            SeccompFilter::new(rules, SeccompAction::Errno(libc::EPERM as u32), SeccompAction::Allow, arch),
        ];
        let compile = |filter: Result<SeccompFilter, _>| filter.and_then(TryInto::try_into).map_err(io::Error::other);
        Ok(Filters(filters.into_iter().map(compile).collect::<io::Result<_>>()?))
    }

    /// Applies them to the calling thread and threads that it makes.
    pub fn apply(&self) -> io::Result<()> {
        self.0.iter().try_for_each(|program| seccompiler::apply_filter(program).map_err(io::Error::other))
    }
}

/// A call that is allowed for one condition on an argument.
fn one(call: i64, argument: u8, is: Is, value: u64) -> io::Result<(i64, Vec<SeccompRule>)> {
    where_is(call, Argument::new(argument, Width::Qword, is, value))
}

fn where_is(call: i64, argument: Result<Argument, BackendError>) -> io::Result<(i64, Vec<SeccompRule>)> {
    let rule = argument.and_then(|argument| SeccompRule::new(vec![argument]));
    Ok((call, vec![rule.map_err(io::Error::other)?]))
}
