//! From kernel scheduling records to events.
//!
//! Owns the streams `sched/cpuN.perf.zst` of a capture: raw perf records of the known tiers, merged over the CPUs in
//! time order with a bounded window per CPU. Refuses to do I/O itself (see [`ReadAt`]) and to say why a thread waited.

mod error;
mod format;
mod interpret;
mod name_table;
mod state;
#[cfg(test)]
mod tests;

use crate::ReadAt;
use crate::perf::cpu_of;
use crate::perf::stream::{CpuStream, Stamped};
use error::SchedError;
pub use format::{Integer, TracepointFormat};
use interpret::{Interpreter, SchedReader, SchedRecord};
use name_table::NameTable;
use rtscope_model::manifest::Kernel;
use rtscope_model::{Body, Event, LaneId, Loss, Names, Pid, Sched, Tid, Time};
use serde::{Deserialize, Serialize};
use state::KernelState;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, VecDeque};
use std::sync::Arc;

/// `TID | TIME | CPU`, and `RAW` for tracepoints: the supported layouts.
const SAMPLE_TYPES: [u64; 2] = [0x86, 0x486];

/// An entry of `sched/threads.json`.
#[derive(Clone, Eq, PartialEq, Debug, Serialize, Deserialize)]
pub struct ThreadName {
    /// Thread id in the recorder's pid namespace.
    pub tid: u32,
    /// Id of the thread's process.
    pub pid: u32,
    /// Name of the thread.
    pub comm: String,
}

/// Reads `sched/threads.json`.
pub fn thread_names(json: &[u8]) -> Result<Vec<ThreadName>, SchedError> {
    serde_json::from_slice(json).map_err(|error| SchedError::Threads { line: error.line(), column: error.column() })
}

/// The kernel events of a recording, in time order.
pub struct SchedStream {
    interpreter: Interpreter,
    cpus: Vec<CpuStream<SchedRecord>>,
    /// The next item of each CPU that has one.
    heads: BinaryHeap<Reverse<(Stamped<SchedRecord>, usize)>>,
    names: NameTable,
    state: KernelState,
    ready: VecDeque<Event>,
    /// Threads to be named at the first moment, with their processes.
    threads: Vec<ThreadName>,
}

impl SchedStream {
    /// Opens the streams of `kernel`: `sources` in the order of `kernel.streams`, `formats` from a tracepoint's name
    /// to the text of its format file, `threads` the content of `sched/threads.json` if the capture has it.
    pub fn open(
        kernel: &Kernel,
        sources: Vec<Arc<dyn ReadAt>>,
        formats: &HashMap<String, String>,
        threads: Option<&[u8]>,
    ) -> Result<SchedStream, SchedError> {
        if sources.len() != kernel.streams.len() {
            return Err(SchedError::Streams { named: kernel.streams.len(), given: sources.len() });
        }
        if !sources.is_empty() && !SAMPLE_TYPES.contains(&kernel.sample_type) {
            return Err(SchedError::SampleType { sample_type: kernel.sample_type });
        }
        let open_one = |(name, source): (&String, Arc<dyn ReadAt>)| {
            let cpu = cpu_of(name).ok_or_else(|| SchedError::StreamName { stream: name.clone() })?;
            Ok(CpuStream::new(cpu, name, source))
        };
        let mut stream = SchedStream {
            interpreter: Interpreter::new(kernel, formats)?,
            cpus: kernel.streams.iter().zip(sources).map(open_one).collect::<Result<_, _>>()?,
            heads: BinaryHeap::new(),
            names: NameTable::default(),
            state: KernelState::default(),
            ready: VecDeque::new(),
            threads: threads.map_or(Ok(Vec::new()), thread_names)?,
        };
        (0..stream.cpus.len()).for_each(|index| stream.pull(index));
        stream.name_threads();
        Ok(stream)
    }

    /// Continues when the events are exhausted, with whole records that were appended to each stream since (`more`,
    /// in the order of the streams).
    pub fn resume_with(&mut self, more: impl IntoIterator<Item = Arc<dyn ReadAt>>) {
        self.cpus.iter_mut().zip(more).for_each(|(cpu, more)| cpu.resume_with(more));
        (0..self.cpus.len()).for_each(|index| self.pull(index));
        self.name_threads();
    }

    /// Losses since the last call.
    pub fn take_losses(&mut self) -> Vec<Loss> {
        let mut losses = self.state.take_losses();
        losses.extend(self.cpus.iter_mut().flat_map(CpuStream::take_losses));
        losses
    }

    /// The names that events refer to; grows while events are read.
    pub fn names(&self) -> &Names {
        &self.names.names
    }

    /// Losses of the streams read so far. Complete once the events are exhausted.
    pub fn losses(&self) -> Vec<Loss> {
        self.cpus.iter().flat_map(CpuStream::losses).chain(self.state.losses()).cloned().collect()
    }

    fn pull(&mut self, index: usize) {
        let mut reader = SchedReader { interpreter: &self.interpreter, names: &mut self.names };
        let next = self.cpus.get_mut(index).and_then(|cpu| cpu.next(&mut reader));
        self.heads.extend(next.map(|next| Reverse((next, index))));
    }

    /// Names the threads that already exist, at the first moment of the streams.
    fn name_threads(&mut self) {
        let Some(Reverse((first, _))) = self.heads.peek() else { return };
        let time = first.time;
        for thread in std::mem::take(&mut self.threads) {
            let name = self.names.intern(thread.comm.as_bytes());
            self.state.name(Tid(thread.tid), Pid(thread.pid), name);
            self.ready.push_back(event(time, Sched::Named { tid: Tid(thread.tid), name }));
        }
    }
}

impl Iterator for SchedStream {
    type Item = Event;

    fn next(&mut self) -> Option<Event> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Some(event);
            }
            let Reverse((next, index)) = self.heads.pop()?;
            self.pull(index);
            if let Some((sched, more)) = self.state.apply(next.time, next.item) {
                self.ready.push_back(event(next.time, sched));
                self.ready.extend(more.map(|more| event(next.time, more)));
            }
        }
    }
}

fn event(time: Time, sched: Sched) -> Event {
    Event { time, lane: LaneId::NONE, body: Body::Sched(sched) }
}
