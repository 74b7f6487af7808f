//! The recorder's samples as counters, and code samples as instants on their thread.

use super::super::record::{EventKind, EventRecord, Value};
use super::super::shape::{FxtTrack, MACHINE, Shape};
use super::fields::{fitting, is_instant};
use crate::fxt::Thread;
use rtscope_model::{CodeSample, Cpu, Found, GroupId, Pid, PurposeId, Sample, SymbolId, Tid};
use std::convert::identity;

const SAMPLE: &str = "sample";
const CODE: &str = "code";

/// Samples by the name of their counter: what its id stands for, and its arguments.
macro_rules! samples {
    ($($name:literal $sample:ident $(($key:ident: $key_type:expr => $number:expr))? [$($field:ident)*];)*) => {
        /// The counter of a sample; its id is that of the group, CPU, process or thread.
        pub(super) fn shape<'a>(sample: &Sample) -> Shape<'a> {
            let of = |id, name| Shape::new(EventKind::Counter(id), FxtTrack::Other(MACHINE), SAMPLE, name);
            match *sample {
                $(Sample::$sample { $($key,)? $($field),* } => {
                    let id = 0 $(+ u64::from($number))?;
                    of(id, $name)$(.with(stringify!($field), Value::U64($field)))*
                })*
            }
        }

        pub(super) fn read(record: &EventRecord<'_>) -> Option<Sample> {
            let EventKind::Counter(_id) = record.kind else { return None };
            let name = (record.category == SAMPLE.as_bytes()).then_some(record.name)?;
            $(if name == $name.as_bytes() {
                return Some(Sample::$sample {
                    $($key: _id.try_into().ok().map($key_type)?,)?
                    $($field: record.args.number(stringify!($field))?,)*
                });
            })*
            None
        }
    };
}

samples! {
    "rss" Rss [bytes];
    "quota" Quota (group: GroupId => group.0) [periods throttled throttled_ns];
    "thread" Thread (tid: Tid => tid.0) [voluntary involuntary minor_faults major_faults cpu_ns wait_ns];
    "cpu-stolen" CpuStolen (cpu: Cpu => cpu.0) [steal_ns irq_ns];
    "group-memory" GroupMemory (group: GroupId => group.0) [bytes];
    "pressure" Pressure (resource: identity::<u8> => resource) [total_us];
    "calls" Calls (pid: Pid => pid.0) [reads read_bytes writes written_bytes];
    "late" Late [ns];
}

/// The record for a code sample.
pub(super) fn code<'a>(sample: &CodeSample) -> Shape<'a> {
    let name = if let Found::Waits = sample.what { "waits" } else { "running" };
    let mut shape = Shape::new(EventKind::Instant, FxtTrack::Thread(sample.tid), CODE, name)
        .with("cpu", Value::U32(u32::from(sample.cpu.0)))
        .with("leaf", Value::U32(sample.leaf.0));
    if let Some(user) = sample.user {
        shape = shape.with("user", Value::U32(user.0));
    }
    if let Some(purpose) = sample.purpose {
        shape = shape.with("purpose", Value::Text(purpose.get().id.as_bytes()));
    }
    match sample.what {
        Found::Running { ns } => shape.with("ns", Value::U64(ns)),
        Found::Waits => shape,
    }
}

fn purpose(value: Option<Value<'_>>) -> Option<PurposeId> {
    let Value::Text(id) = value? else { return None };
    PurposeId::of(std::str::from_utf8(id).ok()?)
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
        purpose: purpose(args.get("purpose")),
        what,
    })
}
