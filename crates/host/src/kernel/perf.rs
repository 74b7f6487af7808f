//! `perf_event_open` and its descriptors. Owns the attribute layout, the calls
//! on a descriptor and the words for their refusals; refuses to know which
//! events a tier wants or what is done with their bytes.

use std::ffi::CStr;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

pub const SAMPLE_IP: u64 = 1 << 0;
pub const SAMPLE_TID: u64 = 1 << 1;
pub const SAMPLE_TIME: u64 = 1 << 2;
pub const SAMPLE_CALLCHAIN: u64 = 1 << 5;
pub const SAMPLE_CPU: u64 = 1 << 7;
pub const SAMPLE_RAW: u64 = 1 << 10;
pub const SAMPLE_REGS_USER: u64 = 1 << 12;
const SAMPLE_STACK_USER: u64 = 1 << 13;
pub const SAMPLE_IDENTIFIER: u64 = 1 << 16;

/// The register of the instruction pointer, as perf numbers them; `None`
/// where that is not known.
pub const INSTRUCTION_POINTER: Option<u64> = match () {
    () if cfg!(target_arch = "x86_64") => Some(8),
    () if cfg!(target_arch = "aarch64") => Some(32),
    () => None,
};

/// The registers in a sample with a copy of the stack, in this order, as perf numbers them: frame pointer,
/// stack pointer, instruction pointer. Empty for an architecture whose frames are not known here.
pub const DUMPED_REGISTERS: &[u32] = if cfg!(target_arch = "x86_64") { &[6, 7, 8] } else { &[] };

const TYPE_SOFTWARE: u32 = 1;
const TYPE_TRACEPOINT: u32 = 2;
const COUNT_SW_CPU_CLOCK: u64 = 0;
const COUNT_SW_DUMMY: u64 = 9;
const FORMAT_LOST: u64 = 1 << 4;
const FLAG_FD_CLOEXEC: libc::c_ulong = 1 << 3;
const IOC_ENABLE: libc::c_ulong = 0x2400;
const IOC_DISABLE: libc::c_ulong = 0x2401;
const IOC_SET_OUTPUT: libc::c_ulong = 0x2405;
/// `_IOW('$', 6, char *)` and `_IOR('$', 7, __u64 *)`: the encoding of sizes and
/// directions that most machines share.
const IOC_SET_FILTER: libc::c_ulong = 0x4008_2406;
const IOC_ID: libc::c_ulong = 0x8008_2407;

const DISABLED: u64 = 1 << 0;
const INHERIT: u64 = 1 << 1;
const EXCLUDE_KERNEL: u64 = 1 << 5;
const EXCLUDE_HV: u64 = 1 << 6;
const MMAP: u64 = 1 << 8;
const COMM: u64 = 1 << 9;
const TASK: u64 = 1 << 13;
const WATERMARK: u64 = 1 << 14;
const SAMPLE_ID_ALL: u64 = 1 << 18;
const EXCLUDE_CALLCHAIN_USER: u64 = 1 << 22;
const MMAP2: u64 = 1 << 23;
const COMM_EXEC: u64 = 1 << 24;
const USE_CLOCKID: u64 = 1 << 25;
const CONTEXT_SWITCH: u64 = 1 << 26;

/// Frames of the kernel's call chain: enough for the path from a kernel entry
/// through a file system to the scheduler.
const FRAMES: u16 = 32;

/// `struct perf_event_attr`, version 5 (112 bytes), from
/// `include/uapi/linux/perf_event.h`. Older kernels accept it as long as the part
/// that they do not know is zero, newer ones pad it with zeros.
#[repr(C)]
#[derive(Copy, Clone, Debug, Default)]
struct Attr {
    kind: u32,
    size: u32,
    config: u64,
    sample_period: u64,
    sample_type: u64,
    read_format: u64,
    flags: u64,
    wakeup_watermark: u32,
    bp_type: u32,
    config1: u64,
    config2: u64,
    branch_sample_type: u64,
    sample_regs_user: u64,
    sample_stack_user: u32,
    clockid: i32,
    sample_regs_intr: u64,
    aux_watermark: u32,
    sample_max_stack: u16,
    reserved: u16,
}

const _: () = assert!(size_of::<Attr>() == 112);

/// What one event reports.
#[derive(Copy, Clone, Eq, PartialEq, Debug)]
pub enum PerfEvent {
    /// Each hit of the tracepoint with this id, with its raw fields.
    Tracepoint(u64),
    /// The tracepoint together with forks, exits, names and context switches of
    /// all threads. The switches are included because some kernels skip tracepoints in
    /// some threads (measured on 6.18 in a virtual machine: half of the switches away
    /// from one CPU's idle task, with perf and ftrace alike); the arriving side
    /// of a switch is a record of its own.
    TracepointAndTasks(u64),
    /// Context switches, forks, exits and names.
    Switches,
    /// Where a running thread is, once per `period_ns` of its CPU time; with
    /// forks, exits, names and executable mappings.
    Clock {
        period_ns: u64,
        /// Also samples inside the kernel.
        kernel: bool,
        /// Bytes of the stack's top copied with [`DUMPED_REGISTERS`]; a multiple of 8, 0: no copy.
        stack_bytes: u32,
    },
    /// Where in the kernel a thread was when it went to sleep.
    Asleep {
        /// The id of the tracepoint `sched_switch`.
        tracepoint: u64,
        /// Sleeps that a signal can end; else those that none can.
        interruptible: bool,
    },
}

impl PerfEvent {
    fn sees_kernel(self) -> bool {
        matches!(self, PerfEvent::Clock { kernel: true, .. } | PerfEvent::Asleep { .. })
    }
}

#[derive(Copy, Clone, Eq, PartialEq, Debug)]
pub enum Scope {
    /// Every thread on this CPU.
    Cpu(u16),
    /// This thread and threads that it makes from now on, while they run on this CPU.
    ThreadOnCpu(u32, u16),
}

/// An open perf event; closed when dropped.
#[derive(Debug)]
pub struct Event {
    fd: OwnedFd,
    counts_lost: bool,
}

impl Event {
    /// Opens a disabled event with records stamped in `CLOCK_MONOTONIC`.
    /// `sample_type` must be the same for all events of a ring. A reader that
    /// sleeps on the ring is woken at `watermark` bytes.
    pub fn open(what: PerfEvent, scope: Scope, sample_type: u64, watermark: u32) -> io::Result<Event> {
        let attr = attr(what, scope, sample_type, watermark);
        match open(&Attr { read_format: FORMAT_LOST, ..attr }, scope) {
            // Kernels before 6.0 do not know the count of lost records.
            Err(error) if error.raw_os_error() == Some(libc::EINVAL) => {
                open(&attr, scope).map(|fd| Event { fd, counts_lost: false })
            }
            other => other.map(|fd| Event { fd, counts_lost: true }),
        }
    }

    /// Redirects this event's records into the ring of `ring`, which must watch the
    /// same CPU.
    pub fn redirect_to(&self, ring: &Event) -> io::Result<()> {
        self.ioctl(IOC_SET_OUTPUT, ring.fd.as_raw_fd() as libc::c_ulong)
    }

    /// Starts it (and the copies that new threads inherited).
    pub fn enable(&self) -> io::Result<()> {
        self.ioctl(IOC_ENABLE, 0)
    }

    pub fn disable(&self) -> io::Result<()> {
        self.ioctl(IOC_DISABLE, 0)
    }

    /// Records of this event that did not fit into the ring; `None` on kernels before 6.0.
    pub fn lost(&self) -> Option<u64> {
        if !self.counts_lost {
            return None;
        }
        let mut words = [0u8; 16];
        File::from(self.fd.try_clone().ok()?).read_exact(&mut words).ok()?;
        words.last_chunk().map(|lost| u64::from_ne_bytes(*lost))
    }

    /// The id in its records, also in those of threads that inherited the event.
    pub fn id(&self) -> io::Result<u64> {
        let mut id = 0u64;
        // SAFETY: this request writes one u64, which lives across the call.
        checked(unsafe { libc::ioctl(self.fd.as_raw_fd(), IOC_ID as _, &raw mut id) }).map(|()| id)
    }

    /// Keeps only hits of its tracepoint for which `filter` holds
    /// (`prev_state & 2`). It can be set once.
    pub fn filter(&self, filter: &CStr) -> io::Result<()> {
        // SAFETY: this request reads a NUL-terminated string, which lives across the
        // call, and keeps no reference.
        checked(unsafe { libc::ioctl(self.fd.as_raw_fd(), IOC_SET_FILTER as _, filter.as_ptr()) })
    }

    fn ioctl(&self, request: libc::c_ulong, argument: libc::c_ulong) -> io::Result<()> {
        // SAFETY: the descriptor is open for as long as `self` lives; the three
        // requests used with it take an integer, so the kernel follows no pointer.
        checked(unsafe { libc::ioctl(self.fd.as_raw_fd(), request as _, argument) })
    }
}

fn checked(outcome: libc::c_int) -> io::Result<()> {
    if outcome < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

impl AsFd for Event {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

fn attr(what: PerfEvent, scope: Scope, sample_type: u64, watermark: u32) -> Attr {
    let mut attr = Attr {
        kind: TYPE_TRACEPOINT,
        size: size_of::<Attr>() as u32,
        sample_type,
        flags: DISABLED | WATERMARK | SAMPLE_ID_ALL | USE_CLOCKID,
        wakeup_watermark: watermark,
        clockid: libc::CLOCK_MONOTONIC,
        ..Attr::default()
    };
    let tasks = TASK | COMM | COMM_EXEC;
    match what {
        PerfEvent::Tracepoint(id) | PerfEvent::Asleep { tracepoint: id, .. } => {
            (attr.config, attr.sample_period) = (id, 1)
        }
        PerfEvent::TracepointAndTasks(id) => {
            (attr.config, attr.sample_period) = (id, 1);
            attr.flags |= tasks | CONTEXT_SWITCH;
        }
        PerfEvent::Switches => {
            (attr.kind, attr.config) = (TYPE_SOFTWARE, COUNT_SW_DUMMY);
            attr.flags |= tasks | CONTEXT_SWITCH;
        }
        PerfEvent::Clock { period_ns, stack_bytes, .. } => {
            (attr.kind, attr.config, attr.sample_period) = (TYPE_SOFTWARE, COUNT_SW_CPU_CLOCK, period_ns);
            attr.flags |= tasks | MMAP | MMAP2;
            attr.sample_stack_user = stack_bytes;
        }
    }
    if sample_type & SAMPLE_CALLCHAIN != 0 {
        attr.flags |= EXCLUDE_CALLCHAIN_USER;
        attr.sample_max_stack = FRAMES;
    }
    if sample_type & SAMPLE_REGS_USER != 0 {
        attr.sample_regs_user = INSTRUCTION_POINTER.map_or(0, |register| 1 << register);
    }
    if attr.sample_stack_user > 0 {
        attr.sample_type |= SAMPLE_STACK_USER;
        attr.sample_regs_user = DUMPED_REGISTERS.iter().map(|register| 1 << register).sum();
    }
    if let Scope::ThreadOnCpu(..) = scope {
        attr.flags |= INHERIT | EXCLUDE_HV;
        if !what.sees_kernel() {
            // Without privilege only user-side events may be opened; records of
            // switches arrive anyway.
            attr.flags |= EXCLUDE_KERNEL;
        }
    }
    attr
}

fn open(attr: &Attr, scope: Scope) -> io::Result<OwnedFd> {
    let (pid, cpu) = match scope {
        Scope::Cpu(cpu) => (-1, libc::c_int::from(cpu)),
        Scope::ThreadOnCpu(tid, cpu) => (tid as libc::pid_t, libc::c_int::from(cpu)),
    };
    // SAFETY: `attr` is a live, initialised structure whose `size` field is its
    // own size; the kernel reads it and keeps no reference.
    let fd = unsafe {
        libc::syscall(libc::SYS_perf_event_open, std::ptr::from_ref(attr), pid, cpu, -1 as libc::c_int, FLAG_FD_CLOEXEC)
    };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the call succeeded, so this is a new descriptor that has no other owner.
    Ok(unsafe { OwnedFd::from_raw_fd(fd as libc::c_int) })
}
