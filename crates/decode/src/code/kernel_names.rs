//! What the names of kernel functions mean: which of them only put a thread to sleep, and through which entry point
//! it came into the kernel. Owns these lists; refuses to know an address.

use rtscope_model::code::{FIRST_TOUCH, INTERRUPT, PAGE_FAULT};

/// Functions that every wait passes through, or every wait for a lock: their caller names the wait. `io_schedule` is
/// not among them, since it names a wait.
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

/// Prefixes of system call functions on the architectures that a kernel runs on.
const SYSTEM_CALLS: [&str; 8] =
    ["__x64_sys_", "__ia32_sys_", "__arm64_sys_", "__riscv_sys_", "__s390x_sys_", "__se_sys_", "__do_sys_", "ksys_"];

/// Prefixes of the functions between a program and any system call.
const ENTRY_PATH: [&str; 9] = [
    "entry_SYSCALL",
    "entry_SYSRET",
    "syscall_return_via_sysret",
    "syscall_enter",
    "syscall_exit",
    "do_syscall_64",
    "x64_sys_call",
    "do_el0_svc",
    "el0_svc",
];
/// For a thread that is in no system call: for short calls, entry and exit take as long as the call itself.
const ENTRY_EXIT: &str = "entering and leaving system calls";

/// Whether a kernel function only puts a thread to sleep.
pub fn is_waiting(name: &str) -> bool {
    WAITING.iter().any(|start| name.starts_with(start))
}

/// What page faults follow from, with the functions that serve only that kind.
const FAULTS: [(&str, &[&str]); 5] = [
    (FIRST_TOUCH, &["do_anonymous_page", "do_huge_pmd_anonymous_page", "__do_huge_pmd_anonymous_page"]),
    ("page fault, copy on write", &["do_wp_page", "wp_page_copy", "do_huge_pmd_wp_page", "hugetlb_wp"]),
    ("page fault, swap", &["do_swap_page"]),
    (
        "page fault, a file's page",
        &["do_fault", "do_read_fault", "do_cow_fault", "do_shared_fault", "filemap_fault", "filemap_map_pages"],
    ),
    ("page fault, moved between nodes", &["do_numa_page", "do_huge_pmd_numa_page"]),
];

/// What the page fault that `name` serves follows from; `None`: the function serves all kinds, or none.
pub fn fault_of(name: &str) -> Option<&'static str> {
    let name = name.split('.').next()?;
    FAULTS.iter().find(|(_, functions)| functions.contains(&name)).map(|(kind, _)| *kind)
}

/// How a thread came into the kernel, if this function shows it: `page fault`, `interrupt`, `signal`, the system
/// call's name, or the entry path.
pub fn entry_of(name: &str) -> Option<&str> {
    if name.contains("page_fault") || name == "do_mem_abort" || name == "do_user_addr_fault" {
        return Some(PAGE_FAULT);
    }
    if name.starts_with("asm_sysvec_") || name.starts_with("asm_common_interrupt") || name.ends_with("_irq_handler") {
        return Some(INTERRUPT);
    }
    // On the way out of the kernel: a handler is set up, or the process ends.
    if name.starts_with("arch_do_signal") || name == "get_signal" {
        return Some("signal");
    }
    if ENTRY_PATH.iter().any(|start| name.starts_with(start)) {
        return Some(ENTRY_EXIT);
    }
    let call = SYSTEM_CALLS.iter().find_map(|start| name.strip_prefix(start))?;
    // `ksys_read.isra.0`
    call.split('.').next().filter(|call| !call.is_empty())
}

/// How a thread came into the kernel, as shown by its functions, outermost first.
pub fn entered_by<'n>(mut entries: impl Iterator<Item = &'n str>) -> Option<&'n str> {
    let first = entries.next()?;
    if first == ENTRY_EXIT { entries.find(|entry| *entry != ENTRY_EXIT).or(Some(ENTRY_EXIT)) } else { Some(first) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_names_a_wait_is_distinguished_from_the_scheduler() {
        for name in ["__schedule", "schedule_timeout", "rwsem_down_read_slowpath", "__mutex_lock.constprop.0"] {
            assert!(is_waiting(name), "{name}");
        }
        for name in ["futex_wait_queue", "io_schedule", "do_epoll_wait", "do_nanosleep", "filemap_fault"] {
            assert!(!is_waiting(name), "{name}");
        }
    }

    #[test]
    fn what_a_fault_followed_from_is_shown_by_what_serves_it() {
        assert_eq!(fault_of("do_anonymous_page"), Some("page fault, first touch"));
        assert_eq!(fault_of("wp_page_copy.isra.0"), Some("page fault, copy on write"));
        assert_eq!(fault_of("do_swap_page"), Some("page fault, swap"));
        assert_eq!(fault_of("filemap_fault"), Some("page fault, a file's page"));
        for name in ["handle_mm_fault", "exc_page_fault", "clear_page", "do_anonymous_pages"] {
            assert_eq!(fault_of(name), None, "{name}");
        }
    }

    #[test]
    fn entry_points_of_the_kernel() {
        assert_eq!(entry_of("asm_exc_page_fault"), Some("page fault"));
        assert_eq!(entry_of("__x64_sys_munmap"), Some("munmap"));
        assert_eq!(entry_of("ksys_read.isra.0"), Some("read"));
        assert_eq!(entry_of("asm_sysvec_apic_timer_interrupt"), Some("interrupt"));
        assert_eq!(entry_of("arch_do_signal_or_restart"), Some("signal"));
        assert_eq!(entry_of("ksys_"), None);
    }

    #[test]
    fn threads_in_no_call_are_on_the_entry_path() {
        let entered = |names: &[&'static str]| entered_by(names.iter().filter_map(|name| entry_of(name)));
        assert_eq!(
            entered(&["entry_SYSCALL_64_after_hwframe", "do_syscall_64", "__x64_sys_read", "vfs_read"]),
            Some("read")
        );
        assert_eq!(entered(&["entry_SYSCALL_64_after_hwframe", "do_syscall_64"]), Some(ENTRY_EXIT));
        assert_eq!(entered(&["asm_exc_page_fault", "do_anonymous_page"]), Some(PAGE_FAULT));
        assert_eq!(entered(&["schedule"]), None);
    }
}
