//! `samples.jsonl`: one JSON object per line. Written and read here, so that the format is defined once. `t` is
//! nanoseconds of `CLOCK_MONOTONIC`; one more key says what was sampled:
//!
//! | key | value |
//! |---|---|
//! | `rss` | resident bytes of the program (of all its logging processes together) |
//! | `q` | `[group, periods, throttled, throttled_ns]` |
//! | `th` | `[tid, voluntary, involuntary, minor_faults, major_faults, cpu_ns, wait_ns]` |
//! | `st` | `[cpu, steal_ns, irq_ns]` |
//! | `gm` | `[group, bytes]` |
//! | `psi` | `[resource, total_us]`, resource 0 cpu, 1 memory, 2 io |
//! | `io` | `[pid, reads, read_bytes, writes, written_bytes]`, system calls and the bytes that they moved |
//! | `late` | nanoseconds by which the sampler woke too late |
//!
//! Counters are cumulative. A value is written when it has changed since its last line (`rss` at least every 100 ms);
//! no line means no change. Unknown keys are skipped. The file is append-only and may be truncated anywhere.

use super::lines::{Damaged, JsonLines, OfLine};
use rtscope_model::{Body, Cpu, Event, GroupId, LaneId, Pid, Sample, Tid, Time};
use serde::Deserialize;

/// Appends one line for `sample`.
pub fn write_line(out: &mut Vec<u8>, time: Time, sample: &Sample) {
    use std::io::Write;
    let Time(t) = time;
    // Writing to memory does not fail.
    let _ = match *sample {
        Sample::Rss { bytes } => writeln!(out, "{{\"t\":{t},\"rss\":{bytes}}}"),
        Sample::Quota { group, periods, throttled, throttled_ns } => {
            writeln!(out, "{{\"t\":{t},\"q\":[{group},{periods},{throttled},{throttled_ns}]}}")
        }
        Sample::Thread { tid, voluntary, involuntary, minor_faults, major_faults, cpu_ns, wait_ns } => writeln!(
            out,
            "{{\"t\":{t},\"th\":[{tid},{voluntary},{involuntary},{minor_faults},{major_faults},{cpu_ns},{wait_ns}]}}"
        ),
        Sample::CpuStolen { cpu, steal_ns, irq_ns } => {
            writeln!(out, "{{\"t\":{t},\"st\":[{cpu},{steal_ns},{irq_ns}]}}")
        }
        Sample::GroupMemory { group, bytes } => writeln!(out, "{{\"t\":{t},\"gm\":[{group},{bytes}]}}"),
        Sample::Pressure { resource, total_us } => writeln!(out, "{{\"t\":{t},\"psi\":[{resource},{total_us}]}}"),
        Sample::Calls { pid, reads, read_bytes, writes, written_bytes } => {
            writeln!(out, "{{\"t\":{t},\"io\":[{pid},{reads},{read_bytes},{writes},{written_bytes}]}}")
        }
        Sample::Late { ns } => writeln!(out, "{{\"t\":{t},\"late\":{ns}}}"),
    };
}

#[derive(Deserialize)]
struct WrittenSample {
    t: u64,
    rss: Option<u64>,
    q: Option<(u16, u64, u64, u64)>,
    th: Option<(u32, u64, u64, u64, u64, u64, u64)>,
    st: Option<(u16, u64, u64)>,
    gm: Option<(u16, u64)>,
    psi: Option<(u8, u64)>,
    io: Option<(u32, u64, u64, u64, u64)>,
    late: Option<u64>,
}

impl WrittenSample {
    fn sample(&self) -> Option<Sample> {
        let rss = self.rss.map(|bytes| Sample::Rss { bytes });
        let quota = self.q.map(|(group, periods, throttled, throttled_ns)| Sample::Quota {
            group: GroupId(group),
            periods,
            throttled,
            throttled_ns,
        });
        let thread = self.th.map(|(tid, voluntary, involuntary, minor_faults, major_faults, cpu_ns, wait_ns)| {
            Sample::Thread { tid: Tid(tid), voluntary, involuntary, minor_faults, major_faults, cpu_ns, wait_ns }
        });
        let stolen = self.st.map(|(cpu, steal_ns, irq_ns)| Sample::CpuStolen { cpu: Cpu(cpu), steal_ns, irq_ns });
        let memory = self.gm.map(|(group, bytes)| Sample::GroupMemory { group: GroupId(group), bytes });
        let pressure = self.psi.map(|(resource, total_us)| Sample::Pressure { resource, total_us });
        let calls = self.io.map(|(pid, reads, read_bytes, writes, written_bytes)| Sample::Calls {
            pid: Pid(pid),
            reads,
            read_bytes,
            writes,
            written_bytes,
        });
        let late = self.late.map(|ns| Sample::Late { ns });
        rss.or(quota).or(thread).or(stolen).or(memory).or(pressure).or(calls).or(late)
    }
}

/// The samples as events, in file order, which is time order.
pub type SampleStream<R> = JsonLines<R, Event>;

impl OfLine for Event {
    const FILE: &'static str = "samples";
    const BYTES_MAX: u64 = 4096;
    const BEGIN: Option<Time> = Some(Time(0));

    fn of_line(line: &[u8]) -> Result<Option<Self>, Damaged> {
        let line: WrittenSample = serde_json::from_slice(line)?;
        let event = |sample| Event { time: Time(line.t), lane: LaneId::NONE, body: Body::Sample(sample) };
        Ok(line.sample().map(event))
    }

    fn time(&self) -> Option<Time> {
        Some(self.time)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all() -> Vec<Sample> {
        vec![
            Sample::Rss { bytes: 4096 },
            Sample::Quota { group: GroupId(1), periods: 2, throttled: 3, throttled_ns: 4 },
            Sample::Thread {
                tid: Tid(9),
                voluntary: 1,
                involuntary: 2,
                minor_faults: 3,
                major_faults: 4,
                cpu_ns: 5,
                wait_ns: u64::MAX,
            },
            Sample::CpuStolen { cpu: Cpu(1), steal_ns: 10, irq_ns: 20 },
            Sample::GroupMemory { group: GroupId(0), bytes: 7 },
            Sample::Pressure { resource: 2, total_us: 8 },
            Sample::Calls { pid: Pid(4), reads: 5, read_bytes: 6, writes: 7, written_bytes: u64::MAX },
            Sample::Late { ns: 12 },
        ]
    }

    fn written() -> Vec<u8> {
        let mut bytes = Vec::new();
        for (index, sample) in all().iter().enumerate() {
            write_line(&mut bytes, Time(index as u64), sample);
        }
        bytes
    }

    #[test]
    fn what_is_written_is_read() {
        let bytes = written();
        let mut stream = SampleStream::new(&bytes[..]);
        let read: Vec<Event> = stream.by_ref().collect();
        let bodies: Vec<Body> = all().into_iter().map(Body::Sample).collect();
        assert_eq!(read.iter().map(|event| event.body).collect::<Vec<_>>(), bodies);
        assert_eq!(read.last().map(|event| event.time), Some(Time(7)));
        assert!(stream.losses().is_empty());
    }

    #[test]
    fn a_cut_at_every_byte_gives_the_lines_before_it() {
        let bytes = written();
        for end in 0..bytes.len() {
            let mut stream = SampleStream::new(&bytes[..end]);
            let whole = bytes[..end].iter().filter(|byte| **byte == b'\n').count();
            let read = stream.by_ref().count();
            // A line that lacks only its line feed is complete.
            assert!(read == whole || (read == whole + 1 && bytes[end] == b'\n'), "{end}");
            assert!(stream.losses().is_empty());
        }
    }

    #[test]
    fn damage_is_counted_and_bounded_in_time() {
        let mut bytes = b"{\"t\":5,\"rss\":1}\n\xff\xfegarbage\n{\"t\":6}\n{\"t\":7,\"new\":[1]}\n".to_vec();
        bytes.extend(b"{\"t\":9,\"rss\":2}\n\n");
        bytes.extend(vec![b'x'; 10_000]);
        bytes.extend(b"\n{\"t\":11,\"rss\":3}\n");
        let mut stream = SampleStream::new(&bytes[..]);
        assert_eq!(stream.by_ref().count(), 3);
        let losses = stream.losses();
        assert_eq!(losses.len(), 1);
        assert_eq!((losses[0].from, losses[0].to), (Some(Time(5)), Some(Time(11))));
        assert_eq!(losses[0].count, 4);
    }
}
