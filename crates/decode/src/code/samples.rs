//! The streams of all CPUs merged, with addresses resolved to places. Owns that order and the processes' mappings at
//! each moment; refuses names.

use super::CodeError;
use super::interpret::{CodeRecord, Interpreter, Seen};
use super::maps::{Maps, Module, Place};
use crate::ReadAt;
use crate::perf::cpu_of;
use crate::perf::record::RecordLayout;
use crate::perf::stream::{CpuStream, Stamped};
use rtscope_model::manifest::{Code, CodeSource};
use rtscope_model::{Cpu, Loss, Tid, Time};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;

/// `IDENTIFIER | IP | TID | TIME | CPU | CALLCHAIN`.
const SAMPLE_TYPE: u64 = 1 << 16 | 1 | 1 << 1 | 1 << 2 | 1 << 7 | 1 << 5;
/// `REGS_USER`.
const REGISTERS: u64 = 1 << 12;

/// A sample whose places have no names yet.
#[derive(Clone, Eq, PartialEq, Debug)]
pub struct Sample {
    pub time: Time,
    pub tid: Tid,
    pub cpu: Cpu,
    /// The event that took it.
    pub source: CodeSource,
    /// The innermost place.
    pub leaf: Place,
    /// The innermost place in user space, if `leaf` is in the kernel.
    pub user: Option<Place>,
    /// The kernel's call chain, innermost first.
    pub chain: Box<[u64]>,
    /// Callers of the innermost place in user space, innermost first, where the recorder found them: for each, the
    /// last byte of the call instruction.
    pub callers: Box<[Place]>,
}

/// Samples in time order.
pub struct Samples {
    interpreter: Interpreter,
    cpus: Vec<CpuStream<CodeRecord>>,
    /// The next item of each CPU that has one.
    heads: BinaryHeap<Reverse<(Stamped<CodeRecord>, usize)>>,
    maps: Maps,
}

impl Samples {
    /// Opens the streams of `code`: `sources` in the order of `code.streams`.
    pub fn open(code: &Code, sources: Vec<Arc<dyn ReadAt>>) -> Result<Samples, CodeError> {
        if sources.len() != code.streams.len() {
            return Err(CodeError::Streams { named: code.streams.len(), given: sources.len() });
        }
        let layout = match code.sample_type {
            SAMPLE_TYPE => RecordLayout::Code { registers: false },
            kind if kind == SAMPLE_TYPE | REGISTERS => RecordLayout::Code { registers: true },
            sample_type => return Err(CodeError::SampleType { sample_type }),
        };
        let open_one = |(name, source): (&String, Arc<dyn ReadAt>)| {
            let cpu = cpu_of(name).ok_or_else(|| CodeError::StreamName { stream: name.clone() })?;
            Ok(CpuStream::new(cpu, name, source))
        };
        let mut samples = Samples {
            interpreter: Interpreter::new(code, layout),
            cpus: code.streams.iter().zip(sources).map(open_one).collect::<Result<_, _>>()?,
            heads: BinaryHeap::new(),
            maps: Maps::default(),
        };
        (0..samples.cpus.len()).for_each(|index| samples.pull(index));
        Ok(samples)
    }

    /// The modules that places refer to; grows while samples are read.
    pub fn modules(&self) -> &[Module] {
        self.interpreter.modules.all()
    }

    /// When each module was first mapped.
    pub fn mapped(&self) -> &[Time] {
        &self.interpreter.mapped
    }

    /// Losses of the streams read so far.
    pub fn losses(&self) -> Vec<Loss> {
        self.cpus.iter().flat_map(CpuStream::losses).cloned().collect()
    }

    fn pull(&mut self, index: usize) {
        let next = self.cpus.get_mut(index).and_then(|cpu| cpu.next(&mut self.interpreter));
        self.heads.extend(next.map(|next| Reverse((next, index))));
    }

    fn found(&self, time: Time, seen: Seen) -> Sample {
        let Seen { pid, tid, cpu, source, ip, in_kernel, chain, callers, user_ip } = seen;
        let callers = callers.iter().map(|to| self.maps.place(pid, to.saturating_sub(1))).collect();
        let user = user_ip.map(|ip| self.maps.place(pid, ip));
        let (leaf, user) = match in_kernel {
            true => (Place::Kernel(ip), user),
            false => (self.maps.place(pid, ip), None),
        };
        let chain = if in_kernel && chain.is_empty() { [ip].into() } else { chain };
        Sample { time, tid, cpu, source, leaf, user, chain, callers }
    }
}

impl Iterator for Samples {
    type Item = Sample;

    fn next(&mut self) -> Option<Sample> {
        loop {
            let Reverse((next, index)) = self.heads.pop()?;
            self.pull(index);
            match next.item {
                CodeRecord::Sample(seen) => return Some(self.found(next.time, seen)),
                CodeRecord::Mapped { pid, start, length, offset, module } => {
                    self.maps.map(pid, start, length, offset, module);
                }
                CodeRecord::Exec { pid } => self.maps.exec(pid),
                CodeRecord::Fork { pid, parent } => self.maps.fork(pid, parent),
                CodeRecord::Exit { tid } => self.maps.exit(tid),
            }
        }
    }
}
