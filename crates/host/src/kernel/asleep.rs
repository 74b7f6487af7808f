//! Sleeping system threads: in which call they sleep, and where their code and stack are
//! (`/proc/PID/task/TID/syscall`). Owns the form of that file and which calls wait for what. Refuses to read
//! a stack.

use rtscope_model::WaitKind;

/// What the kernel reports about a thread.
#[derive(Copy, Clone, Eq, PartialEq, Debug)]
pub enum Asleep {
    /// It is running or runnable.
    Not,
    /// It sleeps in a system call: number, arguments, stack pointer, program counter.
    Call(i64, [u64; 6], u64, u64),
    /// It sleeps outside a system call, for example in a page fault.
    Elsewhere,
}

impl Asleep {
    pub fn parse(text: &str) -> Option<Asleep> {
        let mut words = text.split_ascii_whitespace();
        let first = words.next()?;
        if first == "running" {
            return Some(Asleep::Not);
        }
        let call: i64 = first.parse().ok()?;
        let mut word = || u64::from_str_radix(words.next()?.strip_prefix("0x")?, 16).ok();
        if call < 0 {
            return Some(Asleep::Elsewhere);
        }
        let mut arguments = [0; 6];
        for argument in &mut arguments {
            *argument = word()?;
        }
        Some(Asleep::Call(call, arguments, word()?, word()?))
    }
}

/// Whether a call is the one that locks and condition variables are made of.
pub fn is_futex(call: i64) -> bool {
    call == libc::SYS_futex
}

/// What a thread in this call waits for, as far as the call itself says.
pub fn kind(call: i64, arguments: &[u64; 6]) -> WaitKind {
    const INPUT: [i64; 14] = [
        libc::SYS_read,
        libc::SYS_pread64,
        libc::SYS_readv,
        libc::SYS_write,
        libc::SYS_writev,
        libc::SYS_recvfrom,
        libc::SYS_recvmsg,
        libc::SYS_sendto,
        libc::SYS_sendmsg,
        libc::SYS_accept,
        libc::SYS_accept4,
        libc::SYS_connect,
        libc::SYS_wait4,
        libc::SYS_waitid,
    ];
    let [first, second, ..] = *arguments;
    // A poll without descriptors waits for time alone.
    let polls = |count: u64| if count == 0 { WaitKind::Time } else { WaitKind::InputOutput };
    match call {
        libc::SYS_nanosleep | libc::SYS_clock_nanosleep => WaitKind::Time,
        libc::SYS_pselect6 => polls(first),
        libc::SYS_ppoll => polls(second),
        libc::SYS_epoll_pwait => WaitKind::InputOutput,
        #[cfg(target_arch = "x86_64")]
        libc::SYS_select => polls(first),
        #[cfg(target_arch = "x86_64")]
        libc::SYS_poll => polls(second),
        #[cfg(target_arch = "x86_64")]
        libc::SYS_epoll_wait => WaitKind::InputOutput,
        call if INPUT.contains(&call) => WaitKind::InputOutput,
        _ => WaitKind::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_the_kernel_are_read() {
        let line = "0 0x3 0x1 0x2 0x0 0xa 0xffffffffffffffff 0x7ffe 0x7f01\n";
        assert_eq!(Asleep::parse(line), Some(Asleep::Call(0, [3, 1, 2, 0, 10, u64::MAX], 0x7ffe, 0x7f01)));
        assert_eq!(Asleep::parse("running\n"), Some(Asleep::Not));
        assert_eq!(Asleep::parse("-1 0x7ffe 0x7f01\n"), Some(Asleep::Elsewhere));
        for cut in ["", "0", "0 0x3", "x", "0 0x3 0x1 0x2 0x0 0xa 0xb 0x7ffe", "0 1 2 3 4 5 6 7 8"] {
            assert_eq!(Asleep::parse(cut), None, "{cut}");
        }
    }

    #[test]
    fn calls_that_look_at_no_descriptor_wait_for_the_time() {
        assert_eq!(kind(libc::SYS_pselect6, &[0; 6]), WaitKind::Time);
        assert_eq!(kind(libc::SYS_pselect6, &[4, 0, 0, 0, 0, 0]), WaitKind::InputOutput);
        assert_eq!(kind(libc::SYS_ppoll, &[1, 1, 0, 0, 0, 0]), WaitKind::InputOutput);
        assert_eq!(kind(libc::SYS_clock_nanosleep, &[0; 6]), WaitKind::Time);
        assert_eq!(kind(libc::SYS_read, &[0; 6]), WaitKind::InputOutput);
        assert_eq!(kind(libc::SYS_futex, &[0; 6]), WaitKind::Unknown);
    }
}
