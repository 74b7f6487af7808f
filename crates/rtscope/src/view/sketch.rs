//! A timeline from pauses and counters alone, in memory: what is shown until tracks are drawn from events. Owns
//! that picture; refuses the kernel's side.

use super::pauses::BookWriter;
use super::session::{Form, Group, Session, SpanKind, Track};
use crate::watch::Watch;
use rtscope_analyze::Context;
use rtscope_analyze::results::{BlamedPause, Results};
use rtscope_encode::Tables;
use rtscope_levels::{Point, Span, Writer};
use rtscope_model::manifest::Manifest;
use rtscope_model::{Body, ClockMap, Counter, Event, LaneId, LanePause, Pause, PauseKind, Runtime, Time};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufWriter, Write};

/// Tracks: pauses, heap lines, then one for each lane.
const PAUSES: u32 = 0;
const LINES: [(Counter, u32, &str); 3] =
    [(Counter::HeapBytes, 1, "heap held"), (Counter::BlocksBytes, 2, "blocks"), (Counter::LiveBytes, 3, "live")];
const LANES: u32 = 16;

/// Looks on and draws.
pub struct Sketch {
    levels: Levels,
    book: BookWriter,
    broken: io::Result<()>,
    clock: ClockMap,
    pauses: Vec<Pause>,
    values: Vec<(u32, Time, u64)>,
}

impl Sketch {
    /// Nothing seen yet; levels of detail go into `levels`, pauses into `book`.
    ///
    /// # Errors
    /// They cannot be written.
    pub fn new(levels: File, book: BookWriter) -> io::Result<Sketch> {
        let levels = Writer::new(BufWriter::with_capacity(1 << 18, levels))?;
        let clock = ClockMap::LOG_OWN;
        Ok(Sketch { levels, book, broken: Ok(()), clock, pauses: Vec::new(), values: Vec::new() })
    }

    /// Everything was seen; the session is told beside the levels.
    ///
    /// # Errors
    /// What was seen could not be written.
    pub fn finish(mut self, results: &Results) -> io::Result<()> {
        self.broken?;
        self.pauses.sort_by_key(Pause::begin);
        let mut session = Session::of_results(results, self.clock);
        let (start, end) = (session.from_ns, session.from_ns.saturating_add(session.span_ns));
        let since = |time: Time| time.0.clamp(start, end) - start;
        let mut levels = self.levels;
        let spans = |id: u32, name: &str| Track { id, name: name.into(), form: Form::Spans, unit: None, top: 0 };
        let mut above = vec![spans(PAUSES, "pauses")];
        for pause in &self.pauses {
            draw_pause(&mut levels, pause, &since)?;
        }
        for (_, id, name) in LINES {
            if self.values.iter().any(|(track, ..)| *track == id) {
                above.push(Track { form: Form::Values, unit: Some("bytes".into()), ..spans(id, name) });
            }
        }
        self.values.sort_by_key(|(_, time, _)| *time);
        for (track, time, value) in &self.values {
            levels.point(*track, Point { at: since(*time), value: i64::try_from(*value).unwrap_or(i64::MAX) })?;
        }
        session.groups.push(Group { name: "Pauses".into(), sub: None, tracks: above });
        let mut lanes: BTreeMap<u16, Vec<(&Pause, &LanePause)>> = BTreeMap::new();
        for pause in &self.pauses {
            pause.lanes.iter().for_each(|part| lanes.entry(part.lane.0).or_default().push((pause, part)));
        }
        for lane in &results.lanes {
            let id = LANES + u32::from(lane.id);
            draw_lane(&mut levels, id, lanes.get(&lane.id).map_or(&[], Vec::as_slice), &since, session.span_ns)?;
            session.groups.push(Group { name: lane.name.clone(), sub: None, tracks: vec![spans(id, "what it does")] });
        }
        session.kinds = SpanKind::ALL.iter().take(10).map(|kind| kind.described()).collect();
        session.details = vec![String::new()];
        levels.finish(&serde_json::to_vec(&session)?)?.flush()?;
        self.book.finish().map(drop)
    }
}

fn collecting(pause: &Pause) -> SpanKind {
    if pause.kind == PauseKind::Major { SpanKind::CollectingMajor } else { SpanKind::Collecting }
}

type Levels = Writer<BufWriter<File>>;

fn put(levels: &mut Levels, track: u32, from: u64, to: u64, kind: SpanKind) -> io::Result<()> {
    if from >= to { Ok(()) } else { levels.spans(track, Span { from, to, kind: kind.id(), detail: 0 }) }
}

fn draw_pause(levels: &mut Levels, pause: &Pause, since: &dyn Fn(Time) -> u64) -> io::Result<()> {
    let moments = [pause.begin(), pause.stopped, pause.collected, pause.released].map(since);
    let [begin, stopped, collected, released] = moments;
    put(levels, PAUSES, begin, stopped, SpanKind::WaitingToStop)?;
    put(levels, PAUSES, stopped, collected, collecting(pause))?;
    put(levels, PAUSES, collected, released, SpanKind::Release)
}

fn draw_lane(
    levels: &mut Levels,
    track: u32,
    parts: &[(&Pause, &LanePause)],
    since: &dyn Fn(Time) -> u64,
    span_ns: u64,
) -> io::Result<()> {
    let mut at = 0;
    for (pause, part) in parts {
        let arrived = since(part.arrived.unwrap_or(pause.stopped));
        let begin = since(pause.begin());
        put(levels, track, at, begin, SpanKind::Program)?;
        let late = part.lane == pause.straggler.unwrap_or(LaneId::NONE);
        put(levels, track, begin, arrived, if late { SpanKind::WaitingToStop } else { SpanKind::Request })?;
        let work = (since(part.work_begin.unwrap_or(pause.collected)), since(part.work_end.unwrap_or(pause.collected)));
        put(levels, track, arrived, work.0, SpanKind::WaitingForOthers)?;
        put(levels, track, work.0, work.1, collecting(pause))?;
        put(levels, track, work.1, since(pause.collected), SpanKind::WaitingForOthers)?;
        at = since(part.left.unwrap_or(pause.released)).max(since(pause.collected));
        put(levels, track, since(pause.collected), at, SpanKind::Release)?;
    }
    put(levels, track, at, span_ns, SpanKind::Program)
}

impl Watch for Sketch {
    fn start(&mut self, context: &Context, _manifest: Option<&Manifest>) {
        self.clock = context.clock;
    }

    fn event(&mut self, event: &Event, _tables: Tables<'_>) {
        if let Body::Runtime(Runtime::Count(counter, value)) = event.body {
            let line = LINES.iter().find(|(known, ..)| *known == counter);
            self.values.extend(line.map(|(_, track, _)| (*track, event.time, value)));
        }
    }

    fn pause(&mut self, pause: &BlamedPause, tables: Tables<'_>) {
        if self.broken.is_ok() {
            self.broken = self.book.add(pause, tables.kernel, tables.symbols);
        }
        self.pauses.push(pause.pause.clone());
    }
}
