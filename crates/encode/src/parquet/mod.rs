//! A recording as Parquet tables, for DuckDB, Arrow, Polars and other SQL tools.
//!
//! Owns the tables and their columns, described in `docs/formats/parquet.md` along with the questions that they
//! answer. The states of lanes come from the timeline. Opens no files: the caller decides where each table is written.

use crate::timeline::threads::Threads;
use crate::timeline::{Closed, Line, Mark, Sink, State, Timeline, Track};
use crate::{Export, Tables, word};
use rtscope_analyze::basis::compose::Segment;
use rtscope_analyze::lanes::timeline::Doing;
use rtscope_model::{Body, CausePiece, Event, Exported, LaneId, Loss, Names, OffState, Pause, Sched, Symbols, Time};
use rtscope_table::{FULL, Kind, NULL, Shape, Table, Word, Words};
use std::collections::{BTreeMap, HashMap};
use std::io::{self, Write};

/// Name and version of the schema; stored as `rtscope.schema` in each file's metadata.
pub const SCHEMA: &str = "rtscope/tables/1";

/// The tables, one file per table.
pub const TABLES: [&str; 9] =
    ["pauses", "pause_lanes", "causes", "states", "runs", "wakeups", "values", "marks", "losses"];

/// Limit of user spans whose names are remembered until they end.
const NAMES_MAX: usize = 1 << 16;

const PAUSES: [Shape<'_>; 17] = [
    ("id", Kind::Number, FULL),
    ("kind", Kind::Word, FULL),
    ("mode", Kind::Word, FULL),
    ("generation", Kind::Number, NULL),
    ("leader", Kind::Number, NULL),
    ("straggler", Kind::Number, NULL),
    ("requested_ns", Kind::Time, NULL),
    ("stopped_ns", Kind::Time, FULL),
    ("collected_ns", Kind::Time, FULL),
    ("released_ns", Kind::Time, FULL),
    ("time_to_stop_ns", Kind::Number, NULL),
    ("collect_ns", Kind::Number, FULL),
    ("release_ns", Kind::Number, FULL),
    ("release_basis", Kind::Word, FULL),
    ("copied_bytes", Kind::Number, NULL),
    ("gc_threads", Kind::Number, NULL),
    ("quality", Kind::Word, FULL),
];
const PAUSE_LANES: [Shape<'_>; 8] = [
    ("pause", Kind::Number, FULL),
    ("lane", Kind::Number, FULL),
    ("tid", Kind::Number, NULL),
    ("arrived_ns", Kind::Time, NULL),
    ("work_begin_ns", Kind::Time, NULL),
    ("work_end_ns", Kind::Time, NULL),
    ("work_ns", Kind::Number, FULL),
    ("left_ns", Kind::Time, NULL),
];
const CAUSES: [Shape<'_>; 13] = [
    ("pause", Kind::Number, FULL),
    ("part", Kind::Word, FULL),
    ("cause", Kind::Word, FULL),
    ("lane", Kind::Number, NULL),
    ("tid", Kind::Number, NULL),
    ("who", Kind::Word, NULL),
    ("who_pid", Kind::Number, NULL),
    ("code", Kind::Word, NULL),
    ("neighbour", Kind::Flag, FULL),
    ("from_ns", Kind::Time, FULL),
    ("to_ns", Kind::Time, FULL),
    ("ns", Kind::Number, FULL),
    ("confidence", Kind::Word, FULL),
];
const STATES: [Shape<'_>; 9] = [
    ("track", Kind::Word, FULL),
    ("lane", Kind::Number, NULL),
    ("state", Kind::Word, FULL),
    ("role", Kind::Word, FULL),
    ("thread", Kind::Number, NULL),
    ("from_ns", Kind::Time, FULL),
    ("to_ns", Kind::Time, FULL),
    ("self_ns", Kind::Number, FULL),
    ("depth", Kind::Number, FULL),
];
const RUNS: [Shape<'_>; 7] = [
    ("cpu", Kind::Number, FULL),
    ("tid", Kind::Number, FULL),
    ("pid", Kind::Number, NULL),
    ("name", Kind::Word, NULL),
    ("from_ns", Kind::Time, FULL),
    ("to_ns", Kind::Time, FULL),
    ("left", Kind::Word, NULL),
];
const WAKEUPS: [Shape<'_>; 4] = [
    ("at_ns", Kind::Time, FULL),
    ("waker_tid", Kind::Number, FULL),
    ("tid", Kind::Number, FULL),
    ("cpu", Kind::Number, FULL),
];
const VALUES: [Shape<'_>; 5] = [
    ("name", Kind::Word, FULL),
    ("unit", Kind::Word, FULL),
    ("lane", Kind::Number, NULL),
    ("at_ns", Kind::Time, FULL),
    ("value", Kind::Number, FULL),
];
const MARKS: [Shape<'_>; 4] = [
    ("track", Kind::Word, FULL),
    ("lane", Kind::Number, NULL),
    ("at_ns", Kind::Time, FULL),
    ("name", Kind::Word, FULL),
];
const LOSSES: [Shape<'_>; 6] = [
    ("source", Kind::Word, FULL),
    ("kind", Kind::Word, FULL),
    ("count", Kind::Number, FULL),
    ("from_ns", Kind::Time, NULL),
    ("to_ns", Kind::Time, NULL),
    ("note", Kind::Word, FULL),
];

/// Writes a recording as Parquet tables.
pub struct ParquetWriter<W: Write + Send> {
    timeline: Timeline,
    threads: Threads,
    drawn: ParquetSink<W>,
    /// The thread on each CPU, and since when.
    running: BTreeMap<u16, (u32, Time)>,
    now: Time,
}

impl<W: Write + Send> ParquetWriter<W> {
    /// Begins the tables of the recording that `facts` describe; `open` returns the output for each of [`TABLES`].
    ///
    /// # Errors
    /// An error from `open` or from an output.
    pub fn new(open: &mut dyn FnMut(&str) -> io::Result<W>, facts: &Exported) -> io::Result<ParquetWriter<W>> {
        let about = [
            ("rtscope.schema", SCHEMA.to_owned()),
            ("rtscope.lane", facts.runtime().lane.0.to_owned()),
            ("rtscope.facts", serde_json::to_string(facts)?),
        ];
        // Only one table has the facts of the recording.
        let some = about.get(..2).unwrap_or_default();
        let mut table = |name: &str, shapes: &[Shape<'_>]| {
            Table::new(open(name)?, "row", shapes, if name == "pauses" { about.as_slice() } else { some })
        };
        let mut drawn = ParquetSink {
            pauses: table("pauses", &PAUSES)?,
            pause_lanes: table("pause_lanes", &PAUSE_LANES)?,
            causes: table("causes", &CAUSES)?,
            states: table("states", &STATES)?,
            runs: table("runs", &RUNS)?,
            wakeups: table("wakeups", &WAKEUPS)?,
            values: table("values", &VALUES)?,
            marks: table("marks", &MARKS)?,
            losses: table("losses", &LOSSES)?,
            words: Words::default(),
            open: HashMap::new(),
        };
        facts.losses.iter().try_for_each(|loss| drawn.loss(loss))?;
        let timeline = Timeline::new(facts);
        Ok(ParquetWriter { timeline, threads: Threads::default(), drawn, running: BTreeMap::new(), now: Time(0) })
    }

    /// Ends the current run on a CPU, with the state in which the thread left, if known.
    fn run_ends(
        &mut self,
        cpu: u16,
        seen: Option<(u32, OffState)>,
        next: u32,
        at: Time,
        tables: Tables<'_>,
    ) -> io::Result<()> {
        let Some((tid, since)) = self.running.insert(cpu, (next, at)) else { return Ok(()) };
        if tid == 0 {
            return Ok(());
        }
        let thread = self.threads.get(tid);
        let left = seen.map(|(left, state)| if left == tid { state.word() } else { "unknown" });
        let words = &mut self.drawn.words;
        let (name, left) = (words.some(tables.kernel.get(thread.name)), left.map(|left| words.get(left)));
        self.drawn.runs.row(|row| {
            row.number(cpu).number(tid).maybe((thread.pid != 0).then_some(thread.pid)).word(name);
            row.number(since.0).number(at.0).word(left);
        })
    }
}

impl<W: Write + Send> Export for ParquetWriter<W> {
    fn event(&mut self, event: &Event, tables: Tables<'_>) -> io::Result<()> {
        self.now = self.now.max(event.time);
        let Body::Sched(sched) = event.body else { return self.timeline.push(event, tables, &mut self.drawn) };
        self.threads.learn(event);
        let at = event.time;
        match sched {
            Sched::Switch { cpu, prev, prev_state, next, .. } => {
                self.run_ends(cpu.0, Some((prev.0, prev_state)), next.0, at, tables)
            }
            Sched::SwitchIn { cpu, tid } => self.run_ends(cpu.0, None, tid.0, at, tables),
            Sched::SwitchOut { cpu, tid, preempted } => {
                let state = if preempted { OffState::Runnable } else { OffState::Unknown };
                self.run_ends(cpu.0, Some((tid.0, state)), 0, at, tables)
            }
            Sched::Waking { waker, target, target_cpu } => self.drawn.wakeups.row(|row| {
                row.number(at.0).number(waker.0).number(target.0).number(target_cpu.0);
            }),
            _ => Ok(()),
        }
    }

    fn segment(&mut self, lane: LaneId, piece: &Segment<Doing>, tables: Tables<'_>) -> io::Result<()> {
        self.timeline.segment(lane, piece, tables, &mut self.drawn)
    }

    fn pause(&mut self, pause: &Pause, causes: &[CausePiece], tables: Tables<'_>) -> io::Result<()> {
        self.drawn.pause(pause)?;
        causes.iter().try_for_each(|piece| self.drawn.cause(pause, piece, tables))
    }

    fn finish(&mut self, losses: &[Loss]) -> io::Result<()> {
        let (names, symbols) = (Names::default(), Symbols::default());
        let tables = Tables { kernel: &names, user: &names, symbols: &symbols };
        let cpus: Vec<u16> = self.running.keys().copied().collect();
        cpus.into_iter().try_for_each(|cpu| self.run_ends(cpu, None, 0, self.now, tables))?;
        self.timeline.finish(tables, &mut self.drawn)?;
        losses.iter().try_for_each(|loss| self.drawn.loss(loss))?;
        self.drawn.finish()
    }
}

struct ParquetSink<W: Write + Send> {
    pauses: Table<W>,
    pause_lanes: Table<W>,
    causes: Table<W>,
    states: Table<W>,
    runs: Table<W>,
    wakeups: Table<W>,
    values: Table<W>,
    marks: Table<W>,
    losses: Table<W>,
    words: Words,
    /// Names of the program's open spans, by state number.
    open: HashMap<u64, Word>,
}

impl<W: Write + Send> ParquetSink<W> {
    fn finish(&mut self) -> io::Result<()> {
        let first = [&mut self.pauses, &mut self.pause_lanes, &mut self.causes, &mut self.states, &mut self.runs];
        let more = [&mut self.wakeups, &mut self.values, &mut self.marks, &mut self.losses];
        first.into_iter().chain(more).try_for_each(Table::finish)
    }

    fn pause(&mut self, pause: &Pause) -> io::Result<()> {
        let mut of = |text: String| Some(self.words.get(&text));
        let (kind, mode, quality) = (of(word(&pause.kind)), of(word(&pause.mode)), of(word(&pause.quality)));
        let basis = of(word(&pause.release_basis));
        self.pauses.row(|row| {
            row.number(pause.id).word(kind).word(mode).maybe(pause.generation);
            row.maybe(lane(pause.leader)).maybe(lane(pause.straggler));
            row.maybe(pause.requested.map(|at| at.0)).number(pause.stopped.0);
            row.number(pause.collected.0).number(pause.released.0);
            row.maybe(pause.time_to_stop_ns()).number(pause.collect_ns()).number(pause.release_ns());
            row.word(basis).maybe(pause.copied_bytes).maybe(pause.gc_threads).word(quality);
        })?;
        for part in &pause.lanes {
            let at = |time: Option<Time>| time.map(|time| time.0);
            self.pause_lanes.row(|row| {
                row.number(pause.id).number(part.lane.0).maybe(part.tid.map(|tid| tid.0)).maybe(at(part.arrived));
                row.maybe(at(part.work_begin)).maybe(at(part.work_end)).number(part.work_ns).maybe(at(part.left));
            })?;
        }
        Ok(())
    }

    fn cause(&mut self, pause: &Pause, piece: &CausePiece, tables: Tables<'_>) -> io::Result<()> {
        let part = if piece.from < pause.stopped { "stop" } else { "release" };
        let words = &mut self.words;
        let (part, cause) = (Some(words.get(part)), Some(words.get(&word(&piece.cause))));
        let who = piece.who.and_then(|who| words.some(tables.kernel.get(who)));
        let code = piece.code.and_then(|code| words.some(&tables.symbols.get(code).name));
        let confidence = Some(words.get(&word(&piece.confidence)));
        self.causes.row(|row| {
            row.number(pause.id).word(part).word(cause).maybe(lane(piece.lane));
            row.maybe(piece.tid.map(|tid| tid.0)).word(who).maybe(piece.who_pid).word(code).flag(piece.neighbour);
            row.number(piece.from.0).number(piece.to.0).number(piece.ns()).word(confidence);
        })
    }

    fn loss(&mut self, loss: &Loss) -> io::Result<()> {
        let mut of = |text: &str| Some(self.words.get(text));
        let (source, kind, note) = (of(&loss.source), of(&word(&loss.kind)), of(&loss.note));
        self.losses.row(|row| {
            row.word(source).word(kind).number(loss.count);
            row.maybe(loss.from.map(|at| at.0)).maybe(loss.to.map(|at| at.0)).word(note);
        })
    }
}

impl<W: Write + Send> Sink for ParquetSink<W> {
    fn open(&mut self, _: Track, _: Time, state: State, tables: Tables<'_>) -> io::Result<()> {
        if let State::User(name) = state {
            if self.open.len() >= NAMES_MAX {
                self.open.clear();
            }
            let words = &mut self.words;
            self.open.entry(state.number()).or_insert_with(|| words.get(tables.user.get(name)));
        }
        Ok(())
    }

    fn close(&mut self, on: Track, closed: Closed, tables: Tables<'_>) -> io::Result<()> {
        let state = closed.state;
        let name = self.open.get(&state.number()).cloned();
        let name = name.unwrap_or_else(|| self.words.get(&state.name(tables.user)));
        let (track, role) = (self.words.get(track_word(on)), self.words.get(state.role()));
        self.states.row(|row| {
            row.word(Some(track)).maybe(lane(lane_of(on))).word(Some(name)).word(Some(role));
            row.maybe(state.green().map(|green| green.0)).number(closed.from.0).number(closed.to.0);
            row.number(closed.self_ns).number(closed.depth);
        })
    }

    fn mark(&mut self, on: Track, at: Time, mark: Mark, tables: Tables<'_>) -> io::Result<()> {
        let (track, name) = (self.words.get(track_word(on)), self.words.get(mark.name(tables)));
        self.marks.row(|row| {
            row.word(Some(track)).maybe(lane(lane_of(on))).number(at.0).word(Some(name));
        })
    }

    fn value(&mut self, line: Line, at: Time, value: i64, tables: Tables<'_>) -> io::Result<()> {
        let (name, unit) = (self.words.get(&line.name(tables)), self.words.get(line.unit().word()));
        self.values.row(|row| {
            row.word(Some(name)).word(Some(unit)).maybe(lane(line.lane())).number(at.0).number(value);
        })
    }
}

fn lane(lane: Option<LaneId>) -> Option<u16> {
    lane.filter(|lane| lane.is_some()).map(|lane| lane.0)
}

fn lane_of(track: Track) -> Option<LaneId> {
    match track {
        Track::Lane(lane) | Track::User(lane) | Track::Phases(lane) => Some(lane),
        Track::Concurrent => None,
    }
}

fn track_word(track: Track) -> &'static str {
    match track {
        Track::Lane(_) => "lane",
        Track::User(_) => "user",
        Track::Phases(_) => "phases",
        Track::Concurrent => "concurrent",
    }
}

#[cfg(test)]
mod tests;
