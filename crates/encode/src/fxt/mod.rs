//! Writes events and pauses as a Fuchsia trace (FXT), which eio-trace, Perfetto and rtscope read.
//!
//! Owns timelines and their names. Which record carries an event is defined by [`rtscope_decode::fxt::carried`], so
//! that writer and reader agree. The facts of the recording are written as a blob, which other readers skip.
//! `docs/formats/fxt.md` describes all of it.

mod records;

use crate::{Export, Tables, program, word};
use records::Records;
use rtscope_decode::fxt::carried::{self, Carried, DERIVED};
use rtscope_decode::fxt::shape::{CAUSES, FxtTrack, MACHINE, PAUSES, Shape, lane_id};
use rtscope_decode::fxt::{EventKind, FACTS, LOSSES, OBJECT_PROCESS, OBJECT_THREAD, SYMBOLS, Value};
use rtscope_model::{Body, CausePiece, Event, Exported, LaneId, Loss, NameId, Pause, Runtime, Sched, Symbols, Time};
use std::collections::{HashMap, HashSet};
use std::io::{self, Write};

/// Limit of threads whose name or process is remembered. Evicted ones are written again.
const REMEMBERED: usize = 1 << 16;

/// Writes a Fuchsia trace.
pub struct FxtWriter<W> {
    records: Records<W>,
    process: u64,
    /// The runtime's word for a lane.
    lane_word: &'static str,
    named_lanes: HashSet<LaneId>,
    thread_names: HashMap<u32, NameId>,
    /// Some names of threads were evicted.
    forgot: bool,
    processes: HashMap<u32, u32>,
}

impl<W: Write> FxtWriter<W> {
    /// Begins a trace of the recording that `facts` describe; `out` should be buffered.
    ///
    /// # Errors
    /// An error from the output.
    pub fn new(out: W, facts: &Exported, symbols: &Symbols) -> io::Result<FxtWriter<W>> {
        let mut records = Records::new(out, "rtscope")?;
        records.blob(FACTS, &serde_json::to_vec(facts)?)?;
        if symbols.all().len() > 1 {
            records.blob(SYMBOLS, &serde_json::to_vec(symbols.all())?)?;
        }
        let (process, name) = program(facts);
        let process = u64::from(process);
        records.kernel_object(OBJECT_PROCESS, process, name, None)?;
        for (id, name) in [(PAUSES, "pauses"), (CAUSES, "waited for"), (MACHINE, "machine")] {
            records.kernel_object(OBJECT_THREAD, id, name, Some(process))?;
        }
        Ok(FxtWriter {
            records,
            process,
            lane_word: facts.runtime().lane.0,
            named_lanes: HashSet::new(),
            thread_names: HashMap::new(),
            forgot: false,
            processes: HashMap::new(),
        })
    }

    /// Returns the output.
    pub fn into_inner(self) -> W {
        self.records.into_inner()
    }

    fn shape(&mut self, time: Time, shape: &Shape<'_>) -> io::Result<()> {
        let thread = match shape.track {
            FxtTrack::Lane(lane) => {
                self.name_lane(lane)?;
                (self.process, lane_id(lane))
            }
            FxtTrack::Thread(tid) => {
                (u64::from(self.processes.get(&tid.0).copied().unwrap_or_default()), u64::from(tid.0))
            }
            FxtTrack::Other(id) => (self.process, id),
        };
        self.records.event(time.0, thread, shape)
    }

    fn name_lane(&mut self, lane: LaneId) -> io::Result<()> {
        if !self.named_lanes.insert(lane) {
            return Ok(());
        }
        let name = if lane.is_some() { format!("{} {lane}", self.lane_word) } else { "runtime".to_string() };
        self.records.kernel_object(OBJECT_THREAD, lane_id(lane), &name, Some(self.process))
    }

    /// Writes what an event shows about threads: their processes and their names.
    fn learn(&mut self, event: &Event, tables: Tables<'_>) -> io::Result<()> {
        if self.processes.len() >= REMEMBERED {
            self.processes.clear();
        }
        let mut name = carried::naming(event);
        match event.body {
            Body::Sched(Sched::Switch { prev, prev_pid, .. }) if prev_pid.0 != 0 && prev.0 != 0 => {
                self.processes.insert(prev.0, prev_pid.0);
            }
            Body::Sched(Sched::Fork { child, child_pid, .. }) if child_pid.0 != 0 => {
                self.processes.insert(child.0, child_pid.0);
            }
            Body::Sched(Sched::Named { tid, name: called }) => name = Some((tid.0, called)),
            Body::Runtime(Runtime::TaskCreated(tid)) => {
                self.processes.entry(tid.0).or_insert(self.process as u32);
            }
            _ => {}
        }
        let Some((tid, name)) = name else { return Ok(()) };
        // Readers give a thread that was never named the empty name.
        let never = (!self.forgot).then(NameId::default);
        if self.thread_names.get(&tid).copied().or(never) == Some(name) {
            return Ok(());
        }
        if self.thread_names.len() >= REMEMBERED {
            self.thread_names.clear();
            self.forgot = true;
        }
        self.thread_names.insert(tid, name);
        let process = self.processes.get(&tid).copied().map(u64::from);
        self.records.kernel_object(OBJECT_THREAD, u64::from(tid), tables.kernel.get(name), process)
    }
}

impl<W: Write> Export for FxtWriter<W> {
    fn event(&mut self, event: &Event, tables: Tables<'_>) -> io::Result<()> {
        self.learn(event, tables)?;
        match carried::carry(event, tables.kernel, tables.user) {
            Carried::Event(shape) => self.shape(event.time, &shape),
            Carried::Switch(switch) => {
                let process = switch.process.map(|process| ("process", Value::Id(u64::from(process))));
                let word = switch.word.map(|word| ("seen", Value::Text(word.as_bytes())));
                let mut args = [("", Value::Null); 2];
                let count = process.into_iter().chain(word).zip(&mut args).map(|(arg, place)| *place = arg).count();
                let threads = (switch.outgoing, switch.incoming);
                self.records.switch(event.time.0, switch.cpu, switch.state, threads, &args[..count])
            }
            Carried::Wakeup { thread, waker, cpu } => {
                self.records.wakeup(event.time.0, cpu, thread, &[("waker", Value::Id(u64::from(waker)))])
            }
        }
    }

    fn pause(&mut self, pause: &Pause, causes: &[CausePiece], tables: Tables<'_>) -> io::Result<()> {
        let lane = |lane: Option<LaneId>| lane.map_or(Value::Null, |lane| Value::U32(u32::from(lane.0)));
        let longest = causes.iter().max_by_key(|piece| piece.ns());
        let (kind, cause) = (word(&pause.kind), longest.map(|piece| word(&piece.cause)));
        let name = format!("{kind} pause");
        let mut shape = Shape::new(EventKind::Complete(pause.released.0), FxtTrack::Other(PAUSES), DERIVED, &name)
            .with("id", Value::U64(pause.id))
            .with("leader", lane(pause.leader))
            .with("straggler", lane(pause.straggler))
            .with("time_to_stop_ns", pause.time_to_stop_ns().map_or(Value::Null, Value::U64))
            .with("collect_ns", Value::U64(pause.collect_ns()))
            .with("release_ns", Value::U64(pause.release_ns()));
        if let (Some(piece), Some(cause)) = (longest, &cause) {
            shape = shape.with("cause", Value::Text(cause.as_bytes())).with("cause_ns", Value::U64(piece.ns()));
        }
        self.shape(pause.begin(), &shape)?;
        for piece in causes {
            let (cause, confidence) = (word(&piece.cause), word(&piece.confidence));
            let process = piece.who.map_or("", |name| tables.kernel.get(name));
            let code = piece.code.map_or("", |symbol| tables.symbols.get(symbol).name.as_str());
            let shape = Shape::new(EventKind::Complete(piece.to.0), FxtTrack::Other(CAUSES), DERIVED, &cause)
                .with("pause", Value::U64(pause.id))
                .with("lane", lane(piece.lane))
                .with("tid", piece.tid.map_or(Value::Null, |tid| Value::Id(u64::from(tid.0))))
                .with("who", Value::Text(process.as_bytes()))
                .with("who_pid", piece.who_pid.map_or(Value::Null, Value::U32))
                .with("code", Value::Text(code.as_bytes()))
                .with("confidence", Value::Text(confidence.as_bytes()));
            self.shape(piece.from, &shape)?;
        }
        Ok(())
    }

    fn finish(&mut self, losses: &[Loss]) -> io::Result<()> {
        self.records.blob(LOSSES, &serde_json::to_vec(losses)?)?;
        self.records.flush()
    }
}
