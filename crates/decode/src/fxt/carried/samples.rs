//! What the recorder samples, as counters; where code was, as moments on its thread.

use super::super::record::{EventKind, EventRecord, Value};
use super::super::shape::{MACHINE, Shape, Track};
use super::fields::{fitting, is_instant};
use crate::fxt::Thread;
use rtscope_model::{CodeSample, Cpu, Found, GroupId, Sample, SymbolId, Tid};

const SAMPLE: &str = "sample";
const CODE: &str = "code";

/// The counter of a sample; its id is the group's, the processor's or the thread's.
pub(super) fn shape<'a>(sample: &Sample) -> Shape<'a> {
    let of = |id, name| Shape::new(EventKind::Counter(id), Track::Other(MACHINE), SAMPLE, name);
    let number = Value::U64;
    match *sample {
        Sample::Rss { bytes } => of(0, "rss").with("bytes", number(bytes)),
        Sample::Quota { group, periods, throttled, throttled_ns } => of(u64::from(group.0), "quota")
            .with("periods", number(periods))
            .with("throttled", number(throttled))
            .with("throttled_ns", number(throttled_ns)),
        Sample::Thread { tid, voluntary, involuntary, minor_faults, major_faults, cpu_ns, wait_ns } => {
            of(u64::from(tid.0), "thread")
                .with("voluntary", number(voluntary))
                .with("involuntary", number(involuntary))
                .with("minor_faults", number(minor_faults))
                .with("major_faults", number(major_faults))
                .with("cpu_ns", number(cpu_ns))
                .with("wait_ns", number(wait_ns))
        }
        Sample::CpuStolen { cpu, steal_ns, irq_ns } => {
            of(u64::from(cpu.0), "cpu-stolen").with("steal_ns", number(steal_ns)).with("irq_ns", number(irq_ns))
        }
        Sample::GroupMemory { group, bytes } => of(u64::from(group.0), "group-memory").with("bytes", number(bytes)),
        Sample::Pressure { resource, total_us } => {
            of(u64::from(resource), "pressure").with("total_us", number(total_us))
        }
        Sample::Late { ns } => of(0, "late").with("ns", number(ns)),
    }
}

pub(super) fn read(record: &EventRecord<'_>) -> Option<Sample> {
    let EventKind::Counter(id) = record.kind else { return None };
    if record.category != SAMPLE.as_bytes() {
        return None;
    }
    let number = |name| record.args.number(name);
    let group = || u16::try_from(id).ok().map(GroupId);
    Some(match record.name {
        b"rss" => Sample::Rss { bytes: number("bytes")? },
        b"quota" => Sample::Quota {
            group: group()?,
            periods: number("periods")?,
            throttled: number("throttled")?,
            throttled_ns: number("throttled_ns")?,
        },
        b"thread" => Sample::Thread {
            tid: Tid(u32::try_from(id).ok()?),
            voluntary: number("voluntary")?,
            involuntary: number("involuntary")?,
            minor_faults: number("minor_faults")?,
            major_faults: number("major_faults")?,
            cpu_ns: number("cpu_ns")?,
            wait_ns: number("wait_ns")?,
        },
        b"cpu-stolen" => Sample::CpuStolen {
            cpu: Cpu(u16::try_from(id).ok()?),
            steal_ns: number("steal_ns")?,
            irq_ns: number("irq_ns")?,
        },
        b"group-memory" => Sample::GroupMemory { group: group()?, bytes: number("bytes")? },
        b"pressure" => Sample::Pressure { resource: u8::try_from(id).ok()?, total_us: number("total_us")? },
        b"late" => Sample::Late { ns: number("ns")? },
        _ => return None,
    })
}

/// Where a thread's code was.
pub(super) fn code<'a>(sample: &CodeSample) -> Shape<'a> {
    let name = if let Found::Waits = sample.what { "waits" } else { "running" };
    let mut shape = Shape::new(EventKind::Instant, Track::Thread(sample.tid), CODE, name)
        .with("cpu", Value::U32(u32::from(sample.cpu.0)))
        .with("leaf", Value::U32(sample.leaf.0));
    if let Some(user) = sample.user {
        shape = shape.with("user", Value::U32(user.0));
    }
    match sample.what {
        Found::Running { ns } => shape.with("ns", Value::U64(ns)),
        Found::Waits => shape,
    }
}

pub(super) fn read_code(record: &EventRecord<'_>) -> Option<CodeSample> {
    let Thread::Known { thread, .. } = record.thread else { return None };
    if record.category != CODE.as_bytes() || !is_instant(record) {
        return None;
    }
    let args = &record.args;
    let what = match record.name {
        b"running" => Found::Running { ns: args.number("ns")? },
        b"waits" => Found::Waits,
        _ => return None,
    };
    Some(CodeSample {
        tid: Tid(u32::try_from(thread).ok()?),
        cpu: Cpu(fitting(args, "cpu")?),
        leaf: SymbolId(fitting(args, "leaf")?),
        user: fitting(args, "user").map(SymbolId),
        what,
    })
}
