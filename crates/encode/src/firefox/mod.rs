//! A recording as a profile for the Firefox Profiler (profiler.firefox.com), in its processed format, version 48; one
//! lane is repeated in the form that speedscope reads.
//!
//! Owns threads, categories and counters. The format stores each thread column by column, so rows go to a temporary
//! file first and are assembled at the end: this needs twice the disk space, but bounded memory. As viewers read the
//! whole file, larger profiles than a limit are refused. The states of lanes come from [`crate::timeline`].
//! `docs/guide/exporting.md` lists what the format cannot express.

mod spool;
mod thread;

use crate::timeline::fact::Fact;
use crate::timeline::pause::{self, Edge, What};
use crate::timeline::threads::{Threads, switched};
use crate::timeline::{Closed, Line, Mark, Sink, State, Timeline, Track, Unit};
use crate::{Export, Tables, program};
use rtscope_analyze::basis::compose::Segment;
use rtscope_analyze::lanes::timeline::Doing;
use rtscope_model::{Body, CausePiece, Event, Exported, LaneId, Loss, Names, Pause, Symbols, Time};
use spool::Spool;
use std::collections::BTreeMap;
use std::io::{self, Read, Seek, Write};
use thread::{Millis, Ms, ProfileThread, quoted};

/// Limit of a profile in bytes. Browsers refuse texts of about this length.
pub const BYTES_MAX: u64 = 1 << 30;

/// Categories and their colours: others, the roles of states in their order, pauses.
const CATEGORIES: [(&str, &str); 13] = [
    ("other", "grey"),
    ("program", "green"),
    ("outside", "lightblue"),
    ("waiting-to-lead", "yellow"),
    ("waiting-to-stop", "orange"),
    ("collecting", "purple"),
    ("waiting-for-others", "brown"),
    ("slice", "magenta"),
    ("asleep", "grey"),
    ("concurrent", "blue"),
    ("runtime", "grey"),
    ("release", "lightred"),
    ("pause", "red"),
];
/// Limit of lanes, lines and CPUs that become threads or counters of the profile.
const TRACKS_MAX: usize = 4_096;

/// Written for speedscope where there is no thread.
const NO_ROWS: &[u8] = b"{\"name\":\"GeckoMain\",\"samples\":{\"data\":[]},\"stackTable\":{\"data\":[]},\
    \"frameTable\":{\"data\":[]},\"stringTable\":[]}";

/// What a thread of the profile shows.
#[derive(Copy, Clone, Eq, PartialEq, Ord, PartialOrd)]
enum ThreadOf {
    Pauses,
    Track(Track),
    Cpu(u16),
}

/// Writes a Firefox profile.
pub struct FirefoxWriter<W> {
    timeline: Timeline,
    threads: Threads,
    drawn: FirefoxSink<W>,
    running: BTreeMap<u16, bool>,
    paused_until: Time,
}

impl<W: Write> FirefoxWriter<W> {
    /// Begins a profile of the recording that `facts` describe; `temporary` is an empty file that can be read back.
    pub fn new(out: W, temporary: impl Read + Write + Seek + 'static, facts: &Exported) -> FirefoxWriter<W> {
        let (pid, name) = program(facts);
        let manifest = facts.manifest.as_ref();
        let started = manifest.map(|manifest| manifest.started).filter(|started| started.0 != 0);
        let unix_ns = started.and_then(|started| {
            let offset = manifest.map_or(0, |manifest| manifest.realtime_offset_ns);
            started.0.checked_add_signed(offset).filter(|_| offset != 0)
        });
        let drawn = FirefoxSink {
            out,
            spool: Spool::new(temporary, BYTES_MAX),
            threads: BTreeMap::new(),
            lines: BTreeMap::new(),
            name: name.to_owned(),
            platform: manifest.map_or(String::new(), |manifest| manifest.machine.kernel.clone()),
            version: facts.version.clone().unwrap_or_default(),
            pid: pid.to_string(),
            lane_word: facts.runtime().lane.0,
            origin: started,
            unix_ns,
            has_main: false,
            now: Time(0),
        };
        FirefoxWriter {
            timeline: Timeline::new(facts),
            threads: Threads::default(),
            drawn,
            running: BTreeMap::new(),
            paused_until: Time(0),
        }
    }

    /// Returns the output.
    pub fn into_inner(self) -> W {
        self.drawn.out
    }

    fn switch(&mut self, at: Time, cpu: u16, next: u32, tables: Tables<'_>) -> io::Result<()> {
        if self.running.insert(cpu, next != 0) == Some(true) {
            self.drawn.end(ThreadOf::Cpu(cpu), at)?;
        }
        if next == 0 {
            return Ok(());
        }
        self.drawn.begin(ThreadOf::Cpu(cpu), at, &self.threads.name(next, tables.kernel), 0)
    }
}

impl<W: Write> Export for FirefoxWriter<W> {
    fn event(&mut self, event: &Event, tables: Tables<'_>) -> io::Result<()> {
        self.drawn.seen(event.time);
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
        self.drawn.seen(pause.begin());
        let category = CATEGORIES.len() - 1;
        pause::edges(pause, causes, after, |edge| match edge {
            Edge::Open(part) => self.drawn.begin(ThreadOf::Pauses, part.from, &part.what.name(tables), category),
            Edge::Close(part) => self.drawn.end(ThreadOf::Pauses, part.to),
        })?;
        let mut facts = What::Whole(pause).facts(tables);
        if let Some(cause) = causes.iter().max_by_key(|piece| piece.ns()) {
            facts.push(("cause", Fact::Text(What::Cause(cause).name(tables).into())));
        }
        let (name, when) = (What::Whole(pause).name(tables), (pause.begin(), Some(pause.released)));
        self.drawn.marker(ThreadOf::Pauses, when, (&name, category), ("pause", &facts))
    }

    fn finish(&mut self, losses: &[Loss]) -> io::Result<()> {
        let (names, symbols) = (Names::default(), Symbols::default());
        let tables = Tables { kernel: &names, user: &names, symbols: &symbols };
        self.timeline.finish(tables, &mut self.drawn)?;
        for loss in losses {
            let Some(from) = loss.from.or(loss.to) else { continue };
            let facts = [("count", Fact::Number(loss.count)), ("note", Fact::Text(loss.note.as_str().into()))];
            let name = format!("lost: {}", crate::word(&loss.kind));
            let when = (from, Some(loss.to.unwrap_or(from).max(from)));
            self.drawn.marker(ThreadOf::Pauses, when, (&name, 0), ("loss", &facts))?;
        }
        self.drawn.write()
    }
}

/// A counter: streams of its times and differences, their number, and the previous value.
struct Counter {
    name: String,
    times: usize,
    steps: usize,
    count: u64,
    before: i64,
}

/// The threads and counters of the profile.
struct FirefoxSink<W> {
    out: W,
    spool: Spool,
    threads: BTreeMap<ThreadOf, ProfileThread>,
    lines: BTreeMap<Line, Counter>,
    name: String,
    platform: String,
    version: String,
    pid: String,
    lane_word: &'static str,
    origin: Option<Time>,
    unix_ns: Option<u64>,
    has_main: bool,
    now: Time,
}

impl<W: Write> FirefoxSink<W> {
    fn seen(&mut self, at: Time) {
        self.origin.get_or_insert(at);
        self.now = self.now.max(at);
    }

    fn at(&self, time: Time) -> Ms {
        Ms { time, origin: self.origin.unwrap_or_default() }
    }

    /// A thread, created if it is new; `None`: there are too many.
    fn thread(&mut self, which: ThreadOf) -> Option<(&mut ProfileThread, &mut Spool)> {
        if !self.threads.contains_key(&which) {
            if self.threads.len() >= TRACKS_MAX {
                return None;
            }
            let name = match which {
                ThreadOf::Pauses => "pauses".to_owned(),
                ThreadOf::Track(track) => track.name(self.lane_word),
                ThreadOf::Cpu(cpu) => format!("CPU {cpu}"),
            };
            let main = !self.has_main && matches!(which, ThreadOf::Track(Track::Lane(of)) if of.is_some());
            self.has_main |= main;
            let pid = if let ThreadOf::Cpu(_) = which { "CPUs".to_owned() } else { self.pid.clone() };
            let tid = self.threads.len() as u64 + 1;
            let thread = ProfileThread::new(&mut self.spool, name, pid, tid, main);
            self.threads.insert(which, thread);
        }
        Some((self.threads.get_mut(&which)?, &mut self.spool))
    }

    fn begin(&mut self, which: ThreadOf, at: Time, name: &str, category: usize) -> io::Result<()> {
        self.seen(at);
        let at = self.at(at);
        self.thread(which).map_or(Ok(()), |(thread, spool)| thread.begin(spool, at, name, category))
    }

    fn end(&mut self, which: ThreadOf, at: Time) -> io::Result<()> {
        self.seen(at);
        let at = self.at(at);
        self.thread(which).map_or(Ok(()), |(thread, spool)| thread.end(spool, at))
    }

    fn marker(
        &mut self,
        which: ThreadOf,
        when: (Time, Option<Time>),
        named: (&str, usize),
        about: (&str, &[(&'static str, Fact<'_>)]),
    ) -> io::Result<()> {
        let origin = self.at(Time(0));
        self.thread(which).map_or(Ok(()), |(thread, spool)| thread.marker(spool, when, origin, named, about))
    }

    fn write(&mut self) -> io::Result<()> {
        let end = self.at(self.now);
        for thread in self.threads.values_mut() {
            thread.finish(&mut self.spool, end)?;
        }
        self.head()?;
        let mut first = true;
        for thread in self.threads.values() {
            self.out.write_all(if std::mem::take(&mut first) { b"\n" } else { b",\n" })?;
            thread.write(&mut self.spool, &mut self.out)?;
        }
        self.out.write_all(b"\n],\"counters\":[")?;
        self.counters()?;
        let span_ns = self.now.since(self.origin.unwrap_or_default());
        let duration = Millis(i64::try_from(span_ns).unwrap_or(i64::MAX));
        // The rest is for speedscope, which shows one thread.
        write!(
            self.out,
            "\n],\"systemHost\":{{\"name\":\"Firefox\"}},\"duration\":{duration},\"profile\":{{\"threads\":["
        )?;
        let shown = self.threads.values().find(|thread| thread.main).or(self.threads.values().next());
        match shown {
            Some(thread) => thread.write_rows(&mut self.spool, &mut self.out)?,
            None => self.out.write_all(NO_ROWS)?,
        }
        self.out.write_all(b"]}}\n")?;
        self.out.flush()
    }

    fn head(&mut self) -> io::Result<()> {
        let start_ns = self.unix_ns.unwrap_or(0);
        let start = Millis(i64::try_from(start_ns).unwrap_or(0));
        let (name, platform, version) = (quoted(&self.name), quoted(&self.platform), quoted(&self.version));
        write!(
            self.out,
            "{{\"meta\":{{\"version\":29,\"preprocessedProfileVersion\":48,\"interval\":1,\"startTime\":{start}"
        )?;
        write!(
            self.out,
            ",\"processType\":0,\"stackwalk\":0,\"debug\":false,\"product\":{name},\"importedFrom\":\"rtscope\""
        )?;
        write!(
            self.out,
            ",\"platform\":\"Linux\",\"oscpu\":{platform},\"misc\":{version},\"abi\":\"\",\"toolkit\":\"\""
        )?;
        write!(
            self.out,
            ",\"symbolicated\":true,\"usesOnlyOneStackType\":true,\"doesNotUseFrameImplementation\":true"
        )?;
        write!(self.out, ",\"sourceCodeIsNotOnSearchfox\":true,\"categories\":[")?;
        let category =
            |(name, colour)| format!("{{\"name\":\"{name}\",\"color\":\"{colour}\",\"subcategories\":[\"Other\"]}}");
        write!(self.out, "{}", CATEGORIES.map(category).join(","))?;
        write!(self.out, "],\"markerSchema\":[{}]}},\"libs\":[],\"threads\":[", SCHEMAS.map(schema).join(","))
    }

    fn counters(&mut self) -> io::Result<()> {
        let Some(main) = self.threads.values().position(|thread| thread.main) else { return Ok(()) };
        let mut first = true;
        for counter in self.lines.values() {
            self.out.write_all(if std::mem::take(&mut first) { b"\n" } else { b",\n" })?;
            let (name, pid) = (quoted(&counter.name), quoted(&self.pid));
            write!(self.out, "{{\"name\":{name},\"category\":\"Memory\",\"description\":{name},\"pid\":{pid}")?;
            write!(self.out, ",\"mainThreadIndex\":{main},\"samples\":{{\"length\":{},\"time\":[", counter.count)?;
            self.spool.copy(counter.times, &mut self.out)?;
            self.out.write_all(b"],\"count\":[")?;
            self.spool.copy(counter.steps, &mut self.out)?;
            self.out.write_all(b"]}}")?;
        }
        Ok(())
    }
}

/// Kinds of markers: their type and the facts that they may have.
const SCHEMAS: [(&str, &[&str]); 3] = [
    ("pause", &["id", "leader", "straggler", "generation", "copied_bytes", "gc_threads", "quality", "cause"]),
    ("loss", &["count", "note"]),
    ("mark", &[]),
];

fn schema((name, fields): (&str, &[&str])) -> String {
    let label = "\"tooltipLabel\":\"{marker.name}\",\"tableLabel\":\"{marker.name}\",\"chartLabel\":\"{marker.name}\"";
    let field =
        |key: &&str| format!("{{\"key\":\"{key}\",\"label\":\"{key}\",\"format\":\"string\",\"searchable\":true}}");
    let fields: Vec<String> = fields.iter().map(field).collect();
    let places = "\"marker-chart\",\"marker-table\",\"timeline-overview\"";
    format!("{{\"name\":\"{name}\",{label},\"display\":[{places}],\"data\":[{}]}}", fields.join(","))
}

impl<W: Write> Sink for FirefoxSink<W> {
    fn open(&mut self, on: Track, at: Time, state: State, tables: Tables<'_>) -> io::Result<()> {
        self.begin(ThreadOf::Track(on), at, &state.name(tables.user), state.role_number() + 1)
    }

    fn close(&mut self, on: Track, closed: Closed, _: Tables<'_>) -> io::Result<()> {
        self.end(ThreadOf::Track(on), closed.to)
    }

    fn mark(&mut self, on: Track, at: Time, mark: Mark, tables: Tables<'_>) -> io::Result<()> {
        self.seen(at);
        self.marker(ThreadOf::Track(on), (at, None), (mark.name(tables), 0), ("mark", &[]))
    }

    /// Bytes only: the format draws counters as memory.
    fn value(&mut self, line: Line, at: Time, value: i64, tables: Tables<'_>) -> io::Result<()> {
        if line.unit() != Unit::Bytes {
            return Ok(());
        }
        self.seen(at);
        if !self.lines.contains_key(&line) {
            if self.lines.len() >= TRACKS_MAX {
                return Ok(());
            }
            let name = line.full_name(tables, self.lane_word);
            let (times, steps) = (self.spool.stream(), self.spool.stream());
            self.lines.insert(line, Counter { name, times, steps, count: 0, before: 0 });
        }
        let time = self.at(at).of(at);
        let Some(counter) = self.lines.get_mut(&line) else { return Ok(()) };
        let comma = if counter.count == 0 { "" } else { "," };
        let step = value.saturating_sub(counter.before);
        (counter.before, counter.count) = (value, counter.count + 1);
        self.spool.push(counter.times, format!("{comma}{time}").as_bytes())?;
        self.spool.push(counter.steps, format!("{comma}{step}").as_bytes())
    }
}

#[cfg(test)]
mod tests;
