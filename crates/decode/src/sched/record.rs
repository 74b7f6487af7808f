//! One perf record (`include/uapi/linux/perf_event.h`, `enum perf_event_type`)
//! as the ring held it. Owns the framing and the bodies of the kinds that the
//! recorder asks for; refuses anything that contradicts itself, because that is
//! how damage is told from data.

/// Larger than any record that the recorder asks for.
pub const SIZE_MAX: usize = 4096;
/// Size of a record's header.
pub const HEADER: usize = 8;

/// Thread id of a thread that is gone already.
pub const GONE: u32 = u32::MAX;

const LOST: u32 = 2;
const COMM: u32 = 3;
const EXIT: u32 = 4;
const THROTTLE: u32 = 5;
const UNTHROTTLE: u32 = 6;
const FORK: u32 = 7;
const SAMPLE: u32 = 9;
const LOST_SAMPLES: u32 = 13;
const SWITCH: u32 = 14;
const SWITCH_CPU_WIDE: u32 = 15;

const MISC_SWITCH_OUT: u16 = 1 << 13;
const MISC_SWITCH_OUT_PREEMPT: u16 = 1 << 14;

/// Bytes of pid, tid, time, cpu and padding: what `sample_id_all` puts at the end
/// of every record and every sample starts with.
const STAMP: usize = 24;

/// When, where and in whose context a record was made.
#[derive(Copy, Clone, Eq, PartialEq, Debug)]
pub struct Stamp {
    /// Process of the current thread; [`GONE`] where it has ended.
    pub pid: u32,
    /// The current thread; [`GONE`] where it has ended.
    pub tid: u32,
    /// `CLOCK_MONOTONIC`, nanoseconds.
    pub time: u64,
    /// Which CPU.
    pub cpu: u32,
}

/// What a record says.
#[derive(Copy, Clone, Eq, PartialEq, Debug)]
pub enum Body<'a> {
    /// A tracepoint was hit; its fields.
    Sample(&'a [u8]),
    /// The current thread comes or goes.
    Switch { out: bool, preempted: bool },
    /// As above, with the other side of the switch.
    SwitchCpuWide { out: bool, preempted: bool, other_pid: u32, other_tid: u32 },
    /// A thread was made.
    Fork { pid: u32, tid: u32, parent_tid: u32 },
    /// A thread ends.
    Exit { tid: u32 },
    /// A thread has a new name.
    Comm { pid: u32, tid: u32, comm: &'a [u8] },
    /// The ring was full.
    Lost { count: u64 },
    /// The kernel held an event back.
    Throttle,
}

/// The kind and size of the record that `bytes` start with, if both can be.
pub fn header(bytes: &[u8]) -> Option<(u32, u16, usize)> {
    let [a, b, c, d, e, f, g, h] = *bytes.first_chunk::<HEADER>()?;
    let kind = u32::from_le_bytes([a, b, c, d]);
    let size = usize::from(u16::from_le_bytes([g, h]));
    let known = matches!(kind, LOST..=FORK | SAMPLE | LOST_SAMPLES..=SWITCH_CPU_WIDE);
    let fits = size.is_multiple_of(8) && (HEADER + STAMP..=SIZE_MAX).contains(&size);
    (known && fits).then_some((kind, u16::from_le_bytes([e, f]), size))
}

/// Reads one whole record. `None`: it contradicts itself.
pub fn parse(record: &[u8]) -> Option<(Stamp, Body<'_>)> {
    let (kind, misc, size) = header(record)?;
    let body = record.get(HEADER..size)?;
    if kind == SAMPLE {
        let (raw_size, raw) = body.get(STAMP..)?.split_first_chunk::<4>()?;
        let whole = usize::try_from(u32::from_le_bytes(*raw_size)).ok()? == raw.len();
        return whole.then_some((stamp(body)?, Body::Sample(raw)));
    }
    let (body, trailer) = body.split_at_checked(body.len().checked_sub(STAMP)?)?;
    let out = misc & MISC_SWITCH_OUT != 0;
    let preempted = misc & MISC_SWITCH_OUT_PREEMPT != 0;
    let body = match (kind, body.len()) {
        (LOST, 16) => Body::Lost { count: long(body, 8)? },
        (LOST_SAMPLES, 8) => Body::Lost { count: long(body, 0)? },
        (COMM, 16..=40) => Body::Comm { pid: word(body, 0)?, tid: word(body, 4)?, comm: until_nul(body.get(8..)?) },
        (EXIT, 24) => Body::Exit { tid: word(body, 8)? },
        (FORK, 24) => Body::Fork { pid: word(body, 0)?, tid: word(body, 8)?, parent_tid: word(body, 12)? },
        (THROTTLE | UNTHROTTLE, 24) => Body::Throttle,
        (SWITCH, 0) => Body::Switch { out, preempted },
        (SWITCH_CPU_WIDE, 8) => {
            Body::SwitchCpuWide { out, preempted, other_pid: word(body, 0)?, other_tid: word(body, 4)? }
        }
        _ => return None,
    };
    Some((stamp(trailer)?, body))
}

fn stamp(bytes: &[u8]) -> Option<Stamp> {
    let stamp = Stamp { pid: word(bytes, 0)?, tid: word(bytes, 4)?, time: long(bytes, 8)?, cpu: word(bytes, 16)? };
    // The padding behind the cpu is always zero: one more thing damage trips over.
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
