//! A recording as Chrome's trace events: one JSON object per line, read by chrome://tracing, speedscope,
//! Perfetto and others.
//!
//! Owns the objects and the numbers of tracks (a `tid` each). The states of lanes come from [`crate::timeline`].
//! `docs/guide/exporting.md` lists what the format cannot express.

use crate::timeline::fact::Fact;
use crate::timeline::pause::{self, Edge};
use crate::timeline::threads::{Threads, switched};
use crate::timeline::{Closed, Line, Mark, Sink, State, Timeline, Track, Unit};
use crate::{Export, Tables, program};
use rtscope_analyze::basis::compose::Segment;
use rtscope_analyze::lanes::timeline::Doing;
use rtscope_model::{Body, CausePiece, Event, Exported, LaneId, Loss, Names, Pause, Symbols, Time};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::io::{self, Write};

/// The process that CPUs are drawn as.
const CPUS: u32 = 0;
/// Tracks of the whole program.
const PAUSES: u64 = 1;
const CONCURRENT: u64 = 2;
const LANES: u64 = 1 << 17;
const USERS: u64 = 2 << 17;
const PHASES: u64 = 5 << 17;
/// Limit of names that are kept as JSON; evicted ones are formatted again.
const NAMES_MAX: usize = 1 << 16;
/// Size of the output buffer, in bytes.
const GATHERED: usize = 64 << 10;

/// Writes a Chrome trace.
pub struct ChromeWriter<W> {
    timeline: Timeline,
    threads: Threads,
    drawn: ChromeSink<W>,
    /// The thread that each CPU is drawn with, and its name as JSON.
    running: BTreeMap<u16, (u32, String)>,
    now: Time,
    paused_until: Time,
    arrows: u64,
}

impl<W: Write> ChromeWriter<W> {
    /// Begins a trace of the recording that `facts` describe.
    ///
    /// # Errors
    /// An error from the output.
    pub fn new(out: W, facts: &Exported) -> io::Result<ChromeWriter<W>> {
        let (pid, name) = program(facts);
        let mut drawn = ChromeSink {
            out,
            json: Vec::new(),
            first: true,
            pid,
            lane_word: facts.runtime().lane.0,
            declared: HashSet::new(),
            names: HashMap::new(),
        };
        drawn.json.extend_from_slice(b"{\"displayTimeUnit\":\"ns\",\"traceEvents\":[");
        drawn.metadata(pid, None, "process_name", name)?;
        facts.losses.iter().try_for_each(|loss| drawn.loss(loss))?;
        Ok(ChromeWriter {
            timeline: Timeline::new(facts),
            threads: Threads::default(),
            drawn,
            running: BTreeMap::new(),
            now: Time(0),
            paused_until: Time(0),
            arrows: 0,
        })
    }

    /// Returns the output.
    pub fn into_inner(self) -> W {
        self.drawn.out
    }

    /// A CPU switches from one thread to another; 0: to none.
    fn switch(&mut self, time: Time, cpu: u16, next: u32, tables: Tables<'_>) -> io::Result<()> {
        if !self.running.contains_key(&cpu) {
            if self.running.is_empty() {
                self.drawn.metadata(CPUS, None, "process_name", "CPUs")?;
            }
            self.drawn.metadata(CPUS, Some(cpu.into()), "thread_name", &format!("CPU {cpu}"))?;
        }
        let name = quoted(&self.threads.name(next, tables.kernel));
        let place = (CPUS, u64::from(cpu));
        // A name can change while a thread runs, but an end needs the name of its beginning.
        if let Some((before, name)) = self.running.insert(cpu, (next, name.clone())).filter(|run| run.0 != 0) {
            self.drawn.span('E', place, time, &name, "cpu", &format!("{{\"tid\":{before}}}"))?;
        }
        if next == 0 {
            return Ok(());
        }
        self.drawn.span('B', place, time, &name, "cpu", &format!("{{\"tid\":{next}}}"))
    }

    fn arrows(&mut self, pause: &Pause) -> io::Result<()> {
        let (Some(leader), Some(requested)) = (pause.leader, pause.requested) else { return Ok(()) };
        for (lane, at) in pause::arrivals(pause) {
            self.arrows += 1;
            self.drawn.flow("s", self.arrows, Track::Lane(leader), requested)?;
            self.drawn.flow("f", self.arrows, Track::Lane(lane), at)?;
        }
        Ok(())
    }
}

impl<W: Write> Export for ChromeWriter<W> {
    fn event(&mut self, event: &Event, tables: Tables<'_>) -> io::Result<()> {
        self.now = self.now.max(event.time);
        let Body::Sched(sched) = &event.body else { return self.timeline.push(event, tables, &mut self.drawn) };
        self.threads.learn(event);
        switched(sched).map_or(Ok(()), |(cpu, next)| self.switch(event.time, cpu, next, tables))
    }

    fn segment(&mut self, lane: LaneId, piece: &Segment<Doing>, tables: Tables<'_>) -> io::Result<()> {
        self.timeline.segment(lane, piece, tables, &mut self.drawn)
    }

    fn pause(&mut self, pause: &Pause, causes: &[CausePiece], tables: Tables<'_>) -> io::Result<()> {
        let after = self.paused_until;
        self.paused_until = after.max(pause.released);
        self.drawn.declare(PAUSES, || "pauses".to_owned())?;
        let place = (self.drawn.pid, PAUSES);
        pause::edges(pause, causes, after, |edge| {
            let (phase, part, at) = match edge {
                Edge::Open(part) => ('B', part, part.from),
                Edge::Close(part) => ('E', part, part.to),
            };
            // speedscope matches the end of a span by its name and arguments.
            let facts = part.what.facts(tables);
            self.drawn.span(phase, place, at, &quoted(&part.what.name(tables)), "pause", &arguments(&facts))
        })?;
        self.arrows(pause)
    }

    fn finish(&mut self, losses: &[Loss]) -> io::Result<()> {
        let (names, symbols) = (Names::default(), Symbols::default());
        let tables = Tables { kernel: &names, user: &names, symbols: &symbols };
        let cpus: Vec<u16> = self.running.keys().copied().collect();
        cpus.into_iter().try_for_each(|cpu| self.switch(self.now, cpu, 0, tables))?;
        self.timeline.finish(tables, &mut self.drawn)?;
        losses.iter().try_for_each(|loss| self.drawn.loss(loss))?;
        self.drawn.json.extend_from_slice(b"\n]}\n");
        self.drawn.flush()
    }
}

/// The output, and what has been declared in it.
struct ChromeSink<W> {
    out: W,
    json: Vec<u8>,
    first: bool,
    pid: u32,
    lane_word: &'static str,
    declared: HashSet<u64>,
    /// Names of states as JSON, by state number.
    names: HashMap<u64, String>,
}

impl<W: Write> ChromeSink<W> {
    /// Writes an object; `fill` writes everything but the kind.
    fn object(&mut self, phase: &str, fill: impl FnOnce(&mut Vec<u8>) -> io::Result<()>) -> io::Result<()> {
        let comma = if std::mem::take(&mut self.first) { "" } else { "," };
        write!(self.json, "{comma}\n{{\"ph\":\"{phase}\"")?;
        fill(&mut self.json)?;
        self.json.push(b'}');
        if self.json.len() < GATHERED {
            return Ok(());
        }
        self.out.write_all(&self.json)?;
        self.json.clear();
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.write_all(&self.json)?;
        self.json.clear();
        self.out.flush()
    }

    fn metadata(&mut self, pid: u32, tid: Option<u64>, what: &str, name: &str) -> io::Result<()> {
        let tid = tid.unwrap_or(0);
        let name = quoted(name);
        self.object("M", |json| {
            write!(json, ",\"pid\":{pid},\"tid\":{tid},\"name\":\"{what}\",\"args\":{{\"name\":{name}}}")
        })
    }

    fn declare(&mut self, tid: u64, name: impl FnOnce() -> String) -> io::Result<()> {
        if !self.declared.insert(u64::from(self.pid) << 32 | tid) {
            return Ok(());
        }
        let pid = self.pid;
        self.metadata(pid, Some(tid), "thread_name", &name())?;
        self.object("M", |json| {
            write!(
                json,
                ",\"pid\":{pid},\"tid\":{tid},\"name\":\"thread_sort_index\",\"args\":{{\"sort_index\":{tid}}}"
            )
        })
    }

    /// The `tid` of a track, which is declared if it is new.
    fn track(&mut self, of: Track) -> io::Result<u64> {
        let word = self.lane_word;
        let tid = match of {
            Track::Lane(lane) => LANES + u64::from(lane.0),
            Track::User(lane) => USERS + u64::from(lane.0),
            Track::Phases(lane) => PHASES + u64::from(lane.0),
            Track::Concurrent => CONCURRENT,
        };
        self.declare(tid, || of.name(word))?;
        Ok(tid)
    }

    fn span(
        &mut self,
        phase: char,
        (pid, tid): (u32, u64),
        at: Time,
        name: &str,
        category: &str,
        args: &str,
    ) -> io::Result<()> {
        let phase = if phase == 'B' { "B" } else { "E" };
        self.object(phase, |json| {
            write!(json, ",\"pid\":{pid},\"tid\":{tid},\"name\":{name}")?;
            stamp(json, at)?;
            if phase == "B" {
                write!(json, ",\"cat\":\"{category}\"")?;
            }
            if args.is_empty() { Ok(()) } else { write!(json, ",\"args\":{args}") }
        })
    }

    /// Writes an event for a lane's state.
    fn state(&mut self, phase: char, on: Track, at: Time, state: State, tables: Tables<'_>) -> io::Result<()> {
        let (pid, tid) = (self.pid, self.track(on)?);
        if self.names.len() >= NAMES_MAX {
            self.names.clear();
        }
        let number = state.number();
        let name = self.names.remove(&number).unwrap_or_else(|| quoted(&state.name(tables.user)));
        let args = state.green().map_or(String::new(), |green| format!("{{\"thread\":{green}}}"));
        self.span(phase, (pid, tid), at, &name, state.role(), &args)?;
        self.names.insert(number, name);
        Ok(())
    }

    fn flow(&mut self, phase: &str, id: u64, on: Track, at: Time) -> io::Result<()> {
        let (pid, tid) = (self.pid, self.track(on)?);
        self.object(phase, |json| {
            write!(json, ",\"pid\":{pid},\"tid\":{tid},\"name\":\"stop\",\"cat\":\"pause\",\"id\":{id}")?;
            if phase == "f" {
                json.extend_from_slice(b",\"bp\":\"e\"");
            }
            stamp(json, at)
        })
    }

    fn loss(&mut self, loss: &Loss) -> io::Result<()> {
        let Some(from) = loss.from.or(loss.to) else { return Ok(()) };
        let pid = self.pid;
        let mut facts = vec![("source", Fact::Text(loss.source.as_str().into())), ("count", Fact::Number(loss.count))];
        facts.extend(loss.to.map(|to| ("to_ns", Fact::Number(to.0))));
        facts.push(("note", Fact::Text(loss.note.as_str().into())));
        let (name, args) = (quoted(&format!("lost: {}", crate::word(&loss.kind))), arguments(&facts));
        self.object("i", |json| {
            write!(json, ",\"pid\":{pid},\"tid\":{PAUSES},\"s\":\"p\",\"name\":{name},\"args\":{args}")?;
            stamp(json, from)
        })
    }
}

impl<W: Write> Sink for ChromeSink<W> {
    fn open(&mut self, on: Track, at: Time, state: State, tables: Tables<'_>) -> io::Result<()> {
        self.state('B', on, at, state, tables)
    }

    fn close(&mut self, on: Track, closed: Closed, tables: Tables<'_>) -> io::Result<()> {
        self.state('E', on, closed.to, closed.state, tables)
    }

    fn mark(&mut self, on: Track, at: Time, mark: Mark, tables: Tables<'_>) -> io::Result<()> {
        let (pid, tid) = (self.pid, self.track(on)?);
        let name = quoted(mark.name(tables));
        self.object("i", |json| {
            write!(json, ",\"pid\":{pid},\"tid\":{tid},\"s\":\"t\",\"name\":{name}")?;
            if let Mark::Forked(child) = mark {
                write!(json, ",\"args\":{{\"child\":{child}}}")?;
            }
            stamp(json, at)
        })
    }

    fn value(&mut self, line: Line, at: Time, value: i64, tables: Tables<'_>) -> io::Result<()> {
        let pid = self.pid;
        let name = quoted(&line.full_name(tables, self.lane_word));
        let unit = if line.unit() == Unit::Own { "value" } else { line.unit().word() };
        self.object("C", |json| {
            write!(json, ",\"pid\":{pid},\"name\":{name},\"args\":{{\"{unit}\":{value}}}")?;
            stamp(json, at)
        })
    }
}

/// Writes a time in microseconds with three decimals.
fn stamp(json: &mut Vec<u8>, at: Time) -> io::Result<()> {
    write!(json, ",\"ts\":{}.{:03}", at.0 / 1_000, at.0 % 1_000)
}

fn quoted(text: &str) -> String {
    rtscope_model::text::clean_json(&serde_json::Value::from(text).to_string()).into_owned()
}

fn arguments(facts: &[(&'static str, Fact<'_>)]) -> String {
    if facts.is_empty() {
        return String::new();
    }
    let value = |fact: &Fact<'_>| match fact {
        Fact::Number(number) => number.to_string(),
        Fact::Text(text) => quoted(text),
    };
    let each: Vec<String> = facts.iter().map(|(name, fact)| format!("\"{name}\":{}", value(fact))).collect();
    format!("{{{}}}", each.join(","))
}

#[cfg(test)]
mod tests;
