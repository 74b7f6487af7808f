//! Helpers for tests of several formats: facts of a recording, short constructors of events, a sink that records.

use crate::timeline::{Closed, Line, Mark, Sink, State, Track};
use crate::{Export, Tables};
use rtscope_analyze::lanes::timeline::LaneDetail;
use rtscope_analyze::{Analysis, Context};
use rtscope_model::exported::SCHEMA;
use rtscope_model::*;
use std::io;

/// Facts of a recording of the runtime `family`.
pub fn facts(family: &str) -> Exported {
    Exported {
        schema: SCHEMA.into(),
        family: Some(family.into()),
        version: None,
        way: None,
        args: vec!["/bin/prog".into(), "x".into()],
        threaded: Some(true),
        generations: Some(2),
        nursery_bytes: None,
        program_pid: Some(70),
        clock: ClockMap::MONOTONIC,
        every_green_event: true,
        kernel_missing: Vec::new(),
        losses: Vec::new(),
        transactions: None,
        waits: None,
        manifest: None,
    }
}

/// Writes events as an analysis delivers them, lanes' segments before the event that completes them; then a pause,
/// and the rest of the lanes' segments.
pub fn write(
    writer: &mut impl Export,
    family: &str,
    events: &[Event],
    blamed: Option<(Pause, Vec<CausePiece>)>,
    tables: Tables<'_>,
) -> io::Result<()> {
    let mut context = Context { threaded: Some(true), generations: Some(2), ..Context::default() };
    context.runtime.family = Some(family.into());
    let mut analysis = Analysis::with_lanes(context, LaneDetail::Nested);
    let mut pieces = Vec::new();
    for event in events {
        analysis.take(event, &mut |lane, piece| pieces.push((lane, *piece)));
        pieces.drain(..).try_for_each(|(lane, piece)| writer.segment(lane, &piece, tables))?;
        writer.event(event, tables)?;
    }
    if let Some((pause, causes)) = blamed {
        writer.pause(&pause, &causes, tables)?;
    }
    analysis.end(&mut |lane, piece| pieces.push((lane, *piece)));
    pieces.drain(..).try_for_each(|(lane, piece)| writer.segment(lane, &piece, tables))
}

/// A runtime event.
pub fn rt(at: u64, lane: u16, body: Runtime) -> Event {
    Event { time: Time(at), lane: LaneId(lane), body: Body::Runtime(body) }
}

/// A kernel event.
pub fn kernel(at: u64, sched: Sched) -> Event {
    Event { time: Time(at), lane: LaneId::NONE, body: Body::Sched(sched) }
}

/// A switch on a CPU; the names of threads are `worker` (1) and `thief` (2).
pub fn switch(cpu: u16, prev: u32, prev_state: OffState, next: u32, next_name: u32) -> Sched {
    Sched::Switch {
        cpu: Cpu(cpu),
        prev: Tid(prev),
        prev_pid: Pid(if prev == 0 { 0 } else { 70 }),
        prev_state,
        next: Tid(next),
        next_name: NameId(next_name),
    }
}

/// Calls `act` with names: `worker` and `thief` of threads, `solve` of the program.
pub fn tables<T>(act: impl FnOnce(Tables<'_>) -> T) -> T {
    let (mut kernel, mut user, symbols) = (Names::default(), Names::default(), Symbols::default());
    kernel.intern("worker");
    kernel.intern("thief \"7\"");
    user.intern("solve");
    act(Tables { kernel: &kernel, user: &user, symbols: &symbols })
}

/// A pause of two lanes: requested by 0, reached by 1.
pub fn pause(id: u64, requested: u64, stopped: u64, collected: u64, released: u64) -> (Pause, Vec<CausePiece>) {
    let lane = |lane: u16, arrived: Option<u64>| LanePause {
        lane: LaneId(lane),
        tid: None,
        arrived: arrived.map(Time),
        work_begin: Some(Time(stopped)),
        work_end: Some(Time(collected)),
        work_ns: collected - stopped,
        left: Some(Time(released)),
    };
    let pause = Pause {
        id,
        kind: PauseKind::Minor,
        mode: PauseMode::Parallel,
        generation: Some(0),
        leader: Some(LaneId(0)),
        requested: Some(Time(requested)),
        stopped: Time(stopped),
        collected: Time(collected),
        released: Time(released),
        release_basis: ReleaseBasis::BackAtWork,
        straggler: Some(LaneId(1)),
        lanes: vec![lane(0, None), lane(1, Some(stopped))],
        copied_bytes: Some(4_096),
        gc_threads: Some(2),
        quality: PauseQuality::Whole,
    };
    let cause = CausePiece {
        cause: Cause::Preempted,
        lane: Some(LaneId(1)),
        tid: Some(Tid(12)),
        who: Some(NameId(2)),
        who_pid: Some(99),
        code: None,
        neighbour: false,
        from: Time(requested),
        to: Time(stopped),
        confidence: Confidence::High,
    };
    (pause, vec![cause])
}

/// The output of a timeline.
#[derive(Default)]
pub struct Drawing {
    /// Spans in the order of their ends, with their tracks.
    pub spans: Vec<(Track, Closed)>,
    /// Marks with their tracks and times.
    pub marks: Vec<(Track, Time, Mark)>,
    /// Values with their lines and times.
    pub values: Vec<(Line, Time, i64)>,
    open: Vec<(Track, Time, State)>,
}

impl Drawing {
    /// Spans of a track as texts: lane, depth as dots, name, from-to, own time.
    pub fn of(&self, track: Track) -> Vec<String> {
        let names = Names::default();
        let spans = self.spans.iter().filter(|span| span.0 == track);
        let lane = |track| match track {
            Track::Lane(lane) | Track::User(lane) | Track::Phases(lane) => lane.0.to_string(),
            Track::Concurrent => "-".to_string(),
        };
        let words = |(track, closed): &(Track, Closed)| {
            let (dots, name) = (".".repeat(closed.depth as usize), closed.state.name(&names));
            let space = if dots.is_empty() { "" } else { " " };
            let (from, to) = (closed.from, closed.to);
            format!("{} {dots}{space}{name} {}-{} self {}", lane(*track), from.0, to.0, closed.self_ns)
        };
        spans.map(words).collect()
    }
}

impl Sink for Drawing {
    fn open(&mut self, track: Track, at: Time, state: State, _: Tables<'_>) -> io::Result<()> {
        self.open.push((track, at, state));
        Ok(())
    }

    fn close(&mut self, track: Track, closed: Closed, _: Tables<'_>) -> io::Result<()> {
        let place = self.open.iter().rposition(|open| open.0 == track).unwrap();
        assert_eq!(self.open.remove(place), (track, closed.from, closed.state));
        self.spans.push((track, closed));
        Ok(())
    }

    fn mark(&mut self, track: Track, at: Time, mark: Mark, _: Tables<'_>) -> io::Result<()> {
        self.marks.push((track, at, mark));
        Ok(())
    }

    fn value(&mut self, line: Line, at: Time, value: i64, _: Tables<'_>) -> io::Result<()> {
        self.values.push((line, at, value));
        Ok(())
    }
}
