//! What the names of kernel functions say: which only put a thread to sleep, and
//! through which door it came into the kernel. Owns these lists; refuses to know
//! an address.

/// Functions that every wait goes through, or every wait for a lock: the one that
/// called them names the wait. `io_schedule` is not among them, since it does.
const WAITING: [&str; 24] = [
    "__traceiter_",
    "perf_trace_",
    "__schedule",
    "schedule",
    "preempt_schedule",
    "__cond_resched",
    "__mutex_lock",
    "mutex_lock",
    "rwsem_",
    "__down",
    "down_",
    "rt_mutex_",
    "__rt_mutex_",
    "percpu_rwsem_",
    "__percpu_",
    "wait_for_completion",
    "wait_for_common",
    "__wait_for_common",
    "do_wait_for_common",
    "bit_wait",
    "__wait_on_bit",
    "out_of_line_wait_on_bit",
    "wait_woken",
    "poll_schedule_timeout",
];

/// What system calls are called on the machines that a kernel runs on.
const SYSTEM_CALLS: [&str; 8] =
    ["__x64_sys_", "__ia32_sys_", "__arm64_sys_", "__riscv_sys_", "__s390x_sys_", "__se_sys_", "__do_sys_", "ksys_"];

/// Whether a kernel function only puts a thread to sleep.
pub fn is_waiting(name: &str) -> bool {
    WAITING.iter().any(|start| name.starts_with(start))
}

/// How a thread came into the kernel, if this function tells: `page fault`,
/// `interrupt`, or the system call's name.
pub fn entry_of(name: &str) -> Option<&str> {
    if name.contains("page_fault") || name == "do_mem_abort" || name == "do_user_addr_fault" {
        return Some("page fault");
    }
    if name.starts_with("asm_sysvec_") || name.starts_with("asm_common_interrupt") || name.ends_with("_irq_handler") {
        return Some("interrupt");
    }
    let call = SYSTEM_CALLS.iter().find_map(|start| name.strip_prefix(start))?;
    // `ksys_read.isra.0`
    call.split('.').next().filter(|call| !call.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_names_a_wait_is_told_from_the_scheduler() {
        for name in ["__schedule", "schedule_timeout", "rwsem_down_read_slowpath", "__mutex_lock.constprop.0"] {
            assert!(is_waiting(name), "{name}");
        }
        for name in ["futex_wait_queue", "io_schedule", "do_epoll_wait", "do_nanosleep", "filemap_fault"] {
            assert!(!is_waiting(name), "{name}");
        }
    }

    #[test]
    fn doors_of_the_kernel() {
        assert_eq!(entry_of("asm_exc_page_fault"), Some("page fault"));
        assert_eq!(entry_of("__x64_sys_munmap"), Some("munmap"));
        assert_eq!(entry_of("ksys_read.isra.0"), Some("read"));
        assert_eq!(entry_of("asm_sysvec_apic_timer_interrupt"), Some("interrupt"));
        assert_eq!(entry_of("do_syscall_64"), None);
        assert_eq!(entry_of("ksys_"), None);
    }
}
