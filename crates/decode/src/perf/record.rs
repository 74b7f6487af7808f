//! One perf record (`include/uapi/linux/perf_event.h`, `enum perf_event_type`) as it was in the ring. Owns the
//! framing and the bodies of the kinds that the recorder requests; refuses records that contradict themselves, which
//! is how damage is distinguished from data.

/// Larger than any record that the recorder requests: a mapping with the longest path.
pub const SIZE_MAX: usize = 4096 + 256;
/// Size of a record's header in bytes.
pub const HEADER: usize = 8;

/// Thread id of a thread that has already ended.
pub const GONE: u32 = u32::MAX;

const LOST: u32 = 2;
const COMM: u32 = 3;
const EXIT: u32 = 4;
const THROTTLE: u32 = 5;
const UNTHROTTLE: u32 = 6;
const FORK: u32 = 7;
const SAMPLE: u32 = 9;
const MMAP2: u32 = 10;
const LOST_SAMPLES: u32 = 13;
const SWITCH: u32 = 14;
const SWITCH_CPU_WIDE: u32 = 15;

const MISC_CPU_MODE: u16 = 7;
const MISC_CPU_MODE_KERNEL: u16 = 1;
const MISC_COMM_EXEC: u16 = 1 << 13;
const MISC_MMAP_BUILD_ID: u16 = 1 << 14;
const MISC_SWITCH_OUT: u16 = 1 << 13;
const MISC_SWITCH_OUT_PREEMPT: u16 = 1 << 14;

/// Limit of frames in a call chain.
const FRAMES_MAX: usize = 256;

/// How the records of a stream are laid out.
#[derive(Copy, Clone, Eq, PartialEq, Debug)]
pub enum RecordLayout {
    /// `TID | TIME | CPU`; samples carry the fields of a tracepoint.
    Threads,
    /// `IDENTIFIER | IP | TID | TIME | CPU | CALLCHAIN`, and with `REGS_USER` the user-space instruction pointer.
    Code {
        /// Whether it has `REGS_USER`.
        registers: bool,
    },
}

impl RecordLayout {
    /// Size in bytes of pid, tid, time, cpu and padding, and of the id where there is one: `sample_id_all` puts these
    /// at the end of every record but a sample.
    fn trailer(self) -> usize {
        match self {
            RecordLayout::Threads => STAMP,
            RecordLayout::Code { .. } => STAMP + 8,
        }
    }

    fn has(self, kind: u32) -> bool {
        match self {
            RecordLayout::Threads => matches!(kind, LOST..=FORK | SAMPLE | LOST_SAMPLES..=SWITCH_CPU_WIDE),
            RecordLayout::Code { .. } => matches!(kind, LOST..=FORK | SAMPLE | MMAP2 | LOST_SAMPLES),
        }
    }
}

/// Size in bytes of pid, tid, time, cpu and padding.
const STAMP: usize = 24;

/// Size of the whole records in `bytes`, which begin with a record. After an invalid size the next record cannot be
/// found: then it is all of `bytes`, and their reader resynchronises.
pub fn whole(bytes: &[u8]) -> usize {
    let mut at = 0;
    loop {
        let rest = bytes.get(at..).unwrap_or_default();
        let Some(size) = rest.get(6..HEADER).and_then(|size| size.try_into().ok()).map(u16::from_ne_bytes) else {
            return at;
        };
        match usize::from(size) {
            size if size < HEADER => return bytes.len(),
            size if size > rest.len() => return at,
            size => at += size,
        }
    }
}

/// When, where and in which context a record was made.
#[derive(Copy, Clone, Eq, PartialEq, Debug)]
pub struct Stamp {
    /// Process of the current thread; [`GONE`] where it has ended.
    pub pid: u32,
    /// The current thread; [`GONE`] where it has ended.
    pub tid: u32,
    /// `CLOCK_MONOTONIC`, nanoseconds.
    pub time: u64,
    /// Number of the CPU.
    pub cpu: u32,
}

/// The content of a record.
#[derive(Copy, Clone, Eq, PartialEq, Debug)]
pub enum Body<'a> {
    /// A tracepoint was hit; these are its fields.
    Sample(&'a [u8]),
    /// The current thread is switched in or out.
    Switch { out: bool, preempted: bool },
    /// Like [`Body::Switch`], with the other side of the switch.
    SwitchCpuWide { out: bool, preempted: bool, other_pid: u32, other_tid: u32 },
    /// A thread was created.
    Fork { pid: u32, parent_pid: u32, tid: u32, parent_tid: u32 },
    /// A thread ends.
    Exit { tid: u32 },
    /// A thread has a new name.
    Comm { pid: u32, tid: u32, comm: &'a [u8], exec: bool },
    /// A sample of a thread's code.
    Code(Found<'a>),
    /// Executable memory was mapped.
    Mapped(Mapped<'a>),
    /// The ring was full.
    Lost { count: u64 },
    /// The kernel throttled an event.
    Throttle,
}

/// A sample of code.
#[derive(Copy, Clone, Eq, PartialEq, Debug)]
pub struct Found<'a> {
    /// Id of its event.
    pub id: u64,
    /// Instruction pointer.
    pub ip: u64,
    /// Whether `ip` is in the kernel.
    pub in_kernel: bool,
    /// The kernel's call chain, innermost first, as little-endian words; contains markers.
    pub chain: &'a [u8],
    /// The instruction pointer in user space, where it is known.
    pub user_ip: Option<u64>,
}

/// An executable mapping.
#[derive(Copy, Clone, Eq, PartialEq, Debug)]
pub struct Mapped<'a> {
    /// Id of its process.
    pub pid: u32,
    /// First address.
    pub start: u64,
    /// Size in bytes.
    pub length: u64,
    /// Offset in the file, in bytes.
    pub offset: u64,
    /// Major and minor number of the file's device.
    pub device: (u32, u32),
    /// Inode of the file.
    pub inode: u64,
    /// The file's path as the process saw it, or the kernel's name for a mapping without a file.
    pub path: &'a [u8],
}

/// Kind, flags and size of the record at the start of `bytes`, if kind and size are valid.
pub fn header(bytes: &[u8], layout: RecordLayout) -> Option<(u32, u16, usize)> {
    let [a, b, c, d, e, f, g, h] = *bytes.first_chunk::<HEADER>()?;
    let kind = u32::from_le_bytes([a, b, c, d]);
    let size = usize::from(u16::from_le_bytes([g, h]));
    let fits = size.is_multiple_of(8) && (HEADER + layout.trailer()..=SIZE_MAX).contains(&size);
    (layout.has(kind) && fits).then_some((kind, u16::from_le_bytes([e, f]), size))
}

/// Parses one whole record. `None`: it contradicts itself.
pub fn parse(record: &[u8], layout: RecordLayout) -> Option<(Stamp, Body<'_>)> {
    let (kind, misc, size) = header(record, layout)?;
    let body = record.get(HEADER..size)?;
    match (kind, layout) {
        (SAMPLE, RecordLayout::Threads) => tracepoint(body),
        (SAMPLE, RecordLayout::Code { registers }) => found(body, misc, registers),
        _ => other(kind, misc, body, layout),
    }
}

fn tracepoint(body: &[u8]) -> Option<(Stamp, Body<'_>)> {
    let (raw_size, raw) = body.get(STAMP..)?.split_first_chunk::<4>()?;
    let whole = usize::try_from(u32::from_le_bytes(*raw_size)).ok()? == raw.len();
    whole.then_some((stamp(body)?, Body::Sample(raw)))
}

fn found(body: &[u8], misc: u16, registers: bool) -> Option<(Stamp, Body<'_>)> {
    let (head, rest) = body.split_at_checked(16 + STAMP + 8)?;
    let frames = usize::try_from(long(head, 16 + STAMP)?).ok().filter(|frames| *frames <= FRAMES_MAX)?;
    let (chain, rest) = rest.split_at_checked(frames * 8)?;
    let user_ip = match (registers, rest.len()) {
        (false, 0) => None,
        // The kernel's mark for "no registers": a kernel thread, or one that ends.
        (true, 8) if long(rest, 0)? == 0 => None,
        (true, 16) if long(rest, 0)? != 0 => Some(long(rest, 8)?),
        _ => return None,
    };
    let found = Found {
        id: long(head, 0)?,
        ip: long(head, 8)?,
        in_kernel: misc & MISC_CPU_MODE == MISC_CPU_MODE_KERNEL,
        chain,
        user_ip,
    };
    Some((stamp(head.get(16..)?)?, Body::Code(found)))
}

fn other(kind: u32, misc: u16, body: &[u8], layout: RecordLayout) -> Option<(Stamp, Body<'_>)> {
    let (body, trailer) = body.split_at_checked(body.len().checked_sub(layout.trailer())?)?;
    let out = misc & MISC_SWITCH_OUT != 0;
    let preempted = misc & MISC_SWITCH_OUT_PREEMPT != 0;
    let exec = misc & MISC_COMM_EXEC != 0;
    let body = match (kind, body.len()) {
        (LOST, 16) => Body::Lost { count: long(body, 8)? },
        (LOST_SAMPLES, 8) => Body::Lost { count: long(body, 0)? },
        (COMM, 16..=40) => {
            Body::Comm { pid: word(body, 0)?, tid: word(body, 4)?, comm: until_nul(body.get(8..)?), exec }
        }
        (EXIT, 24) => Body::Exit { tid: word(body, 8)? },
        (FORK, 24) => Body::Fork {
            pid: word(body, 0)?,
            parent_pid: word(body, 4)?,
            tid: word(body, 8)?,
            parent_tid: word(body, 12)?,
        },
        (THROTTLE | UNTHROTTLE, 24) => Body::Throttle,
        (MMAP2, 72..) if misc & MISC_MMAP_BUILD_ID == 0 => Body::Mapped(mapped(body)?),
        (SWITCH, 0) => Body::Switch { out, preempted },
        (SWITCH_CPU_WIDE, 8) => {
            Body::SwitchCpuWide { out, preempted, other_pid: word(body, 0)?, other_tid: word(body, 4)? }
        }
        _ => return None,
    };
    Some((stamp(trailer)?, body))
}

fn mapped(body: &[u8]) -> Option<Mapped<'_>> {
    Some(Mapped {
        pid: word(body, 0)?,
        start: long(body, 8)?,
        length: long(body, 16)?,
        offset: long(body, 24)?,
        device: (word(body, 32)?, word(body, 36)?),
        inode: long(body, 40)?,
        path: until_nul(body.get(64..)?),
    })
}

fn stamp(bytes: &[u8]) -> Option<Stamp> {
    let stamp = Stamp { pid: word(bytes, 0)?, tid: word(bytes, 4)?, time: long(bytes, 8)?, cpu: word(bytes, 16)? };
    // The padding after the cpu is always zero, so this detects more damage.
    (word(bytes, 20)? == 0).then_some(stamp)
}

fn word(bytes: &[u8], offset: usize) -> Option<u32> {
    bytes.get(offset..)?.first_chunk().map(|bytes| u32::from_le_bytes(*bytes))
}

fn long(bytes: &[u8], offset: usize) -> Option<u64> {
    bytes.get(offset..)?.first_chunk().map(|bytes| u64::from_le_bytes(*bytes))
}

fn until_nul(bytes: &[u8]) -> &[u8] {
    bytes.split(|byte| *byte == 0).next().unwrap_or_default()
}
